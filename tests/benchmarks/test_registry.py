from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from nasbench.base import registry as registry_module
from nasbench.base.catalogue import points_of, registrations
from nasbench.base.registry import Registry
from nasbench.benchmarks import UsageError
from nasbench.benchmarks.images import DATASETS, Dataset, ImageBenchmark
from nasbench.benchmarks.spaces.trainable import SPACES, Frame, TrainableSpace
from tests.conftest import Lend


@pytest.fixture
def registry() -> Registry[int]:
    """Over a package without any item of its own."""
    made: Registry[int] = Registry(
        "thing", "nasbench.benchmarks.spaces", "nasbench.nothing", lambda item: isinstance(item, int)
    )
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


def test_a_name_that_several_modules_register_is_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of `random` whose author forgot to rename it would be the baseline, if its file comes first."""
    package = tmp_path / "doubled"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from nasbench.base.registry import Registry\nTHINGS = Registry('thing', 'doubled', 'nasbench.nothing')\n"
    )
    for module, name in (("ours", "same"), ("copy", "same"), ("again", "same"), ("other", "other")):
        text = f"from doubled import THINGS\n@THINGS.register({name!r})\ndef thing(): return {module!r}\n"
        (package / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    things = importlib.import_module("doubled").THINGS
    assert things.names() == ["other"]
    with pytest.raises(
        UsageError, match=r"'same' cannot be loaded: doubled\.again and doubled\.copy and doubled\.ours"
    ):
        things.get("same")


def test_what_is_added_last_knows_which_names_are_taken(
    registry: Registry[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of plug-ins are, and no plug-in is imported to know that."""
    point = EntryPoint("plugged", "nowhere:thing", "nasbench.nothing")
    monkeypatch.setattr(registry_module, "points_of", lambda group: ([point], {}))
    asked: list[set[str]] = []

    def find(taken: Collection[str]) -> dict[str, int]:
        asked.append(set(taken))
        return {"last": 9}

    registry.add_last(find)
    registry.add_later(lambda: {"later": 7})
    assert registry.get("last") == 9
    assert asked == [{"tpe", "c-tpe", "later", "plugged"}]
    assert [name for name in ("tpe", "later", "plugged", "last", "absent") if registry.is_taken(name)] == [
        "tpe",
        "later",
        "plugged",
    ]
    assert not registry.broken


def test_what_is_added_later_is_found_when_names_are_asked_for(registry: Registry[int]) -> None:
    asked: list[int] = []

    def find() -> dict[str, int]:
        asked.append(1)
        return {"found": 7}

    registry.add_later(find)
    assert not asked
    assert registry.get("found") == 7
    assert registry.names() == ["tpe", "c-tpe", "found"]
    assert asked == [1]


OTHER = replace(DATASETS.get("digits"), name="other-digits")
"""A third party's data set."""


def halved(frame: Frame) -> TrainableSpace:
    """A third party's space."""
    return SPACES.get("flat")(frame._replace(filters=frame.filters // 2))


def test_a_third_party_adds_data_sets_and_spaces_by_entry_points(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    pytest.importorskip("torch")
    here = __name__
    points = {
        "nasbench.datasets": [EntryPoint("other-digits", f"{here}:OTHER", "nasbench.datasets")],
        "nasbench.spaces": [
            EntryPoint("halved", f"{here}:halved", "nasbench.spaces"),
            EntryPoint("lost", f"{here}:nowhere", "nasbench.spaces"),
        ],
    }
    SPACES.names()  # these look for their own entry points
    monkeypatch.setattr(registry_module, "points_of", lambda group: (points[group], {}))
    datasets: Registry[Dataset] = Registry(
        "data set", "nasbench.benchmarks.images", "nasbench.datasets", lambda item: isinstance(item, Dataset)
    )
    spaces: Registry[Callable[[Frame], TrainableSpace]] = Registry(
        "space", "nasbench.benchmarks.spaces.trainable", "nasbench.spaces"
    )
    assert datasets.names() == ["other-digits"]
    assert spaces.names() == ["halved"]
    assert "nowhere" in spaces.broken["lost"]
    lend(SPACES, "halved", spaces.get("halved"))
    benchmark = ImageBenchmark(datasets.get("other-digits")).variant("halved")
    assert benchmark.name == "other-digits/halved"
    assert benchmark.seconds_each() < ImageBenchmark(OTHER, "flat").seconds_each()


def test_imports_do_not_look_into_the_users_folders(tmp_path: Path) -> None:
    program = f"""
import sys
seen = []

def look(event, args):
    if args and {str(tmp_path)!r} in str(args[0]):
        seen.append((event, args))

sys.addaudithook(look)
import nasbench.benchmarks.tabular, nasbench.benchmarks.images, nasbench.benchmarks.regression, nasbench.methods
assert not seen, seen
from nasbench.benchmarks import BENCHMARKS
BENCHMARKS.names()
assert seen
"""
    folders = {"NASBENCH_DATA": str(tmp_path), "NASBENCH_CACHE": str(tmp_path), "HOME": str(tmp_path)}
    (tmp_path / "tables").mkdir()
    subprocess.run([sys.executable, "-c", program], env=os.environ | folders, check=True)


def test_a_package_whose_entry_points_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = tmp_path / "latin-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: latin\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_bytes("[nasbench.spaces]\nméthode = x:y\n".encode("latin-1"))
    monkeypatch.syspath_prepend(tmp_path)
    points, unread = points_of("pytest11")
    assert "xdist" in {point.name for point in points}
    assert unread == {"latin": "the entry_points.txt of this package is not UTF-8"}


def test_an_error_that_a_plug_in_makes_as_it_is_loaded_has_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "falling.py").write_text(
        "from nasbench.benchmarks.spaces import Ordinal\nLEVELS = Ordinal('lr', (0.1, 0.01))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    points = [EntryPoint("falls", "falling:LEVELS", "x"), EntryPoint("gone", "no_such_module:A", "x")]
    monkeypatch.setattr(registry_module, "points_of", lambda group: (points, {}))
    spaces: Registry[Any] = Registry("space", "nasbench.benchmarks.spaces.trainable", "x")
    assert spaces.names() == []
    assert spaces.broken["falls"] == "the levels of lr must ascend: [0.1, 0.01] (falling.py:2)"
    assert spaces.broken["gone"] == "ModuleNotFoundError: No module named 'no_such_module'"


def test_files_that_editors_and_other_systems_leave_register_nothing_and_stop_nobody(tmp_path: Path) -> None:
    """macOS leaves `._greedy.py` on shares, Emacs a link that leads nowhere; a declared encoding is Python's."""
    code = '@METHODS.register("{}")\nclass Greedy(Method):\n    """By André."""\n'
    (tmp_path / "latin.py").write_bytes(f"# -*- coding: latin-1 -*-\n{code.format('latin')}".encode("latin-1"))
    (tmp_path / "strange.py").write_bytes(code.format("strange").encode("latin-1"))
    (tmp_path / "._plain.py").write_bytes(b"\x00\x05\x16\x07\xff" + code.format("hidden").encode())
    (tmp_path / ".#plain.py").symlink_to("me@host.4242:1700000000")
    (tmp_path / "plain.py").write_text(code.format("plain"), encoding="utf-8")
    found = [(entry.name, entry.summary) for _, entry in registrations(tmp_path, "METHODS")]
    assert found == [("latin", "By André."), ("plain", "By André.")]
