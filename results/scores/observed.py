"""The score `observed`: what the method saw of its incumbent."""

from __future__ import annotations

from nasbench.results.scores.score import Array, Incumbents, Score


class Observed(Score):
    """The value that the method observed, and chose its incumbent for: its luckiest repetition."""

    name = "observed"
    phrase = "observed objective"
    note = "What is compared is what the method observed of its incumbent, its luckiest repetition"

    def values(self, incumbents: Incumbents) -> Array:
        return incumbents.observed
