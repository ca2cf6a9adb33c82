"""Figure 4 of the language's paper (Negrinho et al., NeurIPS 2019): a small space with all constructs."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import siso_optional, siso_repeat
from nasbench.benchmarks.spaces.language.graph import D, Dependent, Part


def figure_4() -> Part:
    """A convolution, optional dropout, and two chains, one twice as long as the other: 25,008 architectures."""
    h_n = D([1, 2, 4])
    h_ndep = Dependent(lambda dh: 2 * dh["x"], {"x": h_n})
    c_inputs, c_outputs = layers.conv2d(D([64, 128]))
    o_inputs, o_outputs = siso_optional(lambda: layers.dropout(D([0.25, 0.5])), D([0, 1]))
    r1_inputs, r1_outputs = siso_repeat(lambda: layers.conv2d(D([64, 128])), h_n)
    r2_inputs, r2_outputs = siso_repeat(lambda: layers.conv2d(D([64, 128])), h_ndep)
    cc_inputs, cc_outputs = layers.concat(2)
    o_inputs["in"].connect(c_outputs["out"])
    r1_inputs["in"].connect(o_outputs["out"])
    r2_inputs["in"].connect(o_outputs["out"])
    cc_inputs["in0"].connect(r1_outputs["out"])
    cc_inputs["in1"].connect(r2_outputs["out"])
    return c_inputs, cc_outputs
