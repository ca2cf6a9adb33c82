"""Source files of methods and benchmarks, as stored with their runs: by them a method that was edited is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nasbench.base.numbers import listed
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.trajectory import Setup


@dataclass(frozen=True)
class SourceDigest:
    """The source files of a method or a benchmark."""

    of: Literal["method", "benchmark"]
    name: str
    """The name of the file, or of the package if it is one."""
    digest: str
    released: bool
    """Whether the files are nasbench's own, without changes since the commit or the installation: these state by
    their versions when runs become stale."""


Sources: TypeAlias = Callable[[Setup], Iterable[SourceDigest]]
"""The source files of a setup's method and benchmark as they are now; none of what is not installed here."""


def changed(fragments: Iterable[Fragment], sources: Sources) -> list[str]:
    """A sentence about each source that has changed since runs were computed; nothing where none was recorded."""
    runs: dict[tuple[str, str], Counter[str]] = {}
    for f in fragments:
        if not f.provenance.get("sources"):
            continue  # made elsewhere, perhaps: what is unknown here is not looked for
        for now in sources(f.setup):
            if _differs(now, f.provenance):
                name = f.setup.method.partition(":")[0] if now.of == "method" else f.setup.bench
                runs.setdefault((now.of, now.name), Counter())[name] += len(f.runs)
    return [_sentence(of, name, counts) for (of, name), counts in runs.items()]


def _differs(now: SourceDigest, provenance: dict[str, Any]) -> bool:
    """Whether provenance records other files of this kind; it may come from another's archive."""
    recorded = provenance.get("sources")
    known = [s for s in recorded if isinstance(s, dict)] if isinstance(recorded, list) else []
    before = [s for s in known if s.get("of") == now.of]
    both_released = now.released and all(s.get("released") is True for s in before)
    return bool(before) and not both_released and all(s.get("digest") != now.digest for s in before)


def _sentence(of: str, name: str, counts: Counter[str]) -> str:
    """Which source has changed since how many runs, and what to do."""
    those = f"{counts.total():,} {'of' if of == 'method' else 'on'} {listed(sorted(counts))}"
    methods = " ".join(f"--anew {method}" for method in sorted(counts)) if of == "method" else "--anew METHOD"
    number = "version" if of == "method" else "checksum"
    return f"{name} has changed since these runs ({those}): raise `{number}`, or `{methods}`"
