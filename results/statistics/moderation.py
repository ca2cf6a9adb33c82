"""Moderated variances (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004).

One pair of methods says little about the variance of its effect over a few spaces. All pairs of a report together give
a prior for variances; each pair's variance is shrunk towards it, and its t test gains degrees of freedom.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from nasbench.results.curves import Array

MOST = 10.0
"""Largest number of degrees of freedom gained from the other pairs."""


def prior(variances: Array, freedom: Array, most: float = MOST) -> tuple[float, float]:
    """Degrees of freedom d0 and variance s0² of the prior of variances, a scaled inverse chi-square distribution.

    Fitted by moments of z = log s²: with e = z - ψ(n/2) + log(n/2), ψ'(d0/2) = var(e) - mean ψ'(n/2), and
    s0² = exp(mean(e) + ψ(d0/2) - log(d0/2)). d0 equals its limit `most` if the variances differ no more than by chance,
    and 0 if there are fewer than two variances or most of them are zero.

    Args:
        variances: sample variance of each pair, shape (pairs,).
        freedom: degrees of freedom of each variance, same shape.
    """
    middle = float(np.median(variances)) if len(variances) > 1 else 0.0
    if middle <= 0 or most <= 0:
        return 0.0, 0.0
    half = freedom / 2
    e = np.log(np.maximum(variances, 1e-5 * middle)) - special.digamma(half) + np.log(half)
    excess = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, half)))
    prior_freedom = most
    if excess > special.polygamma(1, most / 2):
        prior_freedom = 2 * optimize.brentq(lambda x: float(special.polygamma(1, x)) - excess, 1e-8, most / 2)
    return prior_freedom, float(np.exp(np.mean(e) + special.digamma(prior_freedom / 2) - np.log(prior_freedom / 2)))


def moderated(variances: Array, freedom: Array, methods: int) -> tuple[Array, Array]:
    """Variances shrunk towards their common prior, and their degrees of freedom.

    Args:
        methods: number of methods of these pairs. Pairs that share a method are not independent, so the gain in degrees
            of freedom is limited by the number of methods outside a pair.
    """
    most = min(MOST, (methods - 2) * float(np.mean(freedom))) if len(freedom) else 0.0
    prior_freedom, common = prior(variances, freedom, most)
    return (prior_freedom * common + freedom * variances) / (prior_freedom + freedom), freedom + prior_freedom
