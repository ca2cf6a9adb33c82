"""Training: recipes, augmentation, what is measured, and that same seeds give same bits."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks.images.datasets import Split
from nasbench.benchmarks.training.recipes import RECIPES, Recipe

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.training import initialisation, training  # noqa: E402
from nasbench.benchmarks.training.augmentation import Resident  # noqa: E402
from nasbench.benchmarks.training.state import keep, kept_in  # noqa: E402
from nasbench.benchmarks.training.steps import loss_of  # noqa: E402
from tests.benchmarks.made_up import made_up  # noqa: E402
from tests.benchmarks.quick_training import QUICK, STAGES, bits, resident, trained  # noqa: E402


def test_the_rate_warms_up_and_then_follows_pytorchs_cosine() -> None:
    recipe = RECIPES["retrain"]
    assert [recipe.rate(epoch, 300) for epoch in (0, 5, 10)] == pytest.approx([0.001, 0.0505, 0.1])
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 290, eta_min=0.0)
    for epoch in range(10, 300):
        assert recipe.rate(epoch, 300) == pytest.approx(schedule.get_last_lr()[0], abs=1e-12)
        optimizer.step()
        schedule.step()
    assert RECIPES["search"].rate(0, 1) == 0.1
    assert max(recipe.rate(epoch, 6) for epoch in range(6)) == 0.1  # at most half of all epochs warm up


@pytest.mark.parametrize(
    ("first", "now", "hopeless"),
    [
        (0.1, 0.29, True),
        (0.1, 0.3, False),
        (0.5, 0.505, True),
        (0.5, 0.52, False),
        (0.8, 0.801, False),
        (0.9, 0.2, True),
    ],
)
def test_hopeless_networks_are_those_of_the_papers_rule(first: float, now: float, hopeless: bool) -> None:
    assert bool(Recipe.hopeless(first, now)) is hopeless


def test_every_training_image_comes_once_an_epoch_as_a_crop_perhaps_mirrored() -> None:
    split = made_up(17, side=8, channels=3)
    data = resident(train=split)
    normalised = torch.cat([batch.images for batch in data.batches(5, None, np.random.default_rng(0))])
    assert normalised.shape == (17, 3, 8, 8)
    labels = torch.cat([batch.labels for batch in data.batches(5, None, np.random.default_rng(0))])
    assert sorted(labels.tolist()) == sorted(split.labels.tolist())
    mean, spread = split.images.mean((0, 1, 2)), split.images.std((0, 1, 2))
    padded = np.pad(split.images.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    crops: dict[bytes, int] = {}
    for i, image in enumerate(padded):
        for top in range(3):
            for left in range(3):
                crop = image[top : top + 8, left : left + 8]
                for view in (crop, crop[:, ::-1]):
                    crops[np.ascontiguousarray(view.astype(np.uint8)).tobytes()] = i
    seen = []
    for image in normalised.permute(0, 2, 3, 1).numpy():
        pixels = np.rint(image * spread + mean).astype(np.uint8)
        seen.append(crops[pixels.tobytes()])
    assert sorted(seen) == list(range(17))


def test_digits_are_never_mirrored() -> None:
    ramp = np.tile(np.arange(8, dtype=np.uint8) * 20, (12, 8, 1))[..., None]
    data = resident(flip=False, train=Split(ramp, np.zeros(12, np.int64)))
    images = torch.cat([batch.images for batch in data.batches(4, None, np.random.default_rng(0))])
    assert (images[:, 0, 3, 5] > images[:, 0, 3, 2]).all()
    flipping = resident(flip=True, train=Split(ramp, np.zeros(12, np.int64)))
    images = torch.cat([batch.images for batch in flipping.batches(4, None, np.random.default_rng(0))])
    assert 0 < int((images[:, 0, 3, 5] < images[:, 0, 3, 2]).sum()) < 12


def test_mixed_batches_hold_the_shares_they_say() -> None:
    """With images that are all one value, a pixel tells how much of whom it holds."""
    values = np.arange(1, 13, dtype=np.uint8) * 20
    flat = Split(np.broadcast_to(values[:, None, None, None], (12, 8, 8, 1)).copy(), np.arange(12))
    data = resident(flip=False, train=flat)
    data._padded[:] = torch.from_numpy(values)[:, None, None, None]  # no black margin
    mean, spread = flat.images.mean(), flat.images.std()
    kinds = set()
    for seed in range(40):
        for batch in data.batches(12, 1.0, np.random.default_rng(seed)):
            assert batch.others is not None
            assert 0 <= batch.share <= 1
            pixels = batch.images.numpy()[:, 0] * spread + mean
            own, other = values[batch.labels.numpy()], values[batch.others.numpy()]
            expected = batch.share * own + (1 - batch.share) * other
            assert pixels.mean((1, 2)) == pytest.approx(expected, abs=1e-3)
            kinds.add(bool((pixels.std((1, 2)) > 1e-3).any()))
    assert kinds == {True, False}  # CutMix and MixUp


@pytest.mark.parametrize("mix", [None, 1.0])
def test_no_batch_but_the_first_waits_for_the_cpu(mix: float | None) -> None:
    """On the meta device a value that is read raises; what is sent is counted."""
    splits = {"train": made_up(60), "val": made_up(30), "test": made_up(30)}
    batches = Resident(splits, True, torch.device("meta")).batches(8, mix, np.random.default_rng(0))
    next(batches)
    sent: list[Any] = []

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            found = func(*args, **(kwargs or {}))
            tensors = [one for one in (*args, found) if isinstance(one, torch.Tensor)]
            sent.extend(func for one in tensors if one.device.type != "meta")
            return found

    with Counting():
        rest = list(batches)
    assert len(rest) == 7
    assert sent == []


def test_the_loss_of_a_mixed_batch_is_that_of_mixed_labels() -> None:
    from nasbench.benchmarks.training.augmentation import ImageBatch

    outputs = torch.randn(6, 3, dtype=torch.float64)
    labels, others, share = torch.tensor([0, 1, 2, 0, 1, 2]), torch.tensor([2, 2, 1, 0, 0, 1]), 0.3
    batch = ImageBatch(outputs, labels, others, share)
    found = loss_of(torch.nn.Identity(), batch, RECIPES["retrain"])
    one_hot = torch.nn.functional.one_hot
    mixed = share * one_hot(labels, 3) + (1 - share) * one_hot(others, 3)
    smooth = 0.9 * mixed + 0.1 / 3
    assert float(found) == pytest.approx(float(-(smooth * outputs.log_softmax(1)).sum(1).mean()))


@pytest.mark.parametrize("classes", [2, 5])
def test_areas_equal_scikit_learns(classes: int) -> None:
    from sklearn.metrics import accuracy_score, roc_auc_score

    rng = np.random.default_rng(classes)
    outputs = torch.from_numpy(np.round(rng.normal(size=(200, classes)), 1))  # with ties
    labels = rng.integers(classes, size=200)
    shares = outputs.softmax(1).numpy()
    truth = {"multi_class": "ovr"} if classes > 2 else {}
    expected = roc_auc_score(labels, shares if classes > 2 else shares[:, 1], **truth)
    found = training.scores(outputs, torch.from_numpy(labels))
    assert found.auc == pytest.approx(expected)
    assert found.error == pytest.approx(100 * (1 - accuracy_score(labels, outputs.argmax(1))))
    assert math.isnan(training.scores(outputs, torch.zeros(200, dtype=torch.long)).auc)
    outputs[0] = math.nan
    assert math.isnan(training.scores(outputs, torch.from_numpy(labels)).auc)


@pytest.mark.parametrize(
    ("is_cuda", "options", "low"), [(True, [], True), (True, ["float32"], False), (False, [], False)]
)
def test_a_gpu_trains_in_bfloat16_unless_the_recipe_says_float32(
    is_cuda: bool, options: list[str], low: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(device: str, kind: torch.dtype, enabled: bool) -> nullcontext[None]:
        asked.append((device, kind, enabled))
        return nullcontext()

    monkeypatch.setattr(torch, "autocast", noted)
    batch = SimpleNamespace(images=SimpleNamespace(is_cuda=is_cuda), labels=torch.tensor([1]), others=None)
    loss_of(lambda images: torch.zeros(1, 3), batch, RECIPES["search"].with_options(options))
    assert asked == [("cuda", torch.bfloat16, low)]


@pytest.mark.parametrize("stride", [2, 3, (1, 2), 1])
@pytest.mark.parametrize("kernel", [1, 3])
def test_a_strided_convolution_of_few_channels_has_right_gradients_in_both_layouts(
    stride: int | tuple[int, int], kernel: int
) -> None:
    """oneDNN (issue 6035) writes outside its memory where a 1×1 convolution itself has a stride, in channels-last."""
    rng = torch.Generator().manual_seed(0)
    images, weights = torch.randn(9, 7, 16, 16, generator=rng), torch.randn(5, 7, kernel, kernel, generator=rng)
    found = []
    for layout in (torch.contiguous_format, torch.channels_last):
        convolution = torch.nn.Conv2d(7, 5, kernel, stride, kernel // 2, bias=False)
        convolution.weight.data = weights.clone()
        if layout == torch.channels_last:
            training.channels_last(convolution)
            assert kernel > 1 or convolution.stride == (1, 1)
        outputs = convolution(images.contiguous(memory_format=layout))
        (outputs**2).mean().backward()  # type: ignore[no-untyped-call]
        assert convolution.weight.grad is not None
        found.append((outputs.detach(), convolution.weight.grad))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_layout_is_that_of_images_and_convolutions_and_changes_rounding_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, set[tuple[bool, bool]]] = {}
    splits = {"train": made_up(60, channels=3), "val": made_up(30, channels=3), "test": made_up(30, channels=3)}
    forward, losses = CellNetwork.forward, {}

    def noted(self: CellNetwork, images: torch.Tensor) -> torch.Tensor:
        weights = [p for p in self.parameters() if p.dim() == 4 and min(p.shape) > 1]
        seen.setdefault(recipe.layout, set()).add(
            (images.is_contiguous(memory_format=torch.channels_last), all(p.is_contiguous() for p in weights))
        )
        return forward(self, images)

    monkeypatch.setattr(CellNetwork, "forward", noted)
    for recipe in (QUICK, QUICK.with_options(["contiguous"])):
        data = Resident(splits, False, torch.device("cpu"), recipe.layout)
        losses[recipe.layout] = []
        training.train(
            lambda: CellNetwork(STAGES, 4, 3, 3),
            data,
            recipe,
            1,
            16,
            0,
            at_epoch_end=lambda _, epoch: losses[recipe.layout].append(epoch.training_loss),  # noqa: B023
        )
    assert seen == {"channels-last": {(True, False)}, "contiguous": {(False, True)}}
    assert losses["contiguous"] == pytest.approx(losses["channels-last"], rel=1e-3)


def test_a_gpu_computes_in_float32_what_is_not_asked_for_in_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    elsewhere = SimpleNamespace(device=torch.device("cuda"))
    with pytest.raises((AssertionError, AttributeError, RuntimeError)):  # there is no such device, or no images
        training.train(lambda: torch.nn.Linear(2, 2), elsewhere, QUICK, 1, 16, 0)
    assert not torch.backends.cudnn.allow_tf32


def test_parameters_are_drawn_as_pytorch_draws_them_without_touching_its_state() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layers = [torch.nn.Conv2d(8, 64, 3), torch.nn.Linear(50, 200), torch.nn.BatchNorm2d(4)]
    with torch.device("meta"):
        network = torch.nn.Sequential(torch.nn.Conv2d(8, 64, 3), torch.nn.Linear(50, 200), torch.nn.BatchNorm2d(4))
    torch.set_rng_state(before)
    network = network.to_empty(device="cpu")
    initialisation.draw_parameters(network, torch.Generator().manual_seed(1))
    assert torch.equal(torch.get_rng_state(), before)
    for own, theirs in zip(network, layers, strict=True):
        for name, parameter in theirs.named_parameters():
            drawn = own.get_parameter(name)
            assert drawn.shape == parameter.shape
            if parameter.numel() > 1000:
                one, two = drawn.detach(), parameter.detach()
                assert float(one.std()) == pytest.approx(float(two.std()), rel=0.05)
                assert float(one.abs().max()) == pytest.approx(float(two.abs().max()), rel=0.02)
    assert torch.equal(network[2].running_var, torch.ones(4))
    with pytest.raises(TypeError, match="Embedding"):
        initialisation.draw_parameters(torch.nn.Embedding(2, 2), torch.Generator())


def test_same_seeds_give_same_bits_whatever_the_threads_and_the_global_state() -> None:
    data = resident()
    one = trained(data)
    torch.manual_seed(99)
    np.random.seed(1)
    torch.set_num_threads(2)
    state = torch.get_rng_state()
    assert bits(trained(data)) == bits(one)
    assert torch.equal(torch.get_rng_state(), state)
    assert bits(trained(data, seed=4)) != bits(one)
    assert one.val.error < 40  # it has learnt something: guessing errs in two of three


def test_nothing_is_chosen_by_the_test_split() -> None:
    data = resident()
    other = resident(test=made_up(30, seed=2)._replace(labels=np.zeros(30, np.int64)))
    one, two = trained(data), trained(other)
    assert bits(one) == bits(two)
    assert one.val == two.val
    assert one.test != two.test


def test_the_epoch_is_the_best_on_the_validation_split(monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = resident(), []
    plain = training.error_of
    monkeypatch.setattr(training, "error_of", lambda *arguments: seen.append(plain(*arguments)) or seen[-1])
    found = trained(data, epochs=5, recipe=replace(QUICK, optimistic=True))
    per_epoch = seen[:10]
    assert found.val.error == min(per_epoch[0::2])
    assert found.optimistic == min(per_epoch[1::2])
    assert found.curve == tuple(np.minimum.accumulate(per_epoch[0::2]))


class _Killed(Exception):
    pass


def test_an_interrupted_training_continues_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    data, path = resident(), tmp_path / "state.pt"
    recipe = replace(RECIPES["retrain"], filters=4, discard=None)
    whole = trained(data, epochs=4, recipe=recipe)
    begun = training._Progress.finish_epoch

    def killed(progress: Any, splits: Resident) -> None:
        begun(progress, splits)
        if progress.epoch == 2:
            raise _Killed

    monkeypatch.setattr(training._Progress, "finish_epoch", killed)
    with pytest.raises(_Killed):
        trained(data, epochs=4, recipe=recipe, state=path)
    assert training.interrupted_seconds(path, 4) > 0
    monkeypatch.setattr(training._Progress, "finish_epoch", begun)
    epochs = []
    batches = data.batches
    monkeypatch.setattr(data, "batches", lambda *arguments: epochs.append(1) or batches(*arguments))
    resumed = trained(data, epochs=4, recipe=recipe, state=path)
    assert len(epochs) == 2  # not four: it went on
    assert bits(resumed) == bits(whole)
    assert (resumed.val, resumed.test, resumed.optimistic) == (whole.val, whole.test, whole.optimistic)
    assert resumed.curve == whole.curve


def test_a_training_in_parts_has_the_bits_of_one_in_one_go_and_each_part_its_own_cost(tmp_path: Path) -> None:
    data, path = resident(), tmp_path / "state.pt"
    recipe = replace(RECIPES["retrain"], filters=4, discard=None)
    whole = trained(data, epochs=5, recipe=recipe)
    assert training.interrupted_seconds(path, 1) == 0
    first = trained(data, epochs=5, recipe=recipe, state=path, until=1)
    assert training.interrupted_seconds(path, 1) > 0  # if the record of this part is lost, it is paid with the next
    lost = trained(data, epochs=5, recipe=recipe, state=path, until=1)
    assert lost.val == first.val
    assert training.interrupted_seconds(path, 3) == 0  # it was paid at the pause
    middle = trained(data, epochs=5, recipe=recipe, state=path, until=3)
    assert training.interrupted_seconds(path, 5) == training.interrupted_seconds(path, 1) == 0
    last = trained(data, epochs=5, recipe=recipe, state=path)
    assert bits(last) == bits(whole)
    assert (last.val, last.test) == (whole.val, whole.test)
    assert (len(whole.curve), last.curve, middle.curve) == (5, whole.curve, whole.curve[:3])
    assert first.seconds < middle.seconds < last.seconds


def test_a_part_is_the_beginning_of_the_whole_schedule() -> None:
    data = resident()
    recipe = replace(QUICK, optimistic=False)
    part, short = trained(data, epochs=6, recipe=recipe, until=2), trained(data, epochs=2, recipe=recipe)
    assert bits(part) != bits(short)  # of its own schedule, whose rate falls to the end of two epochs


def test_a_state_that_is_further_than_asked_for_is_as_none(tmp_path: Path) -> None:
    data, path = resident(), tmp_path / "state.pt"
    expected = trained(data, epochs=5, until=1)
    trained(data, epochs=5, state=path, until=3)
    assert bits(trained(data, epochs=5, state=path, until=1)) == bits(expected)


@pytest.mark.parametrize("lack", ["half", "without a fact", "another network"])
def test_a_state_that_does_not_fit_is_as_none(lack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = tmp_path / "state.pt", resident()
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    trained(data, seed=9, epochs=2, state=path)  # another seed's: whoever takes a part of it up shows it
    whole = kept_in(path)
    assert whole is not None
    if lack == "half":
        whole["descent"] = {}
    elif lack == "without a fact":
        del whole["seconds"]
    else:
        whole["network"] = {}
    keep(whole, path)
    assert bits(trained(data, state=path)) == bits(trained(data))


def test_a_loss_that_is_no_number_fails_and_a_hopeless_network_is_given_up(tmp_path: Path) -> None:
    data = resident()
    with pytest.raises(training.TrainingFailed, match=r"the loss is (nan|inf) in epoch"):
        trained(data, recipe=replace(QUICK, learning_rate=1e30, clip=None))
    hopeless = replace(QUICK, learning_rate=0.0, final_learning_rate=0.0, discard=2)
    found = trained(data, recipe=hopeless, epochs=30)
    assert "given up after 2 epochs: validation accuracy" in found.given_up
    assert found.seconds < 10
    path = tmp_path / "state.pt"
    trained(data, recipe=hopeless, epochs=30, state=path, until=10)
    lost = trained(data, recipe=hopeless, epochs=30, state=path, until=10)  # as if its record had not been written
    assert training.interrupted_seconds(path, 10) > lost.seconds > 0  # paid, although it had ended before the level
    assert training.interrupted_seconds(path, 30) == 0
    one_step = resident(train=made_up(16))
    with pytest.raises(training.TrainingFailed, match=r"the validation loss is (nan|inf) after epoch 1"):
        trained(one_step, recipe=replace(QUICK, learning_rate=1e38, clip=None), epochs=1)


def test_dropout_draws_from_the_seed_of_the_evaluation() -> None:
    from nasbench.benchmarks.spaces.language import layers
    from nasbench.benchmarks.spaces.language.combinators import siso_sequential
    from nasbench.benchmarks.spaces.language.network import Network
    from nasbench.benchmarks.spaces.language.program import Program

    program = Program(lambda: layers.classifier(siso_sequential([layers.conv2d(4), layers.dropout(0.5)]), 3))

    def run(seed: int) -> training.Trained:
        return training.train(lambda: Network(program, (), (1, 8, 8)), resident(), QUICK, 2, 16, seed)

    torch.manual_seed(1)
    one = bits(run(0))
    torch.manual_seed(2)
    assert bits(run(0)) == one
    assert bits(run(1)) != one
    (dropout,) = [m for m in run(0).network.modules() if type(m).__name__ == "Dropout"]
    ones = torch.ones(100, 100)
    assert torch.equal(dropout(ones), ones)  # in eval mode
    dropped = dropout.train()(ones)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert 0.45 < float((dropped == 0).float().mean()) < 0.55


def test_a_state_that_cannot_be_kept_does_not_end_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    data = resident()
    assert bits(trained(data, state=tmp_path / "no" / "folder" / "x.state")) == bits(trained(data))
    assert "cannot be kept" in caplog.text


def test_memory_counts_parameters_thrice_and_what_a_step_keeps() -> None:
    data = resident()
    found = trained(data, epochs=1)
    parameters = sum(p.numel() for p in found.network.parameters()) * 4 / 2**20
    assert found.memory > 3 * parameters
    images = 16 * 8 * 8 * 4 * 4 / 2**20  # one feature map of the first stage
    assert 10 * images < found.memory - 3 * parameters < 100 * images
    assert training.latency(found.network, data) > 0


def test_a_training_whose_end_is_not_scored_is_the_same_to_the_bit() -> None:
    scored, unscored = trained(resident()), trained(resident(), scored=False)
    assert bits(unscored) == bits(scored)
    assert unscored.curve == scored.curve
    assert [math.isnan(value) for value in (*unscored.val, *unscored.test)] == [True] * 4
    assert not any(map(math.isnan, (*scored.val, *scored.test)))
