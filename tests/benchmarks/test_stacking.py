"""Networks trained as one: what each of them is afterwards is what it would be alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from nasbench.benchmarks.training.recipes import RECIPES

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.spaces.cells import Stage  # noqa: E402
from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.training import stacking, training  # noqa: E402
from nasbench.benchmarks.training.augmentation import Batch  # noqa: E402
from nasbench.benchmarks.training.initialisation import initialised  # noqa: E402
from tests.benchmarks.test_training import resident  # noqa: E402

CPU = torch.device("cpu")
STAGES = (
    Stage(("nor_conv_3x3", "nor_conv_3x3", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3", "skip_connect"), 2),
    Stage(("nor_conv_1x1", "skip_connect", "nor_conv_5x5", "nor_conv_1x1", "nor_conv_5x5", "none"), 1),
    Stage(("avg_pool_3x3", "avg_pool_3x3", "none", "none", "none", "nor_conv_3x3"), 1),
)
PLAIN = (Stage(("skip_connect", "skip_connect", "nor_conv_3x3", "nor_conv_1x1", "none", "skip_connect"), 1),) * 3
RARE = {"clip": 0.2, "mix": 1.0, "label_smoothing": 0.1}


def networks(number: int) -> list[CellNetwork]:
    """Of one shape, with parameters of their own, in double precision."""
    return [initialised(lambda: CellNetwork(STAGES, 4, 1, 3), CPU, seed).double() for seed in range(number)]


def batches(seed: int, mix: float | None) -> list[Batch]:
    found = resident().batches(20, mix, np.random.default_rng(seed))
    return [batch._replace(images=batch.images.double()) for batch in found]


@pytest.mark.parametrize("changes", [{}, RARE, {"clip": None}], ids=["search", "clipped and mixed", "unclipped"])
@pytest.mark.parametrize("number", [1, 3])
def test_networks_trained_as_one_are_those_trained_alone(number: int, changes: dict[str, float]) -> None:
    training.use_one_thread()
    recipe = replace(RECIPES["search"], **changes)
    alone = networks(number)
    stack = stacking.Stack(alone)
    images = [batches(seed, recipe.mix) for seed in range(number)]
    losses = []
    for network, own in zip(alone, images, strict=True):
        descent, found = training.descent_of(network, recipe), []
        for batch in own:
            loss = training.loss_of(network, batch, recipe, low_precision=False)
            found.append(float(loss.detach()))
            training.descend(loss, network, descent, recipe)
        losses.append(found)
    descent = training.descent_of(stack, recipe)
    for step, own in enumerate(zip(*images, strict=True)):
        loss = stacking.loss_of(stack, own, recipe, low_precision=False)
        assert float(loss.detach()) == pytest.approx(sum(found[step] for found in losses), rel=1e-10)
        stacking.descend(loss, stack, descent, recipe)
    assert all(before != after for found in losses for before, after in pairwise(found))
    one_by_one, together = stacking.Stack(alone).state_dict(), stack.state_dict()
    assert one_by_one.keys() == together.keys()
    for name, value in one_by_one.items():
        assert torch.allclose(together[name].double(), value.double(), rtol=1e-10, atol=1e-12), name
    stack.eval()
    seen = images[0][0].images
    scores = stack(seen.repeat(1, number, 1, 1))
    assert scores.shape == (20, number, 3)
    for place, network in enumerate(alone):
        assert torch.allclose(scores[:, place], network.eval()(seen), rtol=1e-10, atol=1e-12)


def test_a_stack_leaves_the_networks_that_it_is_made_of_alone() -> None:
    (network,) = networks(1)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    stack = stacking.Stack([network])
    (batch, *_) = batches(0, None)
    recipe = RECIPES["search"]
    descent = training.descent_of(stack, recipe)
    stacking.descend(stacking.loss_of(stack, [batch], recipe, low_precision=False), stack, descent, recipe)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_what_cannot_be_stacked_is_refused() -> None:
    with pytest.raises(ValueError, match="several shapes"):
        stacking.Stack([torch.nn.Linear(2, 2), torch.nn.Linear(2, 3)])
    for operations in (("skip_connect", "none"), ("avg_pool_3x3", "none"), ("none", "skip_connect")):
        ours = Stage((*operations, "nor_conv_3x3", "nor_conv_1x1", "none", "skip_connect"), 1)
        other = CellNetwork((ours,) * 3, 4, 1, 3)
        same = CellNetwork((ours,) * 3, 4, 1, 3)
        assert stacking.Stack([other, same]).number == 2
        with pytest.raises(ValueError, match="several shapes"):
            stacking.Stack([other, CellNetwork(PLAIN, 4, 1, 3)])
    with pytest.raises(TypeError, match="LayerNorm"):
        stacking.Stack([torch.nn.LayerNorm(2)] * 2)
    with pytest.raises(TypeError, match="a bias or groups"):
        stacking.Stack([torch.nn.Conv2d(2, 2, 1)] * 2)
