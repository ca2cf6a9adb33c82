"""The measurements behind `nasbench speed --gpu`: what docs/gpu.md promises, on the device of this machine."""
