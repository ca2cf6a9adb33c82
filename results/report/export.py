"""Export of runs: a tidy CSV, and the format of IOHprofiler, which IOHanalyzer and iohinspector read."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Curves
from nasbench.results.display.table import inert
from nasbench.results.report.files import slug
from nasbench.results.store.trajectory import SCHEMA_VERSION

_IOH_VERSION = "0.3.14"  # version of the logger that defines the format


def tidy(curves: Curves) -> str:
    """CSV with one row per step of each run: its first evaluation, each change of its value, and its last.

    Columns: family, bench, constraint, method, seed, evaluation, seconds (on the run's clock), value (of the incumbent
    by the report's score) and observed; both are empty before the first feasible evaluation, and observed also before
    the first to the highest level.
    """
    names = ("family", "bench", "constraint")
    where = {name: curves.settings[name].map(inert).to_numpy(object) for name in names}
    parts = []
    for row, steps in _steps(curves):
        run = curves.runs.iloc[row]
        facts = {name: where[name][run["setting"]] for name in names}
        facts |= {"method": inert(curves.names[run["method"]]), "seed": run["seed"]}
        columns = {"seconds": curves.finished, "value": curves.incumbent, "observed": curves.observed}
        parts.append(
            pd.DataFrame(
                {"evaluation": steps + 1} | {name: values[row, steps] for name, values in columns.items()}
            ).assign(**facts)
        )
    order = [*names, "method", "seed", "evaluation", "seconds", "value", "observed"]
    if not parts:
        return ",".join(order) + "\n"
    return pd.concat(parts)[order].to_csv(index=False, lineterminator="\n")


def ioh(curves: Curves) -> dict[str, bytes]:
    """Files in IOHprofiler's format by name: for each method and setting a JSON file and its data; seeds are instances.

    A setting is a function; `raw_y` is the value of the incumbent, or the worst feasible value of the setting before
    the first feasible evaluation. The dimension is always 1, because our spaces have no common notion of it.
    """
    padded = curves.padded(curves.incumbent)
    steps = dict(_steps(curves))
    files: dict[str, bytes] = {}
    for (setting, method), rows in curves.groups.items():
        kept = [int(row) for row in rows if row in steps and np.isfinite(padded[row, steps[row]]).all()]
        if not kept:
            continue
        facts, name = curves.settings.iloc[setting], curves.names[method]
        function = f"{facts['bench']} {facts['constraint']}"
        stem = slug(f"{name}.{facts['bench']}.{facts['constraint']}")
        if f"{stem}.json" in files:  # two names may differ in what no file's name holds
            stem = f"{stem}.{setting}-{method}"
        lines, runs = [], []
        for row in kept:
            best = int(np.argmin(padded[row, steps[row]]))
            at, values = steps[row] + 1, padded[row, steps[row]]
            lines += ["evaluations raw_y", *(f"{n} {value!r}" for n, value in zip(at, values.tolist(), strict=True))]
            run = {"instance": int(curves.runs["seed"].iloc[row]), "evals": int(at[-1])}
            runs.append(run | {"best": {"evals": int(at[best]), "y": float(values[best]), "x": []}})
        files[f"{stem}.json"] = json.dumps(
            {
                "version": _IOH_VERSION,
                "suite": f"nasbench, schema {SCHEMA_VERSION}",
                "function_id": setting + 1,
                "function_name": function,
                "maximization": False,
                "algorithm": {"name": name, "info": curves.methods[method]},
                "attributes": ["evaluations", "raw_y"],
                "scenarios": [{"dimension": 1, "path": f"{stem}.dat", "runs": runs}],
            },
            indent=1,
        ).encode()
        files[f"{stem}.dat"] = ("\n".join(lines) + "\n").encode()
    return files


def _steps(curves: Curves) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each run with evaluations, with its first evaluation (0), changes of its value, and its last evaluation."""
    values = curves.incumbent
    for row, count in enumerate(curves.runs["evaluations"].to_numpy()):
        if count:
            run = values[row, :count]
            changed = np.flatnonzero((run[1:] != run[:-1]) & ~(np.isnan(run[1:]) & np.isnan(run[:-1]))) + 1
            yield row, np.unique(np.concatenate([[0], changed, [count - 1]])).astype(np.intp)
