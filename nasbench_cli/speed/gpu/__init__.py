"""The measurements behind `nasbench speed --gpu`; `python -m nasbench.cli.speed.gpu` needs PyTorch and NumPy alone."""
