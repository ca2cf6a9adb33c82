"""Moderated variances (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004).

The variance of a method's effect over few spaces is hardly known from one pair. All pairs of a report together tell
what variances are like; each pair's is drawn towards that, and its t test gains degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from nasbench.results.curves import Array

MOST = 10.0
"""Degrees of freedom that the other pairs lend at most."""


def prior(variances: Array, freedom: Array, most: float = MOST) -> tuple[float, float]:
    """Degrees of freedom d0 and variance s0² of the scaled inverse chi-square that variances come from.

    Fitted by moments of z = log s²: with e = z - ψ(n/2) + log(n/2), ψ'(d0/2) = var(e) - mean ψ'(n/2), and
    s0² = exp(mean(e) + ψ(d0/2) - log(d0/2)). d0 is at most `most`, which it is where the variances differ no more than
    by chance; 0 where there are fewer than two of them, or most are zero.

    Args:
        variances: sample variance of each pair, shape (pairs,).
        freedom: its degrees of freedom, same shape.
    """
    middle = float(np.median(variances)) if len(variances) > 1 else 0.0
    if middle <= 0 or most <= 0:
        return 0.0, 0.0
    half = freedom / 2
    e = np.log(np.maximum(variances, 1e-5 * middle)) - special.digamma(half) + np.log(half)
    excess = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, half)))
    lent = most
    if excess > special.polygamma(1, most / 2):
        lent = 2 * optimize.brentq(lambda x: float(special.polygamma(1, x)) - excess, 1e-8, most / 2)
    return lent, float(np.exp(np.mean(e) + special.digamma(lent / 2) - np.log(lent / 2)))


def moderated(variances: Array, freedom: Array, methods: int) -> tuple[Array, Array]:
    """Variances drawn towards the prior that all of them make, and the degrees of freedom that they then have.

    Args:
        methods: the number of methods of which these are the pairs. Pairs that share a method are not independent: they
            lend no more degrees of freedom than the methods beyond the two of a pair bring.
    """
    most = min(MOST, (methods - 2) * float(np.mean(freedom))) if len(freedom) else 0.0
    lent, common = prior(variances, freedom, most)
    return (lent * common + freedom * variances) / (lent + freedom), freedom + lent
