"""Rows that were made elsewhere as runs of a store: setups and trajectories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.metrics import LARGEST
from nasbench.base.numbers import count, some
from nasbench.benchmarks.tabular.direction import is_share, rises, scale_of
from nasbench.cli.engine.columns import incumbents
from nasbench.cli.engine.loop import MAX_EVALUATIONS
from nasbench.cli.outside._configurations import text_of
from nasbench.cli.outside.rows import MARKS, SPACE, Asked, Rows
from nasbench.cli.outside.table import is_finished
from nasbench.results.store.trajectory import ELSEWHERE, Setting, Setup, Trajectory

Array: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = tuple[str, str, str, int]

_CAUTION = (
    "runs were made elsewhere: what is compared is the value that they state, selected on the same data, and the "
    "random numbers of methods are not paired"
)
_TEST = "test"
_LONGEST = 120  # letters of a name: it becomes part of names of files
_MOST_FILLED = 2_000_000
"""Largest number of rows that are added between improvements, of all runs together: a report on them takes 0.9 GB."""
_SPACE = "made elsewhere"
"""Search space and family of benchmarks of which a table names none."""


def runs_of(rows: Rows, asked: Asked) -> list[tuple[Setup, list[Trajectory]]]:
    """The setups and runs of some rows, of which all have one budget.

    Raises UsageError if the direction of the value is not known, rows contradict each other, or runs differ in length.
    """
    sense = asked.sense or rows.sense
    if sense is None:
        raise UsageError(f"is less or more of {rows.name} better? --direction minimise or --direction maximise says it")
    frame = _checked(rows.frame, rows.shape, rows.left)
    _check_scales(frame, rows.name)
    name, frame["loss"] = _loss(rows.name, frame["value"].to_numpy(float), sense == "maximise")
    name = "value" if name == _TEST and "test" in frame else name
    if "test" in frame:
        are_names_denied = rows.sense not in (None, sense)
        of_test = sense if are_names_denied else rows.test_sense or sense
        frame["test"] = _loss("test", frame["test"].to_numpy(float), of_test == "maximise")[1]
    runs: dict[Marks, pd.DataFrame] = {}
    first = _first(frame, rows.shape, asked.seconds)
    for key, own in frame.groupby([*MARKS], sort=True):
        method, bench, constraint, seed = cast("Marks", key)
        runs[method, bench, constraint, int(seed)] = _ordered(
            own, rows.shape, first, f"{method} on {bench}, seed {seed}"
        )
    lengths = {marks: int(own["evaluation"].iloc[-1]) for marks, own in runs.items()}
    evals = None if asked.seconds is not None else _budget(lengths, asked.budget, rows.shape)
    if rows.shape == "best":
        _check_filled(len(frame), len(runs), evals)
        _check_best(runs, rows.name, evals)
    if asked.seconds is not None:
        _check_seconds(runs, asked.seconds, asked.budget, rows.shape)
    made: dict[tuple[str, str, str], tuple[Setup, list[Trajectory]]] = {}
    for (method, bench, constraint, seed), own in runs.items():
        for text in (method, bench, constraint):
            if not text or text != text.strip() or not text.isprintable() or len(text) > _LONGEST:
                raise UsageError(
                    f"{text[:40]!r} is no name: one line of at most {_LONGEST} letters, no space at its ends"
                )
        setup = _setup(method, bench, constraint, own, name, rows.unit, evals, asked.seconds)
        trajectory = _trajectory(seed, own, rows.shape, evals, asked.seconds)
        made.setdefault((method, bench, constraint), (setup, []))[1].append(trajectory)
    return list(made.values())


def _checked(frame: pd.DataFrame, shape: str, left: Sequence[str]) -> pd.DataFrame:
    """Rows with every mark, statuses and feasibilities as they are stored. Raises UsageError for what is none."""
    frame = frame.reset_index(drop=True).copy()
    frame["constraint"] = frame["constraint"].fillna("none") if "constraint" in frame else "none"
    for mark in ("method", "benchmark", "constraint", *[SPACE] * (SPACE in frame)):
        if frame[mark].isna().any():
            raise UsageError(f"row {int(frame[mark].isna().to_numpy().argmax()) + 1} has no {mark}")
        frame[mark] = frame[mark].map(str)
    if "seed" in frame:
        frame["seed"] = _numbered(frame["seed"])
    else:
        frame["seed"] = frame.groupby([m for m in MARKS if m != "seed"]).cumcount() if shape == "final" else 0
    for name in {"seconds", "cost"} & set(frame):
        if (below := frame[name].to_numpy(float) < 0).any():
            row = int(below.argmax())
            raise UsageError(
                f"{name} is {frame[name].iloc[row]:g} in row {row + 1}, and no time is negative: leave the cell empty "
                "where it is not known"
            )
    ok = pd.Series(np.abs(frame["value"].to_numpy(float)) <= LARGEST, frame.index)
    if "status" in frame:
        ok &= frame["status"].map(str).map(is_finished)
    frame["status"] = np.where(ok, "ok", "failed")
    frame["feasible"] = ok & (_truths(frame["feasible"]) if "feasible" in frame else True)
    keys = [*MARKS, *[own for own in ("evaluation",) if own in frame and shape != "final"]]
    if ("evaluation" in frame or shape == "final") and (twice := frame.duplicated(keys, keep=False)).any():
        one = frame.loc[int(twice.to_numpy().argmax()), keys]
        rows = np.flatnonzero((frame[keys] == one).all(axis=1).to_numpy()) + 1
        which = ", ".join(f"{key} {value}" for key, value in one.items() if (key, value) != ("constraint", "none"))
        more = int(frame.duplicated(keys).sum()) - len(rows) + 1
        others = f"; {count(more, 'other row')} {'repeats' if more == 1 else 'repeat'} an earlier one, too" * bool(more)
        unread = f"; or does a column that was not read tell them apart ({some(left)})? --column ROLE=NAME names it"
        raise UsageError(
            f"rows {some(rows.astype(str).tolist())} are of the same {which}: leave out all but one{others}"
            f"{unread * bool(left)}"
        )
    return frame


def _numbered(seeds: pd.Series[Any]) -> pd.Series[int]:
    """Seeds as whole numbers: as they are, or else by the order of their texts."""
    if seeds.isna().any():
        raise UsageError(f"row {int(seeds.isna().to_numpy().argmax()) + 1} has no seed")
    numbers = pd.to_numeric(seeds, errors="coerce")
    if numbers.notna().all() and (numbers == numbers.round()).all() and numbers.between(0, 2**53).all():
        return numbers.astype(np.int64)
    texts = sorted(set(map(str, seeds)))
    return seeds.map(str).map({text: number for number, text in enumerate(texts)}).astype(np.int64)


def _truths(column: pd.Series[Any]) -> pd.Series[bool]:
    words = column.map(str).str.strip().str.lower()
    known = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}
    if (bad := ~words.isin(known)).any():
        raise UsageError(
            f"feasible is {column[bad].iloc[0]!r} in row {int(bad.to_numpy().argmax()) + 1}: true or false"
        )
    return words.map(known).astype(bool)


def _check_scales(frame: pd.DataFrame, name: str) -> None:
    """Raises UsageError where methods seem to state one quantity as a share and in percent."""
    if not is_share(name) or (frame["value"].dropna() < 0).any():
        return
    best = frame.groupby(["benchmark", "method"])["value"].max().unstack()
    highest, lowest = best.max(axis=1), best.min(axis=1)
    if rises(name) and highest.min() <= 1 and lowest.max() > 10:
        raise UsageError(
            f"{name} on {highest.idxmin()} is a share, at most 1, and on {lowest.idxmax()} in percent: bring them to "
            "one scale"
        )
    for bench, row in best.iterrows():
        shares, percents = row[row <= 1].index, row[row > 10].index
        if len(shares) and len(percents):
            raise UsageError(
                f"on {bench} {name} of {shares[0]} is a share, at most 1, and of {percents[0]} in percent, up to "
                f"{row.max():g}: bring them to one scale"
            )


def _loss(name: str, values: Array, is_maximised: bool) -> tuple[str, Array]:
    """What is minimised: the value, its complement if its name is that of a share or percentage, or its negative."""
    if not is_maximised:
        return name, values
    scale = scale_of(values) if rises(name) else None
    return (f"{scale} - {name}", scale - values) if scale else (f"negative {name}", -values)


def _first(frame: pd.DataFrame, shape: str, seconds: float | None) -> int:
    """The number of a run's first evaluation, 0 or 1, which is that of all runs.

    Raises UsageError for improvements whose evaluations nobody counts, where these are the budget.
    """
    if "evaluation" in frame:
        return int(pd.to_numeric(frame["evaluation"], errors="coerce").min() != 0)
    if shape == "best" and seconds is None:
        raise UsageError(
            "no column numbers the evaluations of the best values so far: --column evaluation=NAME names it, or "
            "--budget-seconds S compares after equal times"
        )
    return 1


def _ordered(own: pd.DataFrame, shape: str, first: int, of: str) -> pd.DataFrame:
    """The rows of a run in their order, with the number of each evaluation from 1."""
    if shape == "final":
        return own.assign(evaluation=1)
    if "evaluation" not in own:
        own = own.sort_values("seconds", kind="stable") if "seconds" in own else own
        return own.assign(evaluation=np.arange(1, len(own) + 1))
    own = own.sort_values("evaluation", kind="stable")
    numbers = pd.to_numeric(own["evaluation"], errors="coerce").to_numpy(float)
    if not (np.isfinite(numbers) & (numbers == np.round(numbers)) & (numbers >= 0) & (numbers < 2**53)).all():
        raise UsageError(f"{of}: numbers of evaluations are whole, from 0 or 1")
    numbers = numbers + 1 - first
    if shape == "trajectory" and not np.array_equal(numbers, np.arange(1, len(own) + 1)):
        gap = int(np.flatnonzero(numbers != np.arange(1, len(own) + 1))[0])
        raise UsageError(
            f"{of}: row {gap + 1} is evaluation {numbers[gap]:g}: are rows left out that improve nothing (--shape "
            "best), or do numbers go on from run to run (--column evaluation=… names another column)?"
        )
    return own.assign(evaluation=numbers.astype(np.int64))


def _check_best(runs: dict[Marks, pd.DataFrame], name: str, evals: int | None) -> None:
    """Raises UsageError for a best value so far of what is feasible that gets worse within the budget."""
    for (method, bench, _, seed), own in runs.items():
        counts = own["feasible"] & (own["status"] == "ok") & (own["evaluation"] <= (evals or math.inf))
        loss = own["loss"][counts]
        if (worse := loss > loss.cummin() + 1e-9 * loss.abs()).any():
            at = int(own["evaluation"][worse[worse].index[0]])
            raise UsageError(
                f"{method} on {bench}, seed {seed}: {name} gets worse at evaluation {at}, as no best value so far "
                "does: --shape trajectory says that each row has what its evaluation gave, --direction what is better"
            )


def _budget(lengths: dict[Marks, int], asked: int | None, shape: str) -> int:
    """The evaluations of every run. Raises UsageError if runs differ and none is asked for, or a run has fewer."""
    least, most = min(lengths.values()), max(lengths.values())
    if (asked or most) > MAX_EVALUATIONS:
        raise UsageError(
            f"a run has {most:,} evaluations, and a store takes {MAX_EVALUATIONS:,} at most: --budget N cuts the others"
        )
    if shape == "best":  # a run goes on after its last improvement
        if asked is None and least < most:
            raise UsageError(
                f"the last rows of runs are evaluations {least} to {most}: --budget N says where runs ended"
            )
        return asked or most
    if asked is None and least < most:
        raise UsageError(
            f"runs have {least} to {count(most, 'evaluation')}, and are compared after equally many: --budget {least} "
            "cuts the longer ones"
        )
    if asked is not None and asked > least:
        method, bench, _, seed = min(lengths, key=lengths.__getitem__)
        raise UsageError(f"{method} on {bench}, seed {seed}, has {count(least, 'evaluation')}, fewer than {asked}")
    return asked or least


def _check_seconds(runs: dict[Marks, pd.DataFrame], budget: float, evals: int | None, shape: str) -> None:
    """Raises UsageError unless runs have a clock that reaches the budget in seconds, which is the only one."""
    if evals is not None:
        raise UsageError("--budget and --budget-seconds are two budgets: runs are cut at one")
    if not 0 < budget < math.inf:
        raise UsageError(f"--budget-seconds must be a positive number, not {budget:g}")
    ends: dict[Marks, float] = {}
    for marks, own in runs.items():
        of = f"{marks[0]} on {marks[1]}, seed {marks[3]}"
        if not {"seconds", "cost"} & set(own):
            raise UsageError("no column has the seconds of a run's clock: --column seconds=NAME names it")
        if not any(name in own and own[name].notna().all() for name in ("seconds", "cost")):
            raise UsageError(f"{of}: an evaluation has no seconds, so that its clock is unknown: complete them")
        if "seconds" in own and (own["seconds"].diff().dropna() < 0).any():
            raise UsageError(
                f"{of}: seconds fall from one evaluation to the next, as no clock does: --column cost=NAME says that "
                "they are those of each evaluation"
            )
        steps = np.diff(_finished(own), prepend=0.0)
        ends[marks] = math.inf if shape == "best" else float(steps.sum() + steps.max())
    shortest = min(ends, key=ends.__getitem__)
    if ends[shortest] <= budget:
        end = float(_finished(runs[shortest])[-1])
        raise UsageError(
            f"{shortest[0]} on {shortest[1]}, seed {shortest[3]}, ends at {end:g} seconds, before {budget:g}: "
            f"--budget-seconds {end:g} cuts the others there"
        )


def _setup(
    method: str,
    bench: str,
    constraint: str,
    own: pd.DataFrame,
    name: str,
    unit: str,
    evals: int | None,
    seconds: float | None,
) -> Setup:
    space = str(own[SPACE].iloc[0]) if SPACE in own else _SPACE
    has_test = "test" in own
    setting = Setting(
        family=space,
        objective=name,
        unit=unit,
        split="",
        bounds=() if constraint == "none" else (constraint,),
        oracle=None,
        worst=None,
        feasible_share=None,
        test_metrics=(_TEST,) * has_test,
        space=space,
        caution=_CAUTION,
    )
    return Setup(
        method=method,
        parameters=(),
        method_version=0,
        bench=bench,
        data=ELSEWHERE,
        constraint=constraint,
        evals=evals,
        seconds=seconds,
        workers=1,
        charge_thinking=False,
        metrics=(name, *[_TEST] * has_test),
        setting=setting,
    )


def _trajectory(seed: int, own: pd.DataFrame, shape: str, evals: int | None, seconds: float | None) -> Trajectory:
    if evals is not None and shape == "best":
        own = _filled(own, evals)
    if evals is not None:
        own = own[own["evaluation"] <= evals]
    if seconds is not None:
        own = own[_finished(own) <= seconds]
    n = len(own)
    finished = _finished(own)
    feasible = own["feasible"].to_numpy(bool)
    objective = np.where(own["status"] == "ok", own["loss"], math.nan).astype(float)
    incumbent, _ = incumbents(objective, feasible, np.ones(n, np.int64))
    metrics = [objective, *([own["test"].to_numpy(float)] if "test" in own else [])]
    began = datetime.now(UTC).isoformat(timespec="seconds")
    columns: dict[str, NDArray[Any]] = {
        "evaluation": np.arange(1, n + 1),
        "worker": np.zeros(n, np.int64),
        "configuration": np.array([text_of(c) for c in own.get("configuration", [None] * n)], object),
        "objective": objective,
        "feasible": feasible,
        "incumbent": incumbent,
        "started": np.concatenate([[0.0], finished[:-1]])[:n],
        "finished": finished,
        "thinking": np.zeros(n),
        "status": own["status"].to_numpy(object),
        "reason": np.where(own["status"] == "ok", "", "no value").astype(object),
        "metrics": np.stack(metrics, axis=1),
        "score": np.full(n, math.nan),
        "score_feasible": np.full(n, None),
        "trial": np.arange(n),
        "level": np.ones(n, np.int64),
        "cost": own["cost"].to_numpy(float) if "cost" in own else np.full(n, math.nan),
        "spent": np.arange(1.0, n + 1),
        "hidden": np.full(n, math.nan),
        "hidden_feasible": np.full(n, None),
    }
    return Trajectory(seed, columns, "", began, began)


def _check_filled(given: int, runs: int, evals: int | None) -> None:
    """Raises UsageError for more rows between improvements than fit into memory: a short file may tell of long runs."""
    if evals is not None and runs * evals > given + _MOST_FILLED:
        raise UsageError(
            f"{count(given, 'row')} of {count(runs, 'run')} are {runs * evals:,} with one for each evaluation, and "
            f"{_MOST_FILLED:,} may be added: import fewer runs, or --budget N cuts them"
        )


def _filled(own: pd.DataFrame, evals: int) -> pd.DataFrame:
    """A row for each evaluation, with the best value so far; before the first row nothing is known."""
    filled = own.set_index("evaluation").reindex(np.arange(1, evals + 1), method="ffill").reset_index()
    unknown = filled["status"].isna()
    return filled.assign(
        status=filled["status"].where(~unknown, "ok"), feasible=filled["feasible"].where(~unknown, False).astype(bool)
    )


def _finished(own: pd.DataFrame) -> Array:
    """Seconds on the run's clock: those that rows state, the sum of their costs, or else one for each evaluation."""
    if "seconds" in own and own["seconds"].notna().all():
        return np.asarray(np.maximum.accumulate(own["seconds"].to_numpy(float)))
    if "cost" in own and own["cost"].notna().all():
        return np.asarray(own["cost"].to_numpy(float).cumsum())
    return np.arange(1.0, len(own) + 1)


def described(made: list[tuple[Setup, list[Trajectory]]]) -> Iterator[str]:
    """What has been read, one clause each."""
    setups = [setup for setup, _ in made]
    methods, benches = {s.method for s in setups}, {s.bench for s in setups}
    runs = sum(len(trajectories) for _, trajectories in made)
    yield f"{count(runs, 'run')} of {count(len(methods), 'method')} on {count(len(benches), 'benchmark')}"
    yield f"{setups[0].setting.objective} is minimised"
    yield setups[0].protocol.removesuffix(" on 1 worker")
    failed = sum(int((run.columns["status"] == "failed").sum()) for _, trajectories in made for run in trajectories)
    if failed:
        yield f"{count(failed, 'row')} without a finite value, or of another status than finished: failed evaluations"
