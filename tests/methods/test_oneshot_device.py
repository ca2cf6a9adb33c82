"""A search step never waits for the device: proved on the meta device, which has no values that could be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from nasbench.benchmarks.training.augmentation import ImageBatch  # noqa: E402
from nasbench.benchmarks.training.recipes import RECIPES  # noqa: E402
from nasbench.methods.oneshot.bilevel import Darts, Milenas, Rule  # noqa: E402
from nasbench.methods.oneshot.distributions import Alive, Logits, Probabilities, alive_of, softmax, sparsemax  # noqa: E402
from nasbench.methods.oneshot.search import Search  # noqa: E402
from nasbench.methods.oneshot.settings import GradientEstimate, Settings  # noqa: E402
from nasbench.methods.oneshot.supernet import Supernet  # noqa: E402
from nasbench.methods.oneshot.weights import Weights  # noqa: E402
from nasbench.methods.oneshot.zeroth_order import ZerothOrder  # noqa: E402

META = torch.device("meta")
RECIPE = RECIPES["search"]
SOUND = GradientEstimate(floor=1.0, antithetic=True, normalised=True)


def rows(count: int, choices: int) -> tuple[tuple[bool, ...], ...]:
    """Some choices dead, another pattern in each row."""
    return tuple(tuple((row + choice) % 3 > 0 for choice in range(choices)) for row in range(count))


DEAD = Alive(rows(18, 5), rows(18, 3), rows(3, 2))


def marked(logits: Sequence[Logits]) -> list[Logits]:
    return [one._replace(alive=DEAD) for one in logits]


def loss(network: torch.nn.Module, logits: Logits, batch: ImageBatch) -> Tensor:
    normalise = softmax if logits.alive is None else sparsemax
    probabilities = logits.probabilities(normalise)
    if logits.alive is None:
        probabilities = probabilities._replace(alive=probabilities.everything())
    return cross_entropy(network(batch.images, probabilities), batch.labels)


def rules(weights: Weights, flexible: bool) -> list[Rule]:
    generator = torch.Generator()
    if flexible:
        return [
            ZerothOrder(weights, loss, loss, generator, 1, how=how, mark=marked) for how in (GradientEstimate(), SOUND)
        ]
    return [Darts(weights, loss, loss), Milenas(weights, loss, loss), ZerothOrder(weights, loss, loss, generator, 1)]


class Syncs(TorchDispatchMode):
    """Counts operations that read a value, or make a tensor whose shape depends on values."""

    reading = ("_local_scalar_dense", "item", "nonzero", "masked_select", "unique", "equal", "is_nonzero")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func._schema.name.partition("::")[2]
        on_device = any(isinstance(one, Tensor) and one.device == META for one in args)
        if name in self.reading and on_device:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.slow
@pytest.mark.parametrize("flexible", [False, True])
def test_no_step_of_a_window_reads_a_value_from_the_device(flexible: bool) -> None:
    """Of no rule: a value that is read on the meta device raises, and what reads inside PyTorch is counted."""
    with META:
        network = Supernet(4, 1, 3, depth=2 if flexible else 1, kernel=7 if flexible else 3)
        parts = [torch.zeros(18, 5), torch.zeros(18, 3), torch.zeros(3, 2)] if flexible else [torch.zeros(6, 5)]
        batch = ImageBatch(torch.zeros(8, 1, 8, 8), torch.zeros(8, dtype=torch.int64))
    if flexible:
        network.grow((5, 3))
    network.stop_counting()
    weights = Weights(network, RECIPE)
    logits = Logits.of([part.requires_grad_() for part in parts])
    adam = torch.optim.Adam(logits.present(), 0.1)
    for rule in rules(weights, flexible):
        for _ in range(2):  # windows of one batch; the second takes up the copies of the first
            with Syncs() as syncs:
                facts = rule.step(logits, batch, batch, adam)
            assert syncs.found == []
        assert all(fact.device == META for fact in facts)


def test_the_guard_sees_a_read() -> None:
    with META:
        network, images = Supernet(4, 1, 3, depth=1), torch.zeros(8, 1, 8, 8)
        sparse = Probabilities(torch.zeros(18, 5))
    with pytest.raises(RuntimeError):
        network(images, sparse)  # which of them are zero has not been noted: it would have to be read
    with Syncs() as syncs, pytest.raises(RuntimeError):
        float(images.sum())
    assert syncs.found == ["_local_scalar_dense"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
def test_a_pass_is_one_graph_without_breaks() -> None:
    """As torch.compile sees it: with kernel sizes and depths, some of them dead. Nothing is compiled here."""
    network = Supernet(4, 1, 3, depth=2, kernel=7)
    network.grow((5, 3))
    network.stop_counting()

    def scores(images: Tensor, *parts: Tensor) -> Tensor:
        found: Tensor = network(images, Logits.of(parts)._replace(alive=DEAD).probabilities(softmax))
        return found

    parts = [torch.randn(18, 5), torch.randn(18, 3), torch.randn(3, 2)]
    explained = torch._dynamo.explain(scores)(torch.randn(8, 1, 8, 8), *parts)
    assert (explained.graph_count, explained.graph_break_count) == (1, 0), explained.break_reasons


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zo-darts", "zo-darts++"])
def test_a_window_of_a_search_reads_at_most_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which probabilities are zero, of all copies together; softmax has none."""
    from tests.methods.small_searches import SHORT, digits

    calls = []

    def counted(found: Sequence[Probabilities]) -> list[Alive]:
        calls.append(len(found))
        return alive_of(found)

    for module in ("search", "supernet"):
        monkeypatch.setattr(f"nasbench.methods.oneshot.{module}.alive_of", counted)
    settings: Settings = replace(SHORT[name], estimate=SOUND, epochs=2, stop=2, theta=1)
    Search(digits(), settings, seed=0).run()
    windows = 2 * 2  # of two batches, in two epochs of four
    assert calls == ([] if name == "zo-darts" else [3] * windows)


def test_what_is_dead_is_read_as_it_is() -> None:
    found = [
        Probabilities(softmax(torch.randn(18, 5)), sparsemax(9 * torch.randn(18, 3)), torch.eye(3)) for _ in range(2)
    ]
    for one, alive in zip(found, alive_of(found), strict=True):
        for part, own in zip(one.present(), alive, strict=True):
            assert torch.equal(torch.tensor(own), part > 0)
    assert alive_of([Probabilities(torch.eye(5))])[0].kernels is None
