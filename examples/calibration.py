"""How often the statements of a report are wrong, and what differences it can see: measured by simulation.

    python examples/calibration.py [--reports 500] [--runner 100] [--seed 0]

Part 1 simulates reports on methods that are alike. Layouts: families of so many benchmarks, constraints, seeds.
Models: I, all methods alike in law; B, the difference of two methods varies over benchmarks (sd 0.5 of a seed's) and
constraints (0.25); F, over families (0.5), their constraints (0.8), benchmarks (0.25) and their constraints (0.35).
Under B and F methods are alike on average over what could be drawn, and unlike on what was.
Part 2 makes reports on copies of one method that the real runner ran: random search on all embedded tables.
Part 3 finds the smallest difference that 20 seeds on 15 tables show in 80 % of reports.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Curves
from nasbench.results.parts import sentences
from nasbench.results.parts.claims import claims
from nasbench.results.statistics import targets
from nasbench.results.statistics.comparison import CONSTRAINTS_SHARE, Comparison
from nasbench.results.statistics.estimates import Tasks
from nasbench.results.statistics.improvement import places
from nasbench.results.statistics.verdicts import Field, Verdicts, corrected, judge

Array = NDArray[np.float64]

METHODS = ("c-tpe", "c-tpe-naive", "random", "tpe")
"""Names about which a paper claims something."""


@dataclass(frozen=True)
class Layout:
    """What a report has runs on."""

    families: tuple[int, ...]
    """Benchmarks of each family."""
    constraints: int
    seeds: int

    def nesting(self) -> tuple[Tasks, NDArray[np.intp]]:
        """Family and benchmark of each setting, ordered by family, benchmark and constraint; and its constraint."""
        bench = np.arange(sum(self.families))
        family = np.repeat(np.arange(len(self.families)), self.families)
        own = np.repeat(family, self.constraints), np.repeat(bench, self.constraints)
        return Tasks(*own), np.tile(np.arange(self.constraints), len(bench))

    def settings(self) -> pd.DataFrame:
        """One row per setting, as `Curves.settings` has them, in the same order."""
        rows = [
            {"family": f"f{f}", "bench": f"f{f}b{b}", "constraint": f"size@{c}"}
            for f, benches in enumerate(self.families)
            for b in range(benches)
            for c in range(self.constraints)
        ]
        nothing = {"score_oracle": np.nan, "score_worst": np.nan, "noise": np.nan, "feasible_share": np.nan}
        return pd.DataFrame(rows).assign(**nothing, oracle=0.0, worst=1e3, median=1.0)


LAYOUTS = {
    "a": Layout((3, 4, 8), 5, 30),
    "b": Layout((3, 9, 5, 7, 4), 3, 20),
    "c": Layout((3, 4, 8, 5, 3, 9, 4, 6), 3, 20),
    "d": Layout((3,), 1, 10),
    "e": Layout((1,), 1, 20),
    "f": Layout((3, 4, 8), 1, 5),
}
MODELS = {"I": (0.0, 0.0, 0.0, 0.0, 0.0), "B": (0.0, 0.0, 0.5, 0.0, 0.25), "F": (0.5, 0.8, 0.25, 0.35, 0.0)}
"""Standard deviations of the difference of two methods: family, its constraints, benchmark, its constraints, setting.

For B the constraint's part is drawn for each setting, so that settings of a benchmark differ."""


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
    def draw(cls, layout: Layout, model: str, methods: int, rng: np.random.Generator, effect: float = 0.0) -> World:
        """Tasks of a model; `effect` is what the first method is better by everywhere."""
        family, family_constraint, bench, bench_constraint, setting = (sd / np.sqrt(2) for sd in MODELS[model])
        blocks = []
        for benches in layout.families:
            own = rng.normal(0, family, methods) + rng.normal(0, family_constraint, (layout.constraints, methods))
            for _ in range(benches):
                shift = own + rng.normal(0, bench, methods)
                shift = shift + rng.normal(0, np.hypot(bench_constraint, setting), (layout.constraints, methods))
                blocks.append(shift)
        shifts = np.concatenate(blocks)
        shifts[:, 0] -= effect
        count = len(shifts)
        at_oracle = np.where(rng.random(count) < 0.3, rng.uniform(0.05, 0.25, count), 0.0)
        infeasible = np.where(rng.random(count) < 0.1, rng.uniform(0.02, 0.15, count), 0.0)
        return cls(*layout.nesting(), shifts, at_oracle, infeasible)

    def runs(self, seeds: int, rng: np.random.Generator) -> Array:
        """Objectives that runs end with, shape (settings, methods, seeds): 0 at the optimum, NaN for nothing."""
        shape = (*self.shifts.shape, seeds)
        noise = rng.standard_t(6, shape) / np.sqrt(1.5)
        found = 10.0 ** ((self.shifts[:, :, None] + noise) / 2 - 1)
        found[rng.random(shape) < self.at_oracle[:, None, None]] = 0.0
        found[rng.random(shape) < self.infeasible[:, None, None]] = np.nan
        return found


def report(settings: pd.DataFrame, values: Array) -> Comparison:
    """The analysis of runs that end with these values, shape (settings, methods, seeds)."""
    setting, method, seed = (index.ravel() for index in np.indices(values.shape))
    runs = pd.DataFrame({"setting": setting, "method": method, "seed": seed, "evaluations": 1, "failure": ""})
    ends = values.reshape(-1, 1)
    names = METHODS[: values.shape[1]]
    done = np.ones_like(ends)
    curves = Curves("1 evaluation", "observed", None, settings, names, runs, ends, ends, np.isfinite(ends), done)
    return Comparison(curves, 0, (1.0,))


def truth(world: World, rng: np.random.Generator, draws: int = 400) -> tuple[Array, Array]:
    """On these tasks: the probability that each method is better than each, and each one's expected rank."""
    settings, count = world.shifts.shape
    runs = np.sort(np.nan_to_num(world.runs(draws, rng), nan=np.inf), axis=2)
    weights = world.tasks.weights
    better = np.full((count, count), 0.5)
    for a, b in combinations(range(count), 2):
        own = np.empty(settings)
        for s in range(settings):
            below, upto = (np.searchsorted(runs[s, a], runs[s, b], side=side) for side in ("left", "right"))
            own[s] = (below + upto).mean() / 2 / draws
        better[a, b], better[b, a] = weights @ own, 1 - weights @ own
    return better, 0.5 + (1 - better).sum(axis=1)


def verdicts(world: World, seeds: int, rng: np.random.Generator) -> tuple[Verdicts, list[Verdicts]]:
    """The verdicts of a report on new runs in a world: on averages, and under each of several constraints."""
    runs = world.runs(seeds, rng)
    settings = len(runs)
    ranked = places(runs.reshape(settings, -1).T).T.reshape(runs.shape)
    every = np.arange(settings)
    own = Field(ranked, 1 + np.arange(ranked.size).reshape(ranked.shape), world.tasks)
    scopes = [every[world.constraint == c] for c in np.unique(world.constraint)]
    if len(scopes) == 1:
        return corrected([judge(own, every, 0)])[0], []
    under = corrected([judge(own, scope, 0) for scope in scopes], CONSTRAINTS_SHARE)
    return corrected([judge(own, every, 0)], 1 - CONSTRAINTS_SHARE)[0], under


def statements(overall: Verdicts, constraints: list[Verdicts], is_alike: bool) -> Iterator[tuple[str, bool]]:
    """What a report on methods that are alike marks, and whether it marks anything.

    Args:
        is_alike: they are so on the listed tasks, not only on average over what could be drawn.
    """
    single = [pair for own in constraints for pair in own.pairs.values()]
    marked = any(pair.verdict for pair in overall.pairs.values())
    if is_alike:
        yield "a pair marked", marked
        if single:
            yield "a pair marked under one constraint", any(pair.verdict for pair in single)
            yield "any mark for these benchmarks", marked or any(pair.verdict for pair in single)
    if overall.unit:
        yield "a pair marked for tasks like these", any(pair.verdict_alike for pair in overall.pairs.values())
        if single:
            yield "the same under one constraint", any(pair.verdict_alike for pair in single)


def words(comparison: Comparison) -> Iterator[tuple[str, bool]]:
    """What the sentences and claims of a report on methods that are alike say, and whether it is false."""
    yield "a first named", any(" is first" in text for text in sentences.answer(comparison))
    yield "a claim decided", claims(comparison, workers=1)["verdict"].isin(["supported", "reversed"]).any()


def coverage(overall: Verdicts, better: Array, ranks: Array) -> Iterator[tuple[str, bool]]:
    """Whether intervals hold what is true on the listed tasks, and 1/2 and the middle rank on tasks like these."""
    count = len(overall.ranks)
    for (a, b), pair in overall.pairs.items():
        low, high = pair.here.interval()
        yield "probability, here", low <= better[a, b] <= high
        if overall.unit:
            low, high = pair.alike.interval()
            yield "probability, alike", low <= 0.5 <= high
    for rank in overall.ranks:
        low, high = rank.here.interval(1.0, count)
        yield "rank, here", low <= ranks[rank.method] <= high
        if overall.unit:
            low, high = rank.alike.interval(1.0, count)
            yield "rank, alike", low <= (count + 1) / 2 <= high


def interquartile(comparison: Comparison) -> bool:
    """Whether the interval of a difference of interquartile means holds 0, of two methods that are alike."""
    found = targets.table(comparison)
    assert found is not None
    low, high = targets.jackknife(
        found.final[:2], lambda v: targets.interquartile_mean(v[0]) - targets.interquartile_mean(v[1])
    ).interval(-1.0)
    return low <= 0 <= high


def simulate(layout: Layout, model: str, reports: int, seed: int) -> dict[str, tuple[int, int]]:
    """How often each statement was false, and each interval held: (times, of so many).

    Sentences, claims and interquartile means are asked of every other report.
    """
    rng = np.random.default_rng([seed, sum(map(ord, model)), *layout.families, layout.seeds])
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number in range(reports):
        world = World.draw(layout, model, len(METHODS), rng)
        better, ranks = truth(world, rng) if model != "I" else (np.full((4, 4), 0.5), np.full(4, 2.5))
        overall, constraints = verdicts(world, layout.seeds, rng)
        found = [*statements(overall, constraints, model == "I"), *coverage(overall, better, ranks)]
        if model == "F" and len(layout.families) == 1:  # one family is not what families are like on average
            found = [(name, is_so) for name, is_so in found if "alike" not in name and "like these" not in name]
        if model == "I" and number % 2 == 0:
            whole = report(layout.settings(), world.runs(layout.seeds, rng))
            found += [*words(whole), ("difference of interquartile means", interquartile(whole))]
        for name, is_so in found:
            counts[name][0] += bool(is_so)
            counts[name][1] += 1
    return {name: (times, total) for name, (times, total) in counts.items()}


def power(effect: float, model: str, reports: int, seed: int) -> tuple[float, dict[str, float]]:
    """Mean probability of improvement of an effect on 15 tables with 20 seeds, and how often it is seen."""
    layout = Layout((3, 4, 8), 1, 20)
    rng = np.random.default_rng([seed, round(1000 * effect)])
    seen: dict[str, int] = defaultdict(int)
    values = []
    for _ in range(reports):
        world = World.draw(layout, model, 2, rng, effect)
        (pair,) = verdicts(world, layout.seeds, rng)[0].pairs.values()
        values.append(pair.here.value)
        for name, estimate in (("here", pair.here), ("alike", pair.alike)):
            seen[f"{name}, 1 pair"] += estimate.p() < 0.05 and estimate.value > 0.5
            seen[f"{name}, 21 pairs"] += estimate.p() < 0.05 / 21 and estimate.value > 0.5
    names = ("here, 1 pair", "here, 21 pairs", "alike, 1 pair", "alike, 21 pairs")
    return float(np.mean(values)), {name: seen[name] / reports for name in names}


def copies(reports: int, seeds: int = 20, evals: int = 30) -> Iterator[Comparison]:
    """Reports on four copies of random search, each with seeds of its own, by the real runner on embedded tables."""
    from nasbench.benchmarks import parse_constraints
    from nasbench.cli.engine.plan import Grid, Protocol, expand, open_benchmark
    from nasbench.cli.engine.runner import run
    from nasbench.methods import MethodSpec

    benches = tuple(f"nb201-{name}" for name in ("cifar10", "cifar100", "imagenet16"))
    benches += tuple(f"hpolib-{name}" for name in ("naval", "parkinsons", "protein", "slice"))
    benches += tuple(
        f"hpobench-{n}" for n in ["australian", "blood", "car", "credit", "kc1", "phoneme", "segment", "vehicle"]
    )
    constraints = tuple(parse_constraints([text]) for text in ("none", "train_time@0.1", "train_time@0.5"))
    spec = MethodSpec.parse("random")
    planned = expand([Grid((spec,), benches, constraints, (0,), Protocol(evals=evals, workers=4))])
    settings = pd.DataFrame(
        [{"bench": p.cell.bench, "constraint": p.cell.constraint} | vars(p.cell.setting) for p in planned]
    )
    numbers = ["oracle", "worst", "score_oracle", "score_worst", "feasible_share", "median", "noise"]
    settings[numbers] = settings[numbers].astype(float)
    every = []
    for p in planned:
        benchmark = open_benchmark(p.cell.bench)
        bounds = benchmark.bounds(next(c for c in constraints if _label(c) == p.cell.constraint))
        ends = []
        for seed in range(reports * len(METHODS) * seeds):
            columns = run(p.cell, seed, spec, benchmark, bounds).columns
            best = np.where(columns["feasible"], columns["objective"], np.inf)
            row = int(np.argmin(best))
            good = np.isfinite(best[row]) and columns["score_feasible"][row]
            ends.append(columns["score"][row] if good else np.nan)
        every.append(np.reshape(ends, (reports, len(METHODS), seeds)))
    for number in range(reports):
        yield report(settings, np.stack([own[number] for own in every]))


def _label(constraints: object) -> str:
    from nasbench.benchmarks.constraints import label

    return label(constraints)  # type: ignore[arg-type]


def main() -> None:
    """Prints every rate with what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=500, help="simulated reports of each layout and model")
    parser.add_argument("--runner", type=int, default=100, help="reports on copies of random search")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| statement or interval | model |", " | ".join(LAYOUTS), "|\n|---|---|" + "---|" * len(LAYOUTS), flush=True)
    for model in MODELS:
        found = {name: simulate(layout, model, asked.reports, asked.seed) for name, layout in LAYOUTS.items()}
        for statement in dict.fromkeys(name for own in found.values() for name in own):
            rates = [f"{t[0] / t[1]:.3f}" if (t := own.get(statement)) else "-" for own in found.values()]
            print(f"| {statement} | {model} |", " | ".join(rates), "|", flush=True)
    if asked.runner:
        counts: dict[str, int] = defaultdict(int)
        for own in copies(asked.runner):
            under = [*own.by_constraint.values()]
            for name, is_false in (*statements(own.overall, under, True), *words(own)):
                counts[name] += bool(is_false)
        for name, times in counts.items():
            print(f"| {name} | copies of random search | {times / asked.runner:.3f} |", flush=True)
    print(
        "\n| effect (sd of a seed) | probability | model | here, 1 pair | here, 21 | alike, 1 | alike, 21 |", flush=True
    )
    for model in ("I", "B", "F"):
        for effect in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.8, 1.2):
            value, seen = power(effect, model, asked.reports, asked.seed)
            print(
                f"| {effect:g} | {value:.3f} | {model} |",
                " | ".join(f"{v:.2f}" for v in seen.values()),
                "|",
                flush=True,
            )


if __name__ == "__main__":
    main()
