"""Tables of the user's own that are no full grid, have learning curves, or have one split only."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import BENCHMARKS, Level, UsageError, open_benchmark
from nasbench.benchmarks.spaces import Categorical, Float, Ordinal
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.benchmarks.spaces.features import tokenizer
from nasbench.benchmarks.spaces.listed import ListedChoices, listed
from nasbench.benchmarks.spaces.nasbench_graph import OPERATIONS_OF_PROTEINS, GraphNetworks
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.table import TabularBenchmark
from nasbench.benchmarks.tabular.user_table import read_table
from nasbench.methods import MethodSpec, Observation, Problem
from tests.conftest import Lend, Printed

EXTRAS = Path(__file__).parents[3] / "shared" / "data" / "nasbench201" / "extras.csv.gz"
HEAD = 'name = "mine"\ncost = "time"\n'
HYPERPARAMETERS = """
[[hyperparameter]]
name = "lr"
kind = "ordinal"
[[hyperparameter]]
name = "act"
kind = "categorical"
"""
METRIC = '[[metric]]\nname = "valid-error@9"\ncolumn = "error"\nsplit = "valid"\nepoch = 9\n'
TIME = '[[metric]]\nname = "time"\nunit = "s"\n'


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    yield
    open_benchmark.cache_clear()


@pytest.fixture
def table(tmp_path: Path) -> Callable[[pd.DataFrame, str], TabularBenchmark]:
    def imported(frame: pd.DataFrame, spec: str) -> TabularBenchmark:
        (tmp_path / "spec.toml").write_text(spec)
        frame.to_csv(tmp_path / "t.csv", index=False)
        save(read_table(tmp_path / "t.csv", tmp_path / "spec.toml"))
        return open_table("mine")

    return imported


Import = Callable[[pd.DataFrame, str], TabularBenchmark]


def holes(seed: int = 0) -> pd.DataFrame:
    """60 of the 2,000,000 rows that its columns could make."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{k}": rng.integers(0, 10, 300) for k in range(6)})
    frame["act"] = rng.choice(["relu", "tanh"], 300)
    frame = frame.drop_duplicates().iloc[:60]
    return frame.assign(error=rng.uniform(1, 9, 60), time=rng.uniform(1, 5, 60))


LISTED = HEAD + 'space = "listed"\n'
SIX = "".join(f'[[hyperparameter]]\nname = "x{k}"\nkind = "ordinal"\n' for k in range(6))
ACT = '[[hyperparameter]]\nname = "act"\nkind = "categorical"\n'


def test_what_is_in_the_table_is_the_space(table: Import) -> None:
    frame = holes()
    ours = table(frame, LISTED + SIX + ACT + METRIC + TIME)
    assert ours.space.size == 60
    for _, row in frame.iterrows():
        values = {name: row[name] for name in (*(f"x{k}" for k in range(6)), "act")}
        configuration = ours.space.from_values(values)
        assert ours.space.values(configuration) == values
        assert tuple(ours.evaluate(configuration, 3).metrics.values()) == (row["error"], row["time"])
    counts = np.bincount(ours.space.sample_rows(60_000, np.random.default_rng(0)), minlength=60)
    assert 850 < counts.min() <= counts.max() < 1150  # about five standard deviations around 1,000
    one, many = np.random.default_rng(1), np.random.default_rng(1)
    assert [ours.space.sample(one) for _ in range(99)] == ours.space.sample_rows(99, many).tolist()
    for foreign in (-1, 60, 1.0, True, (0,), None):
        with pytest.raises(ForeignConfiguration):
            ours.space.check(foreign)


def test_a_grid_with_too_many_holes_is_refused_with_advice(table: Import) -> None:
    with pytest.raises(UsageError, match=r'space = "listed" the rows are the space'):
        table(holes(), HEAD + SIX + ACT + METRIC + TIME)


def test_neighbours_are_one_choice_apart_or_else_the_nearest(table: Import) -> None:
    ours = table(holes(), LISTED + SIX + ACT + METRIC + TIME)
    values = [tuple(ours.space.values(row).values()) for row in range(60)]
    for row in range(60):
        apart = [sum(a != b for a, b in zip(values[row], other, strict=True)) for other in values]
        expected = [i for i, count in enumerate(apart) if count == 1]
        near = ours.space.neighbours(row)
        assert near
        assert row not in near
        assert not expected or near == expected
        assert ours.space.mutate(row, np.random.default_rng(row)) in near


def test_every_row_is_reached_once_step_by_step() -> None:
    rng = np.random.default_rng(2)
    points = np.unique(rng.integers(0, 4, (50, 5)), axis=0)
    space = ListedChoices([Ordinal(f"x{k}", (1, 2, 3, 4)) for k in range(5)], points)
    reached, stack = [], [space.as_sequence()]
    while stack:
        walk = stack.pop()
        stack += [walk.take(option) for option in range(walk.options)]
        reached += [] if walk.options else [walk.configuration]
    assert sorted(reached) == list(range(space.size))
    assert space.digits(np.arange(space.size)).tolist() == points.tolist()


def test_coordinates_without_a_row_stand_for_the_nearest_that_was_not_given() -> None:
    points = np.array([[0, 0], [0, 2], [2, 1], [3, 0]])
    space = listed([Ordinal("a", (1, 2, 3, 4)), Categorical("b", ("x", "y", "z"))], points)
    flat = space.as_flat()
    assert flat.at([2, 1]) == 2
    assert flat.at([3, 1]) == 3  # two categories are 1 apart, so (2, 1) is nearer: it has been given
    assert [flat.at([0, 1]) for _ in range(2)] == [0, 1]
    assert flat.at([0, 1]) == 2  # all have been given: the nearest again
    assert space.as_flat().at([3, 1]) == 2  # another search


def test_another_way_to_write_a_network_is_another_network_once_it_was_given() -> None:
    """Unless it is its own: a method that proposes the very coordinates again means the same network."""
    space = GraphNetworks(OPERATIONS_OF_PROTEINS)
    flat, row = space.as_flat(), 1672
    own = space.points[row].tolist()
    written = [[x, *ops] for x in range(9) for ops in itertools.product(range(5), repeat=4)]
    others = [c for c in written if space.find(c) == row and c != own]
    assert others
    assert flat.at(others[0]) == row
    given = [flat.at(c) for c in others]
    assert row not in given and len(set(given)) == len(given)
    assert flat.at(own) == row
    assert flat.at(others[0]) not in (row, *given)


def test_real_numbers_may_be_listed(table: Import) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"lr": 10 ** rng.uniform(-4, 0, 40), "width": rng.integers(8, 513, 40)})
    frame = frame.assign(error=rng.uniform(1, 9, 40), time=1.5)
    spec = LISTED + '[[hyperparameter]]\nname = "lr"\nkind = "float"\nlog = true\n'
    spec += '[[hyperparameter]]\nname = "width"\nkind = "integer"\n' + METRIC + TIME
    ours = table(frame, spec)
    for _, row in frame.iterrows():
        configuration = ours.space.from_values({"lr": row["lr"], "width": int(row["width"])})
        assert tuple(ours.evaluate(configuration, 0).metrics.values()) == (row["error"], 1.5)
    assert not hasattr(ours.space, "as_sequence")
    with pytest.raises(UsageError, match="kind = 'float' of lr"):
        table(frame, spec.replace('space = "listed"\n', ""))


def test_methods_that_fit_run_on_listed_tables(table: Import) -> None:
    ours = table(holes(), LISTED + SIX + ACT + METRIC + TIME)
    for name in ("random", "evolution:population=5", "local", "tpe", "smbo", "mcts"):
        method = MethodSpec.parse(name).build(Problem.of(ours), np.random.default_rng(0))
        for seed in range(25):
            configuration = method.ask()
            ours.space.check(configuration)
            method.tell(Observation(configuration, ours.evaluate(configuration, seed), True))


def test_a_row_given_twice_is_refused(table: Import) -> None:
    frame = holes()
    with pytest.raises(UsageError, match=r"row 61 of .* repeats the configuration"):
        table(pd.concat([frame, frame.iloc[[4]]]), LISTED + SIX + ACT + METRIC + TIME)


# Curves


def curved() -> pd.DataFrame:
    """Long form: two hyper-parameters, two repetitions, epochs 1, 3 and 9; one training stopped at 3."""
    rng = np.random.default_rng(4)
    rows = [
        (lr, act, seed, epoch, rng.uniform(1, 9), rng.uniform(1, 9), epoch * rng.uniform(1, 2), 7.5)
        for lr, act, seed, epoch in itertools.product((0.1, 0.2), ("relu", "tanh"), (5, 6), (1, 3, 9))
        if (lr, act, seed, epoch) != (0.2, "tanh", 5, 9)
    ]
    names = ["lr", "act", "seed", "epoch", "error", "test", "time", "size"]
    return pd.DataFrame(rows, columns=names).sample(frac=1, random_state=0)


LONG = HEAD + 'epoch = "epoch"\nrepetition = "seed"\n' + HYPERPARAMETERS + METRIC + "curve = true\n" + TIME
LONG += 'curve = true\n[[metric]]\nname = "test-error@9"\ncolumn = "test"\nsplit = "test"\nepoch = 9\n'
LONG += '[[metric]]\nname = "size"\n'


def test_curves_in_long_form_are_those_of_the_file(table: Import) -> None:
    frame = curved()
    ours = table(frame, LONG)
    assert ours.fidelity is not None
    assert ours.fidelity.levels == (Level(epochs=1), Level(epochs=3), Level(epochs=9))
    found = frame.set_index(["lr", "act", "seed", "epoch"])
    for epoch, (lr, act, place) in itertools.product(
        (1, 3, 9), itertools.product((0.1, 0.2), ("relu", "tanh"), (0, 1))
    ):
        configuration = ours.space.from_values({"lr": lr, "act": act})
        seed = 6 if (lr, act) == (0.2, "tanh") else (5, 6)[place]  # the stopped one is no repetition
        row = found.loc[lr, act, seed, epoch]
        evaluation = ours.at(epoch).evaluate(configuration, place)
        names = [m.name.partition("@")[0] for m in ours.at(epoch).metrics]
        assert names == ["valid-error", "time", "size"]  # the test error is known at the end only
        assert tuple(evaluation.metrics.values()) == (row["error"], row["time"], row["size"])
        assert evaluation.cost == row["time"]


def test_a_column_per_epoch_gives_the_same_curves(table: Import) -> None:
    frame = curved()
    long = table(frame, LONG)
    expected = {e: [long.at(e).evaluate(long.space.configuration(row), 1) for row in range(4)] for e in (1, 3, 9)}
    ours = table(*in_wide_form(frame))
    for epoch, evaluations in expected.items():
        assert [ours.at(epoch).evaluate(ours.space.configuration(row), 1) for row in range(4)] == evaluations


def in_wide_form(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The same table with a column per epoch, and its specification."""
    wide = frame.pivot(index=["lr", "act", "seed"], columns="epoch", values=["error", "time"])
    wide.columns = [f"{name}_{epoch}" for name, epoch in wide.columns]
    rest = frame[frame["epoch"] == 9].set_index(["lr", "act", "seed"])[["test", "size"]]
    spec = LONG.replace('epoch = "epoch"\n', "").replace("curve = true\n", "").replace('"error"', '"error_{epoch}"')
    return wide.join(rest).reset_index(), spec.replace('name = "time"\n', 'name = "time"\ncolumn = "time_{epoch}"\n')


@pytest.mark.parametrize("is_long", [True, False])
def test_an_epoch_that_a_training_lacks_is_no_level_and_the_import_says_so(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """Else a good configuration would fail there, at full cost, and a method would never go on with it."""
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    frame, spec = curved(), LONG
    hole = (frame["lr"] == 0.1) & (frame["act"] == "relu") & (frame["seed"] == 6) & (frame["epoch"] == 3)
    frame = frame[~hole]
    if not is_long:
        frame, spec = in_wide_form(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "spec.toml").write_text(spec)
    done = nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "spec.toml")
    assert done.code == 0, done.err
    assert "no level at epochs 3: not every training with a value of valid-error@9 has one there" in done.err
    ours = open_table(tomllib.loads(spec)["name"])
    assert ours.fidelity is not None
    assert ours.fidelity.levels == (Level(epochs=1), Level(epochs=9))
    first = [ours.evaluate(ours.space.configuration(row), 1, Level(epochs=1)) for row in range(4)]
    assert [evaluation.status for evaluation in first] == ["ok"] * 4
    assert ours.evaluate(ours.space.configuration(0), 1).curve == (
        first[0].metrics["valid-error@9"],
        ours.evaluate(ours.space.configuration(0), 1).metrics["valid-error@9"],
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('epoch = "epoch"\n', "", "names the column that counts epochs"),
        ("curve = true\n", "", "no metric with curve = true"),
        ("epoch = 9", "epoch = 8", "name must end in @8"),
        (METRIC, METRIC.replace("@9", "").replace("epoch = 9\n", ""), "needs epoch = 9"),
        ('column = "error"', 'column = "error_{epoch}"', "no column is called error_{epoch}"),
        ('epoch = "epoch"', 'epoch = "test"', "is not an epoch"),
        ('epoch = "epoch"', 'epoch = "epok"', "did you mean epoch"),
    ],
)
def test_specifications_of_curves_that_do_not_fit_get_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, old: str, new: str, message: str
) -> None:
    curved().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "spec.toml").write_text(LONG.replace(old, new))
    refused = nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "spec.toml")
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err


def test_an_epoch_beyond_all_levels_is_refused_in_the_name_of_a_column(table: Import) -> None:
    frame, spec = in_wide_form(curved())
    frame = frame.rename(columns={"error_9": "error_20000000000", "time_9": "time_20000000000"})
    with pytest.raises(
        UsageError, match=r"error_20000000000 \(metric valid-error@9, .*no epoch is above 1,000,000,000"
    ):
        table(frame, spec)


def test_an_epoch_given_twice_is_refused(table: Import) -> None:
    frame = curved()
    with pytest.raises(UsageError, match="repeats the configuration of an earlier one with the same seed and epoch"):
        table(pd.concat([frame, frame.iloc[[0]]]), LONG)


# One split


ONLY = HEAD + HYPERPARAMETERS + '[[metric]]\nname = "only-error"\ncolumn = "test_error"\nsplit = "only"\n' + TIME


def one_split() -> pd.DataFrame:
    rows = itertools.product((0.1, 0.2, 0.3), ("relu", "tanh"))
    return pd.DataFrame(rows, columns=["lr", "act"]).assign(test_error=[3.0, 1, 2, 6, 5, 4], time=1.0)


def test_a_table_with_one_split_may_be_minimised_on_it(table: Import) -> None:
    ours = table(one_split(), ONLY)
    assert (ours.objective.name, ours.objective.split, ours.objective.is_test) == ("only-error", "only", False)
    assert ours.oracle(()).best == 1
    with pytest.raises(UsageError, match="a metric used for selection cannot be reported as test"):
        table(one_split(), ONLY.replace("only", "test"))


@pytest.mark.slow
def test_every_report_says_that_one_split_selects_and_is_reported(
    nasbench: Callable[..., Printed], tmp_path: Path, lend: Lend
) -> None:
    one_split().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "spec.toml").write_text(ONLY)
    assert nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "spec.toml").code == 0
    lend(BENCHMARKS, "mine", lambda: open_table("mine"))
    assert "selected and reported on the same split" in nasbench("show", "mine").out
    store = tmp_path / "runs"
    asked = ("--method", "random", "--method", "local:initial=2", "--bench", "mine", "--evals", 5, "--seeds", 6)
    assert nasbench("run", *asked, "--store", store).code == 0
    report = nasbench("report", store, "--out", tmp_path / "out")
    words = " ".join(report.out.split())
    assert "mine: selected and reported on the same split, the only one of the table" in words
    page = (tmp_path / "out" / "index.html").read_text()
    assert "selected and reported on the same split" in " ".join(page.split())


def test_two_categories_are_as_far_apart_as_the_ends_of_a_range() -> None:
    space = listed(
        [Categorical("kind", ("a", "b", "c")), Float("rate", 1e-4, 1.0, log=True), Ordinal("width", (8, 64, 128))],
        np.array([[0, 1e-4, 0], [1, 1e-4, 0], [2, 1e-4, 0], [0, 1.0, 0], [0, 1e-2, 0], [0, 1e-4, 2], [0, 1e-4, 1]]),
    )
    assert space.distances([0, 1e-4, 0]) == pytest.approx([0, 1, 1, 1, 0.25, 1, 0.25])


def test_distances_and_rows_are_those_of_a_search_through_all_rows() -> None:
    rng = np.random.default_rng(5)
    space = listed(
        [Categorical("a", ("x", "y", "z")), Ordinal("b", (1, 2, 3, 4)), Float("c", 1e-3, 1.0, log=True)],
        np.column_stack([rng.integers(0, 3, 300), rng.integers(0, 4, 300), 10 ** rng.uniform(-3, 0, 300)]),
    )
    for _ in range(30):
        a, b, c = int(rng.integers(3)), int(rng.integers(4)), float(10 ** rng.uniform(-3, 0))
        expected = [
            (x != a) + ((y - b) / 3) ** 2 + ((np.log(z) - np.log(c)) / np.log(1e3)) ** 2 for x, y, z in space.points
        ]
        assert space.distances([a, b, c]) == pytest.approx(expected)
        assert space.as_flat().at([a, b, c]) == int(np.argmin(expected))
        assert space.find([a, b, c]) is None
    assert [space.find(space.points[row].tolist()) for row in range(300)] == list(range(300))
    assert space.find([-0.0, *space.points[np.flatnonzero(space.points[:, 0] == 0)[0], 1:].tolist()]) is not None


def test_words_of_listed_numbers_are_bins_and_tell_neighbours_from_strangers() -> None:
    """A number that is a word of its own says nothing of any other row."""
    rng = np.random.default_rng(0)
    points = np.stack([np.exp(rng.uniform(math.log(1e-5), 0, 200)), rng.uniform(0, 1, 200), rng.integers(0, 3, 200)], 1)
    columns = [Float("rate", 1e-5, 1.0, log=True), Float("momentum", 0.0, 1.0), Categorical("op", ("a", "b", "c"))]
    space = listed(columns, points)
    words = tokenizer(space)
    assert {word for row in range(200) for word in words(row) if word.startswith("rate=")} == {
        f"rate={n}" for n in range(8)
    }
    near, far = [], []
    for row in range(200):
        own = set(words(row))
        near += [len(own & set(words(other))) for other in space.neighbours(row)]
        far += [len(own & set(words(int(other)))) for other in rng.integers(200, size=8) if other != row]
    assert np.mean(near) > 1.5 * np.mean(far)
    assert (space.revision, listed(columns[2:], np.array([[0], [1]])).revision) == ("+binned", "")


def test_a_score_of_the_end_is_unknown_before_whether_it_names_its_epoch_or_not(table: Import) -> None:
    frame = curved().assign(auc=lambda f: f["error"] / 10)
    ours = table(
        frame, LONG + '[[metric]]\nname = "valid-auc"\ncolumn = "auc"\nsplit = "valid"\ndirection = "minimise"\n'
    )
    assert ours.fidelity is not None
    configuration = ours.space.configuration(0)
    early, end = (ours.evaluate(configuration, 0, level).metrics for level in ours.fidelity.levels[::2])
    assert (math.isnan(early["valid-auc"]), math.isnan(end["valid-auc"])) == (True, False)
    assert early["size"] == end["size"]
    assert [m.name.partition("@")[0] for m in ours.at(1).metrics] == ["valid-error", "time", "size"]


def test_a_text_where_a_number_is_due_is_one_sentence() -> None:
    space = listed([Float("rate", 0.0, 1.0), Categorical("op", ("a", "b"))], np.array([[0.25, 0], [0.5, 1]]))
    assert space.from_values({"rate": 0.5, "op": "b"}) == 1
    for wrong in ("abc", "0.5", True, None):
        with pytest.raises(UsageError, match=r"rate cannot be .*; allowed: \[0.0, 1.0\]"):
            space.from_values({"rate": wrong, "op": "b"})


def test_a_choice_may_have_more_values_than_two_bytes_count() -> None:
    count = 40_000
    points = np.array([(value, other) for value in range(count) for other in (0, 1)], np.int32)
    space = listed([Ordinal("a", tuple(range(count))), Categorical("b", ("x", "y"))], points)
    assert space.neighbours(70_000)[:1] != [70_000]
    assert 70_001 in space.neighbours(70_000)


def test_rows_that_are_no_choice_apart_from_any_have_the_nearest_as_neighbours() -> None:
    points = np.array([[0, 0, 0], [0, 2, 1], [3, 3, 3]])
    space = ListedChoices([Ordinal(f"x{k}", (1, 2, 3, 4)) for k in range(3)], points)
    assert [space.neighbours(row) for row in range(3)] == [[1], [0], [1]]
