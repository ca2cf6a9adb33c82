"""DARTS, MiLeNAS, ZO-DARTS, ZO-DARTS+ and ZO-DARTS++: what each of them is, in its options and settings."""

from __future__ import annotations

import math
import re

from numpy.random import Generator

from benchmarks.cells.searchable import Searchable
from benchmarks.errors import UsageError, unknown
from methods.base import METHODS, Problem
from methods.oneshot.base import OneShot
from methods.oneshot.settings import Settings

_ALPHA_LR, _ZO_ALPHA_LR = 3e-4, 1.5e-2
"""Of the architecture's optimiser, as the authors' scripts have it."""


@METHODS.register("darts")
class DARTS(OneShot):
    """DARTS (Liu et al., ICLR 2019): each step descends the validation loss at weights one step ahead.

    `order=1` takes the weights as they are: the cheap approximation.
    """

    def __init__(
        self, problem: Problem, rng: Generator, *, epochs: int = 50, alpha_lr: float = _ALPHA_LR, order: int = 2
    ) -> None:
        if order not in (1, 2):
            raise UsageError(f"order must be 1 or 2, not {order}")
        super().__init__(problem, rng, Settings("darts", epochs=epochs, stop=epochs, alpha_rate=alpha_lr, order=order))


@METHODS.register("milenas")
class MiLeNAS(OneShot):
    """MiLeNAS (He et al., CVPR 2020): each step descends training and validation loss together."""

    def __init__(self, problem: Problem, rng: Generator, *, epochs: int = 50, alpha_lr: float = _ALPHA_LR) -> None:
        super().__init__(problem, rng, Settings("milenas", epochs=epochs, stop=epochs, alpha_rate=alpha_lr))


@METHODS.register("zo-darts")
class ZODARTS(OneShot):
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
        alpha_lr: float = _ZO_ALPHA_LR,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
    ) -> None:
        settings = Settings(
            "zeroth-order",
            epochs=epochs,
            stop=epochs,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            matched=_is_matched(dynamics),
        )
        super().__init__(problem, rng, settings)


@METHODS.register("zo-darts+")
class ZODARTSPlus(OneShot):
    """ZO-DARTS+ (Xie et al.): ZO-DARTS with sparsemax, annealed from `tau` by `anneal` each `every` epochs."""

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 40,
        alpha_lr: float = _ZO_ALPHA_LR,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
    ) -> None:
        settings = Settings(
            "zeroth-order",
            sparse=True,
            epochs=epochs,
            stop=stop,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            matched=_is_matched(dynamics),
            tau=tau,
            anneal=anneal,
            every=every,
        )
        super().__init__(problem, rng, settings)


@METHODS.register("zo-darts++")
class ZODARTSPlusPlus(OneShot):
    """ZO-DARTS++ (Xie et al.): ZO-DARTS+ with a cell a stage, and from epoch `theta` on kernel sizes and depths.

    The expected number of parameters is pulled between bounds: those of `size` (S, M or L as the paper has them for
    this data set, or LOW-HIGH), or else those that constraints set (`--constrain parameters@M`).
    `kernel_mode=shared_mask` makes the kernel sizes of an edge share one tensor.
    """

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        epochs: int = 50,
        stop: int = 40,
        alpha_lr: float = _ZO_ALPHA_LR,
        T: int = 10,
        mu: float = 0.005,
        dynamics: str = "matched",
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
        theta: int = 20,
        kernel_mode: str = "inherit_copy",
        size: str = "",
    ) -> None:
        if kernel_mode not in ("inherit_copy", "shared_mask"):
            raise unknown("kernel_mode", kernel_mode, ("inherit_copy", "shared_mask"))
        bounds, as_paper = _bounds(problem, size)
        settings = Settings(
            "zeroth-order",
            sparse=True,
            flexible=True,
            shared=kernel_mode == "shared_mask",
            epochs=epochs,
            stop=stop,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            matched=_is_matched(dynamics),
            tau=tau,
            anneal=anneal,
            every=every,
            theta=theta,
            bounds=bounds,
            counts_as_paper=as_paper,
        )
        super().__init__(problem, rng, settings)


def _is_matched(dynamics: str) -> bool:
    if dynamics not in ("matched", "reference"):
        raise unknown("dynamics", dynamics, ("matched", "reference"))
    return dynamics == "matched"


def _bounds(problem: Problem, size: str) -> tuple[tuple[float, float] | None, bool]:
    """Between which numbers of parameters the network is to lie, and whether they are counted as the paper does."""
    if size:
        return _named_bounds(problem.space.as_supernet(), size)  # type: ignore[attr-defined]
    for name in ("parameters", "parameters_paper"):
        own = [bound for bound in problem.constraints if bound.metric.name == name]
        if own:
            high = min((bound.limit for bound in own if bound.upper), default=math.inf)
            return (max((bound.limit for bound in own if not bound.upper), default=0.0), high), name != "parameters"
    return None, False


def _named_bounds(space: Searchable, size: str) -> tuple[tuple[float, float], bool]:
    if size in ("S", "M", "L"):
        if size not in space.published_sizes:
            raise UsageError(
                f"size={size} is not known on {space.name}: the paper sampled no networks there; write size=LOW-HIGH, "
                f"or --constrain parameters@{size} for a class of this space"
            )
        return space.published_sizes[size], True
    found = re.fullmatch(r"(\d+)-(\d+)", size)
    if found is None or int(found[1]) > int(found[2]):
        raise UsageError(f"size must be S, M, L or two numbers of parameters, LOW-HIGH, not {size!r}")
    return (float(found[1]), float(found[2])), False
