"""Training of networks: recipes, data augmentation, and the loop itself (PyTorch)."""
