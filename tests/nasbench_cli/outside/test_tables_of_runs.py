"""Runs that were made elsewhere, as tables of three shapes: what is read, and what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nasbench as public
from nasbench.base.errors import StoreError, UsageError
from nasbench.benchmarks.tabular.direction import Sense
from nasbench.cli.outside.importing import import_runs
from nasbench.cli.outside.readers import reader_of
from nasbench.cli.outside.rows import Asked
from nasbench.cli.outside.runs import _loss
from nasbench.cli.outside.table import read
from nasbench.results import Store
from tests.conftest import Printed

METHODS = {"mine": 0.2, "theirs": 0.3, "random": 0.6}
TASKS = ("adult", "car", "higgs")


def trajectories(evals: int = 20, seeds: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (method, task, seed, step, round(width * rng.random() + 0.1 / step, 4))
        for method, width in METHODS.items()
        for task in TASKS
        for seed in range(seeds)
        for step in range(1, evals + 1)
    ]
    return pd.DataFrame(rows, columns=["method", "task", "seed", "step", "value"])


def finals(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.groupby(["method", "task", "seed"])["value"].min().reset_index()


def ranks(found: Any) -> list[float]:
    """The expected ranks at the end of a report's methods, sorted by name."""
    table = found.tables["ranks"].set_index("method").sort_index()
    return table[max(filter(str.isdigit, table), key=int)].tolist()


@pytest.fixture
def reported(tmp_path: Path) -> Callable[..., list[float]]:
    """The expected ranks of a frame."""

    def call(frame: pd.DataFrame, **options: object) -> list[float]:
        found = public.report(frame, out=tmp_path / "report", format="csv", **options)  # type: ignore[arg-type]
        return ranks(found)

    return call


def test_the_three_shapes_and_the_best_so_far_say_the_same(
    reported: Callable[..., list[float]], tmp_path: Path
) -> None:
    frame = trajectories()
    by_steps = reported(frame, direction="minimise")
    final = finals(frame)
    assert reported(final, direction="minimise") == by_steps
    best = frame.assign(best=frame.groupby(["method", "task", "seed"])["value"].cummin()).drop(columns="value")
    improved = best[best.groupby(["method", "task", "seed"])["best"].diff() != 0]
    store = tmp_path / "store"
    public.import_runs(improved, store=store, direction="minimise", budget=20)
    found = public.report(store, out=tmp_path / "other", format="csv")
    assert ranks(found) == by_steps
    stored = Store.open(store).fragments()[0].table().to_pandas()
    run = stored[stored["seed"] == 3]
    wanted = best[(best[["method", "task", "seed"]] == ["mine", "adult", 3]).all(axis=1)]["best"]
    assert run["incumbent"].tolist() == wanted.tolist()


def test_wilcoxon_of_a_papers_table_is_scipys(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(
        {"data set": [f"d{i}" for i in range(12)]} | {m: rng.normal(80 - 9 * w, 2, 12) for m, w in METHODS.items()}
    )
    found = public.report(wide, out=tmp_path / "report", format="csv", direction="maximise")
    tests = found.tables["wilcoxon"]
    (pair,) = tests[
        (tests["over"] == "settings") & tests[["method", "other"]].isin(["mine", "random"]).all(axis=1)
    ].index
    assert tests.loc[pair, "p"] == pytest.approx(stats.wilcoxon(wide["mine"], wide["random"]).pvalue)
    assert "1 seed is common to all" in found.text  # no verdict over seeds


def test_more_is_better_where_it_is_said(reported: Callable[..., list[float]]) -> None:
    frame = finals(trajectories())
    less = reported(frame, direction="minimise")
    turned = frame.assign(accuracy=100 - 100 * frame["value"]).drop(columns="value")
    assert reported(turned) == less  # accuracies rise by their name
    assert reported(frame, direction="maximise") == pytest.approx([4 - rank for rank in less])
    assert _loss("mean_loss", np.array([0.2, 0.4]), True)[0] == "negative mean_loss"
    assert _loss("accuracy", np.array([0.2, 0.4]), True)[1].tolist() == [0.8, 0.6]
    assert _loss("accuracy", np.array([20.0, 40.0]), True)[0] == "100 - accuracy"


ASKED = {
    "a value without a direction": (lambda f: f, {}, "is less or more of value better"),
    "runs of unequal length": (
        lambda f: f.drop(index=f.index[-3:]), {"direction": "minimise"}, "runs have 17 to 20 evaluations.*--budget 17"
    ),
    "an evaluation twice": (
        lambda f: pd.concat([f, f[:1]]),
        {"direction": "minimise"},
        "rows 1 and 1081 are of the same method mine, benchmark adult, seed 0, evaluation 1: leave out all but one$",
    ),
    "several evaluations twice": (
        lambda f: pd.concat([f, f[40:43], f[1:2]]),
        {"direction": "minimise"},
        "rows 2 and 1084 are of .*evaluation 2: leave out all but one; 3 other rows repeat an earlier one, too$",
    ),
    "a gap": (lambda f: f.drop(index=f.index[4]), {"direction": "minimise"}, "row 5 is evaluation 6.*--shape best"),
    "the best so far under another name": (
        lambda f: f.assign(value=f.groupby(["method", "task", "seed"])["value"].cummin()),
        {"direction": "minimise"},
        "never gets worse in any run.*--shape best",
    ),
    "two columns that may be the value": (
        lambda f: f.rename(columns={"value": "accuracy"}).assign(loss=1.0), {}, "accuracy or loss may be the value"
    ),
    "two columns that may be the method": (
        lambda f: f.drop(columns="method").assign(algorithm="a", optimizer="b"),
        {},
        "algorithm or optimizer may be the method",
    ),
    "frameworks, as AMLB calls the methods": (
        lambda f: f.rename(columns={"method": "framework"}),
        {},
        "is less or more of value better",
    ),
    "a text for a number": (
        lambda f: f.assign(value=f["value"].astype(object).where(f.index != 7, "n/a?")),
        {},
        "value is 'n/a\\?' in row 8",
    ),
    "no method": (lambda f: f.drop(columns="method"), {}, "no column is the method"),
    "a row without a method": (
        lambda f: f.assign(method=f["method"].where(f.index != 2)), {"direction": "minimise"}, "row 3 has no method"
    ),
    "a role that there is not": (lambda f: f, {"columns": {"valu": "value"}}, "role of a column 'valu'.*value"),
    "a column that there is not": (lambda f: f, {"columns": {"value": "loss"}}, "column 'loss'"),
    "shares beside percent": (
        lambda f: f.assign(accuracy=f["value"].where(f["method"] == "mine", 100 * f["value"])).drop(columns="value"),
        {},
        "accuracy of mine is a share.*of (random|theirs) in percent",
    ),
    "half an evaluation": (lambda f: f.assign(step=f["step"] / 2), {"direction": "minimise"}, "evaluations are whole"),
    "more evaluations than a store takes": (
        lambda f: f.assign(step=f["step"].replace(20, 10**9)),
        {"direction": "minimise", "shape": "best"},
        "a store takes 200,000 at most",
    ),
    "more rows between improvements than fit into memory": (
        lambda f: f.assign(step=f["step"].replace(20, 200_000)),
        {"direction": "minimise", "shape": "best"},
        r"rows of \d+ runs are [\d,]+ with one for each evaluation, and 2,000,000 may be added",
    ),
    "more evaluations than are counted": (
        lambda f: f.assign(step=f["step"].replace(20, 2**60)),
        {"direction": "minimise", "shape": "best", "budget": 5},
        "mine on adult, seed 0: numbers of evaluations are whole",
    ),
    "a name of two lines": (
        lambda f: f.assign(method="a\n" + f["method"]), {"direction": "minimise"}, "'a.*' is no name: one line"
    ),
    "a long name": (lambda f: f.assign(task="x" * 5000 + f["task"]), {"direction": "minimise"}, "'xxx.*' is no name"),
    "dates": (lambda f: f.assign(value=pd.Timestamp("2020")), {"direction": "minimise"}, "value holds datetime"),
    "the best so far by the clock alone": (
        lambda f: f.rename(columns={"value": "best", "step": "seconds"}),
        {"direction": "minimise"},
        "no column numbers the evaluations of the best values",
    ),
    "repetitions, or evaluations by the clock": (
        lambda f: f.drop(columns="seed").rename(columns={"step": "runtime"}),
        {"direction": "minimise"},
        "no column is the seed: --shape trajectory",
    ),
    "rows of a method without a seed or a number": (
        lambda f: f.drop(columns=["seed", "step"]),
        {"direction": "minimise"},
        "a method has 120 rows on a benchmark, and no column is the seed: --shape trajectory",
    ),
    "parts of a cross-validation": (
        lambda f: f[f["seed"] == 0].drop(columns="seed").rename(columns={"step": "iteration"}).assign(cv_name="a"),
        {"direction": "minimise"},
        "no column is the seed, and iteration may be either",
    ),
    "rows of two places that no known name tells apart": (
        lambda f: pd.concat([f.assign(arena=1), f.assign(arena=2)]),
        {"direction": "minimise"},
        "leave out all but one; .* too; or does a column that was not read tell them apart \\(arena\\)\\?",
    ),
    "a best value that gets worse": (
        lambda f: f, {"direction": "minimise", "shape": "best"}, "mine on adult, seed 0: value gets worse at evaluation"
    ),
    "trials, or repetitions": (
        lambda f: f[f["seed"] == 0].drop(columns="seed").rename(columns={"step": "trial"}),
        {"direction": "minimise"},
        "trial may be either: --column evaluation=trial",
    ),
    "y beside an error": (
        lambda f: f.rename(columns={"value": "y"}).assign(error=0.5), {}, "y or error may be the value"
    ),
    "seconds without a clock": (
        lambda f: f, {"direction": "minimise", "seconds": 5.0}, "no column has the seconds of a run's clock"
    ),
    "seconds of each evaluation for a clock": (
        lambda f: f.assign(seconds=20 - f["step"]),
        {"direction": "minimise", "seconds": 5.0},
        "seconds fall from one evaluation to the next.*--column cost=NAME",
    ),
    "a run that ends before its seconds": (
        lambda f: f.assign(seconds=f["step"]).drop(index=f.index[15:20]),
        {"direction": "minimise", "seconds": 20.0},
        "mine on adult, seed 0, ends at 15 seconds, before 20: --budget-seconds 15",
    ),
    "two budgets": (
        lambda f: f.assign(seconds=f["step"]), {"direction": "minimise", "seconds": 5.0, "budget": 5}, "two budgets"
    ),
    "no time at all": (
        lambda f: f.assign(seconds=f["step"]), {"direction": "minimise", "seconds": 0.0}, "must be a positive number"
    ),
    "less than no time": (
        lambda f: f.assign(seconds=f["step"]), {"direction": "minimise", "seconds": -1.0}, "must be a positive number"
    ),
    "trainings of several lengths": (
        lambda f: f.assign(budget=np.where(f["method"] == "mine", 27, 3 ** (f["step"] % 4))),
        {"direction": "minimise"},
        "budget differs from row to row \\(.*\\): if trainings were of several lengths, keep the rows of one",
    ),
    "trainings of several lengths in a single run": (
        lambda f: f[f["seed"] == 0].drop(columns="seed").assign(budget=lambda g: 3 ** (g["step"] % 4)),
        {"direction": "minimise"},
        "budget differs from row to row",
    ),
    "measures of opposite directions": (
        lambda f: f.assign(metric=np.where(f["task"] == "adult", "accuracy", "rmse")),
        {"direction": "minimise"},
        "metric names several measures \\(accuracy and rmse\\): import those of each by themselves",
    ),
    "two measures of one evaluation": (
        lambda f: pd.concat([f.assign(metric="auc"), f.assign(metric="accuracy")]),
        {"direction": "maximise"},
        "metric names several measures",
    ),
    "variants of a method": (
        lambda f: f.assign(acquisition=np.where(f["seed"] < 2, "EI", "UCB")),
        {"direction": "minimise"},
        "acquisition differs between runs.*--column method=method\\+acquisition keeps them apart",
    ),
    "results after other numbers of evaluations": (
        lambda f: f[f["step"] == 20].assign(step=np.where(f["method"][f["step"] == 20] == "mine", 1000, 100)),
        {"direction": "minimise"},
        "each row is the result of a run, and step differs from run to run \\(1000 and 100\\)",
    ),
    "a budget that a run lacks": (
        lambda f: f, {"direction": "minimise", "budget": 21}, "has 20 evaluations, fewer than 21"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ASKED)
def test_what_may_be_read_in_two_ways_is_asked_and_nothing_is_stored(case: str, tmp_path: Path) -> None:
    change, options, said = ASKED[case]
    store = tmp_path / "store"
    with pytest.raises(UsageError, match=said):
        public.import_runs(change(trajectories()), store=store, **options)
    assert not store.exists()


def test_longer_runs_are_cut_where_a_budget_is_given(tmp_path: Path) -> None:
    frame = trajectories().drop(index=range(357, 360))
    public.import_runs(frame, store=tmp_path / "store", direction="minimise", budget=17)
    fragments = Store.open(tmp_path / "store").fragments()
    assert {run.rows for f in fragments for run in f.runs} == {17}
    assert {f.setup.protocol for f in fragments} == {"17 evaluations on 1 worker"}


def test_what_has_no_value_is_a_failed_evaluation(tmp_path: Path) -> None:
    frame = trajectories().assign(state="COMPLETE", feasible=True)
    frame.loc[0, "value"] = -np.inf
    frame.loc[1, "state"] = "PRUNED"
    frame.loc[2, "feasible"] = False
    public.import_runs(frame, store=tmp_path / "store", direction="minimise")
    (own,) = [
        f for f in Store.open(tmp_path / "store").fragments() if f.setup.method == "mine" and f.setup.bench == "adult"
    ]
    rows = own.table().to_pandas()[:4]
    assert rows["status"].tolist() == ["failed", "failed", "ok", "ok"]
    assert rows["feasible"].tolist() == [False, False, False, True]
    assert rows["incumbent"].isna().tolist() == [True, True, True, False]
    assert own.by_seed[0].failed_evaluations == 2


def test_evaluations_may_count_from_0_and_seeds_may_be_texts(reported: Callable[..., list[float]]) -> None:
    frame = trajectories()
    plain = reported(frame, direction="minimise")
    other = frame.assign(step=frame["step"] - 1, seed="run-" + frame["seed"].map(str))
    assert reported(other, direction="minimise") == plain


def test_runs_that_begin_with_0_and_improve_later_count_alike(tmp_path: Path) -> None:
    """Where one run begins with evaluation 0, every run is numbered from 0."""
    rows = [("mine", "t", 0, 0, 0.5), ("mine", "t", 0, 3, 0.4), ("mine", "t", 1, 1, 0.6), ("mine", "t", 1, 3, 0.3)]
    frame = pd.DataFrame(rows, columns=["method", "task", "seed", "step", "value"])
    public.import_runs(frame, store=tmp_path / "store", direction="minimise", shape="best", budget=4)
    (fragment,) = Store.open(tmp_path / "store").fragments()
    known = fragment.table().to_pandas().groupby("seed")["incumbent"].apply(list)
    assert known[0] == [0.5, 0.5, 0.5, 0.4]
    assert known[1][1:] == [0.6, 0.6, 0.3]
    assert np.isnan(known[1][0])


def test_seconds_of_evaluations_are_a_clock_together(tmp_path: Path) -> None:
    frame = trajectories().assign(cost=2.0)
    public.import_runs(frame, store=tmp_path / "store", direction="minimise", seconds=11.0)
    assert {run.rows for f in Store.open(tmp_path / "store").fragments() for run in f.runs} == {5}


def test_distances_far_apart_are_one_scale_and_error_rates_are_not(tmp_path: Path) -> None:
    frame = finals(trajectories()).rename(columns={"value": "rmse"})
    frame["rmse"] *= np.where(frame["method"] == "mine", 1, 500)
    public.import_runs(frame, store=tmp_path / "store")
    with pytest.raises(UsageError, match="error rate of mine is a share"):
        public.import_runs(frame.rename(columns={"rmse": "error rate"}), store=tmp_path / "other")


def test_runs_are_compared_at_equal_seconds_where_asked(tmp_path: Path) -> None:
    frame = trajectories().assign(seconds=lambda f: f["step"] * (1 + (f["method"] == "mine")))
    public.import_runs(frame, store=tmp_path / "store", direction="minimise", seconds=10.0)
    rows = {f.setup.method: {run.rows for run in f.runs} for f in Store.open(tmp_path / "store").fragments()}
    assert rows == {"mine": {5}, "theirs": {10}, "random": {10}}


def test_a_test_value_is_reported_and_selects_nothing(tmp_path: Path) -> None:
    frame = trajectories().assign(test=lambda f: 1 - f["value"])
    found = public.report(frame, out=tmp_path / "report", format="csv", direction="minimise")
    (table,) = (table for name, table in found.tables.items() if "test" in name)
    assert len(table)


@pytest.mark.parametrize("mark", ["OOM", "89.60*"])
def test_a_score_that_is_no_number_everywhere_stays_the_value(mark: str) -> None:
    """And what stands beside it does not become it."""
    frame = finals(trajectories()).rename(columns={"value": "accuracy"}).assign(gpu_hours=2.0)
    frame["accuracy"] = frame["accuracy"].astype(object).where(frame.index != 20, mark)
    with pytest.raises(UsageError, match=f"accuracy is '{re.escape(mark)}' in row 21: not a number"):
        read(frame, Asked(), "t")


@pytest.mark.parametrize(
    ("beside", "listed"),
    [
        (["test_error", "train_seconds"], "test_error or train_seconds"),
        (["test_acc", "latency"], "test_acc or latency"),
        (["train_accuracy", "test_accuracy"], "test_accuracy or train_accuracy"),
        (["test_loss", "n_params"], "test_loss or n_params"),
        (["test_error"], "test_error"),
        (["test_acc", "foo", "bar"], "test_acc, foo or bar"),
    ],
)
def test_a_time_a_size_or_a_score_of_training_is_no_value_beside_a_test_value(beside: list[str], listed: str) -> None:
    frame = finals(trajectories())
    frame = frame.drop(columns="value").assign(**{name: frame["value"] * (1 + n) for n, name in enumerate(beside)})
    first = re.match(r"\w+", listed)[0]
    with pytest.raises(UsageError, match=f"^{listed} may be the value: --column value={first} says"):
        read(frame, Asked(), "t")
    asked = {name: read(frame, Asked(columns={"value": name}), "t").name for name in beside}
    assert asked == {name: name for name in beside}
    other = {"train_accuracy": "val_loss"}  # without another score beside it, the validation's is the value
    rows = read(frame.rename(columns=other).assign(val_loss=0.5), Asked(), "t")
    assert (rows.name, "test" in rows.frame) == ("val_loss", True)


@pytest.mark.parametrize(
    ("value", "test", "rises", "less"),
    [
        ("val_loss", "test_acc", (False, True), None),
        ("val_acc", "test_error", (True, False), None),
        ("val_acc", "test_acc", (True, True), None),
        ("y", "test_acc", (False, True), "minimise"),
        ("y", "test_value", (True, True), "maximise"),
        ("val_acc", "test_acc", (False, False), "minimise"),  # who says it denies what such names say
    ],
)
def test_a_test_values_own_name_says_its_direction(
    value: str, test: str, rises: tuple[bool, bool], less: Sense | None, tmp_path: Path
) -> None:
    frame = finals(trajectories())
    good = frame["method"] == "mine"
    frame["value"] = np.where(good == rises[0], 0.9, 0.1) + frame["value"] / 100
    frame = frame.rename(columns={"value": value}).assign(**{test: np.where(good == rises[1], 0.8, 0.2)})
    notes = import_runs([frame], tmp_path / "store", Asked(less))
    assert (f"of {test} is better" in " ".join(notes)) == (rises[0] != rises[1])
    for metric in ("objective", "test"):
        asked = {} if metric == "objective" else {"metric": metric}
        found = public.report(tmp_path / "store", out=tmp_path / metric, format="csv", **asked)
        assert found.text.partition(" is first")[0].endswith("mine")


def test_test_values_of_two_files_have_one_direction(tmp_path: Path) -> None:
    one = finals(trajectories()).rename(columns={"value": "val_loss"})
    frames = [one.assign(test_acc=0.5), one.assign(test_error=0.5, method=one["method"] + "+")]
    with pytest.raises(UsageError, match="bring them to one measure"):
        import_runs(frames, tmp_path / "store", Asked())
    import_runs([frames[0], frames[1].drop(columns="test_error")], tmp_path / "other", Asked())


def test_the_report_says_that_runs_were_made_elsewhere(tmp_path: Path) -> None:
    found = public.report(trajectories(), out=tmp_path / "report", format="html", direction="minimise")
    assert "runs were made elsewhere" in found.text.replace("\n", " ")
    assert (
        "Made elsewhere, so that nobody can compute it again here: the frame (a frame, 1080 rows)"
        in (tmp_path / "report" / "index.html").read_text()
    )


def test_our_own_frame_comes_back(tmp_path: Path) -> None:
    frame = public.run(["random", "evolution:population=5"], "hpolib-naval", seeds=6, evals=12)
    found = public.report(frame, out=tmp_path / "report", format="csv")
    best = frame.groupby(["method", "seed"])["incumbent"].last().unstack()
    wins = (best.loc["random"].to_numpy()[:, None] > best.loc["evolution:population=5"].to_numpy()).mean()
    pair = found.tables["pairs"] if "pairs" in found.tables else found.tables["comparison"]
    assert pair["better"].iloc[0] in (pytest.approx(wins), pytest.approx(1 - wins))


# At the command line


@pytest.fixture
def file(tmp_path: Path) -> Path:
    trajectories().to_csv(tmp_path / "runs.csv", index=False)
    return tmp_path / "runs.csv"


def test_a_newcomer_reports_a_file(nasbench: Callable[..., Printed], file: Path) -> None:
    asked = nasbench("report", file)
    assert asked.code == 2
    assert "--direction minimise or --direction maximise" in asked.err
    done = nasbench("report", file, "--direction", "minimise", "--wilcoxon", "--out", file.parent / "report")
    assert done.code == 0, done.err
    assert "54 runs of 20 evaluations" in done.out.replace("\n", " ")
    assert "Wilcoxon signed-rank" in done.out
    assert "read as a table; the value is value; taken for benchmark task, evaluation step" in done.err


def test_a_report_of_a_file_names_the_command_with_more_options(nasbench: Callable[..., Printed], file: Path) -> None:
    pd.read_csv(file)[:-3].to_csv(file, index=False)
    done = nasbench("report", file, "--direction", "minimise")
    assert done.code == 2
    said = "--budget 17 cuts the longer ones; `nasbench import runs FILE --store DIR` takes these options"
    assert said in done.err.replace("\n", " ")


def test_our_own_runs_and_theirs_are_never_mixed_up(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    frame = trajectories(5).assign(method="random", task="hpolib-naval").drop_duplicates(["seed", "step"])
    frame.to_csv(tmp_path / "runs.csv", index=False)
    store = tmp_path / "store"
    imported = nasbench("import", "runs", tmp_path / "runs.csv", "--direction", "minimise", "--store", store)
    assert imported.code == 0, imported.err
    run = nasbench(
        "run", "--method", "random", "--bench", "hpolib-naval", "--evals", "5", "--seeds", "6", "--store", store
    )
    assert run.code == 0, run.err
    assert "6 runs computed" in run.out + run.err
    assert len(Store.open(store).fragments()) == 2  # neither is stale for the other
    report = nasbench("report", store, "--out", tmp_path / "report")
    assert report.code == 2
    assert "made here and elsewhere, of which only the observed values may be compared: --score observed" in (
        report.err.replace("\n", " ")
    )
    again = nasbench("import", "runs", tmp_path / "runs.csv", "--direction", "minimise", "--store", store)
    assert again.code == 2
    assert "has random on hpolib-naval, none, seed 0, already" in again.err.replace("\n", " ")


def beside(tmp_path: Path, constraint: str = "none", **changes: str) -> Path:
    """A store with runs of ours and of a method from outside on one benchmark."""
    frame = public.run("local", "hpolib-naval", seeds=6, evals=12, constraints=constraint)
    frame = frame[["bench", "constraint", "seed", "evaluation", "objective", "feasible"]].assign(method="theirs")
    frame = frame.rename(columns={"objective": changes.pop("objective", "valid-mse@100")}).replace(changes)
    public.import_runs(frame, store=tmp_path / "s", direction="minimise", shape="trajectory")
    public.run("random", "hpolib-naval", seeds=6, evals=12, constraints=constraint, store=tmp_path / "s")
    return tmp_path / "s"


@pytest.mark.parametrize("constraint", ["none", "train_time@0.5"])
def test_runs_from_outside_stand_beside_ours_by_what_was_observed(
    constraint: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    done = nasbench("report", beside(tmp_path, constraint), "--score", "observed", "--out", tmp_path / "r", "--json")
    assert done.code == 0, done.err
    found = public.report(tmp_path / "s", score="observed", out=tmp_path / "r2", format="csv")
    alone = public.run(["local", "random"], "hpolib-naval", seeds=6, evals=12, constraints=constraint)
    last = alone.fillna({"incumbent": np.inf}).groupby(["method", "seed"])["incumbent"].last().unstack()
    theirs, ours = last.loc["local"].to_numpy()[:, None], last.loc["random"].to_numpy()
    wins = ((theirs < ours) + (theirs == ours) / 2).mean()
    assert sorted(ranks(found)) == pytest.approx(sorted([2 - wins, 1 + wins]))
    assert "hpolib-naval: runs were made elsewhere" in " ".join(found.text.split())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"objective": "error"}, "those state error, and ours valid-mse@100"),
        ({"theirs": "random"}, "of a method called random each: import the others under another name"),
    ],
)
def test_those_that_do_not_agree_with_ours_are_refused(changes: dict[str, str], said: str, tmp_path: Path) -> None:
    store = beside(tmp_path, **changes)
    with pytest.raises(StoreError, match=said):
        public.report(store, score="observed", out=tmp_path / "r", format="csv")


def test_an_archive_of_them_says_that_it_cannot_be_computed_again(nasbench: Callable[..., Printed], file: Path) -> None:
    store, archive = file.parent / "store", file.parent / "a.zip"
    nasbench("import", "runs", file, "--direction", "minimise", "--store", store)
    assert nasbench("archive", "make", store, "--out", archive).code == 0
    checked = nasbench("archive", "check", archive)
    assert "it was made elsewhere: nobody can compute it again here" in checked.out


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("runs.csv", "method,task\n", "no rows"),
        ("runs.jsonl", '{"method": "a"}\n{"method":\n', "line 2 is no JSON"),
        ("runs.jsonl", "[1]\n", "is no object of JSON"),
        ("runs.txt", "method,task,seed,value\n", "no reader knows it"),
        ("absent.csv", None, "there is no such file"),
    ],
)
def test_a_file_that_cannot_be_read_gets_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    done = nasbench("import", "runs", tmp_path / name, "--store", tmp_path / "store")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "store").exists()


def test_json_lines_and_parquet_are_read_as_csv_is(tmp_path: Path) -> None:
    frame = trajectories()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "b.parquet")
    frame.to_json(tmp_path / "c.jsonl", orient="records", lines=True)
    contents = []
    for path in sorted(tmp_path.iterdir()):
        public.import_runs(path, store=tmp_path / f"{path.stem}-store", direction="minimise")
        fragments = Store.open(tmp_path / f"{path.stem}-store").fragments()
        contents.append([f.table().drop_columns("run").to_pandas().to_csv() for f in fragments])
    assert contents[0] == contents[1] == contents[2]


def test_two_files_of_two_quantities_are_refused(tmp_path: Path) -> None:
    frame = finals(trajectories())
    rising = frame.assign(accuracy=1 - frame["value"], method="other").drop(columns="value")
    with pytest.raises(UsageError, match="are not one quantity"):
        public.import_runs(frame, rising, store=tmp_path / "store", direction="minimise")
    with pytest.raises((UsageError, StoreError), match="direction"):
        public.import_runs(frame, store=tmp_path / "store", direction="down")


def test_a_name_that_begins_with_a_symbol_is_stored_as_any_other(tmp_path: Path) -> None:
    frame = trajectories().replace({"method": {"mine": "(1+1)-ES"}})
    public.import_runs(frame, store=tmp_path / "store", direction="minimise")
    assert {f.setup.method for f in Store.open(tmp_path / "store").fragments()} == {"(1+1)-ES", "theirs", "random"}


def test_of_two_sources_one_need_not_say_how_evaluations_ended(tmp_path: Path) -> None:
    frame = trajectories()
    mine, others = frame[frame["method"] == "mine"].assign(status="ok"), frame[frame["method"] != "mine"]
    public.import_runs(mine, others, store=tmp_path / "store", direction="minimise")
    fragments = Store.open(tmp_path / "store").fragments()
    assert {run.failed_evaluations for f in fragments for run in f.runs} == {0}
    with pytest.raises(UsageError, match="value and rmse of two files are not one quantity"):
        public.import_runs(mine, others.rename(columns={"value": "rmse"}), store=tmp_path / "s", direction="minimise")


def test_rows_without_a_value_and_missing_seeds_are_said(tmp_path: Path) -> None:
    frame = trajectories()
    few = frame[(frame[["method", "task", "seed"]] != ["mine", "adult", 3]).any(axis=1)].copy()
    few.loc[few.index[[2, 50]], "value"] = [np.nan, np.inf]
    notes = import_runs([few], tmp_path / "store", Asked("minimise"))
    assert notes[-1].endswith("; 2 rows without a finite value, or of another status than finished: failed evaluations")
    assert "failed" not in import_runs([frame], tmp_path / "whole", Asked("minimise"))[-1]
    said = " ".join(public.report(tmp_path / "store", out=tmp_path / "report", format="csv").text.split())
    seeds = frame["seed"].nunique()
    assert f"the numbers of seeds differ, {seeds - 1} (mine on adult) to {seeds}: each setting" in said
    assert "Wilcoxon's test over settings, are of each method's own seeds" in said


def test_variants_of_a_method_are_kept_apart_where_two_columns_name_it(tmp_path: Path) -> None:
    frame = trajectories().assign(acquisition=lambda f: np.where(f["seed"] < 2, "EI", "UCB"))
    rows = read(frame, Asked(columns={"method": "method+acquisition"}), "t")
    assert set(rows.frame["method"]) == {f"{m}, {a}" for m in ("mine", "random", "theirs") for a in ("EI", "UCB")}
    assert "not read" not in rows.note
    frame.loc[frame["seed"] < 2, "acquisition"] = np.nan
    rows = read(frame, Asked(columns={"method": "method+acquisition"}), "t")
    assert set(rows.frame["method"]) == {f"{m}, {a}" for m in ("mine", "random", "theirs") for a in ("-", "UCB")}


def test_an_empty_column_is_not_proposed_as_the_value() -> None:
    frame = trajectories().rename(columns={"value": "y"})
    assert read(frame.assign(error=np.nan), Asked("minimise"), "t").note.startswith("the value is y")


@pytest.mark.parametrize(
    "columns",
    [
        {"hostname": "ab"},
        {"job_id": None},
        {"optimizer_name": "aab"},
        {"n_instances": "of the benchmark"},
        {"size": "of the benchmark"},
        {"config_epochs": None},
        {"activation": "within"},
    ],
)
def test_columns_that_change_no_comparison_are_named(columns: dict[str, str | None], tmp_path: Path) -> None:
    frame = trajectories()
    for name, kind in columns.items():
        if kind == "of the benchmark":
            frame[name] = frame["task"].map(len) * 1000
        elif kind == "within":
            frame[name] = np.where(frame["step"] % 2, "relu", "tanh")
        else:
            frame[name] = frame["seed"].map(lambda seed, kind=kind: kind[seed % len(kind)] if kind else 7 * seed)
    assert read(frame, Asked(sense="minimise"), "t").note.endswith(f"not read: {next(iter(columns))}")


def test_lists_of_json_lines_are_no_defect(tmp_path: Path) -> None:
    frame = trajectories().assign(layers=[[1, 2], [3]] * 540, notes=[{"a": 1}] * 1080)
    frame.to_json(tmp_path / "runs.jsonl", orient="records", lines=True)
    assert (
        "not read: layers and notes"
        in reader_of(tmp_path / "runs.jsonl", "").read(tmp_path / "runs.jsonl", Asked()).note
    )


def test_measures_of_one_direction_may_be_of_different_benchmarks() -> None:
    frame = trajectories().assign(metric=lambda f: np.where(f["task"] == "adult", "accuracy", "auc"))
    assert "not read: metric" in read(frame, Asked(sense="maximise"), "t").note


@pytest.mark.parametrize("column", ["metric", "what"])
def test_measures_of_two_directions_are_asked_about_however_they_are_spelled(column: str) -> None:
    measures = ["area_under_roc_curve", "root_mean_squared_error"]
    frame = trajectories().assign(**{column: lambda f: np.where(f["task"] == "adult", *measures)})
    with pytest.raises(UsageError, match=f"{column} names several measures \\({' and '.join(measures)}\\)"):
        read(frame, Asked(sense="maximise"), "t")


@pytest.mark.parametrize("name", ["is_infeasible", "memory_limit_violated", "constraint_violation", "Feasibility"])
def test_what_violates_a_constraint_is_asked_about(name: str) -> None:
    frame = trajectories().assign(**{name: lambda f: f["step"] % 2})
    with pytest.raises(UsageError, match=f"{name} seems to say which evaluations violate a constraint, and they would"):
        read(frame, Asked(sense="minimise"), "t")
    assert "not read" in read(frame.assign(**{name: 0}), Asked(sense="minimise"), "t").note
    read(frame.assign(feasible=lambda f: f["step"] % 2 == 0), Asked(sense="minimise"), "t")


def test_a_loss_that_differs_within_a_benchmark_is_a_setting() -> None:
    frame = trajectories().assign(loss_function=lambda f: np.where(f["step"] % 2, "huber", "squared_error"))
    assert "not read: loss_function" in read(frame, Asked(sense="maximise"), "t").note


PRINTED = pd.DataFrame({"dataset": ["adult", "car", "wine"], "RF": [0.2, 0.6, 0.8], "XGB": [0.6, 0.7, 0.9]})


def test_a_printed_table_names_its_methods() -> None:
    assert read(PRINTED, Asked(), "t").note == "each column is a method: RF and XGB; each row a benchmark: 3 rows"


@pytest.mark.parametrize("cell", ["93.1±0.2", "**94.2**", "0.71 (0.02)", "$12.5 \\pm 0.3$", "\\textbf{0.91}"])
def test_cells_of_a_printed_table_with_a_spread_or_in_bold_are_said_to_be_none(cell: str) -> None:
    with pytest.raises(UsageError, match=f"RF is {re.escape(repr(cell))} in row 1, which is no number: write the mean"):
        read(PRINTED.assign(RF=cell), Asked(), "t")
    with pytest.raises(UsageError, match=f"RF is {re.escape(repr(cell))} in row 3"):
        read(PRINTED.assign(RF=["-", "91.2", cell]), Asked(), "t")


def test_a_cell_of_many_points_is_read_in_no_time() -> None:
    with pytest.raises(UsageError, match="which is no number"):
        read(PRINTED.assign(RF="1(" + "." * 100_000 + "a"), Asked(), "t")


def test_of_a_table_without_methods_that_is_said_first() -> None:
    with pytest.raises(UsageError, match="no column is the method: --column method=NAME"):
        read(PRINTED.assign(label="a", best=1.0, version="1.2.3"), Asked(), "t")


def test_where_each_row_is_a_run_its_length_is_said() -> None:
    frame = trajectories()
    last = frame[frame["step"] == 20]
    assert "with step 20" in read(last, Asked(sense="minimise"), "t").note
    of_each = last.assign(step=last["task"].map(len))  # the same for all methods: fair
    assert "each row is the result of a run, with step" in read(of_each, Asked(sense="minimise"), "t").note
    counted = last.assign(step=range(len(last)))
    assert "result of a run" not in read(counted, Asked(sense="minimise"), "t").note


@pytest.mark.parametrize(
    "columns", [{"task_id": 7, "env_id": "a"}, {"global_step": 3, "timesteps": 5}, {"dataset_name": "b"}]
)
def test_names_that_only_stand_in_for_others_are_not_asked_about_beside_them(columns: dict[str, Any]) -> None:
    assert "not read: " in read(trajectories().assign(**columns), Asked(sense="minimise"), "t").note


def test_a_benchmark_and_a_step_are_known_by_longer_names(tmp_path: Path) -> None:
    frame = trajectories().rename(columns={"task": "env_id", "step": "global_step"})
    assert set(read(frame, Asked(sense="minimise"), "t").frame["benchmark"]) == set(trajectories()["task"])


def test_the_best_so_far_may_rise_by_rounding_before_it_is_feasible_or_after_the_budget(tmp_path: Path) -> None:
    best = trajectories().assign(feasible=True)
    best["value"] = best.groupby(["method", "task", "seed"])["value"].cummin() + 1
    best.loc[best["step"] == 7, "value"] *= 1 + 1e-15
    best.loc[best["step"] == 1, ["value", "feasible"]] = [0.0, False]
    best.loc[best["step"] == 19, "value"] = 3.0
    options = {"direction": "minimise", "shape": "best"}
    assert "10 evaluations" in public.import_runs(best, store=tmp_path / "s", budget=10, **options)[-1]
    with pytest.raises(UsageError, match="value gets worse at evaluation 19"):
        public.import_runs(best, store=tmp_path / "t", **options)


def test_a_field_that_most_runs_leave_empty_is_no_variant() -> None:
    frame = trajectories().assign(info=lambda f: np.where(f["seed"] < 1, "TimeoutError", None))
    assert "not read: info" in read(frame, Asked(sense="minimise"), "t").note
    with pytest.raises(UsageError, match="prior differs between runs of one method"):  # most have one
        read(trajectories().assign(prior=lambda f: np.where(f["seed"] < 4, "expert", None)), Asked(), "t")


@pytest.mark.parametrize(
    "column", ["n_instances", "num_classes", "RF_std", "p-value", "Average", "best", "rank", "Features"]
)
def test_a_column_of_a_printed_table_that_is_no_method_is_asked_about(column: str) -> None:
    with pytest.raises(UsageError, match=f"the column {column} is no method, by its name: leave it out"):
        read(PRINTED.assign(**{column: 1.0}), Asked(), "t")


@pytest.mark.parametrize("row", ["Average", "Avg. rank", "mean", "Wins", "Mean rank", "W/T/L", "p-value", "Total"])
def test_a_row_of_a_printed_table_that_is_no_benchmark_is_asked_about(row: str) -> None:
    last = pd.DataFrame({"dataset": [row], "RF": [1.0], "XGB": [2.0]})
    with pytest.raises(UsageError, match=f"the row {re.escape(row)} is no benchmark, by its name: leave it out"):
        read(pd.concat([PRINTED, last]), Asked(), "t")
