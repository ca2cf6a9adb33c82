"""Which NAS-Bench-201 cells are one: counts, an independent evaluation of all cells, and networks themselves."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.spaces.cells import equal_stages, pruned, size
from nasbench.benchmarks.spaces.cells.equivalence import canonical, expression
from nasbench.benchmarks.spaces.cells.operations import EDGES
from nasbench.benchmarks.spaces.published.nasbench201 import OPERATIONS

CELLS = list(itertools.product(OPERATIONS, repeat=6))


def sizes_of(cell: tuple[str, ...]) -> tuple[int, int]:
    """Parameters and operations of a network of such cells."""
    return size(equal_stages({f"Op{k}": operation for k, operation in enumerate(cell)}), 4, (1, 16, 16), 10)


@cache
def classes() -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """The living cells by the first of their class."""
    found = defaultdict(list)
    for cell in CELLS:
        if set(pruned(cell)) != {"none"}:
            found[canonical(cell)].append(cell)
    return found


@pytest.mark.slow
def test_the_living_cells_are_5043_classes() -> None:
    sizes = Counter(len(members) for members in classes().values())
    assert sum(sizes.values()) == 5043
    assert [sizes[n] for n in range(1, 13)] == [3843, 518, 95, 217, 94, 78, 11, 29, 10, 22, 4, 26]
    assert (sizes[460], sizes[400], sizes[254], max(sizes)) == (3, 1, 3, 460)
    dead = [cell for cell in CELLS if not expression(cell)]
    assert len(dead) == 341
    assert all(set(pruned(cell)) == {"none"} for cell in dead)


def test_without_the_numbers_of_convolutions_there_are_4659_some_of_networks_of_two_sizes() -> None:
    """One convolution that arrives twice is not two convolutions, which the enumeration behind 4,659 did not tell."""
    coarse = defaultdict(set)
    for first in classes():
        coarse[re.sub("#[0-9]", "", expression(first))].add(sizes_of(first))
    assert len(coarse) == 4659
    assert sum(len(sizes) > 1 for sizes in coarse.values()) == 358


@pytest.mark.slow
def test_cells_are_of_one_class_where_they_give_the_same_values_for_all_parameters() -> None:
    """Every living convolution has a random function of its own; those of a kind are handed out in all ways."""
    rng = np.random.default_rng(0)
    start, average = rng.normal(size=5), rng.normal(size=(5, 5)) / 2
    functions = {kind: rng.normal(size=(6, 3, 5, 5)) / 2 for kind in ("nor_conv_1x1", "nor_conv_3x3")}

    def values(cell: tuple[str, ...]) -> tuple[float, ...]:
        alive = pruned(cell)
        edges = {kind: [k for k, operation in enumerate(alive) if operation == kind] for kind in functions}
        ways = list(itertools.product(*(itertools.permutations(range(len(own))) for own in edges.values())))
        given = {
            edge: functions[kind][[way[which][place] for way in ways]]
            for which, (kind, own) in enumerate(edges.items())
            for place, edge in enumerate(own)
        }
        nodes: list[Any] = [np.tile(start, (len(ways), 1)), 0.0, 0.0, 0.0]
        for edge, ((source, target), operation) in enumerate(zip(EDGES, alive, strict=True)):
            value = nodes[source]
            if edge in given:
                first, second, third = np.moveaxis(given[edge], 1, 0)
                inner = np.abs(np.einsum("wij,wj->wi", second, value) + 1)
                value = np.einsum("wij,wj->wi", first, inner) + np.einsum("wij,wj->wi", third, value)
            elif operation == "avg_pool_3x3":
                value = value @ average
            if operation != "none":
                nodes[target] = nodes[target] + value
        return tuple(np.round(np.sin(nodes[3] + np.arange(5)).mean(0), 9) + 0.0)

    found: dict[tuple[float, ...], set[str]] = defaultdict(set)
    for members in classes().values():
        for cell in {*members[:2], members[-1]}:
            found[values(cell)].add(expression(cell))
    assert len(found) == 5043
    assert all(len(expressions) == 1 for expressions in found.values())


@pytest.mark.slow
def test_the_first_of_a_class_has_as_few_operations_as_any_and_all_have_the_same_size() -> None:
    def operations(cell: tuple[str, ...]) -> int:
        return sum(operation != "none" for operation in pruned(cell))

    for first, members in classes().items():
        assert first == members[0]  # in the order of the space
        assert operations(first) == min(map(operations, members))
        assert len(set(map(sizes_of, members))) == 1


def test_networks_of_one_class_compute_the_same() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.benchmarks.spaces.cells.network import CellNetwork
    from nasbench.benchmarks.training.training import use_one_thread

    use_one_thread()

    def outputs(cell: tuple[str, ...]) -> np.ndarray:
        """Of a network whose parameters depend on their shape alone, but for repeats for several edges."""
        network = CellNetwork(equal_stages({f"Op{k}": o for k, o in enumerate(cell)}), 4, 3, 5)
        for parameter in network.parameters():
            own, shape = 1, parameter.shape
            if parameter.ndim == 4 and shape[0] % shape[1] == 0:
                own, shape = shape[0] // shape[1], (shape[1], *shape[1:])
            if parameter.ndim > 1:
                drawn = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
                parameter.data = drawn.repeat(own, *[1] * (len(shape) - 1)) / np.sqrt(np.prod(shape[1:]))
        network.classifier.bias.data.zero_()
        images = torch.randn((8, 3, 8, 8), generator=torch.Generator().manual_seed(1))
        return np.asarray(network(images).detach())  # in training mode: statistics of the batch

    rng = np.random.default_rng(0)
    several = [members for members in classes().values() if len(members) > 1]
    for which in rng.choice(len(several), 6, replace=False):
        first, *others = several[which]
        expected = outputs(first)
        for number in rng.choice(len(others), min(2, len(others)), replace=False):
            assert np.allclose(outputs(others[number]), expected, atol=1e-4)
    assert not np.allclose(outputs(several[0][0]), outputs(several[1][0]), atol=1e-2)


def test_a_benchmark_names_the_first_of_a_class() -> None:
    found = open_benchmark("digits/nasbench201/table")
    space = found.space
    assert isinstance(space.table_kind, str)
    skip = {f"Op{k}": "none" for k in range(6)} | {"Op0": "skip_connect", "Op4": "skip_connect"}
    direct = {f"Op{k}": "none" for k in range(6)} | {"Op3": "skip_connect"}
    first = found.canonical(space.from_values(skip))  # type: ignore[attr-defined]
    assert first == space.from_values(direct)  # type: ignore[attr-defined]
    other = open_benchmark("digits")
    drawn = other.space.sample(np.random.default_rng(0))
    assert other.canonical(drawn) is drawn
