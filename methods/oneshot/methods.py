"""DARTS, MiLeNAS, ZO-DARTS, ZO-DARTS+ and ZO-DARTS++: the first ask trains a supernet, every ask draws from it."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from numpy.random import Generator

from benchmarks import Bound
from benchmarks.cells import dead_stages
from benchmarks.cells.searchable import Searchable
from benchmarks.errors import UsageError, unknown
from benchmarks.space import Configuration, Space
from methods.base import METHODS, Method, Observation, Problem

if TYPE_CHECKING:
    from methods.oneshot.search import Epoch, Settings

_LOG = logging.getLogger("nasbench")
_MOST_DRAWS = 10_000


class OneShot(Method):
    """Trains one supernet that holds every architecture, and draws architectures from what it has learnt.

    The search is the first ask: minutes on the run's clock. Where the run's state is kept, a killed search continues at
    its last epoch. Dead architectures are drawn again, and so are those that break a constraint that is known before
    training; after 10,000 draws in vain the run ends and says so.
    """

    needs = ("as_supernet",)
    _flexible: ClassVar[bool] = False

    def __init__(self, problem: Problem, rng: Generator, epochs: int, stop: int) -> None:
        if not 1 <= stop <= epochs:
            raise UsageError(f"stop must lie in [1, epochs], not {stop} with epochs={epochs}")
        self._problem, self._rng = problem, rng
        self._seed = int(rng.integers(2**62))
        self._space: Searchable = problem.space.as_supernet()  # type: ignore[attr-defined]
        self._shares: list[list[list[float]]] | None = None
        self.log: list[Epoch] = []
        """What each epoch of the search left behind, once it is done."""

    @abstractmethod
    def settings(self) -> Settings:
        """What distinguishes this method."""

    @classmethod
    def misfit(cls, space: Space) -> str:
        return "" if hasattr(space, "as_supernet") else "trains a supernet on images, on a live benchmark over cells"

    def ask(self) -> Configuration:
        from methods.oneshot.sampling import stages

        if self._shares is None:
            self._shares = self._searched()
        settings = self.settings()
        kernels = settings.kernels if len(self._shares) > 1 else settings.kernels[:1]
        for _ in range(_MOST_DRAWS):
            drawn = stages(self._shares, kernels, settings.depth, self._rng)
            if dead_stages(drawn):
                continue
            configuration = self._space.configuration(drawn)
            if all(bound.holds(value) for bound, value in self._known(configuration)):
                return configuration
        raise RuntimeError(
            f"infeasible: {_MOST_DRAWS:,} architectures drawn from the search, none within the constraints"
        )

    def tell(self, observation: Observation) -> None:
        """Ignored: the search is over."""

    def _known(self, configuration: Configuration) -> Iterator[tuple[Bound, float]]:
        """The constraints on what is known before training, with its values."""
        for bound in self._problem.constraints:
            if bound.metric.cheap and self._problem.known is not None:
                yield bound, self._problem.known(bound.column, configuration)

    def _searched(self) -> list[list[list[float]]]:
        from methods.oneshot.search import Search

        search = Search(self._space, self.settings(), self._seed)
        search.run(self._problem.state, self._say)
        self.unpaid = search.earlier
        self.log = search.log
        shares = self.log[-1].probabilities
        return [shares[0][:6], *shares[1:]] if not self._flexible else shares

    def _say(self, epoch: Epoch) -> None:
        _LOG.info(
            "search, epoch %d of %d: loss %.3f (training) %.3f (validation), %.0f parameters expected, "
            "%.1f operations an edge, %.1f s",
            epoch.epoch + 1,
            self.settings().stop,
            epoch.train_loss,
            epoch.val_loss,
            epoch.parameters,
            epoch.alive,
            epoch.seconds,
        )


class _FixedSizes(OneShot):
    """One cell for the whole network, three a stage, spatial convolutions of 3 x 3."""

    def __init__(
        self, problem: Problem, rng: Generator, *, epochs: int = 50, stop: int = 50, alpha_lr: float = 3e-4
    ) -> None:
        super().__init__(problem, rng, epochs, stop)
        _check_positive("alpha_lr", alpha_lr)
        self._epochs, self._stop, self._alpha_lr = epochs, stop, alpha_lr


@METHODS.register("darts")
class DARTS(_FixedSizes):
    """DARTS (Liu et al., ICLR 2019): each step descends the validation loss at weights one step ahead.

    `order=1` takes the weights as they are: the cheap approximation.
    """

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 50,
        alpha_lr: float = 3e-4,
        order: int = 2,
    ) -> None:
        super().__init__(problem, rng, epochs=epochs, stop=stop, alpha_lr=alpha_lr)
        if order not in (1, 2):
            raise UsageError(f"order must be 1 or 2, not {order}")
        self._order = order

    def settings(self) -> Settings:
        from methods.oneshot.search import Settings

        return Settings("darts", epochs=self._epochs, stop=self._stop, alpha_rate=self._alpha_lr, order=self._order)


@METHODS.register("milenas")
class MiLeNAS(_FixedSizes):
    """MiLeNAS (He et al., CVPR 2020): each step descends training and validation loss together."""

    def settings(self) -> Settings:
        from methods.oneshot.search import Settings

        return Settings("milenas", epochs=self._epochs, stop=self._stop, alpha_rate=self._alpha_lr)


class _ZerothOrder(OneShot):
    """What the three zeroth-order methods share."""

    _sparse: ClassVar[bool] = False

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        epochs: int,
        stop: int,
        alpha_lr: float,
        T: int,
        mu: float,
        dynamics: str,
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
        theta: int = 20,
    ) -> None:
        super().__init__(problem, rng, epochs, stop)
        for name, value in {"alpha_lr": alpha_lr, "T": T, "mu": mu, "tau": tau, "every": every}.items():
            _check_positive(name, value)
        if not 0 < anneal <= 1:
            raise UsageError(f"anneal must lie in (0, 1], not {anneal:g}")
        if dynamics not in ("matched", "reference"):
            raise unknown("dynamics", dynamics, ("matched", "reference"))
        if self._flexible and not 0 <= theta < stop:
            raise UsageError(f"theta must lie in [0, stop), not {theta} with stop={stop}")
        self._facts = {
            "epochs": epochs,
            "stop": stop,
            "alpha_rate": alpha_lr,
            "window": T,
            "mu": mu,
            "matched": dynamics == "matched",
            "tau": tau,
            "anneal": anneal,
            "every": every,
            "theta": theta,
        }

    def settings(self) -> Settings:
        from methods.oneshot.search import Settings

        bounds = self._bounds() if self._flexible else None
        return Settings("zeroth-order", sparse=self._sparse, flexible=self._flexible, bounds=bounds, **self._facts)  # type: ignore[arg-type]

    def _bounds(self) -> tuple[float, float] | None:
        """Between which numbers of parameters the constraints want the network; None if they do not say."""
        own = [bound for bound in self._problem.constraints if bound.metric.name == "parameters"]
        if not own:
            return None
        high = min((bound.limit for bound in own if bound.upper), default=math.inf)
        return max((bound.limit for bound in own if not bound.upper), default=0.0), high


@METHODS.register("zo-darts")
class ZODARTS(_ZerothOrder):
    """ZO-DARTS (Xie et al.): the gradient by zeroth-order estimate, over windows of T steps.

    `dynamics=reference` trains the second copy of the weights as the authors' scripts do (see the README of this
    folder): an ablation.
    """

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 50,
        alpha_lr: float = 1.5e-2,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
    ) -> None:
        super().__init__(problem, rng, epochs, stop, alpha_lr, T, mu, dynamics)


@METHODS.register("zo-darts+")
class ZODARTSPlus(_ZerothOrder):
    """ZO-DARTS+ (Xie et al.): ZO-DARTS with sparsemax, annealed from `tau` by `anneal` each `every` epochs."""

    _sparse = True

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 40,
        alpha_lr: float = 1.5e-2,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
    ) -> None:
        super().__init__(problem, rng, epochs, stop, alpha_lr, T, mu, dynamics, tau, anneal, every)


@METHODS.register("zo-darts++")
class ZODARTSPlusPlus(_ZerothOrder):
    """ZO-DARTS++ (Xie et al.): ZO-DARTS+ with a cell a stage, and from epoch `theta` on kernel sizes and depths.

    Constraints on `parameters` (`--constrain parameters@M`) pull the expected size between their bounds.
    """

    _sparse = _flexible = True

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 40,
        alpha_lr: float = 1.5e-2,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
        theta: int = 20,
    ) -> None:
        super().__init__(problem, rng, epochs, stop, alpha_lr, T, mu, dynamics, tau, anneal, every, theta)


def _check_positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise UsageError(f"{name} must be positive, not {value:g}")
