"""Files that are written aside and then renamed, so that nobody reads half of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A temporary file of this process beside `path`, to be written and renamed; it is removed if it was not.

    An OSError in between names `path`, which the user knows.
    """
    temporary = path.with_name(f".{path.name}.{os.uname().nodename[:40]}.{os.getpid()}.tmp")
    try:
        yield temporary
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)
