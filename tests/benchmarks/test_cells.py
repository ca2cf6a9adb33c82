"""Networks of cells: what is alive in them, how large they are, and that computing less often computes the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks.spaces.cells import Stage, dead_stages, equal_stages, parameters_paper, pruned, size, stages_of
from nasbench.benchmarks.spaces.cells.operations import EDGES
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.published.cells import cells
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS, nasbench201

LIVELY = [("cells", lambda: cells(4, 3)), ("nasbench201", lambda: nasbench201(2, 4, 3))]


def drawn(write: Any, n: int, repeated: int = 1) -> Iterator[tuple[Program, Any, tuple[Stage, ...]]]:
    """So many trainable architectures."""
    program, rng = Program(write), np.random.default_rng(0)
    while n:
        configuration = program.sample(rng)
        choices = dict(configuration)
        stages = equal_stages(choices, repeated) if "Op0" in choices else stages_of(choices)
        if not dead_stages(stages):
            n -= 1
            yield program, configuration, stages


def paths(operations: tuple[str, ...]) -> list[list[int]]:
    """Every path from node 0 to node 3, as edges, by going all ways."""
    found, open_ = [], [(0, [])]
    while open_:
        node, edges = open_.pop()
        if node == 3:
            found.append(edges)
        for k, (source, target) in enumerate(EDGES):
            if source == node and operations[k] != "none":
                open_.append((target, [*edges, k]))
    return found


def test_pruning_keeps_what_lies_on_a_path_in_all_15625_cells() -> None:
    distinct, alive = set(), 0
    for operations in itertools.product(OPERATIONS, repeat=6):
        on_a_path = {k for path in paths(operations) for k in path}
        expected = tuple(o if k in on_a_path else "none" for k, o in enumerate(operations))
        assert pruned(operations) == expected
        alive += bool(on_a_path)
        if on_a_path:
            distinct.add(expected)
    assert (alive, len(distinct)) == (15_284, 9_444)  # as enumerated with the authors' scripts


def test_the_space_has_as_many_architectures_as_the_paper_says() -> None:
    assert count(Program(cells)) == 7**18 * 3**3
    assert count(Program(nasbench201)) == 5**6


def test_the_papers_count_of_parameters_has_the_published_extremes() -> None:
    everywhere = {o: (Stage((o,) * 6, 3),) * 3 for o in ("skip_connect", "nor_conv_3x3", "nor_conv_7x7")}
    found = {o: parameters_paper(stages, filters=16, classes=2) for o, stages in everywhere.items()}
    assert found == {"skip_connect": 72_498, "nor_conv_3x3": 945_426, "nor_conv_7x7": 4_816_146}


def test_a_stage_without_a_path_is_dead_whatever_else_it_has() -> None:
    conv, none = "nor_conv_3x3", "none"
    alive, dead = Stage((none, none, none, conv, none, none), 1), Stage((conv, conv, conv, none, none, none), 1)
    assert dead_stages((alive, dead, alive)) == [2]
    assert dead_stages((dead, alive, dead)) == [1, 3]
    assert not dead_stages((alive, alive, alive))


@pytest.mark.slow
@pytest.mark.parametrize(("repeated", "write"), [(1, LIVELY[0][1]), (2, LIVELY[1][1])], ids=["cells", "nasbench201"])
def test_formulas_equal_the_sums_over_real_tensors(repeated: int, write: Any) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from nasbench.benchmarks.spaces.cells.network import CellNetwork

    for _, _, stages in drawn(write, 60, repeated):
        for channels in (1, 3):
            expected = size(stages, 4, (channels, 12, 12), 3)
            network = CellNetwork(stages, 4, channels, 3).eval()
            assert sum(p.numel() for p in network.parameters()) == expected.parameters
            with FlopCounterMode(display=False) as counter, torch.no_grad():
                network(torch.zeros(1, channels, 12, 12))
            assert counter.get_total_flops() == expected.flops


@pytest.mark.parametrize(("repeated", "write"), [(1, LIVELY[0][1]), (2, LIVELY[1][1])], ids=["cells", "nasbench201"])
@pytest.mark.parametrize("training", [True, False])
def test_the_fused_network_computes_what_the_plain_one_does(repeated: int, write: Any, training: bool) -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.cells.network import CellNetwork
    from nasbench.benchmarks.spaces.language.network import Network

    for program, configuration, stages in drawn(write, 12, repeated):
        torch.manual_seed(0)
        plain = Network(program, configuration, (1, 12, 12)).double().train(training)
        fused = CellNetwork(stages, 4, 1, 3).double().train(training)
        copy_parameters(plain, fused, stages)
        images = torch.randn(5, 1, 12, 12, dtype=torch.float64)
        torch.testing.assert_close(fused(images), plain(images), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(fused.float()(images.float()), plain.float()(images.float()), rtol=1e-5, atol=1e-5)


def copy_parameters(plain: Any, fused: Any, stages: tuple[Stage, ...]) -> None:
    """Gives the fused network the plain one's parameters, found by the names that the language gives modules."""
    layers = dict(plain.layers.items())

    def of(prefix: str, kind: str) -> list[Any]:
        names = [n for n in layers if n.startswith(prefix) and n[len(prefix) :].rpartition("-")[0] == kind]
        return [layers[n] for n in sorted(names, key=lambda n: int(n.rpartition("-")[2]))]

    def load(pair: Any, conv: Any, norm: Any, part: slice = slice(None)) -> None:
        pair.conv.weight.data[part] = conv.weight.data
        for name, value in norm.state_dict().items():
            if value.ndim:
                getattr(pair.norm, name).data[part] = value

    convs, norms = of("", "conv2d_without_bias"), of("", "batch_norm")
    load(fused.stem, convs[0], norms[0])
    reductions = [m for m in fused.body if hasattr(m, "shortcut")]
    for number, reduction in enumerate(reductions):
        first, second, shortcut = convs[1 + 3 * number : 4 + 3 * number]
        load(reduction.first, first, norms[1 + 2 * number])
        load(reduction.second, second, norms[2 + 2 * number])
        reduction.shortcut.weight.data = shortcut.weight.data
    fused.norm.load_state_dict(norms[-1].state_dict())
    (dense,) = of("", "dense")
    fused.classifier.load_state_dict(dense[-1].state_dict())
    found = iter([m for m in fused.body if hasattr(m, "leaving")])
    for stage_number, stage in enumerate(stages):
        for number in range(stage.depth):
            cell = next(found)
            width = cell_width(cell, 4 << stage_number)
            for node, leaving in enumerate(cell.leaving):
                for operation, targets in leaving.items():
                    for place, target in enumerate(targets):
                        edge = EDGES.index((node, target))
                        prefixes = [f"stage-{stage_number}/operation-{6 * number + edge}/"]
                        prefixes += [f"operation-{6 * (stage_number * stage.depth + number) + edge}/"]
                        for prefix in prefixes:
                            key = prefix.replace(".", "_")
                            if f"{key}conv2d_without_bias-0" in layers and operation.startswith("nor_conv"):
                                part = slice(place * width, (place + 1) * width)
                                pair = cell.convolutions[f"{node}-{operation}"]
                                load(pair, layers[f"{key}conv2d_without_bias-0"], layers[f"{key}batch_norm-0"], part)
    assert next(found, None) is None


def cell_width(cell: Any, width: int) -> int:
    for pair in cell.convolutions.values():
        assert pair.conv.in_channels == width
    return width
