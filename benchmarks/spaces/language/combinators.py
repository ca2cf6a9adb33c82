"""Combinators: functions that compose search spaces (figures 3, 13 and 15), given as (inputs, outputs)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from nasbench.benchmarks.spaces.language.graph import (
    AnyHyperparameter,
    Basic,
    Part,
    ProgramError,
    Substitution,
    current_scope,
)

Fn: TypeAlias = Callable[[], Part]
"""A function that makes a new search space at each call."""


def substitution(
    kind: str,
    function: Callable[[dict[str, Any]], Part],
    hyperparameters: dict[str, Any],
    inputs: Sequence[str] = ("in",),
    outputs: Sequence[str] = ("out",),
) -> Part:
    """A part that is decided later: `function` returns it for the values of the hyper-parameters (figure 14)."""
    return Substitution(kind, function, hyperparameters, inputs, outputs).part


def identity() -> Part:
    """A part that returns its input."""
    return Basic("identity", {}, lambda values, inputs: _same).part


def _same(value: Any) -> Any:
    return value


def siso_sequential(parts: Sequence[Part]) -> Part:
    """A chain of parts."""
    if not parts:
        raise ProgramError("siso_sequential needs one or more parts")
    for (_, outputs), (inputs, _) in pairwise(parts):
        outputs["out"].connect(inputs["in"])
    return parts[0][0], parts[-1][1]


def repeated(fn: Fn, times: int) -> list[Part]:
    """Parts made by calls of one function; the names given to their choices end in the number of the part."""
    scope, parts = current_scope(), []
    before = scope.turn
    for scope.turn in range(times):
        parts.append(fn())
    scope.turn = before
    return parts


def siso_repeat(fn: Fn, times: AnyHyperparameter | int) -> Part:
    """A chain of `times` parts, each with choices of its own; the identity if `times` is 0.

    The names given to choices are numbered by part: `kernel-0`, `kernel-1`, ….
    """

    def chain(values: dict[str, Any]) -> Part:
        return siso_sequential(repeated(fn, values["times"]) or [identity()])

    return substitution("repeat", chain, {"times": times})


Branches: TypeAlias = Sequence[Fn] | Mapping[Any, Fn]
"""Alternative parts, by number or by the values of the choice."""


def siso_or(fns: Branches, which: AnyHyperparameter | int) -> Part:
    """One of several parts; only the chosen part is made."""
    return mimo_or(fns, which, ("in",), ("out",))


def mimo_or(fns: Branches, which: AnyHyperparameter | int, inputs: Sequence[str], outputs: Sequence[str]) -> Part:
    """One of several parts with the same inputs and outputs."""
    parts = fns if isinstance(fns, Mapping) else dict(enumerate(fns))

    def chosen(values: dict[str, Any]) -> Part:
        if values["which"] not in parts:
            raise ProgramError(f"there is no part for the choice {values['which']!r} among {len(fns)} parts")
        return parts[values["which"]]()

    return Substitution("or", chosen, {"which": which}, inputs, outputs, branches=True).part


def siso_optional(fn: Fn, present: AnyHyperparameter | int) -> Part:
    """A part, or the identity."""
    return substitution("optional", lambda values: fn() if values["present"] else identity(), {"present": present})


def siso_split_combine(fn: Fn, combine: Callable[[int], Part], splits: AnyHyperparameter | int) -> Part:
    """Several parts in parallel on one input, each with choices of its own; `combine(n)` has the inputs in0, in1, …."""

    def split(values: dict[str, Any]) -> Part:
        inputs, outputs = identity()
        combined_inputs, combined_outputs = combine(values["splits"])
        for i, (part_inputs, part_outputs) in enumerate(repeated(fn, values["splits"])):
            outputs["out"].connect(part_inputs["in"])
            part_outputs["out"].connect(combined_inputs[f"in{i}"])
        return inputs, combined_outputs

    return substitution("split", split, {"splits": splits})


def siso_residual(fn: Fn, shortcut: Fn, combine: Callable[[int], Part]) -> Part:
    """A part in parallel with a shortcut, combined."""
    inputs, outputs = identity()
    combined_inputs, combined_outputs = combine(2)
    for name, (part_inputs, part_outputs) in zip(("in0", "in1"), (fn(), shortcut()), strict=True):
        outputs["out"].connect(part_inputs["in"])
        part_outputs["out"].connect(combined_inputs[name])
    return inputs, combined_outputs


def rnn_cell(hidden: Fn, output: Fn) -> Part:
    """h_t = q_h(x_t, h_t-1), y_t = q_y(h_t) (figure 3); `hidden` has the inputs in0 and in1."""
    (hidden_inputs, hidden_outputs), (output_inputs, output_outputs) = hidden(), output()
    hidden_outputs["out"].connect(output_inputs["in"])
    inputs = {"x": hidden_inputs["in0"], "h": hidden_inputs["in1"]}
    return inputs, {"h_next": hidden_outputs["out"], "y": output_outputs["out"]}


def lstm_cell(input_gate: Fn, forget_gate: Fn, output_gate: Fn, candidate: Fn, memory: Fn, hidden: Fn) -> Part:
    """An LSTM's six functions, each a search space (figure 15): c_t = q_c(f, c_t-1, i, g) and h_t = q_h(o, c_t).

    The gates i, f, o and the candidate g have the inputs in0 (x_t) and in1 (h_t-1), `memory` in0 to in3, `hidden` in0
    and in1, in the order of the equations.
    """
    (x_inputs, x_outputs), (h_inputs, h_outputs) = identity(), identity()
    gates = [gate() for gate in (input_gate, forget_gate, output_gate, candidate)]
    for inputs, _ in gates:
        x_outputs["out"].connect(inputs["in0"])
        h_outputs["out"].connect(inputs["in1"])
    i, f, o, g = (outputs["out"] for _, outputs in gates)
    (c_inputs, c_outputs), (shown_inputs, shown_outputs) = memory(), hidden()
    for name, output in (("in0", f), ("in2", i), ("in3", g)):
        output.connect(c_inputs[name])
    o.connect(shown_inputs["in0"])
    c_outputs["out"].connect(shown_inputs["in1"])
    inputs = {"x": x_inputs["in"], "h": h_inputs["in"], "c": c_inputs["in1"]}
    return inputs, {"c_next": c_outputs["out"], "h_next": shown_outputs["out"]}
