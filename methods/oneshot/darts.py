"""The methods DARTS, MiLeNAS, ZO-DARTS, ZO-DARTS+ and ZO-DARTS++, defined by their options and settings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice, check_least, unknown
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.methods.contract import METHODS
from nasbench.methods.oneshot.one_shot import OneShot, bounds_on, supernet_of
from nasbench.methods.oneshot.settings import GradientEstimate, Settings
from nasbench.methods.problem import Problem

_ALPHA_LR, _ZO_ALPHA_LR = 3e-4, 1.5e-2
"""Learning rates of the architecture's optimiser, as in the authors' scripts."""


@METHODS.register("darts")
class DARTS(OneShot):
    """DARTS (Liu et al., ICLR 2019): each step descends the validation loss at the weights one step ahead.

    Take it for the first-order baseline of one-shot searches.

    Beside its source: methods/oneshot/README.md has the table of departures from the scripts.

    Options:
        order: 2, or 1 to use the present weights (the cheap approximation).
    """

    about = replace(
        OneShot.about, source="H. Liu, K. Simonyan and Y. Yang. DARTS: Differentiable Architecture Search. ICLR 2019."
    )

    def __init__(
        self, problem: Problem, rng: Generator, *, epochs: int = 50, alpha_lr: float = _ALPHA_LR, order: int = 2
    ) -> None:
        if order not in (1, 2):
            raise UsageError(f"order must be 1 or 2, not {order}")
        super().__init__(problem, rng, Settings("darts", epochs=epochs, stop=epochs, alpha_rate=alpha_lr, order=order))


@METHODS.register("milenas")
class MiLeNAS(OneShot):
    """MiLeNAS (He et al., CVPR 2020): each step descends training and validation loss together.

    Take it for one-shot search by first-order steps, cheaper than DARTS.

    Beside its source: methods/oneshot/README.md has the table of departures from the scripts.
    """

    about = replace(
        OneShot.about,
        source=(
            "C. He, H. Ye, L. Shen and T. Zhang. MiLeNAS: Efficient Neural Architecture Search via Mixed-Level "
            "Reformulation. CVPR 2020."
        ),
    )

    def __init__(self, problem: Problem, rng: Generator, *, epochs: int = 50, alpha_lr: float = _ALPHA_LR) -> None:
        super().__init__(problem, rng, Settings("milenas", epochs=epochs, stop=epochs, alpha_rate=alpha_lr))


@METHODS.register("zo-darts")
class ZODARTS(OneShot):
    """ZO-DARTS (Xie et al., ICASSP 2023): zeroth-order estimates of the gradient, over windows of T steps.

    Take it for one-shot search by zeroth-order estimates, in less memory.

    Beside its source: methods/oneshot/README.md has the table of departures from the scripts.
    """

    about = replace(
        OneShot.about,
        source=(
            "L. Xie, K. Huang, F. Xu and Q. Shi. ZO-DARTS: Differentiable architecture search with zeroth-order "
            "approximation. ICASSP 2023."
        ),
    )

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
        estimate: str = "paper",
        directions: int = 1,
    ) -> None:
        settings = Settings(
            epochs=epochs,
            stop=epochs,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            **_zeroth_order(estimate, directions, dynamics),
        )
        super().__init__(problem, rng, settings)


@METHODS.register("zo-darts+")
class ZODARTSPlus(OneShot):
    """ZO-DARTS+ (Xie et al., ESANN 2024): ZO-DARTS with sparsemax instead of softmax, at a falling temperature.

    Take it for ZO-DARTS with sparse probabilities.

    Beside its source: methods/oneshot/README.md has the table of departures from the scripts.
    """

    about = replace(
        OneShot.about,
        source=(
            "L. Xie, E. Lomurno, M. Gambella, D. Ardagna, M. Roveri, M. Matteucci and Q. Shi. An efficient neural "
            "architecture search model for medical image classification. ESANN 2024."
        ),
        shortened_by=("stop",),
    )

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
        estimate: str = "paper",
        directions: int = 1,
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
    ) -> None:
        settings = Settings(
            sparse=True,
            epochs=epochs,
            stop=stop,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            **_zeroth_order(estimate, directions, dynamics),
            tau=tau,
            anneal=anneal,
            every=every,
        )
        super().__init__(problem, rng, settings)


@METHODS.register("zo-darts++")
class ZODARTSPlusPlus(OneShot):
    """ZO-DARTS++ (Xie et al.): ZO-DARTS+ with one cell per stage, and kernel sizes and depths from epoch `theta`.

    A penalty pulls the expected number of parameters between bounds; architectures drawn outside them are redrawn.

    Take it for one-shot search for operations, kernel sizes and depths within bounds on size.

    Beside its source: methods/oneshot/README.md has the table of departures from the scripts.

    Options:
        theta: first epoch, from 0, in which kernel sizes and depths are searched.
        kernel_mode: inherit_copy trains one tensor per kernel size, shared_mask one tensor for all sizes.
        size: bounds on the number of parameters: the paper's S, M or L for this data set (with 16 channels), or
            LOW-HIGH; empty for the bounds of constraints (`--constrain parameters@M`), if any.
    """

    about = replace(
        OneShot.about,
        source=(
            "L. Xie, E. Lomurno, M. Gambella, D. Ardagna, M. Roveri, M. Matteucci and Q. Shi. ZO-DARTS++: An "
            "Efficient and Size-Variable Zeroth-Order Neural Architecture Search Algorithm. arXiv preprint, 2025."
        ),
        shortened_by=("stop", "theta"),
    )

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
        estimate: str = "paper",
        directions: int = 1,
        tau: float = 1.5,
        anneal: float = 0.75,
        every: int = 5,
        theta: int = 20,
        kernel_mode: str = "inherit_copy",
        size: str = "",
    ) -> None:
        check_choice("kernel_mode", kernel_mode, ("inherit_copy", "shared_mask"))
        bounds, as_paper = _bounds(problem, size)
        settings = Settings(
            sparse=True,
            flexible=True,
            shared=kernel_mode == "shared_mask",
            epochs=epochs,
            stop=stop,
            alpha_rate=alpha_lr,
            window=T,
            mu=mu,
            **_zeroth_order(estimate, directions, dynamics),
            tau=tau,
            anneal=anneal,
            every=every,
            theta=theta,
            bounds=bounds,
            counts_as_paper=as_paper,
        )
        super().__init__(problem, rng, settings)


_SOUND: dict[str, dict[str, Any]] = {
    "floor": {"floor": 1.0},
    "antithetic": {"antithetic": True},
    "normal": {"normalised": True},
    "rewarm": {"rewarmed": True},
}
"""The fields of `GradientEstimate` that each part of a robust estimate sets."""


def estimate_of(text: str, directions: int, is_matched: bool = True) -> GradientEstimate:
    """The estimate that an option names: paper, noise, robust, or parts of robust joined by +.

    Raises UsageError for anything else.
    """
    check_least("directions", directions, 1)
    allowed = ("paper", "noise", "robust", *_SOUND)
    if not is_matched and (text not in ("paper", "noise") or directions > 1):
        raise UsageError(
            "dynamics=reference follows the authors' scripts: estimate must be paper or noise, and directions 1"
        )
    if text in ("paper", "noise"):
        return GradientEstimate(random_sign=text == "noise", directions=directions)
    parts = list(_SOUND) if text == "robust" else text.split("+")
    wrong = [part for part in parts if part not in _SOUND]
    if wrong:
        raise unknown("estimate", wrong[0], allowed)
    changes = {name: value for part in parts for name, value in _SOUND[part].items()}
    return GradientEstimate(directions=directions, **changes)


def _zeroth_order(estimate: str, directions: int, dynamics: str) -> dict[str, Any]:
    """The settings that these options decide."""
    check_choice("dynamics", dynamics, ("matched", "reference"))
    matched = dynamics == "matched"
    return {"rule": "zeroth-order", "matched": matched, "estimate": estimate_of(estimate, directions, matched)}


def _bounds(problem: Problem, size: str) -> tuple[tuple[float, float] | None, bool]:
    """Bounds on the number of parameters, and whether parameters are counted as in the paper."""
    constrained = {name: bounds_on(problem, name) for name in ("parameters", "parameters_paper")}
    if size:
        if any(constrained.values()):
            raise UsageError(f"size={size} and a constraint on parameters both bound the network: give only one")
        return _named_bounds(supernet_of(problem), size)
    if constrained["parameters"] is None:
        return constrained["parameters_paper"], constrained["parameters_paper"] is not None
    return constrained["parameters"], False


def _named_bounds(space: Searchable, size: str) -> tuple[tuple[float, float], bool]:
    if size in ("S", "M", "L"):
        if size not in space.published_sizes:
            raise UsageError(
                f"size={size} is not known on {space.name}: the paper's sizes are for MedMNIST with 16 channels; "
                f"write size=LOW-HIGH, or --constrain parameters@{size} for a size class of this space"
            )
        return space.published_sizes[size], True
    limits = re.fullmatch(r"(\d+)-(\d+)", size)
    if limits is None or int(limits[1]) > int(limits[2]):
        raise UsageError(f"size must be S, M, L or two numbers of parameters, LOW-HIGH with LOW first, not {size!r}")
    return (float(limits[1]), float(limits[2])), False
