"""A hash of a store's contents: equal for stores with the same runs, whatever their files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.store import Store

_MEASURED = "thinking"  # measured times are never the same


def content_hash(store: Store) -> str:
    """SHA-256 of all runs of a store: their setups, settings, columns, values, failures and search logs.

    The measured column `thinking` is left out. The hash does not depend on the order of the runs or on their
    distribution over fragments. Every byte is read and verified; damaged files are set aside and do not count.
    """
    found: set[str] = set()
    for f in store.fragments():
        try:
            found.update(digest for _, digest in digests(store, f))
        except Torn as error:
            store.set_aside(f.path, str(error))
    return _joined(found)


def hash_of(store: Store, fragments: Iterable[Fragment]) -> str:
    """The same hash of the runs of some fragments of a store. Raises Torn if one is damaged or no longer there."""
    return _joined({digest for f in fragments for _, digest in digests(store, f)})


def _joined(found: set[str]) -> str:
    """A hash of the digests of runs; a run that is in two fragments counts once."""
    return hashlib.sha256("".join(sorted(found)).encode()).hexdigest()


def digests(store: Store, f: Fragment) -> Iterator[tuple[int, str]]:
    """The seed of each run of a fragment, with a hash of its contents; without those whose search log is damaged.

    Raises Torn if the fragment is damaged or no longer there.
    """
    table = f.checked_table()
    kept = [name for name in table.column_names if name not in (_MEASURED, "method", "bench", "constraint")]
    asked = json.dumps([f.setup.to_json(), [[name, str(table.schema.field(name).type)] for name in kept]])
    columns = [_plain(table[name]) for name in kept]
    start = 0
    for run in f.runs:
        rows = slice(start, start + run.rows)
        digest = hashlib.sha256(f"{asked}\0{run.seed}\0{run.failure}".encode())
        for column in columns:
            _add(digest, column[rows])
        log = store.search_log(f, run.seed)
        if log is not None:
            digest.update(repr(log.schema.names).encode())
            for name in log.column_names:
                _add(digest, _plain(log[name]))
        elif run.log:
            start += run.rows
            continue  # a run with a damaged log does not count
        yield run.seed, digest.hexdigest()
        start += run.rows


def _add(digest: hashlib._Hash, values: np.ndarray | list[str | None]) -> None:
    digest.update(values.tobytes() if isinstance(values, np.ndarray) else repr(values).encode())


def _plain(column: pa.ChunkedArray) -> np.ndarray | list[str | None]:
    """A column as an array of numbers, or as a list if it holds text or missing values."""
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    plain: np.ndarray | list[str | None] = (
        column.to_numpy() if is_number and not column.null_count else column.to_pylist()
    )
    return plain
