"""Image benchmarks as a table records them: against the plain benchmark, which chooses an epoch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks import Benchmark, UsageError, open_benchmark
from nasbench.benchmarks.images import ImageBenchmark
from nasbench.benchmarks.images.curves import TrainingCurves
from nasbench.benchmarks.training import training

PARTS = Path(__file__).parents[2] / "benchmarks/tabular/parts"
EPOCHS = 3
NAME = f"digits/nasbench201/table@{EPOCHS}"


def curves_of(plain: Benchmark) -> TrainingCurves:
    """The same benchmark, as a table records it."""
    assert isinstance(plain, ImageBenchmark)
    return TrainingCurves(plain)


def trained(*names: str) -> list[dict[str, float]]:
    """The values of one training by the plain benchmark, then as tables of the named ones record them, by metric."""
    plain = open_benchmark(NAME)
    rng = np.random.default_rng(3)
    cell = next(c for c in iter(lambda: plain.space.sample(rng), None) if not plain.networks.infeasible(c))  # type: ignore[attr-defined]
    found = []
    for benchmark in (plain, *(curves_of(open_benchmark(name)) for name in names)):
        benchmark.make_ready()
        evaluation = benchmark.evaluate(cell, 7)
        assert evaluation.status == "ok"
        found.append(dict(evaluation.metrics))
    return found


def test_a_curve_holds_what_the_plain_benchmark_sees_after_each_epoch() -> None:
    plain, curve = trained(NAME)
    points = [(curve[f"val-error@{e}"], curve[f"val-loss@{e}"], e) for e in range(1, EPOCHS + 1)]
    error, _, best = min(points)
    assert error == plain[f"val-error@{EPOCHS}"]
    assert curve[f"test-error@{best}"] == plain[f"test-error@{EPOCHS}"]
    if best == EPOCHS:
        assert curve[f"val-auc@{EPOCHS}"] == pytest.approx(plain["val-auc"], abs=1e-6)
        assert curve[f"test-auc@{EPOCHS}"] == pytest.approx(plain["test-auc"], abs=1e-6)
    assert (curve["parameters"], curve["flops"]) == (plain["parameters"], plain["flops"])
    assert curve["peak_memory"] == pytest.approx(plain["peak_memory"], abs=1e-3)
    assert len({curve[f"val-error@{e}"] for e in range(1, EPOCHS + 1)}) > 1
    for split in ("val", "test"):
        images = curve[f"{split}-error@{EPOCHS}"] * 359 / 100
        assert images == pytest.approx(round(images))  # wrong images are counted exactly
    assert all(0 < curve[f"{split}-loss@{e}"] < 5 for split in ("train", "val", "test") for e in range(1, EPOCHS + 1))
    assert curve["train_time"] > curve["evaluation_time"] > 0
    assert "latency" not in curve


@pytest.mark.slow
def test_without_a_curve_of_test_scores_all_else_is_recorded_to_the_bit() -> None:
    _, whole, short = trained(NAME, f"digits/nasbench201/table/val-curve@{EPOCHS}")
    left_out = {f"test-{score}@{epoch}" for score in ("error", "loss") for epoch in range(1, EPOCHS)}
    assert whole.keys() - short.keys() == left_out
    measured = {"train_time", "evaluation_time"}
    assert {name: whole[name] for name in short.keys() - measured} == {
        name: short[name] for name in short.keys() - measured
    }


def test_the_objective_is_that_of_the_last_epoch_and_test_metrics_are_hidden() -> None:
    recorded = curves_of(open_benchmark(NAME))
    assert recorded.objective.name == f"val-error@{EPOCHS}"
    assert all(m.is_test == m.name.startswith("test-") for m in recorded.metrics)
    assert recorded.checksum != open_benchmark(NAME).checksum


def test_a_training_that_diverges_is_a_failed_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverges(*arguments: object, **options: object) -> None:
        raise training.TrainingFailed("the loss is nan in epoch 1")

    recorded = curves_of(open_benchmark(NAME))
    monkeypatch.setattr(training, "train", diverges)
    evaluation = recorded.evaluate(next(iter(open_benchmark(NAME).space)), 0)  # type: ignore[call-overload]
    assert evaluation.status == "infeasible"  # the first cell is dead: it is not trained at all
    rng = np.random.default_rng(3)
    evaluation = recorded.evaluate(recorded.space.sample(rng), 0)
    assert (evaluation.status, evaluation.reason) == ("failed", "the loss is nan in epoch 1")
    assert not evaluation.metrics


def test_the_recipe_of_tables_is_the_one_that_was_piloted() -> None:
    name = "digits/nasbench201/table"
    assert "6 epochs, batches of 64, 4 channels in the first stage" in open_benchmark(name).procedure
    with pytest.raises(UsageError, match="write it without"):
        open_benchmark(f"{name}@6")


@pytest.mark.parametrize("part", sorted(PARTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_was_trained_for_a_table_can_be_gone_on_with(part: Path) -> None:
    with part.open() as lines:
        first = json.loads(next(lines))
    recorded = curves_of(open_benchmark(first["table"]))
    assert (recorded.checksum, [m.name for m in recorded.metrics]) == (first["identity"], first["metrics"])
