"""Ten questions that a reviewer asks, each with its answer in a sentence and the section that has the evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench.base.numbers import constraint_name, count, fixed, interval, listed, number, p_is
from nasbench.results.curves import Array
from nasbench.results.parts.citation import commands, commits, version, versions
from nasbench.results.parts.pairs import log_ratios
from nasbench.results.parts.part import Subject
from nasbench.results.parts.sentences import why_no_verdict
from nasbench.results.parts.standing import beaten_by, called, leading, not_tested, sharing
from nasbench.results.statistics.comparison import Comparison, on_common_seeds
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.ranks import expected_ranks
from nasbench.results.statistics.verdicts import Pair

_MOST = 4  # names in an answer


@dataclass(frozen=True)
class Answer:
    """A question with its answer."""

    question: str
    text: str
    place: str
    """The id of the page's section with the evidence."""


def answers(subject: Subject) -> list[Answer]:
    """The ten questions with answers; if no verdict is possible, the first answers say why."""
    comparison = subject.comparison
    why = why_no_verdict(comparison)
    asked: list[tuple[str, str, Callable[[Comparison], str]]] = [
        ("Who wins?", "ranks", _who),
        ("By how much?", "pairs", _how_much),
        ("How sure is that?", "pairs", _how_sure),
        ("In which search spaces?", "families", _spaces),
        ("At which budget?", "ranks", _budget),
        ("Is it the seeds?", "ranks", _seeds),
        ("Is it one benchmark?", "settings", _benchmarks),
        ("What is tied?", "pairs", _tied),
    ]
    compared = [
        Answer(question, answer(comparison) if why is None else why, place) for question, place, answer in asked
    ]
    return [
        *compared,
        Answer("What failed?", _failed(comparison), "feasibility"),
        Answer("Can I repeat it?", _again(subject), "provenance"),
    ]


def minute(subject: Subject) -> list[Answer]:
    """What a reader with one minute asks after the verdict: by how much, how sure, where not, and how to cite it."""
    comparison = subject.comparison
    cite = Answer("How do I cite it?", f"{version(subject)}; with a sentence and an entry for BibTeX:", "cite")
    if why_no_verdict(comparison) is not None:
        return [cite]
    return [
        Answer("By how much?", _how_much(comparison), "pairs"),
        Answer("How sure is that?", _significant(comparison), "pairs"),
        Answer("Where not?", _where_not(comparison), "families"),
        cite,
    ]


def _significant(comparison: Comparison) -> str:
    overall, next_best = comparison.overall, _next(comparison)
    leader = overall.ranks[0].method
    name, other = (called(comparison, overall, m) for m in (next_best.a, next_best.b))
    once = {kind[0] for kind in overall.kinds}  # identical methods count once
    ahead = [p for p in overall.tested if leader in (p.a, p.b) and {p.a, p.b} <= once]
    told, also = (sum(getattr(p, kind) != 0 for p in ahead) for kind in ("verdict", "verdict_new"))
    worse = sum((p if p.a == leader else p.turned()).verdict < 0 for p in ahead)
    sure = "not tested"
    if not np.isnan(next_best.p_these):
        sure = f"{p_is(next_best.p_these)} on these benchmarks (Holm), "
        words = {1: "significant", 0: "not significant", -1: "and significantly worse"}
        sure += words[next_best.verdict]
    new = f" and from {also or 'none'} of them on new tasks" if overall.unit else ""
    firsts = _halves(comparison)
    of_halves = listed(sorted({called(comparison, overall, m) for half in firsts for m in half}))
    halves = (
        f"the halves of the seeds, each alone, put {of_halves} first"
        if any(half and leader not in half for half in firsts)
        else "either half of the seeds alone puts the same method first"
        if all(firsts)
        else "the seeds cannot be halved"
    )
    return (
        f"{name} against {other}, the next by rank: {sure}. "
        f"{name} differs significantly from {told or 'none'} of {count(len(ahead), 'other method')} on these "
        f"benchmarks{f' (it is worse than {worse} of them)' if worse else ''}{new}; {halves}."
    )


def _where_not(comparison: Comparison) -> str:
    """The search spaces and constraints where another method has the lowest expected rank."""
    leader = comparison.overall.ranks[0].method
    spaces = ("in", "search spaces", comparison.by_space)
    scopes = [spaces if len(comparison.by_space) > 1 else ("in", "families", comparison.by_family)]
    scopes.append(("under", "constraints", comparison.by_constraint))
    told, everywhere, has_verdicts = [], [], True
    for before, word, named in scopes:
        ranked = {name: verdicts for name, verdicts in named.items() if len(verdicts.ranks) > 1}
        others = [
            f"{constraint_name(name)} ({called(comparison, verdicts, verdicts.ranks[0].method)})"
            for name, verdicts in ranked.items()
            if (own := verdicts.rank_of(leader)) is None or own.method not in sharing(verdicts)
        ]
        if len(ranked) > 1:
            everywhere.append(f"in each of {len(ranked)} {word}{' with ranks' if len(ranked) < len(named) else ''}")
        if others and len(ranked) > 1:
            told.append(f"{before} {len(others)} of {len(ranked)} {word}: {_some(others)}")
            has_verdicts &= word == "constraints"
    name = called(comparison, comparison.overall, leader)
    pair = _next(comparison)
    benches = pair.wins + pair.ties + pair.losses
    single = (
        f" On single benchmarks it is behind {called(comparison, comparison.overall, pair.b)}, the next by rank, on "
        f"{pair.losses} of {benches}."
        if benches > 1
        else ""
    )
    if told:
        where = f"Another method than {name} has the lowest expected rank {'; '.join(told)}."
        verdicts = "" if has_verdicts else f" Single {scopes[0][1]} have no verdicts."
        return f"{where}{single}{verdicts}"
    if everywhere:
        least = f"{name} has the lowest expected rank {listed(everywhere)}."
    elif len(comparison.by_space) > 1:
        least = f"One of {len(comparison.by_space)} search spaces has runs of every method."
    else:
        least = "There is one search space."
    return f"{least}{single}"


def _who(comparison: Comparison) -> str:
    overall = comparison.overall
    leader, shared, better, level, worse, untested = leading(overall)
    name = called(comparison, overall, leader.method)
    rank = f"expected rank {fixed(leader.these.value)} of {len(overall.ranks)}"
    if len(shared) > 1:
        return f"No clear winner: {listed([called(comparison, overall, m) for m in shared])} share the lowest {rank}."
    if worse:
        beaten = beaten_by(comparison, overall, worse)
        return f"No clear winner: {name} has the lowest {rank}, but {beaten}, one against one."
    if level:
        others = _some([called(comparison, overall, p.b) for p in level])
        return f"No clear winner: {name} has the lowest {rank}, but does not differ significantly from {others}."
    if untested:
        return f"No clear winner: {name} has the lowest {rank}, but is {not_tested(comparison, overall, untested)}."
    those = "the other" if len(better) == 1 else f"each of the {len(better)} others"
    return f"{name} ({rank}): it is better than {those}."


def _next(comparison: Comparison) -> Pair:
    """The comparison of the leader with the method next by expected rank."""
    overall = comparison.overall
    pair = overall.pair(overall.ranks[0].method, overall.ranks[1].method)
    assert pair is not None  # ranks are of methods that share settings
    return pair


def _ends(pair: Pair) -> str:
    """The interval of a pair on these benchmarks."""
    if not pair.these.known:
        return f"no interval: fewer than {FEWEST} common seeds in some setting"
    return f"95 % CI {interval(pair.interval)}"


def _how_much(comparison: Comparison) -> str:
    pair = _next(comparison)
    ours, theirs = (called(comparison, comparison.overall, m) for m in (pair.a, pair.b))
    (ratio,) = log_ratios(comparison, [pair])
    effect = (
        f"; its regret is {10**-ratio:.2g} times that of the other (median over settings)" if np.isfinite(ratio) else ""
    )
    return (
        f"A run of {ours} beats one of {theirs}, the next by rank, with probability {fixed(pair.these.value)} "
        f"({_ends(pair)}; 0.50 would be a tie){effect}."
    )


def _how_sure(comparison: Comparison) -> str:
    overall, pair = comparison.overall, _next(comparison)
    ours, theirs = (called(comparison, overall, m) for m in (pair.a, pair.b))
    told, also = (sum(getattr(p, name) != 0 for p in overall.tested) for name in ("verdict", "verdict_new"))
    new = (
        f" On new tasks {also or 'none'} of them {'does' if also == 1 else 'do'}; there the probability of {ours} "
        f"against {theirs} has the 95 % CI {interval(pair.new.interval())} (t over {pair.unit}, "
        f"{pair.new.freedom:.0f} df)."
        if pair.unit and pair.new.known
        else ""
        if pair.unit
        else " One benchmark says nothing about new tasks."
    )
    sure = "not tested" if np.isnan(pair.p_these) else p_is(pair.p_these)
    of = f"of {count(len(overall.tested), 'pair')} {'differs' if told == 1 else 'differ'}"
    return (
        f"{told} {of} significantly on these benchmarks (5 %, Holm). {ours} "
        f"against {theirs}: {sure}.{new} If all methods were identical, at most about 5 % of such "
        "reports would call any difference significant or any claim supported, over all tables with p together "
        "but Wilcoxon's, those that repeat a paper's tests, and that of verdicts by other scores."
    )


def _spaces(comparison: Comparison) -> str:
    pair = _next(comparison)
    ours, theirs = (called(comparison, comparison.overall, m) for m in (pair.a, pair.b))
    scopes = comparison.by_space if len(comparison.by_space) > 1 else comparison.by_family
    word = "search space" if len(comparison.by_space) > 1 else "family"
    pairs = {name: verdicts.pair(pair.a, pair.b) for name, verdicts in scopes.items()}
    parts = {name: p.these.value for name, p in pairs.items() if p is not None}
    if len(parts) == 1 < len(scopes):
        return f"Both have runs in one {word} of {len(scopes)}, {next(iter(parts))}: this says nothing about others."
    if len(parts) == 1:
        return f"There is one {word}, {next(iter(parts))}: this says nothing about others."
    ahead = sum(round(value - 0.5, 12) > 0 for value in parts.values())
    values = [f"{name} {fixed(value)}" for name, value in parts.items()]
    return (
        f"{ours} is ahead of {theirs} in {ahead} of {len(parts)}: {_some(values, 8)} (probability that it is better; "
        f"no verdict is given for a single {word})."
    )


def _budget(comparison: Comparison) -> str:
    """The point of the budget from which the final leader leads."""
    at = comparison.along(100)
    values = comparison.ranks(comparison.curves.at(at))
    leader = comparison.overall.ranks[0].method
    name = called(comparison, comparison.overall, leader)
    others = [kind[0] for kind in comparison.overall.kinds if kind[0] != leader]
    lowest = np.where(np.isnan(values[others]), np.inf, values[others]).min(axis=0, initial=np.inf)
    with np.errstate(invalid="ignore"):
        leads = values[leader] < lowest - 1e-9
    if leads.all():
        return f"At each: {name} has the lowest expected rank from the start to the end, {_at(comparison, at[-1])}."
    last = int(np.flatnonzero(~leads)[-1])
    if last == len(at) - 1:
        return f"At none: {name} shares the lowest expected rank at the end, {_at(comparison, at[-1])}."
    with np.errstate(invalid="ignore"):
        shares = values[leader, last] <= lowest[last] + 1e-9
    other = called(comparison, comparison.overall, others[int(np.nanargmin(values[others, last]))])
    return (
        f"{name} has the lowest expected rank from {_at(comparison, at[last + 1])} on; just before, "
        f"{f'it shared that with {other}' if shares else f'{other} had the lowest'}. Verdicts are given at the end, "
        f"{_at(comparison, at[-1])}."
    )


def _seeds(comparison: Comparison) -> str:
    overall, curves = comparison.overall, comparison.curves
    halves = _halves(comparison)
    leader = overall.ranks[0].method
    name = called(comparison, overall, leader)
    if not all(halves):
        said = "No setting has runs of every method in either half of the seeds."
    elif all(leader in half for half in halves):
        said = f"Either half of the seeds alone gives {name} the lowest expected rank."
    else:
        names = [listed([called(comparison, overall, m) for m in half]) for half in halves]
        said = f"Perhaps: the two halves of the seeds alone give the lowest expected rank to {names[0]} and {names[1]}."
    basis = "the intervals for these benchmarks are over seeds (t, stratified by setting)"
    return f"{said} {count(curves.seeds, 'seed')}; {basis}."


def _halves(comparison: Comparison) -> list[list[int]]:
    """The methods with the lowest expected rank by every other seed, and by those between them."""
    overall = comparison.overall
    there: NDArray[np.bool_] = np.all(comparison.field.places[overall.complete] >= 0, axis=(0, 1))
    seeds = np.flatnonzero(there) if there.sum() > 1 else np.arange(len(there))
    return [_lowest(comparison, overall.complete, seeds[start::2]) for start in (0, 1)]


def _benchmarks(comparison: Comparison) -> str:
    settings, overall = comparison.curves.settings, comparison.overall
    benches = settings["bench"].to_numpy()[overall.complete]
    names = list(dict.fromkeys(benches))
    leader = called(comparison, overall, overall.ranks[0].method)
    if len(names) == 1 < settings["bench"].nunique():
        return f"Yes: {names[0]} is the only one of {settings['bench'].nunique()} that has runs of every method."
    if len(names) == 1:
        return f"Yes: {names[0]} is all there is, and this says nothing about new tasks."
    others = {}
    for bench in names:
        lowest = _lowest(comparison, overall.complete[benches != bench])
        if overall.ranks[0].method not in lowest:
            others[bench] = listed([called(comparison, overall, m) for m in lowest])
    if not others:
        return f"No: whichever of the {len(names)} benchmarks is left out, {leader} has the lowest expected rank."
    parts = [f"{other} without {bench}" for bench, other in others.items()]
    return f"It depends on {len(others)} of {len(names)}: the lowest expected rank would be that of {_some(parts)}."


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


def _tied(comparison: Comparison) -> str:
    overall = comparison.overall

    def named(pairs: Sequence[Pair]) -> str:
        names = [f"{called(comparison, overall, p.a)} and {called(comparison, overall, p.b)}" for p in pairs]
        more = f"; and {count(len(names) - _MOST, 'pair')} more" if len(names) > _MOST else ""
        return f"{'; '.join(names[:_MOST])}{more}"

    once = {kind[0] for kind in overall.kinds}  # identical methods are named together
    level = [p for p in overall.tested if p.verdict == 0 and {p.a, p.b} <= once]
    untested = [p for p in overall.pairs.values() if p.is_untested and {p.a, p.b} <= once]
    same = [" = ".join(comparison.methods[m] for m in kind) for kind in overall.kinds if len(kind) > 1]
    texts = [
        f"No significant difference: {named(level)}."
        if level
        else f"Every {'tested ' if untested else ''}pair differs significantly."
    ]
    if untested:
        texts.append(f"Not tested, with fewer than {FEWEST} common seeds in some setting: {named(untested)}.")
    texts += [f"Identical: {_some(same)}."] if same else []
    return " ".join(texts)


def _failed(comparison: Comparison) -> str:
    runs = comparison.curves.runs
    stopped = int((runs["failure"] != "").sum())
    evaluations = int(runs["failed_evaluations"].sum())
    nothing = int((runs["feasible_rows"] == 0).sum())
    if not stopped and not evaluations and not nothing:
        return f"Nothing: none of the {count(len(runs), 'run')} stopped early, and each found something feasible."
    return (
        f"Of {count(len(runs), 'run')} {stopped or 'none'} stopped early, and {nothing or 'none'} found nothing "
        "feasible (such runs lose to all that did); "
        f"{count(evaluations, 'evaluation') if evaluations else 'no evaluation'} failed."
    )


def _again(subject: Subject) -> str:
    if any(f.setup.charge_thinking or f.provenance.get("repeatable") == "" for _, f in subject.fragments):
        return "Not bit for bit: their clocks hold measured times, so the same commands give similar runs."
    asked = commands(subject)
    how = asked[0] if len(asked) == 1 else f"the {len(asked)} commands below" if asked else "the same command"
    return (
        f"Yes: {how}; nasbench {', '.join(versions(subject))}, commit {_some(commits(subject))}. The same seeds on "
        f"the same data give the same bits {_where(subject)}."
    )


def _where(subject: Subject) -> str:
    """The machines on which the runs can be repeated, as methods and benchmarks declare."""
    methods: dict[str, set[str]] = {}
    for _, fragment in subject.fragments:
        methods.setdefault(str(fragment.provenance.get("repeatable", "the same machine")), set()).add(
            fragment.setup.method
        )
    if len(methods) == 1:
        return f"on {next(iter(methods))}"
    return "; ".join(f"on {place}: {_some(sorted(names))}" for place, names in sorted(methods.items()))


def _at(comparison: Comparison, at: float) -> str:
    return f"{at:,.0f} {comparison.curves.unit}" if at >= 100 else f"{at:.4g} {comparison.curves.unit}"


def _some(names: Sequence[str], most: int = _MOST) -> str:
    more = len(names) - most
    return listed(names) if more <= 0 else f"{', '.join(names[:most])}, and {number(more)} more"
