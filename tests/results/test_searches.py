"""Search logs: kept, summed up, drawn, and held against what the paper prints."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.methods.oneshot.report import figures
from nasbench.methods.oneshot.report.logs import Searches, load, sharpness, summary
from nasbench.methods.oneshot.report.tables import beside_published, directions, searched
from nasbench.results import Store, Trajectory
from nasbench.results.reading import load as load_curves
from nasbench.results.reading import select
from nasbench.results.report.report import write
from nasbench.results.report.request import Request
from nasbench.results.store.trajectory import Setup
from tests.results.conftest import FACTS, LITERATURE, SETTING, make_run, make_setup

CHOICES = ("none", "skip_connect", "nor_conv_1x1", "nor_conv", "avg_pool_3x3")
METRICS = ("val-error@300", "test-error@300", "test-error-optimistic@300", "parameters", "parameters_paper")
PAPER = Path("suites/claims/zo_darts.json")


def log(
    shares: Sequence[float], seconds: Sequence[float] = (2.0, 3.0), drawn: Sequence[float] = (100.0, 300.0)
) -> list[tuple[Any, ...]]:
    """Two stages of one edge, uniform in the first epoch, with these probabilities in the last."""
    rows: list[tuple[Any, ...]] = []
    for epoch, took in enumerate(seconds, 1):
        rows += [(epoch, "seconds", took, None, None, None, None), (epoch, "expected_parameters", 7e4, *(None,) * 4)]
        own = shares if epoch == len(seconds) else [0.2] * 5
        for stage in (1, 2):
            rows += [(epoch, "operation", p, stage, "0-1", name, None) for name, p in zip(CHOICES, own, strict=True)]
    rows += [(len(seconds), "drawn_parameters", size, None, None, None, i) for i, size in enumerate(drawn, 1)]
    rows += [(1, "direct", -0.5, None, None, None, 1), (1, "implicit", 8.0, None, None, None, 1)]
    return rows


def bounded(rows: list[tuple[Any, ...]], low: float, high: float) -> list[tuple[Any, ...]]:
    return [*rows, (2, "lower_bound", low, *(None,) * 4), (2, "upper_bound", high, *(None,) * 4)]


def searched_run(seed: int, rows: list[tuple[Any, ...]], metrics: Sequence[Sequence[float]]) -> Trajectory:
    run = make_run(seed, [m[0] for m in metrics])
    return replace(run, columns=run.columns | {"metrics": np.array(metrics)}, log=rows)


def live(method: str, constraint: str = "none", bench: str = "medmnist-breast/retrain") -> Setup:
    setting = replace(
        SETTING, family="medmnist-breast", test_metrics=METRICS[1:3], oracle=None, worst=None, median=None
    )
    return make_setup(method, bench, constraint, metrics=METRICS, setting=setting)


def searches_of(store: Store) -> Searches:
    chosen = select([store])
    found = load(chosen, load_curves(chosen))
    assert found is not None
    return found


def test_a_log_is_kept_with_its_run_and_read_by_pandas(store: Store) -> None:
    rows = log([1, 0, 0, 0, 0])
    setup = make_setup("zo-darts")
    store.commit(setup, [replace(make_run(4, [3.0]), log=rows), make_run(5, [3.0])], FACTS)
    (f,) = store.fragments()
    kept = store.search_log(f, 4)
    assert kept is not None
    frame = kept.to_pandas()
    assert len(frame) == len(rows)
    assert frame["value"].tolist() == [row[2] for row in rows]
    assert frame["choice"].dropna().unique().tolist() == list(CHOICES)
    assert set(frame["seed"]) == {4}
    assert store.search_log(f, 5) is None
    whole = pd.read_parquet(store.folder / "_searches")
    assert len(whole) == len(rows)
    assert len(pd.read_parquet(store.folder)) == 2  # the trajectories, and nothing of the logs


def test_a_run_whose_log_is_damaged_is_missing_and_said_to_be(store: Store) -> None:
    setup = make_setup("zo-darts")
    store.commit(setup, [replace(make_run(s, [3.0]), log=log([1, 0, 0, 0, 0])) for s in (0, 1)], FACTS)
    (f,) = store.fragments()
    path = store.folder / "_searches" / f"{setup.run_id(0)}.parquet"
    path.write_bytes(path.read_bytes()[:100])
    assert store.search_log(f, 0) is None
    assert "seed 0, is damaged: its bytes do not match the digest" in store.notices[0]
    assert list(store.runs()[setup.id]) == [1]
    (f,) = store.fragments()
    assert store.search_log(f, 1) is not None
    assert len(list((store.folder / "_aside").iterdir())) == 2  # the fragment, and the log


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (Path.unlink, "it is missing"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "its bytes do not match the digest"),
        (lambda path: (path.unlink(), path.mkdir()), "not a regular file"),
    ],
)
def test_who_writes_to_a_store_is_told_first_which_logs_are_damaged(
    damage: Callable[[Path], object], reason: str, store: Store
) -> None:
    """Else a command would find the run there, and leave it."""
    setup = make_setup("zo-darts")
    store.commit(setup, [replace(make_run(s, [3.0]), log=log([1, 0, 0, 0, 0])) for s in (0, 1)], FACTS)
    damage(store.folder / "_searches" / f"{setup.run_id(0)}.parquet")
    again = Store.create(store.folder)
    assert list(again.runs()[setup.id]) == [1]
    (notice,) = again.notices
    assert "seed 0, is damaged: " in notice and reason in notice
    again.commit(setup, [replace(make_run(0, [3.0]), log=log([1, 0, 0, 0, 0]))], FACTS)
    assert not Store.create(store.folder).notices


def test_logs_go_aside_with_their_runs(store: Store) -> None:
    """When a run is made anew, by --retry-failed or because its method changed."""
    run = replace(make_run(0, [3.0]), log=log([1, 0, 0, 0, 0]))
    setup, newer = make_setup("zo-darts"), make_setup("zo-darts", method_version=2)
    store.commit(setup, [run], FACTS)
    store.forget(setup, {0})
    assert list((store.folder / "_searches").iterdir()) == []
    store.commit(setup, [run], FACTS)
    store.supersede([newer])
    assert list((store.folder / "_searches").iterdir()) == []
    store.commit(newer, [run], FACTS)
    whole = pd.read_parquet(store.folder / "_searches")
    assert set(whole["run"]) == {newer.run_id(0)}
    assert len(list((store.folder / "_aside").iterdir())) == 4


def test_a_torn_fragment_leaves_the_others_a_report(store: Store, tmp_path: Path) -> None:
    networks = [[9.0, 12.0, 10.0, 2e5, 150_000.0]]
    for seed in (0, 1):
        store.commit(live("darts"), [searched_run(seed, log([0.2] * 5), networks)], FACTS)
    torn = next(path for path in sorted(store.folder.glob("darts*.parquet")))
    content = bytearray(torn.read_bytes())
    content[4:400] = bytes(396)
    torn.write_bytes(content)
    written = write([store], Request(tmp_path / "report", formats=["csv"], full=True))
    assert "Searches of one-shot methods" in written.text


def test_figures_of_constraints_that_look_alike_have_names_of_their_own(store: Store, tmp_path: Path) -> None:
    networks = [[9.0, 12.0, 10.0, 2e5, 150_000.0]]
    longest = "zo-darts++:" + ",".join(f"option{i}=0.123456789" for i in range(20))
    for constraint in ("parameters<=200000", "parameters>=200000"):
        store.commit(live(longest, constraint), [searched_run(0, log([0.2] * 5), networks)], FACTS)
    written = write([store], Request(tmp_path / "report", formats=["svg"]))
    assert sum("search-operations" in path.name for path in written.files) == 2


def test_entropy_is_relative_and_sure_edges_are_counted(store: Store) -> None:
    store.commit(make_setup("a"), [replace(make_run(0, [3.0]), log=log([0.5, 0.5, 0, 0, 0]))], FACTS)
    store.commit(make_setup("b"), [replace(make_run(0, [3.0]), log=log([0, 0, 0, 1, 0]))], FACTS)
    found = sharpness(searches_of(store))
    assert found["entropy"].to_numpy() == pytest.approx([1, math.log(2) / math.log(5), 1, 0])
    assert found["decided"].tolist() == [0, 0, 0, 1]


def test_the_summary_of_searches(store: Store) -> None:
    rows = [bounded(log([0, 0, 0, 1, 0], (2.0, s), (100.0, 300.0, 500.0, 900.0)), 200, 600) for s in (3.0, 5.0, 9.0)]
    runs = [replace(make_run(seed, [3.0]), log=own) for seed, own in enumerate(rows)]
    store.commit(make_setup("zo-darts++"), runs, FACTS)
    (row,) = summary(searches_of(store)).to_dict("records")
    assert row["seeds"] == 3
    assert row["epochs"] == 2
    assert row["seconds"] == 7.0  # the median of 5, 7 and 11
    assert row["drawn"] == 400.0
    assert row["within"] == 0.5
    assert row["direct"] == 0.5
    assert row["implicit"] == 8.0
    shown = searched(searches_of(store)).shown.iloc[0]
    assert shown["within %"] == "50"
    assert shown["decided %"] == "100"


def test_a_search_that_trains_no_architecture_is_shown_without_its_entropy(store: Store) -> None:
    weights_only = [row for row in log([0.2] * 5) if row[1] in ("seconds", "drawn_parameters")]
    store.commit(make_setup("spos"), [replace(make_run(0, [3.0]), log=weights_only)], FACTS)
    searches = searches_of(store)
    shown = searched(searches).shown.iloc[0]
    assert shown[["method", "epochs", "s", "entropy", "decided %", "drawn"]].tolist() == [
        "spos",
        "2",
        "5",
        "-",
        "-",
        "200",
    ]
    assert {names[0] for names, _ in figures.drawn(searches)} == {"search-sizes-toy"}


def test_whether_a_search_kept_its_first_direction_is_said(store: Store) -> None:
    def estimated(first: float, later: Sequence[float], kept: float) -> list[tuple[Any, ...]]:
        rows = [row for row in log([0.2] * 5) if row[1] not in ("direct", "implicit")]
        for epoch, step, s in [(1, 1, first), (1, 2, 77.0), *((2, i, s) for i, s in enumerate(later, 1))]:
            rows += [(epoch, "direct", 1.0, *(None,) * 3, step), (epoch, "implicit", s - 1.0, *(None,) * 3, step)]
        return [*rows, (1, "kept_direction", 1.0, *(None,) * 4), (2, "kept_direction", kept, *(None,) * 4)]

    kept = [estimated(-4000.0, [1.0, -3.0, 2.0], 0.94), estimated(2000.0, [2.0], 0.97)]
    runs = [replace(make_run(seed, [3.0]), log=own) for seed, own in enumerate(kept)]
    store.commit(make_setup("zo-darts+"), runs, FACTS)
    store.commit(make_setup("zo-darts"), [replace(make_run(0, [3.0]), log=estimated(5.0, [4.0], 0.2))], FACTS)
    store.commit(make_setup("old"), [replace(make_run(0, [3.0]), log=log([0.2] * 5))], FACTS)
    (table,) = directions(searches_of(store))
    found = table.data.set_index("method")
    assert set(found.index) == {"zo-darts+", "zo-darts"}
    assert found.loc["zo-darts+", ["first_s", "later_s", "kept"]].tolist() == pytest.approx([3000, 2, 0.955])
    assert dict(zip(table.shown["method"], table.shown["α"], strict=True)) == {
        "zo-darts+": "kept its first direction",
        "zo-darts": "left its first direction",
    }


def test_runs_without_a_search_make_no_section(store: Store) -> None:
    other = [(1, "temperature", 3.0, *(None,) * 4)]
    store.commit(make_setup(), [make_run(0, [3.0]), replace(make_run(1, [3.0]), log=other)], FACTS)
    chosen = select([store])
    assert load(chosen, load_curves(chosen)) is None


def test_published_stands_beside_reproduced(store: Store) -> None:
    networks = [[9.0, 12.0, 10.0, 2e5, 150_000.0], [8.0, 14.0, 11.0, 2e5, 160_000.0], [7.0, 10.0, 12.0, 2e5, 170_000.0]]
    store.commit(live("zo-darts++:size=S"), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    store.commit(live("zo-darts++", "parameters@L"), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    store.commit(live("zo-darts:dynamics=reference"), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    store.commit(live("random"), [searched_run(0, [], networks)], FACTS)
    store.commit(live("zo-darts+:estimate=noise"), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    (table,) = beside_published(searches_of(store), json.loads(PAPER.read_text()))
    by = table.data.set_index("published_as")
    assert set(by.index) == {"ZO-DARTS++ S, BreastMNIST", "ZO-DARTS++ L, BreastMNIST", "ZO-DARTS, BreastMNIST", ""}
    assert by.loc["ZO-DARTS++ L, BreastMNIST", "constraint"] == "parameters@L"
    others = by.loc[""]  # of the setting without a constraint: what its searches must beat
    assert set(others["method"]) == {"random", "zo-darts+:estimate=noise"}
    assert others["accuracy_published"].isna().all()
    assert others["accuracy"].tolist() == pytest.approx([89.0, 89.0])
    shown = table.shown.set_index("method").loc["random"]
    assert (shown["paper %"], shown["ours %"], shown["paper M"], shown["paper s"]) == ("-", "89.0±1.0", "-", "-")
    small = by.loc["ZO-DARTS++ S, BreastMNIST"]
    assert (small["accuracy_published"], small["accuracy_published_std"]) == (88.5, 1.71)
    assert small["accuracy"] == pytest.approx(89.0)  # the best of all epochs, as published
    assert small["accuracy_by_validation"] == pytest.approx(88.0)
    assert small["accuracy_std"] == pytest.approx(1.0)  # of a sample
    assert small["parameters_published"] == 0.15
    assert small["parameters"] == pytest.approx(0.16)
    assert np.isnan(small["seconds_published"])
    assert small["seconds"] == 5.0


@pytest.mark.parametrize("bench", ["medmnist-breast/retrain@3", "medmnist-breast/smoke", "medmnist-breast"])
def test_published_numbers_do_not_stand_beside_another_recipe(store: Store, bench: str) -> None:
    metrics = [[5.0, 6.0, 7.0, 100.0, 100.0]]
    for own in (bench, "medmnist-breast/retrain"):
        store.commit(live("zo-darts++", bench=own), [searched_run(0, log([0.2] * 5), metrics)], FACTS)
    chosen = select([store])
    found = load(chosen, load_curves(chosen))
    assert found is not None
    (table,) = beside_published(found, json.loads(PAPER.read_text()))
    assert table.data["bench"].tolist() == ["medmnist-breast/retrain"]


def test_published_numbers_are_those_of_the_method_and_not_of_its_label(store: Store) -> None:
    networks = [[9.0, 12.0, 10.0, 2e5, 150_000.0]]
    labels = {"zo-darts++:size=S": "zo-darts++", "zo-darts:estimate=noise": "zo-darts", "darts": "ours"}
    labels["zo-darts:directions=4"] = "4 directions"
    for method in labels:
        store.commit(live(method), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    chosen = select([store])
    curves = load_curves(chosen)
    found = load(chosen, replace(curves, labels=tuple(labels[m] for m in curves.methods)))
    assert found is not None
    (table,) = beside_published(found, json.loads(PAPER.read_text()))
    assert dict(zip(table.data["method"], table.data["published_as"], strict=True)) == {
        "zo-darts++": "ZO-DARTS++ S, BreastMNIST",
        "zo-darts": "",
        "4 directions": "",
        "ours": "DARTS, BreastMNIST",
    }


def test_what_is_not_recorded_over_all_epochs_is_said_to_be_chosen_by_validation(store: Store) -> None:
    networks = [[9.0, 12.0, math.nan, 2e5, 150_000.0]]
    store.commit(live("darts"), [searched_run(0, log([0, 0, 0, 1, 0]), networks)], FACTS)
    (table,) = beside_published(searches_of(store), json.loads(PAPER.read_text()))
    assert table.data["accuracy"].tolist() == [88.0]
    assert "at the epoch that validation chose" in table.note
    assert table.data["seconds_published"].tolist() == [436.5]


def test_the_published_numbers_have_the_averages_that_the_paper_prints() -> None:
    paper = json.loads(PAPER.read_text())
    accuracy = {"DARTS": 82.20, "MiLeNAS": 82.69, "ZO-DARTS": 82.84, "ZO-DARTS+": 82.80, "ZO-DARTS++": 83.08}
    accuracy |= {"ZO-DARTS++ S": 82.76, "ZO-DARTS++ M": 83.38, "ZO-DARTS++ L": 84.00, "POPNASv3": 82.40}
    for name, average in accuracy.items():
        assert fmean(mean for mean, _ in paper["accuracy"][name].values()) == pytest.approx(average, abs=0.011)
    seconds = {"DARTS": 2126.40, "MiLeNAS": 1746.15, "ZO-DARTS": 936.74, "ZO-DARTS+": 757.80, "ZO-DARTS++": 1484.15}
    for name, average in seconds.items():
        assert fmean(paper["seconds"][name].values()) == pytest.approx(average, abs=0.011)
    parameters = {"DARTS": 0.220, "ZO-DARTS++": 0.454, "ZO-DARTS++ S": 0.137, "ZO-DARTS++ L": 0.833}
    for name, average in parameters.items():
        assert fmean(mean for mean, _ in paper["parameters"][name].values()) == pytest.approx(average, abs=0.0011)


def test_the_report_draws_what_searches_became(store: Store, tmp_path: Path) -> None:
    networks = [[9.0, 12.0, 10.0, 2e5, 150_000.0], [8.0, 14.0, 11.0, 3e5, 160_000.0], [7.0, 10.0, 12.0, 1e5, 170_000.0]]
    rows = bounded(log([0.1, 0.2, 0.3, 0.4, 0], drawn=[1e5, 2e5, 4e5]), 1e5, 3e5)
    store.commit(live("zo-darts++:size=S"), [searched_run(0, rows, networks)], FACTS)
    store.commit(live("darts"), [searched_run(0, log([0.2] * 5), networks)], FACTS)
    written = write(
        [store], Request(tmp_path / "report", formats=["svg", "html", "md", "latex", "csv"], literature=LITERATURE)
    )
    names = {path.name for path in written.files}
    where = "medmnist-breast_retrain"
    assert names >= {"search-entropy.svg", f"search-sizes-{where}.svg", f"search-accuracies-{where}.none.svg"}
    assert names >= {f"search-operations-darts.{where}.none.svg", "searches.csv", "published-searches.tex"}
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Searches of one-shot methods" in page
    found = searches_of(store)
    (violins,) = [figures.sizes(found, "medmnist-breast/retrain")]
    assert violins is not None
    lines = [line for line in violins.axes[0].collections if line.get_label() == "bound"]
    assert sorted(line.get_segments()[0][0][1] for line in lines) == [0.1, 0.3]  # type: ignore[attr-defined]
    (_, _, evolution), *_ = figures.evolutions(found)
    drawn = evolution.axes[0].lines
    assert [line.get_ydata()[-1] for line in drawn] == [0.2] * 5  # type: ignore[index]
