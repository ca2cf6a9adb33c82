"""Compares neural-architecture-search and hyper-parameter-optimisation methods fairly.

The names below, and the modules that docs/plugins.md and docs/search-space-language.md import, are the public Python
interface; everything else may change. In a notebook::

    >>> import nasbench
    >>> frame = nasbench.run("random", "nb201-cifar10", seeds=2, evals=50)
    >>> frame.groupby("seed")["incumbent"].last().round(3).tolist()  # best observed validation error, %
    [9.396, 8.944]

What is heavy is imported when it is first used: `import nasbench` alone takes milliseconds.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd

    from nasbench.benchmarks import (
        BENCHMARKS,
        Benchmark,
        Bound,
        Evaluation,
        Metric,
        UsageError,
        open_benchmark,
        parse_constraints,
    )
    from nasbench.benchmarks.spaces import Configuration, GridSpace, ParameterSpace, Space
    from nasbench.benchmarks.tabular.direction import Sense
    from nasbench.cli.engine.executors import EXECUTORS, Executor
    from nasbench.cli.outside import Asked
    from nasbench.cli.outside.optimizer import Optimizer
    from nasbench.cli.outside.rows import Shape
    from nasbench.cli.outside.task import BudgetUsed, OutsideTask
    from nasbench.methods import METHODS, About, Method, MethodSpec, Needs, Observation, Problem
    from nasbench.results import Store, StoreError
    from nasbench.results.report.report import Report
    from nasbench.results.store.fragment import Fragment

_PLACES = {
    "nasbench.benchmarks": ["BENCHMARKS", "Benchmark", "Bound", "Evaluation", "Metric", "UsageError", "open_benchmark"],
    "nasbench.benchmarks.constraints": ["parse_constraints"],
    "nasbench.benchmarks.spaces": ["Configuration", "GridSpace", "ParameterSpace", "Space"],
    "nasbench.cli.engine.executors": ["EXECUTORS", "Executor"],
    "nasbench.cli.outside.task": ["BudgetUsed"],
    "nasbench.methods": ["METHODS", "About", "Method", "MethodSpec", "Needs", "Observation", "Problem"],
    "nasbench.results": ["Store", "StoreError"],
}

__all__ = [
    "BENCHMARKS",
    "EXECUTORS",
    "METHODS",
    "About",
    "Benchmark",
    "Bound",
    "BudgetUsed",
    "Configuration",
    "Evaluation",
    "Executor",
    "GridSpace",
    "Method",
    "MethodSpec",
    "Metric",
    "Needs",
    "Observation",
    "ParameterSpace",
    "Problem",
    "Space",
    "Store",
    "StoreError",
    "UsageError",
    "__version__",
    "import_runs",
    "open_benchmark",
    "optimizer",
    "parse_constraints",
    "report",
    "run",
    "task",
]


def _prepare() -> None:
    """Says what stands in the way of working here, and fixes how NumPy computes, before anything loads it."""
    if os.name != "posix":
        raise ImportError("nasbench runs on Linux and macOS; on Windows use WSL")
    if not (Path(__file__).parent / "cli").is_dir():
        raise ImportError(
            "this checkout has no symbolic links (nasbench/cli is a file): clone it again with "
            "`git clone -c core.symlinks=true`, or install it with pip from an archive that has them"
        )
    from nasbench.base.arithmetic import fix, processor

    fix(os.environ, processor())


_prepare()

__distribution__ = "nasbench-cli"
"""Name of the installed package; `nasbench` is that of NAS-Bench-101's."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version(__distribution__)
    for place, names in _PLACES.items():
        if name in names:
            found: object = getattr(importlib.import_module(place), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'nasbench' has no attribute {name!r}; public names: {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def run(
    methods: str | Sequence[str],
    benchmarks: str | Sequence[str],
    *,
    constraints: str | Sequence[str] = "none",
    objectives: str | Sequence[str] = (),
    seeds: int | str = 10,
    evals: int | None = None,
    seconds: float | None = None,
    workers: int = 1,
    jobs: int = 1,
    executor: str | None = None,
    store: str | Path | None = None,
    sealed: bool = False,
    force: bool = False,
) -> pd.DataFrame:
    """Runs methods on benchmarks, and returns every evaluation of every run.

    Example::

        >>> from nasbench import run
        >>> frame = run(["random", "evolution"], "hpolib-naval", constraints="train_time@0.1", seeds=3, evals=20)
        >>> frame.groupby("method").size().to_dict()
        {'evolution': 60, 'random': 60}

    Args:
        methods: names with options, as `nasbench run --method` takes them: `"evolution:population=20"`.
        benchmarks: names, as `nasbench list benchmarks` prints them.
        constraints: the inequalities that hold together (`"model_size@0.1"`, or several), or `"none"`.
        objectives: the metrics to optimise, two or three; by default each benchmark's own objective.
        seeds: a number of seeds (5: the seeds 0 to 4), or `"first:end"`.
        evals: the budget of a run in evaluations; 200 if neither budget is given.
        seconds: the budget of a run in seconds on its clock.
        workers: the number of asynchronous workers of a run.
        jobs: the number of runs computed at the same time, each in a process of its own. Above 1, or with a method
            of a plug-in, a script calls this below `if __name__ == "__main__":`, for each process imports it.
        executor: where runs are computed, as `nasbench run --executor` takes it: `"ray:address=auto"`.
        store: the folder in which trajectories are kept, and found again; by default nothing is kept.
        sealed: whether to run on sealed search spaces too, on which no default may be chosen.
        force: whether to begin searches that are expected to take longer than `seconds`.

    Returns a row per evaluation, with the columns of a store (docs/store.md): method, bench, constraint, seed,
    evaluation, objective, feasible, incumbent, score and others, and `best_configuration`: that of the incumbent after
    the row, as JSON, so that its last row has a run's best. Runs that failed are in it, with their reasons,
    and a warning names them.

    A method that does not fit a benchmark is left out there, with a warning.

    Raises UsageError for anything else that cannot run, before anything is computed; StoreError if runs are missing at
    the end, since another process computes them or theirs was killed.
    """
    import tempfile

    import pandas as pd

    from nasbench.base.numbers import count
    from nasbench.cli.engine.executors import chosen
    from nasbench.cli.engine.failures import told
    from nasbench.cli.engine.keys import asked_grid, several
    from nasbench.cli.engine.session import begin
    from nasbench.cli.engine.suites import Suite
    from nasbench.results import StoreError

    where = chosen(executor, jobs)
    if store is not None:
        _check_path(store)
    grid = asked_grid(
        methods=several(methods),
        benchmarks=several(benchmarks),
        constraints=[several(constraints)],
        objectives=several(objectives),
        seeds=seeds,
        evals=evals,
        budget_seconds=seconds,
        workers=workers,
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "store") if store is None else Path(store)
        session = begin(Suite((grid,)), folder, "nasbench.run(…)", unseal=sealed, force=force)
        for _ in session.compute(where, keep_going=True):
            pass
        failures, absent = session.outcome()
        if absent:
            said = "".join(f"; {notice}" for notice in session.store.notices)
            raise StoreError(
                f"{count(absent, 'run')} missing: another command computes them, or their process was killed; call it "
                f"again{said}"
            )
        failed = [f"failed: {sentence}" for sentence in told((planned.setup, record) for planned, record in failures)]
        _warn([*session.left_out, *session.store.notices, *failed])
        asked = {planned.setup.id: planned.seeds for planned in session.planned}
        fragments = [fragment for fragment in session.store.fragments() if fragment.setup.id in asked]
        tables = [(_with_best(fragment), asked[fragment.setup.id]) for fragment in fragments]
    frame: pd.DataFrame = pd.concat([table[table["seed"].isin(seeds)] for table, seeds in tables], ignore_index=True)
    return frame.sort_values(["method", "bench", "seed", "evaluation"], ignore_index=True, kind="stable")


def report(
    *stores: str | Path | pd.DataFrame,
    out: str | Path = "report",
    baseline: str | None = None,
    checkpoints: str | Sequence[int] | None = None,
    method: str | Sequence[str] = (),
    without: str | Sequence[str] = (),
    bench: str | Sequence[str] = (),
    family: str | Sequence[str] = (),
    constrain: str | Sequence[str] = (),
    label: str | Sequence[str] | Mapping[str, str] = (),
    protocol: str | None = None,
    score: str | None = None,
    metric: str | None = None,
    format: str | Sequence[str] = "html,csv,json,svg",
    part: str | Sequence[str] = (),
    paper: str | Path | None = None,
    figure_width: str | None = None,
    ioh: str | Path | None = None,
    optuna: str | Path | None = None,
    direction: str | None = None,
    partial: bool = False,
    full: bool = False,
    wilcoxon: bool = False,
    against: str | Sequence[str] = (),
) -> Report:
    """Writes the report of some stores, taken together, into the folder `out`, and returns its text and its tables.

    Example::

        >>> import tempfile
        >>> from nasbench import report, run
        >>> folder = tempfile.mkdtemp()
        >>> _ = run(["random", "evolution"], "nb201-cifar10", seeds=5, evals=50, store=f"{folder}/store")
        >>> found = report(f"{folder}/store", out=f"{folder}/report", baseline="random", label={"evolution": "EA"})
        >>> sorted(found.tables["ranks"]["method"])
        ['EA', 'random']

    Args:
        stores: folders of stores; or runs that were made elsewhere, as files or frames (`import_runs`).
        out: the folder for the files.
        baseline: the method that the others are compared with; by default the suite's, or the first by expected rank.
        checkpoints: evaluations (seconds if the budget is in seconds) at which to compare, besides the end.
        method: compare only these methods: one name, or several; the same holds for `bench`, `family` and `constrain`.
        without: methods to leave out.
        bench: use only these benchmarks.
        family: use only these families of benchmarks.
        constrain: use only these constraints.
        label: short names of methods: a mapping, or texts `METHOD=SHORT`.
        protocol: the protocol of the runs, if stores mix budgets or workers.
        score: what is compared on tables: `hidden` (the incumbent's value in a repetition hidden from its run),
            `mean` (over all repetitions), `average` (over all that a run has evaluated), or `observed`; by default the
            suite's, or `hidden`. Of several objectives `share` (the default) or `observed`.
        metric: a stored metric of the incumbent that is compared instead, such as `test-error` or `latency`.
        format: formats of the files: html, md, csv, json, tidy, latex, longtable, svg.
        part: parts to add, such as `targets` or `pareto:METRIC,METRIC` (`nasbench list parts` has all).
        paper: a folder for figures and tables for a paper.
        figure_width: of the paper's figures, in in, cm, mm or pt; 3.3in, a column, if it is not given.
        ioh: a folder for the runs in the format of IOHanalyzer.
        optuna: a new file for the runs as studies of Optuna.
        direction: of files and frames of runs that were made elsewhere: `minimise` or `maximise`, if their value's name
            does not say it.
        partial: include runs that are under way, and compare all at the length of the shortest.
        full: show every part that the page has in the text, not the verdict alone.
        wilcoxon: show the Wilcoxon signed-rank tables in the text too.
        against: archives whose runs in the same settings are compared too: files, or names that come with nasbench.

    Returns a result with `text` (without escape codes; `print(result)` shows it), `verdict` (its facts; `as_json()`
    gives them as JSON), `tables` (a pandas DataFrame by the name of each table), `folder` and `files`.

    Raises StoreError if a store is missing or empty, or its runs must not be compared; UsageError for an option that is
    not understood.
    """
    from nasbench.cli.engine.archives import opened_stores, with_own_baseline
    from nasbench.cli.engine.keys import several
    from nasbench.cli.engine.plan import is_current
    from nasbench.cli.engine.reporting import asked_report
    from nasbench.cli.engine.sources import current_sources
    from nasbench.cli.outside import as_stores
    from nasbench.results.report.report import write

    request = asked_report(
        out,
        baseline=baseline,
        checkpoints=checkpoints,
        method=method,
        without=without,
        bench=bench,
        family=family,
        constrain=constrain,
        label=label,
        protocol=protocol,
        score=score,
        metric=metric,
        format=format,
        part=part,
        paper=paper,
        figure_width=figure_width,
        ioh=ioh,
        optuna=optuna,
        partial=partial,
        full=full,
        wilcoxon=wilcoxon,
    )
    with as_stores([_source(store) for store in stores], _asked(direction)) as (folders, _):
        opened = opened_stores(folders, several(against))
        try:
            return write(opened, with_own_baseline(request, opened), is_current, current_sources())
        finally:
            _warn(notice for store in opened for notice in store.notices)


def import_runs(
    *sources: str | Path | pd.DataFrame,
    store: str | Path,
    direction: str | None = None,
    shape: str | None = None,
    columns: Mapping[str, str] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    reader: str = "",
) -> list[str]:
    """Puts runs that were made elsewhere into a store, and returns what was taken for what (docs/elsewhere.md).

    Example::

        >>> import tempfile
        >>> import pandas as pd
        >>> rows = [("mine", "adult", s, n, 1 / (n + s)) for s in range(5) for n in range(1, 4)]
        >>> frame = pd.DataFrame(rows, columns=["method", "benchmark", "seed", "evaluation", "error"])
        >>> import_runs(frame, store=f"{tempfile.mkdtemp()}/store", shape="trajectory")[-1]
        '5 runs of 1 method on 1 benchmark; error is minimised; 3 evaluations'

    Args:
        sources: tables (files or frames) or what other tools have written (files or folders).
        store: the folder of the store.
        direction: whether less or more of the value is better, `minimise` or `maximise`; by default what a file or the
            name of the value says.
        shape: what a row of a table is: an evaluation (`trajectory`), the best value so far (`best`), or the end of a
            run (`final`); by default what its columns say.
        columns: role (method, benchmark, constraint, space, seed, evaluation, seconds, value, feasible, status,
            configuration, test, cost) → column, where names do not say it.
        budget: evaluations at which longer runs are cut.
        seconds: seconds at which runs are cut and compared, in place of evaluations.
        reader: name of the reader of files; by default the one that knows them.

    Raises UsageError for what cannot be read, or may be read in two ways; nothing is stored then.
    """
    from nasbench.cli.outside import import_runs as taken

    _check_path(store)
    asked = _asked(direction, shape, dict(columns or {}), budget, seconds)
    return taken([_source(source) for source in sources], Path(store), asked, reader, "nasbench.import_runs(…)")


def task(benchmark: str, constraints: str | Sequence[str] = "none") -> OutsideTask:
    """A benchmark under constraints for an optimiser that is not ours (docs/your-optimiser.md).

    Example::

        >>> import tempfile
        >>> import nasbench
        >>> task = nasbench.task("nb201-cifar10", "model_size@0.1")
        >>> print(task)
        nb201-cifar10: minimise x-valid-error@200 (%), subject to model_size <= 0.101306 M parameters
        >>> cell = dict.fromkeys(["Op0", "Op1", "Op2", "Op3", "Op4", "Op5"], "avg_pool_3x3")
        >>> task.evaluate(cell).feasible
        True
        >>> with task.record("mine", seed=0, evals=3, store=f"{tempfile.mkdtemp()}/store") as run:
        ...     while run.open:
        ...         result = run.evaluate(cell)

    Args:
        benchmark: its name, as `nasbench list benchmarks` prints it.
        constraints: the inequalities that hold together (`"model_size@0.1"`, or several), or `"none"`.

    Raises UsageError for an unknown benchmark, or for a constraint that it cannot have.
    """
    from nasbench.cli.outside.task import OutsideTask

    return OutsideTask(benchmark, constraints)


def optimizer(method: str, space: object, *, seed: int = 0, limits: Mapping[str, float] | None = None) -> Optimizer:
    """A method of ours for a loop of yours: `ask()` answers a dict, `tell(configuration, loss)` takes what came of it.

    Example::

        >>> import nasbench
        >>> optimizer = nasbench.optimizer("c-tpe", {"units": [16, 32, 64], "activation": ["relu", "tanh"]})
        >>> for _ in range(20):
        ...     configuration = optimizer.ask()
        ...     optimizer.tell(configuration, loss=1 / configuration["units"])

    Args:
        method: its name with options, as `nasbench run --method` takes it.
        space: in our words (`ParameterSpace`), ConfigSpace's `ConfigurationSpace`, or a mapping from names to Optuna's
            distributions, Syne Tune's domains, or lists of choices.
        seed: of everything random.
        limits: name of a further quantity → the largest value that is allowed; `tell(configuration, loss, name=value)`.

    Raises UsageError for an unknown method, or one that does not fit the space.
    """
    from nasbench.cli.outside.optimizer import Optimizer

    return Optimizer(method, space, seed=seed, limits=limits)


def _asked(direction: str | None, shape: str | None = None, *rest: Any) -> Asked:
    """What a caller says of runs that were made elsewhere. Raises UsageError for another word."""
    from nasbench.base.errors import check_choice
    from nasbench.cli.outside import Asked
    from nasbench.cli.outside.rows import SENSES, SHAPES

    if direction is not None:
        check_choice("direction", direction, SENSES)
    if shape is not None:
        check_choice("shape", shape, SHAPES)
    return Asked(cast("Sense | None", direction), cast("Shape | None", shape), *rest)


def _source(source: object) -> Path | pd.DataFrame:
    """A frame, or the path of a file or folder. Raises UsageError for anything else."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source
    _check_path(source)
    return Path(cast("str | Path", source))


def _with_best(fragment: Fragment) -> pd.DataFrame:
    """The rows of a fragment, with the configuration of the incumbent after each; none before there is one."""
    from nasbench.results.store.trajectory import incumbent_steps

    rows: pd.DataFrame = fragment.table().to_pandas()
    lengths = [record.rows for record in fragment.runs]
    incumbent, feasible, level = (rows[name].to_numpy() for name in ("incumbent", "feasible", "level"))
    steps, _ = incumbent_steps(incumbent, feasible, level, lengths)
    known = rows["configuration"].where(steps & (not fragment.setup.objectives))
    return rows.assign(best_configuration=known.groupby(rows["seed"]).ffill())


def _warn(notices: Iterable[str]) -> None:
    """Makes notices warnings, such as of a damaged file that was set aside, or of a method that was left out."""
    for notice in dict.fromkeys(notices):
        warnings.warn(notice, stacklevel=3)


def _check_path(store: object) -> None:
    """Raises UsageError for what is no path."""
    from nasbench.benchmarks import UsageError

    if not isinstance(store, str | os.PathLike) or not os.fspath(store):
        raise UsageError(f"a store is the path of a folder, not {store!r}; several stores are several arguments")
