"""Turns the options of `nasbench report`, from the command line or Python, into a request for a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nasbench.base.errors import UsageError, unknown
from nasbench.cli.engine.keys import several
from nasbench.cli.engine.suites import method_label, parse_checkpoints
from nasbench.results.literature import Literature
from nasbench.results.parts import PARTS
from nasbench.results.report.request import FORMATS, Request
from nasbench.results.selection import Selection

__all__ = ["PARTS", "asked_report"]

PARTS.also("nasbench.methods")  # parts of one method lie with it

_CLAIMS = Path(__file__).parents[2] / "suites" / "claims"


def asked_report(
    out: str | Path = "report",
    *,
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
    format: str | Sequence[str] = Request.formats,
    part: str | Sequence[str] = (),
    paper: str | Path | None = None,
    figure_width: str | None = None,
    ioh: str | Path | None = None,
    optuna: str | Path | None = None,
    partial: bool = False,
    full: bool = False,
    wilcoxon: bool = False,
) -> Request:
    """The request for a report with these options; each argument has the name of its option.

    A repeatable option is one text or several. Raises UsageError for a value that is not understood.
    """
    single = {"baseline": baseline, "metric": metric, "score": score, "protocol": protocol}
    repeated = {"method": method, "without": without, "bench": bench, "family": family, "constrain": constrain}
    repeated |= {"label": label if not isinstance(label, Mapping) else (), "format": format, "part": part}
    texts = [(option, text) for option, text in single.items() if text is not None]
    for option, text in texts + [(option, text) for option, given in repeated.items() for text in several(given)]:
        if not isinstance(text, str):
            raise UsageError(f"{option} must be text, not {text!r}")
    formats = [name for text in several(format) for name in text.split(",")]
    strange = [name for name in formats if name not in FORMATS]
    if strange:
        raise unknown("format", strange[0], FORMATS)
    if checkpoints is not None and not isinstance(checkpoints, str):
        points = checkpoints if isinstance(checkpoints, Iterable) else [checkpoints]
        checkpoints = ",".join(map(str, points))
    named_paths = {"out": out, "paper": paper, "ioh": ioh, "optuna": optuna}
    paths = {option: _path(option, given) for option, given in named_paths.items() if given is not None}
    if "out" not in paths:
        raise UsageError("out is the path of a folder, not None")
    _refuse_shared(paths)
    if figure_width is not None and paper is None:
        raise UsageError("--figure-width sets the width of the figures that --paper DIR writes: give --paper too")
    pairs = list(label.items() if isinstance(label, Mapping) else map(_label, several(label)))
    if not all(isinstance(word, str) for pair in pairs for word in pair):
        raise UsageError(f"a label maps a method to its short name, both texts, not {dict(pairs)}")
    named = [method_label(name) for name, _ in pairs]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise UsageError(f"{twice[0]} has two labels: give it one")
    return Request(
        out=paths["out"],
        baseline=None if baseline is None else method_label(baseline),
        checkpoints=None if checkpoints is None else parse_checkpoints(checkpoints),
        protocol=protocol,
        formats=tuple(name for name in FORMATS if name in formats),
        score=score,
        metric=metric,
        selection=Selection(
            _labels(method), _labels(without), tuple(several(bench)), tuple(several(family)), tuple(several(constrain))
        ),
        labels=dict(zip(named, [short for _, short in pairs], strict=True)),
        optional=tuple(several(part)),
        paper=paths.get("paper"),
        figure_width=Request.figure_width if figure_width is None else _inches(figure_width),
        ioh=paths.get("ioh"),
        optuna=paths.get("optuna"),
        partial=partial,
        wilcoxon=wilcoxon,
        full=full,
        literature=Literature.read(_CLAIMS),
    )


def _labels(methods: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(map(method_label, several(methods)))


def _path(option: str, given: object) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"{option} must be a path, not {given!r}")
    return Path(given)


def _refuse_shared(targets: Mapping[str, Path]) -> None:
    """Raises UsageError if two options name one place: each kind of file has a folder that holds nothing else."""
    known: dict[str, str] = {}
    for name, path in targets.items():
        option = f"--{name}"
        place = os.path.realpath(path)
        for other, whose in known.items():
            if place == other:
                raise UsageError(f"{whose} and {option} both name {path}: give each a folder of its own")
            if Path(other).is_relative_to(place):
                raise UsageError(f"{option} names {path}, which holds that of {whose}: give each a folder of its own")
        known[place] = option


def _inches(text: str) -> float:
    """A length in inches. Raises UsageError if it is malformed, or wider than a page."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(in|cm|mm|pt)", str(text).strip())
    inches = float(match[1]) / {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}[match[2]] if match else 0.0
    if not 1.5 <= inches <= 12:
        raise UsageError(f"figure width {text!r} must be a length from 1.5in to 12in, for example 3.3in or 84mm")
    return inches


def _label(text: str) -> tuple[str, str]:
    """A method and its short name. Raises UsageError if one of them is missing."""
    method, _, short = (part.strip() for part in text.rpartition("="))
    if not method or not short:
        raise UsageError(f"label {text!r} must be METHOD=SHORT, for example 'evolution:population=20=evo'")
    return method, short
