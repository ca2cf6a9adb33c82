"""Runs as Optuna's studies, for its dashboard and its visualisations: one study per run, one trial per evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from nasbench.base.errors import StoreError
from nasbench.results.curves import Curves
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, RunRecord, Torn

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

_WORKER = "nasbench"
BEGINNING = f'{{"op_code":0,"worker_id":"{_WORKER}","study_name":'.encode()
"""The first bytes of every file of `studies`."""

_LATEST = 2e11  # seconds of a run that a date can be after, some six thousand years


def studies(curves: Curves, fragments: Sequence[tuple[Store, Fragment]]) -> bytes:
    """A file of Optuna's journal storage (`JournalFileBackend`, `optuna-dashboard FILE`) with all runs of a report.

    The same runs give the same bytes. A trial has the configuration, the observed objective of a full evaluation
    (partial ones are left out), its feasibility as a constraint, so that Optuna's best trial is the run's incumbent,
    and other metrics as attributes. A database would take a hundred times as long to write.

    Raises StoreError without Optuna.
    """
    try:
        from optuna import create_study, logging
        from optuna.storages import JournalStorage
        from optuna.storages.journal import BaseJournalBackend
        from optuna.study import StudyDirection
    except ImportError:
        raise StoreError("--optuna needs Optuna: `pip install optuna`") from None

    class Lines(BaseJournalBackend):
        """A journal in memory, whose entries become the lines of a file."""

        def __init__(self) -> None:
            self.logs: list[dict[str, Any]] = []

        def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
            return iter(self.logs[log_number_from:])

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            self.logs += logs

    logging.set_verbosity(logging.WARNING)  # Optuna logs a line for each study
    lines = Lines()
    storage = JournalStorage(lines)
    names = dict(zip(curves.methods, curves.names, strict=True))
    known = set()
    for store, f in fragments:
        setup = f.setup
        try:
            table = f.table()
        except Torn as error:
            store.set_aside(f.path, str(error))
            continue
        for run, span in f.spans():
            if setup.run_id(run.seed) in known:
                continue  # the run is in two stores
            known.add(setup.run_id(run.seed))
            rows = table[span].to_pylist()
            name = f"{names[setup.method]} on {setup.bench}, {setup.constraint}, seed {run.seed}"
            maximised = [scale[2] for scale in setup.setting.scales] or [False]
            directions = [StudyDirection.MAXIMIZE if up else StudyDirection.MINIMIZE for up in maximised]
            study = create_study(storage=storage, study_name=name, directions=directions)
            study.set_user_attr("objective", f"{setup.setting.objective} {setup.setting.unit}".rstrip())
            study.set_user_attr("protocol", setup.protocol)
            columns = [f"metric.{objective}" for objective in setup.objectives] or ["objective"]
            whole = [row for row in rows if row["level"] >= setup.setting.highest]
            study.add_trials(_trials(run, whole, columns))
    named = (line | {"worker_id": _WORKER} for line in lines.logs)  # Optuna's is drawn at random
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in named).encode()


def _trials(run: RunRecord, rows: Sequence[dict[str, Any]], objectives: Sequence[str]) -> list[FrozenTrial]:
    """The evaluations of a run as trials.

    Args:
        objectives: the columns of the objectives.
    """
    from optuna.trial import TrialState, create_trial

    configurations = [json.loads(row["configuration"] or "{}") for row in rows]
    spaces = _distributions(configurations)
    begin = datetime.fromisoformat(run.began or "1970-01-01T00:00:00+00:00")
    trials = []
    for row, configuration in zip(rows, configurations, strict=True):
        done = row["status"] == "ok"
        named = {name.removeprefix("metric."): row[name] for name in row if name.startswith("metric.")}
        attributes = {name: value for name, value in named.items() if math.isfinite(value)}
        words = {name: row[name] for name in ("status", "reason") if not done}
        distributions = {name: distribution for name, distribution in spaces.items() if name in configuration}
        trial = create_trial(
            state=TrialState.COMPLETE if done else TrialState.FAIL,
            values=[row[name] for name in objectives] if done else None,
            params={name: configuration[name] for name in distributions},
            distributions=distributions,
            user_attrs=attributes | words | {"worker": row["worker"]},
            system_attrs={"constraints": [0.0 if row["feasible"] else 1.0]},
        )
        trial.datetime_start, trial.datetime_complete = (
            begin + timedelta(seconds=min(row[end], _LATEST)) for end in ("started", "finished")
        )
        trials.append(trial)
    return trials


def _distributions(configurations: Sequence[dict[str, Any]]) -> dict[str, BaseDistribution]:
    """The range of each hyper-parameter in a run's configurations; other values (graphs) have none."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    tried: dict[str, list[Any]] = {}
    for configuration in configurations:
        for name, value in configuration.items():
            tried.setdefault(name, []).append(value)
    distributions: dict[str, BaseDistribution] = {}
    for name, values in tried.items():
        kinds = {type(value) for value in values}
        if kinds == {int}:
            distributions[name] = IntDistribution(min(values), max(values))
        elif kinds <= {int, float}:
            distributions[name] = FloatDistribution(min(values), max(values))
        elif kinds <= {int, float, bool, str, type(None)}:
            distributions[name] = CategoricalDistribution(list(dict.fromkeys(values)))
    return distributions
