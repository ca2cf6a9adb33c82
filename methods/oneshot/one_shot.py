"""The base class of one-shot methods: the first ask trains a supernet, every ask draws from what it has learnt."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import Misfit, UsageError, check_least
from nasbench.base.layout import span
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsSupernet, Configuration
from nasbench.benchmarks.spaces.cells import Stage, Ties, dead_stages, parameters_paper, size
from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, ZERO, named, sized
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import Logged, LongSearch
from nasbench.methods.oneshot.sampling import stages
from nasbench.methods.oneshot.settings import Settings
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from nasbench.methods.oneshot.search import Search, SearchEpoch

_LOG = logging.getLogger("nasbench")
MOST_DRAWS = 10_000
_POOL = 300  # architectures whose sizes are logged, as in the paper's figures 2 and 4
_GROWING = ("parameters", "parameters_paper", "flops")  # metrics that grow with every operation and cell
_SECONDS_BETWEEN_LINES = 10.0
OVERHEAD = 4e-4
"""Seconds of an operation on an edge in a batch, forth and back, beside its FLOPs: most of them on small images."""


def _has_no_supernet(problem: Problem, options: Options) -> str:
    if isinstance(problem.space, AsSupernet):
        return ""
    return (
        "trains a supernet on images: choose digits or medmnist-…, without a space, or for networks of one cell "
        "supernet:IMAGES:TABLE, whose draws are looked up"
    )


class OneShot(LongSearch):
    """Trains one supernet that holds every architecture, and draws architectures from what it has learnt.

    The search is the first ask and takes minutes of the run's clock. If the run keeps its state, a killed search
    continues at its last epoch. Dead architectures, and those that violate a constraint known before training, are
    redrawn; after 10,000 draws in vain the run ends as infeasible.

    Raises UsageError for options out of range, and Misfit for images or bounds that make the search impossible.

    Options:
        epochs: epochs of the search; with `stop`, epochs over which the learning rate of the weights falls.
        stop: number of these epochs that are run.
        alpha_lr: learning rate of the architecture, above 0.
        T: batches per window; the architecture is updated after each window.
        mu: length of the perturbation in the estimate, as a share of the architecture's norm; above 0.
        dynamics: matched, or reference to train the second copy of the weights as the authors' scripts do (an ablation:
            methods/oneshot/README.md).
        estimate: paper; robust (all corrections) or some of its parts joined by + (floor, antithetic, normal, rewarm);
            or noise, the random-sign ablation: the sign of each estimate is random.
        directions: number of directions over which an estimate is averaged.
        tau: temperature of the sparsemax at first, above 0.
        anneal: factor by which the temperature is multiplied, in (0, 1].
        every: number of epochs between two such multiplications.
        cells: one, for the space of darts to zo-darts+ (one cell for the whole network), or each, for that of
            zo-darts++ (one cell per stage, kernel sizes and depths).
    """

    about = About(repeatable=Repeatable.SAME_MACHINE, version=2, shortened_by=("epochs",))
    needs = Needs(views=(AsSupernet,), unless=_has_no_supernet)

    def __init__(self, problem: Problem, rng: Generator, settings: Settings) -> None:
        self._problem, self._rng, self._settings = problem, rng, settings
        self._space = supernet_of(problem)
        _check_options(settings)
        if self._space.one_cell and settings.flexible:
            raise Misfit(
                f"{self._space.name} has networks of one cell; this search has a cell for each stage, with kernel "
                "sizes and depths: digits and medmnist-… have them"
            )
        self._check_images()
        self._check_bounds()
        self._seed = int(rng.integers(2**62))
        self._epochs: list[SearchEpoch] = []
        self._searched = False
        self._said = monotonic()

    @classmethod
    def make_ready(cls) -> None:
        from nasbench.benchmarks.training import training
        from nasbench.methods.oneshot import search  # noqa: F401 (its import time is not on the first run's clock)

        training.warm_up()

    def ask(self) -> Configuration:
        if not self._searched:
            self._search()
            self._searched = True
        for _ in range(MOST_DRAWS):
            configuration = self._fitting(self._drawn(self._rng))
            if configuration is not None:
                return configuration
        raise RuntimeError(
            f"infeasible: {MOST_DRAWS:,} architectures drawn from the search, none within the constraints"
        )

    def tell(self, observation: Observation) -> None:
        """Ignored: the search is over."""

    @property
    def beginning(self) -> float:
        s, space = self._settings, self._space
        copies = 1 + s.estimate.directions * (1 + s.estimate.antithetic)  # of the weights, trained side by side
        passes = {"darts": 5 if s.order == 2 else 2, "milenas": 3, "zeroth-order": copies + 1 / s.window}[s.rule]
        before, after = (_seconds(space, kernels, self._ties) for kernels in (s.kernels[:1], s.kernels))
        grown = s.stop - s.theta if s.flexible else 0
        return space.training_images / 2 * passes * (before * (s.stop - grown) + after * grown)

    @property
    def log(self) -> Sequence[Logged]:
        """The search by epoch, and the sizes of architectures drawn from it, with constraints ignored."""
        return [
            *(row for epoch in self._epochs for row in _rows(epoch, self._space.operations, self._settings.kernels)),
            *self._sizes(),
        ]

    def _search(self) -> None:
        from nasbench.methods.oneshot.search import Search

        self._run(Search(self._space, self._settings, self._seed))

    def _run(self, search: Search) -> None:
        try:
            search.run(self._problem.state, lambda _: self._say(search.log[-1]))
        finally:
            self.unpaid, self._epochs = search.earlier, search.log

    def _drawn(self, rng: Generator) -> tuple[Stage, ...]:
        shares = self._epochs[-1].probabilities
        kernels = self._settings.kernels if len(shares) > 1 else self._settings.kernels[:1]
        return stages(shares, kernels, self._space.depth, rng, self._ties, self._space.operations)

    def _fitting(self, drawn: Sequence[Stage]) -> Configuration | None:
        """The configuration of a network; None if it is dead or violates a constraint known before training."""
        if dead_stages(drawn) or not self._has_size(drawn):
            return None
        configuration = self._space.configuration(drawn)
        return configuration if self._problem.allows(configuration) else None

    def _has_size(self, drawn: Sequence[Stage]) -> bool:
        """Whether the number of parameters is within the search's bounds, if any."""
        bounds = self._settings.bounds
        return bounds is None or bounds[0] <= self._parameters(drawn) <= bounds[1]

    def _parameters(self, drawn: Sequence[Stage]) -> int:
        """The number of parameters, counted in the same way as the bounds."""
        space = self._space
        if self._settings.counts_as_paper:
            return parameters_paper(drawn, space.filters, space.classes)
        return size(drawn, space.filters, space.shape, space.classes).parameters

    def _sizes(self) -> Iterator[Logged]:
        if not self._epochs:
            return
        last, rng = len(self._epochs), np.random.default_rng(self._seed)
        limits = self._settings.bounds or bounds_on(self._problem, "parameters")
        for name, bound in zip(("lower_bound", "upper_bound"), limits or (), strict=False):
            yield Logged(last, name, bound)
        alive = (drawn for _ in range(MOST_DRAWS) if not dead_stages(drawn := self._drawn(rng)))
        for step, (_, drawn) in enumerate(zip(range(_POOL), alive, strict=False), 1):
            yield Logged(last, "drawn_parameters", self._parameters(drawn), step=step)

    def _check_images(self) -> None:
        """Raises Misfit if no supernet can be trained on the images."""
        space, settings = self._space, self._settings
        _, height, width = space.shape
        if height % 4 or width % 4:
            raise Misfit(
                f"images of {height} x {width} cannot be halved twice: sides must be multiples of 4 for a supernet"
            )
        if space.classes < 2:
            raise Misfit(f"{space.name} has one class: there is nothing to learn")
        half = space.training_images // 2
        if half < space.batch:
            raise Misfit(f"half of the training images of {space.name} are {half}, fewer than a batch of {space.batch}")
        steps = half // space.batch + (half % space.batch > 1)  # a last batch of one image is left out
        if settings.rule == "zeroth-order":
            if settings.window > steps:
                raise Misfit(
                    f"a window of T={settings.window} batches does not fit into an epoch of {space.name}, {steps} "
                    f"batches of {space.batch}: choose T of at most {steps}"
                )
            _warn_of_unused(space.name, settings.window, steps)

    def _check_bounds(self) -> None:
        """Raises Misfit if no network of this method can satisfy all bounds on its size."""
        names = [sized(name, max(self._settings.kernels)) for name in self._space.operations]
        most = max(names, key=lambda name: named(name).parameters(self._space.filters))
        smallest = self._all(IDENTITY, 1)
        largest = self._all(most, self._space.depth)
        if self._settings.bounds is not None:
            self._refuse_outside("parameters", *self._settings.bounds, *map(self._parameters, (smallest, largest)))
        ends = [self._space.configuration(stages) for stages in (smallest, largest)]
        known = self._problem.known
        for bound in self._problem.known_bounds:
            if known is not None and bound.metric.name in _GROWING:
                sizes = [known(bound.metric.name, end) for end in ends]
                self._refuse_outside(bound.metric.name, bound.low, bound.high, *sizes)

    @property
    def _ties(self) -> Ties:
        return self._space.ties(self._settings.flexible)

    def _all(self, operation: str, depth: int) -> tuple[Stage, ...]:
        """The network with the same operation wherever there is a choice."""
        return self._ties.network([operation] * len(self._ties.searched), [depth] * len(self._ties.deep))

    def _refuse_outside(self, what: str, low: float, high: float, smallest: float, largest: float) -> None:
        here = self._space.name
        if high < smallest:
            raise Misfit(
                f"at most {high:,.0f} {what} is below the smallest network that this method draws on {here}: "
                f"{smallest:,.0f}"
            )
        if low > largest:
            raise Misfit(
                f"at least {low:,.0f} {what} is above the largest network that this method draws on {here}: "
                f"{largest:,.0f}"
            )

    def _say(self, epoch: SearchEpoch) -> None:
        """Logs progress and losses, at most every ten seconds; all else of an epoch is in the search log."""
        stop = self._settings.stop
        if monotonic() - self._said < _SECONDS_BETWEEN_LINES and epoch.epoch + 1 < stop:
            return
        self._said = monotonic()
        done = epoch.epoch + 1
        left = span(epoch.seconds * (stop - done))
        _LOG.info(
            "epoch %d of %d, some %s left: loss %.3f, validation loss %.3f",
            done, stop, left, epoch.train_loss, epoch.val_loss,
        )  # fmt: skip


def supernet_of(problem: Problem) -> Searchable:
    """The view of the problem's space that one-shot methods need: its images and its cells."""
    assert isinstance(problem.space, AsSupernet)  # see `Method.needs`
    return problem.space.as_supernet()


def _seconds(space: Searchable, kernels: Sequence[int], ties: Ties) -> float:
    """Seconds per image of a pass forth and back through a supernet with spatial convolutions of these sizes."""

    def flops_with(operation: str) -> int:
        stages = ties.network([operation] * len(ties.searched), [space.depth] * len(ties.deep))
        return size(stages, space.filters, space.shape, space.classes).flops

    around = flops_with(IDENTITY)
    names = dict.fromkeys(sized(name, kernel) for name in space.operations for kernel in kernels)
    flops = around + sum(flops_with(name) - around for name in names if name != ZERO)
    edges = sum(isinstance(edge, int) for edge in ties.edges)
    operations = space.depth * edges * sum(name != ZERO for name in names)
    return 3 * flops / space.flops_a_second + OVERHEAD * operations / space.batch


def bounds_on(problem: Problem, metric: str) -> tuple[float, float] | None:
    """The least and the largest value of a metric that the constraints allow; None if there is no constraint on it."""
    bound = next((bound for bound in problem.constraints if bound.metric.name == metric), None)
    return None if bound is None else (max(0.0, bound.low), bound.high)


def _rows(epoch: SearchEpoch, names: Sequence[str], kernels: Sequence[int]) -> Iterator[Logged]:
    """The record of an epoch, one number per row."""
    number = epoch.epoch + 1
    yield Logged(number, "temperature", epoch.temperature)
    yield Logged(number, "train_loss", epoch.train_loss)
    yield Logged(number, "val_loss", epoch.val_loss)
    yield Logged(number, "seconds", epoch.seconds)
    for step, update in enumerate(epoch.updates, 1):
        for name, value in update._asdict().items():
            yield Logged(number, name, value, step=step)
    if not epoch.probabilities:
        return
    yield Logged(number, "expected_parameters", epoch.parameters)
    yield Logged(number, "operations_alive", epoch.alive)
    yield Logged(number, "kept_direction", epoch.kept)
    edges = [f"{source}-{target}" for source, target in EDGES]
    rows = [(stage, edge) for stage in (1, 2, 3) for edge in edges]
    operations, *others = epoch.probabilities
    searched = [("operation", operations, names), *(("kernel", shares, kernels) for shares in others[:1])]
    for name, shares, choices in searched:
        for (stage, edge), row in zip(rows, shares, strict=True):
            for choice, value in zip(choices, row, strict=True):
                yield Logged(number, name, value, stage, edge, str(choice))
    for stage, row in enumerate(others[1] if len(others) > 1 else [], 1):
        for depth, value in enumerate(row, 1):
            yield Logged(number, "depth", value, stage, choice=str(depth))


def _check_options(settings: Settings) -> None:
    s = settings
    check_least("epochs", s.epochs, 1)
    if not 1 <= s.stop <= s.epochs:
        raise UsageError(
            f"stop must lie in [1, epochs], not {s.stop} with epochs={s.epochs}: with fewer epochs set stop, too, and "
            "theta if the method has it"
        )
    positive = {"alpha_lr": s.alpha_rate, "T": s.window, "mu": s.mu, "tau": s.tau, "every": s.every}
    for name, value in positive.items():
        if not 0 < value < float("inf"):
            raise UsageError(f"{name} must be positive, not {value:g}")
    if not 0 < s.anneal <= 1:
        raise UsageError(f"anneal must lie in (0, 1], not {s.anneal:g}")
    if s.flexible and not 0 <= s.theta < s.stop:
        raise UsageError(f"theta must lie in [0, stop), not {s.theta} with stop={s.stop}")


@cache
def _warn_of_unused(name: str, window: int, steps: int) -> None:
    """Warns, once per process, of a window that leaves more batches of an epoch unused than a shorter one would."""
    unused, better = min((steps % shorter, -shorter) for shorter in range((window + 1) // 2, window + 1))
    if unused < steps % window:
        _LOG.warning(
            "a window of T=%d leaves %d of the %d batches of an epoch of %s unused and gives %s of the architecture "
            "per epoch; T=%d leaves %d and gives %d",
            window,
            steps % window,
            steps,
            name,
            "one update" if steps // window == 1 else f"{steps // window} updates",
            -better,
            unused,
            steps // -better,
        )
