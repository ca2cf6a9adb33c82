"""Starts the command `nasbench`, or says in one sentence that another package's files lie in its place.

NAS-Bench-101's package is called `nasbench`, too: where both are installed, its files may replace ours.
"""

import sys


def main() -> None:
    """Entry point of the command line."""
    import nasbench

    if getattr(nasbench, "__distribution__", "") != "nasbench-cli":
        place = getattr(nasbench, "__file__", None) or "an unknown place"
        sys.stderr.write(
            f"nasbench: another package of the same name, perhaps NAS-Bench-101's, lies at {place}: `pip uninstall "
            "nasbench`, then `pip install --force-reinstall --no-deps nasbench-cli`, or an environment of its own\n"
        )
        sys.exit(2)
    from nasbench.cli.main import main as start

    start()
