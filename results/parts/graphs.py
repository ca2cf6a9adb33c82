"""Results of searches over graphs of layers: the best network of each setting, and a map of a run's networks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nasbench.base.numbers import constraint_name
from nasbench.results.curves import Array, Curves
from nasbench.results.parts import networks
from nasbench.results.parts.part import PARTS, Drawn, Part, plain
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.subject import Subject, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INTRO = (
    "The best network of each setting as a graph of layers, and a map of the networks that the first seed of a method "
    "proposed: a dot is a network, its colour the objective (bar beside the map), the star the best one; distances on "
    "the map approximate those of the method, so that similar networks lie together. Axes have no meaning of their own."
)


@dataclass(frozen=True, eq=False)
class Plane:
    """A map of one run's networks, whose distances approximate those that the method logs."""

    setting: int
    method: int
    seed: int
    places: Array
    """Places, shape (networks, 2), in the order in which the networks were proposed."""
    objective: Array


@dataclass(frozen=True, eq=False)
class Graphs:
    """The networks of a report's runs; settings and methods are numbered as in its curves."""

    best: dict[int, tuple[float, int, networks.Facts]]
    """Setting → the smallest feasible objective, its method, and its network."""
    planes: list[Plane]
    """A map of the first seed of each setting and method that logs one."""


def load(chosen: Sequence[tuple[Store, Fragment]], curves: Curves) -> Graphs | None:
    """The networks of some fragments; None if no run searches graphs of layers."""
    best: dict[int, tuple[float, int, networks.Facts]] = {}
    planes: dict[tuple[int, int], Plane] = {}
    searched: dict[str, bool | None] = {}
    """Benchmark → whether its configurations are networks; None until a run has proposed one."""
    for store, f in chosen:
        place = curves.place_of(f.setup)
        if place is None:
            continue
        setting, method = place
        if searched.get(f.setup.bench) is None:
            searched[f.setup.bench] = _are_networks(f)
        incumbent = _best(f) if searched[f.setup.bench] else None
        if incumbent is not None and incumbent[0] < best.get(setting, (np.inf,))[0]:
            best[setting] = (incumbent[0], method, incumbent[1])
        for run in f.runs:
            if not run.log:
                continue
            known = planes.get(place)
            if known is None or run.seed < known.seed:
                plane = _plane(store, f, run.seed, setting, method)
                planes |= {} if plane is None else {place: plane}
    return Graphs(best, [plane for _, plane in sorted(planes.items())]) if best or planes else None


@PARTS.register("networks")
@plain(62)
def part(subject: Subject) -> Part | None:
    """The part; None if no run searches graphs of layers."""
    graphs = load(subject.fragments, subject.curves)
    if graphs is None:
        return None
    return Part("networks", "Networks found", figures=partial(drawn, graphs, subject.curves), intro=_INTRO)


def drawn(graphs: Graphs, curves: Curves) -> Iterator[Drawn]:
    """Every figure with the words of its name."""
    where = curves.settings[["bench", "constraint"]].to_numpy().tolist()
    for setting, (_, _, values) in sorted(graphs.best.items()):
        yield ("network", *where[setting]), networks.draw(values)
    for plane in graphs.planes:
        bench, constraint = where[plane.setting]
        method = curves.names[plane.method]
        title = f"networks of {method}\non {bench}, {constraint_name(constraint)}, seed {plane.seed}"
        yield ("plane", method, bench, constraint), _scatter(plane, title, curves.settings["objective"][plane.setting])


def _scatter(plane: Plane, title: str, objective: str) -> Figure:
    from matplotlib.figure import Figure  # heavy, and few reports need it

    from nasbench.results.display.plots import styled

    with styled():
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        axes = figure.subplots()
        x, y = plane.places.T
        points = axes.scatter(x, y, c=plane.objective, cmap="viridis_r", s=22)
        figure.colorbar(points, label=objective)
        axes.plot(*plane.places[int(np.argmin(plane.objective))], marker="*", color="#D55E00", markersize=12)
        axes.set(xticks=[], yticks=[])
        axes.set_title(title, fontsize=8)
        return figure


def _are_networks(f: Fragment) -> bool | None:
    try:
        first = f.first("configuration")
    except Torn:  # a notice was given when the curves were read
        return None
    return None if first is None else networks.is_network(json.loads(first))


def _best(f: Fragment) -> tuple[float, networks.Facts] | None:
    """The best feasible, fully trained network of a fragment and its loss; None if there is none, or it is unknown."""
    table = rows_of(f, ["configuration", "objective", "feasible"])
    if table is None:
        return None
    losses = f.setup.sign * table["objective"].to_numpy()
    losses = np.where(table["feasible"].to_numpy(), losses, np.nan)
    if not np.isfinite(losses).any():
        return None
    row = int(np.nanargmin(losses))
    values: dict[str, Any] = json.loads(table["configuration"][row].as_py())
    return (float(losses[row]), values) if networks.is_network(values) else None


def _plane(store: Store, f: Fragment, seed: int, setting: int, method: int) -> Plane | None:
    log = store.search_log(f, seed)
    if log is None:
        return None
    columns = log.select(["quantity", "value"]).to_pydict()
    parts = {
        name: np.array([v for q, v in zip(*columns.values(), strict=True) if q == name])
        for name in ("plane_x", "plane_y", "plane_objective")
    }
    if not len(parts["plane_x"]):
        return None
    return Plane(setting, method, seed, np.stack([parts["plane_x"], parts["plane_y"]], 1), parts["plane_objective"])
