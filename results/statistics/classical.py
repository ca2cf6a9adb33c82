"""A baseline against each method over the budget by Wilcoxon's test, and the Bayesian signed-rank test.

As in most papers, settings count as independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.summaries import medians
from nasbench.results.statistics.wilcoxon import joined_differences, relative_differences, signed_rank

_SAMPLES = 20_000
_FEWEST = 5  # settings for a posterior: with fewer the prior dominates


def compare(comparison: Comparison) -> pd.DataFrame:
    """Compares the baseline with each other method at the checkpoints, over all settings that have both.

    A win is a setting where the baseline's median over seeds is lower. Wilcoxon's signed-rank test (Wilcoxon, 1945;
    zeros dropped) uses the relative differences of the medians; Holm's correction (1979) is over the other methods at
    each point.

    Columns: method, point, pairs, wins, losses, ties; p, p_holm (two-sided) and floor (p if all these differences had
    the same sign); p_greater, p_greater_holm (one-sided: the baseline is better); benches, p_benches, p_benches_holm
    (two-sided, one difference per benchmark: the mean of its settings); noisy (settings with known repetition noise)
    and better, equivalent, worse (posterior probabilities of `bayesian_signed_rank` over these settings, with a region
    of practical equivalence of one standard deviation of the repetition noise; NaN for fewer than five settings, and
    before the last point). Settings without a feasible incumbent of either method are left out of `noisy`.
    """
    curves, points = comparison.curves, comparison.checkpoints
    values = curves.at(points)
    middle = medians(curves, values)
    has_feasible = np.zeros(middle.shape, bool)
    for (setting, method), runs in curves.groups.items():
        has_feasible[setting, method] = np.isfinite(values[runs]).any(axis=0)
    others = [m for m in range(len(curves.methods)) if m != comparison.baseline]
    frames = []
    for i, point in enumerate(points):
        is_last = i == len(points) - 1
        rows = [_held(comparison, middle[:, :, i], has_feasible[:, :, i], m, is_last) for m in others]
        frame = pd.DataFrame(rows).assign(point=point)
        for name in ("p", "p_greater", "p_benches"):
            frame.insert(list(frame).index(name) + 1, f"{name}_holm", holm(frame[name].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _held(
    comparison: Comparison, middle: Array, has_feasible: NDArray[np.bool_], method: int, is_last: bool
) -> dict[str, float | int]:
    baseline = comparison.baseline
    both = ~np.isnan(middle[:, [method, baseline]]).any(axis=1)
    of_method, of_baseline = middle[both, method], middle[both, baseline]
    differences = relative_differences(of_method, of_baseline)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    by_bench = joined_differences("benchmarks", of_method, of_baseline, comparison.field.tasks.of(np.flatnonzero(both)))
    noise = comparison.curves.settings["noise"].to_numpy(float)
    known = both & (noise > 0) & has_feasible[:, [method, baseline]].any(axis=1)
    standardised = np.where(differences == 0, 0.0, of_method - of_baseline)[known[both]] / noise[known]
    enough = is_last and len(standardised) >= _FEWEST  # only once: it takes as long as all other tests
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


class Posterior(NamedTuple):
    """Posterior probabilities that the baseline is practically better, equivalent or worse; they sum to 1."""

    better: float
    equivalent: float
    worse: float


def bayesian_signed_rank(differences: Array, rope: float) -> Posterior:
    """The Bayesian signed-rank test (Benavoli et al., ICML 2014; with a region of practical equivalence, JMLR 2017).

    The prior is a Dirichlet process over the differences with a pseudo-observation of weight 1/2 at 0. Each posterior
    draw weights the sums of pairs of differences below, within and above twice the region; the largest weight wins.

    Args:
        differences: other - baseline, shape (settings,): positive where the baseline is better.
        rope: half the width of the region of practical equivalence, above 0, in the unit of the differences.

    The probabilities are NaN if there are no differences.
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
