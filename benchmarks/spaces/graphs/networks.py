"""Valid graphs of layers (NASBOT, section 2 and the authors' code), and networks in JSON files."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from pathlib import Path

from nasbench.base import textfile
from nasbench.base.errors import UsageError, check_choice, unknown
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph

POOLS = ("max-pool", "avg-pool")
CONVOLUTIONS = tuple(f"{kind}{size}" for size in (3, 5, 7) for kind in ("conv", "res"))
RECTIFIERS = ("relu", "crelu", "leaky-relu", "softplus", "elu")
SIGMOIDS = ("logistic", "tanh")

LABELS: dict[str, tuple[str, ...]] = {
    "cnn": ("ip", "op", "fc", *POOLS, "softmax", *CONVOLUTIONS),
    "mlp-reg": ("ip", "op", *RECTIFIERS, *SIGMOIDS, "linear"),
    "mlp-class": ("ip", "op", *RECTIFIERS, *SIGMOIDS, "softmax"),
}
"""Kind of network → the possible layers."""
DECISIONS = {"cnn": "softmax", "mlp-reg": "linear", "mlp-class": "softmax"}
"""Kind of network → the layer before `op`."""

_ALLOWED = {kind: frozenset(labels) for kind, labels in LABELS.items()}
_WITH_UNITS = frozenset(("fc", *CONVOLUTIONS, *RECTIFIERS, *SIGMOIDS))


def read(path: Path) -> LayerGraph:
    """A network from a JSON file with `nn_class`, `labels`, `units`, `edges` and, for a CNN, `strides`.

    Raises UsageError that names the file, if it cannot be read or is not a valid network.
    """
    try:
        facts = textfile.parse_json(path, textfile.read(path))
        kind, labels = str(facts["nn_class"]), [str(label) for label in facts["labels"]]
        units = [None if u is None else whole(u) for u in facts["units"]]
        strides = [None if s is None else whole(s) for s in facts.get("strides") or [None] * len(labels)]
        edges = [(whole(a), whole(b)) for a, b in facts["edges"]]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(
            f"{path} is not a network in JSON with nn_class, labels, units, edges and perhaps strides ({what})"
        ) from None
    try:
        return network(kind, labels, units, edges, strides)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def whole(value: object) -> int:
    """A whole number as it is. Raises TypeError for anything else, also for 16.0, "16" and True."""
    if isinstance(value, bool):
        raise TypeError(f"{value} is no whole number")
    return index(value)  # type: ignore[arg-type]


def network(
    kind: str,
    labels: Sequence[str],
    units: Sequence[int | None],
    edges: Sequence[tuple[int, int]],
    strides: Sequence[int | None],
) -> LayerGraph:
    """A valid network, its layers in topological order (breadth first from `ip`). Raises UsageError otherwise."""
    check_choice("nn_class", kind, LABELS)
    if not len(labels) == len(units) == len(strides):
        raise UsageError(f"{len(labels)} labels, {len(units)} units and {len(strides)} strides do not fit together")
    for end in ("ip", "op"):
        if list(labels).count(end) != 1:
            raise UsageError(f"a network has one {end}, not {list(labels).count(end)}")
    count = len(labels)
    wrong = next((edge for edge in edges if not (0 <= edge[0] < count and 0 <= edge[1] < count)), None)
    if wrong is not None:
        raise UsageError(f"edge {wrong} leads to a layer that does not exist: layers are 0 to {len(labels) - 1}")
    order = _ordered(labels, edges)
    place = {v: i for i, v in enumerate(order)}
    graph = LayerGraph(
        tuple([labels[v] for v in order]),
        tuple([units[v] for v in order]),
        frozenset([(place[a], place[b]) for a, b in edges]),
        tuple([strides[v] for v in order]),
        kind,
    )
    check(graph)
    return graph


def check(graph: LayerGraph) -> None:
    """Raises UsageError with the violated rule, unless a graph in topological order is a valid network."""
    labels, last = graph.labels, len(graph.labels) - 1
    for label in labels:
        if label not in _ALLOWED[graph.kind]:
            raise unknown(f"layer of a {graph.kind}", label, LABELS[graph.kind])
    if labels[0] != "ip" or labels[last] != "op":
        raise UsageError("the first layer is ip and the last one op, in topological order")
    children = graph.children
    for v, label in enumerate(labels):
        if v and not graph.parents[v]:
            raise UsageError(f"nothing leads to layer {v}, {label}: every layer is reached from ip")
        if v < last and not children[v]:
            raise UsageError(f"nothing leads from layer {v}, {label}: every layer reaches op")
    decision = DECISIONS[graph.kind]
    for v in graph.parents[last]:
        if labels[v] != decision:
            raise UsageError(f"op takes from {decision} layers only, not from layer {v}, {labels[v]}")
    for v, label in enumerate(labels):
        if label == decision and children[v] != (last,):
            raise UsageError(f"layer {v}, {label}, leads to op and nowhere else")
        if label in _WITH_UNITS and not (graph.units[v] or 0) > 0:
            raise UsageError(f"layer {v}, {label}, needs one unit or more, not {graph.units[v]}")
    if graph.kind == "cnn":
        _check_images(graph, children[0])


def image_sizes(graph: LayerGraph) -> list[int | None]:
    """The factor by which the image after each layer is smaller than the input; None after images are flattened.

    Raises UsageError if images of different sizes meet.
    """
    sizes: list[int | None] = []
    parents = graph.parents
    for v, label in enumerate(graph.labels):
        before = [sizes[p] for p in parents[v]]
        size = before[0] if before else 1
        if any(other != size for other in before):
            names = " and ".join(sorted("no image" if s is None else f"1/{s}" for s in set(before)))
            raise UsageError(f"images of different sizes meet in layer {v}, {label}: {names}")
        if label in ("fc", "softmax", "op"):
            sizes.append(None)
        elif size is None:
            raise UsageError(f"layer {v}, {label}, needs an image, but what comes before it has none")
        else:
            sizes.append(2 * size if label in POOLS or graph.stride(v) == 2 else size)
    return sizes


def _check_images(graph: LayerGraph, first: Sequence[int]) -> None:
    """Raises UsageError unless images fit: the layers after `ip`, strides, and the sizes of images that meet."""
    for v in first:
        if graph.labels[v] not in CONVOLUTIONS:
            raise UsageError(f"ip leads to convolutions only, not to layer {v}, {graph.labels[v]}")
    for v, (label, stride) in enumerate(zip(graph.labels, graph.strides, strict=False)):
        allowed = (1, 2, None) if label in CONVOLUTIONS else (None,)
        if stride not in allowed:
            raise UsageError(
                f"the stride of layer {v}, {label}, must be {' or '.join(map(str, allowed))}, not {stride}"
            )
    image_sizes(graph)


def _ordered(labels: Sequence[str], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Layers in topological order, `ip` first and `op` last. Raises UsageError if there is a cycle."""
    children: list[list[int]] = [[] for _ in labels]
    missing = [0] * len(labels)  # parents that are not in order yet
    for a, b in sorted(set(edges)):
        children[a].append(b)
        missing[b] += 1
    waiting = [v for v, count in enumerate(missing) if not count]
    waiting.sort(key=lambda v: labels[v] != "ip")
    order: list[int] = []
    while waiting:
        v = waiting.pop(0)
        order.append(v)
        for child in children[v]:
            missing[child] -= 1
            if not missing[child]:
                waiting.append(child)
    if len(order) < len(labels):
        circle = next(v for v, count in enumerate(missing) if count)
        raise UsageError(f"layer {circle}, {labels[circle]}, lies on a cycle or behind one: a network has no cycles")
    order.sort(key=lambda v: labels[v] == "op")
    return order
