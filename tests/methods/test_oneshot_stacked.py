"""Searches whose passes are made as one: each is what it is alone, in double precision to ten digits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks.spaces.cells.searchable import Searchable  # noqa: E402
from nasbench.benchmarks.training.lockstep import Lockstep  # noqa: E402
from nasbench.methods import METHODS, MethodSpec  # noqa: E402
from nasbench.methods.oneshot.search import Search  # noqa: E402
from nasbench.methods.oneshot.settings import Estimate, Settings  # noqa: E402
from tests.methods.test_oneshot_search import SHORT, digits, problem  # noqa: E402

BRIEF = {name: replace(settings, stop=2, theta=1) for name, settings in SHORT.items()}
RARE = {
    "first order": Settings("darts", epochs=2, stop=2, order=1),
    "scripted": replace(BRIEF["zo-darts++"], matched=False),
    "robust": replace(BRIEF["zo-darts+"], estimate=Estimate(1.0, True, 2, True, True)),
    "nothing skipped": replace(BRIEF["zo-darts+"], exact_skip=False),
}
SLOW = ("darts", "milenas", "zo-darts", "zo-darts++", *RARE)


@pytest.fixture
def space() -> Searchable:
    """In double precision."""
    found = digits()
    images: Any = found.images()
    images._scale, images._shift = images._scale.double(), images._shift.double()
    torch.set_default_dtype(torch.float64)
    yield found
    torch.set_default_dtype(torch.float32)


def numbers(search: Search) -> list[np.ndarray[Any, Any]]:
    """All that a search has come to."""
    epochs = [[e.train_loss, e.val_loss, e.parameters, e.alive, *np.ravel(list(e.updates))] for e in search.log]
    shares = [np.ravel(part) for epoch in search.log for part in epoch.probabilities]
    tensors = [*search.network.parameters(), *search.network.buffers(), *search.weights.momentum()]
    return [np.concatenate(part) for part in (epochs, shares, [tensor.detach().numpy().ravel() for tensor in tensors])]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in (*BRIEF, *RARE)]
)
def test_searches_made_as_one_are_those_made_alone(name: str, space: Searchable, made: list[int]) -> None:
    alone, together = ([Search(space, (BRIEF | RARE)[name], seed) for seed in range(2)] for _ in range(2))
    for search in alone:
        search.run()
    assert not made
    assert Lockstep([search.run for search in together]).run() == [None] * 2
    assert set(made) == {2}
    for one, two in zip(alone, together, strict=True):
        for ours, theirs in zip(numbers(one), numbers(two), strict=True):
            assert theirs == pytest.approx(ours, rel=1e-10, abs=1e-10)
    assert [epoch.stacked for epoch in together[0].log] == [2] * 2
    assert {epoch.stacked for epoch in alone[0].log} == {1}


@pytest.mark.slow
def test_what_cannot_be_stacked_goes_side_by_side(space: Searchable, made: list[int]) -> None:
    settings = replace(BRIEF["zo-darts++"], shared=True)
    alone, together = ([Search(space, settings, seed) for seed in range(2)] for _ in range(2))
    for search in alone:
        search.run()
    assert Lockstep([search.run for search in together]).run() == [None] * 2
    assert not made
    assert {epoch.stacked for search in together for epoch in search.log} == {1}
    for one, two in zip(alone, together, strict=True):
        for ours, theirs in zip(numbers(one), numbers(two), strict=True):
            assert theirs.tolist() == ours.tolist()


@pytest.mark.slow
def test_searches_at_different_epochs_make_the_passes_as_one_that_they_can(
    space: Searchable, made: list[int], tmp_path: Path
) -> None:
    settings = BRIEF["zo-darts++"]
    alone = [Search(space, settings, seed) for seed in range(3)]
    for search in alone:
        search.run()
    Search(space, replace(settings, stop=1), 0).run(tmp_path / "0")
    searches = [Search(space, settings, seed) for seed in range(3)]
    assert Lockstep([partial(s.run, tmp_path / str(s.seed)) for s in searches]).run() == [None] * 3
    assert set(made) == {2}
    assert [epoch.stacked for epoch in searches[0].log] == [1, 1]
    assert [epoch.stacked for epoch in searches[1].log] == [2, 2]
    for one, two in zip(alone, searches, strict=True):
        for ours, theirs in zip(numbers(one), numbers(two), strict=True):
            assert theirs == pytest.approx(ours, rel=1e-10, abs=1e-10)


def test_a_run_finds_what_was_searched_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space, spec = digits(), MethodSpec.parse("zo-darts+:epochs=2,stop=2,T=2")
    states = [tmp_path / "a", tmp_path / "b"]

    def built() -> list[Any]:
        rngs = map(np.random.default_rng, (5, 6))
        return [spec.build(problem(space, state=own), rng) for own, rng in zip(states, rngs, strict=True)]

    spec.method.begin_together(built())
    monkeypatch.setattr(Search, "_epoch", lambda self, epoch: pytest.fail("it trains again"))
    for own in built():
        own.ask()
        assert own.unpaid > 0
        assert {row.value for row in own.log if row.quantity == "stacked"} == {2}
        assert own.unpaid == pytest.approx(sum(row.value for row in own.log if row.quantity == "seconds"))


@pytest.mark.slow
def test_a_search_that_diverges_leaves_the_others_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    space, spec = digits(), MethodSpec.parse("milenas:epochs=3")
    sound = Search._sound

    def unsound(self: Search, epoch: Any) -> Any:
        if self.seed == bad and epoch.epoch == 1:
            raise RuntimeError("the search diverged in epoch 2")
        return sound(self, epoch)

    methods = [spec.build(problem(space, state=tmp_path / str(k)), np.random.default_rng(k)) for k in range(3)]
    bad = methods[1]._seed  # type: ignore[attr-defined]
    monkeypatch.setattr(Search, "_sound", unsound)
    spec.method.begin_together(methods)
    assert [len(own._epochs) for own in methods] == [3, 1, 3]  # type: ignore[attr-defined]
    assert "continued alone: the search diverged" in caplog.text


def test_methods_that_train_a_supernet_by_its_gradient_stack() -> None:
    stacks = {name for name in METHODS.names() if METHODS.get(name).stacks}
    assert stacks == {"darts", "milenas", "zo-darts", "zo-darts+", "zo-darts++"}
