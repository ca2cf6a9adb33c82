"""What limits a verdict: the seeds, single benchmarks, what failed, and where Wilcoxon's test disagrees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nasbench.base.numbers import count, listed, p_value, some
from nasbench.results.curves import Array
from nasbench.results.statistics.comparison import Comparison, on_common_seeds
from nasbench.results.statistics.estimates import cannot_differ
from nasbench.results.statistics.ranks import expected_ranks
from nasbench.results.statistics.wilcoxon import RankTests
from nasbench.results.verdict.headline import why_no_verdict
from nasbench.results.verdict.leading import full_name, pairs_of_leader


def limits(comparison: Comparison) -> list[str]:
    """The sentences; what no verdict rests on is left out, and so are tests that agree."""
    compared = [] if why_no_verdict(comparison) else [_seeds(comparison), _benchmarks(comparison)]
    return [text for text in (*compared, _wilcoxon(comparison), _failed(comparison)) if text]


def _seeds(comparison: Comparison) -> str:
    overall = comparison.overall
    halves = _halves(comparison)
    name = full_name(comparison, overall, overall.ranks[0].method)
    if not all(halves):
        return ""
    if all(overall.ranks[0].method in half for half in halves):
        return f"Either half of the seeds alone gives {name} the lowest expected rank."
    names = [listed([full_name(comparison, overall, m) for m in half]) for half in halves]
    return f"Each half of the seeds alone has its own lowest rank: that of {names[0]}, and that of {names[1]}."


def _halves(comparison: Comparison) -> list[list[int]]:
    """The methods with the lowest expected rank by every other seed, and by those between them."""
    overall = comparison.overall
    there: NDArray[np.bool_] = np.all(comparison.field.places[overall.complete] >= 0, axis=(0, 1))
    seeds = np.flatnonzero(there) if there.sum() > 1 else np.arange(len(there))
    return [_lowest(comparison, overall.complete, seeds[start::2]) for start in (0, 1)]


def _benchmarks(comparison: Comparison) -> str:
    overall = comparison.overall
    benches = comparison.curves.settings["bench"].to_numpy()[overall.complete]
    names = list(dict.fromkeys(benches))
    if len(names) == 1:
        return ""
    leader = overall.ranks[0].method
    others = {}
    for bench in names:
        lowest = _lowest(comparison, overall.complete[benches != bench])
        if leader not in lowest:
            others[bench] = listed([full_name(comparison, overall, m) for m in lowest])
    if not others:
        return (
            f"Whichever benchmark is left out, {full_name(comparison, overall, leader)} has the lowest expected rank."
        )
    parts = [f"{other} without {bench}" for bench, other in others.items()]
    those = "one benchmark" if len(others) == 1 else f"any one of {len(others)} benchmarks"
    return f"Another method has the lowest expected rank without {those}: {some(parts, most=2)}."


def _lowest(comparison: Comparison, settings: NDArray[np.intp], seeds: NDArray[np.intp] | None = None) -> list[int]:
    """The methods with the lowest expected rank over some settings and seeds; empty without a setting that has all.

    Args:
        seeds: the seeds; by default those that all methods have in a setting, or every one where these are too few.
    """
    firsts = [kind[0] for kind in comparison.overall.kinds]
    places = comparison.field.places[settings][:, firsts]
    kept = on_common_seeds(places) if seeds is None else places[:, :, seeds]
    present = np.all((kept >= 0).any(axis=2), axis=1)
    if not present.any():
        return []
    ranks: Array = expected_ranks(kept[present], comparison.field.tasks.of(settings[present]).weights)
    return [firsts[i] for i in np.flatnonzero(ranks - ranks.min() < 1e-9)]


def _wilcoxon(comparison: Comparison) -> str:
    """Where Wilcoxon's test and this report's disagree on the leader's pairs, and why; empty if they agree."""
    tests = comparison.rank_tests[0]
    if not comparison.overall.ranks or not tests.pairs or tests.count < 2:
        return ""
    pairs = [pair for pair in pairs_of_leader(comparison.overall) if not (pair.is_identical or pair.is_untested)]
    theirs = {pair.b: tests.verdict(pair.a, pair.b) for pair in pairs}
    apart = [pair for pair in pairs if pair.verdict != theirs[pair.b]]
    if not apart:
        return ""
    over = f"Wilcoxon's test over {blocks(tests)}"
    floors = [test.floor for test in tests.pairs.values()]
    if cannot_differ(floors):
        return (
            f"{over} cannot be significant: its smallest p is {p_value(min(floors))}, before Holm's correction over "
            f"{count(len(floors), 'pair')}. It does not contradict the differences above, which use seeds."
        )
    names = some([full_name(comparison, comparison.overall, pair.b) for pair in apart])
    if tests.unit == "seeds":
        return f"{over} judges otherwise on {names}: it pairs runs by seed, and the verdicts do not."
    return (
        f"{over} judges otherwise on {names}. It counts a median per setting, and takes settings for independent; "
        "verdicts count runs, and search spaces weigh the same."
    )


def blocks(tests: RankTests) -> str:
    """What a test is over, with its number: `12 settings`."""
    return count(tests.count, tests.unit[:-1])


def _failed(comparison: Comparison) -> str:
    runs = comparison.curves.runs
    stopped = int((runs["failure"] != "").sum())
    evaluations = int(runs["failed_evaluations"].sum())
    nothing = int((runs["feasible_rows"] == 0).sum())
    told = [f"{stopped:,} stopped early"] * bool(stopped)
    told += [f"{nothing:,} found nothing feasible, which loses to any that did"] * bool(nothing)
    told += [f"{count(evaluations, 'evaluation')} failed"] * bool(evaluations)
    return f"Of {count(len(runs), 'run')}: {'; '.join(told)}." if told else ""
