"""Networks compiled as one graph: what they compute, and how many of them there may be."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from nasbench.benchmarks.training.recipes import RECIPES

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.training import initialisation, training  # noqa: E402
from nasbench.benchmarks.training.steps import Step, descend, descent_of  # noqa: E402
from tests.benchmarks.test_training import STAGES, resident  # noqa: E402


def test_a_compiled_step_equals_the_plain_one() -> None:
    """In double precision: the loss, the gradients as they are clipped, and the network after the step.

    Compiled as for a GPU but for the last stage, which writes kernels: captured, decomposed and cut in two.
    """
    (batch,) = resident().batches(60, None, np.random.default_rng(0))
    batch = batch._replace(images=batch.images.double())
    recipe = RECIPES["search"]
    steps = []
    for compiles in (False, True):
        made = initialisation.initialised(lambda: CellNetwork(STAGES, 4, 1, 3), torch.device("cpu"), 3).double()
        network = training.compiled(made, "aot_eager_decomp_partition") if compiles else made
        descent, gradients = descent_of(network, recipe), list[torch.Tensor]()
        step = descent.step

        def noted() -> None:
            gradients.extend(p.grad.clone() for p in made.parameters())  # noqa: B023
            step()  # noqa: B023

        descent.step = noted
        loss = Step(network, batch, recipe, low_precision=False).loss()
        descend(loss, network, descent, recipe)
        assert all(parameter.grad is None for parameter in made.parameters())
        steps.append([loss.detach(), *gradients, *made.parameters(), *made.buffers()])
    assert len(steps[0]) == len(steps[1]) > 30
    for plain, compiled in zip(*steps, strict=True):
        assert torch.allclose(compiled.double(), plain.double(), rtol=1e-6, atol=1e-9)


def test_more_networks_are_compiled_than_pytorch_keeps_graphs_of() -> None:
    import torch._dynamo

    images = torch.zeros(2, 1, 8, 8)
    with torch._dynamo.config.patch(recompile_limit=1):  # 8 by itself
        for filters in (1, 2):
            make = partial(CellNetwork, STAGES, filters, 1, 3)
            network = initialisation.initialised(make, torch.device("cpu"), 0)
            assert torch.equal(training.compiled(network, "eager")(images), network(images))


def test_what_is_compiled_is_one_graph_of_the_networks_own_parameters() -> None:
    network = torch.nn.Sequential(torch.nn.Linear(2, 2))
    compiled = training.compiled(network, "eager")
    assert [*compiled.parameters()] == [*network.parameters()]

    class Breaks(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            print(float(images.sum()))
            return images

    with pytest.raises(torch._dynamo.exc.Unsupported):  # it would be two graphs
        training.compiled(Breaks(), "eager")(torch.zeros(2))


def test_cuda_graphs_are_asked_for_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(torch, "compile", lambda network, **options: (asked.append(options), network)[1])
    network = torch.nn.Linear(2, 2)
    assert training.compiled(network) is network
    assert asked == [{"fullgraph": True, "dynamic": False, "backend": "inductor", "mode": "reduce-overhead"}]
