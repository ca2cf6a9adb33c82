"""Metrics that a user adds to a table: against the file, on an embedded table and one of the user's own."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import Metric, UsageError, abilities, parse_constraints
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.tabular import added, columns, frames, imported, open_table
from nasbench.benchmarks.tabular.user_table import read_table
from nasbench.methods import Problem
from tests.conftest import Printed
from tests.results.faults import flipped

LATENCIES = Path(__file__).parents[3] / "shared" / "data" / "nasbench201" / "latencies.csv.gz"
ONTO = ("--onto", "nb201-cifar10", "--key", "cell")


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture
def few(tmp_path: Path) -> Path:
    space = open_table("nb201-cifar10").space
    path = tmp_path / "few.csv"
    rows = [f"{space.key(space.configuration(row))},{row / 8},{'' if row == 3 else row},x" for row in range(40)]
    path.write_text("cell,phone,fridge,word\n" + "\n".join(rows) + "\n")
    return path


def test_the_official_string_is_that_of_the_cells_edges() -> None:
    space = open_table("nb201-cifar10").space
    values = {"Op0": "none", "Op1": "avg_pool_3x3", "Op2": "skip_connect"}
    values |= {"Op3": "nor_conv_1x1", "Op4": "nor_conv_3x3", "Op5": "none"}
    text = "|none~0|+|avg_pool_3x3~0|skip_connect~1|+|nor_conv_1x1~0|nor_conv_3x3~1|none~2|"
    assert space.key(space.from_values(values)) == text
    assert GridSpace([Ordinal("c1", (8, 16)), Ordinal("c2", (8, 16))]).key((1, 0)) == "16:8"


def test_two_commands_at_once_both_add_their_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    space = open_table("hpolib-naval").space
    written = added.write_array

    def slowly(folder: Path, values: added.Array) -> str:
        time.sleep(0.2)  # meanwhile the other one reads
        return written(folder, values)

    monkeypatch.setattr(added, "write_array", slowly)
    both = [
        added.Columns((Metric(name, ""),), np.zeros((space.size, 1)), added.digest_of(space)) for name in ("one", "two")
    ]
    with ThreadPoolExecutor() as threads:
        list(threads.map(partial(added.save, "hpolib-naval"), both))
    assert added.names("hpolib-naval") == {"one", "two"}


@pytest.mark.slow
@pytest.mark.skipif(not LATENCIES.is_file(), reason=f"latencies are not in {LATENCIES}")
def test_latencies_of_27_devices_are_those_of_the_file(nasbench: Callable[..., Printed]) -> None:
    asked = ("--onto", "nb201-cifar10", "--key", "arch_str", "--prefix", "latency-", "--unit", "ms")
    done = nasbench("import", "columns", LATENCIES, *asked)
    assert done.code == 0, done.err
    assert "27 metrics for 15,625 of 15,625 configurations, latency-1080ti_1 to latency-titanxp_32" in done.out
    table, frame = open_table("nb201-cifar10"), pd.read_csv(LATENCIES)
    rng = np.random.default_rng(0)
    operations = frame["arch_str"].str.findall(r"([a-z_0-9]+)~")
    for i in rng.choice(len(frame), 1000, replace=False).tolist():
        configuration = table.space.from_values({f"Op{k}": name for k, name in enumerate(operations[i])})
        evaluation = table.evaluate(configuration, int(rng.integers(1000)))
        assert tuple(evaluation.metrics.values())[4:] == tuple(frame.iloc[i, 2:])
    (bound,) = abilities.bounds(table, parse_constraints(["latency-pixel3@0.1"]))
    assert bound.limit == frame["pixel3"].sort_values().iloc[-(-len(frame) // 10)]
    fast = set(frame["arch_str"][frame["pixel3"] <= bound.limit])
    space = table.space
    kept = [row for row in range(space.size) if space.key(space.configuration(row)) in fast]
    assert table.oracle([bound]).best == np.nanmin(table.values[kept, :, 0])


@pytest.mark.slow
@pytest.mark.skipif(not LATENCIES.is_file(), reason=f"latencies are not in {LATENCIES}")
def test_latencies_are_fetched_for_all_three_tables_of_nas_bench_201(nasbench: Callable[..., Printed]) -> None:
    assert re.search("nas-bench-201-latency .* not here", nasbench("data", "list").out)
    done = nasbench("data", "fetch", "nas-bench-201-latency", "--from", LATENCIES.parent)
    assert done.code == 0, done.err
    assert "HELP (Lee et al., NeurIPS 2021)\nlicence: MIT" in done.out
    assert re.search("nas-bench-201-latency .* 27 metrics", nasbench("data", "list").out)
    frame = pd.read_csv(LATENCIES).set_index("arch_str")["raspi4"]
    for name in ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16"):
        table = open_table(name)
        (metric,) = (metric for metric in table.metrics if metric.name == "latency-raspi4")
        assert metric.unit == "ms"
        assert "HELP (Lee et al., NeurIPS 2021), licence MIT" in metric.description
        values = table.values[:, 0, table.metrics.index(metric)]
        assert all(values[row] == frame[table.space.key(table.space.configuration(row))] for row in range(0, 15625, 40))


def test_latencies_of_another_file_are_refused(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    (tmp_path / "latencies.csv.gz").write_bytes(gzip.compress(b"arch_str,raspi4\n"))
    done = nasbench("data", "fetch", "nas-bench-201-latency", "--from", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is not the file of nas-bench-201-latency" in done.err
    assert not added.names("nb201-cifar10")


def test_added_metrics_are_constrained_and_never_known_beforehand(nasbench: Callable[..., Printed], few: Path) -> None:
    before = open_table("nb201-cifar10").checksum
    done = nasbench("import", "columns", few, *ONTO, "--prefix", "energy-", "--unit", "mJ")
    assert done.code == 0, done.err
    assert "2 metrics for 40 of 15,625 configurations, energy-phone to energy-fridge" in done.out
    table = open_table("nb201-cifar10")
    assert table.checksum != before
    assert [m.name for m in table.metrics[-2:]] == ["energy-phone", "energy-fridge"]
    seventh = table.space.configuration(7)
    assert list(table.evaluate(seventh, 0).metrics.values())[-2:] == [7 / 8, 7.0]
    assert np.isnan(table.evaluate(table.space.configuration(3), 0).metrics["energy-fridge"])
    (bound,) = abilities.bounds(table, parse_constraints(["energy-fridge<=5"]))
    assert table.oracle([bound]).best == np.nanmin(table.values[[0, 1, 2, 4, 5], :, 0])
    problem = Problem.of(table)
    assert problem.known is not None
    with pytest.raises(UsageError, match="does not know"):
        problem.known(bound.metric.name, seventh)


def test_more_columns_stand_beside_the_earlier_ones(nasbench: Callable[..., Printed], few: Path) -> None:
    nasbench("import", "columns", few, *ONTO, "--column", "phone")
    few.write_text(few.read_text().replace("phone", "tv"))
    nasbench("import", "columns", few, *ONTO, "--column", "tv", "--column", "fridge")
    assert [m.name for m in open_table("nb201-cifar10").metrics[-3:]] == ["phone", "tv", "fridge"]
    few.write_text(few.read_text().replace("tv", "phone").replace(",0.125,", ",99,"))
    nasbench("import", "columns", few, *ONTO, "--column", "phone")
    table = open_table("nb201-cifar10")
    assert [m.name for m in table.metrics[-3:]] == ["tv", "fridge", "phone"]
    assert list(table.evaluate(table.space.configuration(1), 0).metrics.values())[-3:] == [0.125, 1.0, 99.0]


def test_metrics_in_the_users_directory_are_found_and_kept_where_another_data_folder_is_named(
    nasbench: Callable[..., Printed], few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NASBENCH_DATA")
    assert nasbench("import", "columns", few, *ONTO, "--column", "phone", "--column", "fridge").code == 0
    assert (tmp_path / "home" / "nasbench" / "columns").is_dir()
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    assert added.names("nb201-cifar10") == {"phone", "fridge"}
    assert nasbench("import", "columns", few, *ONTO, "--column", "phone").code == 0
    assert (tmp_path / "data" / "columns").is_dir()
    assert [m.name for m in open_table("nb201-cifar10").metrics[-2:]] == ["fridge", "phone"]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: t, ("--onto", "nb201-cifar11", "--key", "cell"), "unknown benchmark"),
        (lambda t: t, ("--onto", "digits", "--key", "cell"), "is not a table"),
        (lambda t: t, ("--onto", "supernet:digits:nb201-cifar10", "--key", "cell"), "is not a table"),
        (lambda t: t, ("--onto", "nb201-cifar10", "--key", "zelle"), "did you mean cell"),
        (lambda t: t, (*ONTO, "--column", "phon"), "did you mean phone"),
        (lambda t: t, (*ONTO, "--column", "word"), "not a number"),
        (lambda t: t, (*ONTO, "--prefix", "1"), "metric name"),
        (lambda t: t.replace("phone", "test_acc"), ONTO, "sounds like a score"),
        (lambda t: t.replace("phone", "latency"), ONTO, "has a metric called latency of its own"),
        (lambda t: t + t.splitlines()[-1] + "\n", ONTO, "row 41"),
        (lambda t: t.replace("nor_conv", "odd_conv"), ONTO, "no configuration of nb201-cifar10"),
        (lambda t: "cell,word\n|none~0|,x\n", ONTO, "no column of numbers"),
        (lambda t: "", ONTO, "not a readable table"),
    ],
)
def test_what_does_not_fit_gets_one_sentence(
    nasbench: Callable[..., Printed],
    few: Path,
    change: Callable[[str], str],
    options: tuple[str, ...],
    message: str,
) -> None:
    few.write_text(change(few.read_text()))
    refused = nasbench("import", "columns", few, *options)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err
    assert len(open_table("nb201-cifar10").metrics) == 4


@pytest.mark.parametrize("kind", ["csv.gz", "csv", "parquet"])
def test_a_table_with_too_many_rows_or_bytes_is_not_read(
    kind: str, nasbench: Callable[..., Printed], few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, data = pd.read_csv(few), tmp_path / f"few.{kind}"
    if kind == "parquet":
        frame.to_parquet(data)
    else:
        frame.to_csv(data, index=False)
    command = ["import", "columns", data, *ONTO, "--column", "phone"]
    monkeypatch.setattr(frames, "MOST_ROWS", len(frame))
    assert nasbench(*command).code == 0
    for limit, most, said in (("MOST_ROWS", len(frame) - 1, "39 rows"), ("MOST_BYTES", 99, "0 GiB unpacked")):
        with monkeypatch.context() as patched:
            patched.setattr(frames, limit, most)
            patched.setattr(frames, "read_columns", None)  # it is refused before
            refused = nasbench(*command)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert f"{data} has more than {said}, which is the limit: leave out rows" in refused.err


def test_a_packed_table_that_is_cut_off_is_said(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"cell,phone\n" * 1000)[:-20])
    refused = nasbench("import", "columns", cut, *ONTO)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "cut off" in refused.err


def test_columns_of_another_table_are_not_believed(few: Path) -> None:
    table = open_table("nb201-cifar10")
    added.save("nbgraph-cora", columns.read(table, few, "cell", ("phone",)))
    with pytest.raises(UsageError, match="delete that folder"):
        open_table("nbgraph-cora")


def test_a_flipped_bit_of_any_byte_of_what_describes_columns_is_noticed(few: Path) -> None:
    added.save("nb201-cifar10", columns.read(open_table("nb201-cifar10"), few, "cell", ("phone",)))
    (path,) = (few.parent / "data").rglob("columns.json")
    for _, changed in flipped(path.read_bytes(), bits=range(1, 2)):
        path.write_bytes(changed)
        with pytest.raises(UsageError, match=r"is damaged .*: delete it, and import again"):
            open_table("nb201-cifar10")


def test_columns_do_not_move_to_other_configurations_when_a_table_is_imported_again(tmp_path: Path) -> None:
    """A list with one row replaced has the same number of rows, and those between the two are shifted by one."""

    def make(values: list[int]) -> None:
        table = pd.DataFrame({"a": values, "error": [1.0 * v for v in values], "time": 1.0})
        table.to_csv(tmp_path / "t.csv", index=False)
        (tmp_path / "t.toml").write_text(
            'name = "moved"\ncost = "time"\nspace = "listed"\n[[hyperparameter]]\nname = "a"\nkind = "ordinal"\n'
            '[[metric]]\nname = "valid-error"\ncolumn = "error"\nsplit = "valid"\n'
            '[[metric]]\nname = "time"\nunit = "s"\n'
        )
        imported.save(read_table(tmp_path / "t.csv", tmp_path / "t.toml"))

    make([1, 2, 4, 8])
    (tmp_path / "c.csv").write_text("cell,phone\n1,10\n2,20\n4,40\n8,80\n")
    added.save("moved", columns.read(open_table("moved"), tmp_path / "c.csv", "cell", ("phone",)))
    assert open_table("moved").values[:, 0, -1].tolist() == [10, 20, 40, 80]
    make([1, 2, 4, 8])
    assert open_table("moved").values[:, 0, -1].tolist() == [10, 20, 40, 80]  # the same table once more
    make([1, 3, 4, 8])
    with pytest.raises(UsageError, match=r"was made for other rows of moved, .*: delete that folder"):
        open_table("moved")


def test_a_column_of_numbers_with_a_word_in_it_is_not_left_out_in_silence(few: Path) -> None:
    table, text = open_table("nb201-cifar10"), few.read_text()
    few.write_text(text.replace(",0.125,1,x", ",timeout,1,x"))
    with pytest.raises(UsageError, match=r"phone of .* is 'timeout' in row 2, and a number in most rows"):
        columns.read(table, few, "cell")
    found = columns.read(table, few, "cell", ("fridge",))
    assert [metric.name for metric in found.metrics] == ["fridge"]
