"""The network of YAHPO Gym's surrogate of LCBench, in NumPy (Pfisterer et al., AutoML 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.protobuf import Malformed, fields

Array = NDArray[np.float64]

OUTPUTS = (
    "time",
    "val_accuracy",
    "val_cross_entropy",
    "val_balanced_accuracy",
    "test_cross_entropy",
    "test_balanced_accuracy",
)
"""The outputs of the network: seconds since the beginning, percent, nats, and shares."""

_BLOCKS, _EPSILON, _TINY = 3, 1e-5, 1e-12
_HALF = 455
# Inputs in the network's order: epoch, batch size, learning rate, momentum, weight decay, layers, units, dropout. An
# input x becomes (t - shift) / scale, where t = log(x) for positions in `_LOGARITHMIC`, and t = x for all others.
_SHIFT = np.array([0.0, 16, -9.209311485290527, 0.10000386089086533, -9.91645622253418, 1, 64, 0.0005357532645575702])
_SCALE = np.array(
    [3.9512436389923096, 495, 6.896975040435791, 0.8822514414787292, 7.6138458251953125, 3, 960, 0.9994120597839355]
)
_LOGARITHMIC = [0, 2, 4]
# An output is a * sigmoid + b, and the exponential of that for positions in `_EXPONENTIAL`.
_A = np.array(
    [46790.66796875, 32.233848571777344, 34.48017883300781, 27.624671936035156, 5.54842472076416, 27.626203536987305]
)
_B = np.array(
    [
        0.00014209747314453125,
        -27.63102149963379,
        0.018199017271399498,
        -27.630813598632812,
        0.3263173997402191,
        -27.63102149963379,
    ]
)
_EXPONENTIAL = [1, 3, 5]
_FLOAT = 1  # ONNX's number for tensors of single precision


@dataclass(frozen=True)
class Network:
    """The network of the surrogate."""

    weights: Mapping[str, Array]
    """The weights by their names in the file."""

    @classmethod
    def read(cls, model: bytes) -> Network:
        """The network in an ONNX file. Raises Malformed if a part is missing."""
        graphs = [value for number, value in fields(model) if number == 7]
        if len(graphs) != 1 or not isinstance(graphs[0], bytes):
            raise Malformed("it has no graph")
        tensors = [_tensor(value) for number, value in fields(graphs[0]) if number == 5 and isinstance(value, bytes)]
        network = cls({name: values.astype(float) for name, values in tensors})
        try:
            network.outputs(1, np.ones((1, 8)))
        except (KeyError, ValueError, IndexError) as error:
            raise Malformed(f"its weights differ: {error}") from None
        return network

    def outputs(self, task: int, inputs: Array) -> Array:
        """The outputs of the network, shape (configurations, 6), in the order of `OUTPUTS`.

        Args:
            task: the code of a task.
            inputs: epoch, batch size, learning rate, momentum, weight decay, layers, units and dropout, not scaled,
                shape (configurations, 8).
        """
        scaled = inputs.astype(float)
        scaled[:, _LOGARITHMIC] = np.log(scaled[:, _LOGARITHMIC] + _TINY)
        scaled = (scaled - _SHIFT) / _SCALE
        embedded = np.broadcast_to(self.weights["embds_fct.0.weight"][task], (len(inputs), 24))
        x = self._dense("first_layer", np.hstack([embedded, scaled]))
        for block in range(_BLOCKS):
            hidden = self._dense(f"layers.{block}.linear0", self._normal(f"layers.{block}.norm", x))
            gated = hidden[:, :_HALF] * np.maximum(hidden[:, _HALF:], 0)
            x = x + self._dense(f"layers.{block}.linear1", gated)
        scores = self._dense("head", np.maximum(self._normal("last_normalization", x), 0))
        answers: Array = _A / (1 + np.exp(-scores)) + _B
        answers[:, _EXPONENTIAL] = np.exp(answers[:, _EXPONENTIAL]) - _TINY
        return answers

    def _dense(self, name: str, x: Array) -> Array:
        result: Array = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return result

    def _normal(self, name: str, x: Array) -> Array:
        mean, variance, weight, bias = (
            self.weights[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        result: Array = (x - mean) * (weight / np.sqrt(variance + _EPSILON)) + bias
        return result


def _tensor(message: bytes) -> tuple[str, NDArray[Any]]:
    """The name and the values of a tensor of single precision; no values for any other tensor."""
    shape, kind, name, content = [], 0, "", b""
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            shape.append(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8 and isinstance(value, bytes):
            name = value.decode(errors="replace")
        elif number == 9 and isinstance(value, bytes):
            content = value
    if kind != _FLOAT:
        return name, np.zeros(0)
    try:
        return name, np.frombuffer(content, "<f4").reshape(shape)
    except ValueError as error:
        raise Malformed(f"the tensor {name} is damaged: {error}") from None
