"""`python -m nasbench` is `nasbench`."""

from nasbench.cli.main import main

main()
