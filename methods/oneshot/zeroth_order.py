"""The zeroth-order estimate of ZO-DARTS, what makes it sound, and the foil that knows nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from nasbench.benchmarks.spaces.cells.searchable import LabelledImages
from nasbench.methods.oneshot.bilevel import Loss, Rule, assign
from nasbench.methods.oneshot.distributions import Logits
from nasbench.methods.oneshot.settings import Estimate
from nasbench.methods.oneshot.weights import Weights, dot, flat, gradients, norm

Direction = list[Tensor]
"""A step of the architecture parameters, a part for each of α, β and γ."""


class Update(NamedTuple):
    """The facts of one direction of the zeroth-order estimate."""

    direct: float
    """⟨∇α L_val, u⟩: the part of the estimate that the architecture has directly."""
    implicit: float
    """⟨(w̃ - w) / μ, ∇w L_val⟩: the part that goes through the trained weights."""
    spread: float
    """‖w̃ - w‖ / μ: how fast the trained weights move with the architecture."""
    mu: float
    """μ: the length of the step aside."""

    @property
    def s(self) -> float:
        """The derivative along the direction, as estimated."""
        return self.direct + self.implicit


class Aside(NamedTuple):
    """A second copy of the weights, trained at a step aside."""

    logits: Logits
    weights: Weights


class ZerothOrder(Rule):
    """ZO-DARTS (Xie et al.): how trained weights move with the architecture, from training twice, side by side.

    Windows of T training batches. At the start of one, a direction u on the unit sphere and μ = mu ‖α‖ are drawn; two
    copies of the weights are trained on the same batches, at α and at α + μ u. Then the derivative along u is
    s = ⟨∇α L_val, u⟩ + ⟨(w̃ - w) / μ, ∇w L_val⟩, and the estimate of the gradient s u (algorithm 1).

    Both copies have the same optimiser, momentum included, as algorithm 1 has it, and μ is a share of the norm of all
    that is searched. `Scripted` is what the authors' scripts do instead. No step reads a value from the device.

    Args:
        window: T.
        mu: μ as a share of the norm.
        how: what differs from algorithm 1; by default nothing.
        mark: notes on logits which of their probabilities are zero, for several at once; called once per window.
    """

    def __init__(
        self,
        weights: Weights,
        loss: Loss,
        val_loss: Loss,
        generator: torch.Generator,
        window: int = 10,
        mu: float = 0.005,
        how: Estimate = Estimate(),  # noqa: B008 (it is frozen)
        mark: Callable[[Sequence[Logits]], list[Logits]] = list,
    ) -> None:
        super().__init__(weights, loss, val_loss)
        self._generator, self._window, self._share, self._how, self._mark = generator, window, mu, how, mark
        self._done = 0
        self._directions: list[Direction] = []
        self._mu: Tensor | float = 0.0
        self._here: Logits
        self._aside: list[Aside] = []
        self._kept: list[Weights] = []

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> list[Tensor]:
        if self._done == 0:
            self.open(logits)
        self.train(self._here, train)
        if self._done < self._window:
            return []
        estimate, facts = self.estimate(self._here, val)
        assign(logits, estimate, adam)
        self.end_epoch()
        return facts

    def end_epoch(self) -> None:
        """An incomplete window is given up; the weights keep its steps."""
        self._done = 0

    def grown(self, parameters: list[nn.Parameter]) -> None:
        super().grown(parameters)
        self._kept = []  # copies of another shape

    def open(self, logits: Logits, directions: list[Direction] | None = None, mu: float | None = None) -> None:
        """Begins a window; directions and μ are drawn unless given."""
        self._directions = directions or [self._drawn(logits) for _ in range(self._how.directions)]
        self._mu = (self._share * self._length(logits)) if mu is None else mu
        signs = (1, -1) if self._how.antithetic else (1,)
        moved = [logits.moved(direction, sign * self._mu) for direction in self._directions for sign in signs]
        self._here, *marked = self._mark([logits, *moved])
        self._aside = [self._begun(number, one) for number, one in enumerate(marked)]

    def train(self, logits: Logits, batch: LabelledImages) -> None:
        """One step of all copies on the same batch."""
        self.descend(logits, batch, self._clipped_with(logits))
        for moved, beside in self._aside:
            beside.rate = self.weights.rate
            beside.step(self.loss(beside.network, moved, batch))
        self._done += 1

    def estimate(self, logits: Logits, val: LabelledImages) -> tuple[Direction, list[Tensor]]:
        """The mean of s u over directions, and of each direction what s is made of, shape (4,), in `Update`'s order."""
        parts, own = logits.present(), self._compared()
        found = gradients(self.val_loss(self.weights.network, logits, val), [*parts, *own])
        slope, facts = [flat(found[len(parts) :])], []
        total = [torch.zeros_like(part) for part in parts]
        for number, direction in enumerate(self._directions):
            direct, apart = dot(found[: len(parts)], direction), self._apart(number, own)
            implicit = dot([apart], slope)
            facts.append(torch.stack([direct, implicit, norm([apart]), torch.as_tensor(self._mu).to(direct)]))
            s = direct + implicit
            if self._how.coin:
                s = s * (2 * torch.randint(2, (), generator=self._generator).to(s) - 1)
            total = [before + s * part for before, part in zip(total, direction, strict=True)]
        scale = norm(total).clamp(min=torch.finfo(torch.float64).tiny) if self._how.normalised else len(facts)
        return [part / scale for part in total], facts

    def _drawn(self, logits: Logits) -> Direction:
        parts = [
            torch.randn(part.shape, generator=self._generator, dtype=part.dtype).to(part.device)
            for part in logits.present()
        ]
        length = norm(parts)
        return [part / length for part in parts]

    def _length(self, logits: Logits) -> Tensor:
        """What μ is a share of."""
        return norm(self._measured(logits)).clamp(min=self._how.floor)

    def _apart(self, number: int, own: Sequence[Tensor]) -> Tensor:
        """(w̃ - w) / μ along a direction; (w̃₊ - w̃₋) / 2μ where both ways are gone."""
        if self._how.antithetic:
            plus, minus = (flat(self._aside[2 * number + k].weights.parameters) for k in range(2))
            return (plus - minus) / (2 * self._mu)
        # Beside the weights a copy may have more to train.
        return (flat(self._aside[number].weights.parameters[: len(own)]) - flat(own)) / self._mu

    def _measured(self, logits: Logits) -> list[Tensor]:
        """The tensors of whose norm μ is a share."""
        return logits.present()

    def _clipped_with(self, logits: Logits) -> Sequence[Tensor]:
        """What counts in the norm of the weights' gradients beside them."""
        return ()

    def _begun(self, number: int, moved: Logits) -> Aside:
        """A copy at the start of a window: the one of the window before, made equal to the weights again."""
        if number < len(self._kept):
            self._kept[number].take(self.weights)
        else:
            self._kept.append(self.weights.copied())
        return Aside(moved, self._kept[number])

    def _compared(self) -> list[nn.Parameter]:
        """The weights that the copies are held against, in their order."""
        return self.weights.parameters


class Scripted(ZerothOrder):
    """The estimate as the authors' scripts compute it, for ablations: w̃ - w then hardly depends on the direction.

    The second copy begins each window with an empty optimiser without Nesterov's term, and its α̃ is trained along;
    kernel sizes that join in are trained in the second copy only; the norm that is clipped of the weights' gradients
    also counts theirs, added up since they joined in, and the architecture's, added up since its last step; μ is a
    share of the norm of α alone.
    """

    def grown(self, parameters: list[nn.Parameter]) -> None:
        """Leaves them as they are."""
        self.untrained = parameters

    def _measured(self, logits: Logits) -> list[Tensor]:
        return [logits.operations]

    def _clipped_with(self, logits: Logits) -> list[Tensor]:
        return [*logits.present(), *self.untrained]

    def _begun(self, number: int, moved: Logits) -> Aside:
        network = deepcopy(self.weights.network)
        # Which of them are zero changes while they are trained: nothing is noted.
        own = Logits.of([nn.Parameter(part) for part in moved.present()])
        recipe = replace(self.weights.recipe, nesterov=False)
        return Aside(own, Weights(network, recipe, [*network.parameters(), *own.present()]))  # type: ignore[list-item]

    def _compared(self) -> list[nn.Parameter]:
        return list(self.weights.network.parameters())
