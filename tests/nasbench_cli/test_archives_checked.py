"""`archive check` computes runs again, and finds what an archive states wrongly."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from nasbench.base.exits import INTERRUPTED
from nasbench.cli.engine.archives import embedded, open_archive, recompute
from nasbench.methods import MethodSpec
from nasbench.methods.external.optuna_hub import package_digest
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Store, StoreError
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import pack
from tests.conftest import Printed
from tests.nasbench_cli.archived import LIES, SEEDS, exchanged, forged, tampered


@pytest.mark.parametrize("what", LIES)
def test_a_check_compares_what_an_archive_states(packed: Path, what: str) -> None:
    found = list(recompute(Archive(forged(packed, LIES[what])), 0.2, 0))
    assert {one.same for one in found} == {False}
    assert what == "failed_evaluations" or all(what.partition(",")[0] in one.why for one in found)


def test_each_check_chooses_other_runs_and_says_which(nasbench: Callable[..., Printed], packed: Path) -> None:
    """Nobody who forges an archive can know which runs will be computed again."""
    lines = {nasbench("archive", "check", packed / "store.zip", "--share", 0.01).out.splitlines()[1] for _ in range(4)}
    assert len(lines) > 1
    assert all(line.startswith("1 of 25 runs, chosen by --seed ") for line in lines)
    again = nasbench("archive", "check", packed / "store.zip", "--share", 0.01, "--seed", 7).out
    assert "1 of 25 runs, chosen by --seed 7\n" in again


def test_runs_that_are_computed_again_are_the_same_and_a_change_is_found(packed: Path) -> None:
    found = list(recompute(Archive(packed / "store.zip"), 1.0, 0))
    assert len(found) == 5 * SEEDS
    assert all(one.same for one in found)

    wrong = [one for one in recompute(Archive(forged(packed, exchanged)), 1.0, 0) if not one.same]
    assert len(wrong) == 5 * (SEEDS - 1)  # the middle seed stayed where it was

    def version(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        for setup in facts["setups"]:
            setup["setup"]["method_version"] = 0
        members["facts.json"] = json.dumps(facts).encode()

    stale = list(recompute(Archive(tampered(packed, version)), 0.1, 0))
    assert {one.same for one in stale} == {None}
    assert "another version" in stale[0].why


def test_an_archive_chooses_no_file_to_be_opened(packed: Path) -> None:
    def elsewhere(facts: dict[str, Any]) -> None:
        for setup in facts["setups"]:
            setup["setup"]["bench"] = "mlp:/etc/passwd:x"

    (one, *_) = recompute(Archive(forged(packed, elsewhere)), 0.01, 0)
    assert (one.same, one.why) == (
        None,
        "its data are a file, and an archive does not choose which files are opened or run",
    )


def test_an_archive_chooses_no_code_to_be_run(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its digest is right, and as little of the user's choice as its path."""
    pytest.importorskip("optuna")
    package = tmp_path / "evil" / "package" / "samplers" / "evil"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)

    def elsewhere(facts: dict[str, Any]) -> None:
        for number, setup in enumerate(facts["setups"], 1):
            options = f"digest={package_digest(package)},initial={number},package=samplers/evil,path=evil"
            setup["setup"]["method"] = f"optunahub:{options}"

    (one, *_) = recompute(Archive(forged(packed, elsewhere)), 0.01, 0)
    assert one.why == "its option path names a file, and an archive does not choose which files are opened or run"
    assert (one.same, (tmp_path / "ran").exists()) == (None, False)


@pytest.mark.parametrize("provenance", [[1, [2]], {}, {"versions": 3, "commit": ""}, None])
def test_an_archive_without_a_provenance_is_none(provenance: object, packed: Path) -> None:
    with pytest.raises(StoreError, match=r"a provenance without (a commit|versions)"):
        Archive(forged(packed, lambda facts: facts["setups"][0].update(provenance=provenance)))


def test_a_ctrl_c_that_foreign_code_loses_ends_a_check_and_accuses_no_run(
    nasbench: Callable[..., Printed], packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: RandomSearch) -> NoReturn:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)  # the signal arrives here at the latest
        except KeyboardInterrupt:
            pass
        raise SystemError("returned a result with an exception set")

    monkeypatch.setattr(RandomSearch, "ask", interrupted)
    done = nasbench("archive", "check", packed / "store.zip", "--share", 1)
    assert done.code == INTERRUPTED
    assert "DIFFERENT" not in done.out


def test_a_third_partys_method_that_breaks_the_runner_ends_no_check(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> NoReturn:
        raise RuntimeError("somebody has replaced me")

    monkeypatch.setattr("nasbench.cli.engine.batches.run", broken)
    monkeypatch.setattr(MethodSpec, "is_foreign", True)
    found = list(recompute(Archive(packed / "store.zip"), 0.2, 0))
    assert {one.same for one in found} == {False}
    assert found[0].why.startswith("here it failed: the process is not sound after this method: RuntimeError: somebody")


def test_a_clock_with_measured_times_is_not_compared(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    command = ("run", "--method", "random", "--bench", "nb201-cifar10", "--evals", 5, "--seeds", 1, "--charge-thinking")
    assert nasbench(*command, "--store", tmp_path / "charged").code == 0
    pack(Store.open(tmp_path / "charged"), tmp_path / "charged.zip")
    printed = nasbench("archive", "check", tmp_path / "charged.zip")
    assert printed.code == 1
    assert "1 run not computed: its clock has measured times" in printed.out


@pytest.mark.parametrize(("name", "runs"), [("card", 780), ("quick", 21_760), ("sealed", 7_280), ("wide", 19_460)])
def test_the_archives_that_come_with_the_project_are_small_and_of_this_code(name: str, runs: int) -> None:
    """Tables of `sealed`, most of `wide` and images of `card` are not here: these runs are not computed again."""
    assert embedded() == ("card", "quick", "sealed", "wide")
    archive = open_archive(name)
    assert archive.folder.stat().st_size <= 3_000_000
    assert sum(len(f.runs) for f in archive.fragments()) == runs
    setups = [fragment.setup for fragment in archive.fragments()]
    assert not {s.method for s in setups if s.method_version != MethodSpec.parse(s.method).version}
    found = list(recompute(archive, 0.0005, 1))
    absent = re.compile("is not (here|in)|needs torch|PyTorch")
    assert all(one.same or absent.search(one.why) for one in found), [o for o in found if not o.same]
    assert name in ("card", "sealed") or any(one.same for one in found)


def test_pages_show_the_hash_of_the_archive_that_they_check() -> None:
    shown = [
        (page.name, name, digest)
        for page in Path("docs").rglob("*.md")
        for name, digest in re.findall(r"archive check (\w+)[^\n]*\ncontents sha256:(\w+)", page.read_text())
    ]
    assert len(shown) >= 2
    assert [(page, name) for page, name, digest in shown if digest != open_archive(name).contents] == []
