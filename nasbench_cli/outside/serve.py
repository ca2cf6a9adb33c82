"""A benchmark for programs in any language: a line of JSON proposes, a line of JSON answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import IO, Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.numbers import listed
from nasbench.benchmarks.spaces import AsFlat
from nasbench.benchmarks.spaces.flat import Named
from nasbench.cli.outside.task import BudgetUsed, OutsideTask, Recording
from nasbench.methods import Problem
from nasbench.methods.messages import EXAMPLES, hello, told

_LONGEST = 1 << 20  # letters of a line

Write = Callable[[dict[str, Any]], None]
"""What writes a message."""


def serve(task: OutsideTask, lines: IO[str], write: Write, seed: int = 0, recording: Recording | None = None) -> bool:
    """Answers each line with a configuration by what came of it, until there are no more lines, or no budget.

    The messages are those of a program that is a method (`methods/messages.py`): hello first, then a tell for each
    configuration, or an error, at no expense; bye when the budget of a recording is used up.

    Args:
        lines: what the program writes: `{"configuration": {…}}`, perhaps with the seed of the evaluation.
        seed: seed of the examples, and of an evaluation that states none.
        recording: makes a run of the evaluations.

    Returns whether a recording is complete; True without one.

    Raises UsageError for a space that is no list of hyper-parameters.
    """
    if not isinstance(task.space, AsFlat):
        raise UsageError("this space is no list of hyper-parameters, and only such a list can be stated in JSON")
    problem = task.problem if recording is None else recording.problem
    named = Named(problem.flat)
    stated = replace(problem, fidelity=None)  # every evaluation is a whole one
    write({"hello": hello(stated, named, seed, _examples(problem, seed))})
    with recording or nullcontext():
        while recording is None or recording.open:
            line = lines.readline(_LONGEST + 1)
            if not line:
                return recording is None
            while len(line) > _LONGEST and not line.endswith("\n"):
                line = line[:1] * _LONGEST + lines.readline(_LONGEST)
            try:
                configuration, own = _asked(line, named, seed, recording is not None)
                observation = recording.observed(configuration) if recording else task.observed(configuration, own)
            except UsageError as error:
                write({"error": str(error)})
                continue
            except BudgetUsed:
                break
            write({"tell": told(named, observation)})
    write({"bye": None})
    return True


def _examples(problem: Problem, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [problem.sample(rng) for _ in range(EXAMPLES)]


def _asked(line: str, named: Named, seed: int, is_recorded: bool) -> tuple[Any, int]:
    """The configuration and the seed in a line. Raises UsageError for one that is no message."""
    try:
        message = json.loads(line.removeprefix("\ufeff")) if len(line) <= _LONGEST else None
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("configuration"), dict):
        raise UsageError('a line is an object of JSON with the object "configuration": {"configuration": {"lr": 0.1}}')
    if strange := message.keys() - {"configuration", "seed"}:
        raise UsageError(f"a line has a configuration, perhaps a seed, and no {listed(sorted(strange), 'or')}")
    own = message.get("seed", seed)
    if type(own) is not int or own < 0:
        raise UsageError(f"seed must be a whole number from 0, not {own!r}")
    if is_recorded and own != seed:
        raise UsageError("the seed of an evaluation is that of its run: leave it out")
    return named.configuration(message["configuration"]), own
