"""`nasbench speed`, every part of it, at sizes that take seconds: nothing here says how fast anything is."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from nasbench.benchmarks import UsageError
from nasbench.cli.speed import tables, training
from nasbench.cli.speed.sizes import USUAL, Sizes
from nasbench.methods.nasbot import otmann
from tests.conftest import Printed

TINY = Sizes(
    repeats=1,
    evaluations=8,
    runs=2,
    searches=1,
    suggestions=1,
    observations=(4, 6),
    fewer_observations=(12,),
    samples=20,
    layers=(10,),
    networks=3,
    matrix=4,
    report_seeds=2,
    many_seeds=6,
    memory_seeds=1,
    architectures=1,
    epochs=1,
    trainings=1,
    steps=1,
    batch=4,
)


@pytest.fixture
def no_medmnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))


@pytest.mark.slow
def test_every_part_prints_its_rows_where_no_image_file_is_at_hand(
    no_medmnist: None, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    tables.main(TINY)
    out = capsys.readouterr().out
    number = r"\d[\d,.]*(?:e[+-]\d+)?"  # a busy machine may need more than 999 ms
    rows = [
        rf"random, model_size@0\.1, 1 worker, runner and store +{number} +{number}",
        rf"evolution, model_size@0\.1, 4 workers, runner and store +{number} +{number}",
        *(rf"{workers} workers, runner alone +{number} +{number}\n" for workers in (4, 100)),
        *(rf"{name} +{number} +{number} +" for name in ("c-tpe", "c-tpe-naive", "tpe")),
        *(rf"{name} +{number}\n" for name in ("smbo", "mcts", "evolution")),
        rf"search-space language, figure 4: {number} µs per sample",
        *(rf"{name} +{number} +{number}\n" for name in ("a cell's", "10")),
        *(rf"{name} +{number} +{number}\n" for name in ("nb201-cifar10, listed", "synthetic-cnn, free networks")),
        rf"a matrix of 4 networks of 20 layers, four nu: {number} s",
        r"digits@1 \(medmnist-breast is not here\), 1 random architectures",
        rf"bare loop over ready tensors +{number} +{number} +{number}x",
        rf"that loop and passes over the same images +{number} +{number} +{number}x",
        rf"ms per step: fused cells.* +{number} +{number} +{number}x",
        r"one-shot search on digits@1, 8 channels, batches of 4",
        rf"a pass +{number} +1",
        *(rf"{name} +{number} +{number} +" for name in ("ZO-DARTS, window of 10", "MiLeNAS", "DARTS, second order")),
        *(
            rf"{name} +{number} +{number} +{number}x"
            for name in ("3 x 3 supernet", "supernet of three kernel sizes .*")
        ),
        rf"  of that OTMANN distances +{number} +{number}\n",
        rf"report: 384 rows in {number} s, {number} times the {number} s in which pandas reads them",
        rf"nasbench --help: {number} s",
        rf"nasbench list: {number} s",
        rf"peak memory of a run on the largest table \(hpolib-slice\): ({number}|unknown) MB",
    ]
    if importlib.util.find_spec("optuna"):
        rows += [rf"Optuna RandomSampler.* +{number} +{number} +1x", rf"optuna-tpe +{number} +{number} +1\.0x"]
    assert [row for row in rows if not re.search(row, out)] == [], out


@pytest.mark.parametrize("epochs", [1, 3])
def test_images_are_trained_on_for_any_number_of_epochs_their_usual_one_too(epochs: int) -> None:
    """`digits@3` is no name, since `digits` is that already: it stopped the command half-way."""
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    assert training.opened("digits", epochs).name == f"digits@{epochs}"


def test_without_any_images_the_other_parts_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")

    def missing(*_: object) -> Any:
        raise UsageError("there are no images")

    measured: list[str] = []
    monkeypatch.setattr(training, "opened", missing)
    for part in (
        "run_speed",
        "suggestion_speed",
        "language_speed",
        "distance_speed",
        "report_speed",
        "many_seeds_speed",
    ):
        monkeypatch.setattr(tables, part, lambda sizes, part=part: measured.append(part))
    monkeypatch.setattr(tables, "timed", lambda *_: 1.0)
    monkeypatch.setattr(tables, "peak_memory", lambda sizes: "7")
    tables.main(TINY)
    assert len(measured) == 6
    out = capsys.readouterr().out
    assert "No training: there are no images" in out
    assert "7 MB" in out


@pytest.mark.slow
def test_a_report_on_many_seeds_is_measured_with_its_memory(capsys: pytest.CaptureFixture[str]) -> None:
    tables.many_seeds_speed(TINY)
    memory = r"\d+ MB" if sys.platform == "linux" else "unknown MB"
    row = rf"report on 30 runs of 30 evaluations, 6 seeds of each setup: \d+\.\d s of one core, peak memory {memory}\n"
    assert re.fullmatch(row, capsys.readouterr().out)


def test_the_paths_of_a_network_are_computed_whenever_they_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = otmann.path_lengths
    monkeypatch.setattr(otmann, "path_lengths", lambda *a: (calls.append(1), plain(*a))[1])
    monkeypatch.setattr(otmann, "compile_ahead", lambda: None)  # it computes some, too
    tables.distance_speed(TINY)
    timed = (TINY.repeats + 1) * TINY.networks  # the first is not counted
    groups = 1 + len(TINY.layers)  # cells, and networks of each size
    assert len(calls) == groups * (timed + TINY.networks) + TINY.matrix
    (graph,) = tables.networks(10, 1)
    kept = dict(vars(graph))
    first, second = tables.encoded(graph), tables.encoded(graph)
    assert first is not second
    assert vars(graph) == kept  # what a graph derives from its edges is derived anew, too


def test_the_command_takes_the_usual_sizes(nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Sizes] = []
    usual = tables.main.__defaults__
    monkeypatch.setattr(tables, "main", lambda *sizes: taken.append(*sizes or usual))
    assert nasbench("speed").code == 0
    assert taken == [USUAL]
    assert USUAL.report_seeds * 24 * USUAL.evaluations > 1_000_000
    assert USUAL.many_seeds * 5 == 100_000
    assert {field.name for field in fields(Sizes)} == set(vars(TINY))
