"""The training of a supernet and its architecture parameters, epoch by epoch."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from nasbench.base.faults import is_out_of_memory
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable
from nasbench.benchmarks.training import initialisation, training
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.benchmarks.training.state import keep, kept_in
from nasbench.methods.oneshot.bilevel import Darts, Milenas, Rule, WeightsOnly
from nasbench.methods.oneshot.distributions import (
    Logits,
    Probabilities,
    Shared,
    alive_of,
    softmax,
    sparsemax,
    temperature,
)
from nasbench.methods.oneshot.parameters import ExpectedParameters
from nasbench.methods.oneshot.settings import Settings
from nasbench.methods.oneshot.supernet import Supernet
from nasbench.methods.oneshot.weights import Weights
from nasbench.methods.oneshot.zeroth_order import Scripted, Update, ZerothOrder

_LOG = logging.getLogger("nasbench")
_INITIAL_SCALE = 1e-3  # standard deviation of the initial architecture parameters
_PENALTY = 15.0  # λ = 15 / τ, for a hinge in millions of parameters (ZO-DARTS++, section IV)
_RECIPE = RECIPES["search"]  # that of the paper's supernets


class SearchEpoch(NamedTuple):
    """The record of one epoch of a search."""

    epoch: int
    """Number of the epoch, from 0."""
    temperature: float
    """Temperature of the sparsemax; 1 without annealing."""
    train_loss: float
    """Mean loss of the weights' steps, on the half of the images that trains the weights."""
    val_loss: float
    """Mean loss, without penalties, on the half that trains the architecture, at the weights at which its gradient is
    taken (second-order DARTS: one step ahead). If no architecture is trained: loss of the last batch on its path."""
    seconds: float
    """Duration of the epoch in seconds."""
    updates: list[Update]
    """The directions of zeroth-order estimates, in order; empty for other methods."""
    parameters: float = math.nan
    """Expected number of parameters of a network drawn at the end of the epoch. This and the next fields are NaN or
    empty if no architecture is trained."""
    alive: float = math.nan
    """Mean number of operations per edge with a probability above 0.001."""
    probabilities: Sequence[list[list[float]]] = ()
    """The distributions over operations and, if they are searched, kernel sizes and depths."""
    kept: float = math.nan
    """Cosine between α at the end of this epoch and of the first; 1 if the search keeps its direction."""


@dataclass
class Search:
    """One search. The same seed gives the same bits on a CPU, interrupted or not.

    The weights are trained on one half of the training images, the architecture on the other. The images on which
    networks are chosen later are never used.
    """

    space: Searchable
    """The images, and the space of networks."""
    settings: Settings
    """The method and its options."""
    seed: int
    """Seed of everything random in the search."""
    log: list[SearchEpoch] = field(default_factory=list)
    """The finished epochs, in order."""
    earlier: float = 0.0
    """Seconds of the epochs that an interrupted attempt had finished."""

    def run(self, state: Path | None = None, say: Callable[[SearchEpoch], None] = lambda _: None) -> None:
        """Trains; the last epoch of the log has the final distributions.

        Args:
            state: file to which the state is saved after each epoch; an interrupted search continues from it.
            say: called with the record of each epoch.

        Raises RuntimeError if the search diverges, or if memory does not suffice for kernel sizes and depths at θ; the
        log then has the earlier epochs.
        """
        with exact():
            self._begin()
            kept = None if state is None else kept_in(state)
            if kept is not None and kept.keys() != self._state().keys():
                _LOG.warning("%s is of another version: the search begins anew", state)
            elif kept is not None:
                self._resume(kept)
                if len(self.log) < self.settings.stop:
                    _LOG.info("the search continues after epoch %d of %d", len(self.log), self.settings.stop)
            while len(self.log) < self.settings.stop:
                self.log.append(self._checked(self._epoch(len(self.log))))
                if state is not None:
                    keep(self._state(), state)
                say(self.log[-1])

    def _begin(self) -> None:
        self.data = self.space.images()
        if self.data.device.type != "cuda":
            training.use_one_thread()
        s, space = self.settings, self.space
        make = partial(
            Supernet,
            space.filters,
            space.shape[0],
            space.classes,
            space.depth,
            s.kernels[0],
            shared=s.shared,
            operations=space.operations,
        )
        self._generator = torch.Generator().manual_seed(self.seed)
        network = initialisation.initialised(make, self.data.device, self.seed, self._generator)
        training.channels_last(network)
        network.stop_counting()
        self.network = network
        self.weights = Weights(self.network, _RECIPE)
        self._ties = space.ties(s.flexible)
        self._shared = Shared(self._ties, space.operations) if space.shared else None
        self.logits = Logits(self._drawn(len(self._ties.searched), len(self.space.operations)))
        self._adam = self._new_adam()
        self.rule = self._rule()
        self._val_losses: list[Tensor] = []
        self._first: Tensor | None = None
        self.expected = ExpectedParameters(space, s.kernels, space.depth, s.counts_as_paper, self.data.device)
        rows = np.random.default_rng(self.seed).permutation(len(self.data.labels["train"]))
        self._halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]

    def _epoch(self, epoch: int) -> SearchEpoch:
        begin = perf_counter()
        self._now = epoch
        self._generator.manual_seed(self.seed + epoch + 1)
        self.weights.rate = _RECIPE.rate(epoch, self.settings.epochs)
        self.network.train()
        self.rule.losses, self._val_losses = [], []
        try:
            updates = self._steps(epoch)
        except (MemoryError, RuntimeError) as error:
            if not (self.settings.flexible and epoch == self.settings.theta and is_out_of_memory(error)):
                raise
            raise RuntimeError(
                f"kernel sizes and depths could not join in at epoch {epoch} (theta): {error}; "
                "kernel_mode=shared_mask needs less memory"
            ) from error
        train_loss, val_loss = (float(torch.stack(losses).mean()) for losses in (self.rule.losses, self._val_losses))
        seconds = perf_counter() - begin
        return SearchEpoch(epoch, self.temperature, train_loss, val_loss, seconds, updates, **self._architecture())

    def _architecture(self) -> dict[str, Any]:
        """The fields of an epoch's record about the architecture."""
        probabilities = self.logits.probabilities(self._normalise, self._shared)
        now = self.logits.operations.detach().cpu().flatten().double()
        if self._first is None:
            self._first = now
        return {
            "parameters": float(self.expected(probabilities).detach()),
            "alive": float((probabilities.operations > 1e-3).double().sum(1).mean()),
            "probabilities": [part.detach().cpu().tolist() for part in probabilities.present()],
            "kept": float(cosine_similarity(now, self._first, dim=0)),
        }

    def _steps(self, epoch: int) -> list[Update]:
        if self.settings.flexible and epoch == self.settings.theta:
            self._grow()
        if self.settings.estimate.rewarmed and epoch == 1:
            self._adam = self._new_adam()
        return self._stepped(epoch)

    def _stepped(self, epoch: int) -> list[Update]:
        """Updates on each batch of the epoch."""
        facts: list[Tensor] = []
        for train, val in self._pairs(epoch):
            facts += self.rule.step(self.logits, train, val, self._adam)
        self.rule.end_epoch()
        return [Update(*row) for row in torch.stack(facts).tolist()] if facts else []

    def _checked(self, epoch: SearchEpoch) -> SearchEpoch:
        """The same epoch. Raises RuntimeError if its losses or probabilities are not finite."""
        sums = [sum(row) for rows in epoch.probabilities for row in rows]
        if not np.isfinite([epoch.train_loss, epoch.val_loss, *sums]).all():
            raise RuntimeError(
                f"the search diverged in epoch {epoch.epoch + 1}: its losses are {epoch.train_loss:g} (training half) "
                f"and {epoch.val_loss:g} (other half); a smaller alpha_lr may help"
            )
        return epoch

    def _pairs(self, epoch: int) -> Iterator[tuple[LabelledImages, LabelledImages]]:
        """Each batch of the half that trains the weights, with as many images drawn from the other half."""
        rng = np.random.default_rng([self.seed, epoch])
        train, val = self._halves
        beside: NDArray[np.int64] = rng.choice(val, size=len(train))
        batches = self.data.batches(self.space.batch, None, rng, rng.permutation(train))
        return zip(batches, self.data.batches(self.space.batch, None, rng, beside), strict=True)

    @property
    def temperature(self) -> float:
        """The temperature in this epoch; 1 without annealing."""
        s = self.settings
        return temperature(self._now, s.tau, s.anneal, s.every) if s.sparse else 1.0

    def _normalise(self, logits: Tensor) -> Tensor:
        return sparsemax(logits, self.temperature) if self.settings.sparse else softmax(logits)

    def _probabilities(self, logits: Logits) -> Probabilities:
        probabilities = logits.probabilities(self._normalise, self._shared)
        if self.settings.sparse:
            return probabilities
        # Probabilities of a softmax are never zero: nothing must be read from the device.
        whole = probabilities.everything() if self._shared is None else self._shared.everything(probabilities)
        return probabilities._replace(alive=whole)

    def _loss(self, network: nn.Module, logits: Logits, batch: LabelledImages) -> Tensor:
        return cross_entropy(network(batch.images, self._probabilities(logits)), batch.labels)

    def _val_loss(self, network: nn.Module, logits: Logits, batch: LabelledImages) -> Tensor:
        """Validation loss, plus the penalty on the expected size (ZO-DARTS++, equation 4)."""
        probabilities = self._probabilities(logits)
        loss = cross_entropy(network(batch.images, probabilities), batch.labels)
        self._val_losses.append(loss.detach())
        return loss + self.penalty(probabilities)

    def penalty(self, probabilities: Probabilities) -> Tensor:
        """λ × distance of the expected size from its bounds, in millions of parameters; zero before epoch θ."""
        bounds = self.settings.bounds
        if bounds is None or self._now < self.settings.theta:
            return torch.zeros((), device=self.data.device)
        parameters, (low, high) = self.expected(probabilities), bounds
        outside = (parameters - high).clamp(min=0) + (low - parameters).clamp(min=0)
        return _PENALTY / self.temperature * outside / 1e6

    def _grow(self) -> None:
        """Adds kernel sizes and depths to the search (epoch θ); the architecture's optimiser begins anew."""
        new = self.network.grow(self.settings.kernels[1:])
        training.channels_last(self.network)
        self.rule.grown(new)
        kernels, depths = len(self.settings.kernels), self.space.depth
        edges, stages = len(self._ties.searched), len(self._ties.deep)
        self.logits = Logits(self.logits.operations, self._drawn(edges, kernels), self._drawn(stages, depths))
        self._adam = self._new_adam()

    def _drawn(self, rows: int, columns: int) -> Tensor:
        drawn = _INITIAL_SCALE * torch.randn(rows, columns, generator=self._generator)
        return drawn.to(self.data.device).requires_grad_()

    def _new_adam(self) -> torch.optim.Adam:
        return torch.optim.Adam(self.logits.present(), self.settings.alpha_rate, betas=(0.5, 0.999), weight_decay=1e-3)

    def _rule(self) -> Rule:
        s, losses = self.settings, (self._loss, self._val_loss)
        if s.rule == "darts":
            return Darts(self.weights, *losses, s.order)
        if s.rule == "milenas":
            return Milenas(self.weights, *losses)
        if s.rule == "single-path":
            return WeightsOnly(self.weights, *losses)
        kind = ZerothOrder if s.matched else Scripted
        return kind(self.weights, *losses, self._generator, s.window, s.mu, s.estimate, self._marked)

    def _marked(self, logits: Sequence[Logits]) -> list[Logits]:
        """The logits with their `alive` flags, read from the device once for all."""
        if not self.settings.sparse:
            return list(logits)
        alive = alive_of([part.probabilities(self._normalise, self._shared) for part in logits])
        return [part._replace(alive=flags) for part, flags in zip(logits, alive, strict=True)]

    def _state(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"log": [e._asdict() | {"updates": [tuple(u) for u in e.updates]} for e in self.log]}
        facts |= {"logits": [part.detach() for part in self.logits.present()], "network": self.network.state_dict()}
        facts |= {"slopes": [part.grad for part in self._sloped()], "first": self._first}
        return facts | {"sgd": self.weights.optimizer.state_dict(), "adam": self._adam.state_dict()}

    def _resume(self, kept: dict[str, Any]) -> None:
        if len(kept["logits"]) > 1:
            self._grow()
        with torch.no_grad():
            for parameter, value in zip(self.logits.present(), kept["logits"], strict=True):
                parameter.copy_(value)
        for part, slope in zip(self._sloped(), kept["slopes"], strict=True):
            part.grad = None if slope is None else slope.to(part)
        self.network.load_state_dict(kept["network"])
        self.weights.optimizer.load_state_dict(kept["sgd"])
        self._adam.load_state_dict(kept["adam"])
        self._first = kept["first"]
        self.earlier = sum(e["seconds"] for e in kept["log"])
        self.log = [SearchEpoch(**e | {"updates": [Update(*u) for u in e["updates"]]}) for e in kept["log"]]

    def _sloped(self) -> list[Tensor]:
        """The parameters whose gradients must be kept between epochs."""
        return [*self.logits.present(), *self.rule.untrained]


def exact() -> AbstractContextManager[None]:
    """A context in which convolutions in single precision give the same bits each time, also on a GPU.

    The zeroth-order estimate is a difference of two trainings, so rounding must not differ between them.
    """
    if not torch.cuda.is_available():
        return nullcontext()
    flags: AbstractContextManager[None] = torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )
    return flags
