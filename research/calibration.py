"""How often the statements of a report are wrong, and what differences it can see: measured by simulation.

    python -m research.calibration [--reports 600] [--runner 60] [--quick STORE] [--seed 0]

Part 1 simulates reports on methods that are equal. Layouts: spaces of families of benchmarks, constraints, seeds.
Models of the difference of two methods: I, none (methods identical in law); B, it varies over benchmarks (sd 0.5 of a
seed's) and constraints (0.25); F, over families (0.5), their constraints (0.8), benchmarks (0.25) and their constraints
(0.35); S3 and S6, as F with families that share a space by an intraclass correlation of 0.3 and 0.6. Under all but I
methods are equal on average over what could be drawn, and unequal on what was.
Part 2 asks of methods that are not equivalent how often they are called that, and of equal ones how often reports on
one table beside many of another space mark a pair.
Part 3 makes reports on copies of one method that the real runner ran: many methods, one table, two spaces, missing
runs, unequal seeds, budgets in seconds, hardly anything feasible, trainings in parts, two objectives.
Part 4 finds how many pairs of a store of suite `quick` are significant with fewer seeds, by the rules of 0.2.0 and by
these.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from nasbench.results.curves import Curves
from nasbench.results.literature import Literature
from nasbench.results.parts.claims import claims
from nasbench.results.parts.settings import within
from nasbench.results.scores import OBSERVED
from nasbench.results.statistics import targets
from nasbench.results.statistics.comparison import CLAIMS, CONSTRAINTS, SETTINGS, Comparison
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.improvement import places, seed_scores
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field
from nasbench.results.statistics.verdicts import EQUIVALENT, Verdicts, corrected, judge
from nasbench.results.verdict.headline import headline

Array = NDArray[np.float64]

PAPERS = Literature.read(Path(__file__).parents[1] / "suites" / "claims").claims
METHODS = ("c-tpe", "c-tpe-naive", "random", "tpe", *(f"method{i}" for i in range(4, 15)))
"""Names; about the first ones a paper claims something."""


@dataclass(frozen=True)
class Layout:
    """What a report has runs on."""

    spaces: tuple[tuple[int, ...], ...]
    """Benchmarks of each family of each space."""
    constraints: int
    seeds: int

    def settings(self) -> pd.DataFrame:
        """One row per setting, as `Curves.settings` has them, ordered by space, family, benchmark and constraint."""
        rows = [
            {"space": f"s{s}", "family": f"s{s}f{f}", "bench": f"s{s}f{f}b{b}", "constraint": f"size@{c}"}
            for s, families in enumerate(self.spaces)
            for f, benches in enumerate(families)
            for b in range(benches)
            for c in range(self.constraints)
        ]
        nothing = {"score_oracle": np.nan, "score_worst": np.nan, "noise": np.nan, "feasible_share": np.nan}
        return pd.DataFrame(rows).assign(**nothing, oracle=0.0, worst=1e3, median=1.0, unit="", objective="loss")

    def tasks(self) -> Tasks:
        """The nesting of the settings."""
        names = self.settings()
        return Tasks(*(pd.factorize(names[level])[0].astype(np.intp) for level in ("space", "family", "bench")))


QUICK = ((3,), (4,), (8,), (3, 3, 2, 1))
LAYOUTS = {
    "a": Layout(((3,), (4,), (8,)), 5, 30),
    "b": Layout(((3,), (9,), (5,), (7,), (4,)), 3, 20),
    "c": Layout(((3,), (4,), (8,), (5,), (3,), (9,), (4,), (6,)), 3, 20),
    "d": Layout(((3,),), 1, 10),
    "e": Layout(((1,),), 1, 20),
    "f": Layout(((3,), (4,), (8,)), 1, 5),
    "q": Layout(QUICK, 2, 30),
    "w": Layout(((3,), (4,)), 1, 10),
}
MODELS = {
    "I": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "B": (0.0, 0.0, 0.0, 0.5, 0.0, 0.25),
    "F": (0.5, 0.8, 0.0, 0.25, 0.35, 0.0),
    "S3": (0.5, 0.8, 0.3, 0.25, 0.35, 0.0),
    "S6": (0.5, 0.8, 0.6, 0.25, 0.35, 0.0),
}
"""Standard deviations of the difference of two methods: family, its constraints; the share of both variances that is
the space's; benchmark, its constraints, setting."""


@dataclass(frozen=True)
class World:
    """Methods on drawn tasks: shift of each in each setting, and what else happens there."""

    tasks: Tasks
    constraint: NDArray[np.intp]
    """Its number in each setting."""
    shifts: Array
    """Shape (settings, methods), in standard deviations of a seed's noise; lower is better."""
    at_oracle: Array
    """Share of runs that find the optimum, shape (settings,)."""
    infeasible: Array
    """Share of runs that find nothing feasible, same shape."""

    @classmethod
    def draw(cls, layout: Layout, model: str, methods: int, rng: np.random.Generator) -> World:
        """Tasks of a model."""
        sds = [sd / np.sqrt(2) for sd in MODELS[model]]  # of a method, where those of a difference are given
        family, by_constraint, _, bench, bench_constraint, setting = sds
        share = MODELS[model][2]
        blocks = []
        for families in layout.spaces:
            shape = (1 + layout.constraints, methods)
            common = rng.normal(size=shape) * np.sqrt(share)
            for benches in families:
                own = common + rng.normal(size=shape) * np.sqrt(1 - share)
                effect = family * own[0] + by_constraint * own[1:]
                for _ in range(benches):
                    shift = effect + rng.normal(0, bench, methods)
                    noise = rng.normal(0, np.hypot(bench_constraint, setting), (layout.constraints, methods))
                    blocks.append(shift + noise)
        shifts = np.concatenate(blocks)
        count = len(shifts)
        at_oracle = np.where(rng.random(count) < 0.3, rng.uniform(0.05, 0.25, count), 0.0)
        infeasible = np.where(rng.random(count) < 0.1, rng.uniform(0.02, 0.15, count), 0.0)
        constraint = np.tile(np.arange(layout.constraints), count // layout.constraints)
        return cls(layout.tasks(), constraint, shifts, at_oracle, infeasible)

    def runs(self, seeds: int, rng: np.random.Generator) -> Array:
        """Objectives that runs end with, shape (settings, methods, seeds): 0 at the optimum, NaN for nothing."""
        shape = (*self.shifts.shape, seeds)
        noise = rng.standard_t(6, shape) / np.sqrt(1.5)
        found: Array = 10.0 ** ((self.shifts[:, :, None] + noise) / 2 - 1)
        found[rng.random(shape) < self.at_oracle[:, None, None]] = 0.0
        found[rng.random(shape) < self.infeasible[:, None, None]] = np.nan
        return found


def report(settings: pd.DataFrame, values: Array, kept: NDArray[np.bool_] | None = None) -> Comparison:
    """The analysis of runs that end with some values, shape (settings, methods, seeds).

    Args:
        kept: which of them there are, same shape; by default all.
    """
    setting, method, seed = np.nonzero(np.ones(values.shape, bool) if kept is None else kept)
    runs = pd.DataFrame({"setting": setting, "method": method, "seed": seed, "evaluations": 1, "failure": ""})
    ends = values[setting, method, seed][:, None]
    names = METHODS[: values.shape[1]]
    worth = {OBSERVED.name: ends}
    curves = Curves("1 evaluation", OBSERVED, None, settings, names, runs, worth, np.isfinite(ends), np.ones_like(ends))
    return Comparison(curves, 0, (1.0,))


def field(values: Array, tasks: Tasks) -> Field:
    """Such runs as verdicts see them."""
    ranked = places(values.reshape(len(values), -1).T).T.reshape(values.shape)
    return Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), tasks)


def verdicts(world: World, seeds: int, rng: np.random.Generator) -> tuple[Verdicts, list[Verdicts]]:
    """The verdicts of a report on new runs in a world: on averages, and under each of several constraints."""
    own, every = field(world.runs(seeds, rng), world.tasks), np.arange(len(world.shifts))
    scopes = [every[world.constraint == c] for c in np.unique(world.constraint)]
    share = 1 - CLAIMS - SETTINGS * (len(every) > 1) - CONSTRAINTS * (len(scopes) > 1)
    overall = corrected([judge(own, every, 0)], share)[0]
    return overall, corrected([judge(own, s, 0) for s in scopes], CONSTRAINTS) if len(scopes) > 1 else []


def truth(world: World, rng: np.random.Generator, draws: int = 400) -> Array:
    """On these tasks: the probability in each setting that each method is better than each."""
    settings, count = world.shifts.shape
    runs = np.sort(np.nan_to_num(world.runs(draws, rng), nan=np.inf), axis=2)
    better = np.full((settings, count, count), 0.5)
    for a, b in combinations(range(count), 2):
        for s in range(settings):
            below, upto = (np.searchsorted(runs[s, a], runs[s, b], side=side) for side in ("left", "right"))
            better[s, a, b] = (below + upto).mean() / 2 / draws
        better[:, b, a] = 1 - better[:, a, b]
    return better


def marked(overall: Verdicts, constraints: Sequence[Verdicts], are_identical: bool) -> Iterator[tuple[str, bool]]:
    """What a report marks, where that is false.

    Args:
        are_identical: the methods are identical in law, not only equal on average over what could be drawn.
    """
    single = [pair for own in constraints for pair in own.pairs.values()]
    if are_identical:
        yield "a pair", any(pair.verdict for pair in overall.pairs.values())
        if single:
            yield "a pair under one constraint", any(pair.verdict for pair in single)
    if overall.unit:
        yield "a pair on new tasks", any(pair.verdict_new for pair in (*overall.pairs.values(), *single))


def said(comparison: Comparison) -> Iterator[tuple[str, bool]]:
    """What the rest of a report on identical methods says, and whether it is false."""
    yield "a first", " is first" in headline(comparison)
    judged = claims(comparison, PAPERS, workers=1)
    yield "a claim", bool(len(judged)) and bool(judged["verdict"].isin(["supported", "reversed"]).any())
    table = within(comparison)
    if table is not None:
        yield "a single setting", bool(table.shown["better"].str.contains("*", regex=False).any())


def coverage(overall: Verdicts, tasks: Tasks, better: Array, of_family: bool) -> Iterator[tuple[str, bool]]:
    """Whether intervals hold what is true on these tasks, and one half and the middle rank on new ones.

    Args:
        better: as `truth` returns it.
        of_family: the layout is a sample of tasks, on which methods are equal on average.
    """
    count = len(overall.ranks)
    mean = np.einsum("s,sab->ab", tasks.weights, better)
    ranks = 0.5 + (1 - mean).sum(axis=1)
    together, equivalent = True, False
    for (a, b), pair in overall.pairs.items():
        low, high = pair.these.interval()
        yield "probability, these", low <= mean[a, b] <= high
        low, high = pair.interval
        together &= low - 1e-9 <= mean[a, b] <= high + 1e-9
        low, high = EQUIVALENT
        inside = (low - 0.01 <= tasks.by_space(better[:, a, b])) & (tasks.by_space(better[:, a, b]) <= high + 0.01)
        equivalent |= bool(pair.is_equivalent and not inside.all())
        if overall.unit and of_family:
            low, high = pair.new.interval()
            yield "probability, new", low <= 0.5 <= high
    yield "all probabilities together, these", together
    yield "false equivalence", equivalent
    for rank in overall.ranks:
        low, high = rank.these.interval(1.0, count)
        yield "rank, these", low <= ranks[rank.method] <= high
        if overall.unit and of_family:
            low, high = rank.new.interval(1.0, count)
            yield "rank, new", low <= (count + 1) / 2 <= high


def interquartile(comparison: Comparison) -> bool:
    """Whether the interval of a difference of interquartile means holds 0, of two identical methods."""
    found = targets.table(comparison)
    assert found is not None
    low, high = targets.jackknife(
        found.final[:2], lambda v: targets.interquartile_mean(v[0]) - targets.interquartile_mean(v[1])
    ).interval(-1.0)
    return low <= 0 <= high


def simulate(layout: Layout, model: str, reports: int, seed: int, methods: int = 4) -> dict[str, tuple[int, int]]:
    """How often each statement was false, and each interval held: (times, of how many).

    What costs time (sentences, claims, single settings) is asked of every fourth report.
    """
    rng = np.random.default_rng([seed, *map(ord, model), len(layout.spaces), layout.seeds])
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    settings = layout.settings()
    for number in range(reports):
        world = World.draw(layout, model, methods, rng)
        shape = (len(world.shifts), methods, methods)
        better = truth(world, rng) if model != "I" else np.full(shape, 0.5)
        overall, constraints = verdicts(world, layout.seeds, rng)
        is_sample = model in ("I", "B") or len(layout.spaces) > 1
        found = [*marked(overall, constraints, model == "I"), *coverage(overall, world.tasks, better, is_sample)]
        if not is_sample:
            found = [(name, is_so) for name, is_so in found if "new" not in name]
        if model == "I" and number % 4 == 0:
            whole = report(settings, world.runs(layout.seeds, rng))
            under = [] if len(whole.by_constraint) == 1 else [*whole.by_constraint.values()]
            more = [*marked(whole.overall, under, True), *said(whole)]
            found += [*said(whole), ("anything", any(is_false for _, is_false in more))]
            found.append(("difference of interquartile means", interquartile(whole)))
        for name, is_so in found:
            counts[name][0] += bool(is_so)
            counts[name][1] += 1
    return {name: (times, total) for name, (times, total) in counts.items()}


LOPSIDED = ((40, 4, 10), (40, 8, 10), (40, 8, 20), (12, 8, 10), (12, 15, 10))
"""Tables of the second space beside one of the first, methods, seeds."""


def beside_one(many: int, methods: int, seeds: int, reports: int, seed: int) -> float:
    """Share of reports on equal methods that mark a pair where one table has half of the weight."""
    rng, layout = np.random.default_rng(seed), Layout(((1,), (many,)), 1, seeds)
    tasks, every, times = layout.tasks(), np.arange(1 + many), 0
    for _ in range(reports):
        own = field(rng.normal(size=(len(every), methods, seeds)), tasks)
        (overall,) = corrected([judge(own, every, 0)], 1 - CLAIMS - SETTINGS)
        times += any(pair.verdict for pair in overall.pairs.values())
    return times / reports


def called_equivalent(probabilities: Sequence[float], reports: int, seed: int, methods: int = 8) -> float:
    """Share of reports that call the first pair equivalent; for each probability a space of five tables, 10 seeds."""
    rng = np.random.default_rng(seed)
    layout = Layout(tuple((5,) for _ in probabilities), 3, 10)
    shifts = np.repeat(np.sqrt(2) * stats.norm.ppf(probabilities), 15)
    times = 0
    for _ in range(reports):
        values = rng.normal(size=(len(shifts), methods, layout.seeds))
        values[:, 0] -= shifts[:, None]
        values[:, 2:] += 3 * np.arange(1, methods - 1)[:, None]  # the other pairs differ clearly
        (overall,) = corrected([judge(field(values, layout.tasks()), np.arange(len(shifts)), 0)])
        times += overall.pairs[0, 1].is_equivalent
    return times / reports


@dataclass(frozen=True)
class Case:
    """A kind of report on copies of one method."""

    name: str
    benches: tuple[str, ...]
    constraints: tuple[str, ...]
    methods: int
    seeds: int
    evals: int | None = 30
    seconds: float | None = None
    drop: Callable[[tuple[int, ...], np.random.Generator], NDArray[np.bool_]] | None = None
    """Which runs there are, of a shape (settings, methods, seeds)."""
    method: str = "random"
    """The method of which there are copies."""
    objectives: tuple[str, ...] = ()
    """Several objectives, whose share of the hypervolume is compared; empty for one."""


NB201 = ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16")
HPOLIB = tuple(f"hpolib-{name}" for name in ("naval", "parkinsons", "protein", "slice"))
HPOBENCH = tuple(
    f"hpobench-{n}" for n in ("australian", "blood", "car", "credit", "kc1", "phoneme", "segment", "vehicle")
)
SEVEN, ALL = (*NB201, *HPOLIB), (*NB201, *HPOLIB, *HPOBENCH)
LEARNERS = ("sk-boosting-cancer", "sk-boosting-digits", "sk-boosting-wine", "sk-forest-digits", "sk-forest-wine")
TIMES = ("none", "train_time@0.1", "train_time@0.5")
CASES = (
    Case("8 methods, 15 tables, 10 seeds", ALL, TIMES, 8, 10),
    Case("8 methods, 15 tables, 5 seeds", ALL, TIMES, 8, 5),
    Case("4 methods, 15 tables, 30 seeds", ALL, TIMES, 4, 30),
    Case("15 methods, 3 tables, 10 seeds", NB201, TIMES, 15, 10),
    Case("8 methods, one table, 10 seeds", NB201[:1], TIMES[:1], 8, 10),
    Case("15 methods, one table, 20 seeds", HPOLIB[:1], TIMES[:1], 15, 20),
    Case("8 methods, one table, 3 constraints, 10 seeds", HPOLIB[:1], TIMES, 8, 10),
    Case("8 methods, two spaces, 10 seeds", (*NB201[:1], *HPOLIB[:1]), TIMES, 8, 10),
    Case(
        "8 methods, a tenth of the runs missing", (*NB201, *HPOLIB), TIMES, 8, 12, drop=lambda s, r: r.random(s) < 0.9
    ),
    Case(
        "8 methods, 6 to 20 seeds",
        SEVEN,
        TIMES,
        8,
        20,
        drop=lambda s, r: np.arange(s[2]) < r.integers(6, 21, s[:2])[:, :, None],
    ),
    Case("8 methods, equal seconds", HPOLIB, TIMES, 8, 10, None, 2000.0),
    Case("8 methods, hardly anything feasible", SEVEN, ("train_time@0.01", "train_time@0.05"), 8, 10),
    Case("8 methods, trainings in parts (copies of Hyperband)", LEARNERS, TIMES, 8, 10, method="hyperband"),
    Case(
        "8 methods, two objectives, 3 tables, 10 seeds",
        NB201,
        ("none", "model_size@0.1"),
        8,
        10,
        objectives=("x-valid-error", "train_time"),
    ),
)


def copies(case: Case, reports: int, first: int = 0) -> Iterator[Comparison]:
    """Reports on copies of a method, each with different seeds, by the real runner on embedded tables."""
    from nasbench.benchmarks import open_benchmark, parse_constraints
    from nasbench.benchmarks.constraints import label
    from nasbench.cli.engine.loop import run
    from nasbench.cli.engine.plan import Grid, Protocol, expand
    from nasbench.methods import MethodSpec
    from nasbench.results.store.trajectory import HYPERVOLUME, NUMBERS

    parsed = {label(own): own for own in (tuple(parse_constraints([text])) for text in case.constraints)}
    spec = MethodSpec.parse(case.method)
    protocol = Protocol(case.evals, case.seconds, workers=4)
    grid = Grid((spec,), case.benches, tuple(parsed.values()), (0,), protocol, case.objectives)
    planned = expand([grid])
    settings = pd.DataFrame(
        [{"bench": p.setup.bench, "constraint": p.setup.constraint} | vars(p.setup.setting) for p in planned]
    )
    settings[[*NUMBERS]] = settings[[*NUMBERS]].astype(float)
    every = []
    for p in planned:
        benchmark, ends = open_benchmark(p.setup.bench), []
        for seed in range(first, first + reports * case.methods * case.seeds):
            columns = run(p.setup, seed, spec, benchmark, p.bounds).columns
            hidden, feasible = columns["hidden"], columns["hidden_feasible"]
            if case.objectives:
                ends.append(1 - columns["metrics"][-1, p.setup.metrics.index(HYPERVOLUME)])
            else:
                ends.append(hidden[-1] if len(hidden) and feasible[-1] else np.nan)
        every.append(np.reshape(ends, (reports, case.methods, case.seeds)))
    rng = np.random.default_rng(0)
    for number in range(reports):
        values = np.stack([own[number] for own in every])
        yield report(settings, values, None if case.drop is None else case.drop(values.shape, rng))


def earlier(values: Array, weights: Array, share: float) -> int:
    """Pairs that the rules of 0.2.0 tell apart: t over seeds that are averaged over settings, Holm."""
    settings, methods, seeds = values.shape
    ranked = places(values.reshape(settings, -1).T).T.reshape(values.shape)
    p_values = []
    for a, b in combinations(range(methods), 2):
        own = weights @ seed_scores(ranked[:, a], ranked[:, b])
        squares = max(float(np.sum((own - own.mean()) ** 2)), 0.5 * float(np.sum(weights**2)))
        error = np.sqrt(squares / (seeds * (seeds - 1)))
        p_values.append(2 * special.stdtr(seeds - 1, -abs(own.mean() - 0.5) / error))
    return int(np.sum(holm(np.array(p_values)) / share < 0.05))


def power(store: Path) -> Iterator[tuple[int, int, int]]:
    """Seeds, and the pairs that are significant with the first ones: by the rules of 0.2.0, and by these."""
    from nasbench.results import Store
    from nasbench.results.reading import load, select

    curves = load(select([Store.open(store)]))
    for seeds in (5, 10, 20, 30):
        kept = curves.runs["seed"].to_numpy() < seeds
        some = replace(
            curves,
            runs=curves.runs[kept].reset_index(drop=True),
            by_score={name: own[kept] for name, own in curves.by_score.items()},
            feasible=curves.feasible[kept],
            finished=curves.finished[kept],
        )
        comparison = Comparison(some, 0, (some.end,))
        values = np.full((len(some.settings), len(some.methods), seeds), np.nan)
        ends = some.at((some.end,))[:, 0]
        values[some.runs["setting"], some.runs["method"], some.runs["seed"]] = ends
        was = earlier(values, comparison.field.tasks.weights, 0.8)
        yield seeds, was, sum(pair.verdict != 0 for pair in comparison.overall.tested)


def main() -> None:
    """Prints every rate as tables of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=600, help="simulated reports of each layout and model")
    parser.add_argument("--runner", type=int, default=60, help="reports of each kind on copies of one method")
    parser.add_argument("--quick", type=Path, help="a store of suites/quick.toml, for part 4")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.reports:
        print(
            "| statement or interval | model |", " | ".join(LAYOUTS), "|\n|---|---|" + "---|" * len(LAYOUTS), flush=True
        )
    for model in MODELS if asked.reports else ():
        shared = [name for name, layout in LAYOUTS.items() if model[0] != "S" or name == "q"]
        found = {name: simulate(LAYOUTS[name], model, asked.reports, asked.seed) for name in shared}
        for statement in dict.fromkeys(name for own in found.values() for name in own):
            rates = [f"{t[0] / t[1]:.3f}" if (t := found.get(name, {}).get(statement)) else "-" for name in LAYOUTS]
            print(f"| {statement} | {model} |", " | ".join(rates), "|", flush=True)
    if asked.reports:
        print("\n| probability in each space | called equivalent |\n|---|---|")
        for probabilities in ((0.55,) * 4, (0.7, 0.7, 0.7, 0.35, 0.35, 0.35, 0.35), (0.5,) * 4):
            rate = called_equivalent(probabilities, asked.reports, asked.seed)
            print(f"| {', '.join(f'{p:g}' for p in probabilities)} | {rate:.3f} |", flush=True)
        print("\n| tables beside one of another space | methods | seeds | mark a pair |\n|---|---|---|---|")
        for sizes in LOPSIDED:
            rate = beside_one(*sizes, asked.reports, asked.seed)
            print("|", " | ".join(map(str, sizes)), f"| {rate:.3f} |", flush=True)
    if asked.runner:
        print("\n| copies of random search, or of Hyperband | reports | a pair | anything |\n|---|---|---|---|")
        total: dict[str, int] = defaultdict(int)
        for case in CASES:
            times: dict[str, int] = defaultdict(int)
            for own in copies(case, asked.runner):
                under = [] if len(own.by_constraint) == 1 else [*own.by_constraint.values()]
                false = [*marked(own.overall, under, True), *said(own)]
                times["a pair"] += any(is_false for name, is_false in false if name == "a pair")
                times["anything"] += any(is_false for _, is_false in false)
            for name in ("a pair", "anything"):
                total[name] += times[name]
            pair, anything = times["a pair"] / asked.runner, times["anything"] / asked.runner
            print(f"| {case.name} | {asked.runner} | {pair:.3f} | {anything:.3f} |", flush=True)
        every = asked.runner * len(CASES)
        print(f"| together | {every} | {total['a pair'] / every:.3f} | {total['anything'] / every:.3f} |", flush=True)
    if asked.quick:
        print("\n| seeds | pairs significant, 0.2.0 | now |\n|---|---|---|")
        for seeds, was, now in power(asked.quick):
            print(f"| {seeds} | {was} | {now} |", flush=True)


if __name__ == "__main__":
    main()
