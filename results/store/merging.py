"""Several stores as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nasbench.base.errors import StoreError
from nasbench.results.store.contents import digests
from nasbench.results.store.folder import is_store
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.store import Store


def merge(sources: Sequence[Store], folder: Path) -> tuple[Store, int]:
    """Copies the finished runs, their search logs and the plans of stores into one, which is made if absent.

    A run that two of them have counts once. Journals of unfinished runs are left where they are. A damaged file is set
    aside in its store with a notice, as by every command, and its runs are not copied.

    Returns the store, and the number of runs that it had not.

    Raises StoreError, before anything is written, if two have different results of a run, or the rows of a file whose
    digest is right cannot be read.
    """
    target = Store.open(folder) if is_store(folder) else None
    known: dict[tuple[str, int], tuple[str, Store]] = {}
    for store in [*([target] if target else []), *sources]:
        for f in store.fragments():
            for seed, digest in _digests(store, f):
                before, of = known.setdefault((f.setup.id, seed), (digest, store))
                if before != digest:
                    raise StoreError(
                        f"{of.folder} and {store.folder} have different results of {f.setup.title}, seed {seed}: leave "
                        "one of them out"
                    )
    target = target or Store.create(folder)
    added = 0
    for store in sources:
        for f in store.fragments():
            added += target.adopt(store, f)
        target.adopt_plans(store)
    return target, added


def _digests(store: Store, f: Fragment) -> list[tuple[int, str]]:
    try:
        return list(digests(store, f))
    except Torn as error:
        raise StoreError(f"{f.path} is damaged ({error}): `nasbench status` sets it aside") from None
