"""The search-space language: architectures as networks."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import Basic, Part, ProgramError
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.flat import flat
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2, once_for_all
from nasbench.benchmarks.spaces.published.nasbench101 import nasbench101
from nasbench.benchmarks.spaces.published.nasbench201 import nasbench201
from nasbench.benchmarks.spaces.published.nasnet import nasnet
from nasbench.benchmarks.spaces.published.vit import vit
from research import language_figures as figures
from tests.benchmarks.written import named


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "write", [genetic, flat, nasbench101, nasnet, nasbench201, mobilenetv2, once_for_all, vit], ids=named
)
def test_spaces_of_the_literature_train_on_small_images(write: Callable[[], Part], channels: int) -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    program, rng = Program(write), np.random.default_rng(channels)
    for _ in range(3):
        network = Network(program, program.sample(rng), (channels, 28, 28))
        scores = network(torch.randn(4, channels, 28, 28))
        assert scores.shape == (4, 10)
        scores.logsumexp(1).sum().backward()
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_the_figures_compile_and_run_both_ways() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    for write in (figures.figure_1, figures.figure_4, figures.figure_10, figures.figure_11, figures.figure_18):
        program = Program(write)
        network = Network(program, program.sample(np.random.default_rng(3)), (3, 28, 28))
        network(torch.randn(2, 3, 28, 28)).sum().backward()
    cell = Program(figures.figure_16)
    recurrent = Network(cell, cell.sample(np.random.default_rng(0)), (7,), (1, 28, 28))  # ht, then x
    hidden = recurrent(torch.randn(2, 7), torch.randn(2, 1, 28, 28))
    assert hidden.shape[1] in (32, 64, 128, 256)
    hidden.sum().backward()
    with pytest.raises(ProgramError, match="open inputs ht, x: give a shape for each"):
        Network(cell, cell.sample(np.random.default_rng(0)), (7,))


def test_a_new_network_has_seen_no_data_and_keeps_image_sizes() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    program = Program(genetic)
    network = Network(program, program.sample(np.random.default_rng(0)), (1, 28, 28))
    assert network.training
    norms = [m for m in network.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    assert norms
    assert all(int(m.num_batches_tracked) == 0 and (m.running_var == 1).all() for m in norms)
    sizes = []
    for module in network.modules():
        if isinstance(module, torch.nn.MaxPool2d):
            module.register_forward_hook(lambda m, given, out: sizes.append(out.shape[-1]))
    network(torch.randn(2, 1, 28, 28))
    assert sizes == [14, 7, 3]


def test_modules_with_several_outputs_make_networks() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    def write() -> Part:
        split = Basic("split", {}, lambda v, g: lambda x: (x, 2 * x), ["in"], ["a", "b"])
        inputs, outputs = layers.relu()
        split.outputs["b"].connect(inputs["in"])
        return split.inputs, {"y": outputs["out"], "z": split.outputs["a"]}

    y, z = Network(Program(write), (), (3,))(torch.ones(2, 3))
    assert y.tolist() == [[2.0] * 3] * 2
    assert z.tolist() == [[1.0] * 3] * 2


def test_a_network_is_repeatable_and_picklable() -> None:
    torch = pytest.importorskip("torch")
    import pickle

    from nasbench.benchmarks.spaces.language.network import Network

    program = Program(nasnet)
    configuration = program.sample(np.random.default_rng(0))
    networks = []
    for _ in range(2):
        torch.manual_seed(7)
        networks.append(Network(Program(nasnet), configuration, (1, 28, 28)))
    first, second = (n.state_dict() for n in networks)
    assert list(first) == list(second)
    assert all(torch.equal(first[key], second[key]) for key in first)
    copied = pickle.loads(pickle.dumps(networks[0])).eval()
    x = torch.randn(2, 1, 28, 28)
    assert torch.equal(copied(x), networks[0].eval()(x))


def test_what_an_operation_of_nasbench_201_adds_to_the_parameters() -> None:
    """A 3x3 convolution in place of a 1x1 on one edge of each cell: 8 c c weights at each of the three widths."""
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    del torch
    program = Program(nasbench201)

    def size(operation: str) -> int:
        values = {f"Op{k}": "skip_connect" for k in range(6)} | {"Op0": operation}
        return sum(p.numel() for p in Network(program, program.from_values(values), (3, 28, 28)).parameters())

    assert size("nor_conv_3x3") - size("nor_conv_1x1") == sum(8 * c * c for c in (16, 32, 64))
    assert size("skip_connect") == size("none") == size("avg_pool_3x3")


def test_the_language_is_not_about_networks() -> None:
    """Pipelines of scikit-learn, as examples/pipelines.py writes them."""
    pytest.importorskip("sklearn")
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "examples" / "pipelines.py"
    spec = importlib.util.spec_from_file_location("pipelines", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = Program(module.pipelines)
    assert count(Program(module.pipelines)) == len(list(program)) == module.SIZE
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    for configuration in itertools.islice(program, 0, None, 7):
        pipeline = module.pipeline(program, configuration)
        assert pipeline.fit(images[:300], labels[:300]).score(images[300:600], labels[300:600]) > 0.5


def test_attention_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Attention

    theirs, own = torch.nn.MultiheadAttention(12, 3, batch_first=True), Attention(12, 3)
    state = theirs.state_dict()
    own.project.load_state_dict({"weight": state["in_proj_weight"], "bias": state["in_proj_bias"]})
    own.merge.load_state_dict({"weight": state["out_proj.weight"], "bias": state["out_proj.bias"]})
    x = torch.randn(2, 5, 12)
    assert torch.allclose(own(x), theirs(x, x, x, need_weights=False)[0], atol=1e-6)
    with pytest.raises(ValueError, match="5 heads do not divide a width of 12"):
        Attention(12, 5)


def test_an_inverted_residual_has_the_parameters_of_the_papers_table() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.language.network import Network

    def parameters(expansion: int, ratio: int) -> int:
        program = Program(lambda: layers.inverted_residual(16, 3, 1, expansion, ratio, shortcut=True))
        network = Network(program, program.sample(np.random.default_rng(0)), (16, 8, 8))
        images = torch.randn(2, 16, 8, 8)
        assert network(images).shape == images.shape
        return sum(p.numel() for p in network.parameters())

    # Table 1 of the paper: 1x1 to 96 channels, 3x3 depthwise (ours has a bias), 1x1 back; a batch normalisation each.
    published = (16 * 96 + 2 * 96) + (96 * 9 + 2 * 96) + (96 * 16 + 2 * 16)
    assert parameters(6, 0) == published + 96
    assert parameters(1, 0) == (16 * 9 + 16 + 2 * 16) + (16 * 16 + 2 * 16)
    assert parameters(6, 4) == published + 96 + (96 * 24 + 24) + (24 * 96 + 96)
