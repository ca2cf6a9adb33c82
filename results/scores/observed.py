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
