"""Networks of one shape as one: what each of them computes is what it computes alone."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.spaces.cells import Stage  # noqa: E402
from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.training import stacking, training  # noqa: E402
from nasbench.benchmarks.training.initialisation import initialised  # noqa: E402
from tests.benchmarks.test_training import resident  # noqa: E402

CPU = torch.device("cpu")
STAGES = (
    Stage(("nor_conv_3x3", "nor_conv_3x3", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3", "skip_connect"), 2),
    Stage(("nor_conv_1x1", "skip_connect", "nor_conv_5x5", "nor_conv_1x1", "nor_conv_5x5", "none"), 1),
    Stage(("avg_pool_3x3", "avg_pool_3x3", "none", "none", "none", "nor_conv_3x3"), 1),
)
PLAIN = (Stage(("skip_connect", "skip_connect", "nor_conv_3x3", "nor_conv_1x1", "none", "skip_connect"), 1),) * 3


def networks(number: int) -> list[CellNetwork]:
    """Of one shape, with parameters of their own, in double precision."""
    return [initialised(lambda: CellNetwork(STAGES, 4, 1, 3), CPU, seed).double() for seed in range(number)]


@pytest.mark.parametrize("number", [1, 3])
def test_a_stack_computes_what_its_networks_compute(number: int) -> None:
    training.use_one_thread()
    alone = networks(number)
    stack = stacking.Stack(alone).eval()
    seen = resident().plain("val")
    for images in seen:
        scores = stack(images.double().repeat(1, number, 1, 1))
        assert scores.shape == (len(images), number, 3)
        for place, network in enumerate(alone):
            assert torch.allclose(scores[:, place], network.eval()(images.double()), rtol=1e-10, atol=1e-12)


def test_what_cannot_be_stacked_is_refused() -> None:
    with pytest.raises(ValueError, match="several shapes"):
        stacking.Stack([torch.nn.Linear(2, 2), torch.nn.Linear(2, 3)])
    for operations in (("skip_connect", "none"), ("avg_pool_3x3", "none"), ("none", "skip_connect")):
        ours = Stage((*operations, "nor_conv_3x3", "nor_conv_1x1", "none", "skip_connect"), 1)
        other = CellNetwork((ours,) * 3, 4, 1, 3)
        same = CellNetwork((ours,) * 3, 4, 1, 3)
        assert stacking.Stack([other, same]).get_parameter("whole.classifier.weight").shape == (2, 3, 16)
        with pytest.raises(ValueError, match="several shapes"):
            stacking.Stack([other, CellNetwork(PLAIN, 4, 1, 3)])
    with pytest.raises(TypeError, match="LayerNorm"):
        stacking.Stack([torch.nn.LayerNorm(2)] * 2)
    with pytest.raises(TypeError, match="a bias or groups"):
        stacking.Stack([torch.nn.Conv2d(2, 2, 1)] * 2)
