"""A cell operation that is added in one place works everywhere: size, network, language, graph, supernet and search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from nasbench.benchmarks import UsageError, open_benchmark  # noqa: E402
from nasbench.benchmarks.spaces import Categorical  # noqa: E402
from nasbench.benchmarks.spaces.cells import Stage, dead_stages, equal_stages, operations, size, stages_of  # noqa: E402
from nasbench.benchmarks.spaces.cells.graph import cell_graph  # noqa: E402
from nasbench.benchmarks.spaces.cells.network import CellNetwork  # noqa: E402
from nasbench.benchmarks.spaces.cells.operations import CellOperation  # noqa: E402
from nasbench.benchmarks.spaces.cells.searchable import Searchable  # noqa: E402
from nasbench.benchmarks.spaces.cells.stages import ONE_CELL  # noqa: E402
from nasbench.benchmarks.spaces.language import layers  # noqa: E402
from nasbench.benchmarks.spaces.language.counting import count  # noqa: E402
from nasbench.benchmarks.spaces.language.network import Network  # noqa: E402
from nasbench.benchmarks.spaces.language.program import Program  # noqa: E402
from nasbench.benchmarks.spaces.network_grids import CellGrid  # noqa: E402
from nasbench.benchmarks.spaces.published import cells as published  # noqa: E402
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS, nasbench201  # noqa: E402
from nasbench.benchmarks.spaces.trainable import SPACES, Frame  # noqa: E402
from nasbench.benchmarks.spaces.trainable.cells import CellProgram, CellSpace  # noqa: E402
from nasbench.methods.oneshot.distributions import Logits, softmax  # noqa: E402
from nasbench.methods.oneshot.parameters import ExpectedParameters  # noqa: E402
from nasbench.methods.oneshot.sampling import stages  # noqa: E402
from nasbench.methods.oneshot.search import Search  # noqa: E402
from nasbench.methods.oneshot.supernet import Supernet  # noqa: E402
from tests.methods.small_searches import SHORT, digits  # noqa: E402

NEW = (
    CellOperation(
        "max_pool_3x3", "max-pool", lambda width: layers.max_pool(3), lambda width: torch.nn.MaxPool2d(3, 1, 1)
    ),
    CellOperation(
        "depthwise_3x3",
        "conv3",
        lambda width: layers.depthwise_conv2d(3),
        lambda width: torch.nn.Conv2d(width, width, 3, padding=1, groups=width),
        parameters=lambda width: 10 * width,
        multiplications=lambda width: 9 * width,
    ),
)
NAMES = tuple(operation.name for operation in NEW)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(operations, "_OPERATIONS", dict(operations._OPERATIONS))
    for operation in NEW:
        operations.add(operation)
    yield


def trainable(n: int) -> Iterator[tuple[Program, Any, tuple[Stage, ...]]]:
    program, rng = Program(lambda: nasbench201(1, 4, 3, (*OPERATIONS, *NAMES))), np.random.default_rng(0)
    while n:
        configuration = program.sample(rng)
        found = equal_stages(dict(configuration))
        if not dead_stages(found) and set(NAMES) <= set(found[0].operations):
            n -= 1
            yield program, configuration, found


def test_spaces_offer_it_where_they_are_told_to() -> None:
    assert count(Program(lambda: nasbench201(1, 4, 3, (*OPERATIONS, *NAMES)))) == 7**6
    assert count(Program(nasbench201)) == 5**6


def test_formula_network_and_language_agree_on_its_size() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    for program, configuration, found in trainable(4):
        expected = size(found, 4, (1, 12, 12), 3)
        network = CellNetwork(found, 4, 1, 3).eval()
        assert sum(p.numel() for p in network.parameters()) == expected.parameters
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            network(torch.zeros(1, 1, 12, 12))
        assert counter.get_total_flops() == expected.flops
        if "none" not in found[0].operations:  # the language builds what is dead, too
            plain = Network(program, configuration, (1, 12, 12))
            assert sum(p.numel() for p in plain.parameters()) == expected.parameters


def test_it_is_a_layer_of_the_graph() -> None:
    names = ("max_pool_3x3", "none", "skip_connect", "none", "none", "depthwise_3x3")
    graph = cell_graph(names)
    assert graph.labels == ("ip", "max-pool", "skip", "conv3", "op")
    assert graph.units[1:4] == (None, None, 16)
    space = CellGrid([Categorical(f"edge{k}", (*OPERATIONS, *NAMES)) for k in range(6)])
    assert space.as_graph(space.from_values({f"edge{k}": name for k, name in enumerate(names)})) == graph


def supernet(names: tuple[str, ...]) -> Any:
    torch.manual_seed(0)
    return Supernet(4, 1, 3, depth=1, kernel=3, operations=names).double()


def test_layers_that_draw_their_own_parameters_are_searched_too() -> None:
    torch.random.manual_seed(0)
    before = torch.random.get_rng_state()
    operations.add(
        CellOperation(
            "prelu",
            "conv1",
            lambda width: layers.conv2d(width, 1),
            lambda width: torch.nn.Sequential(torch.nn.PReLU(width), torch.nn.Conv2d(width, width, 1)),
            parameters=lambda width: width * width + 2 * width,
        )
    )
    space = replace(digits(), operations=("none", "skip_connect", "nor_conv", "prelu"))
    searches = [Search(space, replace(SHORT["milenas"], epochs=1, stop=1), seed) for seed in (0, 0, 1)]
    for search in searches:
        search.run()
    first, again, other = (search.log[0].train_loss for search in searches)
    assert first == again != other
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_supernet_on_one_architecture_computes_what_its_network_does() -> None:
    names = (*published.OPERATIONS, *NAMES)
    network = supernet(names)
    images = torch.randn(6, 1, 12, 12, dtype=torch.float64)
    own = ("max_pool_3x3", "skip_connect", "depthwise_3x3", "avg_pool_3x3", "max_pool_3x3", "depthwise_3x3")
    chosen = torch.zeros(6, len(names), dtype=torch.float64)
    chosen[range(6), [names.index(name) for name in own]] = 1
    alone = CellNetwork((Stage(own, 1),) * 3, 4, 1, 3).double()
    for part in ("stem", "norm", "classifier"):
        getattr(alone, part).load_state_dict(getattr(network, part).state_dict())
    for number, index in enumerate((0, 2, 4)):
        cell, mixed = alone.body[index], network.cells[number]
        for key, module in cell.others.items():
            node, name = key.split("-")
            kept = mixed._others[int(node)][name].modules_of_edges
            leaving = [target for source, target in operations.EDGES if source == int(node)]
            for into, target in zip(module.modules_of_edges, cell.leaving[int(node)][name], strict=False):
                into.load_state_dict(kept[leaving.index(target) if len(kept) > 1 else 0].state_dict())
    for reduction, theirs in zip((alone.body[1], alone.body[3]), network.reductions, strict=True):
        reduction.load_state_dict(theirs.state_dict())
    probabilities = Logits(chosen).probabilities(lambda rows: rows)
    torch.testing.assert_close(network.train()(images, probabilities), alone.train()(images), rtol=1e-10, atol=1e-10)


def test_what_has_no_probability_is_skipped_without_a_trace() -> None:
    names = (*published.OPERATIONS, *NAMES)
    network, images = supernet(names), torch.randn(4, 1, 8, 8, dtype=torch.float64)
    rows = torch.rand(6, len(names), dtype=torch.float64)
    rows[rows < 0.4] = 0.0
    rows.requires_grad_()
    found = []
    for network.exact_skip in (True, False):
        scores = network(images, Logits(rows).probabilities(lambda own: own))
        found.append((scores, *torch.autograd.grad(scores.sum(), [network.stem.conv.weight])))
    for skipped, whole in zip(*found, strict=True):
        torch.testing.assert_close(skipped, whole, rtol=1e-9, atol=1e-9)


def test_a_search_counts_and_draws_it() -> None:
    def nothing(*_: object) -> NoReturn:
        raise AssertionError("a formula needs no images")

    names = (*published.OPERATIONS, *NAMES)
    space = Searchable("toy", 4, (1, 8, 8), 3, 64, 8, {}, 7e10, nothing, nothing, names)
    counted = ExpectedParameters(space, (3,), 1, False, torch.device("cpu"))
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    for _ in range(30):
        (cell, *_) = drawn = stages([np.full((18, 7), 1 / 7).tolist()], (3,), 1, rng, ONE_CELL, names)
        seen |= set(cell.operations)
        if "none" in cell.operations:
            continue
        chosen = torch.zeros(6, 7)
        chosen[range(6), [names.index("nor_conv" if n == "nor_conv_3x3" else n) for n in cell.operations]] = 1
        expected = size(drawn, 4, space.shape, 3).parameters
        assert float(counted(Logits(chosen).probabilities(lambda rows: rows))) == pytest.approx(expected)
    assert set(NAMES) <= seen
    assert Logits(torch.zeros(6, 7)).probabilities(softmax).operations.shape == (18, 7)


def test_a_name_is_taken_once_and_a_wrong_one_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match="exists already"):
        operations.add(NEW[0])
    with pytest.raises(UsageError, match="did you mean max_pool_3x3"):
        operations.named("max_pool_3")
    with pytest.raises(UsageError, match="6 hyper-parameters"):
        CellGrid([Categorical("a", OPERATIONS)])
    with pytest.raises(UsageError, match="unknown cell operation"):
        CellGrid([Categorical(f"edge{k}", ("none", "magic")) for k in range(6)])


def test_a_space_of_cells_is_searched_with_its_own_operations() -> None:
    def view(name: str, names: tuple[str, ...]) -> Searchable:
        program = CellProgram(lambda: published.cells(8, 10, names))
        space = CellSpace(program, Frame(8, (1, 16, 16), 10), stages_of)
        with SPACES.temporarily(name, lambda frame: space):
            return open_benchmark(f"digits/{name}").space.as_supernet()  # type: ignore[attr-defined, no-any-return]

    names = (*published.OPERATIONS, "max_pool_3x3")
    assert view("pooled", names).operations == names
    for missing in ("none", "skip_connect", "nor_conv"):
        with pytest.raises(UsageError, match=f"cannot search .*: its cells lack the operation {missing}"):
            view(f"without-{missing}", tuple(name for name in names if name != missing))
