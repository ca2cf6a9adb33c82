"""`nasbench distance`: the OTMANN distance of two networks, and the matching of their layers."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from nasbench.base.layout import table
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import read
from nasbench.cli.commands._once import Command
from nasbench.methods.nasbot.families import USUAL, Weighing, family_of
from nasbench.methods.nasbot.otmann import Encoded, matching
from nasbench.methods.nasbot.otmann import distance as otmann


@click.command(cls=Command)
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@click.option("--nu", type=float, default=0.5, show_default=True, help="Weight of the structural penalty.")
@click.option(
    "--fc", type=float, default=USUAL.fc, show_default=True, help="Mass of a unit of a fully connected layer."
)
@click.option(
    "--share", type=float, default=USUAL.share, show_default=True, help="Mass of ip, op and decision layers: a share."
)
@click.option(
    "--mismatch", type=float, default=USUAL.mismatch, show_default=True, help="Factor of the costs of other labels."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def distance(one: Path, other: Path, nu: float, as_json: bool, **weighing: float) -> None:
    """Print the OTMANN distance of two networks (NASBOT, section 3), its penalties and the matching of layers.

    A network is a JSON file with nn_class (cnn, mlp-reg or mlp-class), labels, units, edges and, for a cnn, strides.
    """
    say(compare(one, other, nu, as_json, Weighing(**weighing)))


def compare(one: Path, other: Path, nu: float, as_json: bool, weighing: Weighing = USUAL) -> str:
    """The OTMANN distance of two networks in JSON files, as text or JSON.

    Args:
        one: file of the first network.
        other: file of the second network.
        nu: weight of the structural penalty, positive.
        as_json: whether to return JSON.

    Raises UsageError if a file is not a network, or the networks are of different kinds.
    """
    for name, value in {"nu": nu, **weighing._asdict()}.items():
        if not 0 < value < float("inf"):
            raise UsageError(f"--{name} must be positive and finite, not {value:g}")
    graphs = [read(path) for path in (one, other)]
    if graphs[0].kind != graphs[1].kind:
        raise UsageError(f"{one} is a {graphs[0].kind} and {other} a {graphs[1].kind}: they cannot be compared")
    a, b = (Encoded(graph, family_of(graph.kind, weighing)) for graph in graphs)
    result, plan = otmann(a, b, [nu]), matching(a, b, nu)
    pairs = [(int(i), int(j), float(plan.flow[i, j])) for i, j in np.argwhere(plan.flow > 1e-9 * (a.mass + b.mass))]
    penalties = {"labels": plan.labels, "structure": plan.structure, "unmatched": plan.unmatched}
    if as_json:
        facts = {"nu": nu, "distance": float(result.distance[0]), "normalised": float(result.normalised[0])}
        return json.dumps({**facts, "penalties": penalties, "masses": [a.mass, b.mass], "matching": pairs}, indent=2)
    lines = [
        f"distance {result.distance[0]:.6g}, normalised {result.normalised[0]:.4g} (nu {nu:g}; masses {a.mass:.6g} and "
        f"{b.mass:.6g})",
        "penalties: " + ", ".join(f"{name} {value:.6g}" for name, value in penalties.items()),
    ]
    rows = [("mass", one.name, other.name)]
    rows += [(f"{mass:.6g}", _named(graphs[0], i), _named(graphs[1], j)) for i, j, mass in pairs]
    return "\n".join([*lines, "", table(rows)])


def _named(graph: LayerGraph, layer: int) -> str:
    units = graph.units[layer]
    return f"{layer} {graph.labels[layer]}" + (f" {units}" if units else "")
