"""Tables of the user's own."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nasbench.benchmarks import UsageError, abilities, parse_constraints
from nasbench.benchmarks.tabular import description, frames, imported, open_table
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.user_table import distinct_rows, read_table
from tests import forked
from tests.benchmarks.small_table import CSV, SPEC, files
from tests.conftest import Printed
from tests.results.faults import flipped

EXTRAS = Path(__file__).parents[3] / "shared" / "data" / "nasbench201" / "extras.csv.gz"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    return partial(files, tmp_path)


Write = Callable[..., tuple[Path, Path]]


def test_a_table_becomes_a_benchmark(write: Write) -> None:
    save(read_table(*write()))
    table = open_table("mine")
    assert [h.values for h in table.space.hyperparameters] == [(0.01, 0.1), ("tanh", "relu")]
    assert table.space.hyperparameters[0].kind == "ordinal, log"
    assert [m.name for m in table.metrics] == ["valid-error@9", "test-error@9", "time", "size"]
    first, second = (table.evaluate((1, 1), seed) for seed in (0, 1))
    assert tuple(first.metrics.values()) == pytest.approx((0.1, 0.2, 3.0, 10.0))
    assert tuple(second.metrics.values()) == pytest.approx((0.2, 0.3, 4.0, 10.0))
    assert (first.cost, second.cost) == (3.0, 4.0)
    absent = table.evaluate((0, 0), 0)
    assert (absent.status, absent.reason) == ("failed", "the table has no such configuration")
    assert np.isnan(table.evaluate((0, 1), 0).metrics["size"])  # -1 says that it was not measured
    (bound,) = abilities.bounds(table, parse_constraints(["size<=20"]))
    assert not bound.holds(np.nan)
    assert table.oracle((bound,)).feasible_share == 0.5  # two of four rows
    with pytest.raises(UsageError, match="never selected"):
        abilities.bounds(table, parse_constraints(["test-error@9<=1"]))


def test_a_table_names_the_search_space_that_it_shares_with_others(write: Write) -> None:
    save(read_table(*write()))
    assert (open_table("mine").family, open_table("mine").search_space) == ("mine", "")
    save(read_table(*write(spec='search_space = "perceptrons"\nfamily = "digits"\n' + SPEC)))
    assert (open_table("mine").family, open_table("mine").search_space) == ("digits", "perceptrons")


def test_parquet_and_compressed_csv_give_the_same_table(write: Write, tmp_path: Path) -> None:
    data, spec = write()
    plain = read_table(data, spec)
    pd.read_csv(data).to_parquet(tmp_path / "t.parquet")
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(CSV)
    for name in ("t.parquet", "t.csv.gz"):
        other = read_table(tmp_path / name, spec)
        assert np.array_equal(other.values, plain.values, equal_nan=True)
        assert other.space.hyperparameters == plain.space.hyperparameters


def test_importing_again_replaces_and_changes_the_checksum(write: Write) -> None:
    save(read_table(*write()))
    before = open_table("mine").checksum
    save(read_table(*write()))
    assert open_table("mine").checksum == before
    folder = save(read_table(*write(CSV.replace("0.9", "0.95"))))
    assert open_table("mine").checksum != before
    assert len(list(folder.glob("*.npy"))) == 1


def test_a_damaged_table_is_said(write: Write) -> None:
    folder = save(read_table(*write()))
    (values,) = folder.glob("*.npy")
    values.write_bytes(values.read_bytes()[:-8])
    with pytest.raises(UsageError, match="missing or damaged: import the table"):
        open_table("mine").quantile("time", 0.5)
    (folder / "table.json").write_text("{\n}")
    with pytest.raises(UsageError, match=r"is damaged \(KeyError.*import it again"):
        open_table("mine")


def test_a_damaged_table_is_mended_by_importing_it_again(write: Write, nasbench: Callable[..., Printed]) -> None:
    data, spec = write()
    folder = save(read_table(data, spec))
    before = open_table("mine").checksum
    (folder / "table.json").write_text("{}")
    done = nasbench("import", "table", data, "--spec", spec)
    assert done.code == 0, done.err
    assert open_table("mine").checksum == before


def test_a_flipped_bit_of_any_byte_of_what_describes_a_table_is_noticed(write: Write) -> None:
    path = save(read_table(*write())) / "table.json"
    content = path.read_bytes()
    assert json.loads(content)["digest"] == open_table("mine").checksum.removeprefix("sha256:")
    for _, changed in flipped(content, bits=range(1, 2)):
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"digest|JSON|Expect|Extra|utf"):
            description.read(path)
    with pytest.raises(UsageError, match=r"the imported table .* is damaged .*import it again"):
        open_table("mine")


def test_a_table_of_an_earlier_version_is_the_same_one(write: Write) -> None:
    """Its description had no digest of its own, and was what the digest is of now."""
    path = save(read_table(*write())) / "table.json"
    checksum = open_table("mine").checksum
    facts = json.loads(path.read_bytes())
    del facts["digest"]
    path.write_text(json.dumps(facts, indent=1))
    assert open_table("mine").checksum == checksum


@pytest.mark.parametrize(
    ("csv", "spec", "sentence"),
    [
        (CSV, SPEC.replace('missing = "invalid"\n', ""), "1 of the 4 configurations of the grid has no"),
        (CSV + "0.1,relu,2,0.8,0.3,4,10\n", SPEC, "row 5 of .* repeats the configuration .* with the same seed"),
        (CSV, SPEC.replace('repetition = "seed"\n', ""), "row 2 of .* if it is a repetition, name the column"),
        (CSV + "0.1,relu", SPEC, "is not a readable table .*Expected 7 columns, got 2"),
        (CSV.replace("0.7,0.4", "bad,0.4"), SPEC, "accuracy is 'bad' in row 3 of .*: not a number"),
        (CSV.replace("0.1,tanh", "high,tanh"), SPEC, "lr is ordinal .* not all of its values are numbers"),
        (CSV.replace("tanh", "gelu"), SPEC, "act is 'gelu' in row 4 .* not among its values: tanh, relu"),
        (CSV.replace("0.01,relu", ",relu"), SPEC, "lr has no value in row 3"),
        (CSV.replace(",5,", ",-5,"), SPEC, "the cost time of .* must be a finite number of seconds, from 0 to 1e.100"),
        (CSV.replace(",5,", ",1e308,"), SPEC, r"time is 1e\+308 in row 3 of .*: a number is at most 1e\+100 in size"),
        (CSV.replace("0.7,", "-1e308,"), SPEC, r"accuracy is -1e\+308 in row 3 of .*: a number is at most 1e\+100"),
        (CSV.replace("0.01,", "1e308,"), SPEC, "lr is ordinal .* not all of its values are numbers of at most"),
        (CSV, SPEC.replace('cost = "time"', "cost = 1e308"), "the cost cost of .* from 0 to 1e"),
        (CSV, SPEC.replace('column = "accuracy"', 'column = "acuracy"'), r"unknown column .*did you mean accuracy\?"),
        (CSV, SPEC.replace("kind =", "knd =", 1), r"unknown key in .*number 1: 'knd' \(did you mean kind\?\)"),
        (CSV, SPEC.replace('"ordinal"', '"float"'), "kind = 'float' .* allowed: categorical, ordinal"),
        (CSV, SPEC.replace('cost = "time"', ""), "lacks the key 'cost'"),
        (CSV, SPEC.replace('cost = "time"', 'cost = "tme"'), r"unknown metric as the cost .*did you mean time\?"),
        (CSV, SPEC.replace('"mine"', '"nb201-cifar10"'), "the name of another benchmark: choose another name"),
        (CSV, SPEC.replace('split = "valid"', 'split = "x"'), "measured on x: its name must begin with x-"),
        (CSV, SPEC.replace("epoch = 9", "epoch = 8", 1), "measured at epoch 8: its name must end in @8"),
        (CSV, SPEC + "\n[[metric]]", "lacks the key 'name'"),
        (
            CSV,
            SPEC.replace('split = "test"\n', ""),
            "test-error@9 of .* is measured on data: its split must say on which",
        ),
        (CSV, SPEC.replace('split = "valid"\nepoch = 9\n', ""), "the objective valid-error@9 of .* needs a split"),
        (CSV.replace("0.7", "inf"), SPEC, "accuracy is inf in row 3 of .*, which exceeds complement_of = 1"),
        (
            CSV,
            SPEC.replace("complement_of = 1", "complement_of = 0.85"),
            "accuracy is 0.9 in row 1 of .*, which exceeds complement_of = 0.85",
        ),
        (
            CSV,
            SPEC.replace("complement_of = 1", "complement_of = 100"),
            "accuracy of .* is nowhere above 1: comp",
        ),
        (CSV.replace(",", ";"), SPEC, "has one column only, .*: is the separator a comma"),
        (CSV, SPEC.replace('"mine"', '"Mine"'), "must be a letter, then up to 59 letters"),
        (
            CSV.replace("test,time", "time,time", 1),
            SPEC.replace('column = "test"', 'column = "time"', 1),
            "two columns called time",
        ),
        (CSV.replace("0.1,relu,1", "0.1,,1"), SPEC, "act has no value in row 1"),
        (CSV.replace("0.1,relu,1", "0.1,relu,"), SPEC, "seed of .* has no value in row 1: number every repetition"),
        (CSV, 'family = " "\n' + SPEC, "family in .* is empty: leave it out, or fill it in"),
        (CSV, SPEC.replace("log = true", "log = true\nvalues = []"), "values in .* is empty: leave it out"),
        (CSV, SPEC.replace("complement_of = 1", "complement_of = nan"), "complement_of in .* a finite number, not nan"),
        (CSV, SPEC.replace('"size"', '"a<=b"\ncolumn = "size"'), "metric name 'a<=b' of .* must be a letter"),
        (CSV.replace(",10\n", ",2026-01-01\n"), SPEC, "size is .*not a number|holds .*, not numbers"),
        (
            CSV.replace("0.1,", "2026-01-01,").replace("0.01,", "2026-01-02,"),
            SPEC.replace("log = true\n", ""),
            "must be text, numbers or booleans",
        ),
        (CSV, "name = ", "is not TOML"),
        ("lr,act\n", SPEC, "unknown column"),
        (CSV.split("\n", maxsplit=1)[0] + "\n", SPEC, "has no rows"),
        ("\x00" * 5000, SPEC, "is not a readable table|unknown column"),
        (
            CSV.replace("0.9", "").replace("0.8", "").replace("0.7", "").replace("0.6", ""),
            SPEC,
            "no value of .* at all",
        ),
    ],
)
def test_bad_input_gets_one_sentence(write: Write, csv: str, spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        read_table(*write(csv, spec))
    assert "\n" not in str(caught.value)


def test_a_test_metric_cannot_be_the_objective(write: Write, nasbench: Callable[..., Printed]) -> None:
    first, second = SPEC.split("[[metric]]")[1:3]
    data, spec = write(
        CSV, SPEC.replace(f"[[metric]]{first}[[metric]]{second}", f"[[metric]]{second}[[metric]]{first}")
    )
    refused = nasbench("import", "table", data, "--spec", spec)
    assert refused.code == 2
    assert "a metric used for selection cannot be reported as test" in refused.err


def test_an_objective_that_looks_like_an_accuracy_is_refused_until_its_direction_is_said(write: Write) -> None:
    silent = SPEC.replace("complement_of = 1\n", "")
    sentence = "accuracy of .* seems to be better the larger it is .*its name.*complement_of = 1 minimises 1 - accuracy"
    sentence += '.*direction = "maximise"'
    with pytest.raises(UsageError, match=sentence):
        read_table(*write(CSV, silent))
    values = {"minimise": [0.8, 0.9], "maximize": [-0.9, -0.8], "minimize": [0.8, 0.9], "maximise": [-0.9, -0.8]}
    for direction, expected in values.items():
        table = read_table(*write(CSV, SPEC.replace("complement_of = 1", f'direction = "{direction}"')))
        assert sorted(table.values[table.space.index((1, 1)), :, 0]) == pytest.approx(expected)
        assert table.metrics[0].minimize
    both = read_table(*write(CSV, SPEC.replace("complement_of = 1", 'complement_of = 1\ndirection = "maximise"')))
    assert np.array_equal(both.values, read_table(*write()).values, equal_nan=True)


@pytest.mark.parametrize(
    ("column", "size", "refused"),
    [("result", "parameters", True), ("result", "width", False), ("loss", "parameters", False)],
)
def test_values_that_rise_with_the_size_look_like_an_accuracy_unless_the_name_denies_it(
    write: Write, column: str, size: str, refused: bool
) -> None:
    csv = f"lr,{column},{size},time\n" + "".join(f"{i},{10 * i + i % 2},{i * i},1\n" for i in range(1, 9))
    spec = (
        'name = "mine"\ncost = "time"\n[[hyperparameter]]\nname = "lr"\nkind = "ordinal"\n[[metric]]\n'
        f'name = "valid-x"\ncolumn = "{column}"\nsplit = "valid"\n[[metric]]\nname = "{size}"\n'
        '[[metric]]\nname = "time"\n'
    )
    if refused:
        with pytest.raises(UsageError, match=r"lies in \[0, 100\] and rises with the size"):
            read_table(*write(csv, spec))
    else:
        assert read_table(*write(csv, spec)).metrics[0].name == "valid-x"


def test_values_that_rise_with_the_epochs_look_like_an_accuracy(write: Write) -> None:
    spec = 'name = "mine"\ncost = 1\n[[hyperparameter]]\nname = "lr"\nkind = "ordinal"\n[[metric]]\nsplit = "valid"\n'
    sentence = r"lies in \[0, 1\] and rises with the epochs"
    along = "lr,x_1,x_2\n1,0.2,0.5\n2,0.3,0.4\n"
    with pytest.raises(UsageError, match=sentence):
        read_table(*write(along, spec + 'name = "valid-x@2"\ncolumn = "x_{epoch}"\nepoch = 2\n'))
    rows = "lr,e,x\n1,1,0.2\n1,2,0.5\n2,1,0.3\n2,2,0.4\n"
    long = 'epoch = "e"\n' + spec + 'name = "valid-x@2"\ncolumn = "x"\nepoch = 2\ncurve = true\n'
    with pytest.raises(UsageError, match=sentence):
        read_table(*write(rows, long))
    assert read_table(*write(rows, long + 'direction = "minimise"\n')).levels == (1, 2)


def test_a_pattern_of_epochs_is_a_metric_s_alone(write: Write) -> None:
    """A hyper-parameter with one would vanish from the space."""
    along = "lr_1,lr_2,width,x_1,x_2\n" + "".join(f"{a},{a},{b},0.{a + b},0.{a}\n" for a in (1, 2) for b in (1, 3))
    spec = 'name = "mine"\ncost = 1\n' + "".join(
        f'[[hyperparameter]]\nname = "{name}"\nkind = "ordinal"\ncolumn = "{column}"\n'
        for name, column in (("lr", "lr_{epoch}"), ("width", "width"))
    )
    metric = '[[metric]]\nname = "valid-error@2"\ncolumn = "x_{epoch}"\nsplit = "valid"\nepoch = 2\n'
    with pytest.raises(UsageError, match=r"unknown column \(.*lr.*\) of .* 'lr_\{epoch\}'"):
        read_table(*write(along, spec + metric))
    assert read_table(*write(along, spec.replace("lr_{epoch}", "lr_1") + metric)).levels == (1, 2)


def test_a_further_metric_that_is_called_an_accuracy_needs_a_direction(write: Write) -> None:
    """A constraint val-acc@0.3 would keep the worst accuracies."""
    rows = "lr,loss,val_acc\n1,3,0.5\n2,2,0.6\n3,1,0.9\n"
    spec = (
        'name = "mine"\ncost = 1\n[[hyperparameter]]\nname = "lr"\nkind = "ordinal"\n'
        '[[metric]]\nname = "valid-loss"\ncolumn = "loss"\nsplit = "valid"\n'
        '[[metric]]\nname = "valid-accuracy"\ncolumn = "val_acc"\nsplit = "valid"\n'
    )
    with pytest.raises(UsageError, match=r"val_acc of .* seems to be better the larger it is"):
        read_table(*write(rows, spec))
    assert not read_table(*write(rows, spec + 'direction = "maximise"\n')).metrics[1].minimize


def test_all_errors_of_a_specification_are_said_at_once(write: Write) -> None:
    spec = (
        SPEC.replace('"mine"', '"Mine"')
        .replace('cost = "time"', 'cost = "tme"')
        .replace("log = true", "logarithmic = true")
        .replace('"categorical"', '"category"')
        .replace("complement_of = 1", "maximise = true")
        .replace('column = "test"', 'column = "tset"')
        .replace("missing_value = -1", 'missing_value = "none"')
    )
    with pytest.raises(UsageError) as caught:
        read_table(*write(CSV.replace("0.01,relu", "low,relu"), spec))
    sentence = str(caught.value)
    assert "\n" not in sentence
    for part in (
        "has 9 errors: (1) ",
        "name = 'Mine'",
        "did you mean time?",
        "unknown key in",
        "'logarithmic'",
        "kind = 'category' of act",
        "'maximise'; of a [[metric]], direction = \"maximise\" says that",
        "did you mean test?",
        "missing_value in",
        "lr is ordinal in",
        "accuracy of",
    ):
        assert part in sentence, part


def test_a_column_of_measurements_is_no_hyperparameter(write: Write) -> None:
    rows = "".join(f"{1 + i / 7},a{i},1,0.5,0.5,1,1\n" for i in range(300))
    spec = SPEC.replace('values = ["tanh", "relu"]\n', "")
    with pytest.raises(UsageError, match=r"span 90,000 configurations, but .* has 300 of them"):
        read_table(*write(CSV.split("\n", maxsplit=1)[0] + "\n" + rows, spec))


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (['a,note', '1,"rerun', '2,', '3,x'], 2),  # it ends nowhere
        (['a,note', '1,"rerun', '2,', '3,"bad', '4,'], 2),  # it ends in another that opens
        (['a,note', '1,', '2,"rerun'], 3),
        (['a,note', '1,"two', 'lines"', '2,"said ""so"""', '3,5" wide', '4,"5" wide'], 0),
    ],
)  # fmt: skip
def test_a_quotation_mark_that_is_not_closed_swallows_no_rows(tmp_path: Path, lines: list[str], line: int) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n")
    if not line:
        assert frames.column_names(path) == ["a", "note"]
        return
    with pytest.raises(UsageError, match=f"a quotation mark in line {line} of .* is not closed"):
        frames.column_names(path)


def test_names_padded_with_spaces_are_read_without_them(tmp_path: Path) -> None:
    """As YOLO's results.csv has them; two that are then one are refused."""
    path = tmp_path / "results.csv"
    path.write_text("      epoch,  x/lr0, x/lr0\n   1,  0.5, 0.5\n")
    header = frames.column_names(path)
    assert header == ["epoch", "x/lr0", "x/lr0"]
    assert frames.read_columns(path, {"epoch": "the epoch"}, {"epoch"}, header).to_dict("list") == {"epoch": ["   1"]}
    assert frames.read_columns(path, {"epoch": "the epoch"}, {"lr"}, header)["epoch"].tolist() == [1]
    with pytest.raises(UsageError, match="two columns called x/lr0"):
        frames.read_columns(path, {"x/lr0": "a rate"}, set(), header)


def test_a_first_line_without_an_end_is_read_as_far_as_names_may_go(tmp_path: Path) -> None:
    endless = tmp_path / "endless.csv.gz"
    endless.write_bytes(gzip.compress(b"," + bytes(2_000_000) + b","))
    assert frames._commas(endless) == 1
    with pytest.raises(UsageError, match="no end within 1 MiB"):
        frames.column_names(endless)


def test_a_large_file_that_is_no_table_is_refused_at_once(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, spec = write()
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(2 << 30)  # sparse
    with monkeypatch.context() as patched:
        patched.setattr(pa, "input_stream", None)  # its size is known without a byte of it
        with pytest.raises(UsageError, match="has more than 1 GiB unpacked, which is the limit"):
            read_table(path, spec)
    (tmp_path / "huge.parquet").symlink_to(path)
    with pytest.raises(UsageError, match="is not a readable table"):
        read_table(tmp_path / "huge.parquet", spec)


@pytest.mark.slow
def test_a_search_never_sees_test_metrics_and_the_report_reads_them(tmp_path: Path, write: Write) -> None:
    """In processes of their own, since benchmarks are registered when a process begins."""

    def run(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = forked.nasbench([*map(str, words)], tmp_path, os.environ)
        assert done.returncode == code, done.stderr
        return done

    data, spec = write()
    run("import", "table", data, "--spec", spec)
    assert "mine" in run("list", "benchmarks").stdout
    store = tmp_path / "store"
    asked = ["--constrain", "size<=20", "--seeds", 2, "--evals", 12, "--store", store]
    done = run("run", "--method", "tpe", "--bench", "mine", *asked, code=1)  # (0.01, tanh) is not in the table
    assert "the table has no such configuration" in done.stderr
    frame = pd.read_parquet(store)
    assert set(frame["status"]) == {"ok", "failed"}
    assert frame["feasible"].any()
    text = run("report", store, "--out", tmp_path / "report", "--full").stdout
    assert "Test metrics of the incumbents" in text
    test_metrics = pd.read_csv(tmp_path / "report" / "test-metrics.csv")
    last = frame[frame["feasible"]].sort_values(["seed", "objective"]).groupby("seed").first()
    assert test_metrics["median"].item() == pytest.approx(last["metric.test-error@9"].median())
    assert "test-error@9 there (test split, reported only)" in run("show-run", store, "tpe", "mine", 0).stdout


@pytest.mark.skipif(not EXTRAS.exists(), reason="needs shared/data, which is never committed")
def test_the_devices_table_is_that_of_its_file() -> None:
    save(read_table(EXTRAS, Path(__file__).parents[2] / "examples" / "nb201-devices.toml"))
    table = open_table("nb201-devices")
    frame = pd.read_csv(EXTRAS)
    assert table.space.size == len(frame) == 15_625
    assert table.oracle(()).best == pytest.approx(100 - frame["cifar10_val_200ep_genius"].max())
    best_test = np.nanmin(table.values[:, 0, table.column("ori-test-error@200")])
    assert 100 - best_test == pytest.approx(94.373, abs=5e-4)  # the published optimum
    bounds = abilities.bounds(table, parse_constraints(["raspi4_latency<=10", "fpga_energy<=18"]))
    kept = frame[(frame["hw_cifar10_raspi4_latency"] <= 10) & (frame["hw_cifar10_fpga_energy"] <= 18)]
    assert table.oracle(bounds).best == pytest.approx(100 - kept["cifar10_val_200ep_genius"].max())
    assert table.oracle(bounds).feasible_share == pytest.approx(len(kept) / 15_625)
    unsupported = (frame["hw_cifar10_edgetpu_latency"] == -1).sum()
    assert np.isnan(table.values[:, 0, table.column("edgetpu_latency")]).sum() == unsupported
    row = frame.iloc[7]
    operations = [part.split("~")[0] for group in row["arch_str"].split("+") for part in group.strip("|").split("|")]
    configuration = tuple(h.values.index(op) for h, op in zip(table.space.hyperparameters, operations, strict=True))
    assert table.evaluate(configuration, 0).metrics[table.objective.name] == pytest.approx(
        100 - row["cifar10_val_200ep_genius"]
    )
    assert json.loads(table.space.to_json(configuration))["Op0"] == operations[0]


def test_text_that_looks_like_numbers_stays_text_where_the_values_are_text(write: Write) -> None:
    csv = CSV.replace("relu", "01").replace("tanh", "1")
    table = read_table(*write(csv, SPEC.replace('["tanh", "relu"]', '["1", "01"]')))
    assert table.space.hyperparameters[1].values == ("1", "01")
    assert table.values[table.space.index((1, 1)), 0, 0] == pytest.approx(0.1)


def test_an_extracted_number_may_be_ordinal(write: Write) -> None:
    csv = CSV.replace("relu", "relu-8").replace("tanh", "tanh-4")
    extract = "[extract]\nact = '(?P<kind>[a-z]+)-(?P<width>[0-9]+)'\n"
    kinds = {"kind": "categorical", "width": "ordinal"}
    own = "".join(f'[[hyperparameter]]\nname = "{name}"\nkind = "{kind}"\n' for name, kind in kinds.items())
    head, _, tail = SPEC.partition('[[hyperparameter]]\nname = "act"')
    spec = (
        head.replace("[[hyperparameter]]", extract + "[[hyperparameter]]", 1) + own + tail[tail.index("[[metric]]") :]
    )
    table = read_table(*write(csv, spec))
    assert [h.values for h in table.space.hyperparameters[1:]] == [("relu", "tanh"), (4, 8)]


def test_other_encodings_and_parquet_indices_are_said_or_read(write: Write, tmp_path: Path) -> None:
    data, spec = write()
    data.write_bytes(CSV.replace("tanh", "tänh").encode("latin-1"))
    with pytest.raises(UsageError, match=r"UTF-?8"):
        read_table(data, spec)
    data, spec = write()
    pd.read_csv(data).set_index("lr").to_parquet(tmp_path / "indexed.parquet")
    assert np.array_equal(read_table(tmp_path / "indexed.parquet", spec).values, read_table(data, spec).values, True)


def test_a_method_is_never_told_costly_or_test_metrics_beforehand(write: Write) -> None:
    save(read_table(*write()))
    table = open_table("mine")
    for metric in ("valid-error@9", "test-error@9", "time"):
        with pytest.raises(UsageError, match=r"does not know .* before training"):
            abilities.known(table, metric, (1, 1))


def test_a_copied_folder_is_no_table(write: Write) -> None:
    folder = save(read_table(*write()))
    folder.rename(folder.with_name("mine.bak"))
    assert imported.names() == []


def test_repetitions_make_a_grid_no_denser(write: Write) -> None:
    """300 of 90,000 configurations are no grid, however often each was trained."""
    head = CSV.split("\n", maxsplit=1)[0]
    rows = "".join(f"{1 + i / 7},a{i},{seed},0.5,0.5,1,1\n" for i in range(300) for seed in range(4))
    spec = SPEC.replace('values = ["tanh", "relu"]\n', "")
    with pytest.raises(UsageError, match=r"has 300 of them"):
        read_table(*write(head + "\n" + rows, spec))


@pytest.mark.parametrize(("number", "fits"), [(255, True), (256, False)])
def test_a_file_has_at_most_255_repetitions_of_a_configuration(number: int, fits: bool, write: Write) -> None:
    rows = [f"0.1,tanh,{seed},0.5,0.5,1,1" for seed in range(number)] + ["0.2,relu,0,0.5,0.5,1,1"]
    files = write("\n".join([CSV.split("\n", maxsplit=1)[0], *rows]) + "\n")
    if fits:
        assert read_table(*files).values.shape[1] == 255
    else:
        with pytest.raises(UsageError, match="has a configuration with more than 255 repetitions"):
            read_table(*files)


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["010", "10", "1"], ["010", "1", "10"]),
        (["10000001001100111100", "10000001001100111101"], ["10000001001100111100", "10000001001100111101"]),
        (["12:30", "10:30"], ["10:30", "12:30"]),
        (["2024-01-01", "2024-02-01"], ["2024-01-01", "2024-02-01"]),
        (["16", "8"], [8, 16]),
        (["0.5", "1e-3"], [0.001, 0.5]),
    ],
)
def test_different_names_stay_different(values: list[str], read: list[object], tmp_path: Path) -> None:
    """As numbers some would be one value, and other texts look like dates."""
    data, spec = tmp_path / "t.csv", tmp_path / "t.toml"
    data.write_text("arch,err\n" + "".join(f"{value},{i + 1}\n" for i, value in enumerate(values)))
    spec.write_text(
        'name = "t"\ncost = 1.0\n[[hyperparameter]]\nname = "arch"\nkind = "categorical"\n'
        '[[metric]]\nname = "valid-err"\ncolumn = "err"\nsplit = "valid"\n'
    )
    (h,) = read_table(data, spec).space.as_flat().hyperparameters
    assert sorted(h.values) == sorted(read)  # type: ignore[attr-defined, type-var]


@pytest.mark.parametrize("kind", [np.int16, np.float64])
def test_the_distinct_rows_of_a_space_are_those_of_numpy(kind: type) -> None:
    drawn = np.random.default_rng(0).integers(0, 4, (500, 4)) / (1 if kind is np.int16 else 3)
    points, rows = distinct_rows(list(drawn.astype(kind).T))
    expected, places = np.unique(drawn.astype(kind), axis=0, return_inverse=True)
    assert points.dtype == kind
    np.testing.assert_array_equal(points, expected)
    np.testing.assert_array_equal(rows, places.ravel())


def test_the_distinct_rows_of_a_large_file_take_little_more_than_their_answer() -> None:
    columns = [np.arange(100_000) % 7 for _ in range(32)]
    tracemalloc.start()
    distinct_rows(columns)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < sum(column.nbytes for column in columns) / 4
