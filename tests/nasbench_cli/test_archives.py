"""Archives: the same reports as their stores, damage, and runs that are computed again."""

from __future__ import annotations

import json
import os
import signal
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest

from nasbench import report, run
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.archives import again, embedded, open_archive
from nasbench.cli.exits import INTERRUPTED
from nasbench.methods import MethodSpec
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Store, StoreError
from nasbench.results.store import content_hash
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import kept_rows, pack
from tests.conftest import Printed

SEEDS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of three methods, one of which trains in parts, and with its archive."""
    folder = tmp_path_factory.mktemp("archive")
    for method, bench in (("random", "sk-forest-wine"), ("asha", "sk-forest-wine"), ("random", "nb201-cifar10")):
        run(method, bench, seeds=SEEDS, evals=30, workers=2, store=folder / "store")
    run(
        ["random", "c-tpe"],
        "hpolib-naval",
        constraints="model_size@0.3",
        seeds=SEEDS,
        evals=30,
        workers=2,
        store=folder / "store",
    )
    pack(Store.open(folder / "store"), folder / "store.zip")
    return folder


def test_a_report_of_an_archive_is_that_of_its_store(folder: Path) -> None:
    options = {"format": "csv,tidy", "full": True}
    from_store = report(folder / "store", out=folder / "of-store", **options)  # type: ignore[arg-type]
    from_archive = report(against=str(folder / "store.zip"), out=folder / "of-archive", **options)  # type: ignore[arg-type]
    names = sorted(path.name for path in (folder / "of-store").glob("*.csv"))
    assert len(names) > 5
    assert names == sorted(path.name for path in (folder / "of-archive").glob("*.csv"))
    for name in names:
        theirs, ours = ((folder / place / name).read_text() for place in ("of-store", "of-archive"))
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines()), name
    assert set(from_store.tables) == set(from_archive.tables)


def test_an_archive_is_small_and_the_same_bytes_each_time(folder: Path) -> None:
    size = pack(Store.open(folder / "store"), folder / "again.zip")
    assert (folder / "again.zip").read_bytes() == (folder / "store.zip").read_bytes()
    assert size < sum(path.stat().st_size for path in (folder / "store").glob("*.parquet")) / 3


def test_rows_are_kept_where_an_incumbent_or_its_score_changes_and_at_the_end() -> None:
    nan = np.nan
    columns = {
        "incumbent": np.array([nan, nan, 3.0, 3.0, 3.0, 2.0, 2.0]),
        "unseen": np.array([nan, nan, 5.0, 5.0, nan, 1.0, 1.0]),
        "unseen_feasible": np.array([-1, -1, 1, 1, -1, 1, 1]),
    }
    assert kept_rows(columns)["row"].tolist() == [0, 2, 4, 5, 6]
    assert kept_rows(columns | {"incumbent": np.array([nan, nan, 3.0, 3.0, 3.0, 3.0, 3.0])}, stopped=True)[
        "row"
    ].tolist()[-2:] == [5, 6]
    assert kept_rows(columns | {"level": np.ones(7)})["row"].tolist() == list(range(7))


def test_what_an_archive_does_not_keep_is_said(folder: Path) -> None:
    archive = Archive(folder / "store.zip")
    with pytest.raises(StoreError, match=r"archives keep scores, .*: configuration of single"):
        archive.fragments()[0].table(["configuration"])
    with pytest.raises(StoreError, match=r"archives keep scores, .*: metric\.train_time of"):
        report(against=str(folder / "store.zip"), out=folder / "no", metric="train_time")


def tampered(folder: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(folder / "store.zip") as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    path = folder / "tampered.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_damage_and_newer_versions_are_refused(folder: Path) -> None:
    def flip(members: dict[str, bytes]) -> None:
        steps = bytearray(members["steps.parquet"])
        steps[len(steps) // 2] ^= 1
        members["steps.parquet"] = bytes(steps)

    with pytest.raises(StoreError, match="do not match their digests"):
        Archive(tampered(folder, flip))

    def flip_facts(members: dict[str, bytes]) -> None:
        members["facts.json"] = members["facts.json"][:-3]

    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(tampered(folder, flip_facts))
    content = bytearray((folder / "store.zip").read_bytes())
    content[200] ^= 0xFF  # inside the compressed facts
    (folder / "flipped.zip").write_bytes(bytes(content))
    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(folder / "flipped.zip")

    def newer(members: dict[str, bytes]) -> None:
        members["facts.json"] = json.dumps(json.loads(members["facts.json"]) | {"archive": 99}).encode()

    with pytest.raises(StoreError, match="newer nasbench"):
        Archive(tampered(folder, newer))
    (folder / "text.zip").write_text("no archive")
    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(folder / "text.zip")
    with pytest.raises(StoreError, match="holds no finished run"):
        pack(Store.create(folder / "empty"), folder / "empty.zip")


def test_archives_without_runs_or_facts_are_refused(folder: Path) -> None:
    def emptied(members: dict[str, bytes]) -> None:
        members["facts.json"] = json.dumps(json.loads(members["facts.json"]) | {"setups": []}).encode()

    with pytest.raises(StoreError, match="holds no runs"):
        Archive(tampered(folder, emptied))

    def unset(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        facts["setups"][0]["cell"]["setting"] = None
        members["facts.json"] = json.dumps(facts).encode()

    with pytest.raises(StoreError, match="is no archive of nasbench"):
        Archive(tampered(folder, unset))


Change = Callable[[dict[str, Any]], object]


def forged(folder: Path, change: Change, name: str = "forged.zip") -> Path:
    """The archive with other facts, as somebody writes them who knows the format."""

    def write(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        change(facts)
        members["facts.json"] = json.dumps(facts).encode()

    return tampered(folder, write).rename(folder / name)


def exchanged(facts: dict[str, Any]) -> None:
    """The seeds of each setup in reverse: the rows are those of other runs."""
    for setup in facts["setups"]:
        for one, seed in zip(setup["runs"], reversed([one["seed"] for one in setup["runs"]]), strict=True):
            one["seed"] = seed


FORGERIES: dict[str, Change] = {
    "wishes": lambda facts: facts.update(wishes=None),
    "labels": lambda facts: facts.update(wishes={"labels": {"random": 5}}),
    "strange wish": lambda facts: facts.update(wishes={"colour": "red"}),
    "checkpoints": lambda facts: facts.update(wishes={"checkpoints": ["a"]}),
    "escape": lambda facts: facts.update(wishes={"labels": {"random": "\x1b[2Jbest"}}),
    "line": lambda facts: facts["setups"][0]["cell"]["setting"].update(caution="a\nb"),
    "bench": lambda facts: facts["setups"][0]["cell"].update(bench=5),
    "constraint": lambda facts: facts["setups"][0]["cell"].update(constraint=None),
    "oracle": lambda facts: facts["setups"][0]["cell"]["setting"].update(oracle="low"),
    "contents": lambda facts: facts.update(contents="\x1b[8m"),
    "no runs": lambda facts: facts["setups"][0].update(runs=[]),
    "seed": lambda facts: facts["setups"][0]["runs"][0].update(seed="0"),
    "negative": lambda facts: facts["setups"][0]["runs"][0].update(seed=-1),
    "twice": lambda facts: facts["setups"][0]["runs"][0].update(seed=facts["setups"][0]["runs"][1]["seed"]),
    "endless": lambda facts: facts["setups"][0]["runs"][0].update(rows=10**13),
    "reason": lambda facts: facts["setups"][0]["runs"][0].update(failure=7),
    "versions": lambda facts: [s["cell"].update(method_version=n) for n, s in enumerate(facts["setups"])],
}


@pytest.mark.parametrize("what", FORGERIES)
def test_forged_facts_are_refused(nasbench: Callable[..., Printed], folder: Path, what: str) -> None:
    path = forged(folder, FORGERIES[what])
    for command in (("archive", "check", path), ("report", "--against", path, "--out", folder / "no")):
        done = nasbench(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"nasbench: {path} ")
        assert "\x1b" not in done.err
        assert done.err.count("\n") == 1


@pytest.mark.parametrize("rows", [1, 10_000])
def test_rows_that_do_not_fit_the_facts_are_damage(nasbench: Callable[..., Printed], folder: Path, rows: int) -> None:
    path = forged(folder, lambda facts: facts["setups"][0]["runs"][0].update(rows=rows))
    done = nasbench("report", "--against", path, "--out", folder / "no")
    assert done.code == 2
    assert "is damaged: its rows do not fit its facts" in done.err


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.results.store.archive._MOST_BYTES", 1 << 12)
    with pytest.raises(StoreError, match="would unpack to more than"):
        Archive(folder / "store.zip")


LIES: dict[str, Change] = {
    "space": lambda facts: [s["cell"]["setting"].update(space=s["cell"]["bench"]) for s in facts["setups"]],
    "reference": lambda facts: [s["cell"]["setting"].update(reference=True) for s in facts["setups"]],
    "space, left empty": lambda facts: [s["cell"]["setting"].update(space="") for s in facts["setups"]],
    "oracle, left empty": lambda facts: [s["cell"]["setting"].update(oracle=None) for s in facts["setups"]],
    "oracle": lambda facts: [s["cell"]["setting"].update(oracle=1e-3) for s in facts["setups"]],
    "tuned_on": lambda facts: [s["cell"].update(tuned_on=["nowhere"]) for s in facts["setups"]],
    "failed_evaluations": lambda facts: [r.update(failed_evaluations=1) for s in facts["setups"] for r in s["runs"]],
}


@pytest.mark.parametrize("what", LIES)
def test_a_check_compares_what_an_archive_states(folder: Path, what: str) -> None:
    found = list(again(Archive(forged(folder, LIES[what])), 0.2, 0))
    assert {one.same for one in found} == {False}
    assert what == "failed_evaluations" or all(what.partition(",")[0] in one.why for one in found)


def test_archives_that_state_different_facts_are_not_reported_together(folder: Path) -> None:
    path = forged(folder, LIES["space"])
    with pytest.raises(UsageError, match=r"state different facts of .* with the same data \(space\)"):
        report(against=[str(folder / "store.zip"), str(path)], out=folder / "no")


def test_an_archive_with_other_results_of_the_same_runs_is_refused(folder: Path, tmp_path: Path) -> None:
    """Two authors can give two methods one name, or one can forget to raise a version."""
    path = forged(folder, exchanged)
    run("random", "nb201-cifar10", seeds=1, evals=30, workers=2, store=tmp_path / "mine")
    tight = {"constraints": "model_size@0.3", "seeds": 2, "evals": 30, "workers": 2, "store": tmp_path / "mine"}
    run("c-tpe", "hpolib-naval", **tight)  # nothing feasible at first
    report(tmp_path / "mine", against=str(folder / "store.zip"), out=tmp_path / "same")
    with pytest.raises(UsageError, match=r"has another result of c-tpe on hpolib-naval, model_size@0\.3, seed 1, than"):
        report(tmp_path / "mine", against=str(path), out=tmp_path / "no")
    with pytest.raises(UsageError, match=r"forged.zip has another result of .* than a store or archive beside it"):
        report(against=[str(folder / "store.zip"), str(path)], out=tmp_path / "no")


def test_archives_of_the_same_runs_in_other_portions_are_reported_together(tmp_path: Path) -> None:
    for seeds in ("0:3", "3:5"):
        run("random", "hpolib-naval", evals=9, seeds=seeds, store=tmp_path / "parts")
    run("random", "hpolib-naval", evals=9, seeds=5, store=tmp_path / "whole")
    for name in ("parts", "whole"):
        pack(Store.open(tmp_path / name), tmp_path / f"{name}.zip")
    both = report(against=[str(tmp_path / "parts.zip"), str(tmp_path / "whole.zip")], out=tmp_path / "out", full=True)
    assert "5 runs of 9 evaluations on 1 worker" in both.text
    run("local", "hpolib-naval", evals=9, seeds=5, store=tmp_path / "mine")
    names = [str(tmp_path / f"{name}.zip") for name in ("whole", "parts")]
    report(tmp_path / "mine", tmp_path / "parts", against=names, out=tmp_path / "beside")


def test_an_archive_stands_beside_a_store_that_has_several_objectives_too(folder: Path, tmp_path: Path) -> None:
    run("local", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    several = ["x-valid-error", "latency"]
    run("evolution", "nb201-cifar10", seeds=1, evals=30, workers=2, objectives=several, store=tmp_path / "mine")
    mine, theirs = tmp_path / "mine", str(folder / "store.zip")
    kept = report(mine, against=theirs, protocol="30 evaluations on 2 workers", out=tmp_path / "out")
    assert "random" in kept.text


def test_a_store_whose_archive_would_be_refused_is_not_packed(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'title = """two\nlines"""\nmethods = ["random"]\nbenchmarks = ["hpolib-naval"]\nseeds = 1\nevals = 3\n'
    )
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "store").code == 0
    with pytest.raises(StoreError, match="a title, a label or a name with a control character"):
        pack(Store.open(tmp_path / "store"), tmp_path / "store.zip")
    assert not (tmp_path / "store.zip").exists()


def test_where_runs_differ_by_their_nature_those_of_the_store_count(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forged(folder, exchanged)
    run("random", "nb201-cifar10", seeds=1, evals=30, workers=2, store=tmp_path / "mine")
    monkeypatch.setattr("nasbench.cli.engine.archives._is_live", lambda _: True)
    alone = report(tmp_path / "mine", out=tmp_path / "alone", format="tidy")
    both = report(tmp_path / "mine", against=str(path), out=tmp_path / "both", format="tidy")
    own, beside = (pd.read_csv(next(found.folder.glob("*tidy*.csv"))) for found in (alone, both))
    assert beside[beside["seed"] == 0]["observed"].tolist() == own["observed"].tolist()
    assert set(beside["seed"]) == set(range(SEEDS))


def test_an_archive_names_no_method_but_where_it_is_alone(folder: Path, tmp_path: Path) -> None:
    path = forged(folder, lambda facts: facts["wishes"].update(labels={"random": "the best"}))
    assert "the best" in report(against=str(path), out=tmp_path / "alone", full=True).text
    run("local", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    assert "the best" not in report(tmp_path / "mine", against=str(path), out=tmp_path / "beside", full=True).text


def test_what_is_missing_is_said_when_an_archive_is_made_and_in_its_reports(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = ("--method", "random", "--method", "local", "--bench", "hpolib-naval", "--seeds", 5, "--evals", 9)
    assert nasbench("run", *asked, "--store", tmp_path / "store").code == 0
    next((tmp_path / "store").glob("local.*.parquet")).unlink()
    made = nasbench("archive", "make", tmp_path / "store")
    assert (made.code, "notice: 5 runs that were asked for are missing" in made.err) == (0, True)
    said = nasbench("report", "--against", tmp_path / "store.zip", "--out", tmp_path / "out").out
    assert "5 of the 10 runs asked for are missing" in " ".join(said.split())


def test_a_damaged_file_of_a_store_is_named_when_an_archive_is_made(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    run(["random", "local"], "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    path = next((tmp_path / "store").glob("local.*.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    made = nasbench("archive", "make", tmp_path / "store")
    assert (made.code, f"notice: {path} is set aside" in made.err) == (0, True)


def test_each_check_chooses_other_runs_and_says_which(nasbench: Callable[..., Printed], folder: Path) -> None:
    """Nobody who forges an archive can know which runs will be computed again."""
    lines = {nasbench("archive", "check", folder / "store.zip", "--share", 0.01).out.splitlines()[1] for _ in range(4)}
    assert len(lines) > 1
    assert all(line.startswith("1 of 25 runs, chosen by --seed ") for line in lines)
    again = nasbench("archive", "check", folder / "store.zip", "--share", 0.01, "--seed", 7).out
    assert "1 of 25 runs, chosen by --seed 7\n" in again


def test_the_hash_of_an_archive_is_that_of_the_runs_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command adds runs, or takes one out, while a store is packed."""
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    store = Store.open(tmp_path / "store")
    before, listed = content_hash(store), store.fragments()
    run("local", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    assert content_hash(store) != before
    monkeypatch.setattr(store, "fragments", lambda: listed)
    pack(store, tmp_path / "store.zip")
    assert Archive(tmp_path / "store.zip").contents == before
    listed[0].path.unlink()
    with pytest.raises(StoreError, match=r"cannot be read now .*give the same command again"):
        pack(store, tmp_path / "store.zip")


def test_an_archive_is_written_beside_its_store_and_over_nothing_else(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    inside = nasbench("archive", "make", tmp_path / "store", "--out", tmp_path / "store" / "all.zip")
    assert (inside.code, "lies inside the store" in inside.err) == (2, True)
    run("random", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "second")
    beside = nasbench("archive", "make", tmp_path / "store", "--out", tmp_path / "second" / "all.zip")
    assert (beside.code, f"{tmp_path / 'second'} is a store" in beside.err) == (2, True)
    with zipfile.ZipFile(tmp_path / "store.zip", "w") as file:
        file.writestr("notes.txt", "mine")
    over = nasbench("archive", "make", tmp_path / "store")
    assert (over.code, "is there already, and no archive" in over.err) == (2, True)
    (tmp_path / "store.zip").unlink()
    assert nasbench("archive", "make", tmp_path / "store").code == 0
    assert nasbench("archive", "make", tmp_path / "store").code == 0  # its own it writes again
    run("local", "hpolib-naval", seeds=2, evals=5, store=tmp_path / "store")
    assert nasbench("archive", "make", tmp_path / "store").code == 0  # also with more runs
    run("random", "hpolib-naval", seeds="1:3", evals=5, store=tmp_path / "another")
    others = nasbench("archive", "make", tmp_path / "another", "--out", tmp_path / "store.zip")
    assert (others.code, "an archive with 3 runs that" in others.err) == (2, True)
    assert len(Archive(tmp_path / "store.zip").fragments()) == 2


def test_a_study_of_archived_runs_is_refused_in_one_sentence(nasbench: Callable[..., Printed], folder: Path) -> None:
    out = ("--out", folder / "no", "--optuna", folder / "studies.jsonl")
    done = nasbench("report", "--against", folder / "store.zip", *out)
    assert done.code == 2
    assert "archives keep scores, and neither configurations" in done.err
    assert not (folder / "studies.jsonl").exists()


def test_runs_that_are_computed_again_are_the_same_and_a_change_is_found(folder: Path) -> None:
    found = list(again(Archive(folder / "store.zip"), 1.0, 0))
    assert len(found) == 5 * SEEDS
    assert all(one.same for one in found)

    wrong = [one for one in again(Archive(forged(folder, exchanged)), 1.0, 0) if not one.same]
    assert len(wrong) == 5 * (SEEDS - 1)  # the middle seed stayed where it was

    def version(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        for setup in facts["setups"]:
            setup["cell"]["method_version"] = 0
        members["facts.json"] = json.dumps(facts).encode()

    stale = list(again(Archive(tampered(folder, version)), 0.1, 0))
    assert {one.same for one in stale} == {None}
    assert "another version" in stale[0].why


def test_a_ctrl_c_that_foreign_code_loses_ends_a_check_and_accuses_no_run(
    nasbench: Callable[..., Printed], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: RandomSearch, count: int) -> NoReturn:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)  # the signal arrives here at the latest
        except KeyboardInterrupt:
            pass
        raise SystemError("returned a result with an exception set")

    monkeypatch.setattr(RandomSearch, "ask_block", interrupted)
    done = nasbench("archive", "check", folder / "store.zip", "--share", 1)
    assert done.code == INTERRUPTED
    assert "DIFFERENT" not in done.out


def test_runs_without_an_evaluation_are_archived_and_shown(tmp_path: Path) -> None:
    run("random", "nb201-cifar10", seeds=6, seconds=2000.0, store=tmp_path / "short")
    pack(Store.open(tmp_path / "short"), tmp_path / "short.zip")
    archive = Archive(tmp_path / "short.zip")
    assert min(record.rows for f in archive.fragments() for record in f.runs) == 0
    assert all(one.same for one in again(archive, 1.0, 0))
    page = report(tmp_path / "short", out=tmp_path / "page", format="html")  # with all evaluations in the page
    assert [path.name for path in page.files] == ["index.html"]


def test_a_clock_with_measured_times_is_not_compared(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    command = ("run", "--method", "random", "--bench", "nb201-cifar10", "--evals", 5, "--seeds", 1, "--charge-thinking")
    assert nasbench(*command, "--store", tmp_path / "charged").code == 0
    pack(Store.open(tmp_path / "charged"), tmp_path / "charged.zip")
    printed = nasbench("archive", "check", tmp_path / "charged.zip")
    assert printed.code == 1
    assert "1 run not computed: its clock has measured times" in printed.out


@pytest.mark.parametrize(("fact", "value"), [("data", "sha256:other"), ("held_back", False)])
def test_another_version_in_the_archive_is_refused_with_its_name(
    folder: Path, tmp_path: Path, fact: str, value: object
) -> None:
    def version(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        for setup in facts["setups"]:
            setup["cell"][fact] = value
        members["facts.json"] = json.dumps(facts).encode()

    run("evolution:population=5", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    with pytest.raises(
        UsageError, match=r"the archive .*tampered.zip has runs of random on nb201-cifar10 with other data"
    ):
        report(tmp_path / "mine", against=str(tampered(folder, version)), out=tmp_path / "out")


def test_one_method_is_set_beside_an_archive_and_is_the_baseline(folder: Path, tmp_path: Path) -> None:
    run("evolution:population=5", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    found = report(tmp_path / "mine", against=str(folder / "store.zip"), out=tmp_path / "out", full=True)
    assert "Probability that evolution:population=5 is better" in found.text
    assert set(found.tables["ranks"]["method"]) == {"evolution:population=5", "random"}  # of the same setting only
    run("random", "nb201-cifar100", seeds=SEEDS, evals=9, store=tmp_path / "other")
    with pytest.raises(
        UsageError, match=r"no run in the settings of these stores \(9 evaluations on 1 worker; nb201-cifar100, none\)"
    ):
        report(tmp_path / "other", against=str(folder / "store.zip"), out=tmp_path / "out")


ADVICE = "--out names the file to write, in a folder that exists\n"


def test_the_commands(nasbench: Callable[..., Printed], folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    made = nasbench("archive", "make", folder / "store", "--out", path)
    assert made.code == 0
    assert f"{5 * SEEDS} runs of {folder / 'store'} in 0.0 MB: {path}" in made.out
    checked = nasbench("archive", "check", path, "--share", 0.2)
    assert checked.code == 0
    assert f"{SEEDS} runs computed again with the same bits, 0 with others" in checked.out
    assert Archive(path).contents in checked.out
    assert nasbench("archive", "check", path, "--share", 2).code == 2
    assert nasbench("archive", "check", "nothing").err.startswith("nasbench: unknown archive 'nothing'")
    missing = nasbench("archive", "check", "nothing.zip")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.startswith("nasbench: there is no file nothing.zip; archives that come with nasbench: quick")
    nowhere = nasbench("archive", "make", folder / "store", "--out", tmp_path / "no" / "a.zip")
    assert (nowhere.code, nowhere.err) == (2, f"nasbench: there is no folder {tmp_path / 'no'}: {ADVICE}")
    on_it = nasbench("archive", "make", folder / "store", "--out", tmp_path)
    assert (on_it.code, on_it.err) == (2, f"nasbench: {tmp_path} is a folder: {ADVICE}")
    assert nasbench("report").code == 2


def test_a_suite_runs_with_other_methods(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    suite = tmp_path / "few.toml"
    suite.write_text(
        'title = "few"\nmethods = ["random"]\nbenchmarks = ["nb201-cifar10"]\nseeds = 2\nevals = 5\nworkers = 3\n'
    )
    printed = nasbench("run", "--suite", suite, "--method", "evolution:population=3", "--store", tmp_path / "mine")
    assert printed.code == 0
    setups = {(f.setup.method, f.setup.protocol) for f in Store.open(tmp_path / "mine").fragments()}
    assert setups == {("evolution:population=3", "5 evaluations on 3 workers")}
    assert nasbench("run", "--suite", suite, "--evals", 9).code == 2
    assert nasbench("run", "--suite", suite, "--method", "local", "--without", "random").code == 2


def test_the_name_of_an_archive_that_comes_with_the_project_is_not_taken_by_a_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quick").write_bytes((folder / "store.zip").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert len(open_archive("./quick").fragments()) < 10 < len(open_archive("quick").fragments())


@pytest.mark.parametrize(("name", "runs"), [("quick", 21_760), ("sealed", 7_280), ("wide", 19_460)])
def test_the_archives_that_come_with_the_project_are_small_and_of_this_code(name: str, runs: int) -> None:
    """The tables of `sealed` and most of `wide` are not here: their runs are not computed again."""
    assert embedded() == ("quick", "sealed", "wide")
    archive = open_archive(name)
    assert archive.folder.stat().st_size <= 3_000_000
    assert sum(len(f.runs) for f in archive.fragments()) == runs
    for setup in (fragment.setup for fragment in archive.fragments()):
        assert setup.method_version == MethodSpec.parse(setup.method).version
    found = list(again(archive, 0.0005, 1))
    assert all(one.same or "is not here" in one.why for one in found), [one for one in found if not one.same]
    assert name == "sealed" or any(one.same for one in found)
    assert name != "quick" or all(one.same for one in found)
