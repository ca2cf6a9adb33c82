"""The score `observed`: the incumbent's value as the method observed it."""

from __future__ import annotations

from nasbench.results.scores.score import Array, Incumbents, Score


class Observed(Score):
    """The observed value by which the method chose its incumbent: its luckiest repetition."""

    name = "observed"
    phrase = "incumbent's observed objective"
    note = "What is compared is what the method observed of its incumbent, its luckiest repetition"

    def values(self, incumbents: Incumbents) -> Array:
        return incumbents.observed


class ObservedShare(Observed):
    """The same for several objectives, where no evaluation alone is the incumbent."""

    phrase = "1 - observed share of the attainable hypervolume"
    note = (
        "What is compared is 1 - the share of the attainable hypervolume that the values dominate which the method "
        "observed, its luckiest repetitions"
    )
