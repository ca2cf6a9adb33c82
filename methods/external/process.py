"""A program in any language as a method: it is asked and told in lines of JSON."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.base.foreign import plain
from nasbench.base.layout import one_line
from nasbench.base.metrics import USED
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.flat import Named
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Logged, Method
from nasbench.methods.messages import EXAMPLES, hello, level_of, told
from nasbench.methods.problem import Observation, Problem, Proposal

_LONGEST = 1 << 20  # bytes of an answer
_SHOWN = 200  # letters of a wrong answer in its message
_PATIENCE = 5.0  # seconds for a program to end after `bye`


def _pinned(options: Options) -> Mapping[str, str]:
    """The digest of the program and the name, by the user's command."""
    words = _words(str(options.get("command", "")))
    if not words:
        return {}
    digest, program = command_digest(words)
    given = options.get("digest", "")
    if given not in ("", digest):
        raise UsageError(f"the program of {options['command']!r} has the digest {digest}, not {given}: it has changed")
    return {"digest": digest, "name": str(options.get("name") or program)}


def _unless(problem: Problem, options: Options) -> str:
    return "" if options["command"] else 'needs the command of a program: process:command="node agent.js"'


def _repeatable(options: Options) -> Repeatable:
    return Repeatable.SAME_MACHINE if options["repeatable"] else Repeatable.NEVER


@METHODS.register("process")
class Process(Method):
    """A program in any language, which proposes: `process:command="node agent.js",name=my-agent`.

    It reads lines of JSON and answers each with one: hello, ask, tell; see docs/programs.md. A comma cannot stand in
    the command, and no shell reads it. Its words and the digests of the files among them identify the method.

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
        self._command = _words(command)
        if not self._command:
            raise UsageError(f"process {_unless(problem, {'command': ''})}")
        self._named = Named(problem.flat)
        self._program: _Program | None = None
        self._asks = 0
        self._usage: list[Logged] = []

    def ask(self) -> Configuration | Proposal:
        program = self._started()
        self._asks += 1
        answer = program.answered({"ask": self._asks})
        self._note(answer.get("usage", {}))
        if not isinstance(answer.get("configuration"), dict):
            raise ValueError(f'its answer to ask has no object "configuration": {_shown(answer)}')
        configuration = self._named.configuration(answer["configuration"])
        if "level" not in answer and "continues" not in answer:
            return configuration
        return Proposal(configuration, level_of(self._problem, answer.get("level")), answer.get("continues"))

    def tell(self, observation: Observation) -> None:
        answer = self._started().answered({"tell": told(self._named, observation)})
        self._note(answer.get("usage", {}))

    @property
    def log(self) -> Sequence[Logged]:
        """What the program says that it has used, such as tokens, with the number of asks as the epoch."""
        return self._usage

    def _started(self) -> _Program:
        """The program, which has been told what is searched."""
        if self._program is None:
            self._program = _Program(self._command)
            weakref.finalize(self, self._program.end)
            seed = int(self._rng.integers(2**31))
            examples = [self._problem.sample(self._rng) for _ in range(EXAMPLES)]
            answer = self._program.answered({"hello": hello(self._problem, self._named, seed, examples)})
            self._note(answer.get("usage", {}))
        return self._program

    def _note(self, usage: object) -> None:
        """Logs what an answer has cost. Raises ValueError for what is no number by name."""
        if not isinstance(usage, dict) or not all(type(value) in (int, float) for value in usage.values()):
            raise ValueError(f'its "usage" is no object of numbers: {_shown(usage)}')
        self._usage += [Logged(self._asks, f"{USED}{name}", float(value)) for name, value in usage.items()]


class _Program:
    """A program that runs, and answers a line with a line."""

    def __init__(self, command: Sequence[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        """What it writes on standard error."""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is ours: it ends when its input does
            )
        except OSError as error:
            self._said.close()
            raise ValueError(f"{command[0]} cannot be started: {error.strerror}") from None

    def answered(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Its answer to a message. Raises ValueError if it has ended, or its line is no object of JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        (kind,) = message
        try:
            self._process.stdin.write(json.dumps(message, allow_nan=False).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise ValueError(self._why_ended(kind)) from None
        line = self._process.stdout.readline(_LONGEST + 1)
        if not line:
            raise ValueError(self._why_ended(kind))
        if len(line) > _LONGEST:
            raise ValueError(f"its answer to {kind} is longer than {_LONGEST} bytes")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ValueError(f"its answer to {kind} is no object of JSON: {_shown(line.decode(errors='replace'))}")
        return answer

    def end(self) -> None:
        """Says bye, and ends the program if it does not end by itself."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b'{"bye": null}\n')
            process.stdin.close()
        except OSError:
            pass  # it has ended already
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        self._said.close()

    def _why_ended(self, kind: str) -> str:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return f"the program closed its output before it answered {kind}"
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        said = f"; it last wrote: {_shown(last)}" if last else ""
        return f"the program ended with exit code {code} before it answered {kind}{said}"


def command_digest(words: Sequence[str]) -> tuple[str, str]:
    """The first 12 hexadecimal digits of a SHA-256 over a command, and the name of its program.

    A word that is a file counts by its content, wherever it lies; without one, so does the program that is found.
    """
    files = {word: word for word in words if Path(word).is_file()}
    if not files and (found := shutil.which(words[0])):
        files = {words[0]: found}
    total = hashlib.sha256()
    for word in words:
        if word in files:
            with Path(files[word]).open("rb") as content:
                total.update(b"file " + hashlib.file_digest(content, "sha256").digest())
        else:
            total.update(f"word {len(word)} {word}".encode())
    program = next((word for word in files if word != words[0]), words[0])  # perhaps an interpreter stands before it
    return total.hexdigest()[:12], Path(program).stem


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be read: {error}") from None


def _shown(answer: object) -> str:
    return one_line(plain(str(answer)), _SHOWN)
