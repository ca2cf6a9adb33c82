"""COCO: folders of its logger for one objective, such as those of BBOB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from nasbench.base.errors import UsageError
from nasbench.cli.outside._steps import LoggedRun, blocks, columns, frame_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import beginning, check_asked, files_below, member, near, text_of

_FACTS = {"function": r"funcId = *(\d+)", "dimension": r"DIM = *(\d+)"}
_SUITE = re.compile("suite = *'([^']*)'")
_RUN = re.compile(r"(\d{1,15}):(\d{1,15})\|\S+")
_BEST = 2
"""The column of the best noise-free value so far, less the optimum."""


class Coco(Reader):
    """A run on an instance: the distance to the optimum, at evaluations that came nearer to it by a step of COCO's."""

    title = "a folder of COCO"

    def knows(self, path: Path) -> bool:
        return any(b"funcId" in (text := beginning(info)) or b"indicator" in text for info in near(path, "*.info"))

    def read(self, path: Path, asked: Asked) -> Rows:
        check_asked(asked, ["best"], ["method"])
        runs = [run for info in files_below(path, "*.info") for run in _runs(info, asked.columns.get("method", ""))]
        if not runs:
            raise UsageError("no .info file in it names runs")
        frame, said = frame_of(runs, "best")
        note = f"the value is the distance to the optimum, as .dat files have it; {said}"
        return Rows(frame, "distance to the optimum", "best", "minimise", "", note)


def _runs(info: Path, method: str) -> Iterator[LoggedRun]:
    """The runs that a file names: for each dimension a line of facts, a comment, and a line of data."""
    facts: dict[str, str] = {}
    for line in filter(None, map(str.strip, text_of(info).splitlines())):
        if "indicator =" in line:
            raise UsageError(f"{info} has runs with two objectives, which are no runs with one value")
        if "funcId" in line:
            found = {name: re.search(pattern, line) for name, pattern in _FACTS.items()}
            facts = {name: match[1] for name, match in found.items() if match}
            facts |= {"method": name} if (name := _algorithm(line)) else {}
            suite = _SUITE.search(line)
            facts["suite"] = "" if suite is None or suite[1] == "bbob" else f"{suite[1]}_"
        elif not line.startswith("%"):
            if not {*_FACTS, "method"} <= facts.keys():
                raise UsageError(f"{info} is damaged: a line of data without funcId, DIM and algId above it")
            bench = f"{facts['suite']}f{facts['function']}_d{facts['dimension']}"
            yield from _logged(info, line, (method or facts["method"], bench, "none"))


def _algorithm(line: str) -> str:
    """The name of an algorithm in a line of facts, between quotation marks; empty if there is none."""
    rest = line.partition("algId =")[2].lstrip(" ").lstrip("'")
    name, *after = re.split(r"' *(?:,|$)", rest, maxsplit=1)
    return name.rstrip("'") if after else ""


def _logged(info: Path, line: str, marks: tuple[str, str, str]) -> Iterator[LoggedRun]:
    """The runs of a line of data: `data_f1/bbobexp_f1_DIM2.dat, 1:20|6.2e-02, 2:20|6.7e-01`."""
    name, *entries = (part.strip() for part in line.split(","))
    data = member(info.parent, name)
    logged = list(blocks(data))
    if len(logged) != len(entries):
        raise UsageError(f"{data} has {len(logged)} runs, and {info.name} names {len(entries)}: one is damaged")
    for entry, (_, rows) in zip(entries, logged, strict=True):
        if not (run := _RUN.fullmatch(entry)):
            raise UsageError(f"{info} is damaged: {entry[:40]!r} names no run")
        evaluations, best = columns(data, rows, 0, _BEST)
        if (evals := int(run[2])) < evaluations[-1]:
            raise UsageError(
                f"{data} has evaluation {evaluations[-1]:g}, and {info.name} names {evals}: one is damaged"
            )
        yield LoggedRun(marks, int(run[1]), evals, evaluations, best, best)


READERS.add("coco", Coco())
