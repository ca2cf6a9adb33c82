"""The scores compared: ranks by each score, verdicts that change, and runs with a hidden repetition."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.scores import HIDDEN, OBSERVED
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.summaries import luck
from nasbench.results.subject import Subject
from nasbench.results.verdict.rows import marked


@PARTS.register("score")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if runs have only observed values, as on live benchmarks."""
    comparison = subject.comparison
    if comparison.curves.compared.name == OBSERVED.name and len(comparison.by_score) < 2:
        return None
    tables = [ranks(comparison), verdicts(comparison), left(comparison)]
    return Part("score", "What incumbents are scored by", [table for table in tables if table is not None])


def ranks(comparison: Comparison) -> Table:
    """Expected ranks by each score, and the luck of incumbents."""
    data = luck(comparison.curves, next(iter(comparison.by_score.values())).score, comparison.end)
    data["method"] = comparison.methods
    for name, other in comparison.by_score.items():
        by_method = [other.overall.rank_of(m) for m in range(len(comparison.methods))]
        data[f"rank_{name}"] = [np.nan if rank is None else rank.these.value for rank in by_method]
    shown = pd.DataFrame({"method": data["method"]})
    for name in comparison.by_score:
        shown[name] = data[f"rank_{name}"].map(fixed)
    several = comparison.curves.has_several_objectives
    if not several:  # a share that is missed may be 0, and a difference from it no share
        shown["luck %"] = (100 * data["optimism"]).map(lambda v: fixed(v, 1))
    shown["violates %"] = (100 * data["violates"]).map(lambda v: fixed(v, 1))
    what = "; ".join(f"{name}: {other.score.phrase}" for name, other in comparison.by_score.items())
    note = (
        f"Expected rank by each score of the incumbent, which the method chose by what it observed. {what}. "
        + (
            "violates: runs that"
            if several
            else "luck: how far the observed value lies below the first of these scores, in % of the score, median "
            "over runs; violates: incumbents that"
        )
        + " were observed to be feasible, and violate a constraint by it."
    )
    changed = _changed(comparison)
    total = count(len(comparison.overall.pairs), "pair")
    told = f"verdicts on {len(changed)} of {total} change" if changed else "no verdict on a pair changes"
    marks = f"This report compares the {comparison.curves.compared.phrase}; with the score, {told}."
    return Table("score", "Expected rank by each score (1 is best)", note, data, shown, None, marks)


def verdicts(comparison: Comparison) -> Table | None:
    """The pairs whose verdict depends on the score; None if there is none."""
    changed = _changed(comparison)
    if not changed:
        return None
    rows, shown = [], []
    for a, b in changed:
        pairs = {name: other.overall.pairs[a, b] for name, other in comparison.by_score.items()}
        names = {"method": comparison.methods[a], "other": comparison.methods[b]}
        shown.append(names | {name: marked(pair) for name, pair in pairs.items()})
        facts = {
            f"{fact}_{name}": value
            for name, pair in pairs.items()
            for fact, value in (
                ("better", pair.these.value),
                ("p_holm", pair.p_these),
                ("verdict", pair.verdict),
                ("p_new_holm", pair.p_new),
                ("verdict_new", pair.verdict_new),
            )
        }
        rows.append(names | facts)
    note = (
        "The probability that a run of the method is better than one of the other, by each score, with the marks that "
        "it has in a report by that score: * significant at 5 % (Holm) on these benchmarks, ** on new tasks too."
    )
    title = "Verdicts that change with the score"
    return Table("score-verdicts", title, note, pd.DataFrame(rows), pd.DataFrame(shown))


def left(comparison: Comparison) -> Table | None:
    """Share of the runs with unobserved repetitions of their last incumbent; None if unknown for all runs."""
    curves = comparison.curves
    if HIDDEN.name not in curves.by_score:
        return None
    known = curves.runs.dropna(subset=["hidden"])
    benches = curves.settings["bench"].to_numpy()[known["setting"]]
    data = known.groupby(benches)["hidden"].agg(["mean", "size"]).reset_index()
    data.columns = pd.Index(["benchmark", "hidden", "runs"])
    shown = pd.DataFrame({"benchmark": data["benchmark"]}).assign(
        **{"hidden %": (100 * data["hidden"]).map(lambda v: fixed(v, 1)), "runs": data["runs"].astype(str)}
    )
    note = (
        "Share of the runs with an incumbent that is scored by a repetition which the run has not observed. The others "
        "count with the only repetition that there is, by which they were chosen, or with a model's prediction, which "
        "has no noise. (Older runs could observe all.)"
    )
    return Table("score-left", "Runs whose incumbent has a hidden repetition", note, data, shown)


def _changed(comparison: Comparison) -> list[tuple[int, int]]:
    """The pairs whose verdicts, on these benchmarks or on new tasks, differ between scores."""
    every = [other.overall.pairs for other in comparison.by_score.values()]
    return [key for key in every[0] if len({(p[key].verdict, p[key].verdict_new) for p in every}) > 1]
