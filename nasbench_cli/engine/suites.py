"""Suites: grids of runs, described in a TOML file or by options."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from nasbench.base import textfile
from nasbench.base.errors import NasbenchError, check_choice, unknown, unprintable
from nasbench.base.options import KINDS
from nasbench.base.registry import NotHere
from nasbench.benchmarks import BenchmarkSpec, UsageError
from nasbench.cli.engine.keys import KEYS, Key, check_benchmark, grid_of, with_defaults
from nasbench.cli.engine.plan import Grid, PlannedSetup, parse_seeds
from nasbench.cli.engine.suite_files import found, suite_files
from nasbench.methods import MethodSpec
from nasbench.results.scores import names as scores
from nasbench.results.selection import check_label
from nasbench.results.store.plans import PlanShard, digest_of

T = TypeVar("T")

_WORDS = {str: 'text in "quotes"', dict: "a table", **KINDS}
"""The words for types of TOML in messages to the user."""


@dataclass(frozen=True)
class Suite:
    """Grids of runs, and the settings of their report."""

    grids: tuple[Grid, ...]
    """The grids; a setup that lies in two of them is run once."""
    title: str = ""
    """Title of the report; empty for a grid that comes from options."""
    checkpoints: tuple[int, ...] = ()
    """Evaluation counts at which the report compares methods, ascending."""
    baseline: str | None = None
    """Label of the method that the report compares the others with; None lets the report choose."""
    score: str | None = None
    """Name of the score by which the report compares incumbents; None: its default."""
    labels: tuple[tuple[str, str], ...] = ()
    """Pairs of a method's label in the store and its short name in the report."""

    def without(self, names: Sequence[str]) -> Suite:
        """The suite without some methods, given by name or label. Raises UsageError for a name that it lacks."""
        known = {text for grid in self.grids for spec in grid.methods for text in (spec.name, spec.label)}
        for name in names:
            check_choice("method of this suite", name, known)
        kept = [
            replace(grid, methods=tuple(s for s in grid.methods if s.name not in names and s.label not in names))
            for grid in self.grids
        ]
        grids = tuple(grid for grid in kept if grid.methods)
        if not grids:
            raise UsageError("--without leaves no method of the suite")
        return replace(self, grids=grids)

    def with_methods(self, names: Sequence[str]) -> Suite:
        """The suite with other methods in the place of its own. Raises UsageError for an unknown method or option."""
        methods = tuple(MethodSpec.of(name) for name in names)
        return replace(self, grids=tuple(replace(grid, methods=methods, places={}) for grid in self.grids))

    def on(self, names: Sequence[str]) -> Suite:
        """The suite on some of its benchmarks. Raises UsageError for a benchmark that it lacks."""
        known = {name for grid in self.grids for name in grid.benchmarks}
        labels = [benchmark_label(name) for name in names]
        for name in labels:
            check_choice("benchmark of this suite", name, known)
        kept = [replace(g, benchmarks=tuple(name for name in g.benchmarks if name in labels)) for g in self.grids]
        return replace(self, grids=tuple(grid for grid in kept if grid.benchmarks))

    def with_seeds(self, value: str | int) -> Suite:
        """The suite with its first N seeds, or with those from A to B-1 (`A:B`). Raises UsageError if it has fewer."""
        seeds, first = parse_seeds(value), ":" not in str(value)
        grids = [
            replace(grid, seeds=grid.seeds[: len(seeds)] if first else tuple(s for s in grid.seeds if s in set(seeds)))
            for grid in self.grids
        ]
        most = max((len(grid.seeds) for grid in grids), default=0)
        if most < len(seeds):
            own = max((grid.seeds for grid in self.grids), key=len)
            raise UsageError(
                f"--seeds {value} is more than this suite has: its seeds are {own[0]} to {own[-1]}; a suite file of "
                "your own may have more"
            )
        return replace(self, grids=tuple(grid for grid in grids if grid.seeds))

    @property
    def display(self) -> dict[str, Any]:
        """Settings for reports that the store keeps: title, checkpoints and so on; empty for a grid of options."""
        facts = {
            "title": self.title,
            "checkpoints": list(self.checkpoints),
            "baseline": self.baseline,
            "score": self.score,
            "labels": dict(self.labels),
        }
        return facts if self.title else {}


@dataclass(frozen=True)
class Shard:
    """One of several shards of a suite: disjoint sets of runs that together are the whole suite."""

    number: int
    """Number of this shard, from 1 to `count`."""
    count: int
    """Number of shards."""

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Reads `2/8` as the second of eight shards. Raises UsageError for anything else."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(f"shard {text[:30]!r} must be i/n with 1 <= i <= n, for example 2/8")
        return cls(int(match[1]), int(match[2]))

    def place(self, planned: Sequence[PlannedSetup]) -> PlanShard:
        """Its place in the whole plan, as a store keeps it."""
        whole = digest_of((p.setup, p.seeds) for p in planned)
        return PlanShard(self.number, self.count, whole, sum(len(p.seeds) for p in planned))

    def of(self, planned: Sequence[PlannedSetup]) -> list[PlannedSetup]:
        """The runs of this shard: every `count`-th run over all setups, so that each shard has seeds of each method."""
        chosen, first = [], self.number - 1
        for p in planned:
            chosen.append(replace(p, seeds=p.seeds[first % self.count :: self.count]))
            first -= len(p.seeds)
        return [p for p in chosen if p.seeds]


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


def method_label(method: str) -> str:
    """The label of a method as stores use it; unchanged if the method is no longer installed."""
    try:
        return MethodSpec.of(method).label
    except UsageError:
        return method


def benchmark_label(name: str) -> str:
    """The canonical name of a benchmark; unchanged if there is none of that name here."""
    try:
        return check_benchmark(name)
    except UsageError:
        return name


def check_score(name: str) -> str:
    """Returns the name of a score. Raises UsageError, with the allowed names, if there is none of that name."""
    if name not in scores():
        raise unknown("score", str(name), scores())
    return name


def with_target(names: Sequence[str], target: str) -> tuple[str, ...]:
    """Adds the column to predict to benchmarks of the form `KIND:FILE[@STEPS]`.

    Raises UsageError if none of the names has that form.
    """
    if not any(":" in name for name in names):
        raise UsageError("--target is for benchmarks on a file, as in --bench mlp:houses.csv --target price")
    return tuple(BenchmarkSpec.parse(name, target).label if ":" in name else name for name in names)


def load_suite(path: Path) -> Suite:
    """Reads a suite file; `quick` means suites/quick.toml, in the working directory or among those of nasbench.

    Raises UsageError, with the file, the line and the key, if something in it is wrong.
    """
    path = found(path)
    try:
        text = textfile.read(path)
    except FileNotFoundError:
        known = unknown("suite", path.stem, (p.stem for p in suite_files()))
        raise UsageError(f"there is no file {path}: {known}") from None
    except OSError as error:
        raise UsageError(f"cannot read the suite {path}: {error.strerror}") from None
    return _Reader(path, text).suite(textfile.parse_toml(path, text))


class _Reader:
    """Turns the keys of one file into a suite; an error names the line of the wrong key."""

    _GRID = tuple(key.name for key in KEYS)
    _TOP = ("title", "checkpoints", "baseline", "score", "labels", "grid")

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._lines = path, text.splitlines()
        self._block = (0, 0)
        self._named: list[str] = []  # the benchmarks of all grids

    def suite(self, facts: dict[str, Any]) -> Suite:
        for key in facts:
            if key not in self._TOP + self._GRID:
                self._fail(key, unknown("key", key, self._TOP + self._GRID))
        shared = {key: facts[key] for key in facts if key in self._GRID}
        grids = facts.get("grid", [{}])
        if not isinstance(grids, list) or not grids or not all(isinstance(grid, dict) for grid in grids):
            self._fail("grid", "must be tables [[grid]]")
        named = [grid.get("benchmarks") for grid in (shared, *grids)]
        self._named = [name for names in named if isinstance(names, list) for name in names if isinstance(name, str)]
        baseline = facts.get("baseline")
        checkpoints = self._list("checkpoints", facts.get("checkpoints", (50, 100, 150, 200)), int)
        suite = Suite(
            title=self._typed("title", facts.get("title", self._path.stem), str) or self._path.stem,
            grids=tuple(self._grid(number, shared, grid) for number, grid in enumerate(grids)),
            checkpoints=self._parse("checkpoints", _ascending, checkpoints),
            score=self._parse("score", check_score, facts["score"]) if "score" in facts else None,
        )
        self._block = (0, 0)
        if why := unprintable(suite.title):
            self._fail("title", f"must be one line of printable text, but {why}")
        if suite.score == "share" and not all(len(grid.objectives) > 1 for grid in suite.grids):
            self._fail("score", "must be another one where there is one objective: share is of several")
        evals = [grid.protocol.evals or math.inf for grid in suite.grids]
        beyond = [checkpoint for checkpoint in suite.checkpoints if checkpoint > max(evals)]
        if beyond and "checkpoints" in facts:
            self._fail("checkpoints", f"must lie within the evals ({max(evals)}), not {beyond}")
        labels = self._typed("labels", facts.get("labels", {}), dict)
        known = [
            (self._method("labels", spec, suite), self._typed("labels", short, str)) for spec, short in labels.items()
        ]
        for _, short in known:
            self._parse("labels", check_label, short)
        suite = replace(suite, labels=tuple(known))
        names = Counter(dict(known).get(spec, spec) for spec in {s.label for grid in suite.grids for s in grid.methods})
        if twice := [name for name, number in names.items() if number > 1]:
            self._fail("labels", f"would call two methods {twice[0]!r}")
        return suite if baseline is None else replace(suite, baseline=self._method("baseline", baseline, suite))

    def _method(self, key: str, value: object, suite: Suite) -> str:
        """The label of a method that the suite has."""
        label: str = self._parse(key, MethodSpec.of, self._typed(key, value, str)).label
        methods = {spec.label for grid in suite.grids for spec in grid.methods}
        if label not in methods:
            self._fail(key, unknown("method of this suite", label, methods))
        return label

    def _grid(self, number: int, shared: dict[str, Any], grid: dict[str, Any]) -> Grid:
        starts = [i for i, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*grid\s*\]\]", line)]
        if number < len(starts):
            self._block = (starts[number], [*starts, len(self._lines)][number + 1])
        for key in grid:
            if key not in self._GRID:
                self._fail(key, unknown("key of a grid", key, self._GRID))
        values = with_defaults({"seeds": 1} | shared | grid)
        read = {key.name: self._parse(key.name, key.read, self._value(key, values[key.name])) for key in KEYS}
        return grid_of(read, {key: self._place(key) for key in ("methods", "constraints", "objectives")})

    def _value(self, key: Key, value: Any) -> Any:
        """The value of a key, whose type is checked."""
        if key.several and value == key.default == ():
            return value
        if key.several:
            return self._list(key.name, value, *key.types)
        return value if value is None else self._typed(key.name, value, *key.types)

    def _list(self, key: str, values: Any, kind: type) -> Sequence[Any]:
        if values is None:
            raise UsageError(f"{self._path} lacks the key {key}: a list with at least one item, each {_WORDS[kind]}")
        if not isinstance(values, list | tuple) or not values or not all(type(value) is kind for value in values):
            self._fail(key, f"must be a list with at least one item, each {_WORDS[kind]}")
        return values

    def _typed(self, key: str, value: Any, *kinds: type) -> Any:
        if type(value) not in kinds:
            allowed = " or ".join(_WORDS[kind] for kind in kinds if kind in _WORDS)
            self._fail(key, f"must be {allowed}, not {value!r}")
        return value

    def _parse(self, key: str, parse: Callable[[Any], T], value: Any) -> T:
        try:
            return parse(value)
        except NotHere as error:
            others = self._not_here_either(error.command)
            raise NotHere(f"{self._place(key)}: {error}{others}", error.command) from None
        except NasbenchError as error:
            self._fail(key, error)

    def _not_here_either(self, first: str) -> str:
        """The commands that bring other data that the suite lacks, besides the first, as the end of a sentence."""
        commands: dict[str, None] = {}
        for name in self._named:
            try:
                check_benchmark(name)
            except NotHere as error:
                commands[error.command] = None
            except UsageError:
                pass  # said when its turn comes
        others = [command for command in commands if command not in (first, "")]
        return f"; the suite needs more that is not here: {', '.join(others)}" if others else ""

    def _fail(self, key: str, problem: object) -> NoReturn:
        raise UsageError(f"{self._place(key)}: {problem}")

    def _place(self, key: str) -> str:
        """File, line and name of a key in the current grid, or else above the grids."""
        pattern = re.compile(rf"\s*(\[+\s*)?{re.escape(key)}\b")
        first, end = self._block
        places = [*range(first, end), *range(len(self._lines))]
        line = next((i + 1 for i in places if pattern.match(self._lines[i])), None)
        return f"{self._path}, line {line}: {key}" if line else f"{self._path}: {key}"
