"""The zeroth-order estimate of ZO-DARTS, its corrections, and its random-sign ablation."""

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
from nasbench.methods.oneshot.settings import GradientEstimate
from nasbench.methods.oneshot.weights import Weights, dot, flat, gradients, norm

Direction = list[Tensor]
"""A direction in the space of architecture parameters, one tensor for each of α, β and γ."""


class Update(NamedTuple):
    """The terms of the zeroth-order estimate along one direction."""

    direct: float
    """⟨∇α L_val, u⟩: the direct effect of the architecture."""
    implicit: float
    """⟨(w̃ - w) / μ, ∇w L_val⟩: the effect through the trained weights."""
    spread: float
    """‖w̃ - w‖ / μ: the rate at which the trained weights move with the architecture."""
    mu: float
    """μ: the length of the perturbation."""

    @property
    def s(self) -> float:
        """The estimated derivative along the direction."""
        return self.direct + self.implicit


class Perturbed(NamedTuple):
    """A second copy of the weights, trained at a perturbed architecture."""

    logits: Logits
    weights: Weights


class ZerothOrder(Rule):
    """ZO-DARTS (Xie et al.): a zeroth-order estimate of the gradient from two copies of the weights.

    Training proceeds in windows of T batches. At the start of a window a direction u on the unit sphere is drawn, and
    μ = mu ‖α‖; two copies of the weights are trained on the same batches, at α and at α + μ u. Then the derivative
    along u is s = ⟨∇α L_val, u⟩ + ⟨(w̃ - w) / μ, ∇w L_val⟩, and the estimate of the gradient is s u (algorithm 1).

    Both copies have the same optimiser and momentum, as in algorithm 1, and μ is a share of the norm of all searched
    parameters. `Scripted` follows the authors' scripts instead. No step reads a value from the device.

    Args:
        window: T.
        mu: μ as a share of the norm.
        how: changes of algorithm 1; by default none.
        mark: sets the `alive` flags of several logits at once; called once per window.
    """

    def __init__(
        self,
        weights: Weights,
        loss: Loss,
        val_loss: Loss,
        generator: torch.Generator,
        window: int = 10,
        mu: float = 0.005,
        how: GradientEstimate = GradientEstimate(),  # noqa: B008 (it is frozen)
        mark: Callable[[Sequence[Logits]], list[Logits]] = list,
    ) -> None:
        super().__init__(weights, loss, val_loss)
        self._generator, self._window, self._share, self._how, self._mark = generator, window, mu, how, mark
        self._done = 0
        self._directions: list[Direction] = []
        self._mu: Tensor | float = 0.0
        self._here: Logits
        self._aside: list[Perturbed] = []
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
        """Drops an incomplete window; the weights keep its steps."""
        self._done = 0

    def grown(self, parameters: list[nn.Parameter]) -> None:
        super().grown(parameters)
        self._kept = []  # their shapes no longer fit

    def open(self, logits: Logits, directions: list[Direction] | None = None, mu: float | None = None) -> None:
        """Begins a window; directions and μ are computed unless given."""
        self._directions = directions or [self._drawn(logits) for _ in range(self._how.directions)]
        self._mu = (self._share * self._length(logits)) if mu is None else mu
        signs = (1, -1) if self._how.antithetic else (1,)
        moved = [logits.moved(direction, sign * self._mu) for direction in self._directions for sign in signs]
        self._here, *marked = self._mark([logits, *moved])
        self._aside = [self._copy_for(number, perturbed) for number, perturbed in enumerate(marked)]

    def train(self, logits: Logits, batch: LabelledImages) -> None:
        """One step of all copies on the same batch."""
        self.descend(logits, batch, self._clipped_with(logits))
        for moved, weights in self._aside:
            weights.rate = self.weights.rate
            weights.step(self.loss(weights.network, moved, batch))
        self._done += 1

    def estimate(self, logits: Logits, val: LabelledImages) -> tuple[Direction, list[Tensor]]:
        """The mean of s u over directions, and the fields of `Update` for each direction, shape (4,)."""
        parts, compared = logits.present(), self._compared()
        slopes = gradients(self.val_loss(self.weights.network, logits, val), [*parts, *compared])
        slope, facts = [flat(slopes[len(parts) :])], []
        total = [torch.zeros_like(part) for part in parts]
        for number, direction in enumerate(self._directions):
            direct, difference = dot(slopes[: len(parts)], direction), self._apart(number, compared)
            implicit = dot([difference], slope)
            facts.append(torch.stack([direct, implicit, norm([difference]), torch.as_tensor(self._mu).to(direct)]))
            s = direct + implicit
            if self._how.random_sign:
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
        """The norm of which μ is a share."""
        return norm(self._measured(logits)).clamp(min=self._how.floor)

    def _apart(self, number: int, compared: Sequence[Tensor]) -> Tensor:
        """(w̃ - w) / μ along a direction; (w̃₊ - w̃₋) / 2μ if the estimate is antithetic."""
        if self._how.antithetic:
            plus, minus = (flat(self._aside[2 * number + k].weights.parameters) for k in range(2))
            return (plus - minus) / (2 * self._mu)
        # A copy may train more parameters than the weights (see `Scripted`).
        return (flat(self._aside[number].weights.parameters[: len(compared)]) - flat(compared)) / self._mu

    def _measured(self, logits: Logits) -> list[Tensor]:
        """The tensors in whose norm μ is measured."""
        return logits.present()

    def _clipped_with(self, logits: Logits) -> Sequence[Tensor]:
        """Other tensors whose gradients count in the clipped norm of the weights' gradients."""
        return ()

    def _copy_for(self, number: int, moved: Logits) -> Perturbed:
        """A copy at the start of a window: that of the last window, set to the weights."""
        if number < len(self._kept):
            self._kept[number].take(self.weights)
        else:
            self._kept.append(self.weights.copied())
        return Perturbed(moved, self._kept[number])

    def _compared(self) -> list[nn.Parameter]:
        """The weights that are compared with those of the copies, in order."""
        return self.weights.parameters


class Scripted(ZerothOrder):
    """The estimate of the authors' scripts, for ablations; its w̃ - w hardly depends on the direction.

    The second copy begins each window with an empty optimiser without Nesterov momentum, and its α̃ is trained too.
    Kernel sizes added at θ are trained in the second copy only. The clipped norm of the weights' gradients includes
    their gradients, accumulated since θ, and the architecture's, accumulated since its last step. μ is a share of the
    norm of α alone.
    """

    def grown(self, parameters: list[nn.Parameter]) -> None:
        """Leaves the parameters untrained."""
        self.untrained = parameters

    def _measured(self, logits: Logits) -> list[Tensor]:
        return [logits.operations]

    def _clipped_with(self, logits: Logits) -> list[Tensor]:
        return [*logits.present(), *self.untrained]

    def _copy_for(self, number: int, moved: Logits) -> Perturbed:
        network = deepcopy(self.weights.network)
        # They are trained, so their zeros change: no `alive` flags are set.
        logits = Logits.of([nn.Parameter(part) for part in moved.present()])
        recipe = replace(self.weights.recipe, nesterov=False)
        return Perturbed(logits, Weights(network, recipe, [*network.parameters(), *logits.present()]))  # type: ignore[list-item]

    def _compared(self) -> list[nn.Parameter]:
        return list(self.weights.network.parameters())
