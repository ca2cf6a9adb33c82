"""Free networks: any valid graph of layers within bounds (NASBOT's spaces)."""

from nasbench.benchmarks.base import BENCHMARKS
from nasbench.benchmarks.networks.synthetic import convolutional_networks, multilayer_perceptrons

BENCHMARKS.add("synthetic-cnn", convolutional_networks)
BENCHMARKS.add("synthetic-mlp", multilayer_perceptrons)
