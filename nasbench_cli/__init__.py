"""The `nasbench` command line: reads a request, plans its runs, computes them, and shows what came of them."""
