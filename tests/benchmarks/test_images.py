"""Live benchmarks: their names, their spaces, what an evaluation answers, and how it fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import BenchmarkSpec, UsageError, abilities, parse_constraints
from nasbench.benchmarks.images import DATASETS, ImageBenchmark, benchmark, digits
from nasbench.benchmarks.images.datasets import SPLITS, Dataset, Split, loaded, reduced
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.language.choices import forbid
from nasbench.benchmarks.spaces.language.combinators import siso_sequential
from nasbench.benchmarks.spaces.language.graph import D, Part
from nasbench.benchmarks.spaces.language.layers import classifier, conv_norm_relu
from nasbench.benchmarks.spaces.trainable import SPACES, Frame, WrittenSpace
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.methods import METHODS, Problem
from tests.conftest import Lend
from tests.few_digits import register as register_few_digits

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.training import training  # noqa: E402
from nasbench.benchmarks.training.augmentation import Resident  # noqa: E402


def opened(name: str) -> ImageBenchmark:
    found = BenchmarkSpec.parse(name).open()
    assert isinstance(found, ImageBenchmark)
    assert found.name == name
    return found


def drawn(found: ImageBenchmark, dead: bool = False, seed: int = 0) -> Configuration:
    rng = np.random.default_rng(seed)
    while True:
        configuration = found.space.sample(rng)
        if bool(found.networks.infeasible(configuration)) is dead:
            return configuration


@pytest.mark.parametrize(
    "space",
    [
        pytest.param(space, marks=[pytest.mark.slow] * (space in ("nasnet", "popnas")))
        for space in SPACES.names()
        if space != "resnet18"
    ],
)
def test_a_network_of_every_space_is_trained_and_measured(space: str) -> None:
    found = opened("digits@1" if space == "cells" else f"digits/{space}@1")
    configuration = drawn(found)
    evaluation = found.evaluate(configuration, 5)
    assert (evaluation.status, evaluation.reason) == ("ok", "")
    values = evaluation.metrics
    assert list(values) == [metric.name for metric in found.metrics]
    assert all(math.isfinite(value) for value in values.values())
    assert 0 <= values["val-error@1"] <= 100
    assert evaluation.cost >= values["train_time"] > 0
    for metric in found.metrics:
        if metric.cheap:
            assert found.known(metric.name, configuration) == values[metric.name]
    network = found.networks.network(configuration)
    assert values["parameters"] == sum(p.numel() for p in network.parameters())
    with pytest.raises(UsageError, match="does not know val-error@1 before training"):
        abilities.known(found, "val-error@1", configuration)


def test_resnet_18_is_one_point_of_the_published_size() -> None:
    found = opened("medmnist-path/resnet18")
    configuration = found.space.sample(np.random.default_rng(0))
    assert configuration == ()
    with torch.device("meta"):
        network = found.networks.network(configuration)
    # torchvision's has 11,689,512 parameters: its stem is 7 x 7 on 3 channels, and it has 1000 classes.
    stem, head = 64 * 3 * (7 * 7 - 3 * 3), 513 * (1000 - 9)
    assert sum(p.numel() for p in network.parameters()) == 11_689_512 - stem - head


def test_short_trainings_come_with_a_caution() -> None:
    assert "how easily a network trains" in opened("digits").caution
    assert opened("digits@19").caution == opened("digits").caution
    assert opened("digits@20").caution == ""
    assert opened("digits/resnet18").caution == ""  # one network, for orientation


def test_a_pilot_says_more_than_the_number_of_epochs_does() -> None:
    assert "its pilot failed" in opened("digits/nasbench201/table").caution
    assert opened("digits/nasbench201/table@5").caution == opened("digits").caution  # another training
    ranks = opened("medmnist-organa/nasbench201/rank")
    assert (ranks.caution, "its pilot passed" in ranks.procedure) == ("", True)
    assert opened("medmnist-organa/rank").caution == opened("digits").caution  # another space, without a pilot


def test_what_cannot_be_trained_is_infeasible_at_once() -> None:
    found = opened("digits@1")
    configuration = drawn(found, dead=True)
    evaluation = found.evaluate(configuration, 0)
    assert evaluation.status == "infeasible"
    assert "no path leads through the cell of stage" in evaluation.reason
    assert math.isnan(found.known("parameters", configuration))


def test_knowledge_of_dead_architectures_is_of_the_hard_constraint(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    found = opened(f"{register_few_digits(monkeypatch, lend)}@1")
    problem = Problem.of(found, abilities.bounds(found, parse_constraints(["parameters@S"])))
    method = METHODS.get("c-tpe")(problem, np.random.default_rng(0), knowledge=150)
    method.ask()
    assert method._estimators()._failures > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("digits/cells", "digits is digits/cells already: write it without"),
        ("digits/smoke", "digits is digits/smoke already: write it without"),
        ("digits/genetc", "did you mean genetic"),
        ("digits/retrain/genetic", "the space comes before the recipe: digits/genetic/retrain"),
        ("digits/genetic/flat", "unknown variant of digits/genetic 'flat'"),
        ("digits@0", "allowed: 1 to 1000"),
        ("digits@3", "digits is digits@3 already: write it without"),
        ("digits@03", "write digits@3"),
        ("digits@x", "a number of epochs follows @, as in digits@12"),
        ("digits/contiguous/float32", "unknown variant of digits/contiguous 'float32'; allowed: val-curve"),
        ("digits/float32/retrain", "unknown variant of digits/float32 'retrain'"),
        ("digits/float32/float32", "allowed: contiguous"),
        ("nb201-cifar10/genetic", "unknown variant of nb201-cifar10"),
        ("medmnist-brest", "did you mean medmnist-breast"),
    ],
)
def test_names_that_mean_nothing_are_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        BenchmarkSpec.parse(name).open()
    assert sentence in str(raised.value)


def test_names_and_identities_tell_what_differs() -> None:
    names = ["digits", "digits@2", "digits@4", "digits/search", "digits/genetic", "digits/genetic/retrain@9"]
    names += ["digits/float32", "digits/contiguous", "digits/float32/contiguous@4", "digits/val-curve"]
    names += ["digits/genetic/retrain/float32"]
    found = [opened(name) for name in [*names, "medmnist-breast/smoke", "medmnist-breast"]]
    assert [benchmark.name for benchmark in found[: len(names)]] == names
    assert len({f.checksum for f in found}) == len(found)
    assert "test-error-optimistic@9" in [m.name for m in found[5].metrics]
    assert all(not m.is_test for f in found for m in f.metrics if not m.name.startswith("test-"))
    assert all(m.is_test for f in found for m in f.metrics if m.name.startswith("test-"))


def test_a_recipe_may_bound_the_training_images() -> None:
    images = np.arange(10, dtype=np.uint8).reshape(10, 1, 1, 1)
    split = Split(images, np.arange(10) + 20)
    splits = {"train": split, "val": split, "test": split}
    few = reduced(splits, 4, 1)
    kept = few["train"].images.ravel()
    assert (len(kept), len(set(kept))) == (4, 4)
    assert (few["train"].labels == kept + 20).all()
    assert (reduced(splits, 4, 1)["train"].images.ravel() == kept).all()
    assert few["val"] is split
    assert few["test"] is split
    assert reduced(splits, 10, 1) is splits


def test_images_are_the_means_of_the_areas_that_they_cover() -> None:
    images = np.random.default_rng(0).integers(256, size=(3, 28, 28, 1), dtype=np.uint8)
    split = Split(images, np.arange(3))
    small = reduced({"train": split, "test": split}, 3, 16)["test"]
    assert small.images.shape == (3, 16, 16, 1)
    assert small.labels.tolist() == [0, 1, 2]
    fine = images.astype(float).repeat(16, axis=1).repeat(16, axis=2)  # 448 = 16 x 28 pixels a side
    means = fine.reshape(3, 16, 28, 16, 28, 1).mean(axis=(2, 4))
    assert np.abs(small.images - means).max() <= 0.5 + 1e-9
    assert reduced({"train": small}, 3, 16)["train"] is small


def test_a_set_that_is_cut_is_another_benchmark_and_one_that_is_not_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut, whole = opened("medmnist-blood/nasbench201/table"), opened("digits/nasbench201/table")
    assert "1,200 of 11,959 training images" in cut.procedure
    assert "training images" not in whole.procedure
    before = cut.checksum, whole.checksum, cut.seconds_each(), whole.seconds_each()
    monkeypatch.setitem(RECIPES, "table", replace(RECIPES["table"], images=1100))
    cut, whole = opened(cut.name), opened(whole.name)  # digits has 1,079
    assert cut.checksum != before[0]
    assert whole.checksum == before[1]
    assert cut.seconds_each() == pytest.approx(before[2] * 1100 / 1200)
    assert whole.seconds_each() == before[3]


def test_training_sees_the_images_of_the_cut_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "smoke", replace(RECIPES["smoke"], images=64))
    found = opened("digits@1")
    assert len(found.resident().labels["train"]) == 64
    assert len(found.resident().labels["val"]) == 359


@pytest.mark.slow
def test_size_classes_are_quantiles_of_what_can_be_trained() -> None:
    found = opened("medmnist-breast/nasbench201")
    every = [c for c in found.space if not found.networks.infeasible(c)]  # type: ignore[attr-defined]
    assert len(every) == 15_284
    counts = [found.networks.size(c).parameters for c in every]
    small, middle, large = (abilities.bounds(found, parse_constraints([f"parameters@{c}"]))[0] for c in "SML")
    assert np.quantile(counts, 0.36) <= middle.low <= np.quantile(counts, 0.44)
    assert np.quantile(counts, 0.56) <= middle.high <= np.quantile(counts, 0.64)
    assert small.low == -np.inf < small.high < middle.low < middle.high < large.low < large.high < np.inf
    with pytest.raises(UsageError, match="no table of val-error@20"):
        abilities.bounds(found, parse_constraints(["val-error@20@M"]))
    with pytest.raises(UsageError, match="maximised"):
        abilities.bounds(found, parse_constraints(["val-auc@M"]))
    with pytest.raises(UsageError, match="measured on the test split"):
        abilities.bounds(found, parse_constraints(["test-error@20<=9"]))


def tiny(side: int) -> Dataset:
    """A data set of images too small for most networks."""
    rng = np.random.default_rng(0)

    def load() -> dict[str, Split]:
        return {
            split: Split(rng.integers(256, size=(20, side, side, 1), dtype=np.uint8), rng.integers(2, size=20))
            for split in ("train", "val", "test")
        }

    counts = dict.fromkeys(("train", "val", "test"), 20)
    return replace(DATASETS.get("digits"), name=f"tiny-{side}", side=side, classes=2, counts=counts, load=load)


def test_a_network_too_deep_for_its_image_fails_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = tiny(4)
    found = ImageBenchmark(dataset, "genetic", epochs=1)
    evaluation = found.evaluate(drawn(found), 0)
    assert evaluation.status == "failed"
    assert "cannot take inputs of shape" in evaluation.reason
    assert evaluation.cost > 0


def test_no_memory_is_a_failed_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = opened("digits@1")

    def too_large(configuration: Configuration) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(found.networks, "network", too_large)
    evaluation = found.evaluate(drawn(found), 0)
    assert (evaluation.status, evaluation.reason) == ("failed", "CUDA out of memory. Tried to allocate 20.00 GiB")


def test_digits_are_whole_and_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = digits.read()
    assert sum(len(split.labels) for split in splits.values()) == 1797
    rows = {split.images[i].tobytes() for split in splits.values() for i in range(len(split.labels))}
    assert len(rows) == 1797  # no image is in two splits
    monkeypatch.setattr(digits, "digest", lambda splits: "sha256:other")
    with pytest.raises(UsageError, match="other digits than those of this benchmark"):
        digits.read()


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"digits trains networks with PyTorch: `make setup EXTRAS=live` in a clone"):
        opened("digits").make_ready()


def test_a_failed_training_costs_what_its_interrupted_attempt_had_taken_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, path = BenchmarkSpec.parse("digits@2").open(), tmp_path / "a.state"
    configuration = bench.space.sample(np.random.default_rng(0))
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    finish = training._Progress.finish_epoch

    def killed(progress: Any, data: Any) -> Any:
        finish(progress, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(training._Progress, "finish_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        bench.measure(configuration, 0, bench.highest, path)
    taken = training.interrupted_seconds(path, 2)
    assert taken > 0

    def diverged(progress: Any, data: Any) -> Any:
        raise training.TrainingFailed("the loss is nan")

    monkeypatch.setattr(training._Progress, "finish_epoch", diverged)
    begin = perf_counter()
    found = bench.measure(configuration, 0, bench.highest, path)
    assert (found.status, found.reason) == ("failed", "the loss is nan")
    assert taken < found.cost <= taken + perf_counter() - begin


@pytest.mark.slow
def test_an_attempt_that_ran_out_of_memory_is_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = BenchmarkSpec.parse("digits@2").open()
    configuration = bench.space.sample(np.random.default_rng(0))
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    latency, calls = training.latency, list[int]()

    def exhausted_at_first(*arguments: Any) -> float:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("out of memory")
        return latency(*arguments)

    monkeypatch.setattr(training, "latency", exhausted_at_first)
    begin = perf_counter()
    found = bench.measure(configuration, 0, bench.highest, tmp_path / "a.state")
    assert (found.status, len(calls)) == ("ok", 2)
    assert found.cost <= perf_counter() - begin


def test_a_colour_channel_that_is_the_same_everywhere_is_no_hindrance() -> None:
    images = np.zeros((6, 8, 8, 3), np.uint8)
    images[..., :2] = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 2))
    splits = {name: Split(images, np.arange(6) % 2) for name in ("train", "val", "test")}
    resident = Resident(splits, False, torch.device("cpu"))
    assert all(bool(torch.isfinite(scale).all()) for scale in (resident._scale, resident._shift))


def test_the_checksum_of_a_third_partys_space_changes_with_its_choices_and_its_clauses(lend: Lend) -> None:
    def space(kernels: list[int], forbids: bool) -> Callable[[Frame], WrittenSpace]:
        def network() -> Part:
            chosen = [D(kernels, name=f"kernel{i}") for i in range(2)]
            if forbids:
                forbid(lambda a, b: a == b == 3, a=chosen[0], b=chosen[1])
            return classifier(siso_sequential([conv_norm_relu(8, kernel) for kernel in chosen]), 10)

        return lambda frame: WrittenSpace(network, frame)

    found = set()
    for kernels, forbids in (([3, 5], False), ([3, 5, 7], False), ([3, 5], True)):
        lend(SPACES, "theirs", space(kernels, forbids))
        found.add(ImageBenchmark(digits.DIGITS, "theirs").checksum)
    assert len(found) == 3


SPLIT = Split(np.zeros((5, 8, 8, 1), np.uint8), np.array([0, 1, 2, 1, 0]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"counts": {"train": 99, "val": 5, "test": 5}}, "train of theirs has images of shape .* and it states"),
        ({"side": 16}, "has images of shape"),
        ({"classes": 2}, "train of theirs needs 5 labels from 0 to 1"),
        ({"counts": {"train": 5, "val": 0, "test": 5}}, "theirs has no images in val, and needs some in each of train"),
        ({"counts": {"train": 5, "val": 5}}, "theirs has no images in test"),
        ({"load": lambda: {"train": SPLIT, "val": SPLIT}}, "theirs has no images in test"),
        (
            {"load": lambda: dict.fromkeys(SPLITS, SPLIT._replace(labels=SPLIT.labels[:4]))},
            "has labels of shape .4,. and",
        ),
        *(
            ({"load": partial(dict.fromkeys, SPLITS, SPLIT._replace(labels=SPLIT.labels.astype(kind)))}, f"type {kind}")
            for kind in ("float64", "int32", "uint8", "object")
        ),
        ({}, ""),
    ],
)
def test_images_are_what_their_data_set_states(change: dict[str, Any], said: str) -> None:
    facts = {"counts": dict.fromkeys(SPLITS, 5), "side": 8, "channels": 1, "classes": 3} | change
    theirs = replace(digits.DIGITS, name="theirs", **({"load": lambda: dict.fromkeys(SPLITS, SPLIT)} | facts))
    if not said:
        assert len(loaded(theirs)) == 3
        return
    with pytest.raises(UsageError, match=said):
        loaded(theirs)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"batch": {"search": 32}}, r"batch of the data set digits lacks the images per step of: retrain$"),
        ({"recipe": "long"}, r"unknown recipe 'long'.*; allowed: adam, rank, retrain, search, smoke, table$"),
    ],
)
def test_a_data_set_states_what_every_recipe_needs(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        replace(digits.DIGITS, **changes)
