"""Reports of archives, alone and beside stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench import report, run
from nasbench.benchmarks import UsageError
from nasbench.results import Store, StoreError
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import pack
from tests.conftest import Printed
from tests.nasbench_cli.archived import LIES, SEEDS, Change, exchanged, forged, tampered


def test_a_report_of_an_archive_is_that_of_its_store(packed: Path) -> None:
    options = {"format": "csv,tidy", "full": True}
    from_store = report(packed / "store", out=packed / "of-store", **options)  # type: ignore[arg-type]
    from_archive = report(against=str(packed / "store.zip"), out=packed / "of-archive", **options)  # type: ignore[arg-type]
    names = sorted(path.name for path in (packed / "of-store").glob("*.csv"))
    assert len(names) > 5
    assert names == sorted(path.name for path in (packed / "of-archive").glob("*.csv"))
    for name in names:
        theirs, ours = ((packed / place / name).read_text() for place in ("of-store", "of-archive"))
        assert sorted(ours.splitlines()) == sorted(theirs.splitlines()), name
    assert set(from_store.tables) == set(from_archive.tables)


def test_what_an_archive_does_not_keep_is_said(packed: Path) -> None:
    archive = Archive(packed / "store.zip")
    with pytest.raises(StoreError, match=r"archives keep scores, .*: configuration of single"):
        archive.fragments()[0].table(["configuration"])
    with pytest.raises(StoreError, match=r"archives keep scores, .*: metric\.train_time of"):
        report(against=str(packed / "store.zip"), out=packed / "no", metric="train_time")


def test_archives_that_state_different_facts_are_not_reported_together(packed: Path) -> None:
    path = forged(packed, LIES["space"])
    with pytest.raises(UsageError, match=r"state different facts of .* with the same data \(space\)"):
        report(against=[str(packed / "store.zip"), str(path)], out=packed / "no")


def test_an_archive_with_other_results_of_the_same_runs_is_refused(packed: Path, tmp_path: Path) -> None:
    """Two authors can give two methods one name, or one can forget to raise a version."""
    path = forged(packed, exchanged)
    run("random", "nb201-cifar10", seeds=1, evals=30, workers=2, store=tmp_path / "mine")
    tight = {"constraints": "model_size@0.3", "seeds": 2, "evals": 30, "workers": 2, "store": tmp_path / "mine"}
    run("c-tpe", "hpolib-naval", **tight)  # nothing feasible at first
    report(tmp_path / "mine", against=str(packed / "store.zip"), out=tmp_path / "same")
    with pytest.raises(UsageError, match=r"has another result of c-tpe on hpolib-naval, model_size@0\.3, seed 1, than"):
        report(tmp_path / "mine", against=str(path), out=tmp_path / "no")
    with pytest.raises(UsageError, match=r"forged.zip has another result of .* than a store or archive beside it"):
        report(against=[str(packed / "store.zip"), str(path)], out=tmp_path / "no")


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


def test_an_archive_stands_beside_a_store_that_has_several_objectives_too(packed: Path, tmp_path: Path) -> None:
    run("local", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    several = ["x-valid-error", "latency"]
    run("evolution", "nb201-cifar10", seeds=1, evals=30, workers=2, objectives=several, store=tmp_path / "mine")
    mine, theirs = tmp_path / "mine", str(packed / "store.zip")
    kept = report(mine, against=theirs, protocol="30 evaluations on 2 workers", out=tmp_path / "out")
    assert "random" in kept.text


def test_where_runs_differ_by_their_nature_those_of_the_store_count(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = forged(packed, exchanged)
    run("random", "nb201-cifar10", seeds=1, evals=30, workers=2, store=tmp_path / "mine")
    monkeypatch.setattr("nasbench.cli.engine.archives._is_live", lambda _: True)
    alone = report(tmp_path / "mine", out=tmp_path / "alone", format="tidy")
    both = report(tmp_path / "mine", against=str(path), out=tmp_path / "both", format="tidy")
    own, beside = (pd.read_csv(next(found.folder.glob("*tidy*.csv"))) for found in (alone, both))
    assert beside[beside["seed"] == 0]["observed"].tolist() == own["observed"].tolist()
    assert set(beside["seed"]) == set(range(SEEDS))


def test_an_archive_names_no_method_but_where_it_is_alone(packed: Path, tmp_path: Path) -> None:
    path = forged(packed, lambda facts: facts["display"].update(labels={"random": "the best"}))
    assert "the best" in report(against=str(path), out=tmp_path / "alone", full=True).text
    run("local", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    assert "the best" not in report(tmp_path / "mine", against=str(path), out=tmp_path / "beside", full=True).text


def test_a_study_of_archived_runs_is_refused_in_one_sentence(nasbench: Callable[..., Printed], packed: Path) -> None:
    out = ("--out", packed / "no", "--optuna", packed / "studies.jsonl")
    done = nasbench("report", "--against", packed / "store.zip", *out)
    assert done.code == 2
    assert "archives keep scores, and neither configurations" in done.err
    assert not (packed / "studies.jsonl").exists()


def test_another_version_in_the_archive_is_refused_with_its_name(packed: Path, tmp_path: Path) -> None:
    def version(members: dict[str, bytes]) -> None:
        facts = json.loads(members["facts.json"])
        for setup in facts["setups"]:
            setup["setup"]["data"] = "sha256:other"
        members["facts.json"] = json.dumps(facts).encode()

    run("evolution:population=5", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    with pytest.raises(
        UsageError, match=r"the archive .*tampered.zip has runs of random on nb201-cifar10 with other data"
    ):
        report(tmp_path / "mine", against=str(tampered(packed, version)), out=tmp_path / "out")


def test_one_method_is_set_beside_an_archive_and_is_the_baseline(packed: Path, tmp_path: Path) -> None:
    run("evolution:population=5", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    found = report(tmp_path / "mine", against=str(packed / "store.zip"), out=tmp_path / "out", full=True)
    assert "Probability that evolution:population=5 is better" in found.text
    assert set(found.tables["ranks"]["method"]) == {"evolution:population=5", "random"}  # of the same setting only
    run("random", "nb201-cifar100", seeds=SEEDS, evals=9, store=tmp_path / "other")
    with pytest.raises(
        UsageError, match=r"no run in the settings of these stores \(9 evaluations on 1 worker; nb201-cifar100, none\)"
    ):
        report(tmp_path / "other", against=str(packed / "store.zip"), out=tmp_path / "out")


def test_a_baseline_that_was_asked_for_stays_one_beside_an_archive(packed: Path, tmp_path: Path) -> None:
    run("evolution:population=5", "nb201-cifar10", seeds=SEEDS, evals=30, workers=2, store=tmp_path / "mine")
    found = report(
        tmp_path / "mine", against=str(packed / "store.zip"), baseline="random", out=tmp_path / "out", full=True
    )
    assert "Probability that random is better" in found.text


ALIKE: dict[str, tuple[Change, Change]] = {
    "rounded": (
        lambda facts: None,
        lambda facts: [
            s["setup"]["setting"].update(oracle=s["setup"]["setting"]["oracle"] * (1 + 1e-9)) for s in facts["setups"]
        ],
    ),
    "in other words": (
        lambda facts: [s["setup"]["setting"].update(caution="short trainings") for s in facts["setups"]],
        lambda facts: [s["setup"]["setting"].update(caution="trainings are short") for s in facts["setups"]],
    ),
}


@pytest.mark.parametrize("what", ALIKE)
def test_archives_whose_facts_agree_are_reported_together(packed: Path, tmp_path: Path, what: str) -> None:
    """Means of other versions of NumPy, and words."""
    paths = [str(forged(packed, change, f"alike{n}.zip")) for n, change in enumerate(ALIKE[what])]
    both = report(against=paths, protocol="30 evaluations on 2 workers", out=tmp_path / "out")
    assert "random" in both.text
