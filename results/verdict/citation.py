"""What a paper that uses a report should say: the protocol of the runs in sentences, and an entry for BibTeX."""

from __future__ import annotations

from nasbench.base.numbers import count, listed
from nasbench.base.repeatability import Repeatable
from nasbench.results.curves import Curves
from nasbench.results.scores import HIDDEN
from nasbench.results.subject import Subject


def protocol(subject: Subject) -> str:
    """The description of the experiment for every caption, in sentences."""
    curves = subject.curves
    benches = curves.settings["bench"].nunique()
    spaces = list(dict.fromkeys(curves.settings["space"]))
    constraints = set(curves.settings["constraint"]) - {"none"}
    under = f" under {count(len(constraints), 'constraint')}, where a benchmark has them" if constraints else ""
    of_equal_weight = " of equal weight" if len(spaces) > 1 else ""
    selected = f"A selection by hand: {subject.selection}. " if subject.selection else ""
    return (
        f"{curves.protocol}; {count(curves.seeds, 'seed')} ({_numbers(curves)}). {selected}"
        f"{count(len(curves.settings), 'setting')} of {count(benches, 'benchmark')}{under}. "
        f"{count(len(spaces), 'search space')}{of_equal_weight}: {listed(spaces)}. What is compared is the "
        f"{curves.compared.phrase}{not_hidden(curves)}. {version(subject)}."
    )


def not_hidden(curves: Curves) -> str:
    """For what share of the runs no repetition could be hidden, as a remark; empty where one was, or none is asked."""
    seen = 1 - curves.runs["hidden"].dropna().mean() if curves.compared is HIDDEN else 0.0
    return f" (in {100 * seen:.0f} % of the runs its only one)" if seen >= 0.005 else ""


def tests(subject: Subject) -> str:
    """What a significant difference is, in sentences; Wilcoxon's table and that of means have other tests."""
    tested = len(subject.comparison.overall.tested)
    if not tested:
        return "Nothing is tested: that takes at least five seeds in every setting of a pair."
    is_one = len(subject.curves.settings) == 1
    test = "Mann and Whitney's over seeds" if is_one else "t over seeds, stratified by setting"
    return (
        "Methods differ by the probability that a run of one is better than one of the other. The test is "
        f"{test}. Holm's correction is over {count(tested, 'pair')}, at {5 * subject.comparison.share:.3g} %: pairs "
        "have that much of the 5 % in which a report may err."
    )


def repeatable(subject: Subject) -> str:
    """Whether the same commands give the same bits, and where."""
    if origins := sorted({str(f.provenance.get("origin", "")) for _, f in subject.fragments if f.setup.is_elsewhere}):
        return f"Made elsewhere, so that nobody can compute it again here: {listed(origins)}."
    if any(f.setup.charge_thinking or f.provenance.get("repeatable") == "" for _, f in subject.fragments):
        return "Not repeatable bit for bit: clocks hold measured times."
    methods: dict[str, set[str]] = {}
    for _, fragment in subject.fragments:
        place = str(fragment.provenance.get("repeatable", "the same machine"))
        methods.setdefault(place, set()).add(fragment.setup.method)
    if {*methods} == {Repeatable.NEVER}:
        return "Not repeatable bit for bit: something decides that no seed fixes."
    by_place = [f"{place} ({listed(sorted(names))})" for place, names in sorted(methods.items())]
    where = next(iter(methods)) if len(methods) == 1 else "; ".join(by_place)
    return f"The same seeds on the same data give the same bits on {where}."


def version(subject: Subject) -> str:
    """The versions and commits of nasbench that made the runs: `nasbench 0.3.0, commit 0123456789ab`."""
    return f"nasbench {listed(versions(subject))}, commit {listed(commits(subject))}"


def bibtex(subject: Subject) -> str:
    """An entry for BibTeX; the year is that in which the last of the runs was computed."""
    year = max(run.ended[:4] for _, f in subject.fragments for run in f.runs)
    lines = (
        "title = {{nasbench}: comparing methods for neural-architecture search and hyper-parameter optimisation}",
        "author = {{The nasbench maintainers}}",
        f"version = {{{listed(versions(subject))}}}",
        *([f"year = {{{year}}}"] if year else []),
        f"note = {{commit {listed(commits(subject))}}}",
    )
    return "@software{nasbench,\n" + "".join(f"  {line},\n" for line in lines) + "}"


def commands(subject: Subject) -> list[str]:
    """The commands that compute the runs."""
    stores = {id(store): store for store, _ in subject.fragments}.values()
    return list(dict.fromkeys(str(plan["command"]) for store in stores for plan in store.plans()))


def versions(subject: Subject) -> list[str]:
    """The versions of nasbench that made the runs."""
    return sorted({str(f.provenance["versions"].get("nasbench", "unknown")) for _, f in subject.fragments})


def commits(subject: Subject) -> list[str]:
    """The beginnings of the commits that made the runs; `-dirty` if the code was changed."""
    every = {str(f.provenance["commit"] or "unknown") for _, f in subject.fragments}
    return sorted({commit[:12] + "-dirty" * commit.endswith("-dirty") for commit in every})


def _numbers(curves: Curves) -> str:
    """The first and the last number of a seed."""
    seeds = curves.runs["seed"]
    return f"{seeds.min()} to {seeds.max()}"
