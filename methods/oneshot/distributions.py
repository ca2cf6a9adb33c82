"""Architecture parameters, and the distributions over operations, kernel sizes and depths that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

Normaliser: TypeAlias = Callable[[Tensor], Tensor]
"""Rows of logits, shape (…, choices), to rows of probabilities."""


class Sparsemax(torch.autograd.Function):
    """The Euclidean projection of each row onto the simplex (Martins and Astudillo, 2016).

    p = max(z - t, 0), where t makes p sum to one: exactly zero off its support (ZO-DARTS+, section III-C).
    """

    @staticmethod
    def forward(context: Any, logits: Tensor) -> Tensor:
        logits = logits - logits.amax(-1, keepdim=True)  # the same projection, and no 1 is lost beside large numbers
        ordered = logits.sort(-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        ranks = torch.arange(1, logits.shape[-1] + 1, device=logits.device, dtype=logits.dtype)
        size = (ranks * ordered > sums).sum(-1, keepdim=True).clamp(min=1)  # of what is no number nothing is left
        probabilities = (logits - sums.gather(-1, size - 1) / size).clamp(min=0)
        context.save_for_backward(probabilities > 0)
        return probabilities

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        (gradient,), (support,) = gradients, context.saved_tensors
        kept = gradient * support
        found: Tensor = (kept - kept.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)) * support
        return found


def softmax(logits: Tensor) -> Tensor:
    """The normaliser of DARTS, MiLeNAS and ZO-DARTS."""
    return logits.softmax(-1)


def sparsemax(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Rows of logits / temperature, projected onto the simplex: the colder, the sparser."""
    found: Tensor = Sparsemax.apply(logits / temperature)  # type: ignore[no-untyped-call, unused-ignore]
    return found


def temperature(epoch: int, start: float = 1.5, factor: float = 0.75, every: int = 5) -> float:
    """The temperature in epoch number `epoch`, from 0: start × factor^(epoch // every)."""
    return start * factor ** (epoch // every)


Rows: TypeAlias = tuple[tuple[bool, ...], ...]


class Alive(NamedTuple):
    """Which choices have a probability above zero, in the rows of `Probabilities`: known on the CPU, and hashable."""

    operations: Rows
    kernels: Rows | None = None
    depths: Rows | None = None


class Probabilities(NamedTuple):
    """The distributions over the choices of a network of three stages; each row sums to 1."""

    operations: Tensor
    """Over operations, shape (3 stages × 6 edges, operations)."""
    kernels: Tensor | None = None
    """Over kernel sizes, shape (3 stages × 6 edges, kernel sizes); None where there is one size."""
    depths: Tensor | None = None
    """Over depths, shape (3 stages, depths); None where each stage has all its cells."""
    alive: Alive | None = None
    """Which of them are above zero, where that is known already; None: whoever asks has to read them."""

    @classmethod
    def of(cls, parts: Sequence[Tensor]) -> Probabilities:
        """Those over operations, kernel sizes and depths that there are, in this order."""
        operations, kernels, depths = [*parts, None, None][:3]
        assert operations is not None
        return cls(operations, kernels, depths)

    def present(self) -> list[Tensor]:
        """The distributions that there are, over operations, kernel sizes and depths."""
        return [part for part in self[:3] if part is not None]

    def everything(self) -> Alive:
        """As if each choice had a probability above zero."""
        return Alive(*(((True,) * part.shape[1],) * part.shape[0] for part in self.present()))


class Logits(NamedTuple):
    """The architecture parameters α, β and γ; None for what is not searched, or not yet."""

    operations: Tensor
    """α, shape (6 edges, operations) for one cell everywhere, or (3 stages × 6 edges, operations) for one per stage."""
    kernels: Tensor | None = None
    """β, shape (3 stages × 6 edges, kernel sizes)."""
    depths: Tensor | None = None
    """γ, shape (3 stages, depths)."""
    alive: Alive | None = None
    """Which of their probabilities are above zero, where that is known already."""

    @classmethod
    def of(cls, parts: Sequence[Tensor]) -> Logits:
        """Those of α, β and γ that there are, in this order."""
        operations, kernels, depths = [*parts, None, None][:3]
        assert operations is not None
        return cls(operations, kernels, depths)

    def present(self) -> list[Tensor]:
        """The parameters that are searched, in the order α, β, γ."""
        return [part for part in self[:3] if part is not None]

    def moved(self, direction: list[Tensor], by: float | Tensor) -> Logits:
        """A step of length `by` along a direction, which has a part for each that is searched."""
        return Logits.of([(part + by * d).detach() for part, d in zip(self.present(), direction, strict=True)])

    def probabilities(self, normalise: Normaliser) -> Probabilities:
        """The distributions that these parameters stand for."""
        found = Probabilities.of([normalise(part) for part in self.present()])
        if len(found.operations) == 6:
            found = found._replace(operations=found.operations.repeat(3, 1))
        return found._replace(alive=self.alive)


def alive_of(found: Sequence[Probabilities]) -> list[Alive]:
    """What is above zero in each of several distributions, read from their device in one go."""
    parts = [part for probabilities in found for part in probabilities.present()]
    flags = iter(torch.cat([part.detach().flatten() for part in parts]).gt(0).tolist())

    def rows(part: Tensor) -> Rows:
        return tuple(tuple(next(flags) for _ in range(part.shape[1])) for _ in range(len(part)))

    return [Alive(*(rows(part) for part in probabilities.present())) for probabilities in found]
