"""Search spaces that several tests of the language use."""

from __future__ import annotations

from collections.abc import Callable

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.choices import forbid
from nasbench.benchmarks.spaces.language.combinators import (
    identity,
    siso_optional,
    siso_or,
    siso_repeat,
    siso_sequential,
    substitution,
)
from nasbench.benchmarks.spaces.language.graph import Basic, D, Part, ordinal
from nasbench.benchmarks.spaces.published.flat import flat
from nasbench.benchmarks.spaces.published.genetic import genetic
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2, once_for_all
from nasbench.benchmarks.spaces.published.nasbench101 import nasbench101
from nasbench.benchmarks.spaces.published.nasbench201 import nasbench201
from nasbench.benchmarks.spaces.published.nasnet import nasnet
from nasbench.benchmarks.spaces.published.vit import vit
from research import language_figures as figures

COUNTS = {
    figures.figure_1: 6,
    figures.figure_4: 25_008,
    figures.figure_10: 27,
    figures.figure_11: 243,
    figures.figure_19_1: 6 + 6**2 + 6**4,
    figures.figure_19_2: 3 * (2 + 4 + 16),
    figures.figure_19_3: 3 * 3 * 2,
}
SMALL = [figures.figure_1, figures.figure_10, figures.figure_11, figures.figure_19_2, figures.figure_19_3]
FINITE = [*COUNTS, figures.figure_19_4, nasbench201, genetic, flat, mobilenetv2, vit]
ALL = [*FINITE, figures.figure_16, figures.figure_18, nasbench101, nasnet, once_for_all]


def named(write: Callable[[], Part]) -> str:
    return write.__name__


def op(kind: str, **hyperparameters: object) -> Part:
    return Basic(kind, hyperparameters, lambda values, given: lambda *x: (kind, values, x)).part


def shared_or() -> Part:
    """A hyper-parameter that decides one module and is used, or decides, inside another: no plain product counts it."""
    h = D([0, 1])
    inner: Callable[[], Part] = lambda: siso_or([lambda: op("a", v=h), lambda: siso_repeat(lambda: op("b"), h)], h)  # noqa: E731
    return siso_sequential([siso_or([lambda: op("c", v=h), inner], D([0, 1])), siso_optional(lambda: op("d", v=h), h)])


def dropping() -> Part:
    """A part that may ignore one of its inputs, behind which choices vanish."""

    def left(_: dict[str, object]) -> Part:
        (a_in, a_out), (b_in, _) = identity(), identity()
        return {"in0": a_in["in"], "in1": b_in["in"]}, a_out

    def both(_: dict[str, object]) -> Part:
        inputs, outputs = Basic("both", {}, lambda v, g: lambda *x: x, ["in0", "in1"]).part
        return inputs, outputs

    a_in, a_out = op("a", x=D([1, 2, 3]))
    b_in, b_out = siso_or([lambda: op("b", x=D([1, 2])), identity], D([0, 1]))
    c_in, c_out = substitution("keep", lambda v: both(v) if v["all"] else left(v), {"all": D([0, 1])}, ["in0", "in1"])
    s_in, s_out = identity()
    s_out["out"].connect(a_in["in"])
    s_out["out"].connect(b_in["in"])
    a_out["out"].connect(c_in["in0"])
    b_out["out"].connect(c_in["in1"])
    return s_in, c_out


def late() -> Part:
    """A module that appears late, and waits for a choice made long before."""
    h = D([0, 1])
    inner: Callable[[], Part] = lambda: siso_optional(lambda: op("b"), h)  # noqa: E731
    return siso_sequential([siso_or([inner, lambda: op("c")], D([0, 1])), op("a", v=h)])


def unread() -> Part:
    """A part with two outputs, of which only one is used."""

    def two(_: dict[str, object]) -> Part:
        (a_in, a_out), (b_in, b_out) = identity(), identity()
        return {"in0": a_in["in"], "in1": b_in["in"]}, {"out0": a_out["out"], "out1": b_out["out"]}

    s_in, s_out = substitution("s", two, {"x": D([0, 1])}, ["in0", "in1"], ["out0", "out1"])
    i_in, i_out = identity()
    for name, values in (("in0", [1, 2, 3]), ("in1", [1, 2, 3, 4, 5])):
        p_in, p_out = op("p", x=D(values))
        i_out["out"].connect(p_in["in"])
        p_out["out"].connect(s_in[name])
    return i_in, {"out": s_out["out0"]}


def alike() -> Part:
    """Branches whose parts have the same names inside, with other values."""
    return siso_or([lambda: op("a", x=D([1, 2])), lambda: op("a", x=D([3, 4]))], D([0, 1]))


def beside() -> Part:
    """Two choices of one module: (3, 32) and (5, 32) are forbidden."""
    kernel, filters = ordinal([1, 3, 5], name="kernel"), ordinal([8, 16, 32], name="filters")
    forbid(lambda k, f: k > 1 and f == 32, k=kernel, f=filters)
    return layers.conv2d(filters, kernel)


def across() -> Part:
    """A choice that decides the graph, with one inside each part that it brings about, and one that comes late."""
    depth, width = ordinal([1, 2, 3], name="depth"), D([1, 2, 3], name="width")

    def parts(values: dict[str, int]) -> Part:
        found = []
        for number in range(values["depth"]):
            x = D([1, 2, 3], name=f"x{number}")
            forbid(lambda w, x: w == x, w=width, x=x)
            found.append(op("a", x=x))
        return siso_sequential(found)

    forbid(lambda d, w: d == 3 and w == 3, d=depth, w=width)
    return siso_sequential([op("w", x=width), substitution("parts", parts, {"depth": depth}), op("b", x=D([1, 2]))])
