"""Searches as wholes, on a few of scikit-learn's digits: resumed, pulled into bounds, drawn from, refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.base.errors import UsageError  # noqa: E402
from nasbench.benchmarks import Bound, Bounds, Metric  # noqa: E402
from nasbench.benchmarks.images.digits import read  # noqa: E402
from nasbench.benchmarks.spaces.cells import Stage, choices_of, dead_stages, parameters_paper, size, stages_of  # noqa: E402
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable  # noqa: E402
from nasbench.benchmarks.training.augmentation import Resident  # noqa: E402
from nasbench.benchmarks.training.recipes import RECIPES  # noqa: E402
from nasbench.benchmarks.training.state import keep, kept_in  # noqa: E402
from nasbench.methods import METHODS, MethodSpec  # noqa: E402
from nasbench.methods.oneshot import one_shot, search  # noqa: E402
from nasbench.methods.oneshot.distributions import Logits, Probabilities  # noqa: E402
from nasbench.methods.oneshot.search import Search, SearchEpoch  # noqa: E402
from nasbench.methods.oneshot.settings import GradientEstimate, Settings  # noqa: E402
from nasbench.methods.oneshot.supernet import Supernet  # noqa: E402
from nasbench.methods.oneshot.weights import Weights  # noqa: E402
from nasbench.methods.oneshot.zeroth_order import Scripted, ZerothOrder  # noqa: E402
from tests.methods.small_searches import DIGITS, SHORT, digits, problem  # noqa: E402


@pytest.fixture(scope="module")
def space() -> Searchable:
    return digits()


def shorter(name: str, epochs: int, **changes: Any) -> Settings:
    """A search of fewer epochs; smaller kernels join in at the second."""
    return replace(SHORT[name], epochs=epochs, stop=epochs, theta=1, **changes)


def entropy(epoch: SearchEpoch) -> float:
    p = np.array(epoch.probabilities[0])
    return float(-(p * np.log(np.where(p > 0, p, 1))).sum(1).mean())


def facts(log: list[SearchEpoch]) -> list[SearchEpoch]:
    """What does not depend on the machine's mood."""
    return [epoch._replace(seconds=0.0) for epoch in log]


@pytest.mark.slow
def test_annealed_sparsemax_becomes_sharper_than_softmax(space: Searchable) -> None:
    found = {}
    for name, settings in SHORT.items():
        search = Search(space, settings, seed=1)
        search.run()
        assert len(search.log) == 4
        assert all(np.isfinite([e.train_loss, e.val_loss, e.parameters]).all() for e in search.log)
        assert search.log[-1].train_loss < search.log[0].train_loss
        found[name] = entropy(search.log[-1])
    assert found["zo-darts+"] < found["zo-darts"]
    assert found["zo-darts++"] < found["zo-darts"]
    assert [len(e.probabilities) for e in search.log] == [1, 1, 3, 3]


@pytest.mark.parametrize("name", SHORT)
def test_the_loss_of_training_is_that_of_the_weights_own_steps(
    name: str, space: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of a second copy, nor of weights that are moved aside for a difference."""
    search, own, step = Search(space, SHORT[name], seed=1), list[float](), Weights.step

    def noted(self: Weights, loss: torch.Tensor, *rest: Any) -> None:
        if self is search.weights:
            own.append(float(loss.detach()))
        step(self, loss, *rest)

    monkeypatch.setattr(Weights, "step", noted)
    search._begin()
    assert search._epoch(0).train_loss == pytest.approx(np.mean(own))
    assert len(own) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["darts", "zo-darts", "zo-darts+", "milenas", "zo-darts++"])
def test_an_interrupted_search_goes_on_to_the_same_bits(name: str, space: Searchable, tmp_path: Path) -> None:
    """Interrupted after every epoch, those before, at and after θ among them."""
    settings = shorter(name, 3)
    whole = Search(space, settings, seed=3)
    whole.run()
    state = tmp_path / "run.method.state"

    class Killed(Exception):
        pass

    def kill(_: SearchEpoch) -> None:
        raise Killed

    for number in range(3):
        part = Search(space, settings, seed=3)
        with pytest.raises(Killed):
            part.run(state, kill)
        assert len(part.log) == number + 1
    last = Search(space, settings, seed=3)
    last.run(state)
    assert facts(last.log) == facts(whole.log)
    assert last.earlier == pytest.approx(sum(epoch.seconds for epoch in last.log))


def test_a_search_whose_state_is_damaged_begins_anew_and_says_so(
    space: Searchable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = shorter("milenas", 1)
    whole = Search(space, settings, seed=3)
    state = tmp_path / "run.method.state"
    whole.run(state)
    content = state.read_bytes()
    for place in (0, len(content) // 2):
        changed = bytearray(content)
        changed[place] ^= 4
        state.write_bytes(changed)
        again = Search(space, settings, seed=3)
        again.run(state)
        assert facts(again.log) == facts(whole.log)
        assert again.earlier == 0  # nothing was taken over
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert set(said) == {next(line for line in said if line.startswith(f"{state} cannot be used"))}


def test_a_search_whose_state_is_of_another_version_begins_anew_and_says_so(
    space: Searchable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings, state = shorter("milenas", 1), tmp_path / "run.method.state"
    whole = Search(space, settings, seed=3)
    whole.run(state)
    kept = kept_in(state)
    assert kept is not None
    keep({name: value for name, value in kept.items() if name != "first"}, state)
    again = Search(space, settings, seed=3)
    again.run(state)
    assert facts(again.log) == facts(whole.log)
    assert again.earlier == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"{state} is of another version: the search begins anew"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["darts", "zo-darts++"])
def test_a_search_and_its_log_need_no_images_but_the_training_ones(name: str, space: Searchable) -> None:
    """Without the validation and the test split it is the same search: nothing in it was measured on them."""
    train = read()["train"]
    alone = Resident(
        {"train": train._replace(images=train.images[:64], labels=train.labels[:64])}, False, torch.device("cpu")
    )
    settings = shorter(name, 2 if name == "zo-darts++" else 1)
    with_all, without = (Search(own, settings, seed=3) for own in (space, replace(space, images=lambda: alone)))
    with_all.run()
    without.run()
    assert facts(with_all.log) == facts(without.log)


@pytest.mark.slow
def test_the_scripts_dynamics_resume_too(space: Searchable, tmp_path: Path) -> None:
    """What is left of the last architecture gradient is part of their state."""
    settings = shorter("zo-darts++", 3, matched=False)
    whole = Search(space, settings, seed=3)
    whole.run()
    first = Search(space, replace(settings, stop=2), seed=3)
    first.run(tmp_path / "state")
    second = Search(space, settings, seed=3)
    second.run(tmp_path / "state")
    assert facts(second.log) == facts(whole.log)


def test_the_weights_and_the_architecture_see_different_halves_of_the_training_images(
    space: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(space, SHORT["zo-darts"], seed=0)
    search._begin()
    batches, asked = search.data.batches, []

    def noted(size: int, mix: float | None, rng: np.random.Generator, rows: np.ndarray) -> Iterator[LabelledImages]:
        asked.append(set(rows.tolist()))
        return batches(size, mix, rng, rows)

    monkeypatch.setattr(search.data, "batches", noted)
    for train, val in search._pairs(0):
        assert len(train.labels) == len(val.labels) == 8
    of_weights, of_architecture = asked
    assert len(of_weights) == 32
    assert of_weights == set(search._halves[0])
    assert of_architecture <= set(range(64)) - of_weights
    assert of_weights != set(range(32))  # images may be sorted by their classes


def test_the_weights_rate_follows_a_cosine_over_all_epochs(space: Searchable) -> None:
    from torch.optim.lr_scheduler import CosineAnnealingLR

    recipe = RECIPES["search"]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], recipe.learning_rate)
    scheduler = CosineAnnealingLR(optimizer, 4, recipe.final_learning_rate)
    search = Search(space, replace(SHORT["milenas"], stop=3), seed=0)
    search._begin()
    for epoch in range(3):
        search._epoch(epoch)
        assert search.weights.rate == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()


def test_the_architecture_begins_small_and_has_the_papers_adam(space: Searchable) -> None:
    """Liu et al., 2019: Adam with betas 0.5 and 0.999, weight decay 1e-3; its code draws α from 1e-3 N(0, 1)."""
    search = Search(space, SHORT["zo-darts"], seed=0)
    search._begin()
    assert 0.5e-3 < float(search.logits.operations.detach().std()) < 2e-3
    defaults = search._adam.defaults
    assert (defaults["lr"], defaults["betas"], defaults["weight_decay"]) == (0.05, (0.5, 0.999), 1e-3)


def test_a_temperature_makes_the_distributions_of_later_epochs_sharper(space: Searchable) -> None:
    search = Search(space, SHORT["zo-darts+"], seed=0)
    search._begin()
    logits = Logits(torch.linspace(-1, 1, 30).reshape(6, 5))
    most = []
    for search._now in (0, 2):
        most.append(float(search._probabilities(logits).operations.max()))
    assert most[0] < most[1]


def test_an_incomplete_window_does_not_go_on_in_the_next_epoch(space: Searchable) -> None:
    """Four batches make one window of three; the fourth batch is left out, twice."""
    search = Search(space, replace(SHORT["zo-darts"], window=3), seed=0)
    search._begin()
    assert [len(search._epoch(epoch).updates) for epoch in range(2)] == [1, 1]


@pytest.mark.parametrize(("name", "order"), [("darts", ["α", "w"]), ("milenas", ["w", "α"])])
def test_who_moves_first(name: str, order: list[str], space: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    """DARTS updates the architecture before the weights (algorithm 1), MiLeNAS after them (algorithm 1)."""
    search, moved = Search(space, SHORT[name], seed=0), []
    search._begin()
    step, descend = search._adam.step, search.rule.descend
    monkeypatch.setattr(search._adam, "step", lambda: moved.append("α") or step())
    monkeypatch.setattr(search.rule, "descend", lambda *batch: moved.append("w") or descend(*batch))
    search._stepped(0)
    assert moved == 4 * order


@pytest.mark.parametrize("metric", ["parameters", "parameters_paper"])
def test_constraints_on_the_size_become_bounds_of_the_penalty(metric: str, space: Searchable) -> None:
    size = Metric(metric, "", cheap=True)
    bounds = (Bound(size, low=3000.0), Bound(size, high=5000.0))
    method = MethodSpec.parse("zo-darts++:T=2").build(problem(space, constraints=bounds), np.random.default_rng(0))
    assert method._settings.bounds == (3000.0, 5000.0)
    assert method._settings.counts_as_paper == (metric == "parameters_paper")


def test_the_penalty_is_there_outside_the_bounds_and_from_theta_on(space: Searchable) -> None:
    """Equation 16: λ times what lies outside, in millions, with λ = 15 / τ."""
    uniform = Probabilities(torch.full((18, 5), 0.2), torch.full((18, 3), 1 / 3), torch.full((3, 3), 1 / 3))
    free = Search(space, SHORT["zo-darts++"], seed=0)
    free._begin()
    expected = float(free.expected(uniform))
    cases = {(0.0, expected - 500): 500, (expected + 800, 1e9): 800, (expected - 1, expected + 1): 0}
    for bounds, outside in cases.items():
        search = Search(space, replace(SHORT["zo-darts++"], bounds=bounds), seed=0)
        search._begin()
        for epoch in range(4):
            search._now = epoch
            temperature = 1.5 * 0.75**epoch
            wanted = 15 / temperature * outside / 1e6 if epoch >= 2 else 0.0
            assert float(search.penalty(uniform)) == pytest.approx(wanted, rel=1e-4, abs=1e-12)


def test_bounds_pull_the_expected_size(space: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thousand times λ: these networks have thousands of parameters, and the slope is per million."""
    monkeypatch.setattr(search, "_PENALTY", 1.5e4)

    def end(bounds: tuple[float, float]) -> float:
        settings = shorter("zo-darts++", 2, bounds=bounds, alpha_rate=0.5, window=1)
        own = Search(space, settings, seed=0)
        own.run()
        return own.log[-1].parameters

    small, large = end((-1e8, -9e7)), end((9e7, 1e8))
    assert small < 0.7 * large


def test_memory_that_there_is_not_at_theta_is_named(space: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    def grow(*_: object) -> None:
        raise RuntimeError("not enough memory: you tried to allocate 1 TB")

    monkeypatch.setattr(Supernet, "grow", grow)
    search = Search(space, shorter("zo-darts++", 2), seed=0)
    with pytest.raises(RuntimeError, match=r"could not join in at epoch 1 \(theta\): not enough memory.*shared_mask"):
        search.run()
    assert len(search.log) == 1


def test_an_illegal_memory_access_at_theta_is_no_lack_of_memory(
    space: Searchable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grow(*_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(Supernet, "grow", grow)
    with pytest.raises(RuntimeError, match=r"^CUDA error: an illegal memory access was encountered$"):
        Search(space, shorter("zo-darts++", 2), seed=0).run()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn"])
def test_a_torn_state_is_as_none(content: bytes, space: Searchable, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_bytes(content)
    search = Search(space, replace(SHORT["milenas"], epochs=1, stop=1), seed=0)
    search.run(state)
    assert len(search.log) == 1
    assert search.earlier == 0.0


def test_a_state_that_cannot_be_kept_does_not_end_a_search(space: Searchable, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    search = Search(space, replace(SHORT["milenas"], epochs=1, stop=1), seed=0)
    search.run(tmp_path / "file" / "state")
    assert len(search.log) == 1


@pytest.mark.parametrize("name", ["darts", "zo-darts+"])
def test_divergence_is_named_with_its_epoch(name: str, space: Searchable) -> None:
    search = Search(space, replace(SHORT[name], alpha_rate=1e38), seed=0)
    with pytest.raises(RuntimeError, match="the search diverged in epoch 1: its losses are"):
        search.run()


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_how_much_of_the_first_direction_is_kept_is_logged(name: str, space: Searchable) -> None:
    """The cosine of α now and after the first epoch; with softmax α is known up to a constant of each row."""
    own = Search(space, shorter(name, 2, alpha_rate=1e-9), seed=3)
    own.run()
    assert [e.kept for e in own.log] == pytest.approx([1.0] * 2)
    moving = Search(space, shorter(name, 2, alpha_rate=0.5), seed=3)
    moving.run()
    assert moving.log[0].kept == pytest.approx(1)
    assert moving.log[-1].kept < 1 - 1e-6
    now = moving.logits.operations.detach().flatten().double().numpy()
    first = moving._first.numpy()
    assert moving.log[-1].kept == pytest.approx(now @ first / np.linalg.norm(now) / np.linalg.norm(first))


def test_adam_begins_anew_after_the_first_epoch_where_asked(space: Searchable) -> None:
    for rewarmed, steps in ((False, 6.0), (True, 4.0)):  # two windows in each of three epochs
        own = Search(space, shorter("zo-darts", 3, estimate=GradientEstimate(rewarmed=rewarmed)), seed=3)
        own.run()
        assert own._adam.state[own.logits.operations]["step"].item() == steps


def test_a_window_that_leaves_batches_out_is_said_once(space: Searchable, caplog: pytest.LogCaptureFixture) -> None:
    one_shot._warn_of_unused.cache_clear()
    own = replace(space, name="breast-like", training_images=2 * 273, batch=16)
    for _ in range(2):
        for window in (8, 9):
            MethodSpec.parse(f"zo-darts:T={window}").build(problem(own), np.random.default_rng(0))
    (said,) = [record.getMessage() for record in caplog.records]
    assert "T=9 leaves 8 of the 17 batches of an epoch of breast-like unused and gives one update" in said
    assert "T=8 leaves 1 and gives 2" in said


def test_a_search_touches_no_global_stream(space: Searchable) -> None:
    before, numpys = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index,union-attr]
    Search(space, shorter("zo-darts++", 2), seed=0).run()
    assert torch.equal(torch.get_rng_state(), before)
    assert np.random.get_state()[1].tolist() == numpys  # type: ignore[index,union-attr]


@pytest.mark.parametrize(("estimate", "moves"), [(ZerothOrder, True), (Scripted, False)])
def test_who_trains_the_small_kernels(estimate: type[ZerothOrder], moves: bool, space: Searchable) -> None:
    """The scripts leave them as they are in w, and train them in w̃ only, where α̃ is trained along."""
    settings = replace(SHORT["zo-darts++"], matched=estimate is ZerothOrder, theta=0)
    search = Search(space, settings, seed=0)
    search._begin()
    search._now = 0
    search._grow()
    rule = search.rule
    assert type(rule) is estimate
    rule.open(search.logits)
    new = search.network.cells[0]._spatial[0][1].weight
    before, moved = new.detach().clone(), [part.detach().clone() for part in rule._aside[0].logits.present()]
    train, _ = next(iter(search._pairs(0)))
    rule.train(search.logits, train)
    assert torch.equal(before, new) != moves
    beside = rule._aside[0].weights.network.cells[0]._spatial[0][1].weight
    assert not torch.equal(before, beside)
    drifted = any(not torch.equal(a, b) for a, b in zip(moved, rule._aside[0].logits.present(), strict=True))
    assert drifted != moves


class TestMethods:
    def test_networks_are_alive_and_within_what_is_known_before_training(self, space: Searchable) -> None:
        smaller = next(m for m in DIGITS.metrics if m.name == "parameters")
        bound = Bound(smaller, high=12_000.0)

        def known(metric: str, configuration: Any) -> float:
            stages = stages_of(DIGITS.space.values(configuration))
            return float(size(stages, 4, space.shape, space.classes).parameters)

        method = METHODS.get("zo-darts++")(
            problem(space, constraints=(bound,), known=known),
            np.random.default_rng(0),
            epochs=2,
            stop=2,
            theta=1,
            T=2,
        )
        asked = [method.ask() for _ in range(20)]
        for configuration in asked:
            DIGITS.space.check(configuration)
            assert not dead_stages(stages_of(DIGITS.space.values(configuration)))
            assert known("parameters", configuration) <= 12_000
        assert len(set(asked)) > 1
        logged = {row.quantity for row in method.log}
        assert logged >= {"operation", "kernel", "depth", "direct", "implicit", "spread", "mu", "drawn_parameters"}
        at_end = [row.value for row in method.log if row.epoch == 2 and row.quantity == "operation"]
        assert len(at_end) == 18 * 5
        assert sum(at_end) == pytest.approx(18, abs=1e-4)
        assert [row.value for row in method.log if row.quantity == "upper_bound"] == [12_000]
        # The sizes that are logged are those of networks drawn without regard to the constraint.
        assert max(row.value for row in method.log if row.quantity == "drawn_parameters") > 12_000

    def test_one_cell_is_drawn_once_for_the_whole_network(self, space: Searchable) -> None:
        method = METHODS.get("darts")(problem(space), np.random.default_rng(0), epochs=1)
        for _ in range(5):
            first, second, third = stages_of(DIGITS.space.values(method.ask()))
            assert first == second == third
            assert first.depth == 3
            assert "nor_conv_7x7" not in first.operations

    def test_published_sizes_are_counted_as_the_paper_does(self, space: Searchable) -> None:
        known = replace(space, published_sizes={"S": (0.0, 15_000.0)})
        method = METHODS.get("zo-darts++")(
            problem(known), np.random.default_rng(0), epochs=2, stop=2, theta=1, T=2, size="S"
        )
        for _ in range(10):
            drawn = stages_of(DIGITS.space.values(method.ask()))
            assert parameters_paper(drawn, 4, 10) <= 15_000

    def test_in_vain_is_said_and_nothing_is_relaxed(self, space: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(one_shot, "MOST_DRAWS", 30)
        smallest = size([*stages_of(SMALLEST)], 4, space.shape, space.classes).parameters
        method = METHODS.get("zo-darts++")(
            problem(space), np.random.default_rng(0), epochs=2, stop=2, theta=1, T=2, size=f"{smallest}-{smallest}"
        )
        with pytest.raises(RuntimeError, match="infeasible: 30 architectures drawn from the search, none within"):
            method.ask()

    @pytest.mark.parametrize(
        ("method", "bounds", "message"),
        [
            ("darts", [(100.0, True)], "at most 100 parameters is below the smallest network"),
            ("zo-darts:T=2", [(1e9, False)], "at least 1,000,000,000 parameters is above the largest network"),
        ],
    )
    def test_constraints_that_no_network_meets_are_refused_before_the_search(
        self, method: str, bounds: list[tuple[float, bool]], message: str, space: Searchable
    ) -> None:
        metric = next(m for m in DIGITS.metrics if m.name == "parameters")
        constraints = Bounds.of(Bound(metric, high=x) if upper else Bound(metric, low=x) for x, upper in bounds)

        def known(metric: str, configuration: Any) -> float:
            stages = stages_of(DIGITS.space.values(configuration))
            return float(size(stages, 4, space.shape, space.classes).parameters)

        with pytest.raises(UsageError, match=message):
            MethodSpec.parse(method).build(
                problem(space, constraints=constraints, known=known), np.random.default_rng(0)
            )

    @pytest.mark.parametrize(
        ("changes", "method", "message"),
        [
            ({"shape": (1, 14, 14)}, "darts", "images of 14 x 14 cannot be halved twice: .* multiples of 4"),
            ({"classes": 1}, "darts", "digits has one class"),
            ({"batch": 100}, "milenas", "half of the training images of digits are 32, fewer than a batch of 100"),
            ({}, "zo-darts:T=5", "window of T=5 batches does not fit .* 4 batches of 8: choose T of at most 4"),
            ({}, "zo-darts:T=2,mu=0", "mu must be positive, not 0"),
            ({}, "zo-darts:T=2,mu=-1", "mu must be positive, not -1"),
            ({}, "zo-darts:T=0", "T must be positive, not 0"),
            ({}, "zo-darts++:T=2,theta=40", r"theta must lie in \[0, stop\), not 40 with stop=40"),
            ({}, "zo-darts+:T=2,epochs=30", r"stop must lie in \[1, epochs\], not 40 with epochs=30"),
            ({}, "darts:epochs=0", "epochs must be at least 1, not 0"),
            ({}, "darts:order=3", "order must be 1 or 2, not 3"),
            ({}, "darts:alpha_lr=nan", "option alpha_lr of darts must be a number, not 'nan'"),
            ({}, "zo-darts+:T=2,anneal=1.5", r"anneal must lie in \(0, 1\], not 1.5"),
            ({}, "zo-darts:T=2,dynamics=match", "unknown dynamics 'match'.*matched"),
            ({}, "zo-darts:T=2,estimate=floor+norm", "unknown estimate 'norm'.*normal"),
            ({}, "zo-darts:T=2,directions=0", "directions must be at least 1, not 0"),
            (
                {},
                "zo-darts:T=2,dynamics=reference,estimate=robust",
                "dynamics=reference follows the authors' scripts",
            ),
            ({}, "spos:parents=0", "parents must be at least 1, not 0"),
            ({}, "spos:mutation=0", r"mutation must lie in \(0, 1\], not 0"),
            ({}, "one-shot-random:cells=two", "unknown cells 'two'.*each, one"),
            ({}, "zo-darts++:T=2,kernel_mode=shared", "unknown kernel_mode 'shared'.*shared_mask"),
            ({}, "zo-darts++:T=2,size=M", "size=M is not known on digits.*LOW-HIGH.*parameters@M"),
            ({}, "zo-darts++:T=2,size=XL", "size must be S, M, L or .* not 'XL'"),
            (
                {},
                "zo-darts++:T=2,size=10-100",
                "at most 100 parameters is below the smallest network that this method draws on digits: 4,",
            ),
            (
                {},
                "zo-darts++:T=2,size=90000000-100000000",
                "above the largest network that this method draws on digits: 302,182",
            ),
        ],
    )
    def test_what_cannot_be_searched_is_refused_in_one_sentence(
        self, changes: dict[str, Any], method: str, message: str, space: Searchable
    ) -> None:
        wrong = replace(space, name="digits", **changes)
        with pytest.raises(UsageError, match=message) as error:
            MethodSpec.parse(method).build(problem(wrong), np.random.default_rng(0))
        assert "\n" not in str(error.value)


SMALLEST = choices_of([Stage(("skip_connect",) * 6, 1)] * 3)
