"""The transport solver against POT's network simplex, which is a peer and nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.methods.nasbot.families import FAMILIES
from nasbench.methods.nasbot.otmann import NUS, Encoded, packed, to_all
from nasbench.methods.nasbot.transport import basis_of, begin, improve, matched, reprice
from tests.methods.random_networks import random_network

emd_wrap = pytest.importorskip("ot.lp.emd_wrap")


def pots(gains: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> float:
    """The best gain: what is not matched goes to a place of its own."""
    padded = np.zeros((len(supply) + 1, len(demand) + 1))
    padded[:-1, :-1] = np.maximum(gains, 0.0)
    rows, columns = np.append(supply, demand.sum()), np.append(demand, supply.sum())
    plan = emd_wrap.emd_c(rows, columns, padded.max() - padded, 1_000_000, 1)[0]
    return float((plan * padded).sum())


def solved(gains: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    basis = basis_of(len(supply) + len(demand))
    begin(gains, supply, demand, *basis)
    return improve(gains, *gains.shape, *basis), basis


def test_random_problems_gain_what_pot_says_also_when_gains_change() -> None:
    """Half of them with whole masses and rounded gains: many bases are then degenerate, and many solutions equal."""
    rng = np.random.default_rng(0)
    for trial in range(1_000):
        n, m = rng.integers(1, 9, 2)
        gains = 2 - rng.exponential(1.5, (n, m))
        supply, demand = rng.uniform(0.1, 50, n), rng.uniform(0.1, 50, m)
        if trial % 2:
            gains, supply, demand = gains.round(1), np.ceil(supply / 10), np.ceil(demand / 10)
        found, basis = solved(gains, supply, demand)
        whole = supply.sum() + demand.sum()
        assert found == pytest.approx(pots(gains, supply, demand), abs=1e-9 * whole)
        others = 2 - (2 - gains) * rng.uniform(0.1, 2)
        reprice(others, n, m, *basis)
        assert improve(others, n, m, *basis) == pytest.approx(pots(others, supply, demand), abs=1e-9 * whole)


def test_the_flow_is_within_the_masses_and_gains_what_is_said() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n, m = rng.integers(1, 30, 2)
        gains, supply, demand = rng.normal(0, 1, (n, m)), rng.uniform(0.1, 9, n), rng.uniform(0.1, 9, m)
        found, basis = solved(gains, supply, demand)
        flow = matched(n, m, *basis)
        assert flow.min() >= 0
        assert (flow.sum(1) <= supply * (1 + 1e-12)).all()
        assert (flow.sum(0) <= demand * (1 + 1e-12)).all()
        assert (flow * gains).sum() == pytest.approx(found)


def test_networks_are_as_far_apart_as_pot_says() -> None:
    """Ten thousand problems: 2,500 pairs, four ν."""
    rng = np.random.default_rng(2)
    family = FAMILIES["cnn"]
    networks = [Encoded(random_network(rng, layers), family) for layers in rng.integers(6, 13, 100).tolist()]
    everyone = packed(networks)
    for one in networks[:50]:
        found = to_all(one, everyone)[0]
        for j in rng.choice(100, 50, replace=False).tolist():
            for k, nu in enumerate(NUS):
                whole = one.mass + networks[j].mass
                assert found[k, j] == pytest.approx(by_pot(one, networks[j], nu), abs=1e-9 * whole)


def by_pot(one: Encoded, other: Encoded, nu: float) -> float:
    """Equation 3 as one problem over all layers, labels that never match at a gain below zero."""
    a, b = one.layers, other.layers
    labels = one.family.mismatch[np.ix_(a.numbers, b.numbers)]
    structure = np.abs(a.paths[:, None] - b.paths[None]).mean(2)
    gains = np.maximum(2 - np.where(np.isfinite(labels), labels, 9.0) - nu * structure, 0.0)
    return one.mass + other.mass - pots(gains, a.masses, b.masses)
