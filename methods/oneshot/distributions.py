"""Architecture parameters, and their distributions over operations, kernel sizes and depths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import torch
from torch import Tensor

from nasbench.benchmarks.spaces.cells import Ties
from nasbench.benchmarks.spaces.cells.operations import EDGES

Normaliser: TypeAlias = Callable[[Tensor], Tensor]
"""A function from rows of logits, shape (…, choices), to rows of probabilities."""


class Sparsemax(torch.autograd.Function):
    """The Euclidean projection of each row onto the simplex (Martins and Astudillo, 2016).

    p = max(z - t, 0), where t makes p sum to one: exactly zero off its support (ZO-DARTS+, section III-C).
    """

    @staticmethod
    def forward(context: Any, logits: Tensor) -> Tensor:
        logits = logits - logits.amax(-1, keepdim=True)  # same projection, without rounding of large numbers
        ordered = logits.sort(-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        ranks = torch.arange(1, logits.shape[-1] + 1, device=logits.device, dtype=logits.dtype)
        size = (ranks * ordered > sums).sum(-1, keepdim=True).clamp(min=1)  # 0 for NaN
        probabilities = (logits - sums.gather(-1, size - 1) / size).clamp(min=0)
        context.save_for_backward(probabilities > 0)
        return probabilities

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        (gradient,), (support,) = gradients, context.saved_tensors
        kept = gradient * support
        result: Tensor = (kept - kept.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)) * support
        return result


def softmax(logits: Tensor) -> Tensor:
    """The normaliser of DARTS, MiLeNAS and ZO-DARTS."""
    return logits.softmax(-1)


def sparsemax(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Rows of logits / temperature, projected onto the simplex; a lower temperature gives sparser rows."""
    probabilities: Tensor = Sparsemax.apply(logits / temperature)  # type: ignore[no-untyped-call, unused-ignore]
    return probabilities


def temperature(epoch: int, start: float = 1.5, factor: float = 0.75, every: int = 5) -> float:
    """The temperature in an epoch, counted from 0: start × factor^(epoch // every)."""
    return start * factor ** (epoch // every)


Rows: TypeAlias = tuple[tuple[bool, ...], ...]


class Alive(NamedTuple):
    """Flags of choices with a probability above zero, in the rows of `Probabilities`; on the CPU, and hashable."""

    operations: Rows
    kernels: Rows | None = None
    depths: Rows | None = None


class Parts(NamedTuple):
    """Tensors over the choices of a network, one for each kind of choice."""

    operations: Tensor
    kernels: Tensor | None = None
    depths: Tensor | None = None
    alive: Alive | None = None
    """The probabilities above zero; None if they have not been read from the device yet."""

    @classmethod
    def of(cls, parts: Sequence[Tensor]) -> Self:
        """From one to three tensors: for operations, kernel sizes and depths, in this order."""
        operations, kernels, depths = [*parts, None, None][:3]
        assert operations is not None
        return cls(operations, kernels, depths)

    def present(self) -> list[Tensor]:
        """The tensors that are not None, in the order operations, kernel sizes, depths."""
        return [part for part in self[:3] if part is not None]


class Probabilities(Parts):
    """The distributions over the choices of a network of three stages; each row sums to 1.

    operations: shape (3 stages × 6 edges, operations); kernels: (3 stages × 6 edges, kernel sizes), None if there is
    one size; depths: (3 stages, depths), None if each stage has all its cells.
    """

    def everything(self) -> Alive:
        """The flags of distributions in which every choice has a probability above zero."""
        return Alive(*(((True,) * part.shape[1],) * part.shape[0] for part in self.present()))


class Shared:
    """Gives each edge and stage the distribution of its choice, or that of what it always has.

    Args:
        ties: which edges and stages share a choice.
        operations: the operations, in the order of their columns.
    """

    def __init__(self, ties: Ties, operations: Sequence[str]) -> None:
        edges, stages = len(ties.searched), len(ties.deep)
        self._rows, self._everything = (edges, edges, stages), dict[int, Alive]()
        self._places = (  # after the rows of the choices there is one for each option, which has all probability
            [e if isinstance(e, int) else edges + operations.index(e) for e in ties.edges],
            [e if isinstance(e, int) else edges for e in ties.edges],
            [stages if number is None else number for number in ties.depths],
        )

    def __call__(self, chosen: Probabilities) -> Probabilities:
        """The distributions of all edges and stages."""
        parts = zip(chosen.present(), self._places, strict=False)
        return Probabilities.of([torch.cat([part, torch.eye(part.shape[1]).to(part)])[at] for part, at in parts])

    def everything(self, probabilities: Probabilities) -> Alive:
        """The flags of distributions in which every option of each choice has a probability above zero."""
        widths = [part.shape[1] for part in probabilities.present()]
        if len(widths) not in self._everything:
            whole = [torch.ones(rows, width) for rows, width in zip(self._rows, widths, strict=False)]
            (self._everything[len(widths)],) = alive_of([self(Probabilities.of(whole))])
        return self._everything[len(widths)]


class Logits(Parts):
    """The architecture parameters; None if they are not searched, or not yet.

    operations: α, shape (6 edges, operations) for one cell everywhere, or (3 stages × 6 edges, operations) for one per
    stage; kernels: β, shape (3 stages × 6 edges, kernel sizes); depths: γ, shape (3 stages, depths).
    """

    def moved(self, direction: list[Tensor], by: float | Tensor) -> Logits:
        """The parameters after a step of length `by` along a direction, which has one tensor per searched part."""
        return Logits.of([(part + by * d).detach() for part, d in zip(self.present(), direction, strict=True)])

    def probabilities(self, normalise: Normaliser, shared: Shared | None = None) -> Probabilities:
        """The distributions of these parameters.

        Args:
            normalise: makes rows of probabilities.
            shared: in a space in which edges or stages share a choice, or have none, gives all of them theirs.
        """
        result = Probabilities.of([normalise(part) for part in self.present()])
        if shared is not None:
            result = shared(result)
        elif len(result.operations) == len(EDGES):
            result = result._replace(operations=result.operations.repeat(3, 1))
        return result._replace(alive=self.alive)


def alive_of(distributions: Sequence[Probabilities]) -> list[Alive]:
    """The probabilities above zero in each of several distributions, read from their device at once."""
    parts = [part for probabilities in distributions for part in probabilities.present()]
    flags = iter(torch.cat([part.detach().flatten() for part in parts]).gt(0).tolist())

    def rows(part: Tensor) -> Rows:
        return tuple(tuple(next(flags) for _ in range(part.shape[1])) for _ in range(len(part)))

    return [Alive(*(rows(part) for part in probabilities.present())) for probabilities in distributions]
