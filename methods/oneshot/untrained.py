"""Scores of networks that are not trained (zero-cost proxies); larger is better for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu
from torch.overrides import TorchFunctionMode

from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.network import CellNetwork
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable
from nasbench.benchmarks.training.initialisation import initialised
from nasbench.benchmarks.training.training import use_one_thread
from nasbench.methods.oneshot.search import exact


class Untrained:
    """Scores networks of cells at their initial parameters, all on the same batch of training images.

    Args:
        space: the images, and the frame of the networks.
        seed: decides the batch and the initial parameters.
    """

    def __init__(self, space: Searchable, seed: int) -> None:
        self._space, self._seed, self._data = space, seed, space.images()
        if self._data.device.type != "cuda":
            use_one_thread()
        self._batch: LabelledImages = next(self._data.batches(space.batch, None, np.random.default_rng(seed)))

    def score(self, name: str, stages: Sequence[Stage]) -> float:
        """The score called `name`, one of `SCORES`, of the network with these stages."""
        space = self._space
        make = partial(CellNetwork, stages, space.filters, space.shape[0], space.classes)
        with exact():
            return SCORES[name](initialised(make, self._data.device, self._seed), self._batch)


def naswot(network: nn.Module, batch: LabelledImages) -> float:
    """log |K|, where K counts the ReLUs that agree on two images (Mellor et al., equation 2); -inf if K is singular."""
    with torch.no_grad(), _Codes() as codes:
        network(batch.images)
    agree = torch.zeros(len(batch.labels), len(batch.labels), dtype=torch.float64)
    for code in codes.seen:
        on = code.flatten(1).double().cpu()
        agree += on @ on.T + (1 - on) @ (1 - on).T
    return float(torch.linalg.slogdet(agree).logabsdet)


def synflow(network: nn.Module, batch: LabelledImages) -> float:
    """Σ θ ∂R/∂θ of R, the sum of outputs with absolute weights, without normalisation, for an image of ones.

    Tanaka et al., equation 5. In logarithms, for it spans hundreds of decades.
    """
    flat = _without_norms(network).double()
    with torch.no_grad():
        for parameter in flat.parameters():
            parameter.abs_()
    total = flat(torch.ones_like(batch.images[:1], dtype=torch.float64)).sum()
    flow = sum(float((w * g).sum()) for w, g in _gradients(flat, total))
    return math.log(flow) if flow > 0 else -math.inf


def grad_norm(network: nn.Module, batch: LabelledImages) -> float:
    """The sum over layers of the norm of the loss's gradient (Abdelfattah et al., section 3.2)."""
    return sum(float(g.norm()) for _, g in _gradients(network, cross_entropy(network(batch.images), batch.labels)))


def snip(network: nn.Module, batch: LabelledImages) -> float:
    """Σ |θ ∂L/∂θ| (Lee et al., equation 6, without its normalisation)."""
    pairs = _gradients(network, cross_entropy(network(batch.images), batch.labels))
    return sum(float((w * g).abs().sum()) for w, g in pairs)


def params(network: nn.Module, batch: LabelledImages) -> float:
    """The number of parameters."""
    return float(sum(parameter.numel() for parameter in network.parameters()))


SCORES: Mapping[str, Callable[[nn.Module, LabelledImages], float]] = {
    score.__name__: score for score in (naswot, synflow, grad_norm, snip, params)
}


class _Codes(TorchFunctionMode):
    """Records which units of each ReLU are positive."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in (relu, torch.relu):
            self.seen.append(args[0] > 0)
        return func(*args, **(kwargs or {}))


def _gradients(network: nn.Module, value: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The weights of convolutions and linear layers, each with the gradient of a value."""
    layers = [m for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    weights = [layer.weight for layer in layers]
    gradients = torch.autograd.grad(value, weights, allow_unused=True)
    return [(w.detach(), g) for w, g in zip(weights, gradients, strict=True) if g is not None]


def _without_norms(network: nn.Module) -> nn.Module:
    """The network with its batch normalisations replaced by identities, in place."""
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.Identity())
    return network
