from __future__ import annotations

import pytest

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces import AsFlat, AsGraph, Categorical, GridSpace
from nasbench.methods import METHODS, MethodSpec


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
        ("evolution:population=many", "must be of type int"),
        ("evolution:population=2.5", "must be of type int"),
        ("random:x=1", "unknown option of random 'x'; allowed: none"),
        ("", "unknown method"),
    ],
)
def test_wrong_specs_are_refused_with_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        MethodSpec.parse(text)


def test_a_method_that_needs_a_view_does_not_fit_a_space_without_it() -> None:
    class Graphic(METHODS.get("random")):  # type: ignore[misc]
        needs = (AsGraph, AsFlat)

    space = GridSpace([Categorical("a", (1, 2))])
    assert Graphic.misfit(space) == "needs a space with as_graph"
    assert METHODS.get("random").misfit(space) == ""
