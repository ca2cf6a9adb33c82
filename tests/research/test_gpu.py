"""`python -m research.gpu`: refused without a device, and what it prints, writes and measures, on the CPU here."""

from __future__ import annotations

import csv
import importlib.util
import math
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from nasbench.benchmarks import UsageError  # noqa: E402
from nasbench.benchmarks.images.benchmark import ImageBenchmark  # noqa: E402
from nasbench.benchmarks.images.datasets import Dataset  # noqa: E402
from nasbench.methods.oneshot.search import Search  # noqa: E402
from research.gpu import measure, rows  # noqa: E402
from research.gpu.__main__ import command  # noqa: E402
from research.gpu.apart import Result  # noqa: E402
from tests.benchmarks.made_up import made_up  # noqa: E402
from tests.conftest import Printed  # noqa: E402

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "reproduced" / "gpu" / "gpu.csv"


@pytest.fixture
def gpu(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Runs a command line in this process: `gpu("--only", …)` → exit code, output, errors."""

    def call(*words: object) -> Printed:
        try:
            code = command(list(map(str, words)))
        except SystemExit as end:
            code = int(end.code or 0)
        return Printed(code, *capsys.readouterr())

    return call


# The command


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("torch", "no CUDA device here: PyTorch is not installed ("),
        ("cuda", f"no CUDA device here: PyTorch {torch.__version__} finds none (made for the CPU alone)\n"),
        ("device", f"no CUDA device here: PyTorch {torch.__version__} finds none (nvidia-smi and "),
    ],
)
def test_without_a_device_one_sentence_refuses(
    what: str, why: str, gpu: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if what == "torch":
        found = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    monkeypatch.setattr(torch.version, "cuda", None if what == "cuda" else "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(measure, "measured", lambda *_: pytest.fail("it was measured"))
    refused = gpu("--out", tmp_path / "out")
    assert (refused.code, refused.out) == (2, "")
    assert f"error: {why}" in refused.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--cpu", "--only", "steps"], "unknown row 'steps' (did you mean step?); allowed: device, "),
        (["--cpu", "--seconds", "0"], "seconds must be positive, not 0"),
        (["--cpu", "--seconds", "inf"], "seconds must be positive, not inf"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_measured(
    options: list[str], why: str, gpu: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "measured", lambda *_: pytest.fail("it was measured"))
    refused = gpu(*options)
    assert refused.code == 2
    assert why in refused.err


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """The rows that are measured, each with the seconds that it is given, of which it takes one; `search` fails."""
    now, given = [1000.0], list[tuple[str, float]]()

    def measured(row: Any, seconds: float) -> Result:
        known = {name: partial(own, rows.CPU) for name, own in rows.ROWS.items()}
        name = next(name for name, own in known.items() if (own.func, own.keywords) == (row.func, row.keywords))
        given.append((name, seconds))
        now[0] += 1
        return Result("", "not measured: why") if name == "search" else Result("1 ms", "how")

    monkeypatch.setattr(measure, "monotonic", lambda: now[0])
    monkeypatch.setattr(measure, "measured", measured)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    return given


def test_every_row_is_printed_and_written_with_its_result_or_its_reason(
    gpu: Callable[..., Printed], tmp_path: Path, shares: list[tuple[str, float]]
) -> None:
    said = gpu("--cpu", "--seconds", "81", "--out", tmp_path / "new" / "out")
    assert said.code == 1
    lines = said.out.splitlines()
    assert lines[1] == "step: 1 ms (how)"
    assert lines[-1] == "search: not measured: why"
    with (tmp_path / "new" / "out" / "gpu.csv").open() as file:
        header, *table = csv.reader(file)
    assert header == ["row", "value", "note"]
    assert [line[0] for line in table] == list(rows.ROWS)
    assert table[1] == ["step", "1 ms", "how"]
    assert table[-1] == ["search", "", "not measured: why"]
    left = len(rows.ROWS)
    assert shares[0] == ("device", 81 / left)
    assert shares[-1] == ("search", 81 - (left - 1))  # what the others have left
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_only_some_rows_are_measured_and_have_all_the_time(
    gpu: Callable[..., Printed], shares: list[tuple[str, float]]
) -> None:
    said = gpu("--cpu", "--seconds", "20", "--only", "evaluation", "--only", "device")
    assert said.code == 0
    assert shares == [("device", 10.0), ("evaluation", 19.0)]


@pytest.mark.slow
def test_a_bare_checkout_needs_pytorch_and_numpy_alone(tmp_path: Path) -> None:
    """Other packages of this environment are refused by name; what PyTorch needs itself is not."""
    ours = re.findall(r'^    "([A-Za-z-]+)[>=]', (ROOT / "pyproject.toml").read_text().split("[project.opt")[0], re.M)
    assert {"click", "numba", "pandas", "scipy", "platformdirs", "threadpoolctl"} <= {*ours}
    barred = {*ours} - {"numpy", "jinja2", "filelock"}
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(barred | {'sklearn'})!r}))\n"
        "import research.gpu.__main__\n"
        "from research.gpu import rows\n"
        "for name in ('device', 'evaluation', 'step'): print(rows.ROWS[name](rows.CPU, 60.0).value)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "NASBENCH_DATA"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^[\d.]+ s\n[\d.]+ ms$", done.stdout, re.M)


def test_the_measurements_are_short() -> None:
    folder = Path(measure.__file__).parent
    assert sum(len(path.read_text().splitlines()) for path in folder.glob("*.py")) <= 360


def test_the_page_has_every_row() -> None:
    """Where rows change: a line `ROW,,not measured: no GPU has been at hand` for each."""
    with KEPT.open() as file:
        header, *lines = csv.reader(file)
    assert header == ["row", "value", "note"]
    assert [line[0] for line in lines] == list(rows.ROWS)
    assert all(bool(line[1]) != line[2].startswith("not measured: ") for line in lines)
    page = (KEPT.parents[2] / "notebook" / "gpu.md").read_text()
    assert "<!-- from reproduced/gpu/gpu.csv: row, value, note -->" in page
    assert all(f"`{name}`" in page for name in rows.ROWS)


# The rows


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set of 70 images: a step takes a few milliseconds."""
    splits = {"train": made_up(70), "val": made_up(20, seed=1), "test": made_up(20, seed=2)}
    counts = {name: len(split.labels) for name, split in splits.items()}
    found = Dataset(
        "few", 8, 1, 3, counts, {"search": 2, "retrain": 2}, "smoke", True, "made up", "MIT", "few-1", lambda: splits
    )
    rows._benchmark.cache_clear()
    monkeypatch.setattr(rows, "_images", lambda: found)


def scripted_epochs(monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> list[Search]:
    """The searches that are run; their epochs say that they took so long, one after the other, again and again."""
    made: list[Search] = []
    run = Search.run

    def scripted(self: Search, *arguments: Any, **options: Any) -> None:
        run(self, *arguments, **options)
        made.append(self)
        self.log[:] = [epoch._replace(seconds=seconds[i % len(seconds)]) for i, epoch in enumerate(self.log)]

    monkeypatch.setattr(Search, "run", scripted)
    return made


@pytest.mark.slow
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["step", "grown-step"])
def test_a_step_is_its_share_of_an_epoch_of_whole_batches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scripted_epochs(monkeypatch, [9.0, 1.6])
    found = rows.ROWS[name](rows.CPU, 60.0)
    assert found == ("100.00 ms", "1 epochs of 16 batches, 8 channels, float32")
    (search,) = made
    assert len(search.log) == 2
    assert [len(own) for own in search._halves] == [32, 32]  # 16 batches of two images of each half
    assert len(search.network.cells[0].spatial) == (9 if name == "grown-step" else 3)  # kernel sizes


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_graph_is_captured_in_each_window_after_a_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture computes nothing here: what it notes is computed when it is replayed."""
    calls: list[str] = []
    trained = rows.ZerothOrder.train

    class Graph:
        def replay(self) -> None:
            calls.append(f"replay {self.batch.images.sum():.4f}")
            done = self.rule._done
            trained(self.rule, self.logits, self.batch)
            self.rule._done = done

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)

    @contextmanager
    def graph(own: Graph) -> Iterator[None]:
        def note(rule: Any, logits: Any, batch: Any) -> None:
            own.rule, own.logits, own.batch = rule, logits, batch
            rule._done += 1

        with monkeypatch.context() as patch:
            patch.setattr(rows.ZerothOrder, "train", note)
            calls.append("capture")
            yield

    monkeypatch.setattr(torch.cuda, "graph", graph)
    search = rows._searched
    plain = search(rows.CPU, rows.CPU.whole, 16)
    monkeypatch.setattr(rows._Graphed, "_rule", graphed_on_any_device)
    graphed = search(rows.CPU, rows.CPU.whole, 16, rows._Graphed)
    assert [call.partition(" ")[0] for call in calls] == (["capture"] + ["replay"] * 7) * 4  # two windows, two epochs
    assert len(set(calls)) == 1 + 28  # the batches of a window differ
    assert len(graphed.rule.captures) == 4
    for one, two in zip(plain.network.parameters(), graphed.network.parameters(), strict=True):
        assert torch.equal(one, two)
    assert all(torch.equal(a, b) for a, b in zip(plain.logits.present(), graphed.logits.present(), strict=True))


def graphed_on_any_device(self: Any) -> Any:
    s = self.settings
    more = self._generator, s.window, s.mu, s.estimate, self._marked
    return rows._Replayed(self.weights, self._loss, self._val_loss, *more)


@pytest.mark.usefixtures("few")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_a_graph_needs_a_device() -> None:
    for name in ("step-graph", "grown-step-graph"):
        with pytest.raises(UsageError, match="a CUDA graph needs a CUDA device"):
            rows.ROWS[name](rows.CPU, 60.0)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_whole_search_is_estimated_where_the_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    made = scripted_epochs(monkeypatch, [9.0, 3.0, 9.0, 5.0])
    sizes = rows.Sizes("smoke", 1, rows.replace(rows.CPU.whole, epochs=7, stop=6, theta=4))
    monkeypatch.setattr(rows, "perf_counter", lambda: 0.0)
    expected = 4 * 3.0 + 2 * 5.0
    found = rows.search(sizes, 1.2 * expected)
    assert found == ("22.0 s", "6 epochs, 4 of them before theta, estimated from an epoch of each kind")
    assert [(s.settings.epochs, s.settings.stop, s.settings.theta) for s in made] == [(4, 4, 2)]
    assert rows.search(sizes, 1.3 * expected) == ("38.0 s", "6 epochs, 4 of them before theta, measured")
    assert [len(s.log) for s in made] == [4, 4, 6]


@pytest.mark.usefixtures("few")
def test_evaluations_are_counted_after_a_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, now = [], [0.0]
    evaluate = ImageBenchmark.evaluate

    def slow(self: ImageBenchmark, configuration: Any, seed: int) -> Any:
        seen.append((configuration, seed))
        now[0] += 10.0 * (len(seen) == 1) + len(seen)
        return evaluate(self, configuration, seed)

    monkeypatch.setattr(ImageBenchmark, "evaluate", slow)
    monkeypatch.setattr(rows, "perf_counter", lambda: now[0])
    found = rows.evaluation(rows.replace(rows.CPU, repeats=3), 60.0)
    assert found == ("3.00 s", "median of 3 networks, recipe smoke")
    assert [seed for _, seed in seen] == [0, 1, 2, 3]
    assert len({configuration for configuration, _ in seen}) == 4
    for seconds, value, number in ((30.0, "2.50 s", 2), (1.0, "2.00 s", 1)):  # half of them: after 15 s none begins
        seen.clear()
        short = rows.evaluation(rows.replace(rows.CPU, repeats=3), seconds)
        assert short == (value, f"median of {number} networks, recipe smoke")


@pytest.mark.usefixtures("few")
def test_a_failed_evaluation_fails_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from nasbench.benchmarks import Evaluation

    failed = Evaluation((math.nan,), 1.0, "failed", "CUDA out of memory. Tried to allocate 2.00 GiB")
    monkeypatch.setattr(ImageBenchmark, "evaluate", lambda *_, **__: failed)
    with pytest.raises(RuntimeError, match=r"Tried to allocate 2\.00 GiB"):
        rows.evaluation(rows.CPU, 60.0)


def test_processes_are_measured_beside_one(monkeypatch: pytest.MonkeyPatch) -> None:
    each = []

    def rate(sizes: rows.Sizes, number: int) -> float:
        each.append(sizes.repeats)
        return {1: 40.0, 4: 100.0}[number]

    monkeypatch.setattr(rows, "_rate", rate)
    for sizes in (rows.CPU, rows.DEVICE):
        found = rows.processes(sizes, 60.0)
        assert found == ("100.0 per minute", "4 processes; one alone 40.0, ratio 2.50")
    assert each == [1, 1, 2, 2]


def test_the_rows_can_be_sent_to_a_process() -> None:
    for row in rows.ROWS.values():
        pickle.dumps(row)


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_measured(
    gpu: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "measured", lambda *_: pytest.fail("it was measured"))
    (tmp_path / "file").touch()
    refused = gpu("--cpu", "--out", tmp_path / "file" / "out")
    assert (refused.code, refused.err.count("error: ")) == (2, 1)
