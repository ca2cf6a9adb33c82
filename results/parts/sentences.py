"""What the verdicts of a comparison say in words: who is better than whom, how surely, and what cannot be told."""

from __future__ import annotations

import numpy as np

from nasbench.results.display.numbers import count, fixed, interval, listed, p_value
from nasbench.results.parts.standing import beaten_by, called, leading, sharing
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.verdicts import Pair, Verdicts

_MOST_NAMED = 8  # others of whom a sentence gives numbers
_MOST_CONSTRAINTS = 8


def answer(comparison: Comparison) -> list[str]:
    """Sentences on the average over constraints, on tasks like these, and on every constraint."""
    why = hindrance(comparison)
    if why is not None:
        return [why] if why else []
    found = [_here(comparison), _alike(comparison)]
    equivalent = [p for p in comparison.overall.tested if p.is_equivalent and not p.is_identical and not p.verdict]
    if equivalent:
        names = [f"{comparison.methods[p.a]} and {comparison.methods[p.b]}" for p in equivalent[:_MOST_NAMED]]
        pairs = "; ".join(names)
        found.append(
            f"Alike for practical purposes, for the whole interval lies between 0.45 and 0.55: {pairs}"
            + (f"; and {count(len(equivalent) - _MOST_NAMED, 'pair')} more." if len(equivalent) > _MOST_NAMED else ".")
        )
    if 1 < len(comparison.by_constraint) <= _MOST_CONSTRAINTS:
        found += [_under(comparison, name, own) for name, own in comparison.by_constraint.items()]
    return found


def hindrance(comparison: Comparison) -> str | None:
    """Why nothing can be said, empty where there is nothing to ask; None where something can."""
    curves, overall = comparison.curves, comparison.overall
    if len(curves.methods) == 1:
        return ""
    if not curves.runs["evaluations"].any():
        return "No run has an evaluation: the budget is too small for one, or every run failed; nothing is compared."
    if not np.isfinite(curves.at((comparison.end,))).any():
        return "No method found anything feasible: there is nothing to compare."
    if len(overall.kinds) == 1:
        return f"{listed(curves.names)} are identical here: every run of one is that of the others."
    if not overall.ranks:
        return "No setting has runs of every method, so there are no ranks; pairs are compared where both have runs."
    if not overall.ranks[0].here.known:
        advice = f"{FEWEST} at least, 10 are advised, 20 where there is one benchmark"
        seeds = (
            "no seed is" if not overall.seeds else "one seed is" if overall.seeds == 1 else f"{overall.seeds} seeds are"
        )
        return (
            f"No verdict: {seeds} common to all methods and settings, too few for an interval or a p ({advice}). "
            "The ranks are what these runs gave, not what others would."
        )
    return None


def _here(comparison: Comparison) -> str:
    """Who is better than whom on the listed benchmarks, and by how much."""
    overall = comparison.overall
    leader, better, level, worse = leading(overall)
    count_ = len(overall.ranks)
    where, name = _where(comparison, overall), called(comparison, overall, leader.method)
    rank = f"expected rank {fixed(leader.here.value)} of {count_}, 95 % {interval(leader.here.interval(1.0, count_))}"
    basis = f"({count(overall.seeds, 'seed')}; Holm over {count(len(overall.tested), 'pair')})"
    shared = sharing(overall)
    if len(shared) > 1:
        names = listed([called(comparison, overall, m) for m in shared])
        return f"{where}, no first can be named: {names} share the lowest {rank} {basis}."
    if not better and not worse:
        return (
            f"{where}, no first can be named: {name} has the lowest {rank}, but is told apart from "
            f"{'none of the others' if count_ > 2 else 'the other no more than by chance'}{_too_weak(overall)} {basis}."
        )
    if level or worse:
        rest = [f"{beaten_by(comparison, overall, worse)}, one against one"] if worse else []
        level_names = [called(comparison, overall, p.b) for p in level]
        rest += [f"it is not told apart from {listed(level_names, 'or')}"] if level else []
        start = f"no method is better than all others. {name} has the lowest {rank}; {'; '.join(rest)}"
        if not better:
            return f"{where}, {start} {basis}."
        start += ". It is better than the rest"
    else:
        start = f"{name} is first ({rank}). It is better than {'each other method' if count_ > 2 else 'the other'}"
    return f"{where}, {start}: its run is the better one with probability {_beaten(comparison, better)} {basis}."


def _beaten(comparison: Comparison, better: list[Pair]) -> str:
    """Against whom with which probability, how surely, and in how many families."""
    named = better[:_MOST_NAMED]
    words = [
        f"{fixed(p.here.value)} ({interval(p.here.interval())}) against {called(comparison, comparison.overall, p.b)}"
        + (f", ahead in {p.ahead} of {p.families} families" if p.ahead < p.families else "")
        for p in named
    ]
    more = f"; and {len(better) - len(named)} more" if len(better) > len(named) else ""
    worst = max(p.p_here for p in better)
    sure = "p < 0.001" if worst < 0.001 else f"p at most {p_value(worst)}"
    everywhere = [p for p in better if p.ahead == p.families > 1]
    if len(everywhere) == len(better):
        sure += f", ahead in all {better[0].families} families" + (" each time" if len(better) > 1 else "")
    return f"{'; '.join(words)}{more}; {sure}"


def _alike(comparison: Comparison) -> str:
    """The same question for tasks like these."""
    overall, methods = comparison.overall, comparison.methods
    if not overall.unit:
        return "This says nothing about other tasks: one benchmark."
    families, benches = _sizes(comparison, overall)
    if overall.unit == "families":
        where, units = f"On tasks like these {families} families", f"{families} families"
    else:
        family = comparison.curves.settings["family"].iloc[overall.complete[0]]
        where, units = f"On other tasks of the family {family}", f"{benches} benchmarks"
    leader, *_ = leading(overall)
    pairs = [pair for r in overall.ranks if (pair := overall.pair(leader.method, r.method)) is not None]
    name, freedom = methods[leader.method], leader.alike.freedom
    told = [pair for pair in pairs if pair.verdict_alike == 1]
    caution = f" Two {overall.unit} hardly say anything about others." if freedom == 1 else ""
    if told:
        words = [f"{methods[p.b]} ({fixed(p.here.value)}, 95 % {interval(p.alike.interval())})" for p in told]
        shown = listed(words[:_MOST_NAMED]) + (
            f", and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
        )
        return f"{where}, {name} is better than {shown} too (t over {units}, {freedom} df).{caution}"
    nearest = min(pairs, key=lambda pair: pair.alike.p())
    ends = interval(nearest.alike.interval())
    among = (
        f"among {count(len(overall.tested), 'pair')} that is no sure sign"
        if len(overall.tested) > 1
        else ("that is no sure sign")
    )
    return (
        f"{where} nothing is sure of {name}: the probability that it is better than {methods[nearest.b]}, its clearest "
        f"case, is within {ends} (95 %, t over {units}, {freedom} df), and {among} (p = {p_value(nearest.p_alike)} "
        f"after Holm).{caution}"
    )


def _under(comparison: Comparison, name: str, own: Verdicts) -> str:
    """One constraint in brief."""
    where = "Without a constraint" if name == "none" else f"Under {name}"
    found = np.isfinite(comparison.curves.at((comparison.end,))[:, 0])
    there = np.isin(comparison.curves.runs["setting"].to_numpy(), own.settings)
    if not found[there].any():
        return f"{where}: nothing feasible was found."
    if len(own.kinds) == 1:
        return f"{where}: all methods are identical."
    if not own.ranks:
        return f"{where}: no setting has runs of every method."
    if not own.ranks[0].here.known:
        return f"{where}: too few seeds for a verdict."
    leader, better, level, worse = leading(own)
    rank, name = f"{fixed(leader.here.value)} of {len(own.ranks)}", called(comparison, own, leader.method)
    if len(shared := sharing(own)) > 1:
        names = listed([called(comparison, own, m) for m in shared])
        return f"{where}: {names} share the lowest expected rank, {rank}."
    if not level and not worse:
        return f"{where}: {name} is first, expected rank {rank}, and better than each other method."
    told = (
        f"better than {listed([called(comparison, own, p.b) for p in better])}"
        if better
        else "better than no other"
        if worse
        else "told apart from no other"
    )
    is_said = level and (better or worse)
    rest = f", not told apart from {listed([called(comparison, own, p.b) for p in level], 'or')}" if is_said else ""
    rest += f"; {beaten_by(comparison, own, worse)}, one against one" if worse else ""
    return f"{where}: no first; the lowest expected rank, {rank}, has {name}, {told}{rest}."


def _too_weak(verdicts: Verdicts) -> str:
    floor = min(pair.floor for pair in verdicts.tested)
    if floor * len(verdicts.tested) < 0.05:
        return ""
    return f"; {count(verdicts.seeds, 'seed')} cannot tell {len(verdicts.ranks)} methods apart, however different"


def _sizes(comparison: Comparison, verdicts: Verdicts) -> tuple[int, int]:
    """Families and benchmarks behind the ranks."""
    settings = comparison.curves.settings.iloc[verdicts.complete]
    return int(settings["family"].nunique()), int(settings["bench"].nunique())


def _where(comparison: Comparison, verdicts: Verdicts) -> str:
    settings = comparison.curves.settings.iloc[verdicts.complete]
    constraints = settings["constraint"].unique()
    families, benches = _sizes(comparison, verdicts)
    where = f"On {settings['bench'].iloc[0]}" if benches == 1 else f"On these {benches} benchmarks"
    where += f" of {count(families, 'family', 'families')}" if benches > 1 else ""
    if len(constraints) > 1:
        where += ", averaged over their constraints"
    elif constraints[0] != "none":
        where += f" under {constraints[0]}"
    return f"{where}, after {comparison.curves.protocol}"
