"""Training and measuring of one network; the epoch is chosen on the validation split."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.spaces.language.network import Dropout
from nasbench.benchmarks.training.augmentation import Resident
from nasbench.benchmarks.training.initialisation import initialised, seeded_numbers
from nasbench.benchmarks.training.news import News
from nasbench.benchmarks.training.recipes import Recipe
from nasbench.benchmarks.training.state import keep, kept_in
from nasbench.benchmarks.training.steps import descend, descent_of, loss_of

CHECKPOINT_SECONDS = 30.0
"""Shortest time between two checkpoints, which are written at the end of epochs."""


class TrainingFailed(Exception):
    """A network cannot be trained to the end; the message says why."""


class Scores(NamedTuple):
    """The scores of a network on a split."""

    error: float
    """Share of misclassified images, in percent."""
    auc: float
    """Area under the ROC curve; with more than two classes, the mean over classes of one class against the rest."""


class Epoch(NamedTuple):
    """The losses and the error at the end of an epoch."""

    training_loss: float
    """Mean loss over the epoch's steps, on the augmented batches."""
    val_error: float
    """Validation error in percent."""
    val_loss: float
    """Mean cross-entropy on the validation split."""


class Trained(NamedTuple):
    """The result of training a network."""

    network: nn.Module
    """The network, with the parameters of the chosen epoch."""
    val: Scores
    """Scores on the validation split at the chosen epoch."""
    test: Scores
    """Scores on the test split at the same epoch."""
    optimistic: float
    """The smallest test error of all epochs, in percent; NaN unless the recipe asks for it."""
    seconds: float
    """Seconds of training, without validation."""
    memory: float
    """MiB of parameters, gradients, momentum, and the tensors that the first step kept for its backward pass."""
    given_up: str
    """Why the recipe ended the training early; empty if it did not."""
    curve: tuple[float, ...]
    """The validation error of the best epoch so far, in percent, after each epoch."""


def device() -> torch.device:
    """The device that trains networks: the GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def device_name() -> str:
    """The name of that GPU; empty for the CPU."""
    return torch.cuda.get_device_name() if device().type == "cuda" else ""


def clock_for(on: torch.device) -> Callable[[], float]:
    """A clock for training times that do not depend on other load: on a CPU, the CPU time of the thread."""
    return thread_time if on.type == "cpu" else perf_counter


def warm_up() -> None:
    """Loads the parts of PyTorch that its first optimiser needs: about 1 s that should not count for a search."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)


def use_one_thread() -> None:
    """Restricts operations of this thread to one CPU core.

    With more cores, the order of sums depends on their number, so scores would depend on the machine. And parallel
    evaluations (--jobs, --workers) use the cores better than a single evaluation on several cores.
    """
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)


def use_float32() -> None:
    """Makes a GPU compute float32 convolutions in float32, where PyTorch's default is TF32."""
    torch.backends.cudnn.allow_tf32 = False


def train(
    make: Callable[[], nn.Module],
    data: Resident,
    recipe: Recipe,
    epochs: int,
    batch: int,
    seed: int,
    state: Path | None = None,
    until: int | None = None,
    at_epoch_end: Callable[[nn.Module, Epoch], None] | None = None,
    clock: Callable[[], float] = perf_counter,
    scored: bool = True,
) -> Trained:
    """Trains a network by a recipe. On a CPU, the same seed gives the same bits, with or without interruptions.

    Args:
        make: makes the network, whose parameters are drawn later.
        data: the images.
        recipe: the recipe.
        epochs: number of epochs in the full schedule of the learning rate.
        batch: images per step.
        seed: in [0, 2**63); decides the parameters, and the order and augmentation of the images.
        state: file in which progress is kept; an interrupted training continues from it.
        until: the epoch after which training pauses; a later call with the same state continues. None for the last.
        at_epoch_end: called at the end of each epoch with the network, in eval mode.
        clock: the clock of `Trained.seconds`.
        scored: whether the chosen epoch's network is evaluated at the end; if not, its scores are NaN.

    Raises TrainingFailed if a loss is not finite.
    """
    if data.device.type == "cuda":
        use_float32()
    else:
        use_one_thread()
    network = initialised(make, data.device, seed)
    if recipe.layout == "channels-last":
        channels_last(network)
    until = epochs if until is None else until
    progress = _Progress(network, recipe, state, until)
    while progress.epoch < until and not progress.given_up:
        begin = clock()
        progress.descent.rate = recipe.rate(progress.epoch, epochs)
        network.train()
        rng = np.random.default_rng([seed, progress.epoch])
        for module in network.modules():
            if isinstance(module, Dropout):
                module.generator = torch.Generator(data.device).manual_seed(int(rng.integers(2**63)))
        total, number = torch.zeros((), device=data.device), 0
        with seeded_numbers(network, data.device, [seed, progress.epoch]):
            for number, images in enumerate(data.batches(batch, recipe.mix, rng)):
                step = partial(loss_of, network, images, recipe)
                if number == 0 and math.isnan(progress.memory):
                    loss, progress.memory = measured(network, step)
                else:
                    loss = step()
                descend(loss, network, progress.descent, recipe)
                total += loss.detach()
        if not math.isfinite(total.item()):  # this also waits for the GPU
            raise TrainingFailed(f"the loss is {total.item()} in epoch {progress.epoch + 1}")
        progress.seconds += clock() - begin
        validated = progress.finish_epoch(data)
        if at_epoch_end is not None:
            at_epoch_end(network, Epoch(total.item() / (number + 1), *validated))
    if until < epochs:
        progress.pause()
    return progress.chosen(data if scored else None)


class _Progress:
    """The state of a training between two epochs."""

    def __init__(self, network: nn.Module, recipe: Recipe, state: Path | None, until: int) -> None:
        self._network, self._recipe, self._path, self._until = network, recipe, state, until
        self.descent = descent_of(network, recipe)
        self.epoch, self.seconds, self.memory = 0, 0.0, math.nan
        self._begun, self._earlier = perf_counter(), 0.0
        self._first, self._optimistic = math.nan, math.nan
        self._best: tuple[float, float] = (math.inf, math.inf)
        self._best_state: dict[str, Tensor] = {}
        self._curve: list[float] = []
        self._saved, self._news = self._begun, News()
        self.given_up = ""
        self._paused_at = 0
        if state is not None:
            self._resume(state)

    def finish_epoch(self, data: Resident) -> tuple[float, float]:
        """Measures error and loss on the validation split, and updates the best epoch, giving up and checkpoints.

        Raises TrainingFailed if the loss is not finite.
        """
        outputs, labels = outputs_of(self._network, data.plain("val")), data.labels["val"].cpu()
        error, loss = error_of(outputs, labels), float(cross_entropy(outputs, labels))
        self.epoch += 1
        if not math.isfinite(loss):  # the last step has spoilt the parameters
            raise TrainingFailed(f"the validation loss is {loss} after epoch {self.epoch}")
        if self.epoch == 1:
            self._first = 1 - error / 100
        if self.epoch == self._recipe.discard:
            why = self._recipe.hopeless(self._first, 1 - error / 100)
            self.given_up = f"given up after {self.epoch} epochs: {why}" if why else ""
        if (error, loss) < self._best:  # among epochs with equal errors, the one with the smallest loss
            self._best = error, loss
            self._best_state = {name: value.clone() for name, value in self._network.state_dict().items()}
        self._curve.append(self._best[0])
        done = self.epoch, self._until, self.seconds / self.epoch
        self._news.tell("epoch %d of %d, %.1f s each: validation error %.2f %%", *done, error)
        if self._recipe.optimistic:
            tested = error_of(outputs_of(self._network, data.plain("test")), data.labels["test"].cpu())
            self._optimistic = float(np.fmin(self._optimistic, tested))
        if self._path is not None and perf_counter() - self._saved >= CHECKPOINT_SECONDS:
            self._save(self._path)
        return error, loss

    def pause(self) -> None:
        """Keeps the training for a later continuation, whose cost counts from here."""
        self._paused_at = self._until
        if self._path is not None:
            self._save(self._path)

    def chosen(self, data: Resident | None) -> Trained:
        """The network of the epoch with the best validation scores, and its scores on images; NaN without any."""
        self._network.load_state_dict(self._best_state)
        val = test = Scores(math.nan, math.nan)
        if data is not None:
            outputs = {split: outputs_of(self._network, data.plain(split)) for split in ("val", "test")}
            val, test = (scores(own, data.labels[split].cpu()) for split, own in outputs.items())
        times = self.seconds, self.memory
        return Trained(self._network, val, test, self._optimistic, *times, self.given_up, tuple(self._curve))

    def _save(self, path: Path) -> None:
        keep(self._state(), path)
        self._saved = perf_counter()

    def _state(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"epoch": self.epoch, "seconds": self.seconds, "memory": self.memory}
        facts |= {"first": self._first, "optimistic": self._optimistic, "given_up": self.given_up}
        facts |= {"best": self._best, "best_state": self._best_state, "paused_at": self._paused_at}
        facts |= {"curve": self._curve}
        facts |= {"earlier": self._earlier + perf_counter() - self._begun}
        return facts | {"network": self._network.state_dict(), "descent": self.descent.state()}

    def _resume(self, path: Path) -> None:
        """Continues from a file, unless it is damaged, does not fit, or has passed the last epoch of this call."""
        begun = self._state()
        kept = kept_in(path)
        if kept is None or kept.keys() != begun.keys() or kept["epoch"] > self._until:
            return
        initial = deepcopy(begun["network"])
        try:
            self._network.load_state_dict(kept["network"])
            self.descent.resume(kept["descent"])
        except Exception:  # PyTorch raises many types if the state does not fit
            self._network.load_state_dict(initial)
            return
        self.epoch, self.seconds, self.memory = kept["epoch"], kept["seconds"], kept["memory"]
        self._first, self._optimistic, self.given_up = kept["first"], kept["optimistic"], kept["given_up"]
        self._best, self._best_state, self._curve = kept["best"], kept["best_state"], kept["curve"]
        self._earlier = _unpaid(kept, self._until)


def interrupted_seconds(state: Path | None, until: int) -> float:
    """Seconds that interrupted attempts at a part of a training have taken, by its state; 0 without one.

    Args:
        until: the last epoch of the part.
    """
    kept = None if state is None else kept_in(state, quiet=True)  # the training itself tells of damage
    if kept is None or not {"epoch", "paused_at", "earlier"} <= kept.keys() or kept["epoch"] > until:
        return 0.0
    return _unpaid(kept, until)


def _unpaid(kept: dict[str, Any], until: int) -> float:
    """Seconds of a kept training that no record has; 0 if it paused before `until`, for that part was recorded."""
    return 0.0 if 0 < kept["paused_at"] < until else float(kept["earlier"])


def channels_last(network: nn.Module) -> nn.Module:
    """The network, with its convolutions in channels-last layout: steps are faster, also on a CPU.

    In this layout oneDNN's gradient of a 1×1 convolution with a stride and few channels is written outside its memory
    (oneDNN issue 6035): the process dies, or the gradient is wrong. So such a convolution skips the pixels beforehand.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
            if module.kernel_size == (1, 1) and module.stride != (1, 1) and module.padding == (0, 0):
                module.register_forward_pre_hook(partial(_skipping, module.stride))
                module.stride = (1, 1)
    return network


def _skipping(stride: tuple[int, ...], module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    """The pixels of a convolution's images that its stride would leave: a hook that runs before it."""
    return inputs[0][:, :, :: stride[0], :: stride[1]]


def outputs_of(network: nn.Module, images: Iterable[Tensor]) -> Tensor:
    """A network's scores in eval mode, on the CPU, shape (images, classes)."""
    network.eval()
    with torch.no_grad():
        return torch.cat([network(part).float() for part in images]).cpu()


def error_of(outputs: Tensor, labels: Tensor) -> float:
    """Share of misclassified images, in percent."""
    return 100 * float((outputs.argmax(1) != labels).double().mean())


def scores(outputs: Tensor, labels: Tensor) -> Scores:
    """Error and area under the ROC curve, as MedMNIST computes them; the area is NaN if a class has no images."""
    shares = outputs.double().softmax(1).numpy()
    truth, classes = labels.numpy(), outputs.shape[1]
    areas = [_area(shares[:, c], truth == c) for c in ((1,) if classes == 2 else range(classes))]
    return Scores(error_of(outputs, labels), float(np.mean(areas)))


def wait(on: torch.device) -> None:
    """Waits until a device has finished its computations, before a clock is read."""
    if on.type == "cuda":
        torch.cuda.synchronize()


def latency(network: nn.Module, data: Resident) -> float:
    """Latency in milliseconds per image, in batches of up to 64: the median of five passes after a first one."""
    images = next(data.plain("test"))[:64]
    network.eval()
    times = []
    with torch.no_grad():
        for _ in range(6):
            begin = perf_counter()
            network(images)
            wait(data.device)
            times.append(perf_counter() - begin)
    return 1000 * statistics.median(times[1:]) / len(images)


def measured(network: nn.Module, compute: Callable[[], Tensor]) -> tuple[Tensor, float]:
    """The loss of a step, and the memory in MiB that the step and its update need.

    Args:
        compute: computes the loss.
    """
    weights = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = compute()
    parameters = sum(p.untyped_storage().nbytes() for p in network.parameters())
    return loss, (3 * parameters + sum(kept.values())) / 2**20


def _area(score: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Mann and Whitney's statistic: the share of (positive, negative) pairs in the right order; ties count half."""
    positives, negatives = score[positive], np.sort(score[~positive])
    if not len(positives) or not len(negatives) or np.isnan(score).any():
        return math.nan
    below, upto = (np.searchsorted(negatives, positives, side).sum() for side in ("left", "right"))
    return float((below + upto) / (2 * len(positives) * len(negatives)))
