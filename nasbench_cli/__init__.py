"""The `nasbench` command: parse, plan, run, show."""
