"""A program that runs beside this one, and answers a line of JSON with a line of JSON."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from nasbench.base.errors import UsageError
from nasbench.base.foreign import plain
from nasbench.base.layout import one_line

_LONGEST = 1 << 20  # bytes of an answer, and of what is looked at of standard error
_SHOWN = 200  # letters of a wrong answer in its message
_PATIENCE = 5.0  # seconds for a program to end after `bye`
_GUARD = 'read group && { read _; kill -s KILL -- "-$group"; }'
"""For a shell: its input ends when this process does, whatever ends it, and then all that the program has started."""


class RunningProgram:
    """A program that runs, and is told `bye` and ended by `end`.

    Args:
        command: its file and its arguments.

    Raises ValueError if it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `end`)
        """What it writes on standard error."""
        self._guard = subprocess.Popen(["sh", "-c", _GUARD], stdin=subprocess.PIPE, bufsize=0, start_new_session=True)
        try:
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,  # a group of its own, which is ended with all that it has started
            )
        except OSError as error:
            self._said.close()
            self._guard.communicate()
            raise ValueError(f"{command[0]} cannot be started: {error.strerror}") from None
        assert self._guard.stdin is not None
        self._guard.stdin.write(f"{self._process.pid}\n".encode())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin
        self._out = io.BufferedReader(cast("io.RawIOBase", self._process.stdout))

    def answered(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Its answer to a message. Raises ValueError if it has ended, or its line is no object of JSON."""
        (kind,) = message
        rest = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        try:
            while rest:
                rest = rest[self._in.write(rest) :]
        except OSError:
            raise ValueError(self._why_ended(kind)) from None
        line = self._out.readline(_LONGEST + 1)
        if not line:
            raise ValueError(self._why_ended(kind))
        if len(line) > _LONGEST:
            raise ValueError(f"its answer to {kind} is longer than {_LONGEST} bytes")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ValueError(f"its answer to {kind} is no object of JSON: {shown(line.decode(errors='replace'))}")
        return answer

    def end(self) -> None:
        """Says bye, and after a while ends the program and all that it has started."""
        process = self._process
        try:
            with suppress(OSError):
                os.set_blocking(self._in.fileno(), False)  # one that does not read may have filled the pipe
                self._in.write(b'{"bye": null}\n')
            with suppress(OSError):
                self._in.close()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):  # a second Ctrl-C waits no longer
                process.wait(_PATIENCE)
        finally:
            self._guard.kill()
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._guard.communicate()
            self._out.close()
            self._said.close()

    def _why_ended(self, kind: str) -> str:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return f"the program closed its output before it answered {kind}"
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _LONGEST))
        lines = self._said.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        said = f"; it last wrote: {shown(last)}" if last else ""
        return f"the program ended with exit code {code} before it answered {kind}{said}"


def words_of(command: str) -> list[str]:
    """The words of a command, which no shell reads. Raises UsageError if a quote is not closed."""
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be read: {error}") from None


def identity_of(words: Sequence[str]) -> tuple[str, str]:
    """The first 12 hexadecimal digits of a SHA-256 over a command, and the name of its program.

    A word that is a file counts by its content, wherever it lies; a program that is found on the path by its name,
    unless there is no other file.

    Raises UsageError for a program or a script that is not there, and for a folder.
    """
    found = shutil.which(words[0])
    if found is None:
        hint = f"; a program in this folder is ./{words[0]}" if os.path.isfile(words[0]) and "/" not in words[0] else ""
        raise UsageError(f"there is no program {words[0]}{hint}")
    usual = shutil.which(Path(words[0]).name)
    is_tool = usual is not None and Path(usual).samefile(found)  # such as python3
    files = [word for word in words[1:] if os.path.isfile(word)]  # a program in a word, as of sh -c, is none
    _check_script(words, files)
    if not is_tool or not files:
        files = [words[0], *files]
    total = hashlib.sha256()
    for word in words:
        if word in files:
            with Path(found if word == words[0] else word).open("rb") as content:
                total.update(b"file " + hashlib.file_digest(content, "sha256").digest())
        else:
            name = Path(word).name if word == words[0] else word
            total.update(f"word {len(name)} {name}".encode())
    is_interpreter = Path(found).parent.name == "bin" and len(files) > 1
    return total.hexdigest()[:12], Path(files[is_interpreter]).stem


def _check_script(words: Sequence[str], files: Sequence[str]) -> None:
    """Raises UsageError where a script is a folder, or is looked for in the wrong place."""
    for word in words[1:]:
        if not word.startswith("-") and os.path.isdir(word):
            raise UsageError(f"{word} is a folder, whose files do not identify a program: name the file")
    script = words[1] if len(words) > 1 else ""
    if script and script not in files and not script.startswith("-") and Path(script).suffix and " " not in script:
        raise UsageError(f"there is no file {script} (paths begin in {Path.cwd()})")


def shown(answer: object) -> str:
    """Something that a program has said, for a message."""
    return one_line(plain(str(answer)), _SHOWN)
