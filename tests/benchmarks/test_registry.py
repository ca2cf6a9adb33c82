from __future__ import annotations

import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces.registry import Registry


@pytest.fixture
def registry() -> Registry[int]:
    """Over a package without any item of its own."""
    made: Registry[int] = Registry("thing", "nasbench.benchmarks.spaces", "nasbench.nothing")
    made.add("tpe", 1)
    made.add("c-tpe", 2)
    return made


def test_items_are_found_by_name(registry: Registry[int]) -> None:
    assert registry.names() == ["tpe", "c-tpe"]
    assert registry.get("c-tpe") == 2


def test_an_unknown_name_suggests_the_nearest_and_lists_all(registry: Registry[int]) -> None:
    with pytest.raises(UsageError, match=r"unknown thing 'ctpe' \(did you mean c-tpe\?\); allowed: c-tpe, tpe"):
        registry.get("ctpe")


def test_names_are_taken_once_and_are_plain_words(registry: Registry[int]) -> None:
    for name in ("tpe", "Tpe", "a:b", "", "a b", "-x"):
        with pytest.raises(UsageError):
            registry.add(name, 3)
