"""Runs of IOHprofiler and COCO, in files that these tools wrote (`make_experiments.py`)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import nasbench
from nasbench.base.errors import UsageError
from nasbench.cli.outside import Asked, import_runs
from nasbench.cli.outside.readers import coco
from tests.nasbench_cli.outside.reading import COCO, IOH, best, changed, column, copied, read, runs

# --- IOHprofiler ------------------------------------------------------------------------------------------------------


def test_improvements_of_ioh_are_the_best_so_far() -> None:
    found = runs(IOH / "improvements")
    assert list(found) == [("random", f"{f}_d2", seed) for f in ("f1_Sphere", "f2_Ellipsoid") for seed in (1, 2)]
    for function in ("f1_Sphere", "f2_Ellipsoid"):
        facts = json.loads((IOH / f"improvements/IOHprofiler_{function}.json").read_text())
        for stated in facts["scenarios"][0]["runs"]:
            run = found["random", f"{function}_d2", stated["instance"]]
            assert best(run) == pytest.approx(stated["best"]["y"], rel=1e-9)
            assert run[0].evals == stated["evals"] == 12
            reached = [n for n, value in enumerate(column(run, "objective"), 1) if value == best(run)]
            assert reached == list(range(stated["best"]["evals"], 13))  # the last row, a worse value, is no improvement
    assert (read(IOH / "improvements").shape, read(IOH / "improvements").sense) == ("best", "minimise")


def test_every_evaluation_of_ioh_is_a_trajectory_and_may_be_read_as_the_best_so_far() -> None:
    rows = read(IOH / "every")
    assert (rows.shape, rows.sense, sorted(set(rows.frame["seed"]))) == ("trajectory", "maximise", [1001, 1002])
    assert "seed 1001 is instance 1, run 1" in rows.note
    lines = (IOH / "every/data_f1_OneMax/IOHprofiler_f1_DIM8.dat").read_text().splitlines()
    fields = [line.split() for line in lines if line[0].isdigit()]
    assert rows.frame["value"].tolist() == [float(row[1]) for row in fields]
    as_best = read(IOH / "every", shape="best").frame
    assert as_best["value"].tolist() == [float(row[2]) for row in fields]
    assert read(IOH / "every", shape="final").frame["value"].tolist() == [5, 7]
    with pytest.raises(UsageError, match="not every evaluation is logged"):
        read(IOH / "improvements", shape="trajectory")


def test_a_run_of_ioh_goes_on_after_its_last_row(tmp_path: Path) -> None:
    path = copied(IOH / "improvements", tmp_path)
    changed(path / "IOHprofiler_f1_Sphere.json", '"evals": 12, "best"', '"evals": 15, "best"')
    changed(path / "IOHprofiler_f2_Ellipsoid.json", '"evals": 12, "best"', '"evals": 15, "best"')
    assert {run[0].evals for run in runs(path).values()} == {15}


def test_functions_with_two_directions_are_given_one_by_one() -> None:
    with pytest.raises(UsageError, match=r"give each .json file by itself"):
        read(IOH)
    assert list(runs(IOH / "improvements/IOHprofiler_f1_Sphere.json", columns={"method": "RS"})) == [
        ("RS", "f1_Sphere_d2", 1),
        ("RS", "f1_Sphere_d2", 2),
    ]


METHODS = ["evolution", "random", "tpe"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    for bench, options in (("hpolib-naval", {"constraints": "model_size@0.3"}), ("sk-forest-wine", {})):
        nasbench.run(METHODS, bench, seeds=4, evals=25, store=folder / "store", **options)
    return folder


@pytest.mark.parametrize("score", ["observed", "mean"])
def test_what_our_export_to_ioh_writes_reads_back_with_the_same_ranks(
    exported: Path, score: str, tmp_path: Path
) -> None:
    first = nasbench.report(
        exported / "store", out=tmp_path / "a", format="csv", score=score, ioh=str(tmp_path / "ioh")
    )
    import_runs([tmp_path / "ioh"], tmp_path / "store", Asked())
    second = nasbench.report(tmp_path / "store", out=tmp_path / "b", format="csv")
    for name, columns in (("medians", ["bench", "constraint", *METHODS]), ("ranks", ["method", "first", "last"])):
        pd.testing.assert_frame_equal(first.tables[name][columns], second.tables[name][columns])
    assert first.tables["ranks"]["25"].nunique() > 1
    shape = {"observed": "best", "mean": "final"}[score]  # a value by another score may rise
    assert second.tables["ranks"]["25" if shape == "best" else "1"].tolist() == first.tables["ranks"]["25"].tolist()
    assert read(tmp_path / "ioh").shape == shape
    if shape == "final":
        with pytest.raises(UsageError, match="--score observed"):
            read(tmp_path / "ioh", shape="best")


# --- COCO -------------------------------------------------------------------------------------------------------------


def test_runs_of_coco_reach_the_values_that_coco_states() -> None:
    found = runs(COCO)
    assert list(found) == [("random", f"f{f}_d2", seed) for f in (1, 2) for seed in (1, 2, 3)]
    stated = json.loads((COCO.parent / "best.json").read_text())
    for (_, bench, seed), run in found.items():
        text = (COCO / f"data_{bench[:2]}/bbobexp_{bench[:2]}_DIM2.dat").read_text()
        optima = [float(value) for value in re.findall(r"Fopt \(([-+.e\d]+)\)", text)]
        expected = stated[f"bbob_f00{bench[1]}_i0{seed}_d02"] - optima[seed - 1]
        assert best(run) == pytest.approx(expected, abs=1e-8, rel=1e-8)
        assert run[0].evals == 20
    rows = read(COCO)
    assert (rows.shape, rows.sense) == ("best", "minimise")
    assert "seeds are instances" in rows.note
    assert {method for method, _, _ in runs(COCO, columns={"method": "RS"})} == {"RS"}


def test_other_suites_of_coco_are_other_benchmarks(tmp_path: Path) -> None:
    path = copied(COCO, tmp_path)
    changed(path / "bbobexp_f1.info", "suite = 'bbob'", "suite = 'sbox-cost'")
    changed(path / "bbobexp_f2.info", "suite = 'bbob', ", "")
    changed(path / "bbobexp_f2.info", "1:20|", "1:30|")
    changed(path / "bbobexp_f2.info", "data_f2/", "data_f2\\")
    assert {bench for _, bench, _ in runs(path, budget=30)} == {"sbox-cost_f1_d2", "f2_d2"}
    with pytest.raises(UsageError, match="--budget N says where runs ended"):
        runs(path)


def test_several_runs_on_an_instance_have_seeds_of_their_own(tmp_path: Path) -> None:
    path = copied(COCO, tmp_path)
    changed(path / "bbobexp_f1.info", ", 2:20|", ", 1:20|")
    assert sorted(seed for _, bench, seed in runs(path) if bench == "f1_d2") == [1001, 1002, 3001]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("funcId = 1, algId = 'random', logger = 'bbob'", "random"),
        ("funcId = 1, algId = ''a b'' , logger = 'bbob'", "a b"),
        ("funcId = 1, algId = 'it's, so'", "it's, so"),
        ("funcId = 1, algId = 'last'", "last"),
        ("funcId = 1, algId = " + "'" * 50_000 + "x", ""),
        ("funcId = 1", ""),
    ],
)
def test_an_algorithm_of_coco_stands_between_quotation_marks(line: str, name: str) -> None:
    """However many there are: one pattern for that took a minute for 4,000 of them."""
    assert coco._algorithm(line) == name
