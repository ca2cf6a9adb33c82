"""`python -m nasbench_cli` is `nasbench`."""

from nasbench_cli.main import main

main()
