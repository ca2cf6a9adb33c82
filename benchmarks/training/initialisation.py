"""Initial parameters, and the random numbers that layers draw in training: a seed decides both."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from nasbench.benchmarks.spaces.language.network import Applied

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_DRAWING = (_DropoutNd, nn.MultiheadAttention, nn.RNNBase, nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)
"""Layers of PyTorch that draw from its global random state in computations."""

_ONE_AT_A_TIME = threading.RLock()  # all threads share PyTorch's global random state

T = TypeVar("T", bound=nn.Module)


def initialised(make: Callable[[], T], device: torch.device, seed: int, generator: torch.Generator | None = None) -> T:
    """A network with parameters drawn on the CPU, so that a GPU starts with the same ones.

    The parameters of plain layers are drawn from a generator. If a network has other layers, their constructors draw
    all parameters and buffers, while PyTorch's global random state is set to the seed; it is restored afterwards.

    Args:
        generator: draws the parameters of plain layers; by default a new one with the seed.
    """
    with torch.device("meta"):  # shapes without numbers
        network = make()
    if all(_is_plain(module) or not _tensors_of(module) for module in network.modules()):
        network = network.to_empty(device=device)
        draw_parameters(network, generator or torch.Generator().manual_seed(seed))
        return network
    with _seeded_state(seed, device):
        return make().to(device)


def draw_parameters(network: nn.Module, generator: torch.Generator) -> None:
    """Draws all parameters with the distributions of PyTorch's layers, from a generator instead of the global state.

    They are drawn on the CPU, so that a GPU starts with the same ones. Raises TypeError for a layer that is not plain.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            fan_in = module.weight[0].numel()
            for parameter in module.parameters(recurse=False):
                # kaiming_uniform_(a = sqrt 5) of a weight has the same bound as its bias
                drawn = torch.empty(parameter.shape).uniform_(-1, 1, generator=generator) / math.sqrt(fan_in)
                parameter.data.copy_(drawn)
        elif isinstance(module, nn.BatchNorm2d):
            module.reset_parameters()
        elif _tensors_of(module):
            raise TypeError(f"no way to draw the parameters of {type(module).__name__} is known")


def seeded_numbers(network: nn.Module, device: torch.device, seeds: Sequence[int]) -> AbstractContextManager[None]:
    """A context for computations in which seeds decide what layers draw from PyTorch's global random state.

    The layers of this project have their own generators. Networks with other random layers compute one at a time,
    whatever the number of workers.
    """
    if all(map(_is_steady, network.modules())):
        return nullcontext()
    return _seeded_state(int(np.random.SeedSequence(seeds).generate_state(1)[0]), device)


@contextmanager
def _seeded_state(seed: int, device: torch.device) -> Iterator[None]:
    devices = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


def _is_plain(module: nn.Module) -> bool:
    """Whether it is a layer whose parameters `draw_parameters` draws."""
    return type(module) in (nn.Conv2d, nn.Linear, nn.BatchNorm2d)


def _tensors_of(module: nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers of a module, without those of its submodules."""
    return [*module.parameters(recurse=False), *module.buffers(recurse=False)]


def _is_steady(module: nn.Module) -> bool:
    """Whether a module certainly draws nothing from PyTorch's global random state."""
    home = type(module).__module__
    if isinstance(module, Applied):
        home = module.function.__module__
    return home.startswith("nasbench.") or (home.startswith("torch.nn.modules.") and not isinstance(module, _DRAWING))
