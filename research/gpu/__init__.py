"""What a CUDA device gives: `python -m research.gpu` needs PyTorch and NumPy alone."""
