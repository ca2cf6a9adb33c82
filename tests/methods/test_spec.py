from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator

from nasbench.base.options import description, option_defaults, option_meanings
from nasbench.benchmarks import Metric, UsageError, open_benchmark
from nasbench.benchmarks.spaces import AsFlat, AsGraph, Categorical, GridSpace
from nasbench.benchmarks.spaces.views import AsTokens
from nasbench.methods import METHODS, About, Method, MethodSpec, Needs, Problem
from nasbench.methods.about import FORMER
from nasbench.methods.random_search import RandomSearch
from tests.conftest import Lend, Printed


def test_defaults_are_left_out_of_the_canonical_label() -> None:
    spec = MethodSpec.parse("evolution:tournament=5,population=100")
    assert spec.label == "evolution:tournament=5"
    assert spec.parameters() == (("population", 100), ("tournament", 5))
    assert MethodSpec.parse(spec.label) == spec
    assert MethodSpec.parse("evolution:population=7,tournament=5").label == "evolution:population=7,tournament=5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("evolutoin", "did you mean evolution"),
        ("evolution:populaton=3", "did you mean population"),
        ("evolution:population", "write evolution:option=value"),
        ("evolution:population=many", "must be a whole number, not"),
        ("evolution:population=2.5", "must be a whole number, not"),
        ("evolution:population=20,population=100", "option population of evolution is given twice"),
        ("evolution:population=100,population=100", "option population of evolution is given twice"),
        ("mcts:exploration=much", "must be a number, not"),
        ("mcts:bisection=much", "must be true or false, not"),
        ("random:x=1", "unknown option of random 'x'; allowed: none"),
        ("", "unknown method"),
    ],
)
def test_wrong_specs_are_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MethodSpec.parse(text)


def test_a_method_that_needs_a_view_does_not_fit_a_space_without_it() -> None:
    class Graphic(METHODS.get("random")):  # type: ignore[misc]
        needs = replace(METHODS.get("random").needs, views=(AsGraph, AsFlat))

    problem = Problem(GridSpace([Categorical("a", (1, 2))]), (Metric("loss", ""),))
    assert Graphic.needs.misfit(problem, {}) == "needs a space whose configurations are neural networks, or contain one"
    Graphic.needs = Needs(views=(AsGraph, AsTokens))
    assert Graphic.needs.misfit(problem, {}).endswith(
        "or contain one and a space that says in its own words what a linear model should see of a configuration"
    )
    assert METHODS.get("random").needs.misfit(problem, {}) == ""


OURS = [name for name in METHODS.names() if METHODS.get(name).__module__.startswith("nasbench.methods")]


@pytest.mark.parametrize("name", OURS)
def test_every_option_is_explained_and_nothing_else(name: str) -> None:
    method = METHODS.get(name)
    meanings = option_meanings(method)
    assert [option for option, meaning in meanings.items() if len(meaning) < 10] == []
    assert list(meanings) == list(option_defaults(method))
    assert "Options:" not in description(method)


@pytest.mark.parametrize("name", OURS)
def test_every_method_names_its_paper_or_says_that_there_is_none(name: str) -> None:
    source = METHODS.get(name).about.source
    assert source.startswith("No paper: ") or re.search(r"\. [A-Z].+\b(19|20)\d\d\.", source), source
    assert source.endswith(".")


def test_what_an_option_means_is_inherited_and_can_be_said_anew() -> None:
    class Parent(METHODS.get("random")):  # type: ignore[misc]
        """One line.

        Options:
            depth: how deep it goes,
                in steps.
            width: not an option of the child.
        """

    class Child(Parent):
        """Another line.

        More of it.

        Options:
            speed: how fast.
        """

        def __init__(self, problem: Problem, rng: Generator, *, depth: int = 1, speed: int = 2, bare: int = 3) -> None:
            super().__init__(problem, rng)

    assert option_meanings(Child) == {"depth": "how deep it goes, in steps.", "speed": "how fast.", "bare": ""}
    assert description(Child) == "Another line.\n\nMore of it."
    Child.__doc__ = "Another line.\n\nOptions:\n    depth: shallow.\n"
    assert option_meanings(Child)["depth"] == "shallow."


@pytest.mark.parametrize("outer", ["parego", "warm-start"])
def test_the_method_that_another_searches_by_is_asked_with_all_its_options_whether_it_fits(
    lend: Lend, outer: str
) -> None:
    class Deep(Method):
        about = About(learns_from_all=True)
        needs = Needs(unless=lambda problem, options: f"needs space for a depth of {options['depth']}")

        def __init__(self, problem: Problem, rng: Generator, *, depth: int = 3) -> None: ...

    lend(METHODS, "deep", Deep)
    spec = MethodSpec.parse(f"{outer}:by=deep" + (",knowledge=good" if outer == "warm-start" else ""))
    bench = open_benchmark("nb201-cifar10")
    objectives = tuple(m for m in bench.metrics if m.name in ("x-valid-error@200", "latency"))
    problem = Problem.of(bench, objectives=objectives if outer == "parego" else ())
    assert spec.misfit(problem).endswith("deep, which needs space for a depth of 3")


def test_what_holds_of_the_method_that_another_searches_by_holds_of_both() -> None:
    by_default, by_smbo = MethodSpec("warm-start"), MethodSpec.parse("warm-start:by=smbo")
    own, c_tpe, smbo = (METHODS.get(name) for name in ("warm-start", "c-tpe", "smbo"))
    assert by_default.version == own.about.version + c_tpe.about.version
    assert by_smbo.version == own.about.version + smbo.about.version
    assert (by_default.tuned_on, by_smbo.tuned_on) == (
        tuple(sorted(c_tpe.about.tuned_on)),
        tuple(sorted(smbo.about.tuned_on)),
    )
    assert MethodSpec.parse("parego:by=smbo").tuned_on == by_smbo.tuned_on
    assert MethodSpec.parse("parego:by=rf-cei").repeatable is METHODS.get("rf-cei").about.repeatable
    assert MethodSpec("parego").repeatable is METHODS.get("parego").about.repeatable
    assert (MethodSpec("smbo").version, MethodSpec("smbo").tuned_on) == (smbo.about.version, smbo.about.tuned_on)


@pytest.mark.parametrize(
    ("kind", "name", "value", "what"),
    [
        (About, "tuned_on", "nas-bench-201", "a tuple of names"),  # its letters would be taken for spaces
        (About, "tuned_on", (1,), "a tuple of names"),
        (About, "version", "1.0", "a whole number"),
        (About, "seconds", "fast", "a number"),
        (About, "seconds", math.nan, "0 or more"),
        (About, "repeatable", "anywhere", "one of Repeatable.ANY_PROCESSOR"),
        (About, "initial", "population", "a function of the options"),
        (About, "pinned", ("path",), "a function of the options"),
        (Needs, "views", AsFlat, "a tuple of protocols"),
        (Needs, "unless", "never", "a function of problem and options"),
        (Needs, "several", "no", "True or False"),
    ],
)
def test_facts_of_a_method_with_another_type_are_refused(
    kind: type[About | Needs], name: str, value: object, what: str
) -> None:
    with pytest.raises(UsageError, match=f"{name} of a method.* must be {what}"):
        kind(**{name: value})


@pytest.mark.parametrize("name", FORMER)
def test_a_fact_that_nobody_would_read_is_refused(name: str) -> None:
    wrong = type("Wrong", (RandomSearch,), {name: 2})
    with pytest.raises(UsageError, match=f"{name} of Wrong: a method states its facts as `about = About"):
        METHODS.add("wrong", wrong)
    assert "wrong" not in METHODS.names()


@pytest.mark.parametrize("name", ["ask", "tell"])
def test_an_asynchronous_ask_or_tell_is_refused(name: str) -> None:
    async def asynchronous(*_: object) -> None: ...

    with pytest.raises(UsageError, match=f"{name} of Wrong must be a function, not `async def {name}`"):
        METHODS.add("wrong", type("Wrong", (RandomSearch,), {name: asynchronous}))


def test_facts_in_another_form_are_refused() -> None:
    with pytest.raises(UsageError, match=r"needs of Wrong must be Needs\(…\), not \(\)"):
        METHODS.add("wrong", type("Wrong", (RandomSearch,), {"needs": ()}))


@pytest.mark.parametrize(("kind", "default"), [(float, math.nan), (int, np.int64(5)), (int, 0.5), (str, None)])
def test_an_option_s_default_is_a_value_of_its_type(kind: type, default: object) -> None:
    """Runs with NaN would never be found again, and JSON has no numbers of NumPy's types."""

    class Odd(RandomSearch):
        def __init__(self, problem: Problem, rng: Generator, *, rate: Any = default) -> None:
            super().__init__(problem, rng)

    Odd.__init__.__annotations__["rate"] = kind
    with pytest.raises(UsageError, match=r"option 'rate' of Odd \(test_spec\.py:\d+\) needs one of the types int"):
        option_defaults(Odd)


def test_an_option_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(UsageError, match="option alpha of smbo must be"):
        MethodSpec.parse("smbo:alpha=nan")


def test_only_methods_that_say_so_may_ask_who_knows_the_task(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    """Every method may know what is known of other tasks."""

    class Curious(RandomSearch):
        seen: ClassVar[list[Problem]] = []

        def __init__(self, problem: Problem, rng: Generator) -> None:
            super().__init__(problem, rng)
            self.seen.append(problem)

    lend(METHODS, "curious", Curious)
    problem = Problem.of(open_benchmark("nb201-cifar10"))
    assert problem.experts is not None
    for needs in (Needs(), Needs(knowledge=True), Needs(experts=True)):
        monkeypatch.setattr(Curious, "needs", needs)
        MethodSpec("curious").build(problem, np.random.default_rng(0))
    given = [(p.knowledge is not None, p.experts is not None) for p in Curious.seen]
    assert given == [(False, False), (True, False), (False, True)]
    monkeypatch.setattr(Curious, "needs", Needs())
    monkeypatch.setattr(Curious, "about", About(learns_from_all=True))
    MethodSpec.parse("warm-start:by=curious,knowledge=good").build(problem, np.random.default_rng(0))
    assert Curious.seen[-1].experts is None
    monkeypatch.setattr(Curious, "about", About(by="by"))
    monkeypatch.setattr(MethodSpec, "values", lambda self: {"by": "c-tpe"})
    MethodSpec("curious").build(problem, np.random.default_rng(0))
    assert Curious.seen[-1].experts is None
    monkeypatch.undo()
    asking = {name for name in METHODS.names() if METHODS.get(name).needs.experts} - {"curious"}
    assert asking == {"c-tpe", "c-motpe", "priorband", "warm-start"}


def test_who_searches_by_a_third_partys_method_is_a_third_partys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METHODS, "is_foreign", lambda name: name == "smbo")
    assert MethodSpec.parse("warm-start:by=smbo").is_foreign
    assert MethodSpec("smbo").is_foreign
    assert not MethodSpec("warm-start").is_foreign
    assert not MethodSpec("random").is_foreign


def test_a_method_whose_annotations_cannot_be_evaluated_hides_no_other(
    nasbench: Callable[..., Printed], lend: Lend
) -> None:
    class Careless(RandomSearch):
        """Careless."""

        def __init__(self, problem: Missing, rng: Generator, *, start: int = 1) -> None:  # type: ignore[name-defined] # noqa: F821
            super().__init__(problem, rng)

    lend(METHODS, "careless", Careless)
    listed = nasbench("list", "methods")
    assert (listed.code, "evolution" in listed.out) == (0, True)
    said = " ".join(listed.out.split())
    assert re.search(r"the annotations of the constructor of Careless \(\S+\.py:\d+\) cannot be evaluated", said)
    with pytest.raises(UsageError, match="import their types at run time"):
        MethodSpec.parse("careless")


def test_what_is_no_class_of_methods_is_told_what_is_expected() -> None:
    def search() -> None: ...

    for wrong in (search, type("Plain", (), {})):
        with pytest.raises(UsageError, match="is no method: a class that extends"):
            METHODS.add("wrong", wrong)  # type: ignore[arg-type]


def test_an_option_that_is_not_keyword_only_is_named() -> None:
    class Positional(RandomSearch):
        def __init__(self, problem: Problem, rng: Generator, patience: int = 3) -> None:
            super().__init__(problem, rng)

    with pytest.raises(
        UsageError, match=r"'patience' of Positional is no option: in its constructor, write `\*` before"
    ):
        METHODS.add("wrong", Positional)


def test_a_file_that_registers_nothing_is_named() -> None:
    with pytest.raises(UsageError, match=r"unknown method 'belief': .*belief\.py registers none of this name"):
        METHODS.get("belief")


def test_options_that_name_files_identify_a_run_unless_something_else_does() -> None:
    class Reads(RandomSearch):
        about = About(files=("path",))

        def __init__(self, problem: Problem, rng: Generator, *, path: str = "", digest: str = "") -> None:
            super().__init__(problem, rng)

    class Pinned(Reads):
        about = About(files=("path",), pinned=lambda options: {"digest": f"of {options['path']}"})

    with METHODS.temporarily("reads", Reads), METHODS.temporarily("pinned", Pinned):
        for text in ("reads:path=a", "reads:path=b"):
            assert MethodSpec.of(text).label == text
            assert ("path", text[-1]) in MethodSpec.of(text).parameters()
        spec = MethodSpec.of("pinned:path=a")
        assert spec.label == "pinned:digest=of a"
        assert spec.text == "pinned:digest=of a,path=a"
        assert dict(spec.parameters()) == {"digest": "of a"}
        assert dict(spec.options)["path"] == "a"  # what builds it
