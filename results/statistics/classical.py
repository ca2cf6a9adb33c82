"""A baseline over the budget as papers compare it, and the Bayesian signed-rank test; settings count as independent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.summaries import medians
from nasbench.results.statistics.wilcoxon import relative_differences, signed_rank

_SAMPLES = 20_000
_FEWEST = 5  # settings behind a posterior: with fewer the prior speaks


def compare(curves: Curves, baseline: int, points: Sequence[float]) -> pd.DataFrame:
    """A baseline held against each other method over all settings that have both.

    Per setting the medians over seeds decide: a win is a lower median of the baseline. Wilcoxon's signed-rank test
    (Wilcoxon, 1945; zeros dropped) takes the relative differences of the medians; Holm's correction (1979) runs over
    the other methods at each point.

    Columns: method, point, pairs, wins, losses, ties; p, p_holm (two-sided) and floor (p if these very differences all
    had one sign); p_greater, p_greater_holm (one-sided: the baseline is better); benches, p_benches, p_benches_holm
    (two-sided, one difference a benchmark: the mean of its settings'); noisy (settings whose repetition noise is known)
    and better, equivalent, worse (the posterior probabilities of `bayesian_signed_rank` over those, with a region of
    practical equivalence of one standard deviation of the setting's repetition noise; NaN for fewer than five
    settings, and before the last point). A setting where neither method has found anything feasible says nothing about
    practical equivalence, and is left out there.
    """
    values = curves.at(points)
    middle = medians(curves, values)
    found = np.zeros(middle.shape, bool)
    for (setting, method), runs in curves.groups.items():
        found[setting, method] = np.isfinite(values[runs]).any(axis=0)
    others = [m for m in range(len(curves.methods)) if m != baseline]
    frames = []
    for i, point in enumerate(points):
        is_last = i == len(points) - 1
        rows = [_held(curves, middle[:, :, i], found[:, :, i], baseline, m, is_last) for m in others]
        frame = pd.DataFrame(rows).assign(point=point)
        for name in ("p", "p_greater", "p_benches"):
            frame.insert(list(frame).index(name) + 1, f"{name}_holm", holm(frame[name].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _held(
    curves: Curves, middle: Array, found: NDArray[np.bool_], baseline: int, method: int, is_last: bool
) -> dict[str, float | int]:
    both = ~np.isnan(middle[:, [method, baseline]]).any(axis=1)
    other, ours = middle[both, method], middle[both, baseline]
    differences = relative_differences(other, ours)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    by_bench = benchmark_means(differences, curves.settings["bench"].to_numpy()[both])
    noise = curves.settings["noise"].to_numpy(float)
    known = both & (noise > 0) & found[:, [method, baseline]].any(axis=1)
    standardised = np.where(differences == 0, 0.0, other - ours)[known[both]] / noise[known]
    enough = is_last and len(standardised) >= _FEWEST  # it takes as long as all the rest
    posterior = bayesian_signed_rank(standardised if enough else standardised[:0], rope=1.0)
    two_sided = signed_rank(differences)
    return {
        "method": method,
        "pairs": len(differences),
        "wins": wins,
        "losses": losses,
        "ties": len(differences) - wins - losses,
        "p": two_sided.p,
        "floor": two_sided.floor,
        "p_greater": signed_rank(differences, "greater").p,
        "benches": len(by_bench),
        "p_benches": signed_rank(by_bench).p,
        "noisy": len(standardised),
        **posterior._asdict(),
    }


def benchmark_means(differences: Array, benches: NDArray[np.object_]) -> Array:
    """Mean difference of each benchmark, shape (benchmarks,)."""
    number, names = pd.factorize(benches)
    found: Array = np.bincount(number, weights=differences) / np.bincount(number) if len(names) else np.zeros(0)
    return found


class Posterior(NamedTuple):
    """Probabilities that the baseline is practically better, equivalent or worse; they sum to 1."""

    better: float
    equivalent: float
    worse: float


def bayesian_signed_rank(differences: Array, rope: float) -> Posterior:
    """The Bayesian signed-rank test (Benavoli et al., ICML 2014; with a region of practical equivalence, JMLR 2017).

    A Dirichlet process over the differences with a pseudo-observation of weight 1/2 at 0; each draw of the posterior
    weighs the sums of pairs of differences as below, within or above twice the region, and the largest weight wins.

    Args:
        differences: other - baseline, shape (settings,): positive where the baseline is better.
        rope: half the width of the region of practical equivalence, above 0, in the unit of the differences.

    NaN where there are no differences.
    """
    if not len(differences):
        return Posterior(np.nan, np.nan, np.nan)
    values = np.concatenate([[0.0], differences])
    sums = values[:, None] + values
    above, below = (np.heaviside(sign * sums - 2 * rope, 0.5) for sign in (1.0, -1.0))
    prior = np.concatenate([[0.5], np.ones(len(differences))])
    weights = np.random.default_rng(0).dirichlet(prior, _SAMPLES)
    better, worse = (np.einsum("si,si->s", weights @ region, weights) for region in (above, below))
    winner = np.argmax([better, 1 - better - worse, worse], axis=0)
    return Posterior(*(np.bincount(winner, minlength=3) / _SAMPLES).tolist())
