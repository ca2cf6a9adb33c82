from __future__ import annotations

from pathlib import Path

import pytest

from nasbench.benchmarks import (
    BENCHMARKS,
    Benchmark,
    BenchmarkSpec,
    Evaluation,
    Level,
    Metric,
    UsageError,
    open_benchmark,
)
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from tests.conftest import Lend


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("digits", BenchmarkSpec("digits")),
        ("digits/genetic/retrain@12", BenchmarkSpec("digits", ("genetic", "retrain"), fidelity=12)),
        ("nb201-cifar10@0", BenchmarkSpec("nb201-cifar10", fidelity=0)),
        ("mlp:houses.csv:price", BenchmarkSpec("mlp", file="houses.csv", column="price")),
        ("mlp:/a:b@c/d@200.csv:price@400", BenchmarkSpec("mlp", (), "/a:b@c/d@200.csv", "price", 400)),
    ],
)
def test_a_name_is_read_into_its_parts_and_written_back(text: str, parts: BenchmarkSpec) -> None:
    assert BenchmarkSpec.parse(text) == parts
    assert parts.label == text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("mlp:houses.csv", "mlp:houses.csv:price"),
        ("mlp:houses.csv@400", "mlp:houses.csv:price@400"),
        ("mlp:/a@b/c:d.csv", "mlp:/a@b/c:d.csv:price"),
    ],
)
def test_a_column_may_be_given_apart(text: str, label: str) -> None:
    assert BenchmarkSpec.parse(text, "price").label == label


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nb201-cifar", "did you mean nb201-cifar10"),
        ("digits@", "a number of epochs follows @, as in digits@12"),
        ("digits@٣", "a number of epochs follows @"),
        ("svm:houses.csv:price", "unknown kind of benchmark before a colon 'svm'"),
        ("mlp:houses.csv", "name the file and the column to predict, as in mlp:houses.csv:price"),
        ("mlp::price", "name the file and the column to predict"),
    ],
)
def test_a_name_that_means_nothing_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        BenchmarkSpec.parse(text)
    assert sentence in str(raised.value)


def test_a_benchmark_is_opened_once_per_process() -> None:
    assert open_benchmark("digits/nasbench201@2") is open_benchmark("digits/nasbench201@2")
    assert BenchmarkSpec.parse("digits@2").open() is not BenchmarkSpec.parse("digits@2").open()


class Plain(Benchmark):
    """Its objective is a distance."""

    name, family, source, licence, checksum = "plain", "plain", "made here", "MIT", "plain-1"
    space = GridSpace([Ordinal("a", (1, 2))])
    metrics: tuple[Metric, ...] = (Metric("distance", ""),)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return Evaluation({"distance": 1.0}, 1.0)


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("metrics", (Metric("score", "", minimize=False),), "plain maximises score, and objectives are minimised"),
        ("metrics", (), "benchmark plain has no metric"),
        ("metrics", (Metric("a", ""), Metric("a", "s")), "benchmark plain has two metrics of one name: a, a"),
        ("metrics", ("distance",), "metrics of benchmark plain must be a tuple of Metric, not"),
        ("metrics", [Metric("a", "")], "metrics of benchmark plain must be a tuple of Metric, not"),
        ("family", 5, "family of benchmark plain must be a text, not 5"),
        ("space", None, "benchmark plain has no space"),
        ("space", (1, 2), r"space of benchmark plain must be a Space, not \(1, 2\)"),
        ("checksum", 1, "checksum of benchmark plain must be a text, not 1"),
        ("fidelity", (1, 3, 9), r"fidelity of benchmark plain must be a Fidelity or None, not \(1, 3, 9\)"),
        ("repeatable", "any", "repeatable of benchmark plain must be one of Repeatable.ANY_PROCESSOR"),
        ("kind", "Live", r"unknown kind of benchmark plain 'Live' \(did you mean live\?\)"),
        ("licence", None, "benchmark plain has no licence: every benchmark sets name, family"),
    ],
)
def test_a_benchmark_that_lacks_something_is_refused(
    attribute: str, value: object, sentence: str, lend: Lend, monkeypatch: pytest.MonkeyPatch
) -> None:
    lend(BENCHMARKS, "plain", Plain)
    assert open_benchmark.__wrapped__("plain").name == "plain"
    if value is None:
        monkeypatch.delattr(Plain, attribute)
    else:
        monkeypatch.setattr(Plain, attribute, value)
    with pytest.raises(UsageError, match=sentence):
        open_benchmark.__wrapped__("plain")
