"""Spaces of ConfigSpace: read, written, and the same as the package says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces import Categorical, Float, Integer, Ordinal, ParameterSpace, Space
from nasbench.benchmarks.spaces.comparisons import Domain, holds, prepared
from nasbench.benchmarks.spaces.configspace import read, write
from nasbench.benchmarks.spaces.language.combinators import siso_repeat
from nasbench.benchmarks.spaces.language.counting import count
from nasbench.benchmarks.spaces.language.graph import D, integer
from nasbench.benchmarks.spaces.language.layers import dropout
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import listed
from nasbench.benchmarks.spaces.published.mobilenetv2 import mobilenetv2
from nasbench.benchmarks.spaces.published.vit import vit
from tests.benchmarks.written import beside

# The package compares both sides of a relation on their own scales: so b and c have the same one.
SPACE = """{"name": "x", "hyperparameters": [
{"type": "categorical", "name": "a", "choices": ["x", "y", "z"], "weights": [0.5, 0.3, 0.2], "default_value": "x"},
{"type": "categorical", "name": "flag", "choices": [true, false], "weights": null, "default_value": true},
{"type": "constant", "name": "k", "value": 3, "meta": null},
{"type": "ordinal", "name": "o", "sequence": [1, 2, 4], "default_value": 1, "meta": null},
{"type": "uniform_int", "name": "b", "lower": 1, "upper": 5, "default_value": 1, "log": false, "meta": null},
{"type": "uniform_int", "name": "c", "lower": 1, "upper": 5, "default_value": 1, "log": false, "meta": null},
{"type": "uniform_int", "name": "q", "lower": 1, "upper": 2, "default_value": 1, "log": false, "meta": null},
{"type": "categorical", "name": "deep", "choices": ["s", "t"], "weights": null, "default_value": "s"}],
"conditions": [{"type": "EQ", "child": "b", "parent": "a", "value": "x"},
{"type": "IN", "child": "c", "parent": "a", "values": ["x", "y"]},
{"type": "AND", "child": "q", "conditions": [{"type": "EQ", "child": "q", "parent": "a", "value": "x"},
{"type": "GT", "child": "q", "parent": "o", "value": 1}]},
{"type": "LT", "child": "deep", "parent": "b", "value": 3}],
"forbiddens": [{"type": "AND", "clauses": [{"type": "EQUALS", "name": "a", "value": "z"},
{"type": "IN", "name": "o", "values": [1, 2]}]}, {"type": "RELATION_LT", "left": "c", "right": "b"}],
"python_module_version": "1.2.0", "format_version": 0.4}"""

MIXED = ParameterSpace(
    [
        Categorical("which", ("a", "b", "c"), prior=(2, 1, 1)),
        Float("rate", 1e-4, 1e-1, log=True),
        Integer("count", 1, 9),
        Ordinal("width", (8, 16, 32), log=True, prior=(1, 2, 1)),
    ],
    {"rate": ("which", ["a"]), "count": ("which", ["b", "c"])},
)


def plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}


def test_a_text_of_configspace_is_counted_exactly() -> None:
    program = read(SPACE)
    # a = x: pairs of c and b with c >= b, twice as many for each b below 3 (deep), and q where o > 1
    pairs = sum((2 if b < 3 else 1) for b in range(1, 6) for c in range(1, 6) if c >= b)
    expected = 2 * (pairs * (1 + 2 + 2) + 5 * 3 + 1)
    assert count(program) == expected == sum(1 for _ in program)
    assert program.scope.independents[0].domain == Categorical("a", ("x", "y", "z"), (0.5, 0.3, 0.2))


@pytest.mark.parametrize("make", [lambda: read(SPACE), lambda: Program(beside)], ids=["text", "forbidding"])
def test_what_is_written_and_read_is_the_same_space(make: Callable[[], Program]) -> None:
    program = make()
    again = read(write(program))
    values = {json.dumps(program.values(c), sort_keys=True) for c in program}
    if program.scope.independents[0].name == "a":  # q, which two bring about together, is always there
        assert {name for c in again for name in again.values(c)} == {name for v in values for name in json.loads(v)}
    else:
        assert {json.dumps(again.values(c), sort_keys=True) for c in again} == values


def test_scales_and_priors_survive() -> None:
    again = {h.name: h for h in read(write(MIXED)).as_flat().hyperparameters}
    assert again["width"] == MIXED.hyperparameters[3]
    assert again["which"] == Categorical("which", ("a", "b", "c"), (0.5, 0.25, 0.25))
    assert (again["rate"], again["count"]) == MIXED.hyperparameters[1:3]


@pytest.mark.parametrize("space", [read(SPACE), MIXED, Program(mobilenetv2), Program(vit), Program(beside)])
def test_configspace_agrees_about_what_belongs_to_a_space(space: Space, tmp_path: Path) -> None:
    package = pytest.importorskip("ConfigSpace")
    path = tmp_path / "space.json"
    path.write_text(write(space))
    theirs = package.ConfigurationSpace.from_json(path)
    ours, rng = read(path.read_text()), np.random.default_rng(0)
    for _ in range(100):
        package.Configuration(theirs, values=ours.values(ours.sample(rng)))
    for configuration in theirs.sample_configuration(100):
        ours.from_values(plain(dict(configuration)))
    path.write_text(SPACE)
    theirs, ours = package.ConfigurationSpace.from_json(path), read(SPACE)
    for configuration in ours:
        package.Configuration(theirs, values=ours.values(configuration))
    assert {frozenset(ours.values(c).items()) for c in ours} >= {
        frozenset(plain(dict(c)).items()) for c in theirs.sample_configuration(200)
    }


def of(
    hyperparameters: list[dict[str, Any]],
    conditions: Sequence[dict[str, Any]] = (),
    forbiddens: Sequence[dict[str, Any]] = (),
) -> str:
    return json.dumps({"hyperparameters": hyperparameters, "conditions": conditions, "forbiddens": forbiddens})


def choice(name: str, *values: object) -> dict[str, Any]:
    return {"type": "categorical", "name": name, "choices": values}


@pytest.mark.parametrize(
    ("kind", "levels", "value", "expected"),
    [("GT", ["low", "medium", "high"], "low", {"medium", "high"}), ("LT", [8, 4, 2], 4, {8})],
)
def test_conditions_compare_the_places_of_an_ordinal(
    kind: str, levels: list[Any], value: object, expected: set[object]
) -> None:
    """As ConfigSpace 1.2.2 samples; neither letters nor numbers are in the order of the levels."""
    ordinal = {"type": "ordinal", "name": "o", "sequence": levels}
    condition = {"type": kind, "child": "c", "parent": "o", "value": value}
    space = read(of([ordinal, choice("c", 1, 2)], [condition]))
    assert {space.values(own)["o"] for own in space if "c" in space.values(own)} == expected


@pytest.mark.parametrize(
    ("name", "forbidden"),
    [("LESS", lambda a, b: a < b), ("GREATER", lambda a, b: a > b), ("EQUALS", lambda a, b: a == b)],
)
def test_relations_as_configspace_0_7_writes_them_are_read(name: str, forbidden: Callable[[int, int], bool]) -> None:
    ends = [{"type": "uniform_int", "name": name, "lower": 1, "upper": 3, "log": False} for name in "ab"]
    clause = {"left": "a", "right": "b", "type": "RELATION", "lambda": name}
    space = read(json.dumps({"hyperparameters": ends, "forbiddens": [clause]}))
    pairs = {(values["a"], values["b"]) for values in map(space.values, space)}
    assert pairs == {(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if not forbidden(a, b)}


@pytest.mark.parametrize("name", ["LIKE", None])
def test_an_unknown_relation_is_refused_by_its_name(name: str | None) -> None:
    clause = {"left": "a", "right": "b", "type": "RELATION", "lambda": name}
    text = json.dumps({"hyperparameters": [choice("a", 1, 2), choice("b", 1, 2)], "forbiddens": [clause]})
    with pytest.raises(UsageError, match=f"unknown lambda of a RELATION .as ConfigSpace 0.6 and 0.7 .*{name}"):
        read(text)


@pytest.mark.parametrize(
    "make",
    [lambda: read(of([choice("x", None, "a")])), lambda: Categorical("x", (None, "a"))],  # type: ignore[arg-type]
    ids=["ConfigSpace", "ours"],
)
def test_null_is_no_value_of_a_hyperparameter_whoever_makes_it(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"^the values of x are text, numbers or booleans, not None: write 'none' for"):
        make()


EITHER = {
    "type": "OR",
    "child": "c",
    "conditions": [
        {"type": "EQ", "child": "c", "parent": "a", "value": "y"},
        {"type": "EQ", "child": "c", "parent": "b", "value": 1},
    ],
}
BELOW = {"type": "EQ", "child": "b", "parent": "a", "value": "x"}
GRADES = {"name": "o", "type": "ordinal", "sequence": [1, 2, 4], "default_value": 1}
ABOVE = {"type": "GT", "child": "c", "parent": "o", "value": 9}
RATE = {"name": "rate", "type": "uniform_float", "lower": 0, "upper": 1}
THREE = [choice("a", "x", "y"), choice("b", 1, 2), choice("c", 3, 4)]


def test_alternatives_are_read() -> None:
    assert count(read(of(THREE, [EITHER]))) == 2 + 1 + 2 + 2
    assert count(read(of(THREE, [BELOW, EITHER]))) == 2 + 1 + 2  # (x, 1, c), (x, 2), (y, c)


def drawn_conditions(rng: np.random.Generator, names: str) -> list[dict[str, Any]]:
    """For each name but the first none or one condition, on names before it, which may have conditions themselves."""

    def leaf(child: str, parent: str) -> dict[str, Any]:
        kind = str(rng.choice(["EQ", "NEQ", "IN"]))
        value = {"values": [1, 2]} if kind == "IN" else {"value": int(rng.integers(1, 4))}
        return {"type": kind, "child": child, "parent": parent, **value}

    found = []
    for k, child in enumerate(names):
        own = [leaf(child, str(p)) for p in rng.permutation(list(names[:k]))[: rng.integers(4)]]
        kind = str(rng.choice(["AND", "OR"]))
        found += own if len(own) < 2 else [{"type": kind, "child": child, "conditions": own}]
    return found


def test_conditions_on_what_is_not_there_hold_as_configspace_has_it(tmp_path: Path) -> None:
    """Exactly the same networks, of random spaces: NEQ holds where the parent is not there, nothing else does."""
    package = pytest.importorskip("ConfigSpace")
    from ConfigSpace.exceptions import ActiveHyperparameterNotSetError, InactiveHyperparameterSetError

    rng, path, names, spared = np.random.default_rng(0), tmp_path / "space.json", "abcde", 0
    for _ in range(60):
        facts = {
            "hyperparameters": [{**choice(h, 1, 2, 3), "weights": None, "default_value": 1} for h in names],
            "conditions": drawn_conditions(rng, names),
        }
        path.write_text(json.dumps({"name": None, "forbiddens": [], "format_version": 0.4, **facts}))
        try:
            theirs = package.ConfigurationSpace.from_json(path)
        except ActiveHyperparameterNotSetError:  # it weighs NEQ the other way round for its defaults, and stumbles
            continue
        ours = read(path.read_text())
        found = [ours.values(c) for c in ours]
        parents = {c["child"]: c["parent"] for c in facts["conditions"] if c["type"] == "NEQ"}
        spared += any(child in own and parents[child] not in own for own in found for child in parents)
        for values in found[:: 1 + len(found) // 40]:
            package.Configuration(theirs, values=values)
        known = {frozenset(values.items()) for values in found}
        assert len(known) == len(found)
        for configuration in theirs.sample_configuration(60):
            with suppress(InactiveHyperparameterSetError):  # some samples it refuses itself: it weighs c before b
                configuration.check_valid_configuration()
                assert frozenset(plain(dict(configuration)).items()) in known
        assert all(ours.as_flat().at(ours.as_flat().coordinates(c)) == c for c in ours)
    assert spared >= 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "not ConfigSpace's JSON"),
        ("name: a\nhyperparameters: []\n", "not ConfigSpace's JSON: .*; to_json writes it"),
        (of(THREE, [{**BELOW, "parent": "zz"}]), "not ConfigSpace's JSON: 'zz' is missing"),
        (of(THREE, [{**BELOW, "child": "zz"}]), "not ConfigSpace's JSON: 'zz' is missing"),
        (of(THREE, [{**BELOW, "parent": "b", "value": 1}]), "run in a circle"),
        (of([GRADES, choice("c", 1, 2)], [ABOVE]), "c depends on 9, no value of o"),
        (of([{"name": "a", "type": "uniform_float", "lower": 0, "upper": 1, "q": 0.25}]), "a is quantised"),
        ('{"hyperparameters": [{"name": "n", "type": "uniform_floot"}]}', "unknown type of n 'uniform_floot'"),
        (of([*THREE, THREE[0]]), f"two hyper-parameters are called {THREE[0]['name']}"),
        (
            of(THREE, [{"type": "EQ", "child": THREE[1]["name"], "parent": THREE[0]["name"]}]),
            "a condition of .* has no value",
        ),
        (
            of([{"name": "a", "type": "uniform_int", "lower": 0.0, "upper": 3}]),
            "a is an integer, and its range is 0.0 to 3",
        ),
        (of([{"name": "a", "type": "uniform_float", "lower": "0", "upper": 1}]), "a is a number, and its range"),
        (of([{**choice("c", 1, 2), "weights": [1.0]}]), "each choice of c needs a weight of 0 or more, not .1.0."),
        (of([{**choice("c", 1, 2), "scale": "log"}]), "unknown entry of c 'scale'"),
        (of([choice("c", [3, 3], [5, 5])]), "the choices of c are lists: write each as a text"),
        (json.dumps(json.loads(of([choice("c", 1, 2)])) | {"forbidden": []}), "unknown entry of a space 'forbidden'"),
        (json.dumps(json.loads(of([choice("c", 1, 2)])) | {"format_version": 9}), "format 9 of ConfigSpace's JSON"),
        (of([{**choice("c", 1, 2), "weights": [-1.0, 2.0]}]), "each choice of c needs a weight of 0 or more"),
        ("[" * 100_000, "not ConfigSpace's JSON: it nests too deeply"),
        (of([{"name": "a", "type": "uniform_float", "lower": 0.1, "upper": 1, "log": "no"}]), "log of a is true or"),
        (of([choice("a\x1b[2J", 1, 2)]), r"called 'a\\x1b\[2J': a name is one line of printable text"),
        (of([{**choice("a", 1, 2), "name": None}]), "called None: a name is one line"),
        (of([choice("", 1, 2)]), "called '': a name is one line"),
        (of([choice(f"h{number}", 1, 2) for number in range(1_001)]), "at most 1,000 are read"),
        (of(THREE, [{**BELOW, "value": "typo"}]), "b depends on 'typo', no value of a"),
        (of(THREE, [{**BELOW, "type": "IN", "values": "xy"}]), "b depends on 'xy', no value of a"),
        (of([RATE, choice("b", 1, 2)], [{**BELOW, "parent": "rate"}]), "b depends on 'x', no value of rate"),
        (of(THREE, [], [{"type": "IN", "name": "a", "values": ["typo"]}]), "a forbidden clause has .*, no value of a"),
        (
            of([choice("c", 1, 2), choice("d", 1, 2)], [{"type": "GT", "child": "d", "parent": "c", "value": "x"}]),
            "GT compares 1 with 'x': only numbers, or only texts, have an order",
        ),
        (
            of([choice("c", 1, 2), choice("d", "x", "y")], (), [{"type": "RELATION_LT", "left": "c", "right": "d"}]),
            "LT compares 1 with 'x'",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read(text)


@pytest.mark.parametrize("kind", ["AND", "OR"])
def test_the_time_of_reading_does_not_grow_with_the_number_of_paths(kind: str) -> None:
    """Each hyper-parameter depends on both above it: 2²⁵ paths lead to the last two."""
    pairs = [(f"{side}{row}", row) for row in range(26) for side in "ab"]
    below = [
        {"child": name, "type": kind, "conditions": [{**BELOW, "child": name, "parent": f"{s}{row - 1}"} for s in "ab"]}
        for name, row in pairs
        if row
    ]
    space = read(of([choice(name, "x", "y") for name, _ in pairs], below))
    assert {"a0", "b0"} <= set(space.values(space.sample(np.random.default_rng(0))))


def test_a_long_chain_of_conditions_is_read_without_trying_each_path() -> None:
    names = [f"c{number}" for number in range(200)]
    below = [{"type": "EQ", "child": c, "parent": p, "value": 1} for p, c in pairwise(names)]
    space = read(of([choice(name, 1, 2) for name in names], below))
    values = space.values(space.sample(np.random.default_rng(0)))
    assert list(values) == names[: len(values)]


CLAUSES = [
    {"type": "CLAUSE_GT", "name": "b", "value": 3},
    {"type": "CLAUSE_LE", "name": "b", "value": 2},
    {"type": "CLAUSE_LE", "name": "size", "value": "medium"},
    {"type": "CLAUSE_GT", "name": "size", "value": "medium"},
    {"type": "CLAUSE_LT", "name": "down", "value": 4},
    {"type": "CLAUSE_GE", "name": "down", "value": 4},
    {"type": "EQUALS", "name": "size", "value": "small"},
    {
        "type": "OR",
        "clauses": [{"type": "CLAUSE_LT", "name": "b", "value": 2}, {"type": "EQUALS", "name": "a", "value": "y"}],
    },
    {
        "type": "AND",
        "clauses": [
            {"type": "CLAUSE_GE", "name": "size", "value": "medium"},
            {
                "type": "OR",
                "clauses": [
                    {"type": "EQUALS", "name": "down", "value": 8},
                    {"type": "EQUALS", "name": "a", "value": "x"},
                ],
            },
        ],
    },
]
"""Forbidden clauses as ConfigSpace 1.2.2 writes them."""


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses_of_every_comparison_forbid_what_they_forbid_in_the_package(
    clause: dict[str, Any], tmp_path: Path
) -> None:
    """Ordinals are compared by their places, and one alternative is enough, though another one is inactive."""
    package = pytest.importorskip("ConfigSpace")
    facts = json.loads(SPACE)
    facts["hyperparameters"] = [
        {"type": "categorical", "name": "a", "choices": ["x", "y"], "weights": None, "default_value": "x"},
        {"type": "ordinal", "name": "size", "sequence": ["small", "medium", "large"], "default_value": "medium"},
        {"type": "ordinal", "name": "down", "sequence": [8, 4, 2], "default_value": 4},
        {"type": "uniform_int", "name": "b", "lower": 1, "upper": 5, "default_value": 3, "log": False},
    ]
    for entry in facts["hyperparameters"]:
        entry["meta"] = None
    facts["conditions"] = [{"type": "EQ", "child": "b", "parent": "a", "value": "x"}]
    ours = read(json.dumps(facts | {"forbiddens": [clause]}))
    for entry in facts["hyperparameters"]:  # the package wants defaults that are allowed
        entry["default_value"] = dict(next(iter(ours))).get(entry["name"], entry["default_value"])
    (tmp_path / "space.json").write_text(json.dumps(facts | {"forbiddens": []}))
    free = package.ConfigurationSpace.from_json(tmp_path / "space.json")
    (tmp_path / "space.json").write_text(json.dumps(facts | {"forbiddens": [clause]}))
    theirs = package.ConfigurationSpace.from_json(tmp_path / "space.json")
    allowed = set()
    for configuration in read(json.dumps(facts | {"forbiddens": []})):
        values = dict(configuration)
        package.Configuration(free, values=values)  # without the clause all are allowed
        with suppress(package.exceptions.ForbiddenValueError):
            package.Configuration(theirs, values=values)
            allowed.add(frozenset(values.items()))
    assert {frozenset(dict(configuration).items()) for configuration in ours} == allowed


def test_a_clause_that_is_not_known_is_named_at_once() -> None:
    b = {"type": "uniform_int", "name": "b", "lower": 1, "upper": 5, "default_value": 3, "log": False}
    text = json.dumps({"hyperparameters": [b], "forbiddens": [{"type": "CLAUSE_XOR", "name": "b", "value": 3}]})
    with pytest.raises(UsageError, match="unknown kind of forbidden clause 'CLAUSE_XOR'"):
        read(text)


def either(name: str, values: int) -> dict[str, Any]:
    """A forbidden clause with OR about all values of a choice."""
    return {"type": "OR", "clauses": [{"type": "EQUALS", "name": name, "value": value} for value in range(values)]}


def nested(depth: int) -> dict[str, Any]:
    """A forbidden clause of AND in AND, as deep as that, about 200 values in all."""
    one = {"type": "EQUALS", "name": "a", "value": 0}
    return {"type": "AND", "clauses": [nested(depth - 1), one]} if depth else either("a", 200)


@pytest.mark.parametrize(
    "forbidden",
    [
        [{"type": "AND", "clauses": [either("a", 2)] * 40}],
        [{"type": "AND", "clauses": [either(name, 10) for name in "abcd"]}] * 500,
        [{"type": "OR", "clauses": [{"type": "AND", "clauses": [either(name, 10) for name in "abcd"]}] * 500}],
        [{"type": "AND", "clauses": [{"type": "OR", "clauses": []}, *[either(name, 10) for name in "abcd"] * 9]}],
        [nested(300)],
    ],
    ids=["in one clause", "in all clauses", "in an OR", "beside an empty OR", "nested"],
)
def test_a_file_whose_clauses_make_too_many_comparisons_is_refused_at_once(forbidden: list[dict[str, Any]]) -> None:
    """Written out, most of them take gigabytes."""
    text = of([choice(name, *range(200)) for name in "abcd"], (), forbidden)
    with pytest.raises(UsageError, match="make more than 50,000 comparisons"):
        read(text)


def test_too_many_choices_that_may_be_active_without_their_parents_are_refused_at_once() -> None:
    """In each step of a walk all of them wait for the next parent: a sample of this chain would take minutes."""
    names = [f"c{number}" for number in range(400)]
    below = [{"type": "NEQ", "child": c, "parent": p, "value": 1} for p, c in pairwise(names)]
    with pytest.raises(UsageError, match=r"398 hyper-parameters of this space may be active without .* on 399 others"):
        read(of([choice(name, 1, 2) for name in names], below))
    shared = [{"type": "NEQ", "child": name, "parent": names[0], "value": 1} for name in names[1:]]
    space = read(of([choice(name, 1, 2) for name in names], shared))
    assert len(space.values(space.sample(np.random.default_rng(0)))) in (1, 400)


class Counted(int):
    """A number that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return int(self) == other


def test_values_of_comparisons_are_looked_up_and_not_searched_for() -> None:
    many = 2_000
    domain = Domain({"type": "ordinal", "name": "a", "sequence": list(map(Counted, range(many)))})
    condition = {"type": "IN", "child": "b", "parent": "a", "values": list(reversed(range(many)))}
    Counted.compared = 0
    known = prepared(condition, {"a": domain})
    assert all(holds(known, {"a": value}) for value in range(many))
    assert Counted.compared < 5 * many


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_true_one_and_one_as_a_float_are_equal_values(kind: str) -> None:
    parent = {"type": kind, "name": "a", "choices": [0, 1, 2], "sequence": [0, 1, 2]}
    for condition in ({"type": "IN", "values": [False, 1.0]}, {"type": "LE", "value": True}):
        space = read(of([parent, choice("b", 1, 2)], [{**condition, "child": "b", "parent": "a"}]))
        assert {space.values(c)["a"] for c in space if "b" in space.values(c)} == {0, 1}


@pytest.mark.parametrize("values", [[[1]], [{"x": 1}], [None], ["1"]])
def test_what_cannot_be_a_value_is_no_value_of_a_comparison(values: list[object]) -> None:
    condition = {"type": "IN", "child": "b", "parent": "a", "values": values}
    with pytest.raises(UsageError, match=r"b depends on .*, no value of a"):
        read(of([choice("a", 1, 2), choice("b", 1, 2)], [condition]))


def test_a_list_of_rows_is_not_written_as_all_combinations() -> None:
    space = listed([Ordinal("a", (1, 2)), Ordinal("b", (1, 2))], np.array([[0, 0], [1, 1]]))
    with pytest.raises(UsageError, match="a list of rows"):
        write(space)


def test_an_integer_that_decides_on_others_keeps_its_scale() -> None:
    """It becomes an ordinal, as conditions need a list of values."""
    space = ParameterSpace([Integer("depth", 1, 64, log=True), Float("rate", 0.1, 1.0)])
    assert space.as_flat().hyperparameters[0] == Integer("depth", 1, 64, log=True)
    program = Program(lambda: siso_repeat(lambda: dropout(D([0.1, 0.5])), integer(1, 8, log=True, name="depth")))
    (depth,) = (h for h in program.as_flat().hyperparameters if h.name == "depth")
    assert depth == Ordinal("depth", tuple(range(1, 9)), log=True)


def test_a_clause_about_what_is_never_there_is_not_written() -> None:
    """No configuration can have h: ConfigSpace could not read a clause about it."""
    program = read(
        '{"hyperparameters": [{"name": "a", "type": "categorical", "choices": ["x", "y"], "weights": [1, 0]}, '
        '{"name": "b", "type": "categorical", "choices": [0, 1]}, '
        '{"name": "h", "type": "categorical", "choices": [0, 1]}], '
        '"conditions": [{"type": "EQ", "child": "h", "parent": "a", "value": "y"}], '
        '"forbiddens": [{"type": "EQUALS", "name": "h", "value": 1}]}'
    )
    written = write(program)
    assert "h" not in {entry["name"] for entry in json.loads(written)["hyperparameters"]}
    assert count(read(written)) == count(program) == 2


def test_an_order_that_is_lost_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    texts = {"name": "size", "type": "ordinal", "sequence": ["small", "large"]}
    levels = {"name": "units", "type": "ordinal", "sequence": [1, 2]}
    space = read(json.dumps({"hyperparameters": [texts, levels]}))
    space.sample(np.random.default_rng(0))
    (warning,) = caplog.messages
    assert warning == "the values of size are not ascending numbers: read without their order"


@pytest.mark.parametrize("kind", ["normal_float", "normal_int", "beta_float", "beta_int"])
def test_another_distribution_is_refused_by_its_name(kind: str) -> None:
    entry = {"name": "lr", "type": kind, "lower": 0, "upper": 1, "mu": 0.5, "sigma": 1, "default_value": 0.5}
    with pytest.raises(UsageError, match=rf"lr is drawn from another distribution than a uniform one \({kind}\)"):
        read(json.dumps({"hyperparameters": [entry]}))


def test_choices_of_no_weight_are_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    entry = {"name": "boosting", "type": "categorical", "choices": ["gbdt", "dart", "goss"], "weights": [3, 1, 0]}
    space = read(json.dumps({"hyperparameters": [entry]}))
    with pytest.raises(UsageError, match="boosting cannot be 'goss'"):
        space.from_values({"boosting": "goss"})
    assert caplog.messages == ["choices of boosting with a weight of 0 are left out: ['goss']"]


def test_a_choice_given_twice_is_named() -> None:
    entry = {"name": "max_features", "type": "categorical", "choices": [1, 1.0, "sqrt"]}
    with pytest.raises(UsageError, match="max_features has a choice twice"):
        read(json.dumps({"hyperparameters": [entry]}))
