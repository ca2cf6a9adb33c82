"""The verdict in short sentences: who is first or shares first place, who is last, and on new tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nasbench.base.numbers import count, listed, some
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.verdicts import Pair, Verdicts
from nasbench.results.verdict.leading import (
    Lead,
    beaten_by,
    full_name,
    leading,
    not_tested,
    pairs_of_leader,
    tuned_on,
)


def headline(comparison: Comparison, names_baseline: bool = False) -> str:
    """The verdict in two to four sentences, or why there is none.

    Args:
        names_baseline: whether to add a sentence about a baseline that is not first.
    """
    why = why_no_verdict(comparison)
    if why is not None:
        return why
    overall = comparison.overall
    lead = leading(overall)
    first = full_name(comparison, overall, lead.leader.method)
    told = [f"{_where(comparison, overall)} {_place(comparison, lead)}{_last(comparison, lead)}."]
    if lead.untested and (lead.better or lead.worse):
        told.append(f"{first} is {not_tested(comparison, overall, lead.untested)}.")
    spaces = set(comparison.curves.settings["space"].iloc[overall.complete])
    names = [space for space in tuned_on(comparison, lead.leader.method) if space in spaces]
    if names:
        place = f"{len(names)} of these {len(spaces)} search spaces" if len(spaces) > 1 else "this search space"
        told.append(f"Defaults of {first} were chosen on {place} ({some(names, most=3)}): in sample.")
    if names_baseline and comparison.baseline != lead.leader.method and (lead.better or lead.worse):
        told.append(_of_baseline(comparison))
    return " ".join([*told, *_new(comparison, lead)])


def _where(comparison: Comparison, overall: Verdicts) -> str:
    benches = comparison.curves.settings["bench"].iloc[overall.complete].unique()
    return f"On {benches[0]}" if len(benches) == 1 else f"On these {len(benches)} benchmarks"


def _place(comparison: Comparison, lead: Lead) -> str:
    """Who is first, or shares first place, or has the lowest expected rank without either."""
    overall = comparison.overall
    leader, shared, better, level, worse, untested = lead
    first = full_name(comparison, overall, leader.method)
    lowest = f"{first} has the lowest expected rank"
    if worse:
        return f"{lowest}, but {beaten_by(comparison, overall, worse)}, one against one"
    if not better:
        omitted = f", {not_tested(comparison, overall, untested)}" if untested else ""
        if len(shared) > 1:
            names = some([full_name(comparison, overall, m) for m in shared])
            return f"{names} share the lowest expected rank; no method differs significantly from {first}{omitted}"
        if not level:
            return f"{lowest}{omitted}"
        return (
            f"no method differs significantly from {first}, which has the lowest expected rank"
            f"{_more_settings(overall)}{omitted}"
        )
    return f"{_shared(comparison, lead)}{'' if untested else _more_settings(overall)}"


def _shared(comparison: Comparison, lead: Lead) -> str:
    """The leader with those that share first place; places left open by few or noisy seeds share none."""
    overall = comparison.overall
    first = full_name(comparison, overall, lead.leader.method)
    most = max(2, (len(overall.ranks) + 1) // 2)
    tied = [(rank, p.b) for p in lead.level if (rank := overall.rank_of(p.b)) and rank.first == 1]
    near = [full_name(comparison, overall, m) for rank, m in tied if rank.last <= most]
    far = [full_name(comparison, overall, m) for rank, m in tied if rank.last > most]
    last = max((rank.last for rank, _ in tied), default=1)
    is_open = f"{some(far, 'or')} (places 1 to {last})"
    if near:
        return f"{some([first, *near])} share first place" + f", not to be told from {is_open}" * bool(far)
    if far:
        return f"{first} has the lowest expected rank, but is not to be told from {is_open}"
    if lead.level:
        behind = some([full_name(comparison, overall, p.b) for p in lead.level], "or")
        return f"{first} has the lowest expected rank, but does not differ significantly from {behind}"
    return f"{first} has the lowest expected rank" if lead.untested else f"{first} is first"


def _last(comparison: Comparison, lead: Lead) -> str:
    last = comparison.overall.ranks[-1]
    is_last = (lead.better or lead.worse) and last.first == last.last == len(comparison.overall.ranks) > 2
    return f"; {full_name(comparison, comparison.overall, last.method)} is last" if is_last else ""


def _more_settings(overall: Verdicts) -> str:
    """That some pairs of the leader are compared on settings that another method lacks; empty if none is."""
    most, every = max(len(pair.settings) for pair in pairs_of_leader(overall)), len(overall.complete)
    have = "have" if every > 1 else "has"
    return f" (by pairs, on up to {most} settings; {every} of them {have} runs of every method)" * (most > every)


def _of_baseline(comparison: Comparison) -> str:
    """The methods from which the baseline differs significantly on these benchmarks."""
    pairs = comparison.against_baseline(comparison.overall)
    names = {sign: [comparison.methods[p.b] for p in pairs if p.verdict == sign] for sign in (1, -1)}
    told = [f"{word} than {some(names[sign])}" for sign, word in ((1, "better"), (-1, "worse")) if names[sign]]
    own = comparison.methods[comparison.baseline]
    return f"{own} is {listed(told)}." if told else f"{own} differs significantly from no other method."


def _new(comparison: Comparison, lead: Lead) -> list[str]:
    """The verdict on new tasks; nothing where these benchmarks have none either."""
    if not (lead.better or lead.worse):
        return []
    overall = comparison.overall
    pairs = pairs_of_leader(overall)
    beaten = [pair for pair in pairs if pair.verdict_new == 1]
    known = [pair for pair in pairs if pair.shared.known or not pair.unit]
    if not known:
        return ["This says nothing about new tasks."]
    basis = min(beaten, key=_breadth) if beaten else max(known, key=_breadth)
    if not basis.unit:
        return ["One benchmark says nothing about new tasks."]
    names = [full_name(comparison, overall, pair.b) for pair in beaten]
    first = full_name(comparison, overall, lead.leader.method)
    told = f"{first} is better than {some(names)}" if beaten else f"no advantage of {first} is significant"
    told += f", and {lost} better" if (lost := _better(comparison, pairs)) else ""
    return [f"{_new_tasks(comparison, basis)} ({basis.units} {basis.unit} are the evidence) {told}."]


def _better(comparison: Comparison, pairs: Sequence[Pair]) -> str:
    """The methods that are significantly better than the leader on new tasks, with a verb; empty if none is."""
    names = [full_name(comparison, comparison.overall, pair.b) for pair in pairs if pair.verdict_new == -1]
    return f"{some(names)} {'are' if len(names) > 1 else 'is'}" if names else ""


def _breadth(pair: Pair) -> tuple[int, int]:
    """A key that orders pairs by their evidence on new tasks: its level, then the number of its members."""
    return ("", "benchmarks", "families", "spaces").index(pair.unit), pair.units


def _new_tasks(comparison: Comparison, pair: Pair) -> str:
    """The tasks that a pair's verdict on new tasks is about: of one search space or family, where there is one."""
    settings = comparison.curves.settings.iloc[pair.settings]
    if pair.unit == "families":
        return f"On new families of tasks in the search space {settings['space'].iloc[0]}"
    if pair.unit == "benchmarks":
        return f"On new tasks of the family {settings['family'].iloc[0]}"
    return "On new tasks"


def why_no_verdict(comparison: Comparison) -> str | None:
    """The reason why no verdict is possible; None if verdicts are possible."""
    curves, overall = comparison.curves, comparison.overall
    if not curves.runs["evaluations"].any():
        return "No run has an evaluation: the budget is too small for one, or every run failed; nothing is compared."
    if not np.isfinite(curves.at((comparison.end,))).any():
        if curves.runs["feasible_rows"].any() and not np.isfinite(curves.observed).any():
            return "No method trained anything feasible to the end: there is nothing to compare."
        return "No method found anything feasible: there is nothing to compare."
    if len(curves.methods) == 1:
        return "There is one method: nothing is compared."
    if len(overall.kinds) == 1:
        others = "other" if len(curves.methods) == 2 else "others"
        return f"{listed(curves.names)} are identical here: every run of one is that of the {others}."
    if not overall.ranks:
        return "No setting has runs of every method, so there are no ranks; pairs are compared where both have runs."
    if not overall.ranks[0].these.known:
        advice = f"{FEWEST} at least, 10 are advised, 20 where there is one benchmark"
        seeds = f"{count(overall.seeds, 'seed') if overall.seeds else 'no seed'} {'is' if overall.seeds < 2 else 'are'}"
        some_pairs = " Pairs that have more seeds in common are compared below." if overall.tested else ""
        return (
            f"No verdict{' on all methods together' if some_pairs else ''}: {seeds} common to all methods and "
            f"settings, too few for an interval or a p ({advice}).{some_pairs}"
        )
    return None
