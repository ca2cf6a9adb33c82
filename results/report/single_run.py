"""A single run as text: the steps of its incumbent, its feasible evaluations, and its use of time."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd
import pyarrow as pa

from nasbench.base.errors import StoreError, suggestion
from nasbench.base.fronts import losses
from nasbench.base.metrics import USED
from nasbench.base.numbers import count, with_unit
from nasbench.results.parts import networks
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, RunRecord, Torn
from nasbench.results.store.trajectory import HYPERVOLUME, Setting, incumbent_steps
from nasbench.results.store.under_way import MemoryFragment, under_way

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Run: TypeAlias = tuple[Fragment, RunRecord]
"""A stored or unfinished run, in its fragment."""


def describe(store: Store, runs: Sequence[Run]) -> str:
    """Some runs of a store as text. Raises StoreError if one is damaged."""
    return "\n\n\n".join(_page(f, record, store.search_log(f, record.seed)) for f, record in runs)


def summaries(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What a run found, for JSON: its identity, and its final incumbent as observed and as reports score it.

    `best` is None without a feasible evaluation, and with several objectives. Raises StoreError if a run is damaged.
    """
    return [_summary(run, evaluations(run)) for run in runs]


def _summary(run: Run, rows: pd.DataFrame) -> dict[str, Any]:
    setup, record = run[0].setup, run[1]
    facts = {"run": setup.run_id(record.seed), "method": setup.method, "bench": setup.bench}
    facts |= {"constraint": setup.constraint, "protocol": setup.protocol, "failure": record.failure}
    counts = {"seed": record.seed, "evaluations": record.evaluations, "feasible": int(rows["feasible"].sum())}
    best = None
    if rows["feasible"].any() and not setup.objectives:
        row = _best(rows, setup.sign)
        last = rows.iloc[-1]
        is_scored = not pd.isna(last["hidden_feasible"]) and last["hidden_feasible"]
        best = {
            "evaluation": int(row["evaluation"]),
            "objective": setup.setting.objective,
            "unit": setup.setting.unit,
            "observed": float(row["objective"]),
            "hidden": float(last["hidden"]) if is_scored else None,
            "mean": None if pd.isna(row["score"]) else float(row["score"]),
            "configuration": json.loads(row["configuration"]),
        }
    return facts | counts | {"best": best}


def incumbent(run: Run) -> Figure:
    """A picture of a run's final incumbent. Raises StoreError if it has none, or if it is not a network."""
    f = run[0]
    rows, (_, record) = evaluations(run), run
    if not rows["feasible"].any():
        raise StoreError(
            f"this run found nothing feasible among its {count(record.evaluations, 'evaluation')}: there is nothing to "
            "draw"
        )
    values = json.loads(_best(rows, f.setup.sign)["configuration"])
    if not networks.is_network(values):
        raise StoreError(
            f"a configuration of {f.setup.bench} is not stored as a graph of layers: there is nothing to draw"
        )
    return networks.draw(values)


def find_runs(store: Store, method: str, bench: str, constraint: str | None, seed: int) -> list[Run]:
    """The runs of a seed: one for each protocol and version in the store.

    Args:
        constraint: its label; None if the store has runs of the method on the benchmark under one constraint only.

    Raises StoreError, with the existing names, if there is no such run, or a constraint is needed.
    """
    fragments = [*store.fragments(), *(run.fragment() for run in under_way(store))]
    if not fragments:
        raise StoreError(f"{store.folder} holds no finished run: `nasbench status {store.folder}` says what is missing")
    for name, value in (("method", method), ("bench", bench), ("constraint", constraint)):
        allowed = sorted({getattr(f.setup, name) for f in fragments})
        if value is None and len(allowed) > 1:
            raise StoreError(
                f"{store.folder} has runs of {method} on {bench} under several constraints: add one of "
                + "; ".join(f"--constrain '{label}'" for label in allowed)
            )
        fragments = [f for f in fragments if value is None or getattr(f.setup, name) == value]
        if not fragments:
            raise _unknown(store, name, str(value), allowed)
    runs = [(f, record) for f in fragments for record in f.runs if record.seed == seed]
    if not runs:
        seeds = sorted({record.seed for f in fragments for record in f.runs})
        raise StoreError(f"{store.folder} has no such run with seed {seed}; its seeds lie in {seeds[0]} … {seeds[-1]}")
    return runs


def _unknown(store: Store, kind: str, value: str, allowed: list[str]) -> StoreError:
    meant = suggestion(value, allowed)
    return StoreError(f"{store.folder} has no runs of the {kind} {value!r}{meant}; allowed: {'; '.join(allowed)}")


def _origin(fragment: Fragment, record: RunRecord) -> str:
    """When, where and with what a run was computed, as a sentence."""
    facts = fragment.provenance
    if fragment.setup.is_elsewhere:
        return f"Made elsewhere: {facts.get('origin', 'unknown')}; imported {record.began}."
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return f"Computed {record.began} to {record.ended} with {versions}; commit {facts['commit'] or 'unknown'}."


def _page(fragment: Fragment, record: RunRecord, log: pa.Table | None) -> str:
    setup, setting = fragment.setup, fragment.setup.setting
    rows = evaluations((fragment, record))
    parameters = ", ".join(f"{name}={value}" for name, value in setup.parameters)
    is_partial = isinstance(fragment, MemoryFragment)
    in_parts = setup.evals is not None and record.rows > setup.evals and rows["level"].nunique() > 1
    whole = ", counted in whole trainings" if in_parts else ""
    head = [
        f"{setup.title}, seed {record.seed} (run {setup.run_id(record.seed)})" + " (partial)" * is_partial,
        f"Budget: {setup.protocol}{whole}. "
        f"Method: version {setup.method_version}{f', {parameters}' if parameters else ''}.",
        f"Under way: {count(record.evaluations, 'evaluation')} so far." if is_partial else _origin(fragment, record),
    ]
    parts = ["\n".join(head), *(_front if setup.objectives else _outcome)(fragment, rows, record)]
    incumbent, feasible, level = (rows[name].to_numpy() for name in ("incumbent", "feasible", "level"))
    steps = rows[incumbent_steps(incumbent, feasible, level, [len(rows)])[0]]
    if len(steps) and not setup.objectives:
        parts.append("Incumbent steps\n" + _steps(steps, setting))
        last = json.loads(steps["configuration"].iloc[-1])
        if networks.is_network(last):
            parts.append("The network\n" + "\n".join(networks.lines(last)))
    times = [*_time(rows, record, setup.workers), *_search(log)]
    parts += ["Where the time went\n" + "\n".join(times)] if times else []
    if record.refused:
        why = "known before training to violate a constraint, at no part of the budget"
        parts.append(f"Refused: {count(record.refused, 'proposal')}, {why}")
    if record.failed_evaluations:
        parts.append(f"{count(record.failed_evaluations, 'failed evaluation')}, the first: {record.first_reason}")
    if record.failure:
        parts.append(f"Stopped early: {record.failure}")
    width = min(100, shutil.get_terminal_size().columns)
    return "\n\n".join(_wrapped(part, width) for part in parts)


def evaluations(run: Run) -> pd.DataFrame:
    """The evaluations of a run, one per row. Raises StoreError if they are damaged."""
    fragment, record = run
    span = next(span for other, span in fragment.spans() if other.seed == record.seed)
    try:
        rows: pd.DataFrame = fragment.table()[span].to_pandas()
    except Torn as error:
        raise StoreError(f"{fragment.path} is damaged ({error}): `nasbench status` sets it aside") from None
    return rows


def _best(rows: pd.DataFrame, sign: int) -> pd.Series[Any]:
    """The final incumbent: the feasible row with the smallest objective, times `sign`, at the highest level reached."""
    feasible = rows[rows["feasible"]]
    there = feasible[feasible["level"] == feasible["level"].max()]
    best: pd.Series[Any] = there.iloc[int((sign * there["objective"]).argmin())]
    return best


def _outcome(fragment: Fragment, rows: pd.DataFrame, record: RunRecord) -> Iterable[str]:
    setting = fragment.setup.setting
    if setting.bounds:
        yield "Constraints: " + ", ".join(setting.bounds)
    feasible = rows[rows["feasible"]]
    if not len(feasible):
        yield f"No feasible evaluation among {record.evaluations}."
        return
    first, best = feasible.iloc[0], _best(rows, fragment.setup.sign)
    in_part = best["level"] < setting.highest
    regret = f"; level {best['level']} of {setting.highest}" if in_part else ""
    if setting.oracle is not None and not in_part:
        percent = f", {100 * (best['objective'] - setting.oracle) / setting.oracle:.3g} %" if setting.oracle > 0 else ""
        regret = f"; oracle {setting.oracle:.7g}, regret {best['objective'] - setting.oracle:.4g}{percent}"
    lines = [
        f"Best {setting.objective}: {best['objective']:.7g} {setting.unit}".rstrip()
        + f" observed (evaluation {best['evaluation']}{regret})",
        *_scored(rows, best, setting.unit),
        f"Feasible: {len(feasible)} of {count(record.evaluations, 'evaluation')} "
        f"({100 * len(feasible) / record.evaluations:.0f} %), "
        f"the first at evaluation {first['evaluation']}, after {first['finished']:,.5g} s",
    ]
    others = [
        c for c in rows.columns if c.startswith("metric.") and c.removeprefix("metric.") not in setting.test_metrics
    ]
    known = [f"{c.removeprefix('metric.')} {best[c]:,.5g}" for c in others if c != f"metric.{setting.objective}"]
    lines += [f"There: {', '.join(known)}"] if known else []
    lines += [
        f"{name} there (test split, reported only): {best[f'metric.{name}']:.7g}" for name in setting.test_metrics
    ]
    configuration = json.loads(best["configuration"])
    if not networks.is_network(configuration):
        lines.append(f"Best configuration: {best['configuration']}")
    yield "\n".join(lines)


def _scored(rows: pd.DataFrame, best: pd.Series[Any], unit: str) -> Iterable[str]:
    """What reports compare instead of the observed value: the hidden repetition's, or the mean over all."""
    hidden, is_feasible = rows["hidden"].iloc[-1], rows["hidden_feasible"].iloc[-1]
    mean = "" if pd.isna(best["score"]) else f"mean over all repetitions {best['score']:.7g} {unit}".rstrip()
    if not pd.isna(is_feasible):
        value = f"{hidden:.7g} {unit}".rstrip() if is_feasible else "nothing found (a failure or a violation)"
        yield f"Scored: {value} in the hidden repetition, which reports compare{'; ' * bool(mean)}{mean}"
    elif mean:
        yield f"Scored: {mean}, which reports compare"


def _front(fragment: Fragment, rows: pd.DataFrame, record: RunRecord) -> Iterable[str]:
    """The outcome with several objectives: shares of the hypervolume, and the front of what was observed."""
    from moocore import is_nondominated

    setup, setting = fragment.setup, fragment.setup.setting
    if setting.bounds:
        yield "Constraints: " + ", ".join(setting.bounds)
    feasible = rows[rows["feasible"] & (rows["level"] == setting.highest)]
    if not len(feasible):
        yield f"No feasible full evaluation among {record.evaluations}."
        return
    share, observed = rows[f"metric.{HYPERVOLUME}"].iloc[-1], 1 - rows["incumbent"].iloc[-1]
    if setting.front:
        yield f"Share of the attainable hypervolume: {share:.4f} by the table's means, {observed:.4f} as observed"
    values = feasible[[f"metric.{name}" for name in setup.objectives]]
    front = feasible[is_nondominated(losses(values.to_numpy(), setting.scales))].sort_values(values.columns[0])
    columns = [front["evaluation"].astype(str), *(front[name].map("{:.6g}".format) for name in values.columns)]
    names = ["evaluation", *(with_unit(name, unit) for name, unit, _, _ in setting.scales)]
    lines = [[*names, "configuration"], *map(list, zip(*columns, front["configuration"], strict=True))]
    total = count(len(feasible), "feasible evaluation")
    yield "\n".join([f"The front of {total}, as observed: {count(len(front), 'evaluation')}", *_aligned(lines)])


def _steps(steps: pd.DataFrame, setting: Setting) -> str:
    shown = pd.DataFrame(
        {
            "evaluation": steps["evaluation"].astype(str),
            "after [s]": steps["finished"].map("{:,.5g}".format),
            **({"level": steps["level"].astype(str)} if steps["level"].min() < setting.highest else {}),
            setting.objective: steps["objective"].map("{:.6g}".format),
            "configuration (what changed)": _changes(
                [json.loads(text) for text in steps["configuration"]], steps["trial"].tolist()
            ),
        }
    )
    return "\n".join(_aligned([list(shown.columns), *shown.to_numpy().tolist()]))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines: all columns are aligned on the right but the last, which is as long as it is."""
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows), strict=True)]
    return ["  ".join([*map(str.rjust, row, widths), row[-1]]) for row in rows]


def _changes(configurations: list[dict[str, Any]], trials: list[int]) -> list[str]:
    """The first configuration, and for each later one the differences from the previous one.

    Args:
        trials: the number of the training of each.
    """
    changes = []
    before, last = dict[str, Any](), None
    for now, trial in zip(configurations, trials, strict=True):
        if networks.is_network(now):
            changes.append(f"a network of {len(now['labels'])} layers and {len(now['edges'])} edges")
        else:
            changed = [f"{name}={value}" for name, value in now.items() if before.get(name) != value]
            gone = [f"no {name}" for name in before if name not in now]
            same = "the same, trained on" if trial == last else "the same, evaluated again"
            changes.append(" ".join([*changed, *gone]) or same)
        before, last = now, trial
    return changes


def _time(rows: pd.DataFrame, record: RunRecord, workers: int) -> Iterable[str]:
    took = rows["finished"] - rows["started"]
    end = rows["finished"].max() if len(rows) else 0.0
    if len(rows) and end > 0:
        longest = rows.iloc[int(took.argmax())]
        yield (
            f"  clock: {end:,.5g} s to the end of the last evaluation; {workers} worker{'s' if workers > 1 else ''} "
            f"busy {100 * took.sum() / (workers * end):.0f} %"
        )
        yield (
            f"  evaluations: {took.mean():,.4g} s each; the longest, evaluation {longest['evaluation']}, "
            f"{took.max():,.4g} s"
        )
    if not record.ended:
        return  # a run under way has no measured times yet
    thinking = rows["thinking"]
    if len(rows):
        yield f"  method: {thinking.sum():.3g} s measured, {1000 * thinking.mean():.3g} ms per evaluation"
    seconds = (datetime.fromisoformat(record.ended) - datetime.fromisoformat(record.began)).total_seconds()
    yield f"  here: {seconds:.3g} s of wall-clock time"


def _search(log: pa.Table | None) -> Iterable[str]:
    """What the log says of time and cost: a search before the first proposal, and what was used, such as tokens."""
    if log is None:
        return
    values = log.select(["quantity", "value"]).to_pandas().groupby("quantity", sort=False)["value"]
    totals = values.sum()
    if "seconds" in totals:
        epochs = count(int(values.size()["seconds"]), "epoch")
        yield f"  search: {epochs}, {totals['seconds']:,.4g} s of the clock, before the first evaluation"
    if used := [f"{total:,.10g} {name.removeprefix(USED)}" for name, total in totals.items() if name.startswith(USED)]:
        yield f"  used: {', '.join(used)}"


def _wrapped(text: str, width: int) -> str:
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent="    ", break_long_words=False) if len(line) > width else line
        for line in text.splitlines()
    )
