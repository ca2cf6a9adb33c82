"""How weights and architecture parameters are stepped: second-order DARTS, MiLeNAS, and the zeroth-order estimate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nasbench.benchmarks.spaces.cells.searchable import LabelledImages
from nasbench.benchmarks.training.recipes import Recipe
from nasbench.methods.oneshot.distributions import Logits

Loss = Callable[[nn.Module, Logits, LabelledImages], Tensor]
"""(network, architecture parameters, batch) → loss, a scalar."""


class Update(NamedTuple):
    """One update of the architecture parameters by the zeroth-order estimate."""

    direct: float
    """⟨∇α L_val, u⟩: the part of the estimate that the architecture has directly."""
    implicit: float
    """⟨(w̃ - w) / μ, ∇w L_val⟩: the part that goes through the trained weights."""
    spread: float
    """‖w̃ - w‖ / μ: how fast the trained weights move with the architecture."""
    mu: float
    """μ: the length of the step aside."""


class Weights:
    """A network's weights with the optimiser that trains them.

    Args:
        parameters: those that are trained, in order; by default all of the network's.
    """

    def __init__(self, network: nn.Module, recipe: Recipe, parameters: list[nn.Parameter] | None = None) -> None:
        self.network, self.recipe = network, recipe
        self.parameters = list(network.parameters()) if parameters is None else parameters
        self.optimizer = torch.optim.SGD(
            self.parameters,
            recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=recipe.nesterov,
            weight_decay=recipe.weight_decay,
        )

    @property
    def rate(self) -> float:
        """The learning rate."""
        found: float = self.optimizer.param_groups[0]["lr"]
        return found

    @rate.setter
    def rate(self, value: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = value

    def step(self, loss: Tensor, clipped_with: Sequence[Tensor] = ()) -> None:
        """One step down a loss.

        Args:
            clipped_with: other tensors, whose gradients are added up from step to step, and count in the norm that is
                clipped.
        """
        found = gradients(loss, [*self.parameters, *clipped_with])
        for parameter, gradient in zip(self.parameters, found, strict=False):
            parameter.grad = gradient
        for other, gradient in zip(clipped_with, found[len(self.parameters) :], strict=True):
            other.grad = gradient if other.grad is None else other.grad + gradient
        if self.recipe.clip is not None:
            nn.utils.clip_grad_norm_([*self.parameters, *clipped_with], self.recipe.clip)
        self.optimizer.step()

    def add(self, parameters: list[nn.Parameter]) -> None:
        """Trains more parameters from now on."""
        self.parameters += parameters
        self.optimizer.add_param_group({"params": parameters, "lr": self.rate})

    def momentum(self) -> list[Tensor]:
        """The momentum of each weight; zeros before its first step."""
        states = (self.optimizer.state[p].get("momentum_buffer") for p in self.parameters)
        return [torch.zeros_like(p) if s is None else s for p, s in zip(self.parameters, states, strict=True)]

    def copied(self) -> Weights:
        """The same weights with the same optimiser in a network of its own."""
        copies: dict[int, Any] = {}
        network = deepcopy(self.network, copies)
        found = Weights(network, self.recipe, [copies[id(p)] for p in self.parameters])
        found.rate = self.rate
        for own, theirs in zip(found.parameters, self.parameters, strict=True):
            state = self.optimizer.state[theirs].get("momentum_buffer")
            if state is not None:
                found.optimizer.state[own]["momentum_buffer"] = state.clone()
        return found

    def values(self) -> list[Tensor]:
        """A copy of the weights."""
        return [parameter.detach().clone() for parameter in self.parameters]

    def set(self, values: Sequence[Tensor]) -> None:
        """Puts weights in place."""
        with torch.no_grad():
            for parameter, value in zip(self.parameters, values, strict=True):
                parameter.copy_(value)


class Rule(ABC):
    """Steps of weights and architecture on a pair of batches.

    Args:
        weights: the weights with their optimiser.
        loss: loss of training.
        val_loss: loss of validation, penalties included.
    """

    def __init__(self, weights: Weights, loss: Loss, val_loss: Loss) -> None:
        self.weights, self.loss, self.val_loss = weights, loss, val_loss
        self.untrained: list[nn.Parameter] = []
        """Weights of the network that are left as they are."""

    @abstractmethod
    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> Update | None:
        """Steps the weights on `train`, and the architecture."""

    def end_epoch(self) -> None:  # noqa: B027 (most have nothing to give up)
        """Gives up what does not reach into the next epoch."""

    def grown(self, parameters: list[nn.Parameter]) -> None:
        """Takes in what the network has been given: it is trained like the rest."""
        if parameters:
            self.weights.add(parameters)


class Darts(Rule):
    """DARTS (Liu et al., ICLR 2019): the gradient at weights one step ahead, before the weights' own step.

    Args:
        order: 2 unrolls the step (equations 7 and 8 of that paper); 1 takes the weights as they are.
    """

    epsilon = 0.01

    def __init__(self, weights: Weights, loss: Loss, val_loss: Loss, order: int = 2) -> None:
        super().__init__(weights, loss, val_loss)
        self._order = order

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> Update | None:
        assign(logits, self.gradient(logits, train, val), adam)
        self.weights.step(self.loss(self.weights.network, logits, train))
        return None

    def gradient(self, logits: Logits, train: LabelledImages, val: LabelledImages) -> list[Tensor]:
        """The gradient of the validation loss by the logits; weights and logits stay as they are."""
        network, parts = self.weights.network, logits.present()
        if self._order == 1:
            return gradients(self.val_loss(network, logits, val), parts)
        group = self.weights.optimizer.param_groups[0]
        before, rate = self.weights.values(), self.weights.rate
        down = gradients(self.loss(network, logits, train), self.weights.parameters)
        momentum = self.weights.momentum()
        ahead = [
            w - rate * (group["momentum"] * m + g + group["weight_decay"] * w)
            for w, m, g in zip(before, momentum, down, strict=True)
        ]
        self.weights.set(ahead)
        found = gradients(self.val_loss(network, logits, val), [*parts, *self.weights.parameters])
        direct, slope = found[: len(parts)], found[len(parts) :]
        step = self.epsilon / norm(slope)
        sides = []
        for sign in (1, -1):
            self.weights.set([w + sign * step * v for w, v in zip(before, slope, strict=True)])
            sides.append(gradients(self.loss(network, logits, train), parts))
        self.weights.set(before)
        return [d - rate * (plus - minus) / (2 * step) for d, plus, minus in zip(direct, *sides, strict=True)]


class Milenas(Rule):
    """MiLeNAS (He et al., CVPR 2020): after the weights' step, first-order gradients of both losses (mixed level).

    Both losses count equally (λ = 1 of that paper).
    """

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> Update | None:
        self.weights.step(self.loss(self.weights.network, logits, train))
        assign(logits, self.gradient(logits, train, val), adam)
        return None

    def gradient(self, logits: Logits, train: LabelledImages, val: LabelledImages) -> list[Tensor]:
        """∇α L_train + ∇α L_val, a part for each of the logits."""
        network, parts = self.weights.network, logits.present()
        one = gradients(self.loss(network, logits, train), parts)
        two = gradients(self.val_loss(network, logits, val), parts)
        return [a + b for a, b in zip(one, two, strict=True)]


class ZerothOrder(Rule):
    """ZO-DARTS (Xie et al.): how trained weights move with the architecture, from training twice, side by side.

    Windows of T training batches. At the start of one, a direction u on the unit sphere and μ = mu ‖α‖ are drawn; two
    copies of the weights are trained on the same batches, at α and at α + μ u. Then the derivative along u is
    s = ⟨∇α L_val, u⟩ + ⟨(w̃ - w) / μ, ∇w L_val⟩, and the estimate of the gradient s u (algorithm 1).

    Both copies have the same optimiser, momentum included, as algorithm 1 has it, and μ is a share of the norm of all
    that is searched. `Scripted` is what the authors' scripts do instead.

    Args:
        window: T.
        mu: μ as a share of the norm.
    """

    def __init__(
        self,
        weights: Weights,
        loss: Loss,
        val_loss: Loss,
        generator: torch.Generator,
        window: int = 10,
        mu: float = 0.005,
    ) -> None:
        super().__init__(weights, loss, val_loss)
        self._generator, self._window, self._share = generator, window, mu
        self._done = 0
        self._direction: list[Tensor] = []
        self._mu = 0.0
        self._moved: Logits
        self._beside: Weights

    def step(
        self, logits: Logits, train: LabelledImages, val: LabelledImages, adam: torch.optim.Optimizer
    ) -> Update | None:
        if self._done == 0:
            self.open(logits)
        self.train(logits, train)
        if self._done < self._window:
            return None
        estimate, update = self.estimate(logits, val)
        assign(logits, estimate, adam)
        self.end_epoch()
        return update

    def end_epoch(self) -> None:
        """An incomplete window is given up; the weights keep its steps."""
        self._done = 0

    def open(self, logits: Logits, direction: list[Tensor] | None = None, mu: float | None = None) -> None:
        """Begins a window; direction and μ are drawn unless given."""
        parts = logits.present()
        if direction is None:
            direction = [torch.randn(p.shape, generator=self._generator, dtype=p.dtype).to(p.device) for p in parts]
            length = norm(direction)
            direction = [part / length for part in direction]
        self._direction = direction
        self._mu = self._share * float(norm(self._measured(logits)).detach()) if mu is None else mu
        self._moved = logits.moved(direction, self._mu)
        self._beside = self._begun()

    def train(self, logits: Logits, batch: LabelledImages) -> None:
        """One step of both copies on the same batch."""
        self.weights.step(self.loss(self.weights.network, logits, batch), self._clipped_with(logits))
        self._beside.rate = self.weights.rate
        self._beside.step(self.loss(self._beside.network, self._moved, batch))
        self._done += 1

    def estimate(self, logits: Logits, val: LabelledImages) -> tuple[list[Tensor], Update]:
        """s u, and what it is made of."""
        parts, own = logits.present(), self._compared()
        found = gradients(self.val_loss(self.weights.network, logits, val), [*parts, *own])
        direct = dot(found[: len(parts)], self._direction)
        pairs = zip(self._beside.parameters, own, strict=False)  # beside the weights a copy may have more to train
        apart = [(beside.detach() - w.detach()) / self._mu for beside, w in pairs]
        implicit = dot(apart, found[len(parts) :])
        s = direct + implicit
        update = Update(float(direct), float(implicit), float(norm(apart)), self._mu)
        return [s * part for part in self._direction], update

    def _measured(self, logits: Logits) -> list[Tensor]:
        """The tensors of whose norm μ is a share."""
        return logits.present()

    def _clipped_with(self, logits: Logits) -> Sequence[Tensor]:
        """What counts in the norm of the weights' gradients beside them."""
        return ()

    def _begun(self) -> Weights:
        """The second copy, at the start of a window."""
        return self.weights.copied()

    def _compared(self) -> list[nn.Parameter]:
        """The weights that the second copy's are held against, in its order."""
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

    def _begun(self) -> Weights:
        network = deepcopy(self.weights.network)
        self._moved = Logits(*(nn.Parameter(part) for part in self._moved.present()))
        recipe = replace(self.weights.recipe, nesterov=False)
        return Weights(network, recipe, [*network.parameters(), *self._moved.present()])  # type: ignore[list-item]

    def _compared(self) -> list[nn.Parameter]:
        return list(self.weights.network.parameters())


def gradients(loss: Tensor, of: Sequence[Tensor]) -> list[Tensor]:
    """Zeros for what the loss does not depend on: an operation that was skipped."""
    return list(torch.autograd.grad(loss, list(of), materialize_grads=True, allow_unused=True))


def assign(logits: Logits, estimate: list[Tensor], adam: torch.optim.Optimizer) -> None:
    """One step of the architecture parameters down a gradient."""
    for part, gradient in zip(logits.present(), estimate, strict=True):
        part.grad = gradient.detach().clone()
    adam.step()


def norm(parts: Sequence[Tensor]) -> Tensor:
    """The 2-norm of all of them together."""
    return torch.stack([part.double().square().sum() for part in parts]).sum().sqrt()


def dot(one: Sequence[Tensor], two: Sequence[Tensor]) -> Tensor:
    """The inner product of all of them together."""
    return torch.stack([(a.double() * b.double()).sum() for a, b in zip(one, two, strict=True)]).sum()
