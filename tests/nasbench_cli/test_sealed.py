"""Sealed search spaces: nothing runs there by accident, and no method was tuned there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.tabular import open_table
from nasbench.cli.engine import sealed
from nasbench.methods import METHODS, MethodSpec
from nasbench.results import Store
from tests.conftest import Printed

Command = Callable[..., Printed]
NAME = "nb201-cifar10"
RUN = ("run", "--bench", NAME, "--method", "random", "--seeds", "1", "--evals", "2", "--store", "store")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; the search space of NAS-Bench-201 is sealed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sealed, "spaces", lambda: {"nas-bench-201": {NAME: open_benchmark(NAME).checksum}})
    return tmp_path


def test_a_sealed_space_is_run_on_request_alone(here: Path, nasbench: Command) -> None:
    refused = nasbench(*RUN)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"of {NAME} is sealed: no default of a method may be chosen on it" in refused.err
    assert not (here / "store").exists()
    nasbench(*RUN, "--sealed")
    (fragment,) = Store.open(here / "store").fragments()
    assert fragment.setup.setting.sealed
    assert "--sealed" in Store.open(here / "store").plans()[0]["command"]
    assert "Sealed: no default" in nasbench("show", NAME).out


def test_other_data_under_a_sealed_name_are_refused(
    here: Path, nasbench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (space,) = sealed.spaces()
    monkeypatch.setattr(sealed, "spaces", lambda: {space: {NAME: "sha256:other"}})
    refused = nasbench(*RUN, "--sealed")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"{NAME} is sealed with the checksum sha256:other" in refused.err


def test_no_default_of_ours_was_chosen_on_a_sealed_space() -> None:
    for name in METHODS.names():
        assert not {*MethodSpec(name).tuned_on} & sealed.spaces().keys(), name


def test_tables_that_come_with_the_source_are_not_sealed() -> None:
    assert not sealed.is_sealed(open_table("nb201-cifar10"))
    assert sealed.spaces()
