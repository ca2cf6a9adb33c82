"""A table of the user's own: a CSV or Parquet file, and a specification (TOML) of what its columns are."""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from nasbench.benchmarks.base import Status
from nasbench.benchmarks.metrics import Metric, sounds_held_out
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal, textfile
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.benchmarks.spaces.network_grids import grid
from nasbench.benchmarks.tabular import embedded, nasbench_graph
from nasbench.benchmarks.tabular.imported import NAME, Table
from nasbench.benchmarks.tabular.table import Array

MOST_ABSENT = 100
"""Most configurations of a grid per row of the file: in a larger grid some column is no hyper-parameter."""
_MISSING: dict[str, Status] = {"invalid": "failed", "infeasible": "infeasible"}
_MOST_REPETITIONS = 255
_TOP = {
    "name": str,
    "family": str,
    "source": str,
    "licence": str,
    "cost": (str, int, float),
    "repetition": str,
    "missing": str,
    "space": str,
    "extract": dict,
    "hyperparameter": list,
    "metric": list,
}
_HYPERPARAMETER = {"name": str, "column": str, "kind": str, "values": list, "log": bool}
_METRIC = {
    "name": str,
    "column": str,
    "unit": str,
    "direction": str,
    "description": str,
    "split": str,
    "epoch": int,
    "cheap": bool,
    "complement_of": (int, float),
    "missing_value": (int, float),
}


def read_table(data: Path, spec: Path) -> Table:
    """A table from a CSV (also compressed) or Parquet file, as its specification says.

    Raises UsageError, naming file and column, if either cannot be read, or they do not fit.
    """
    facts = _read_spec(spec)
    texts = {
        h.get("column", h["name"])
        for h in facts["hyperparameter"]
        if h.get("values") and all(isinstance(value, str) for value in h["values"])
    }
    wanted = _columns(facts)
    frame = _read_frame(data, wanted, facts.get("extract", {}), texts & wanted.keys(), spec)
    hyperparameters = [_hyperparameter(h, frame, spec) for h in facts["hyperparameter"]]
    try:
        space = grid(facts.get("space", ""), hyperparameters)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    if space.size > MOST_ABSENT * len(frame):
        raise UsageError(
            f"the hyper-parameters of {spec} span {space.size:,} configurations, but {data} has {len(frame):,} rows: "
            "a table has most of its grid"
        )
    names = [h.get("column", h["name"]) for h in facts["hyperparameter"]]
    rows = _rows(frame, space, names, data)
    metrics = [_metric(m, spec) for m in facts["metric"]]
    columns = [_numbers(frame, m, data) for m in facts["metric"]]
    cost = facts["cost"]
    if not isinstance(cost, str):
        metrics.append(Metric("cost", "s", description="of an evaluation, as the specification says"))
        columns.append(np.full(len(frame), float(cost)))
        cost = "cost"
    if metrics[0].split is None:
        raise UsageError(f"the objective {metrics[0].name} of {spec} needs a split: on which data is it measured?")
    by_name = {m.name: column for m, column in zip(metrics, columns, strict=True)}
    if len(by_name) < len(metrics):
        raise UsageError(f"{spec} gives two metrics the same name: {', '.join(m.name for m in metrics)}")
    if cost not in by_name:
        raise unknown(f"metric as the cost in {spec}", cost, by_name)
    known = np.isfinite(columns[0])
    if not (np.isfinite(by_name[cost][known]) & (by_name[cost][known] >= 0)).all():
        raise UsageError(f"the cost {cost} of {data} must be a finite number of seconds, 0 or more, in every row")
    values = _values(frame, facts.get("repetition"), rows, columns, space.size, data)
    absent = int((~np.isfinite(values[:, :, 0]).any(axis=1)).sum())
    if absent and "missing" not in facts:
        raise UsageError(
            f"{absent} of the {space.size} configurations of the grid have no value of {metrics[0].name} in {data}: "
            f'put missing = "invalid" into {spec} if asking for them is to be a failed evaluation, missing = '
            '"infeasible" if they cannot be evaluated at all'
        )
    if absent == space.size:
        raise UsageError(f"{data} has no value of {metrics[0].name} at all")
    with data.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    source = f"{facts.get('source', 'imported by the user')}; {data.name}, sha256:{digest}"
    licence = facts.get("licence", "as its owner says")
    return Table(
        facts["name"],
        facts.get("family", facts["name"]),
        space,
        tuple(metrics),
        cost,
        source,
        licence,
        values,
        absent=_MISSING[facts.get("missing", "invalid")],
    )


def _read_spec(spec: Path) -> dict[str, Any]:
    try:
        facts = textfile.parse_toml(spec, textfile.read(spec))
    except OSError as error:
        raise UsageError(f"cannot read the specification {spec}: {error.strerror}") from None
    _check(facts, _TOP, ("name", "cost", "hyperparameter", "metric"), str(spec))
    for section, keys, needed in (
        ("hyperparameter", _HYPERPARAMETER, ("name", "kind")),
        ("metric", _METRIC, ("name",)),
    ):
        if not facts[section] or not all(isinstance(entry, dict) for entry in facts[section]):
            raise UsageError(f"{spec} needs one or more [[{section}]] sections")
        for number, entry in enumerate(facts[section], 1):
            _check(entry, keys, needed, f"{spec}, [[{section}]] number {number}")
    name = facts["name"]
    if name in (*embedded.NAMES, *nasbench_graph.NAMES):
        raise UsageError(f"name = {name!r} in {spec} is that of an embedded table: give yours another")
    if not re.fullmatch(NAME, name):
        raise UsageError(
            f"name = {name[:70]!r} in {spec} must be a letter, then up to 59 letters, digits, +, _ or -, all lower-case"
        )
    if facts.get("missing", "invalid") not in _MISSING:
        raise UsageError(f"missing = {facts['missing']!r} in {spec} is not understood; allowed: {', '.join(_MISSING)}")
    return facts


def _check(facts: dict[str, Any], keys: dict[str, Any], needed: Iterable[str], where: str) -> None:
    for key, value in facts.items():
        if key not in keys:
            raise unknown(f"key in {where}:", key, keys)
        if not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
            raise UsageError(f"{key} in {where} has the wrong type: {value!r}")
        if isinstance(value, str) and not value.isprintable():
            raise UsageError(f"{key} in {where} must be one line of printable text, not {value!r}")
    for key in needed:
        if key not in facts:
            raise UsageError(f"{where} lacks the key {key!r}; allowed: {', '.join(keys)}")


def _columns(facts: dict[str, Any]) -> dict[str, str]:
    """The file's columns that are needed, and what for; those an `extract` pattern makes are not the file's."""
    wanted = {}
    made: set[str] = set()
    for column, pattern in facts.get("extract", {}).items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what a pattern will mean in a later Python
                made |= set(re.compile(pattern).groupindex)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise UsageError(f"the pattern that extracts from {column} is not a regular expression: {error}") from None
        wanted[column] = "extract"
    for section in ("hyperparameter", "metric"):
        for entry in facts[section]:
            column = entry.get("column", entry["name"])
            if column not in made:
                wanted[column] = f"{section} {entry['name']}"
    if "repetition" in facts:
        wanted[facts["repetition"]] = "repetition"
    return wanted


def _conversions(wanted: dict[str, str], texts: set[str]) -> pc.ConvertOptions:
    """How CSV columns are read: those in `texts` stay text ("01" is not 1), and an empty cell has no value."""
    types = dict.fromkeys(texts, pa.string())
    return pc.ConvertOptions(include_columns=list(wanted), column_types=types, strings_can_be_null=True)


def _read_frame(
    data: Path, wanted: dict[str, str], extract: dict[str, str], texts: set[str], spec: Path
) -> pd.DataFrame:
    try:
        if data.suffix == ".parquet":
            found = pq.read_schema(data).names
        else:
            with pc.open_csv(data) as reader:
                found = reader.schema.names
        for column, purpose in wanted.items():
            if column not in found and len(found) == 1:
                raise UsageError(f"{data} has one column only, {found[0][:60]!r}: is the separator a comma?")
            if column not in found:
                raise unknown(f"column ({purpose}, says {spec}) of {data}", column, found)
        table = (
            pq.read_table(data, columns=list(wanted))
            if data.suffix == ".parquet"
            else pc.read_csv(data, convert_options=_conversions(wanted, texts))
        )
    except UnicodeDecodeError:
        raise UsageError(f"{data} is not UTF-8 text: convert it (iconv -t utf-8)") from None
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError):
            raise UsageError(f"cannot read {data}: there is no such file") from None
        text = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UsageError(f"{data} is not a readable table (CSV, also compressed, or Parquet): {text}") from None
    for column in table.schema:
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            raise UsageError(f"column {column.name} of {data} is not UTF-8 text: convert it (iconv -t utf-8)")
    if not table.num_rows:
        raise UsageError(f"{data} has no rows")
    twice = [name for name in wanted if found.count(name) > 1]
    if twice:
        raise UsageError(f"{data} has two columns called {twice[0]}: rename one")
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    for column, pattern in extract.items():
        parts = frame[column].astype(str).str.extract(pattern)
        bad = parts.isna().any(axis=1)
        if bad.any():
            raise UsageError(
                f"{column} of {data} does not match its pattern in row {_row(bad)}: {frame[column][bad].iloc[0]!r}"
            )
        frame[parts.columns] = parts
    return frame


def _hyperparameter(facts: dict[str, Any], frame: pd.DataFrame, spec: Path) -> Categorical | Ordinal:
    column = frame[facts.get("column", facts["name"])]
    if column.isna().any():
        raise UsageError(f"{column.name} has no value in row {_row(column.isna())}: a hyper-parameter always has one")
    kind = facts["kind"]
    if kind == "ordinal" and not pd.api.types.is_numeric_dtype(column):
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().all():
            frame[column.name] = column = numbers  # extracted from text
    try:
        values = tuple(facts.get("values") or sorted(column.unique().tolist()))
    except TypeError:
        values = (None,)
    if not all(isinstance(value, str | int | float | bool) for value in values):
        raise UsageError(f"the values of {facts['name']} ({column.name} of {spec}) must be text, numbers or booleans")
    if kind == "categorical":
        return Categorical(facts["name"], values)
    if kind != "ordinal":
        raise UsageError(f"kind = {kind!r} of {facts['name']} in {spec} is unknown; allowed: categorical, ordinal")
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values):
        raise UsageError(f"{facts['name']} is ordinal in {spec}, but not all of its values are numbers: {values[:5]}")
    return Ordinal(facts["name"], values, facts.get("log", False))


def _rows(frame: pd.DataFrame, space: GridSpace, columns: list[str], data: Path) -> np.ndarray:
    """The row of the grid that each row of the file is about."""
    rows = np.zeros(len(frame), np.int64)
    for hyperparameter, name, size in zip(space.hyperparameters, columns, space.sizes, strict=True):
        levels = {value: i for i, value in enumerate(hyperparameter.values)}
        choices = frame[name].map(levels)
        if choices.isna().any():
            bad = frame[name][choices.isna()].iloc[0]
            raise UsageError(
                f"{name} is {bad!r} in row {_row(choices.isna())} of {data}, which is not among its values: "
                f"{', '.join(map(str, hyperparameter.values))}"
            )
        rows = rows * size + choices.to_numpy(np.int64)
    return rows


def _metric(facts: dict[str, Any], spec: Path) -> Metric:
    name, split, epoch = facts["name"], facts.get("split"), facts.get("epoch")
    if not re.fullmatch(r"[A-Za-z][\w.-]*(@\d+)?", name):
        raise UsageError(
            f"metric name {name!r} of {spec} must be a letter, then letters, digits, _, . or -, and may end in @epoch"
        )
    if split is None and (epoch is not None or sounds_held_out(name) or sounds_held_out(facts.get("column", ""))):
        raise UsageError(
            f'metric {name} of {spec} is measured on data: its split must say on which (split = "valid"); one whose '
            "name contains test or holdout is reported, and never selected on"
        )
    if split is not None and not name.startswith(f"{split}-"):
        raise UsageError(f"metric {name} of {spec} is measured on {split}: its name must begin with {split}-")
    if epoch is not None and not name.endswith(f"@{epoch}"):
        raise UsageError(f"metric {name} of {spec} is measured at epoch {epoch}: its name must end in @{epoch}")
    direction = facts.get("direction", "minimise")
    if direction not in ("minimise", "maximise"):
        raise UsageError(f"direction = {direction!r} of {name} in {spec} is unknown; allowed: minimise, maximise")
    return Metric(
        name,
        facts.get("unit", ""),
        direction == "minimise",
        facts.get("description", ""),
        split,
        epoch,
        facts.get("cheap", False),
    )


def _numbers(frame: pd.DataFrame, facts: dict[str, Any], data: Path) -> Array:
    column = frame[facts.get("column", facts["name"])]
    if column.dtype.kind not in "iufbO" and not pd.api.types.is_string_dtype(column):
        raise UsageError(f"{column.name} of {data} holds {column.dtype}, not numbers")
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    bad = numbers.isna() & column.notna()
    if bad.any():
        raise UsageError(f"{column.name} is {column[bad].iloc[0]!r} in row {_row(bad)} of {data}: not a number")
    if "missing_value" in facts:
        numbers[numbers == facts["missing_value"]] = np.nan
    values: Array = numbers.to_numpy()
    if "complement_of" in facts:
        values = facts["complement_of"] - values
        if (values < 0).any():
            raise UsageError(f"{column.name} of {data} exceeds complement_of = {facts['complement_of']}")
    return values


def _values(
    frame: pd.DataFrame, repetition: str | None, rows: np.ndarray, columns: list[Array], size: int, data: Path
) -> Array:
    """The metrics by (configuration, repetition, metric); a row without the objective is no repetition."""
    numbers = pd.factorize(frame[repetition].astype(str), sort=True)[0] if repetition else 0
    keys = pd.DataFrame({"row": rows, "repetition": numbers})
    twice = keys.duplicated()
    if twice.any():
        advice = (
            f" with the same {repetition}" if repetition else "; if it is a repetition, name the column that numbers it"
        )
        raise UsageError(
            f"row {_row(twice)} of {data} repeats the configuration of an earlier one{advice} (or is another column a "
            "hyper-parameter, too?)"
        )
    known = np.isfinite(columns[0])
    kept = keys[known].sort_values(["row", "repetition"])
    number = kept.groupby("row").cumcount().to_numpy()
    if number.max(initial=0) > _MOST_REPETITIONS - 1:
        raise UsageError(f"{data} has a configuration with more than {_MOST_REPETITIONS} repetitions")
    values = np.full((size, int(number.max(initial=0)) + 1, len(columns)), np.nan)
    for i, column in enumerate(columns):
        values[kept["row"].to_numpy(), number, i] = column[kept.index.to_numpy()]
    return values


def _row(mask: pd.Series[bool]) -> int:
    """The first row, from 1, where a mask holds (the header is row 0)."""
    return int(np.flatnonzero(mask.to_numpy())[0]) + 1
