"""Our speed beside a peer's, measured in this one process: ratios, which travel better than seconds."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import with_extra
from nasbench.base.layout import table
from nasbench.base.streams import say
from nasbench.benchmarks import Benchmark, UsageError, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.pool import convolutional
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.example import figure_4
from nasbench.benchmarks.spaces.views import AsGraph
from nasbench.cli.engine.batches import trajectory_of
from nasbench.cli.engine.evaluations import is_feasible
from nasbench.cli.engine.executors.serial import Serial
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.engine.work import Work
from nasbench.cli.speed import _levels
from nasbench.cli.speed import training as training_speed
from nasbench.cli.speed.sizes import USUAL, Sizes
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.results import Store

if TYPE_CHECKING:
    from nasbench.methods.nasbot.otmann import Encoded

_MOST_NASBOT = 100  # observations after which NASBOT's suggestions are timed: later ones take a second
_BENCH = "nb201-cifar10"
_MOST_OPTUNA = 200  # observations: beyond them it takes minutes
_SETUPS, _FEW_EVALUATIONS = 5, 30  # of the report on many seeds
_TPES = ["c-tpe", "c-tpe-naive", "tpe"]

Array: TypeAlias = NDArray[np.float64]


def main(sizes: Sizes = USUAL) -> None:
    """Prints how fast we are, part by part; what cannot be measured here says why."""
    run_speed(sizes)
    _levels.main(sizes)
    suggestion_speed(sizes)
    language_speed(sizes)
    distance_speed(sizes)
    if importlib.util.find_spec("torch"):
        try:
            training_speed.main(sizes)
        except UsageError as error:
            say(f"No training: {error}")
    else:
        say(f"No training: PyTorch is not installed ({with_extra('live')}).")
    report_speed(sizes)
    many_seeds_speed(sizes)
    for arguments in (["--help"], ["list"]):
        command = [sys.executable, "-m", "nasbench", *arguments]
        seconds = timed(partial(subprocess.run, command, check=True, capture_output=True), sizes)
        say(f"nasbench {arguments[0]}: {seconds:.2f} s")
    say(f"peak memory of a run on the largest table (hpolib-slice): {peak_memory(sizes)} MB")


def run_speed(sizes: Sizes) -> None:
    """Evaluations per second of our runs, store included, and of the peer that is installed."""
    rows = [("what", "evaluations/s", "µs each", "beside Optuna")]
    peer = _peer(sizes)
    if peer is not None:
        rows.append(("Optuna RandomSampler, in-memory storage, 1 worker", f"{peer:,.0f}", f"{1e6 / peer:.1f}", "1x"))
    for method, constraint, workers in (
        ("random", "none", 1),
        ("random", "none", 4),
        ("random", "model_size@0.1", 1),
        ("evolution", "none", 1),
        ("evolution", "model_size@0.1", 4),
    ):
        speed = _ours(method, constraint, workers, sizes)
        ratio = f"{speed / peer:,.0f}x" if peer is not None else "-"
        label = f"{method}, {constraint}, {workers} worker{'s' if workers > 1 else ''}, runner and store"
        rows.append((label, f"{speed:,.0f}", f"{1e6 / speed:.1f}", ratio))
    say(f"{_BENCH}, runs of {sizes.evaluations} evaluations, one core, median of {sizes.repeats}")
    say(table(rows))
    if peer is None:
        say(f"No peer: Optuna is not installed ({with_extra('peers')}).")


def _ours(method: str, constraint: str, workers: int, sizes: Sizes) -> float:
    """Evaluations per second of many runs through the runner and onto the disk."""
    protocol = Protocol(evals=sizes.evaluations, workers=workers)
    constraints = (parse_constraints([constraint]),)
    planned = expand([Grid((MethodSpec.parse(method),), (_BENCH,), constraints, tuple(range(sizes.runs)), protocol)])

    def once() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = Store.create(Path(folder))
            for _ in Serial().execute(Work(store, [(p, list(p.seeds)) for p in planned])):
                pass

    return sizes.runs * sizes.evaluations / timed(once, sizes)


def _peer(sizes: Sizes) -> float | None:
    """Evaluations per second of Optuna's random sampler on the same table; None if it is not installed."""
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    benchmark: Benchmark = open_benchmark(_BENCH)
    choices = {name: values.split(", ") for name, _, values in benchmark.space.describe()}

    def once() -> None:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

        def objective(trial: optuna.Trial) -> float:
            values = {name: trial.suggest_categorical(name, options) for name, options in choices.items()}
            evaluation = benchmark.evaluate(benchmark.space.from_values(values), trial.number)
            return evaluation.metrics[benchmark.objective.name]

        study.optimize(objective, n_trials=sizes.evaluations)

    return sizes.evaluations / timed(once, sizes)


def suggestion_speed(sizes: Sizes) -> None:
    """Milliseconds of one ask and its tell, by the number of observations: nine hyper-parameters, two constraints."""
    counts = sizes.observations
    common = max((n for n in counts if n <= _MOST_OPTUNA), default=min(counts))
    rows = [("ms per suggestion, bookkeeping included", *map(str, counts), f"beside optuna-tpe at {common}")]
    peers = ["optuna-tpe"] if importlib.util.find_spec("optuna") else []
    bounds = ("model_size@0.5", "train_time@0.5")
    times = {name: _suggestion_times(name, counts, "hpolib-naval", bounds, sizes) for name in _TPES + peers}
    for name, found in times.items():
        ratio = f"{times['optuna-tpe'][common] / found[common]:.1f}x" if peers else "-"
        rows.append((name, *(f"{1e3 * found[n]:.3f}" if n in found else "-" for n in counts), ratio))
    say("\nhpolib-naval, model_size@0.5+train_time@0.5, one core; columns: observations")
    say(table(rows) + "\n")
    later = sizes.fewer_observations
    rows = [("ms per suggestion, bookkeeping included", *map(str, later))]
    for name in ("smbo", "mcts", "evolution"):
        found = _suggestion_times(name, later, _BENCH, (), sizes)
        rows.append((name, *(f"{1e3 * found[n]:.3f}" for n in later)))
    say(f"{_BENCH}, one core; columns: observations")
    say(table(rows) + "\n")


def language_speed(sizes: Sizes) -> None:
    """Times sampling and counting of figure 4's space beside building the object graph anew for each sample."""
    rng = np.random.default_rng(0)
    program = Program(figure_4)
    many, few = sizes.samples, max(1, sizes.samples // 20)
    kept = timed(lambda: [program.sample(rng) for _ in range(many)], sizes) / many
    anew = timed(lambda: [Program(figure_4).sample(rng) for _ in range(few)], sizes) / few
    counted = timed(lambda: count(Program(figure_4)), sizes)
    say(
        f"search-space language, figure 4: {1e6 * kept:.1f} µs per sample, {anew / kept:.0f}x as fast as building the "
        f"graph for each ({1e6 * anew:.0f} µs); its {count(program):,} architectures counted in {1e3 * counted:.1f} ms"
    )


def distance_speed(sizes: Sizes) -> None:
    """Times OTMANN on cells and on convolutional networks of nearly each number of layers, and NASBOT's suggestions."""
    from nasbench.methods.nasbot import candidates
    from nasbench.methods.nasbot.otmann import compile_ahead, distances, packed, to_all

    compile_ahead()
    rows = [("OTMANN, one core; layers", "ms per network, its paths included", "µs per pair, four nu")]
    space, rng = open_benchmark(_BENCH).space, np.random.default_rng(0)
    assert isinstance(space, AsGraph)
    groups = [("a cell's", [space.as_graph(space.sample(rng)) for _ in range(sizes.networks)])]
    groups += [(str(layers), networks(layers, sizes.networks)) for layers in sizes.layers]
    for label, graphs in groups:
        made = timed(lambda graphs=graphs: [encoded(graph) for graph in graphs], sizes) / len(graphs)  # type: ignore[misc]
        nets = [encoded(graph) for graph in graphs]
        everyone = packed(nets)
        all_rows = timed(lambda nets=nets, all_=everyone: [to_all(one, all_) for one in nets], sizes)  # type: ignore[misc]
        rows.append((label, f"{1e3 * made:.3f}", f"{1e6 * all_rows / len(nets) ** 2:.1f}"))
    many = [encoded(graph) for graph in networks(20, sizes.matrix)]
    begin = perf_counter()
    distances(many)
    say(table(rows))
    say(f"a matrix of {sizes.matrix} networks of 20 layers, four nu: {perf_counter() - begin:.2f} s\n")
    counts = tuple(n for n in sizes.observations if n <= _MOST_NASBOT) or sizes.observations[:1]
    asked: list[tuple[str, ...]] = [("ms per suggestion of nasbot; observations", *map(str, counts))]
    for bench, kind in ((_BENCH, "listed"), ("hpolib-naval", "product kernel"), ("synthetic-cnn", "free networks")):
        say(f"measures nasbot on {bench}, {kind}: minutes", err=True)
        with _clocked(candidates, "to_all") as in_distances:
            found, needed = _times_by([perf_counter, in_distances], "nasbot", counts, bench, (), sizes)
        asked.append((f"{bench}, {kind}", *(f"{1e3 * found[n]:.0f}" for n in counts)))
        asked.append(("  of that OTMANN distances", *(f"{1e3 * needed[n]:.0f}" for n in counts)))
    say(table(asked) + "\n")


@contextmanager
def _clocked(module: ModuleType, name: str) -> Iterator[Callable[[], float]]:
    """A clock of the seconds that calls of a module's function take while the context lasts."""
    function, spent = getattr(module, name), 0.0

    def timed_call(*arguments: object) -> object:
        nonlocal spent
        begin = perf_counter()
        try:
            return function(*arguments)
        finally:
            spent += perf_counter() - begin

    setattr(module, name, timed_call)
    try:
        yield lambda: spent
    finally:
        setattr(module, name, function)


def networks(layers: int, count: int) -> list[LayerGraph]:
    """Random networks whose number of layers is within two of `layers`."""
    rng = np.random.default_rng(layers)
    space = NetworkSpace("cnn", NetworkLimits(layers=(5, layers + 2)), convolutional(16, 2)[:1])
    found: list[LayerGraph] = []
    graph = space.sample(rng)
    while len(found) < count:
        graph = space.mutate(graph, rng)
        if abs(len(graph.labels) - layers) <= 2:
            found.append(graph)
    return found


def encoded(graph: LayerGraph) -> Encoded:
    """A network with everything that distances need, all of it computed anew: nothing that either object has kept."""
    from nasbench.methods.nasbot.families import family_of
    from nasbench.methods.nasbot.otmann import Encoded

    found = Encoded(replace(graph), family_of(graph.kind))
    assert len(found.layers.paths) == len(graph.labels)
    assert len(found.merged.masses) <= len(graph.labels)
    return found


def _suggestion_times(
    name: str, counts: tuple[int, ...], bench: str, constraints: tuple[str, ...], sizes: Sizes
) -> dict[int, float]:
    """Seconds of one ask and its tell after each number of observations: mean over a few, median of searches."""
    return _times_by([perf_counter], name, counts, bench, constraints, sizes)[0]


def _times_by(
    clocks: Sequence[Callable[[], float]],
    name: str,
    counts: tuple[int, ...],
    bench: str,
    constraints: tuple[str, ...],
    sizes: Sizes,
) -> list[dict[int, float]]:
    """`_suggestion_times` by each of several clocks."""

    def now() -> list[float]:
        return [clock() for clock in clocks]

    window = sizes.suggestions
    benchmark = open_benchmark(bench)
    bounds = abilities.bounds(benchmark, parse_constraints(constraints))
    most = min(max(counts), _MOST_OPTUNA) if name.startswith("optuna") else max(counts)
    found: dict[int, list[Array]] = {n: [] for n in counts if n <= most}
    for seed in range(sizes.searches):
        method = MethodSpec(name).build(Problem.of(benchmark, bounds), np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        for told in range(most + window):
            begin = now()
            # Beyond the first measurements proposals are random: the time depends on how many there are, not which.
            measured = next((n for n in found if n <= told < n + window), None)
            asks = measured is not None or not name.endswith("tpe") or told == 0 or name.startswith("optuna")
            configuration = method.ask() if asks else benchmark.space.sample(rng)
            asked = now()
            evaluation = benchmark.evaluate(configuration, told)
            feasible = is_feasible(evaluation, bounds)
            evaluated = now()
            method.tell(Observation(configuration, evaluation, feasible))
            told_at = now()
            if measured is not None:
                found[measured].append(np.subtract(asked, begin) + np.subtract(told_at, evaluated))
    by_search = {n: np.reshape(times, (-1, window, len(clocks))).mean(axis=1) for n, times in found.items()}
    return [{n: float(np.median(means[:, i])) for n, means in by_search.items()} for i in range(len(clocks))]


def report_speed(sizes: Sizes) -> None:
    """Times the statistics and tables of a report on 5,000 runs of 24 setups, a million rows, as documented."""
    import pandas as pd

    from nasbench.results.report import report
    from nasbench.results.report.request import Request

    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "store")
        methods = tuple(map(MethodSpec.parse, ("random", "evolution:tournament=5")))
        constraints = tuple(parse_constraints([text]) for text in ("none", "model_size@0.1", "train_time@0.1"))
        benches = ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16", "hpolib-naval")
        planned = expand(
            [Grid(methods, benches, constraints, tuple(range(sizes.report_seeds)), Protocol(evals=sizes.evaluations))]
        )
        for _ in Serial().execute(Work(store, [(p, list(p.seeds)) for p in planned])):
            pass
        begin = perf_counter()
        report.write([store], Request(Path(folder) / "report"))
        seconds = perf_counter() - begin
        begin = perf_counter()
        rows = len(pd.read_parquet(store.folder))
        reading = perf_counter() - begin
        say(
            f"report: {rows:,} rows in {seconds:.1f} s, {seconds / reading:.1f} times the {reading:.1f} s in which "
            "pandas reads them"
        )


def many_seeds_speed(sizes: Sizes) -> None:
    """Times a report on 100,000 runs of 30 evaluations, 20,000 seeds of five setups, and measures its memory."""
    (planned,) = expand([Grid((MethodSpec("random"),), (_BENCH,), ((),), (0,), Protocol(evals=_FEW_EVALUATIONS))])
    runs = [trajectory_of(planned, seed) for seed in range(sizes.many_seeds)]
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "store")
        for number in range(_SETUPS):  # the same runs with other seeds: to make others would take a minute
            setup = replace(planned.setup, method=f"random:copy={number}" if number else "random")
            turned = [replace(run, seed=(run.seed + number) % len(runs)) for run in runs]
            store.commit(setup, turned, provenance() | {"repeatable": ""})
        seconds, memory = measured(["report", str(store.folder), "--out", str(Path(folder) / "report")])
    say(
        f"report on {_SETUPS * len(runs):,} runs of {_FEW_EVALUATIONS} evaluations, {len(runs):,} seeds of each setup: "
        f"{seconds:.1f} s of one core, peak memory {memory} MB"
    )


def peak_memory(sizes: Sizes) -> str:
    """What a process of its own needs for runs on the largest table, in MB (Linux tells; elsewhere unknown)."""
    with tempfile.TemporaryDirectory() as folder:
        asked = ["run", "--method", "evolution", "--bench", "hpolib-slice", "--store", folder]
        return measured([*asked, "--seeds", str(sizes.memory_seeds)])[1]


def measured(arguments: list[str]) -> tuple[float, str]:
    """Seconds of processors and peak memory in MB of a command in a process of its own (Linux tells the memory)."""
    program = (
        "import sys, time; from nasbench.cli.main import run_command\n"
        "if run_command(sys.argv[1:]): sys.exit('no run')\n"
        "print('CPU', time.process_time())\n"
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    command = [sys.executable, "-c", program, *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    seconds, memory = re.search(r"CPU (\S+)", said), re.search(r"VmHWM:\s+(\d+) kB", said)
    return float(seconds[1]) if seconds else np.nan, f"{int(memory[1]) / 1024:.0f}" if memory else "unknown"


def timed(call: Callable[[], object], sizes: Sizes) -> float:
    """Median over some calls, after one that is not counted."""
    call()
    times = []
    for _ in range(sizes.repeats):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return median(times)
