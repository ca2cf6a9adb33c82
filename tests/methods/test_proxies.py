"""Zero-cost proxies: their scores, and the order in which networks are proposed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from torch import nn  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from nasbench.base.errors import UsageError  # noqa: E402
from nasbench.benchmarks import open_benchmark  # noqa: E402
from nasbench.benchmarks.spaces.cells import Stage, pruned, size  # noqa: E402
from nasbench.benchmarks.training.augmentation import ImageBatch  # noqa: E402
from nasbench.methods import MethodSpec  # noqa: E402
from nasbench.methods.oneshot.untrained import SCORES, Untrained  # noqa: E402
from nasbench.methods.problem import Problem  # noqa: E402

LOOK_UP = open_benchmark("supernet:digits:nb201-cifar10")
PROBLEM = Problem(LOOK_UP.space, (LOOK_UP.objective,))


@pytest.fixture
def small() -> tuple[nn.Module, ImageBatch]:
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(27, 4)
    return nn.Sequential(*layers), ImageBatch(torch.randn(6, 1, 5, 5), torch.arange(6) % 4)


Small = tuple[Any, ImageBatch]


def test_naswot_counts_the_units_that_agree(small: Small) -> None:
    network, batch = small
    on = (network[:2](batch.images) > 0).flatten(1).tolist()
    agree = [[sum(a == b for a, b in zip(first, second, strict=True)) for second in on] for first in on]
    assert SCORES["naswot"](network, batch) == pytest.approx(np.linalg.slogdet(np.array(agree, float))[1])


def test_synflow_of_a_chain_is_its_flow_once_for_each_layer(small: Small) -> None:
    network, batch = small
    with torch.no_grad():
        network[4].bias.zero_()
    convolution, linear = network[0].weight.detach().abs().double(), network[4].weight.detach().abs().double()
    flow = (linear * convolution.sum((1, 2, 3)).repeat_interleave(9)).sum()
    assert SCORES["synflow"](network, batch) == pytest.approx(math.log(2 * float(flow)))


@pytest.mark.parametrize(
    ("name", "of_layer"),
    [("grad_norm", lambda w, g: g.norm()), ("snip", lambda w, g: (w * g).abs().sum())],
)
def test_gradients_are_those_of_the_loss(small: Small, name: str, of_layer: Callable[..., Any]) -> None:
    network, batch = small
    cross_entropy(network(batch.images), batch.labels).backward()
    expected = sum(of_layer(layer.weight, layer.weight.grad).item() for layer in (network[0], network[4]))
    network.zero_grad()
    assert SCORES[name](network, batch) == pytest.approx(expected, rel=1e-5)


def test_the_number_of_parameters_is_that_of_the_network() -> None:
    space = LOOK_UP.space.as_supernet()  # type: ignore[attr-defined]
    stages = [Stage(("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "none"), 3)] * 3
    assert (
        Untrained(space, 0).score("params", stages)
        == size(stages, space.filters, space.shape, space.classes).parameters
    )


def test_option_names_every_score() -> None:
    with pytest.raises(UsageError) as refused:
        MethodSpec.parse("proxy:score=none").build(PROBLEM, np.random.default_rng(0))
    allowed = str(refused.value).split("allowed: ")[1]
    assert sorted(allowed.split(", ")) == sorted(SCORES)  # the method names them without importing PyTorch


@pytest.mark.parametrize("score", SCORES)
def test_networks_are_proposed_best_first_and_then_again(score: str) -> None:
    method = MethodSpec.parse(f"proxy:score={score},networks=6").build(PROBLEM, np.random.default_rng(0))
    proposed = [method.ask() for _ in range(8)]
    assert len(set(proposed)) == 6
    assert proposed[6:] == proposed[:2]
    again = MethodSpec.parse(f"proxy:score={score},networks=6").build(PROBLEM, np.random.default_rng(0))
    assert [again.ask() for _ in range(6)] == proposed[:6]
    if score == "params":
        cells = [LOOK_UP.space.values(cell).values() for cell in proposed[:6]]
        sizes = [size([Stage(tuple(cell), 3)] * 3, 4, (1, 16, 16), 10).parameters for cell in cells]
        assert sizes == sorted(sizes, reverse=True)


def test_copies_of_a_network_count_once() -> None:
    """Some ten of 100 random cells differ from another one only on edges without effect."""
    method = MethodSpec.parse("proxy:score=params,networks=100").build(PROBLEM, np.random.default_rng(0))
    cells = [tuple(map(str, LOOK_UP.space.values(method.ask()).values())) for _ in range(100)]
    assert len({pruned(cell) for cell in cells}) == 100


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [("proxy:score=jacov", "unknown score 'jacov'"), ("proxy:networks=0", "networks must be at least 1, not 0")],
)
def test_wrong_options_are_refused(spec: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        MethodSpec.parse(spec).build(PROBLEM, np.random.default_rng(0))


def test_scores_do_not_depend_on_the_number_of_threads() -> None:
    space = LOOK_UP.space.as_supernet()  # type: ignore[attr-defined]
    stages = [Stage(("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "nor_conv_3x3"), 3)] * 3
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 4):
            torch.set_num_threads(threads)
            found.append(Untrained(space, 0).score("grad_norm", stages))
            assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]
