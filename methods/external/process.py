"""A program in any language as a method: it is asked and told in lines of JSON."""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.random import Generator

from nasbench.base.errors import UsageError, unprintable
from nasbench.base.metrics import USED
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.flat import Named
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Logged, Method
from nasbench.methods.external.program import RunningProgram, identity_of, shown, words_of
from nasbench.methods.messages import EXAMPLES, hello, level_of, told
from nasbench.methods.problem import Observation, Problem, Proposal


def _pinned(options: Options) -> Mapping[str, str]:
    """The digest of the program and the name, by the user's command."""
    words = words_of(str(options.get("command", "")))
    if not words:
        return {}
    digest, program = identity_of(words)
    given = options.get("digest", "")
    if given not in ("", digest):
        raise UsageError(f"the program of {options['command']!r} has the digest {digest}, not {given}: it has changed")
    name = str(options.get("name") or program)
    if why := unprintable(name):
        raise UsageError(f"the name {name!r} of a program is one line of printable text, but {why}")
    return {"digest": digest, "name": name}


def _unless(problem: Problem, options: Options) -> str:
    return "" if options.get("command") else 'needs the command of a program: process:command="node agent.js"'


def _repeatable(options: Options) -> Repeatable:
    return Repeatable.SAME_MACHINE if options.get("repeatable", True) else Repeatable.NEVER


@METHODS.register("process")
class Process(Method):
    """A program in any language, which proposes: `process:command="node agent.js",name=my-agent`.

    It reads lines of JSON and answers each with one: hello, ask, tell; see docs/protocol.md. A comma cannot stand in
    the command, and no shell reads it. Its words and the digests of the files among them identify the method.

    Take it for a method that is written in another language, or an agent.

    Beside its source: there is nothing to depart from.

    Options:
        command: the program with its arguments; required.
        name: what reports call it; by default the name of its file without its suffix.
        digest: digest of the program; computed where it is not given, and checked where it is.
        repeatable: false for a program that does not answer the same twice, such as a language model.
    """

    about = About(
        source="No paper: the program is the user's.",
        seconds=1e-3,
        files=("command",),
        pinned=_pinned,
        repeatable=_repeatable,
    )
    needs = Needs(views=(AsFlat,), several=True, unless=_unless)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        command: str = "",
        name: str = "",
        digest: str = "",
        repeatable: bool = True,
    ) -> None:
        self._problem, self._rng = problem, rng
        self._command = words_of(command)
        if not self._command:
            raise UsageError(f"process {_unless(problem, {'command': ''})}")
        self._named = Named(problem.flat)
        self._program: RunningProgram | None = None
        self._asks = 0
        self._usage: list[Logged] = []

    def ask(self) -> Configuration | Proposal:
        program = self._started()
        self._asks += 1
        answer = program.answered({"ask": self._asks})
        self._note(answer)
        if not isinstance(answer.get("configuration"), dict):
            raise ValueError(f'its answer to ask has no object "configuration": {shown(answer)}')
        configuration = self._named.configuration(answer["configuration"])
        if answer.get("level") is None and answer.get("continues") is None:
            return configuration
        return Proposal(configuration, level_of(self._problem, answer.get("level")), answer.get("continues"))

    def tell(self, observation: Observation) -> None:
        self._note(self._started().answered({"tell": told(self._named, observation)}))

    @property
    def log(self) -> Sequence[Logged]:
        """What the program says that it has used, such as tokens, with the number of asks as the epoch."""
        return self._usage

    def _started(self) -> RunningProgram:
        """The program, which has been told what is searched."""
        if self._program is None:
            self._program = RunningProgram(self._command)
            weakref.finalize(self, self._program.end)
            seed = int(self._rng.integers(2**31))
            examples = [self._problem.sample(self._rng) for _ in range(EXAMPLES)]
            self._note(self._program.answered({"hello": hello(self._problem, self._named, seed, examples)}))
        return self._program

    def _note(self, answer: Mapping[str, Any]) -> None:
        """Logs what an answer has cost. Raises ValueError if its usage is no object of amounts by name."""
        usage = answer.get("usage")
        if usage is None:
            return
        if not isinstance(usage, dict) or not all(map(_is_amount, usage, usage.values())):
            raise ValueError(f'its "usage" is no object of positive numbers: {shown(usage)}')
        self._usage += [Logged(self._asks, f"{USED}{name}", float(value)) for name, value in usage.items()]


def _is_amount(name: str, value: object) -> bool:
    return bool(name) and name.isprintable() and type(value) in (int, float) and 0 <= value < math.inf  # type: ignore[operator]
