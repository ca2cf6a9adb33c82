"""Architecture parameters, and the distributions over operations, kernel sizes and depths that they stand for."""

from __future__ import annotations

from collections.abc import Callable
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


class Probabilities(NamedTuple):
    """The distributions over the choices of a network of three stages; each row sums to 1."""

    operations: Tensor
    """Over operations, shape (3 stages × 6 edges, operations)."""
    kernels: Tensor | None = None
    """Over kernel sizes, shape (3 stages × 6 edges, kernel sizes); None where there is one size."""
    depths: Tensor | None = None
    """Over depths, shape (3 stages, depths); None where each stage has all its cells."""


class Logits(NamedTuple):
    """The architecture parameters α, β and γ; None for what is not searched, or not yet."""

    operations: Tensor
    """α, shape (6 edges, operations) for one cell everywhere, or (3 stages × 6 edges, operations) for one per stage."""
    kernels: Tensor | None = None
    """β, shape (3 stages × 6 edges, kernel sizes)."""
    depths: Tensor | None = None
    """γ, shape (3 stages, depths)."""

    def present(self) -> list[Tensor]:
        """The parameters that are searched, in the order α, β, γ."""
        return [part for part in self if part is not None]

    def moved(self, direction: list[Tensor], by: float) -> Logits:
        """A step of length `by` along a direction, which has a part for each that is searched."""
        moved = [(part + by * d).detach() for part, d in zip(self.present(), direction, strict=True)]
        return Logits(*moved)

    def probabilities(self, normalise: Normaliser) -> Probabilities:
        """The distributions that these parameters stand for."""
        operations, *others = map(normalise, self.present())
        if len(operations) == 6:
            operations = operations.repeat(3, 1)
        return Probabilities(operations, *others)
