"""The training of a supernet and its architecture parameters, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.cells import Stage, size
from benchmarks.cells.searchable import Searchable
from benchmarks.images import training
from benchmarks.images.augmentation import Batch
from benchmarks.images.recipes import RECIPES
from methods.oneshot.bilevel import Darts, Milenas, Rule, Update, Weights, ZerothOrder
from methods.oneshot.distributions import Logits, Probabilities, softmax, sparsemax, temperature
from methods.oneshot.supernet import OPERATIONS, Supernet

KERNELS = (7, 5, 3)
DEPTH = 3
_BEGIN = 1e-3  # the scale at which architecture parameters are drawn
_PENALTY = 15.0  # λ = 15 / τ, for a hinge in millions of parameters (ZO-DARTS++, section IV-C)


@dataclass(frozen=True)
class Settings:
    """What distinguishes the methods."""

    rule: str
    """darts, milenas or zeroth-order."""
    sparse: bool = False
    """Sparsemax with annealing instead of softmax."""
    flexible: bool = False
    """A cell a stage, kernel sizes and depths (ZO-DARTS++), instead of one cell for the whole network."""
    epochs: int = 50
    stop: int = 50
    """Epochs that are run of those that the learning rate is spread over."""
    theta: int = 20
    """The epoch at which kernel sizes and depths join in."""
    window: int = 10
    mu: float = 0.005
    tau: float = 1.5
    anneal: float = 0.75
    every: int = 5
    order: int = 2
    matched: bool = True
    exact_skip: bool = True
    alpha_rate: float = 3e-4
    bounds: tuple[float, float] | None = None
    """Parameters between which the network is to lie."""

    @property
    def kernels(self) -> tuple[int, ...]:
        """Sizes of the spatial convolution, in the order of their probabilities."""
        return KERNELS if self.flexible else (3,)

    @property
    def depth(self) -> int:
        """Cells of a stage, where depths are not searched."""
        return DEPTH


class Epoch(NamedTuple):
    """What an epoch left behind."""

    epoch: int
    temperature: float
    train_loss: float
    val_loss: float
    parameters: float
    """Expected, of the distributions at the end."""
    alive: float
    """Operations with a probability above 0.001, by edge."""
    seconds: float
    probabilities: list[list[list[float]]]
    """Of operations, and where they are searched of kernel sizes and depths."""
    updates: list[Update]
    """Of the zeroth-order estimate."""


@dataclass
class Search:
    """One search: same seed, same bits on a CPU, interrupted or not."""

    space: Searchable
    settings: Settings
    seed: int
    log: list[Epoch] = field(default_factory=list)
    earlier: float = 0.0
    """Seconds of epochs that an earlier attempt had finished."""

    def run(self, state: Path | None = None, say: Callable[[Epoch], None] = lambda _: None) -> Probabilities:
        """Trains, and returns the distributions at the end.

        Args:
            state: the file where everything is kept after each epoch; what an interrupted search left is continued.
            say: is told of each epoch.
        """
        self._begin()
        if state is not None and state.exists():
            self._resume(state)
        while len(self.log) < self.settings.stop:
            self.log.append(self._epoch(len(self.log)))
            if state is not None:
                self._save(state)
            say(self.log[-1])
        return self.logits.probabilities(self._normalise)

    def _begin(self) -> None:
        self.data = self.space.images()
        if self.data.device.type != "cuda":
            training.use_one_thread()
        s, channels = self.settings, self.space.shape[0]
        with torch.device("meta"):
            network = Supernet(self.space.filters, channels, self.space.classes, s.depth, s.kernels[0], s.exact_skip)
        network = network.to_empty(device=self.data.device)
        self._generator = torch.Generator().manual_seed(self.seed)
        training.draw_parameters(network, self._generator)
        training.channels_last(network)
        self.network = network
        self.recipe = RECIPES["search"]  # of the paper's supernets, too
        self.weights = Weights(self.network, self.recipe)
        self.logits = Logits(self._drawn(18 if s.flexible else 6, len(OPERATIONS)))
        self._adam = self._new_adam()
        self.rule = self._rule()
        rows = np.random.default_rng(self.seed).permutation(len(self.data.labels["train"]))
        self._halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]

    def _epoch(self, epoch: int) -> Epoch:
        begin = perf_counter()
        if self.settings.flexible and epoch == self.settings.theta:
            self._grow()
        self._now = epoch
        self.weights.rate = self.recipe.rate(epoch, self.settings.epochs)
        self._generator.manual_seed(self.seed + epoch + 1)
        self.network.train()
        losses, updates = torch.zeros(2, device=self.data.device), []
        count = 0
        for train, val in self._pairs(epoch):
            update = self.rule.step(self.logits, train, val, self._adam)
            updates += [] if update is None else [update]
            losses += self._losses
            count += 1
        self.rule.end_epoch()
        probabilities = self.logits.probabilities(self._normalise)
        shares = [part.detach().cpu().tolist() for part in probabilities if part is not None]
        train_loss, val_loss = (losses / count).tolist()
        return Epoch(
            epoch,
            self.temperature,
            train_loss,
            val_loss,
            float(self.expected(probabilities).detach()),
            float((probabilities.operations > 1e-3).double().sum(1).mean()),
            perf_counter() - begin,
            shares,
            updates,
        )

    def _pairs(self, epoch: int) -> Iterator[tuple[Batch, Batch]]:
        """Each batch of the one half in turn, with as many images drawn from the other."""
        rng = np.random.default_rng([self.seed, epoch])
        train, val = self._halves
        beside: NDArray[np.int64] = rng.choice(val, size=len(train))
        one = self.data.batches(self.space.batch, None, rng, rng.permutation(train))
        return zip(one, self.data.batches(self.space.batch, None, rng, beside), strict=True)

    @property
    def temperature(self) -> float:
        """Of this epoch; 1 where nothing is annealed."""
        s = self.settings
        return temperature(self._now, s.tau, s.anneal, s.every) if s.sparse else 1.0

    def _normalise(self, logits: Tensor) -> Tensor:
        return sparsemax(logits, self.temperature) if self.settings.sparse else softmax(logits)

    def _loss(self, network: nn.Module, logits: Logits, batch: Batch) -> Tensor:
        loss = cross_entropy(network(batch.images, logits.probabilities(self._normalise)), batch.labels)
        self._losses[0] = loss.detach()
        return loss

    def _val_loss(self, network: nn.Module, logits: Logits, batch: Batch) -> Tensor:
        """Validation loss, and what the expected size lies outside its bounds (ZO-DARTS++, equation 16)."""
        probabilities = logits.probabilities(self._normalise)
        loss = cross_entropy(network(batch.images, probabilities), batch.labels)
        self._losses[1] = loss.detach()
        return loss + self.penalty(probabilities)

    def penalty(self, probabilities: Probabilities) -> Tensor:
        """λ × what the expected size lies outside its bounds, in millions; from epoch θ on, zero before."""
        bounds = self.settings.bounds
        if bounds is None or self._now < self.settings.theta:
            return torch.zeros((), device=self.data.device)
        parameters, (low, high) = self.expected(probabilities), bounds
        outside = (parameters - high).clamp(min=0) + (low - parameters).clamp(min=0)
        return _PENALTY / self.temperature * outside / 1e6

    def expected(self, probabilities: Probabilities) -> Tensor:
        """Expected number of parameters, exact for distributions on one architecture (equations 2 and 17)."""
        s = self.space
        bare = Stage(("skip_connect",) * 6, 1)
        total = torch.tensor(float(size([bare] * 3, s.filters, s.shape, s.classes).parameters), device=self.data.device)
        kernels = self.settings.kernels if probabilities.kernels is not None else self.settings.kernels[:1]
        for stage in range(3):
            width, rows = s.filters << stage, slice(6 * stage, 6 * stage + 6)
            operations = probabilities.operations[rows]
            costs = torch.tensor([_cost(kernel, width) for kernel in kernels], device=self.data.device)
            shares = (
                torch.ones(6, 1, device=self.data.device)
                if probabilities.kernels is None
                else probabilities.kernels[rows]
            )
            edges = operations[:, OPERATIONS.index("nor_conv_1x1")] * _cost(1, width)
            edges = edges + operations[:, OPERATIONS.index("nor_conv")] * (shares * costs).sum(1)
            depth: Tensor | float = float(DEPTH)
            if probabilities.depths is not None:
                depth = (probabilities.depths[stage] * torch.arange(1, DEPTH + 1, device=self.data.device)).sum()
            total = total + depth * edges.sum()
        return total

    def _grow(self) -> None:
        """From epoch θ on kernel sizes and depths are searched, too; the architecture's optimiser begins anew."""
        new = self.network.grow(KERNELS[1:])
        training.channels_last(self.network)
        self.weights.add(new)
        self.logits = Logits(self.logits.operations, self._drawn(18, len(KERNELS)), self._drawn(3, DEPTH))
        self._adam = self._new_adam()

    def _drawn(self, rows: int, columns: int) -> Tensor:
        drawn = _BEGIN * torch.randn(rows, columns, generator=self._generator)
        return drawn.to(self.data.device).requires_grad_()

    def _new_adam(self) -> torch.optim.Adam:
        return torch.optim.Adam(self.logits.present(), self.settings.alpha_rate, betas=(0.5, 0.999), weight_decay=1e-3)

    def _rule(self) -> Rule:
        s = self.settings
        self._losses = torch.zeros(2, device=self.data.device)
        if s.rule == "darts":
            return Darts(self.weights, self._loss, self._val_loss, s.order)
        if s.rule == "milenas":
            return Milenas(self.weights, self._loss, self._val_loss)
        return ZerothOrder(self.weights, self._loss, self._val_loss, self._generator, s.window, s.mu, s.matched)

    def _save(self, path: Path) -> None:
        aside = path.with_suffix(".tmp")
        facts: dict[str, Any] = {"log": [e._asdict() | {"updates": [tuple(u) for u in e.updates]} for e in self.log]}
        facts |= {"logits": [part.detach() for part in self.logits.present()], "network": self.network.state_dict()}
        facts |= {"sgd": self.weights.optimizer.state_dict(), "adam": self._adam.state_dict()}
        torch.save(facts, aside)
        aside.replace(path)

    def _resume(self, path: Path) -> None:
        kept = torch.load(path, weights_only=True)
        if len(kept["logits"]) > 1:
            self._grow()
        with torch.no_grad():
            for own, value in zip(self.logits.present(), kept["logits"], strict=True):
                own.copy_(value)
        self.network.load_state_dict(kept["network"])
        self.weights.optimizer.load_state_dict(kept["sgd"])
        self._adam.load_state_dict(kept["adam"])
        self.earlier = sum(e["seconds"] for e in kept["log"])
        self.log = [Epoch(**e | {"updates": [Update(*u) for u in e["updates"]]}) for e in kept["log"]]


def _cost(kernel: int, width: int) -> float:
    """Parameters of a convolution from and to so many channels, with its normalisation."""
    return float(kernel**2 * width**2 + 2 * width)
