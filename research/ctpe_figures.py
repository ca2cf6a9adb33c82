"""Figures 1, 2 and 8 of the c-TPE paper: why relative density ratios, why the objective is split at feasible ones,
and where a search is trapped.

    python -m research.ctpe_figures [OUT.svg]

Figure 1: the acquisition on f = (x+2)² + (y+2)² under c = (x-1)² + (y-1)² <= 4 or 16, after 200 random observations.
Figure 2: 50 evaluations on f = x² + y² under (x-z)² + (y-z)² <= 3 with z = 0.5 or 2.3.
Both by `variant=paper`, whose kernels may be narrower.
Figure 8: 100 evaluations on f = sin x + y under sin x sin y <= -0.95 on [0, 2 pi]², whose two feasible regions are
small; where searches end is printed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nasbench.benchmarks import Bound, Evaluation, Metric
from nasbench.benchmarks.spaces import Float, ParameterSpace
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem

SPACE = ParameterSpace([Float("x", -5.0, 5.0), Float("y", -5.0, 5.0)])
AXIS = np.linspace(-5, 5, 101)


def disc(x: float, y: float, centre: float) -> float:
    """Squared distance to (centre, centre)."""
    return (x - centre) ** 2 + (y - centre) ** 2


def problem(limit: float) -> Problem:
    """A toy problem on the square: minimise the objective subject to constraint <= limit."""
    return Problem(SPACE, (Metric("objective", ""),), (Bound(Metric("constraint", ""), high=limit),))


def observe(method: Method, point: tuple[float, float], objective: float, constraint: float, limit: float) -> None:
    """Tells a method one evaluation."""
    metrics = {"objective": objective, "constraint": constraint}
    method.tell(Observation(point, Evaluation(metrics, 1.0), constraint <= limit))


def acquisition(name: str, limit: float, seed: int = 0) -> NDArray[np.float64]:
    """Figure 1: the log acquisition of a method on the grid AXIS × AXIS after 200 random observations."""
    rng = np.random.default_rng(seed)
    method = METHODS.get(name)(problem(limit), rng, variant="paper")  # type: ignore[call-arg]
    for _ in range(200):
        point = SPACE.sample(rng)
        observe(method, point, disc(*point, -2.0), disc(*point, 1.0), limit)
    grid = [(x, y) for y in AXIS.tolist() for x in AXIS.tolist()]
    found: NDArray[np.float64] = method.acquisition(grid).reshape(len(AXIS), len(AXIS))  # type: ignore[attr-defined]
    return found


def evaluations(name: str, z: float, seed: int = 0, n: int = 50) -> NDArray[np.float64]:
    """Figure 2: the points a method evaluates, in their order, shape (n, 2)."""
    method = METHODS.get(name)(problem(3.0), np.random.default_rng(seed), variant="paper")  # type: ignore[call-arg]
    points = []
    for _ in range(n):
        point = method.ask()
        observe(method, point, disc(*point, 0.0), disc(*point, z), 3.0)
        points.append(point)
    return np.array(points)


def ends(name: str, seeds: int = 100, n: int = 100) -> dict[str, int]:
    """Figure 8: in how many searches something feasible was found, in both regions, and in the better one alone."""
    square, limit = ParameterSpace([Float("x", 0.0, 2 * math.pi), Float("y", 0.0, 2 * math.pi)]), -0.95
    found = {"nothing": 0, "better region": 0, "worse region": 0, "both": 0}
    for seed in range(seeds):
        posed = replace(problem(limit), space=square)
        method = MethodSpec.parse(name).build(posed, np.random.default_rng(seed))
        seen = set()
        for _ in range(n):
            x, y = point = method.ask()
            constraint = math.sin(x) * math.sin(y)
            observe(method, point, math.sin(x) + y, constraint, limit)
            if constraint <= limit:
                seen.add("better region" if x > y else "worse region")
        found["both" if len(seen) > 1 else next(iter(seen), "nothing")] += 1
    return found


def draw() -> Figure:
    """Both figures: the naive extension on the left, c-TPE on the right."""
    figure = Figure(figsize=(7, 13), layout="constrained")
    axes = figure.subplots(4, 2)
    rows: list[tuple[str, Callable[[str], NDArray[np.float64]], float, float]] = [
        ("figure 1, c <= 4", lambda name: acquisition(name, 4.0), 1.0, 4.0),
        ("figure 1, c <= 16", lambda name: acquisition(name, 16.0), 1.0, 16.0),
        ("figure 2, z = 0.5", lambda name: evaluations(name, 0.5), 0.5, 3.0),
        ("figure 2, z = 2.3", lambda name: evaluations(name, 2.3), 2.3, 3.0),
    ]
    for row, (title, compute, centre, limit) in zip(axes, rows, strict=True):
        for panel, name in zip(row, ("c-tpe-naive", "c-tpe"), strict=True):
            values = compute(name)
            if values.shape == (len(AXIS), len(AXIS)):
                panel.pcolormesh(AXIS, AXIS, values, vmin=values.max() - 6, cmap="coolwarm", rasterized=True)
            else:
                panel.scatter(*values.T, c=np.arange(len(values)), cmap="gray", edgecolor="0.5", s=18)
            angle = np.linspace(0, 2 * np.pi, 200)
            radius = np.sqrt(limit)
            panel.plot(centre + radius * np.cos(angle), centre + radius * np.sin(angle), color="black", linewidth=1)
            panel.set(title=f"{name}: {title}", xlim=(-5, 5), ylim=(-5, 5), aspect="equal")
    return figure


if __name__ == "__main__":
    out = sys.argv[1] if len(sys.argv) > 1 else "ctpe_figures.svg"
    draw().savefig(out)
    print(out)
    for name in ("c-tpe:variant=paper", "c-tpe", "random"):
        print(name, ends(name))
