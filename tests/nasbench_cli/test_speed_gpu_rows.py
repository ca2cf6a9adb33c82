"""What each row of `nasbench speed --gpu` measures, on the CPU here, at sizes that say nothing of speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from nasbench.benchmarks import Evaluation, UsageError  # noqa: E402
from nasbench.benchmarks.images import DATASETS, Dataset, ImageBenchmark  # noqa: E402
from nasbench.benchmarks.training.recipes import RECIPES  # noqa: E402
from nasbench.cli.speed.gpu import evaluations, measure, searches  # noqa: E402
from nasbench.cli.speed.gpu import training as trainings  # noqa: E402
from nasbench.cli.speed.gpu.kernels import Counted  # noqa: E402
from nasbench.cli.speed.gpu.sizes import USUAL, Sizes  # noqa: E402
from nasbench.methods.oneshot.search import Search  # noqa: E402
from tests.benchmarks.test_training import made_up  # noqa: E402

PLUS = ("", "+", "++")
TINY = Sizes(
    images="few",
    live=("few",),
    backend="aot_eager",
    repeats=1,
    epochs=1,
    window=2,
    filters=4,
    search="zo-darts++:T=2,epochs=2,stop=2,theta=1",
    evaluations=2,
    repetitions=3,
)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A data set of 70 images: a step takes a few milliseconds."""
    splits = {"train": made_up(70), "val": made_up(20, seed=1), "test": made_up(20, seed=2)}
    counts = {name: len(split.labels) for name, split in splits.items()}
    batch = {"search": 16, "retrain": 16}
    found = Dataset("few", 8, 1, 3, counts, batch, "search", True, "made up", "MIT", "few-1", lambda: splits)
    monkeypatch.setitem(DATASETS._items, "few", found)
    monkeypatch.setattr(evaluations, "open_benchmark", lambda name: ImageBenchmark(found, recipe="smoke", epochs=1))
    return found


def cells_of(table: str, place: int) -> dict[str, str]:
    """The cells of a row, by column, measured in this process on a few images."""
    (found,) = (one for one in measure.tables(TINY) if one.name == table)
    cells = found.rows[place].measure(math.inf)
    return dict(zip(found.columns, cells, strict=True))


def test_the_machine_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    measure.begin()
    facts = {"machine": {"cpu": ""}, "commit": "abc"}
    monkeypatch.setattr(measure, "provenance", lambda: facts)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    found = cells_of("machine", 0)
    assert found["device"] == "unknown"
    assert (found["PyTorch"], found["commit"]) == (torch.__version__, "abc")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    assert cells_of("machine", 0)["device"] == "NVIDIA H200"


def scripted(seconds: list[float], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What is measured is called, and takes these seconds one after the other; the epochs that each was asked for."""
    counts, left = [], iter(seconds)

    def measured(call: Callable[[], object], count: int) -> float:
        call()
        counts.append(count)
        return next(left)

    monkeypatch.setattr(trainings, "seconds_of", measured)
    return counts


@pytest.mark.parametrize("recipe", RECIPES)
def test_images_per_second_are_medians_of_whole_batches_beside_a_bare_loop(
    recipe: str, few: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [99.0, 99.0, 2.0, 1.0, 4.0, 3.0, 3.0, 2.0]  # ours, the bare loop's, and again; the first warm up
    counts = scripted(seconds, monkeypatch)
    sizes = Sizes(images="few", repeats=3, epochs=2)
    found = trainings.images_a_second(recipe, None, sizes, math.inf)
    assert found == ("21", "32", "0.67x", "")  # 64 of 70 images: no batch of another shape
    assert counts == [2] * 8


def test_stacked_networks_are_measured_beside_the_same_one_by_one(
    few: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [99.0, 99.0, 99.0, 99.0, 2.0, 1.0, 2.0, 3.0]  # the stack, its three one by one, and again
    counts = scripted(seconds, monkeypatch)
    *speeds, apart = trainings.stacked_images_a_second("retrain", Sizes(images="few", repeats=1, epochs=2), math.inf)
    assert speeds == ["96", "32", "3.00x"]  # three times 64 images
    assert float(apart) <= 1e-6
    assert counts == [2] * 8


def test_a_recipe_is_trained_as_it_says(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its mixing, its clipping, its optimiser; the bare loop with none of them."""
    trained = trainings.Training("few", "retrain")
    assert [batch.others is None for batch in trained.batches()] == [False] * 4
    assert [batch.others for batch in trained.unmixed()] == [None] * 4
    assert trained.descent._nesterov is False
    clipped = []
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda *_, **__: clipped.append(1))
    trained.epoch(trained.network)
    assert clipped == []
    plain = trainings.Training("few", "smoke")
    before = [parameter.clone() for parameter in plain.network.parameters()]
    plain.epoch(plain.network)
    assert clipped == [1]
    assert any(not torch.equal(one, two) for one, two in zip(before, plain.network.parameters(), strict=True))


def other(factor: float) -> Callable[..., torch.nn.Module]:
    """A compiler that is wrong by a factor."""

    class Wrong(torch.nn.Module):
        def __init__(self, network: torch.nn.Module) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.network(images) * factor
            return found

    return lambda network, backend: Wrong(network)


def test_a_compiled_training_equals_the_plain_one(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    found = cells_of("training", len(RECIPES))
    assert found["ratio"].endswith("x")
    assert float(found["first loss apart"]) <= 1e-6
    same = cells_of("agreement", 0)
    assert same["within 1e-05"] == "yes"
    assert float(same["apart"]) <= 1e-6
    assert float(same["gradients apart"]) <= 1e-5
    monkeypatch.setattr(trainings.training, "compiled", other(1.01))
    assert 1e-4 < float(cells_of("training", len(RECIPES))["first loss apart"]) < 1e-1
    wrong = cells_of("agreement", 0)
    assert wrong["within 1e-05"] == "no"
    assert 1e-4 < float(wrong["apart"]) < 1e-1
    assert 1e-4 < float(wrong["gradients apart"]) < 1
    monkeypatch.setattr(trainings.training, "compiled", other(math.nan))
    assert cells_of("agreement", 0)["within 1e-05"] == "no"


def test_a_replayed_step_is_what_is_compared(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third of three: a device captures graphs in the second."""
    calls = []

    class Late(torch.nn.Module):
        def __init__(self, network: torch.nn.Module) -> None:
            super().__init__()
            self.network = network

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            calls.append(1)
            found: torch.Tensor = self.network(images) * (2.0 if len(calls) == 3 else 1.0)
            return found

    monkeypatch.setattr(trainings.training, "compiled", lambda network, backend: Late(network))
    assert cells_of("agreement", 0)["within 1e-05"] == "no"
    assert len(calls) == 3


def test_a_compiler_that_fails_fails_its_rows(few: Dataset) -> None:
    for row in (trainings.images_a_second, trainings.agreement, trainings.kernels):
        with pytest.raises(Exception, match="no-such-compiler"):
            row("smoke", "no-such-compiler", TINY, math.inf)


def event(name: str, device: str = "CUDA", is_user_annotation: bool = False) -> Any:
    return SimpleNamespace(name=name, device_type=SimpleNamespace(name=device), is_user_annotation=is_user_annotation)


def test_kernels_and_launches_are_counted_and_nothing_else() -> None:
    seen = [event("void conv<float>"), event("triton_red_fused_3"), event("Memcpy HtoD"), event("Memset (Device)")]
    seen += [event("Optimizer.step#SGD.step", is_user_annotation=True)]
    launches = (
        "cudaLaunchKernel",
        "cuLaunchKernelEx",
        "cudaGraphLaunch",
        "cudaMemcpyAsync",
        "aten::conv2d",
        "myLaunch",
    )
    seen += [event(name, "CPU") for name in launches]
    found = Counted.of(seen)
    assert found == (2, 3)
    assert Counted(3000, 5).each(2) == ("1,500", "2")
    with pytest.raises(RuntimeError, match="the profiler saw no kernel"):
        Counted.of(seen[2:])


def fake_profiler(kernels: int, calls: list[str]) -> Any:
    """A profiler that sees so many kernels, and a launch of each."""
    seen = [event("k")] * kernels + [event("cudaLaunchKernel", "CPU")] * kernels
    return SimpleNamespace(
        __enter__=None, start=lambda: calls.append("start"), stop=lambda: calls.append("stop"), events=lambda: seen
    )


def test_kernels_of_a_search_are_those_of_a_second_epoch_per_batch(
    few: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(searches, "profiler", lambda: fake_profiler(600, calls))
    run = Search._epoch
    monkeypatch.setattr(Search, "_epoch", lambda self, epoch: (calls.append(f"epoch {epoch}"), run(self, epoch))[1])
    assert cells_of("kernels", 2) == {"kernels": "300", "launches": "300"}
    assert calls == ["epoch 0", "start", "epoch 1", "stop"]


def test_kernels_of_a_training_are_those_of_an_epoch_per_step(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    class Seen:
        def __enter__(self) -> Any:
            return fake_profiler(64, [])

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(trainings, "profiler", Seen)
    epochs = []
    plain = trainings.Training.epoch
    monkeypatch.setattr(trainings.Training, "epoch", lambda self, network: (epochs.append(1), plain(self, network))[1])
    assert trainings.kernels("search", None, TINY, math.inf) == ("16", "16")  # 4 batches
    assert len(epochs) == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there are kernels")
def test_a_profiler_that_sees_no_kernels_fails_its_rows(few: Dataset) -> None:
    with pytest.raises(RuntimeError, match="the profiler saw no kernel"):
        searches.kernels("zo-darts", TINY, math.inf)
    with pytest.raises(RuntimeError, match="the profiler saw no kernel"):
        trainings.kernels("search", None, TINY, math.inf)


@pytest.fixture
def scripted_epochs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Search]]:
    """Searches whose epochs say that they took 9, 2, 4, 3 seconds."""
    made: list[Search] = []
    run = Search.run

    def scripted(self: Search, *arguments: Any, **options: Any) -> None:
        run(self, *arguments, **options)
        made.append(self)
        self.log[:] = [epoch._replace(seconds=s) for epoch, s in zip(self.log, (9.0, 2.0, 4.0, 3.0), strict=True)]

    monkeypatch.setattr(Search, "run", scripted)
    monkeypatch.setattr(searches, "seconds_of", lambda call, count: (call(), 0.5)[1])
    return iter([made])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", searches.SEARCHES)
def test_a_step_is_its_share_of_an_epoch_beside_a_pass(
    name: str, few: Dataset, scripted_epochs: Iterator[list[Search]]
) -> None:
    (made,) = scripted_epochs
    sizes = Sizes(images="few", repeats=3, window=2, filters=4)
    found = searches.step(name, sizes, math.inf)
    expected = {"darts": "5", "milenas": "3"}.get(name, "2.5")
    assert found == ("1,500.00", "500.00", "3.00", expected)
    (search,) = made
    assert search.space.training_images == 64  # two batches of 16 of each half
    assert len(search.network.cells[0].spatial) == (9 if name.endswith("after theta") else 3)  # kernel sizes
    assert search.network.cells[0].spatial[0].kernel_size[0] == (7 if "++" in name else 3)
    assert search.settings.sparse == ("+" in name)


def test_a_whole_search_is_estimated_where_the_time_is_short(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def scripted(benchmark: ImageBenchmark, spec: Any) -> list[float]:
        asked.append(dict(spec.options))
        return [9.0, 1.0, 9.0, 2.0] if spec.options != whole else [30.0, 20.0]

    whole = (("T", 2),)
    sizes = Sizes(images="few", search="zo-darts++:T=2")
    monkeypatch.setattr(searches, "_searched", scripted)
    now = 1000.0
    monkeypatch.setattr(searches, "monotonic", lambda: now)
    seconds = 20 * 1.0 + 20 * 2.0  # theta = 20, stop = 40
    assert searches.whole(sizes, now + 1.2 * seconds) == (
        "60.0",
        "212.3",
        "3.54x",
        "estimated from one epoch before and one after theta",
    )
    assert asked == [{"T": 2, "epochs": 4, "stop": 4, "theta": 2}]
    assert searches.whole(sizes, now + 1.3 * seconds) == ("50.0", "212.3", "4.25x", "measured")
    assert asked[2] == dict(whole)


def test_a_whole_search_is_run(few: Dataset) -> None:
    found = searches._searched(ImageBenchmark(few, recipe="smoke"), searches.MethodSpec.parse(TINY.search))
    assert len(found) == 2
    assert all(seconds > 0 for seconds in found)


def test_evaluations_are_counted_while_there_is_time(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    took = [9.0, 2.0, 4.0, 3.0, 3.0]
    seen = []

    def evaluate(benchmark: Any, configuration: Any, seed: int) -> None:
        assert not benchmark.networks.infeasible(configuration)
        seen.append((configuration, seed))
        clock[0] += took[seed]

    monkeypatch.setattr(evaluations, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(evaluations, "monotonic", lambda: clock[0])
    monkeypatch.setattr(evaluations, "_evaluated", evaluate)
    sizes = Sizes(evaluations=3)
    assert evaluations.a_minute("few", sizes, math.inf) == ("20.0", "3.00", "3")
    assert [seed for _, seed in seen] == [0, 1, 2, 3]
    assert len({configuration for configuration, _ in seen}) == 4
    clock[0] = 0.0
    assert evaluations.a_minute("few", sizes, 20.0) == ("20.0", "3.00", "2")  # a third might end at 23


def test_repetitions_of_one_seed_are_told_apart(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    same = cells_of("spread", 0)
    assert len(set(same["val errors %"].split())) == 1  # on a CPU
    assert len(same["test errors %"].split()) == 3
    assert same["largest difference"] == "0.00"
    benchmark = ImageBenchmark(few, recipe="smoke", epochs=1)
    names = [metric.name for metric in benchmark.metrics]
    errors = iter([(10.0, 20.0), (12.0, 20.5), (11.0, 20.0)])
    asked = []

    def evaluate(benchmark: Any, configuration: Any, seed: int) -> Evaluation:
        asked.append((configuration, seed))
        values = dict.fromkeys(names, 0.0) | dict(zip(("val-error@1", "test-error@1"), next(errors), strict=True))
        return Evaluation(tuple(values.values()), 1.0)

    monkeypatch.setattr(ImageBenchmark, "evaluate", evaluate)
    assert cells_of("spread", 0) == {
        "val errors %": "10.00 12.00 11.00",
        "test errors %": "20.00 20.50 20.00",
        "largest difference": "2.00",
    }
    assert len(set(asked)) == 1


def test_a_failed_evaluation_fails_its_rows(few: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Evaluation((math.nan,), 1.0, "failed", "the loss is nan")
    monkeypatch.setattr(ImageBenchmark, "evaluate", lambda *_: failed)
    for row in (evaluations.a_minute, evaluations.spread):
        with pytest.raises(RuntimeError, match="the loss is nan"):
            row("few", TINY, math.inf)


def test_images_that_are_missing_fail_their_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    for call in (
        partial(trainings.images_a_second, "smoke", None, USUAL),
        partial(searches.step, "darts", USUAL),
        partial(searches.whole, USUAL),
        partial(evaluations.a_minute, "medmnist-breast", USUAL),
    ):
        with pytest.raises(UsageError, match="nasbench data fetch medmnist-breast"):
            call(math.inf)
