"""Columns of a user's table that could be taken in a wrong sense: refused, or read as they are meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nasbench.base.metrics import sounds_like_test
from nasbench.benchmarks import UsageError
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.user_table import read_table
from tests.benchmarks.small_table import CSV, SPEC
from tests.conftest import Printed

LISTED = """
name = "codes"
space = "listed"
cost = "time"
[extract]
code = "^(?P<a>.)(?P<b>.)"
[[hyperparameter]]
name = "a"
kind = "categorical"
[[hyperparameter]]
name = "b"
kind = "categorical"
[[metric]]
name = "valid-error"
split = "valid"
[[metric]]
name = "time"
unit = "s"
"""
CODES = "code,valid-error,time\n0120,0.3,1\n0210,0.2,1\n1120,0.1,2\n"


def table(folder: Path, csv: str, spec: str) -> TableData:
    data, toml = folder / "t.csv", folder / "spec.toml"
    data.write_text(csv)
    toml.write_text(spec)
    return read_table(data, toml)


CHEAP = SPEC.replace('"size"', '"size"\ncheap = true')
NAMED_COST = SPEC.replace('cost = "time"', "cost = 1.0").replace('name = "time"', 'name = "cost"\ncolumn = "time"')


@pytest.mark.parametrize(
    ("csv", "spec", "sentence"),
    [
        (CODES, LISTED.replace("(?P<a>.)(?P<b>.)", "."), "the pattern that extracts from code has no named group"),
        (CODES, LISTED.replace("(?P<a>.)", "(?P<time>.)"), "the pattern of code makes time, and .* has a column of"),
        (CODES, LISTED.replace('"b"', '"b"\ncolumn = "valid-error"'), "column valid-error is a hyper-parameter, and"),
        (CODES, LISTED.replace('"b"', '"b"\ncolumn = "a"'), "column a is a hyper-parameter, and something else"),
        (CODES, LISTED.replace("(?P<b>.)", "(.)"), "not a regular expression of RE2, .* unnamed groups"),
        (CODES, LISTED.replace("(?P<b>.)", "(?P<b>(?=1))"), "not a regular expression of RE2, .* nor refers back: inv"),
        (CODES, LISTED.replace("(?P<b>.)", "(?P<a>.)"), "has two groups of one name"),
        (CODES, LISTED.replace('"^(?P<a>.)', "5 #"), "wrong|not a regular expression"),
        (
            CODES.replace("0120", "x" * 10_000),
            LISTED.replace("^(?P<a>.)", "(?P<a>(?:x+x+)+y)"),
            "does not match its pat",
        ),
        (CODES.replace("0120", "größe"), LISTED.replace("(?P<b>.)", r"(?P<b>\\w+)"), "letters beyond ASCII, and .w"),
        (CODES, LISTED.replace("[extract]", "[extract]\ntime = '(?P<a>.)'"), r"two patterns in .extract. make a"),
        (CODES, LISTED.replace('unit = "s"', 'unit = "h"'), "the cost time of .* is in h: the clock counts seconds"),
        (CSV, NAMED_COST, "a metric called cost"),
        (CSV.replace("0.3,4,10", "0.3,4,"), CHEAP, "size of .* differs between repetitions of a configuration"),
        (CSV.replace("0.3,4,10", "0.3,4,11"), CHEAP, "size of .* differs between repetitions of a configuration"),
        (CSV, SPEC.replace("complement_of = 1", "cheap = true\ncomplement_of = 1"), "is not known before training"),
        (re.sub(r",-?\d+\n", ",\n", CSV), SPEC, "no value of size at all"),
    ],
)
def test_a_column_that_means_two_things_or_nothing_is_refused(
    csv: str, spec: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        table(tmp_path, csv, spec)


def test_an_optional_group_that_is_absent_is_an_empty_text(tmp_path: Path) -> None:
    spec = LISTED.replace("^(?P<a>.)(?P<b>.)", "^(?P<a>1)?(?P<b>..)")
    assert table(tmp_path, CODES, spec).space.hyperparameters[0].values == ("", "1")


def test_letters_beyond_ascii_have_a_class_of_their_own(tmp_path: Path) -> None:
    spec = LISTED.replace("^(?P<a>.)(?P<b>.)", r"^(?P<a>\\pL+)(?P<b>\\pN)")
    assert (
        table(tmp_path, CODES.replace("0120", "é1").replace("0210", "ö1").replace("1120", "é2"), spec).space.size == 3
    )


def test_what_is_known_of_a_network_may_be_chosen_and_constrained(tmp_path: Path) -> None:
    spec = SPEC.replace('"size"', '"rate"\ncolumn = "lr"\ncheap = true').replace("missing_value = -1", "")
    assert table(tmp_path, CSV, spec).metrics[3].name == "rate"


@pytest.mark.parametrize("kind", ["float", "integer"])
def test_a_number_that_never_changes_is_no_hyperparameter(kind: str, tmp_path: Path) -> None:
    spec = LISTED.replace('name = "b"\nkind = "categorical"', f'name = "c"\nkind = "{kind}"')
    csv = CODES.replace("code,", "code,c,").replace("0120,", "0120,1,").replace("0210,", "0210,1,")
    with pytest.raises(UsageError, match="c has one value only, 1"):
        table(tmp_path, csv.replace("1120,", "1120,1,"), spec)


def test_what_is_the_same_in_all_repetitions_may_be_known_beforehand(tmp_path: Path) -> None:
    assert table(tmp_path, CSV, CHEAP).metrics[3].cheap


def test_what_a_pattern_reads_keeps_its_leading_zeros(tmp_path: Path) -> None:
    found = table(tmp_path, CODES, LISTED)
    assert [h.values for h in found.space.as_flat().hyperparameters] == [("0", "1"), ("1", "2")]


def test_the_complement_of_what_is_maximised_is_minimised(tmp_path: Path) -> None:
    spec = SPEC.replace('column = "test"', 'column = "test"\ncomplement_of = 1\ndirection = "maximise"')
    found = table(tmp_path, CSV, spec)
    assert found.metrics[1].minimize
    assert np.nanmin(found.values[:, :, 1]) == 0.5


def test_repetitions_without_an_objective_are_counted(tmp_path: Path) -> None:
    assert table(tmp_path, CSV, SPEC).left_out == 0
    assert table(tmp_path, CSV.replace("2,0.8,", "2,,"), SPEC).left_out == 1
    assert table(tmp_path, CSV.replace("1,0.7,", "1,,"), SPEC).left_out == 0  # of a configuration without any


def test_trainings_that_ended_early_are_counted_too(tmp_path: Path) -> None:
    spec = SPEC.replace('repetition = "seed"', 'repetition = "seed"\nepoch = "epoch"')
    spec = spec.replace('epoch = 9\n[[metric]]\nname = "test', 'epoch = 9\ncurve = true\n[[metric]]\nname = "test', 1)
    rows = [line.split(",", 3) for line in CSV.splitlines()[1:]]
    whole = [[*row[:3], str(epoch), row[3]] for row in rows for epoch in (4, 9)]
    stopped = [row for row in whole if row[:4] != ["0.1", "relu", "2", "9"]]
    header = "lr,act,seed,epoch,accuracy,test,time,size"
    text = ["\n".join([header, *map(",".join, lines)]) + "\n" for lines in (whole, stopped)]
    assert [table(tmp_path, csv, spec).left_out for csv in text] == [0, 1]


def test_the_import_says_what_is_left_out(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    (tmp_path / "t.csv").write_text(CSV.replace("2,0.8,", "2,,"))
    (tmp_path / "t.toml").write_text(SPEC)
    done = nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "t.toml")
    assert done.code == 0
    assert done.err.startswith("notice: 1 training without a value of valid-error@9 left out")


@pytest.mark.parametrize(
    "name",
    [
        "test",
        "ori-test",
        "Test",
        "x_holdout",
        "hold-out",
        "test-metrics",
        "HELD_OUT",
        "test-error@9",
        "valTest",
        "AUCTest",
        "xtest",
    ],
)
def test_names_of_test_data_are_noticed(name: str) -> None:
    assert sounds_like_test(name)


@pytest.mark.parametrize(
    "name",
    [
        *("fastest_latency", "latest_loss", "LATEST", "shield", "contest", "shortest_path", "lightest", "brightest"),
        *("tightest", "hottest_layer", "attestation", "withheld"),
    ],
)
def test_other_words_that_contain_such_letters_are_not(name: str) -> None:
    assert not sounds_like_test(name)
