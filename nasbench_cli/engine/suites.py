"""Suites: grids of runs, described in a TOML file or by options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from nasbench.benchmarks import BenchmarkSpec, UsageError, parse_constraints
from nasbench.benchmarks.spaces import textfile
from nasbench.benchmarks.spaces.errors import unknown
from nasbench.cli.engine.plan import Grid, PlannedCell, Protocol
from nasbench.methods import MethodSpec
from nasbench.methods.spec import KINDS
from nasbench.results.store.trajectory import SCORES

T = TypeVar("T")

_OURS = Path(__file__).parents[2] / "suites"
_WORDS = {str: 'text in "quotes"', dict: "a table", **KINDS}
"""How a user is told of the types of TOML."""


@dataclass(frozen=True)
class Suite:
    """Grids of runs, and what their report should show."""

    grids: tuple[Grid, ...]
    """The grids; a cell that lies in two of them is run once."""
    title: str = ""
    """Title of the report; empty for a grid that comes from options."""
    checkpoints: tuple[int, ...] = ()
    """Evaluation counts at which the report compares methods, ascending."""
    baseline: str | None = None
    """Label of the method that the report compares the others with; None: the report chooses."""
    score: str = "mean"
    """What a report compares on tables: the incumbent's `mean` over repetitions, or its `observed` value."""
    labels: tuple[tuple[str, str], ...] = ()
    """Short names that the report gives to methods: pairs of a method's label in the store and its short name."""

    def without(self, names: Sequence[str]) -> Suite:
        """The suite without some methods, given by name or label. Raises UsageError for one that it does not have."""
        known = {text for grid in self.grids for spec in grid.methods for text in (spec.name, spec.label)}
        for name in names:
            if name not in known:
                raise unknown("method of this suite", name, known)
        kept = [
            replace(grid, methods=tuple(s for s in grid.methods if s.name not in names and s.label not in names))
            for grid in self.grids
        ]
        grids = tuple(grid for grid in kept if grid.methods)
        if not grids:
            raise UsageError("--without leaves no method of the suite")
        return replace(self, grids=grids)

    @property
    def wishes(self) -> dict[str, Any]:
        """What the store keeps for its reports: its title, checkpoints and so on; empty for a grid of options."""
        facts = {
            "title": self.title,
            "checkpoints": list(self.checkpoints),
            "baseline": self.baseline,
            "score": self.score,
            "labels": dict(self.labels),
        }
        return facts if self.title else {}


def asked_grid(
    methods: Sequence[str],
    benchmarks: Sequence[str],
    constraints: Sequence[str],
    seeds: int | str,
    protocol: Protocol,
) -> Grid:
    """The grid that a user names: on the command line, or from Python.

    Raises UsageError, with the nearest name, for whatever is not there.
    """
    return Grid(
        methods=tuple(map(MethodSpec.parse, methods)),
        benchmarks=tuple(map(check_benchmark, benchmarks)),
        constraints=(parse_constraints(constraints),),
        seeds=parse_seeds(seeds),
        protocol=protocol,
    )


def parse_seeds(value: str | int) -> tuple[int, ...]:
    """Reads seeds: `20` means 0 … 19, and `5:8` means 5, 6, 7. Raises UsageError for anything else."""
    match = re.fullmatch(r"(?:(\d{1,9}):)?(\d{1,9})", str(value).strip())
    seeds = range(int(match[1] or 0), int(match[2])) if match else range(0)
    if not 0 < len(seeds) <= 1_000_000:
        raise UsageError(f"seeds {value!r} name no seed; write a count (20) or first:end (5:8 for 5, 6, 7)")
    return tuple(seeds)


@dataclass(frozen=True)
class Shard:
    """One of several parts of a suite, which are disjoint and together all of it."""

    number: int
    """Which part, from 1 to `count`."""
    count: int
    """Number of parts."""

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Reads `2/8` as the second of eight parts. Raises UsageError for anything else."""
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"shard {text[:30]!r} must be i/n with 1 <= i <= n, for example 2/8")
        return cls(int(found[1]), int(found[2]))

    def of(self, planned: Sequence[PlannedCell]) -> list[PlannedCell]:
        """The runs of this part: every `count`-th run over all cells, so that each part has seeds of each method."""
        found, first = [], self.number - 1
        for p in planned:
            found.append(replace(p, seeds=p.seeds[first % self.count :: self.count]))
            first -= len(p.seeds)
        return [p for p in found if p.seeds]


def parse_checkpoints(value: str) -> tuple[int, ...]:
    """Reads `50,100,200` as ascending evaluation counts. Raises UsageError for anything else."""
    try:
        return _ascending(int(part) for part in value.split(","))
    except ValueError:
        raise UsageError(f"checkpoints {value!r} must be evaluation counts, for example 50,100,200") from None


def _ascending(counts: Iterable[int]) -> tuple[int, ...]:
    points = tuple(sorted(set(counts)))
    if points[0] < 1:
        raise UsageError(f"a checkpoint must be at least 1, not {points[0]}")
    return points


def check_benchmark(name: str) -> str:
    """The canonical name of an existing benchmark. Raises UsageError, with the nearest name, if there is none."""
    return BenchmarkSpec.parse(name).label


def method_label(method: str) -> str:
    """The label of a method as stores use it; unchanged if the method is no longer installed."""
    try:
        return MethodSpec.parse(method).label
    except UsageError:
        return method


def check_score(name: str) -> str:
    """Returns a kind of score if it is `mean` or `observed`. Raises UsageError for anything else."""
    if name not in SCORES:
        raise unknown("score", str(name), SCORES)
    return name


def with_target(names: Sequence[str], target: str) -> tuple[str, ...]:
    """Adds the column to predict to benchmarks of the form `KIND:FILE[@STEPS]`.

    Raises UsageError if none of the names has that form.
    """
    if not any(":" in name for name in names):
        raise UsageError("--target is for benchmarks on a file, as in --bench mlp:houses.csv --target price")
    return tuple(BenchmarkSpec.parse(name, target).label if ":" in name else name for name in names)


def suite_files() -> list[Path]:
    """The suite files of the folder `suites` in the working directory, or else those that come with nasbench."""
    here = Path("suites")
    return sorted((here if here.is_dir() else _OURS).glob("*.toml"))


def load_suite(path: Path) -> Suite:
    """Reads a suite file; `quick` means suites/quick.toml, here or among those that come with nasbench.

    Raises UsageError that names the file, the line and the key of what is wrong.
    """
    path = _found(path)
    try:
        text = textfile.read(path)
    except FileNotFoundError:
        known = unknown("suite", path.stem, (p.stem for p in suite_files()))
        raise UsageError(f"there is no file {path}: {known}") from None
    except OSError as error:
        raise UsageError(f"cannot read the suite {path}: {error.strerror}") from None
    return _Reader(path, text).suite(textfile.parse_toml(path, text))


def _found(path: Path) -> Path:
    """The suite file that a path means: it may lack its suffix, or be the name of one that comes with nasbench."""
    if path.exists():
        return path
    name = path.name.removesuffix(".toml") + ".toml"
    folders = (Path("suites"), _OURS) if path.parent in (Path(), Path("suites")) else (path.parent,)
    return next((folder / name for folder in folders if (folder / name).exists()), path.with_name(name))


class _Reader:
    """Turns the keys of one file into a suite; an error names the line of the wrong key."""

    _PROTOCOL = ("evals", "budget_seconds", "workers", "charge_thinking", "train_infeasible")
    _GRID = ("methods", "benchmarks", "constraints", "seeds", *_PROTOCOL)
    _TOP = ("title", "checkpoints", "baseline", "score", "labels", "grid")

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._lines = path, text.splitlines()
        self._block = (0, 0)

    def suite(self, facts: dict[str, Any]) -> Suite:
        for key in facts:
            if key not in self._TOP + self._GRID:
                self._fail(key, unknown("key", key, self._TOP + self._GRID))
        shared = {key: facts[key] for key in facts if key in self._GRID}
        grids = facts.get("grid", [{}])
        if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
            self._fail("grid", "must be tables [[grid]]")
        baseline = facts.get("baseline")
        checkpoints = self._list(facts, "checkpoints", int, [50, 100, 150, 200])
        suite = Suite(
            title=self._typed("title", facts.get("title", self._path.stem), str) or self._path.stem,
            grids=tuple(self._grid(number, shared, grid) for number, grid in enumerate(grids)),
            checkpoints=self._parse("checkpoints", _ascending, checkpoints),
            score=self._parse("score", check_score, facts.get("score", "mean")),
        )
        self._block = (0, 0)
        longest = [grid.protocol.evals for grid in suite.grids]
        if all(evals is not None and evals < suite.checkpoints[0] for evals in longest) and "checkpoints" in facts:
            self._fail("checkpoints", f"must lie within the evals, not {list(suite.checkpoints)}")
        labels = self._typed("labels", facts.get("labels", {}), dict)
        known = [
            (self._method("labels", spec, suite), self._typed("labels", short, str)) for spec, short in labels.items()
        ]
        suite = replace(suite, labels=tuple(known))
        return suite if baseline is None else replace(suite, baseline=self._method("baseline", baseline, suite))

    def _method(self, key: str, value: object, suite: Suite) -> str:
        """The label of a method that the suite has."""
        label: str = self._parse(key, MethodSpec.parse, self._typed(key, value, str)).label
        methods = {spec.label for grid in suite.grids for spec in grid.methods}
        if label not in methods:
            self._fail(key, unknown("method of this suite", label, methods))
        return label

    def _grid(self, number: int, shared: dict[str, Any], own: dict[str, Any]) -> Grid:
        starts = [i for i, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*grid\s*\]\]", line)]
        if number < len(starts):
            self._block = (starts[number], [*starts, len(self._lines)][number + 1])
        for key in own:
            if key not in self._GRID:
                self._fail(key, unknown("key of a grid", key, self._GRID))
        facts = shared | own
        seconds = facts.get("budget_seconds")
        protocol = {
            "evals": self._typed("evals", facts.get("evals", 200 if seconds is None else None), int, type(None)),
            "budget_seconds": self._typed("budget_seconds", seconds, int, float, type(None)),
            "workers": self._typed("workers", facts.get("workers", 1), int),
            "charge_thinking": self._typed("charge_thinking", facts.get("charge_thinking", False), bool),
            "train_infeasible": self._typed("train_infeasible", facts.get("train_infeasible", False), bool),
        }
        for key, value in protocol.items():  # one at a time, so that the wrong one is named
            if value is not None:
                field = "seconds" if key == "budget_seconds" else key
                self._parse(key, lambda facts: Protocol(**facts), {field: value})
        constraints = self._list(facts, "constraints", str, ["none"])
        return Grid(
            methods=self._each("methods", MethodSpec.parse, self._list(facts, "methods", str)),
            benchmarks=self._each("benchmarks", check_benchmark, self._list(facts, "benchmarks", str)),
            constraints=self._each("constraints", lambda text: parse_constraints([text]), constraints),
            seeds=self._parse("seeds", parse_seeds, self._typed("seeds", facts.get("seeds", 1), int, str)),
            protocol=Protocol(*(protocol[key] for key in self._PROTOCOL)),
            places={key: self._place(key) for key in ("methods", "constraints")},
        )

    def _list(self, facts: dict[str, Any], key: str, kind: type, default: list[Any] | None = None) -> list[Any]:
        values = facts.get(key, default)
        if not isinstance(values, list) or not values or not all(type(value) is kind for value in values):
            self._fail(key, f"must be a list with at least one item, each {_WORDS[kind]}")
        return values

    def _typed(self, key: str, value: Any, *kinds: type) -> Any:
        if type(value) not in kinds:
            allowed = " or ".join(_WORDS[kind] for kind in kinds if kind in _WORDS)
            self._fail(key, f"must be {allowed}, not {value!r}")
        return value

    def _each(self, key: str, parse: Callable[[Any], T], values: list[Any]) -> tuple[T, ...]:
        return tuple(self._parse(key, parse, value) for value in values)

    def _parse(self, key: str, parse: Callable[[Any], T], value: Any) -> T:
        try:
            return parse(value)
        except UsageError as error:
            self._fail(key, error)

    def _fail(self, key: str, problem: object) -> NoReturn:
        raise UsageError(f"{self._place(key)}: {problem}")

    def _place(self, key: str) -> str:
        """File, line and name of a key: that of the current grid, or else the one above the grids."""
        pattern = re.compile(rf"\s*(\[+\s*)?{re.escape(key)}\b")
        first, end = self._block
        places = [*range(first, end), *range(len(self._lines))]
        line = next((i + 1 for i in places if pattern.match(self._lines[i])), None)
        return f"{self._path}, line {line}: {key}" if line else f"{self._path}: {key}"
