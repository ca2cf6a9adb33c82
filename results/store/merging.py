"""Several stores as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nasbench.base.errors import StoreError
from nasbench.results.store._contents import digests
from nasbench.results.store.folder import is_store
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.store import Store


class _Source(NamedTuple):
    """Where a run is taken from."""

    store: Store
    digest: str
    failed: bool


def merge(sources: Sequence[Store], folder: Path) -> tuple[Store, int]:
    """Copies the finished runs, their search logs and the plans of stores into one, which is made if absent.

    A run that two of them have counts once; if one of the two has failed, the other counts. Journals of unfinished runs
    are left where they are. A damaged file is set aside in its store with a notice, as by every command, and its runs
    are not copied.

    Returns the store, and the number of runs that it had not.

    Raises StoreError, before anything is written, if two have different results of a run, and neither or both have
    failed, or the rows of a file whose digest is right cannot be read.
    """
    target = Store.open(folder) if is_store(folder) else None
    chosen: dict[tuple[str, int], _Source] = {}
    for store in [*([target] if target else []), *sources]:
        for f in store.fragments():
            for seed, digest in _digests(store, f):
                found = _Source(store, digest, f.by_seed[seed].failed)
                before = chosen.setdefault((f.setup.id, seed), found)
                if before.failed and not found.failed:
                    chosen[f.setup.id, seed] = found
                elif before.digest != digest and before.failed == found.failed:
                    raise StoreError(
                        f"{before.store.folder} and {store.folder} have different results of {f.setup.title}, seed "
                        f"{seed}: leave one of them out"
                    )

    def taken(f: Fragment, store: Store) -> set[int]:
        return {seed for seed in f.seeds if (run := chosen.get((f.setup.id, seed))) and run.store is store}

    if target:
        for f in target.fragments():
            if failed := {*f.seeds} - taken(f, target):
                target.forget(f.setup, failed)
    target = target or Store.create(folder)
    added = 0
    for store in sources:
        for f in store.fragments():
            added += target.adopt(store, f, taken(f, store))
        target.adopt_plans(store)
    return target, added


def _digests(store: Store, f: Fragment) -> list[tuple[int, str]]:
    try:
        return list(digests(store, f))
    except Torn as error:
        raise StoreError(f"{f.path} is damaged ({error}): `nasbench status` sets it aside") from None
