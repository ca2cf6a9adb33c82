"""A graph of layers as a PyTorch module."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, max_pool2d, relu

from nasbench.benchmarks.spaces.cells.convolution import ConvNorm
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "leaky-relu": nn.LeakyReLU,
    "softplus": nn.Softplus,
    "elu": nn.ELU,
    "logistic": nn.Sigmoid,
    "tanh": nn.Tanh,
}


class GraphNetwork(nn.Module):
    """The network of a valid graph: (batch, channels, height, width) or (batch, features) → (batch, outputs).

    The parents of a layer are concatenated, several decision layers averaged. Convolutions are followed by batch
    normalisation and a rectifier; a residual layer is two convolutions beside a shortcut. Fully connected and decision
    layers take the mean of an image over its pixels. Poolings and strides halve the sides, rounded up.
    """

    def __init__(self, graph: LayerGraph, channels: int, outputs: int) -> None:
        super().__init__()
        self._graph, widths = graph, [channels]
        layers: list[nn.Module] = [nn.Identity()]
        for v, label in list(enumerate(graph.labels))[1:-1]:
            incoming, units = sum(widths[p] for p in graph.parents[v]), graph.units[v]
            layers.append(_layer(label, incoming, units, graph.stride(v), outputs))
            widths.append(incoming if units is None else units)
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        results = [x]
        for v, layer in list(enumerate(self.layers))[1:]:
            inputs = [results[p] for p in self._graph.parents[v]]
            results.append(layer(inputs[0] if len(inputs) == 1 else torch.cat(inputs, 1)))
        scores = torch.stack([results[p] for p in self._graph.parents[len(self.layers)]])
        return scores.mean(0)


class Pool(nn.Module):
    """Maximum or mean pooling that halves an image."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._is_mean = label == "avg-pool"

    def forward(self, x: Tensor) -> Tensor:
        if self._is_mean:
            return avg_pool2d(x, 2, 2, ceil_mode=True, count_include_pad=False)
        return max_pool2d(x, 2, 2, ceil_mode=True)


class Convolution(ConvNorm):
    """A convolution, batch normalisation and a rectifier."""

    def forward(self, x: Tensor) -> Tensor:
        return relu(super().forward(x))


class Residual(nn.Module):
    """Two convolutions beside a shortcut, which is a pointwise convolution if the shapes differ."""

    def __init__(self, incoming: int, units: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.first = Convolution(incoming, units, kernel, stride)
        self.second = nn.Conv2d(units, units, kernel, 1, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(units)
        same = incoming == units and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(incoming, units, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return relu(self.norm(self.second(self.first(x))) + self.shortcut(x))


class Dense(nn.Module):
    """A linear map of features (or of the mean of an image) and an activation."""

    def __init__(self, incoming: int, units: int, activation: nn.Module) -> None:
        super().__init__()
        self.linear, self.activation = nn.Linear(incoming, units), activation

    def forward(self, x: Tensor) -> Tensor:
        features = x.mean((2, 3)) if x.dim() == 4 else x
        result: Tensor = self.activation(self.linear(features))
        return result


class Mirrored(nn.Module):
    """CReLU: half as many linear maps as units; each result is rectified with both signs."""

    def __init__(self, incoming: int, units: int) -> None:
        super().__init__()
        self.dense, self._units = Dense(incoming, (units + 1) // 2, nn.Identity()), units

    def forward(self, x: Tensor) -> Tensor:
        result = self.dense(x)
        return torch.cat([relu(result), relu(-result)], 1)[:, : self._units]


def _layer(label: str, incoming: int, units: int | None, stride: int, outputs: int) -> nn.Module:
    if label in ("max-pool", "avg-pool"):
        return Pool(label)
    if label in ("softmax", "linear"):
        return Dense(incoming, outputs, nn.Identity())
    assert units is not None
    if label == "fc":
        return Dense(incoming, units, nn.ReLU())
    if label in _ACTIVATIONS:
        return Dense(incoming, units, _ACTIVATIONS[label]())
    if label == "crelu":
        return Mirrored(incoming, units)
    kind, kernel = label[:-1], int(label[-1])
    return (Convolution if kind == "conv" else Residual)(incoming, units, kernel, stride)
