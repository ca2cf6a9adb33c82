"""Any module trains: parameters as its own constructor draws them, same seed, same bits."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from examples import own_layer  # noqa: E402
from nasbench.benchmarks.spaces.language.combinators import siso_sequential  # noqa: E402
from nasbench.benchmarks.spaces.language.graph import Part  # noqa: E402
from nasbench.benchmarks.spaces.language.layers import classifier, conv_norm_relu, layer  # noqa: E402
from nasbench.benchmarks.spaces.language.network import Network  # noqa: E402
from nasbench.benchmarks.spaces.language.program import Program  # noqa: E402
from nasbench.benchmarks.spaces.trainable import Frame, WrittenSpace  # noqa: E402
from nasbench.benchmarks.training import training  # noqa: E402
from nasbench.benchmarks.training.initialisation import initialised  # noqa: E402
from tests.benchmarks.quick_training import QUICK, bits, resident  # noqa: E402

CPU = torch.device("cpu")


def with_module(build: Callable[[int], torch.nn.Module]) -> Callable[[], Part]:
    """A convolution, a module that is built for its channels, a classifier."""
    mine = lambda: layer("mine", lambda torch, shapes: build(shapes[0][1]))  # noqa: E731
    return lambda: classifier(siso_sequential([conv_norm_relu(4), mine()]), 3)


def made_for(write: Callable[[], Part], shape: tuple[int, int, int] = (1, 8, 8)) -> Callable[[], torch.nn.Module]:
    space = WrittenSpace(write, Frame(4, shape, 3))
    configuration = space.space.sample(np.random.default_rng(1))
    return partial(space.network, configuration)


class Transformed(torch.nn.Module):
    """PyTorch's own transformer layer on the pixels: its attention draws as it computes, and owns its parameters."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = torch.nn.TransformerEncoderLayer(channels, 2, 8, dropout=0.3, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.flatten(2).transpose(1, 2)).transpose(1, 2).view_as(x)


def test_a_module_of_ones_own_begins_as_its_constructor_makes_it() -> None:
    make = made_for(lambda: own_layer.network(4, 3))
    state = torch.get_rng_state()
    network = initialised(make, CPU, 7)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(7)
    theirs = make().state_dict()
    torch.set_rng_state(state)
    own = network.state_dict()
    assert own.keys() == theirs.keys()
    assert all(torch.equal(own[name], theirs[name]) for name in own)
    groups = [module.group for module in network.modules() if isinstance(module, own_layer.Weighed)]
    assert groups[0].tolist() == (torch.arange(4) % int(groups[0].max() + 1)).tolist()


@pytest.mark.parametrize("write", [lambda: own_layer.network(4, 3), with_module(Transformed)], ids=["own", "drawing"])
def test_networks_with_any_module_train_to_the_same_bits(write: Callable[[], Part]) -> None:
    make, data = made_for(write), resident()
    one = training.train(make, data, QUICK, 2, 16, 3)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert bits(training.train(make, data, QUICK, 2, 16, 3)) == bits(one)
    assert torch.equal(torch.get_rng_state(), state)
    assert bits(training.train(make, data, QUICK, 2, 16, 4)) != bits(one)


def test_a_layer_of_ones_own_can_be_pickled() -> None:
    program = Program(own_layer.network)
    network = Network(program, program.sample(np.random.default_rng(0)), (1, 8, 8)).eval()
    images = torch.randn(2, 1, 8, 8)
    assert torch.equal(pickle.loads(pickle.dumps(network))(images), network(images))
