"""The networks of YAHPO Gym's surrogates, in NumPy (Pfisterer et al., AutoML 2022).

An ONNX file has embeddings of the categorical inputs, a chain of arithmetic for each continuous input, a residual
network, and a chain of arithmetic for each output, which begins with a sigmoid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.protobuf import Malformed, fields

Array = NDArray[np.float64]
Chain: TypeAlias = tuple[tuple[str, float], ...]
"""Operations with their constants, the first one first."""

_EPSILON, _TINY = 1e-5, 1e-12
_NUMBERS = {1: "<f4", 7: "<i8", 11: "<f8"}  # of ONNX's types of tensors
_OPERATIONS: dict[str, Callable[[Array, float], Array]] = {
    "Add": lambda x, c: x + c,
    "Sub": lambda x, c: x - c,
    "Mul": lambda x, c: x * c,
    "Div": lambda x, c: x / c,
    "Log": lambda x, c: np.log(x),
    "Exp": lambda x, c: np.exp(x),
    "Neg": lambda x, c: -x,
}


@dataclass(frozen=True)
class OnnxNetwork:
    """The weights by their names in the file, and the arithmetic of its inputs and outputs."""

    weights: Mapping[str, Array]
    inputs: tuple[Chain, ...]
    """Arithmetic of each continuous input."""
    answers: tuple[Chain, ...]
    """Arithmetic after the sigmoid of each output; it begins with a multiplication."""

    @classmethod
    def read(cls, model: bytes) -> OnnxNetwork:
        """The network in an ONNX file. Raises Malformed if a part is missing."""
        graphs = [value for number, value in fields(model) if number == 7]
        if len(graphs) != 1 or not isinstance(graphs[0], bytes):
            raise Malformed("it has no graph")
        parts = list(fields(graphs[0]))
        tensors = [_tensor(value) for number, value in parts if number == 5 and isinstance(value, bytes)]
        nodes = [_node(value) for number, value in parts if number == 1 and isinstance(value, bytes)]
        inputs, answers = _chains(nodes)
        network = cls({name: values.astype(float) for name, values in tensors}, inputs, answers)
        try:
            network.outputs(np.ones((1, network.categories), int), np.ones((1, len(inputs))))
        except (KeyError, ValueError, IndexError) as error:
            raise Malformed(f"its weights differ: {error}") from None
        return network

    @property
    def categories(self) -> int:
        """Number of categorical inputs."""
        return self._count("embds_fct.")

    def outputs(self, codes: NDArray[np.integer[Any]], numbers: Array) -> Array:
        """The outputs of the network, shape (configurations, outputs).

        Args:
            codes: the codes of the categorical inputs, shape (configurations, categories).
            numbers: the continuous inputs, not scaled, shape (configurations, inputs).
        """
        parts = [self.weights[f"embds_fct.{k}.weight"][column] for k, column in enumerate(codes.T)]
        parts += [_after(chain, column)[:, None] for chain, column in zip(self.inputs, numbers.T, strict=True)]
        x = self._dense("first_layer", np.hstack(parts))
        for block in range(self._count("layers.")):
            hidden = self._dense(f"layers.{block}.linear0", self._normal(f"layers.{block}.norm", x))
            half = hidden.shape[1] // 2
            gated = hidden[:, :half] * np.maximum(hidden[:, half:], 0)
            x = x + self._dense(f"layers.{block}.linear1", gated)
        scores = self._dense("head", np.maximum(self._normal("last_normalization", x), 0))
        columns = []
        for ((_, scale), *chain), column in zip(self.answers, scores.T, strict=True):
            with np.errstate(over="ignore"):  # the share is 0 then
                shares = scale / (1 + np.exp(-column))
            columns.append(_after(chain, shares))
        return np.stack(columns, axis=1)

    def _count(self, part: str) -> int:
        """The number of parts with such a name, which are numbered from 0."""
        return len({name.split(".")[1] for name in self.weights if name.startswith(part)})

    def _dense(self, name: str, x: Array) -> Array:
        result: Array = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return result

    def _normal(self, name: str, x: Array) -> Array:
        mean, variance, weight, bias = (
            self.weights[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        result: Array = (x - mean) * (weight / np.sqrt(variance + _EPSILON)) + bias
        return result


def _after(chain: Sequence[tuple[str, float]], x: Array) -> Array:
    for operation, constant in chain:
        x = _OPERATIONS[operation](x, constant)
    return x


_Node: TypeAlias = tuple[str, list[str], str, NDArray[Any]]
"""Operation, inputs, output, and the value of a constant."""


def _chains(nodes: Sequence[_Node]) -> tuple[tuple[Chain, ...], tuple[Chain, ...]]:
    """The arithmetic of the continuous inputs, and that of the outputs. Raises Malformed for what is neither."""
    inputs: list[Chain] = []
    answers: list[Chain] = []
    columns = {"x_cont": inputs}  # values with a column per chain, and where their chains go
    constants: dict[str, float] = {}
    begun: dict[str, tuple[list[Chain], Chain]] = {}
    for operation, names, output, value in nodes:
        first = names[0] if names else ""
        if operation == "Constant" and value.size == 1:
            constants[output] = _exact(float(value.ravel()[0]))
        elif operation == "Sigmoid":
            columns[output] = answers
        elif operation == "Gather" and first in columns:
            begun[output] = (columns[first], ())
        elif first in begun:
            place, chain = begun[first]
            if operation == "Unsqueeze":
                place.append(chain)
            elif operation == "Cast":
                begun[output] = (place, chain)
            elif operation in _OPERATIONS:
                constant = constants.get(names[1], np.nan) if names[1:] else np.nan
                begun[output] = (place, (*chain, (operation, constant)))
            else:
                raise Malformed(f"{operation} is no arithmetic of an input or output")
    if not answers or not all(chain and chain[0][0] == "Mul" for chain in answers):
        raise Malformed("an output is no multiple of a sigmoid")
    return tuple(inputs), tuple(answers)


def _exact(constant: float) -> float:
    """A constant of the file; 1e-12 in single precision is the 1e-12 that was meant."""
    return _TINY if constant == float(np.float32(_TINY)) else constant


def _node(message: bytes) -> _Node:
    """A node of the graph; its value is empty unless it is a constant."""
    operation, names, output, value = "", [], "", np.zeros(0)
    for number, part in fields(message):
        if not isinstance(part, bytes):
            continue
        if number == 1:
            names.append(part.decode(errors="replace"))
        elif number == 2:
            output = part.decode(errors="replace")
        elif number == 4:
            operation = part.decode(errors="replace")
        elif number == 5:
            tensors = [t for kind, t in fields(part) if kind == 5 and isinstance(t, bytes)]
            value = _tensor(tensors[0])[1] if tensors else value
    return operation, names, output, value


def _tensor(message: bytes) -> tuple[str, NDArray[Any]]:
    """The name and the values of a tensor; empty for types other than single, double and long."""
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
    if kind not in _NUMBERS:
        return name, np.zeros(0)
    try:
        return name, np.frombuffer(content, _NUMBERS[kind]).reshape(shape)
    except ValueError as error:
        raise Malformed(f"the tensor {name} is damaged: {error}") from None
