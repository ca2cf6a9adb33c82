"""NASBOT's initial pool: hand-made chains of blocks, plain and residual."""

from __future__ import annotations

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import network


def convolutional(width: int, halvings: int) -> list[LayerGraph]:
    """Convolutional networks with one to four layers per block, and residual networks.

    Args:
        width: filters of the first block; they double from block to block.
        halvings: number of times that images are halved.
    """
    plain = [_blocks("conv3", width, halvings, layers) for layers in (1, 2, 3, 4)]
    strided = [_blocks("conv3", width, halvings, layers, strided=True) for layers in (1, 2, 3)]
    residual = [_blocks("res3", width, halvings, layers, strided=True) for layers in (1, 2)]
    return [*plain, *strided, *residual, _blocks("conv5", width, halvings, 1)]


def perceptrons(decision: str, width: int) -> list[LayerGraph]:
    """Multi-layer perceptrons of two to eight layers, whose activations alternate between rectifiers and sigmoids."""
    kind = "mlp-reg" if decision == "linear" else "mlp-class"
    networks = []
    for layers in (2, 3, 4, 6, 8):
        for first, second in (("relu", "tanh"), ("softplus", "logistic")):
            inner = [first if i % 2 == 0 else second for i in range(layers)]
            labels = ["ip", *inner, decision, "op"]
            units = [None, *[width << (i % 3) for i in range(layers)], None, None]
            networks.append(_chain(kind, labels, units, [None] * len(labels)))
    return networks


def _blocks(label: str, width: int, halvings: int, layers: int, strided: bool = False) -> LayerGraph:
    """Blocks of equal layers. Images are halved between blocks: by a pooling, or by the first stride of a block."""
    labels: list[str] = ["ip"]
    units: list[int | None] = [None]
    strides: list[int | None] = [None]
    for block in range(halvings + 1):
        if block and not strided:
            labels.append("max-pool")
            units.append(None)
            strides.append(None)
        for layer in range(layers):
            labels.append(label)
            units.append(width << block)
            strides.append(2 if strided and block and not layer else 1)
    labels += ["fc", "softmax", "op"]
    units += [2 * width << halvings, None, None]
    return _chain("cnn", labels, units, [*strides, None, None, None])


def _chain(kind: str, labels: list[str], units: list[int | None], strides: list[int | None]) -> LayerGraph:
    return network(kind, labels, units, [(i, i + 1) for i in range(len(labels) - 1)], strides)
