"""Single path one-shot, and drawing from a one-shot method's space without a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.base.errors import UsageError  # noqa: E402
from nasbench.benchmarks.spaces.cells import dead_stages, stages_of, without_dead_edges  # noqa: E402
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages  # noqa: E402
from nasbench.benchmarks.training.augmentation import ImageBatch  # noqa: E402
from nasbench.methods import MethodSpec  # noqa: E402
from nasbench.methods.oneshot import supernet  # noqa: E402
from nasbench.methods.oneshot.baselines import SPOS  # noqa: E402
from nasbench.methods.oneshot.distributions import Probabilities  # noqa: E402
from nasbench.methods.oneshot.one_shot import OVERHEAD  # noqa: E402
from nasbench.methods.oneshot.settings import Settings  # noqa: E402
from nasbench.methods.oneshot.single_path import Genes, Paths, Scored, SinglePath  # noqa: E402
from nasbench.methods.oneshot.supernet import Supernet  # noqa: E402
from tests.methods.small_searches import (  # noqa: E402
    DIGITS,
    digits,
    one_hot,
    problem,
)

ONE = Settings("single-path", epochs=2, stop=2, theta=0)
EACH = Settings("single-path", flexible=True, epochs=2, stop=2, theta=0)


@pytest.mark.parametrize("settings", [ONE, EACH])
def test_a_path_is_the_distributions_on_its_network(settings: Settings) -> None:
    paths, rng = Paths(digits(), settings), np.random.default_rng(0)
    for _ in range(50):
        genes = paths.drawn(rng)
        found, wanted = paths.probabilities(genes, torch.device("cpu")), one_hot(paths.stages(genes))
        assert torch.equal(found.operations, wanted.operations.float())
        assert found.alive is not None
        assert torch.equal(torch.tensor(found.alive.operations), wanted.operations > 0)
        if settings.flexible:
            assert found.depths is not None
            assert wanted.depths is not None
            assert torch.equal(found.depths, wanted.depths.float())


def test_paths_are_drawn_uniformly_among_those_that_are_alive() -> None:
    paths, rng = Paths(digits(), ONE), np.random.default_rng(0)
    drawn = [paths.drawn(rng) for _ in range(3000)]
    assert not any(dead_stages(paths.stages(genes)) for genes in drawn)
    on_first_edge = Counter(genes[0] for genes in drawn)
    alive = [g for g in np.ndindex(*paths.choices) if not dead_stages(paths.stages(g))]
    for choice in range(5):
        share = sum(genes[0] == choice for genes in alive) / len(alive)
        assert on_first_edge[choice] / 3000 == pytest.approx(share, abs=0.04)


def test_a_step_leaves_alone_what_its_path_does_not_use() -> None:
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    search._now = 0
    before = [parameter.detach().clone() for parameter in search.network.parameters()]
    skip = (1,) * 6
    (train, _), *_ = search._pairs(0)
    path = search.paths.probabilities(skip, search.data.device)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(search.network(train.images, path), train.labels)
        search.weights.step(loss, used_only=True)
    names = [name for name, _ in search.network.named_parameters()]
    moved = {
        name
        for name, old, new in zip(names, before, search.network.parameters(), strict=True)
        if not torch.equal(old, new)
    }
    assert moved == {name for name in names if not name.startswith("cells.")}


def test_a_step_leaves_alone_other_edges_whose_convolutions_lie_in_one_tensor_with_those_of_its_path() -> None:
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    search._now = 0
    (train, _), *_ = search._pairs(0)
    spatial = search.network._cells[0][0]._spatial[0][0].weight  # of the edges 0-1, 0-2 and 0-3
    momentum = search.weights.momentum()[[p is spatial for p in search.network.parameters()].index(True)]
    for genes in [(3, 1, 1, 3, 1, 1), (1, 3, 1, 3, 1, 1), (1, 3, 1, 1, 1, 1)]:  # the first gives all of them a momentum
        before = [part.detach().clone().chunk(3) for part in (spatial, momentum)]
        path = search.paths.probabilities(genes, search.data.device)
        loss = torch.nn.functional.cross_entropy(search.network(train.images, path), train.labels)
        search.weights.step(loss, used_only=True)
        after = [part.detach().chunk(3) for part in (spatial, momentum)]
        for old, new in zip(before, after, strict=True):
            used = [not torch.equal(one, other) for one, other in zip(old, new, strict=True)]
            assert used == [genes[0] == 3, genes[1] == 3, genes[3] == 3]


def test_evolution_finds_the_best_of_a_known_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """The score is the distance from a secret path: what random draws find in as many looks is far from it."""
    secret = (3, 2, 1, 4, 3, 3)

    def score(self: SinglePath, genes: Genes) -> Scored:
        return Scored(float(sum(a != b for a, b in zip(genes, secret, strict=True))), 0.0, genes)

    monkeypatch.setattr(SinglePath, "score", score)
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    found = search.evolved(lambda stages: stages[0].operations[5] != "none", 20, 20, 10, 0.1)
    assert found[0] == Scored(0.0, 0.0, secret)
    assert found == sorted(found)
    assert len({one.genes for one in found}) == len(found) == 400
    assert all(one.genes[5] != 0 for one in found)
    assert min(one.error for one in search.evolved(lambda _: True, 400, 1, 10, 0.1)) > 0


@pytest.mark.parametrize("settings", [ONE, EACH])
def test_evolution_scores_a_network_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges on no path to the output have no effect, nor have kernel sizes of edges without a convolution."""

    def score(self: SinglePath, genes: Genes) -> Scored:
        stages = self.paths.stages(genes)
        return Scored(float(sum(op == "none" for stage in stages for op in stage.operations)), 0.0, genes)

    monkeypatch.setattr(SinglePath, "score", score)
    search = SinglePath(digits(), settings, seed=0)
    search._begin()
    found = [search.paths.stages(path.genes) for path in search.evolved(lambda _: True, 20, 20, 10, 0.1)]
    networks = [without_dead_edges(stages) for stages in found]
    assert len(set(networks)) == len(networks) == 400


@pytest.mark.parametrize("cells", ["one", "each"])
def test_asks_go_from_the_best_of_the_shared_weights_and_are_repeatable(cells: str) -> None:
    text = f"spos:epochs=2,cells={cells},population=4,generations=2,parents=2"
    methods = [MethodSpec.parse(text).build(problem(digits()), np.random.default_rng(1)) for _ in range(2)]
    one, other = ([method.ask() for _ in range(9)] for method in methods)
    assert one == other
    assert len(set(one[:8])) == 8
    assert one[8] == one[0]  # every path has been asked for
    errors = [row.value for row in methods[0].log if row.quantity == "path_error"]
    assert len(errors) == 8
    assert errors == sorted(errors)
    logged = {row.quantity for row in methods[0].log}  # and nothing of an architecture, for none is trained
    assert logged == {"temperature", "train_loss", "val_loss", "seconds", "drawn_parameters", "path_error"}
    assert methods[0].beginning > 0


@pytest.mark.parametrize(("method", "passes"), [("darts", 5), ("darts:order=1", 2), ("milenas", 3), ("spos", 1)])
def test_a_search_on_tiny_images_is_estimated_by_its_operations(method: str, passes: int) -> None:
    """FLOPs that cost nothing leave what operations cost in each batch: four on each of six edges of nine cells."""
    no_flops = replace(digits(), flops_a_second=1e30)
    search = MethodSpec.parse(f"{method}{',' if ':' in method else ':'}epochs=7").build(
        problem(no_flops), np.random.default_rng(0)
    )
    batches = 7 * no_flops.training_images / 2 / no_flops.batch
    operations = 9 * 6 * (1 if method == "spos" else 4)
    assert search.beginning == pytest.approx(batches * passes * operations * OVERHEAD)


@pytest.mark.parametrize(("cells", "kernels"), [("one", {3}), ("each", {3, 5, 7})])
def test_random_draws_come_from_the_space_of_the_search(cells: str, kernels: set[int]) -> None:
    method = MethodSpec.parse(f"one-shot-random:cells={cells}").build(problem(digits()), np.random.default_rng(0))
    drawn = [stages_of(DIGITS.space.values(method.ask())) for _ in range(60)]
    names = {name for network in drawn for stage in network for name in stage.operations}
    assert {int(name[-1]) for name in names if name.startswith("nor_conv") and "1x1" not in name} == kernels
    assert all(network[0] == network[1] == network[2] for network in drawn) == (cells == "one")
    assert ({stage.depth for network in drawn for stage in network} == {3}) == (cells == "one")
    assert method.log == []
    assert method.beginning == 0


def test_random_draws_need_no_batch_of_images() -> None:
    """Of 64 images no supernet is trained with batches of 100."""
    few = problem(replace(digits(), batch=100))
    assert MethodSpec.parse("one-shot-random").build(few, np.random.default_rng(0)).ask()
    with pytest.raises(UsageError, match="fewer than a batch of 100"):
        MethodSpec.parse("spos").build(few, np.random.default_rng(0))


def test_paths_are_ranked_on_images_that_no_weight_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    batches, asked = search.data.batches, []

    def noted(size: int, mix: float | None, rng: np.random.Generator, rows: np.ndarray) -> Iterator[LabelledImages]:
        asked.append(set(rows.tolist()))
        return batches(size, mix, rng, rows)

    monkeypatch.setattr(search.data, "batches", noted)
    search._stepped(0)
    search.score((1,) * 6)
    trained_on, _, ranked_on, recalibrated_on = asked
    assert not trained_on & ranked_on
    assert recalibrated_on == trained_on  # 32 images: all of them
    assert trained_on | ranked_on == set(range(len(search.data.labels["train"])))


def test_a_score_is_the_error_and_the_mean_loss_over_all_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two batches of unequal size; the network says class 0, surely of the first image and hardly of the others."""
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    first, *_ = search._validation
    sure = torch.zeros(6, 10)
    sure[0, 0] = 5.0
    sure[1:, 0] = 0.1
    labels = torch.tensor([1, 0, 0, 0, 2, 0])
    parts = [ImageBatch(first.images[:2], labels[:2]), ImageBatch(first.images[2:6], labels[2:])]
    outputs = iter([sure[:2], sure[2:]])
    monkeypatch.setattr(Supernet, "recalibrate", lambda *_: None)
    monkeypatch.setattr(Supernet, "forward", lambda *_: next(outputs))
    search.__dict__["_validation"] = parts
    error, loss, _ = search.score((1,) * 6)
    assert error == pytest.approx(100 * 2 / 6)
    assert loss == pytest.approx(float(torch.nn.functional.cross_entropy(sure, labels)))


@pytest.mark.parametrize("settings", [ONE, EACH])
def test_a_path_is_normalised_by_its_own_statistics_on_images_that_the_weights_have_seen(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are the means over batches of what each normalisation sees; no image then counts in another one's scores."""
    search = SinglePath(digits(), settings, seed=0)
    search.run()
    seen = [part.double() for part in torch.cat(search._seen).split([20, 12])]
    network = search.network.double()
    kinds: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {"stem": [], "cell": []}

    def noted(kind: str, x: torch.Tensor) -> None:
        kinds[kind].append((x.mean((0, 2, 3)), x.var((0, 2, 3))))

    def normalised(x: torch.Tensor, *rest: Any, **options: Any) -> torch.Tensor:
        if options["training"]:
            noted("cell", x)
        return plain(x, *rest, **options)

    plain = supernet.batch_norm
    monkeypatch.setattr(supernet, "batch_norm", normalised)
    norm = next(module for module in network.stem.modules() if isinstance(module, torch.nn.BatchNorm2d))
    norm.register_forward_pre_hook(lambda module, given: noted("stem", given[0]) if module.training else None)
    genes = next(g for g in map(search.paths.drawn, [np.random.default_rng(k) for k in range(99)]) if 3 in g[:6])
    path = search.paths.probabilities(genes, torch.device("cpu"))
    path = Probabilities.of([part.double() for part in path.present()])._replace(alive=path.alive)
    network.recalibrate(iter(seen), path)
    assert len(kinds["stem"]) == 2
    for number, kept in enumerate((norm.running_mean, norm.running_var)):
        assert torch.allclose(kept, torch.stack([batch[number] for batch in kinds["stem"]]).mean(0))
    found = [kept for cell in network.cells for kept in cell.statistics.values()]
    assert len(kinds["cell"]) == 2 * len(found) > 0
    for place, kept in enumerate(found):
        batches = kinds["cell"][place], kinds["cell"][len(found) + place]
        for number in range(2):
            assert torch.allclose(kept[number], (batches[0][number] + batches[1][number]) / 2)
    images = search._validation[0].images.double()
    together = network(images, path)
    alone = torch.cat([network(one[None], path) for one in images])
    assert torch.allclose(together, alone)
    assert not torch.allclose(network.train()(images, path), together)


def test_a_score_does_not_depend_on_the_paths_that_were_scored_before() -> None:
    search = SinglePath(digits(), EACH, seed=0)
    search.run()
    one, other = (search.paths.drawn(np.random.default_rng(k)) for k in range(2))
    first = search.score(one)
    assert search.score(other) != first
    assert search.score(one) == first


def test_paths_are_scored_without_the_rounding_of_tensor_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    search, flags = SinglePath(digits(), ONE, seed=0), torch.backends.cudnn
    search._begin()
    seen = []

    def forward(self: Supernet, images: torch.Tensor, probabilities: object) -> torch.Tensor:
        seen.append((flags.allow_tf32, flags.deterministic))
        return torch.zeros(len(images), 10)

    monkeypatch.setattr(Supernet, "forward", forward)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(flags, "allow_tf32", True)
    search.score((1,) * 6)
    assert seen == [(False, True)] * 2  # to recalibrate, and to score
    assert flags.allow_tf32


def test_the_training_is_logged_where_evolution_finds_nothing_within_the_constraints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SPOS, "_fitting", lambda *_: None)
    text = "spos:epochs=1,population=2,generations=1,parents=1"
    method = MethodSpec.parse(text).build(problem(digits()), np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="no path within the constraints"):
        method.ask()
    assert [row.quantity for row in method.log].count("train_loss") == 1


def test_what_mutation_leaves_open_is_drawn_and_not_crossed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where mutation finds nothing new, half of a generation is crossed, and the other half drawn."""
    calls: list[int] = []
    drawn = Paths.drawn

    def counted(self: Paths, rng: np.random.Generator) -> Genes:
        calls.append(1)
        return drawn(self, rng)

    monkeypatch.setattr(Paths, "drawn", counted)
    monkeypatch.setattr(SinglePath, "_mutated", lambda self, best, mutation, rng: best[0].genes)
    monkeypatch.setattr(SinglePath, "score", lambda self, genes: Scored(float(sum(genes)), 0.0, genes))
    search = SinglePath(digits(), ONE, seed=0)
    search._begin()
    counts = []
    for generations in (1, 2):
        calls.clear()
        search.evolved(lambda _: True, 20, generations, 10, 0.1)
        counts.append(len(calls))
    assert counts[1] >= counts[0] + 10


def test_scores_of_larger_batches_and_channels_take_longer() -> None:
    """A score's passes of one batch, at the speed that searches presume."""

    def stated(options: str, **facts: Any) -> float:
        space = problem(replace(digits(), **facts))
        return MethodSpec.parse(f"proxy:networks=10,{options}").build(space, np.random.default_rng(0)).beginning

    small, large = stated("score=snip", batch=8), stated("score=snip", batch=16)
    assert large - small == pytest.approx(small - stated("score=params"))
    assert stated("score=snip", filters=16) > 4 * small - 4 * stated("score=params")
    assert stated("score=naswot") > small
    assert stated("score=synflow") == stated("score=params") < small
