"""What a step of a one-shot search costs, in passes through the supernet, and what skipping dead operations saves."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nasbench.base.layout import table
from nasbench.base.streams import say
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable
from nasbench.benchmarks.spaces.published.cells import OPERATIONS
from nasbench.benchmarks.training import initialisation, training
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.cli.speed.sizes import Sizes
from nasbench.methods.oneshot.bilevel import Darts, Milenas, Rule
from nasbench.methods.oneshot.distributions import Logits, Probabilities, softmax, sparsemax
from nasbench.methods.oneshot.settings import KERNELS
from nasbench.methods.oneshot.supernet import Supernet
from nasbench.methods.oneshot.weights import Weights, gradients
from nasbench.methods.oneshot.zeroth_order import ZerothOrder

_WINDOW = 10
_ALIVE = 2.2  # operations of an edge with a probability above zero, on average


def main(space: Searchable, pair: tuple[LabelledImages, LabelledImages], sizes: Sizes) -> None:
    """Prints the time of a search step and what skipping saves, on a batch of each half of the training images.

    Args:
        space: whose supernet is searched.
        pair: a batch for the weights, and one for the architecture.
    """
    generator = torch.Generator().manual_seed(0)
    rows: list[tuple[str, ...]] = [("a search step, beside one pass forth and back", "ms", "passes", "expected")]
    network = _supernet(space, generator, grown=False)
    drawn = 1e-3 * torch.randn(6, len(OPERATIONS), generator=generator)
    logits = Logits(drawn.to(training.device()).requires_grad_())
    passes, steps = _steps(network, logits, pair, generator, sizes.repeats)
    rows.append(("a pass", f"{1000 * passes:.0f}", "1", ""))
    for name, (seconds, expected) in steps.items():
        rows.append((name, f"{1000 * seconds:.0f}", f"{seconds / passes:.2f}", expected))
    say(table(rows) + "\n")
    rows = [(f"a pass, {_ALIVE} operations alive an edge", "every ms", "skip ms", "ratio", "every MiB", "skip MiB")]
    for grown, name in ((False, "3 x 3 supernet"), (True, "supernet of three kernel sizes and depths")):
        whole = _supernet(space, generator, grown)
        rows.append((name, *_skipping(whole, _sparse(grown, generator), pair[0], sizes.repeats)))
    say(table(rows) + "\n")


def _steps(
    network: Supernet,
    logits: Logits,
    pair: tuple[LabelledImages, LabelledImages],
    generator: torch.Generator,
    repeats: int,
) -> tuple[float, dict[str, tuple[float, str]]]:
    """Seconds of a pass, and of a step of each rule with the passes it should need; taken in turn, medians."""
    train, val = pair

    def loss(own: nn.Module, at: Logits, batch: LabelledImages) -> Tensor:
        return cross_entropy(own(batch.images, at.probabilities(softmax)), batch.labels)

    def one_pass() -> None:
        gradients(loss(network, logits, train), [*logits.present(), *network.parameters()])

    weights = Weights(network, RECIPES["search"])
    adam = torch.optim.Adam(logits.present(), 3e-4)
    rules: dict[str, tuple[Rule, int, str]] = {
        f"ZO-DARTS, window of {_WINDOW}": (ZerothOrder(weights, loss, loss, generator, _WINDOW), _WINDOW, "2.1"),
        "MiLeNAS": (Milenas(weights, loss, loss), 2, "3"),
        "DARTS, second order": (Darts(weights, loss, loss), 2, "5"),
        "DARTS, first order": (Darts(weights, loss, loss, order=1), 2, "2"),
    }
    found: dict[str, list[float]] = {name: [] for name in ("", *rules)}
    for _ in range(repeats + 1):
        found[""].append(seconds_of(one_pass, 3))
        for name, (rule, count, _) in rules.items():
            found[name].append(seconds_of(lambda rule=rule: rule.step(logits, train, val, adam), count))  # type: ignore[misc]
    times = {name: median(values[1:]) for name, values in found.items()}  # the first is for warming up
    return times[""], {name: (times[name], expected) for name, (_, _, expected) in rules.items()}


def _skipping(network: Supernet, sparse: Probabilities, batch: LabelledImages, repeats: int) -> tuple[str, ...]:
    """Milliseconds with every operation and without those of probability zero, their ratio, and the memory of both."""
    parameters = list(network.parameters())

    def loss() -> Tensor:
        return cross_entropy(network(batch.images, sparse), batch.labels)

    times: dict[bool, list[float]] = {False: [], True: []}
    memory = {}
    for _ in range(repeats + 1):
        for skip, own in times.items():
            network.exact_skip = skip
            own.append(seconds_of(lambda: gradients(loss(), parameters), 2))
            memory[skip] = training.measured(network, loss)[1]
    every, skipped = (median(times[skip][1:]) for skip in (False, True))
    ratio = f"{every / skipped:.2f}x"
    return f"{1000 * every:.0f}", f"{1000 * skipped:.0f}", ratio, f"{memory[False]:.0f}", f"{memory[True]:.0f}"


def _supernet(space: Searchable, generator: torch.Generator, grown: bool) -> Supernet:
    network = Supernet(space.filters, space.shape[0], space.classes, space.depth, KERNELS[0] if grown else 3)
    if grown:
        network.grow(KERNELS[1:])
    initialisation.draw_parameters(network, generator)
    training.channels_last(network)
    return network.to(training.device())


def _sparse(grown: bool, generator: torch.Generator) -> Probabilities:
    """Two or three operations alive on an edge, 2.2 on average; two kernel sizes and depths."""
    alive = [3 if edge % 5 == 0 else 2 for edge in range(18)]
    parts = [torch.stack([_few(len(OPERATIONS), count, generator) for count in alive])]
    if grown:
        parts += [torch.stack([_few(3, 2, generator) for _ in range(rows)]) for rows in (18, 3)]
    return Probabilities.of([part.to(training.device()) for part in parts])


def _few(choices: int, alive: int, generator: torch.Generator) -> Tensor:
    """A distribution over choices, of which `alive` have a probability above zero."""
    logits = torch.full((choices,), -10.0)
    logits[torch.randperm(choices, generator=generator)[:alive]] = 0.0
    return sparsemax(logits)


def seconds_of(call: Callable[[], object], count: int) -> float:
    """Seconds of one call, the mean of `count`; what they asked of the device is waited for."""
    training.wait(training.device())
    begin = perf_counter()
    for _ in range(count):
        call()
    training.wait(training.device())
    return (perf_counter() - begin) / count
