"""Zero-cost proxies as a method: random networks in the order of a score that needs no training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import check_choice, check_least
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.cells import Stage, without_dead_edges
from nasbench.methods.contract import METHODS
from nasbench.methods.oneshot.baselines import OneShotRandom, mean_flops
from nasbench.methods.oneshot.one_shot import MOST_DRAWS
from nasbench.methods.problem import Problem

_SCORES = ("naswot", "synflow", "grad_norm", "snip", "params")
_SECONDS = 0.02  # of building a network, roughly
_PASSES = {"naswot": 6, "grad_norm": 3, "snip": 3}
"""The cost of a score, roughly, in passes of a batch forwards; the other scores see no batch."""


@METHODS.register("proxy")
class Proxy(OneShotRandom):
    """Scores random networks without training them (Abdelfattah et al., ICLR 2021), and proposes them best first.

    A score sees one batch of training images, and a network as this package trains it: convolutions that leave a node
    share one ReLU, and those that also enter the same node are one, which moves naswot and grad_norm a little. The
    seconds of all scores are those of the first proposal.

    Take it for networks without any training, as a cheap baseline.

    Beside its source: convolutions share a ReLU here, which moves two of the scores a little.

    Options:
        score: naswot (Mellor et al., ICML 2021: the logarithm of the determinant of the kernel of ReLU codes), synflow
            (Tanaka et al., NeurIPS 2020), grad_norm, snip (Lee et al., ICLR 2019), or params, the number of parameters.
        networks: number of different random networks that are scored, at least 1.
    """

    about = replace(
        OneShotRandom.about,
        version=3,
        shortened_by=("networks",),
        source=(
            "M. S. Abdelfattah, A. Mehrotra, L. Dudziak and N. D. Lane. Zero-Cost Proxies for Lightweight NAS. "
            "ICLR 2021."
        ),
    )

    def __init__(
        self, problem: Problem, rng: Generator, *, score: str = "naswot", networks: int = 100, cells: str = "one"
    ) -> None:
        check_choice("score", score, _SCORES)
        check_least("networks", networks, 1)
        super().__init__(problem, rng, cells=cells)
        self._score, self._networks, self._asked = score, networks, 0
        self._ranked: list[Configuration] = []

    @property
    def beginning(self) -> float:
        passes, space = _PASSES.get(self._score, 0), self._space
        flops = passes * space.batch * mean_flops(self._settings, space) if passes else 0.0
        return self._networks * (_SECONDS + flops / space.flops_a_second)

    def ask(self) -> Configuration:
        if not self._ranked:
            self._ranked = self._best_first()
        # After the last network the first one is proposed again.
        self._asked += 1
        return self._ranked[(self._asked - 1) % len(self._ranked)]

    def _best_first(self) -> list[Configuration]:
        from nasbench.methods.oneshot.untrained import Untrained

        untrained = Untrained(self._space, self._seed)
        scores, found = dict[tuple[Stage, ...], float](), list[Configuration]()
        for _ in range(MOST_DRAWS):
            drawn = self._drawn(self._rng)
            configuration = self._fitting(drawn)
            network = without_dead_edges(drawn)
            if configuration is not None and network not in scores:
                scores[network] = untrained.score(self._score, drawn)
                found.append(configuration)
            if len(scores) == self._networks:
                break
        if not scores:
            raise RuntimeError(f"infeasible: {MOST_DRAWS:,} networks drawn, none within the constraints")
        values = np.nan_to_num(list(scores.values()), nan=-np.inf)
        return [found[k] for k in np.argsort(-values, kind="stable").tolist()]
