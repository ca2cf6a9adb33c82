"""Names that somebody got wrong: the nearest is the one that was meant, and long lists are counted."""

from __future__ import annotations

import re

import pytest

from nasbench.base.errors import unknown
from nasbench.base.nearest import nearest
from nasbench.benchmarks import BENCHMARKS, UsageError
from nasbench.methods import METHODS
from tests.conftest import at_most

BENCHES = {
    "nb201-cifar": "nb201-cifar10",
    "nb201": "nb201-cifar10",
    "nas-bench-201": "nb201-cifar10",
    "nasbench201-cifar100": "nb201-cifar100",
    "CIFAR10": "nb201-cifar10",
    "nb201_cifra10": "nb201-cifar10",
    "ImageNet16-120": "nb201-imagenet16",
    "naval": "hpolib-naval",
    "fcnet-naval": "hpolib-naval",
    "hpolib-protien": "hpolib-protein",
    "hpobench-slice": "hpolib-slice",
    "hpolib-car": "hpobench-car",
    "hpobench-veichle": "hpobench-vehicle",
    "hpo-bench-blood": "hpobench-blood",
    "credit-g": "hpobench-credit",
    "nas-bench-graph-cora": "nbgraph-cora",
    "nbgraph-citeser": "nbgraph-citeseer",
    "digitis": "digits",
    "pathmnist": "medmnist-path",
    "BloodMNIST": "medmnist-blood",
    "medminst-derma": "medmnist-derma",
    "organmnist-c": "medmnist-organc",
    "sythetic_mlp": "synthetic-mlp",
}
NAMES = {
    "rnadom": "random",
    "ctpe": "c-tpe",
    "regularized-evolution": "evolution",
    "hyper-band": "hyperband",
    "DARTS": "darts",
    "zodarts++": "zo-darts++",
    "bananna": "bananas",
    "smac3": "smac",
    "cnsgaII": "cnsga2",
    "nsga-2": "nsga2",
}


@pytest.mark.parametrize(("asked", "meant"), BENCHES.items())
def test_the_nearest_benchmark_is_the_one_that_was_meant(asked: str, meant: str) -> None:
    assert nearest(asked, sorted(BENCHMARKS.names()))[0] == meant
    with pytest.raises(UsageError, match=rf"unknown benchmark '{asked}' \(did you mean {meant}[,? ]"):
        BENCHMARKS.get(asked)


@pytest.mark.parametrize(("asked", "meant"), NAMES.items())
def test_the_nearest_method_is_the_one_that_was_meant(asked: str, meant: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"unknown method '{asked}' (did you mean {meant}?)")):
        METHODS.get(asked)


@pytest.mark.parametrize("asked", ["", "-", "xyzzy", "é", "\u202e"])
def test_what_resembles_nothing_gets_no_suggestion(asked: str) -> None:
    assert nearest(asked, BENCHMARKS.names()) == []


def test_many_names_are_counted_by_what_they_begin_with() -> None:
    error = unknown("benchmark", "nb", ["random"], ["nb-w", "nb-x", "nb-y", "nb-z", "own", "other-one"])
    assert str(error) == (
        "unknown benchmark 'nb' (did you mean nb-w, nb-x or nb-y?); allowed: random, nb-… (4), other-one, own; "
        "`nasbench list` has them all"
    )
    with pytest.raises(UsageError) as caught:
        BENCHMARKS.get("cifar10")
    assert len(str(caught.value)) < 250
    assert "hpolib-… (4)" in str(caught.value)


def test_long_names_and_lists_are_compared_at_once() -> None:
    with at_most(2.0):
        nearest("9x" * 5000, ["8y" * 5000] * 2 + [f"column-{i}-of-many" for i in range(100_000)])


def test_several_names_are_told_from_a_strange_one() -> None:
    assert "are several names where one method is expected" in str(unknown("method", "a,b", ["a", "b"]))
    assert "are several names" not in str(unknown("method", "a,c", ["a", "b"]))
    assert "are several names" not in str(unknown("method", "c", ["a", "b"]))
