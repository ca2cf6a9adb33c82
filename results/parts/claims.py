"""Claims of papers about the methods, tested on our runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed, interval, intervals, p_value
from nasbench.results.display.table import Table
from nasbench.results.literature import Claim
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import CLAIMS, Comparison
from nasbench.results.statistics.verdicts import EQUIVALENT, Pair, compare, with_corrected_p
from nasbench.results.subject import Subject


@PARTS.register("claims")
@plain(50)
def part(subject: Subject) -> Part | None:
    """The part; None if no paper makes a claim about two of the methods, or another metric is compared."""
    if not subject.curves.score.is_of_objective:
        return None
    _, fragment = subject.fragments[0]
    frame = claims(subject.comparison, subject.literature.claims, fragment.setup.workers)
    if frame.empty:
        return None
    return Part("claims", "Claims of papers", [_table(frame)], sentences=_sentences(frame))


def claims(comparison: Comparison, claims_: Sequence[Claim], workers: int) -> pd.DataFrame:
    """One row per claim and pair of methods that it is about.

    Columns: paper, claim, better, worse (methods here), settings, seeds, probability (that a run of the better is
    better), low, high (simultaneous), p, p_holm (over all rows, by the budget of claims), sample (whether defaults of
    the better were chosen on the spaces of these settings), verdict: supported, reversed,
    not supported (an advantage of 0.05 over one half is excluded), or inconclusive.

    Args:
        workers: number of workers of the runs.
    """
    meant: list[tuple[Claim, Pair]] = []
    constrained = (comparison.curves.settings["constraint"] != "none").to_numpy()
    for claim in claims_:
        if workers < claim.workers:
            continue
        settings = np.flatnonzero(
            np.ones_like(constrained) if claim.constrained is None else (constrained == claim.constrained)
        )
        for ours in _called(comparison, claim.better, claim.foils):
            for theirs in (m for name in claim.worse for m in _called(comparison, name)):
                pair = compare(comparison.field, settings, ours, theirs)
                if pair is not None:
                    meant.append((claim, pair))
    pairs = with_corrected_p([pair for _, pair in meant], CLAIMS)
    rows = [_facts(comparison, claim, pair) for (claim, _), pair in zip(meant, pairs, strict=True)]
    return pd.DataFrame(rows)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries by column."""
    rows: list[dict[str, Any]] = frame.to_dict("records")  # type: ignore[assignment]
    return rows


def _facts(comparison: Comparison, claim: Claim, pair: Pair) -> dict[str, Any]:
    low, high = pair.interval
    return {
        "paper": claim.paper,
        "claim": claim.claim,
        "better": comparison.methods[pair.a],
        "worse": comparison.methods[pair.b],
        "settings": len(pair.settings),
        "seeds": pair.seeds,
        "probability": pair.these.value,
        "low": low,
        "high": high,
        "p": np.nan if pair.is_identical else pair.these.p(),
        "p_holm": pair.p_these,
        "sample": _sample(comparison, pair),
        "verdict": _verdict(pair),
    }


def _verdict(pair: Pair) -> str:
    if pair.verdict:
        return "supported" if pair.verdict > 0 else "reversed"
    return "not supported" if pair.interval[1] <= EQUIVALENT[1] else "inconclusive"


def _sample(comparison: Comparison, pair: Pair) -> str:
    """Whether defaults of the method of a claim were chosen on the spaces of its settings: in, out of or partly in."""
    inside = comparison.curves.in_sample([pair.a])[pair.settings]
    return "in sample" if inside.all() else "partly in sample" if inside.any() else "out of sample"


def _qualified(row: dict[str, Any]) -> str:
    return f"{row['verdict']}, {row['sample']}" if row["verdict"] == "supported" else str(row["verdict"])


def _called(comparison: Comparison, name: str, foils: Sequence[str] = ()) -> list[int]:
    """The methods with a name and any options, except options that turn it into an ablation (`foils`)."""
    methods = [method.partition(":") for method in comparison.curves.methods]
    return [
        i
        for i, (method_name, _, options) in enumerate(methods)
        if method_name == name and not {*foils} & {*options.split(",")}
    ]


def _table(frame: pd.DataFrame) -> Table:
    shown = pd.DataFrame(
        {
            "claim": frame["claim"],
            "method": frame["better"],
            "against": frame["worse"],
            "better": frame["probability"].map(fixed),
            "CI (these)": intervals(frame["low"], frame["high"]),
            "p": frame["p_holm"].map(p_value),
            "verdict": [_qualified(row) for row in rows_of(frame)],
        }
    )
    note = (
        "Over the settings that a claim is about. p: after Holm over all rows; claims have "
        f"{5 * CLAIMS:g} of the 5 % in which a report may err. supported or reversed: significant; not supported: an "
        f"advantage above {EQUIVALENT[1]} is excluded; inconclusive: the rest. A claim was made on the paper's own "
        "benchmarks and budget; its words here are ours."
    )
    return Table("claims", "Claims of papers on these runs", note, frame, shown)


def _sentences(frame: pd.DataFrame) -> list[str]:
    sentences = []
    for (paper, claim, ours), rows in groupby(rows_of(frame), key=itemgetter("paper", "claim", "better")):
        parts = [f"{r['worse']} {fixed(r['probability'])}{_ends(r)}, {_qualified(r)}" for r in rows]
        told = "; ".join(parts)
        sentences.append(f"{paper} claims, in our words: {claim}. Here, the probability that {ours} is better: {told}.")
    return sentences


def _ends(row: dict[str, Any]) -> str:
    return "" if np.isnan(row["low"]) else f" ({interval((row['low'], row['high']))})"
