"""The verdicts of a comparison as sentences."""

from __future__ import annotations

import numpy as np

from nasbench.base.numbers import count, fixed, interval, listed, p_is, p_value
from nasbench.results.parts.standing import beaten_by, beats_all, called, leading, not_tested, pairs_of_leader, tuned
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST, LEVEL, cannot_differ
from nasbench.results.statistics.verdicts import EQUIVALENT, Pair, Verdicts

_MOST_NAMED = 8  # methods with numbers in a sentence
_MOST_CONSTRAINTS = 8


def answer(comparison: Comparison) -> list[str]:
    """Sentences on the average over constraints, on new tasks, and on each constraint."""
    why = why_no_verdict(comparison)
    if why is not None:
        return [why]
    texts = [_these(comparison), _new(comparison), *_equivalent(comparison)]
    if 1 < len(comparison.by_constraint) <= _MOST_CONSTRAINTS:
        texts += [_under(comparison, name, verdicts) for name, verdicts in comparison.by_constraint.items()]
    return texts


def headline(comparison: Comparison, names_baseline: bool = False) -> str:
    """The verdict in two or three short sentences: who is first or shares first place, who is last, and on new tasks.

    Args:
        names_baseline: whether to add a sentence about a baseline that is not first.
    """
    why = why_no_verdict(comparison)
    if why is not None:
        return why
    overall = comparison.overall
    leader, shared, better, level, worse, untested = leading(overall)
    first = called(comparison, overall, leader.method)
    benches = comparison.curves.settings["bench"].iloc[overall.complete].unique()
    where = f"On {benches[0]}" if len(benches) == 1 else f"On these {len(benches)} benchmarks"
    inside, spaces = tuned(comparison, overall, leader.method)
    if inside:
        place = f"{inside} of these {spaces} search spaces" if spaces > 1 else "this search space"
        first += f" (its defaults were chosen on {place})"
    most = max(2, (len(overall.ranks) + 1) // 2)
    tied = [(rank, p.b) for p in level if (rank := overall.rank_of(p.b)) and rank.first == 1]
    near = [called(comparison, overall, m) for rank, m in tied if rank.last <= most]
    far = [called(comparison, overall, m) for rank, m in tied if rank.last > most]
    open_places = f"{listed(far, 'or')} (places 1 to {max((rank.last for rank, _ in tied), default=1)})"
    behind = [called(comparison, overall, p.b) for p in level]
    omitted = f", {not_tested(comparison, overall, untested)}" if untested else ""
    if not better and not worse:
        if len(shared) > 1:
            names = listed([called(comparison, overall, m) for m in shared])
            return (
                f"{where} {names} share the lowest expected rank, and no method differs significantly from {first}"
                f"{omitted}."
            )
        if not level:
            return f"{where} {first} has the lowest expected rank{omitted}."
        more = _more_settings(overall)
        return (
            f"{where} no method differs significantly from {first}, which has the lowest expected rank{more}{omitted}."
        )
    own = f" {_of_baseline(comparison)}" if names_baseline and comparison.baseline != leader.method else ""
    if worse:
        verdict = f"{first} has the lowest expected rank, but {beaten_by(comparison, overall, worse)}, one against one"
    elif near:  # few or noisy seeds leave places open, and make no better headline
        verdict = f"{listed([first, *near])} share first place"
        verdict += f", not to be told from {open_places}" * bool(far)
    elif far:
        verdict = f"{first} has the lowest expected rank, but is not to be told from {open_places}"
    elif behind:
        verdict = f"{first} has the lowest expected rank, but does not differ significantly from {listed(behind, 'or')}"
    elif untested:
        verdict = f"{first} has the lowest expected rank"
    else:
        verdict = f"{first} is first"
    verdict += f"; {first} is {not_tested(comparison, overall, untested)}" if untested else _more_settings(overall)
    last = overall.ranks[-1]
    if last.first == last.last == len(overall.ranks) > 2:
        verdict += f"; {called(comparison, overall, last.method)} is last"
    return f"{where} {verdict}.{own} {_new_in_brief(comparison)}"


def _more_settings(overall: Verdicts) -> str:
    """That some pairs of the leader are compared on settings that another method lacks; empty if none is."""
    most, every = max(len(pair.settings) for pair in pairs_of_leader(overall)), len(overall.complete)
    return (
        f" (by pairs, on up to {most} settings; {every} of them {'have' if every > 1 else 'has'} runs of every method)"
        * (most > every)
    )


def _of_baseline(comparison: Comparison) -> str:
    """The methods from which the baseline differs significantly on these benchmarks."""
    pairs = comparison.against_baseline(comparison.overall)
    names = {sign: [comparison.methods[p.b] for p in pairs if p.verdict == sign] for sign in (1, -1)}
    told = [f"{word} than {listed(names[sign])}" for sign, word in ((1, "better"), (-1, "worse")) if names[sign]]
    own = comparison.methods[comparison.baseline]
    return f"{own} is {listed(told)}." if told else f"{own} differs significantly from no other method."


def _new_in_brief(comparison: Comparison) -> str:
    overall = comparison.overall
    leader, pairs = overall.ranks[0], pairs_of_leader(overall)
    beaten = [pair for pair in pairs if pair.verdict_new == 1]
    known = [pair for pair in pairs if pair.shared.known or not pair.unit]
    if not known:
        return "This says nothing about new tasks."
    basis = min(beaten, key=_breadth) if beaten else max(known, key=_breadth)
    if not basis.unit:
        return "One benchmark says nothing about new tasks."
    names = [called(comparison, overall, pair.b) for pair in beaten]
    first = called(comparison, overall, leader.method)
    told = f"{first} is better than {listed(names)}" if beaten else f"no advantage of {first} is significant"
    told += f", and {lost} better" if (lost := _better_on_new(comparison, pairs)) else ""
    return f"{_where_new(comparison, basis)} ({basis.units} {basis.unit} are the evidence) {told}."


def _better_on_new(comparison: Comparison, pairs: list[Pair]) -> str:
    """The methods that are significantly better than the leader on new tasks, with a verb; empty if none is."""
    names = [called(comparison, comparison.overall, pair.b) for pair in pairs if pair.verdict_new == -1]
    return f"{listed(names)} {'are' if len(names) > 1 else 'is'}" if names else ""


def _breadth(pair: Pair) -> tuple[int, int]:
    """A key that orders pairs by their evidence on new tasks: its level, then the number of its members."""
    return ("", "benchmarks", "families", "spaces").index(pair.unit), pair.units


def _where_new(comparison: Comparison, pair: Pair) -> str:
    """The tasks that a pair's verdict on new tasks is about: of one search space or family, where there is one."""
    settings = comparison.curves.settings.iloc[pair.settings]
    if pair.unit == "families":
        return f"On new families of tasks in the search space {settings['space'].iloc[0]}"
    if pair.unit == "benchmarks":
        return f"On new tasks of the family {settings['family'].iloc[0]}"
    return "On new tasks"


def _equivalent(comparison: Comparison) -> list[str]:
    """The pairs that are equivalent in every space, and those that are equivalent only on average."""
    tested = [pair for pair in comparison.overall.tested if not pair.verdict]
    within = f"between {fixed(EQUIVALENT[0])} and {fixed(EQUIVALENT[1])} (5 %, Holm over pairs)"
    texts = []
    for pairs, what in (
        (
            [_named(comparison, p) for p in tested if p.is_equivalent],
            f"Equivalent, for the probability that one is better lies {within} on every search space",
        ),
        (
            [f"{_named(comparison, p)}{_spaces(comparison, p)}" for p in tested if p.is_equivalent_on_average],
            f"Equal on average, for the average over search spaces lies {within}, but not shown to be equivalent",
        ),
    ):
        if pairs:
            more = f"; and {count(len(pairs) - _MOST_NAMED, 'pair')} more" if len(pairs) > _MOST_NAMED else ""
            texts.append(f"{what}: {'; '.join(pairs[:_MOST_NAMED])}{more}.")
    return texts


def _named(comparison: Comparison, pair: Pair) -> str:
    """The methods of a pair, and on how many of the search spaces both have runs, where these are not all."""
    there, every = len(pair.by_space), len(comparison.spaces)
    where = f" (on {there} of {every} search spaces)" if there < every else ""
    return f"{comparison.methods[pair.a]} and {comparison.methods[pair.b]}{where}"


def _spaces(comparison: Comparison, pair: Pair) -> str:
    """The spaces in which the first method of a pair is significantly ahead, and those in which it is behind."""
    parts = []
    for word, sign in (("ahead in", 1), ("behind in", -1)):
        names = [
            f"{comparison.spaces[space]} ({fixed(own.value)})"
            for space, own in pair.by_space.items()
            if own.p() < LEVEL and sign * (own.value - 0.5) > 0
        ]
        parts += [f"{word} {listed(names)}"] if names else []
    return f" ({comparison.methods[pair.a]} is {', '.join(parts)})" if parts else ""


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
        seeds = (
            "no seed is" if not overall.seeds else "one seed is" if overall.seeds == 1 else f"{overall.seeds} seeds are"
        )
        some = " Pairs that have more seeds in common are compared below." if overall.tested else ""
        return (
            f"No verdict{' on all methods together' if some else ''}: {seeds} common to all methods and settings, too "
            f"few for an interval or a p ({advice}). The ranks are what these runs gave, not what others would.{some}"
        )
    return None


def _these(comparison: Comparison) -> str:
    """The verdict on these benchmarks."""
    overall = comparison.overall
    leader, shared, better, level, worse, untested = leading(overall)
    count_ = len(overall.ranks)
    where, name = _where(comparison, overall), called(comparison, overall, leader.method)
    ends = interval(leader.these.interval(1.0, count_))
    rank = f"expected rank {fixed(leader.these.value)} of {count_}, 95 % CI {ends}"
    tests = [f"Holm over {count(len(overall.tested), 'pair')}"] if overall.tested else []
    basis = f"({'; '.join([count(overall.seeds, 'seed'), *tests])})"
    if len(shared) > 1:
        names = listed([called(comparison, overall, m) for m in shared])
        return f"{where}, there is no clear winner: {names} share the lowest {rank} {basis}."
    if not better and not worse and not untested:
        others = "none of the others" if count_ > 2 else "the other"
        verb = "does not differ" if count_ == 2 else "differs"
        return (
            f"{where}, there is no clear winner: {name} has the lowest {rank}, but {verb} significantly from "
            f"{others}{_too_weak(overall)} {basis}."
        )
    if level or worse or untested:
        rest = [f"{beaten_by(comparison, overall, worse)}, one against one"] if worse else []
        level_names = [called(comparison, overall, p.b) for p in level]
        rest += [f"it does not differ significantly from {listed(level_names, 'or')}"] if level else []
        rest += [f"it is {not_tested(comparison, overall, untested)}"] if untested else []
        is_beaten = any(beats_all(overall, p.b) for p in worse)
        none = "there is no clear winner" if is_beaten else "no method is better than all others"
        start = f"{none}. {name} has the lowest {rank}; {'; '.join(rest)}"
        if not better:
            return f"{where}, {start} {basis}."
        start += f". {name if worse else 'It'} is better than the rest"
    else:
        start = f"{name} is first ({rank}). It is better than {'each other method' if count_ > 2 else 'the other'}"
    return f"{where}, {start}: its run is the better one with probability {_beaten(comparison, better)} {basis}."


def _beaten(comparison: Comparison, better: list[Pair]) -> str:
    """The other methods with probabilities, intervals, and the number of spaces ahead."""
    named = better[:_MOST_NAMED]
    words = [
        f"{fixed(p.these.value)} ({interval(p.interval)}) against {called(comparison, comparison.overall, p.b)}"
        + (f" on {count(len(p.settings), 'setting')}" if len(p.settings) != len(comparison.overall.complete) else "")
        + (f", ahead in {p.ahead} of {p.units} {p.unit}" if p.ahead < p.units else "")
        for p in named
    ]
    more = f"; and {len(better) - len(named)} more" if len(better) > len(named) else ""
    worst = max(p.p_these for p in better)
    sure = "p < 0.001" if worst < 0.001 else f"p at most {p_value(worst)}"
    if all(p.ahead == p.units > 1 for p in better) and len({(p.units, p.unit) for p in better}) == 1:
        sure += f", ahead in all {better[0].units} {better[0].unit}" + (" each time" if len(better) > 1 else "")
    return f"{'; '.join(words)}{more}; {sure}"


def _new(comparison: Comparison) -> str:
    """The verdict on new tasks."""
    overall, methods = comparison.overall, comparison.methods
    leader, pairs = overall.ranks[0], pairs_of_leader(overall)
    told = [pair for pair in pairs if pair.verdict_new == 1]
    lost = f" {better} better." if (better := _better_on_new(comparison, pairs)) else ""
    nearest = min(pairs, key=lambda pair: (not pair.shared.known, pair.these.value < 0.5, pair.shared.p()))
    basis = min(told, key=_breadth) if told else nearest
    if not basis.unit:
        return "This says nothing about new tasks: one benchmark."
    if not basis.shared.known:
        return f"This says nothing about new tasks: no pair of {methods[leader.method]} is tested."
    where, name = _where_new(comparison, basis), methods[leader.method]
    caution = f" Two {basis.unit} hardly say anything about others." if basis.units == 2 else ""
    if told:
        words = [f"{methods[p.b]} ({fixed(p.these.value)}, 95 % CI {interval(p.new.interval())})" for p in told]
        shown = listed(words[:_MOST_NAMED]) + (
            f", and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
        )
        return f"{where}, {name} is better than {shown} too ({_basis(basis)}).{lost}{caution}"
    if nearest.these.value < 0.5:
        return f"{where} {name} is ahead of no method that is tested.{lost}{caution}"
    among = f" after Holm over {count(len(overall.tested), 'pair')}" if len(overall.tested) > 1 else ""
    nothing = f"no advantage of {name} is significant" if lost else f"nothing is significant for {name}"
    return (
        f"{where} {nothing}: the probability that it is better than {methods[nearest.b]}, its "
        f"clearest case, has the 95 % CI {interval(nearest.new.interval())} ({p_is(nearest.p_new)}{among}; "
        f"{_basis(nearest)}).{lost}{caution}"
    )


def _basis(pair: Pair) -> str:
    """The basis of a verdict on new tasks."""
    added_freedom = pair.shared.freedom - pair.new.freedom
    moderated = f", moderated t with {pair.shared.freedom:.3g} df" if added_freedom > 0 else ""
    return f"{pair.units} {pair.unit}; t with {pair.new.freedom:.0f} df{moderated}"


def _under(comparison: Comparison, name: str, verdicts: Verdicts) -> str:
    """The verdict under one constraint, in brief."""
    where = "Without a constraint" if name == "none" else f"Under {name}"
    has_feasible = np.isfinite(comparison.curves.at((comparison.end,))[:, 0])
    in_scope = np.isin(comparison.curves.runs["setting"].to_numpy(), verdicts.settings)
    if not has_feasible[in_scope].any():
        return f"{where}: nothing feasible was found."
    if len(verdicts.kinds) == 1:
        return f"{where}: all methods are identical."
    if not verdicts.ranks:
        return f"{where}: no setting has runs of every method."
    if not verdicts.ranks[0].these.known:
        return f"{where}: too few seeds for a verdict."
    leader, shared, better, level, worse, untested = leading(verdicts)
    rank, name = f"{fixed(leader.these.value)} of {len(verdicts.ranks)}", called(comparison, verdicts, leader.method)
    if len(shared) > 1:
        names = listed([called(comparison, verdicts, m) for m in shared])
        return f"{where}: {names} share the lowest expected rank, {rank}."
    if not level and not worse and not untested:
        return f"{where}: {name} is first, expected rank {rank}, and better than each other method."
    told = (
        f"better than {listed([called(comparison, verdicts, p.b) for p in better])}"
        if better
        else "better than no other"
        if worse
        else "significantly different from no other"
    )
    is_said = level and (better or worse)
    names = listed([called(comparison, verdicts, p.b) for p in level], "or")
    rest = f", not significantly different from {names}" if is_said else ""
    rest += f"; {beaten_by(comparison, verdicts, worse)}, one against one" if worse else ""
    rest += f"; {not_tested(comparison, verdicts, untested)}" if untested else ""
    return f"{where}: no clear winner; the lowest expected rank, {rank}, has {name}, {told}{rest}."


def _too_weak(verdicts: Verdicts) -> str:
    if not cannot_differ([pair.floor for pair in verdicts.tested]):
        return ""
    seeds = count(verdicts.seeds, "seed")
    return f"; {seeds} cannot make a difference among {len(verdicts.ranks)} methods significant, however large"


def _where(comparison: Comparison, verdicts: Verdicts) -> str:
    settings = comparison.curves.settings.iloc[verdicts.complete]
    constraints = settings["constraint"].unique()
    spaces, benches = settings["space"].nunique(), settings["bench"].nunique()
    where = f"On {settings['bench'].iloc[0]}" if benches == 1 else f"On these {benches} benchmarks"
    where += f" of {count(spaces, 'search space')}" if benches > 1 else ""
    if len(constraints) > 1:
        where += ", averaged over their constraints"
    elif constraints[0] != "none":
        where += f" under {constraints[0]}"
    return f"{where}, after {comparison.curves.protocol}"
