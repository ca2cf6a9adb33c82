"""The official files are not here: a miniature in their structure is held against the packages' own readers."""

from __future__ import annotations

import bz2
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nasbench.benchmarks import UsageError, abilities, parse_constraints
from nasbench.benchmarks.tabular import nasbench201, open_table
from nasbench.benchmarks.tabular.imported import TableData, save
from tests.benchmarks.miniature import SEEDS, miniature
from tests.conftest import Printed

CELLS = [(0, 1, 2, 3, 4, 0), (3, 3, 3, 3, 3, 3), (4, 0, 1, 1, 2, 3), (1, 1, 1, 1, 1, 1)]
OURS = {"nb201-cifar10": "cifar10-valid", "nb201-cifar100": "cifar100", "nb201-imagenet16": "ImageNet16-120"}


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def api() -> ModuleType:
    pytest.importorskip("torch")
    return pytest.importorskip("nas_201_api")


@pytest.fixture
def file(api: ModuleType, tmp_path: Path) -> Path:
    import torch

    torch.save(miniature(api, CELLS), tmp_path / "mini.pth")
    return tmp_path / "mini.pth"


def converted(path: Path) -> dict[str, TableData]:
    return {table.name: table for table in nasbench201.convert(path, True, lambda _: None)}


def test_every_number_is_that_of_the_packages_reader(api: ModuleType, file: Path) -> None:
    reader = api.NASBench201API(miniature(api, CELLS), verbose=False)
    tables = converted(file)
    assert set(tables) == set(OURS)
    for name, data in OURS.items():
        table = tables[name]
        columns = {metric.name: i for i, metric in enumerate(table.metrics)}
        assert table.metrics[0].name == "x-valid-error@200"
        for index, digits in enumerate(CELLS):
            row = table.space.index(digits)
            assert np.isnan(table.values[row, len(SEEDS[data]) :]).all()
            for repetition, seed in enumerate(sorted(SEEDS[data])):  # drawn by number: without gaps
                values = table.values[row, repetition]
                info = reader.get_more_info(index, data, hp="200", is_random=seed)
                assert values[0] == pytest.approx(100 - info["valid-accuracy"])
                assert values[columns["train_time"]] == pytest.approx(info["train-all-time"])
                test = "ori-test-error@200" if data == "cifar10-valid" else "x-test-error@200"
                assert values[columns[test]] == pytest.approx(100 - info["test-accuracy"])
                cost = reader.get_cost_info(index, data, hp="200")
                assert values[columns["flops"]] == pytest.approx(cost["flops"])
                assert values[columns["model_size"]] == pytest.approx(cost["params"])
                assert values[columns["latency"]] == pytest.approx(cost["latency"])
    again = reader.get_more_info(1, "cifar10", hp="200", is_random=777)
    retrained = tables["nb201-cifar10"].values[tables["nb201-cifar10"].space.index(CELLS[1]), :, -1]
    assert retrained == pytest.approx(100 - again["test-accuracy"])


def test_the_benchmark_gains_test_metrics_and_fidelities(api: ModuleType, file: Path) -> None:
    embedded = open_table("nb201-cifar10")
    with pytest.raises(UsageError, match="no nb201-cifar10@12; it has one fidelity only"):
        abilities.at(embedded, 12)
    for table in converted(file).values():
        save(table)
    full = open_table("nb201-cifar10")
    assert full.checksum != embedded.checksum
    assert [m.name for m in full.metrics if m.is_test] == ["ori-test-error@200", "retrained-test-error@200"]
    reader = api.NASBench201API(miniature(api, CELLS), verbose=False)
    for epochs in (1, 12, 200):
        short = full.at(epochs)
        assert short.name == f"nb201-cifar10@{epochs}"
        assert [m.name for m in short.metrics[:3]] == [f"{s}-error@{epochs}" for s in ("x-valid", "train", "ori-test")]
        assert {m.name for m in short.metrics[3:]} == {"train_time", "model_size", "flops", "latency"}
        for index, digits in enumerate(CELLS):
            evaluation = short.evaluate(digits, 4)  # repetition 4 % 3 = 1: seed 888
            info = reader.get_more_info(index, "cifar10-valid", iepoch=epochs - 1, hp="200", is_random=888)
            assert evaluation.metrics[f"x-valid-error@{epochs}"] == pytest.approx(
                100 - info["valid-accuracy"], rel=1e-6
            )
            assert evaluation.metrics[f"ori-test-error@{epochs}"] == pytest.approx(
                100 - info["test-accuracy"], rel=1e-6
            )
            assert evaluation.cost == pytest.approx(info["train-all-time"])
    (full._folder / f"{full._facts['epochs']}.npy").write_bytes(b"")  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="missing or damaged"):  # by whoever opens the table after that
        open_table("nb201-cifar10").at(12).evaluate(CELLS[0], 0)
    with pytest.raises(UsageError, match="no nb201-cifar10@201; allowed: 1 to 199"):
        abilities.at(full, 201)
    assert open_table("nb201-cifar100").fidelities == ()  # its validation accuracy is known after the last epoch only


def test_what_the_file_lacks_is_a_failed_evaluation(file: Path) -> None:
    save(converted(file)["nb201-cifar10"])
    table = open_table("nb201-cifar10")
    absent = table.evaluate((0, 0, 0, 0, 0, 0), 0)
    assert (absent.status, absent.reason) == ("failed", "the table has no such configuration")
    assert table.evaluate(CELLS[0], 0).status == "ok"
    assert table.quantile("model_size", 0.5) == pytest.approx(2.1)  # of four: 0.1, 1.1, 2.1, 3.1


def test_test_metrics_cannot_be_constrained(file: Path) -> None:
    save(converted(file)["nb201-cifar10"])
    table = open_table("nb201-cifar10")
    with pytest.raises(UsageError, match="reported and never selected on"):
        abilities.bounds(table, parse_constraints(["ori-test-error@200<=5"]))


def test_a_nats_file_is_read_too(tmp_path: Path) -> None:
    nats = pytest.importorskip("nats_bench")
    raw = miniature(nats, CELLS, nats=True)
    path = tmp_path / "mini.pickle.pbz2"
    nats.pickle_save(raw, str(tmp_path / "mini.pickle"))
    assert path.is_file()
    reader = nats.NATStopology(raw, fast_mode=False, verbose=False)
    table = converted(path)["nb201-cifar10"]
    info = reader.get_more_info(2, "cifar10-valid", hp="200", is_random=999)
    assert table.values[table.space.index(CELLS[2]), 2, 0] == pytest.approx(100 - info["valid-accuracy"])


def test_the_command_states_the_memory_and_asks_for_trust(
    nasbench: Callable[..., Printed], file: Path, tmp_path: Path
) -> None:
    refused = nasbench("import", "nas-bench-201", file)
    assert refused.code == 2
    assert "none of the released files" in refused.err
    assert not (tmp_path / "data").exists()
    done = nasbench("import", "nas-bench-201", file, "--trust")
    assert done.code == 0, done.err
    assert "GiB of memory" in done.out
    assert "nb201-cifar10: 4 of 15,625 configurations, up to 3 repetitions; minimises x-valid-error@200" in done.out
    assert "nb201-imagenet16" in done.out


class Foreign:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return (Path.touch, (Path("/tmp/nasbench-must-never-exist"),))  # type: ignore[return-value]


def test_a_pickle_with_foreign_classes_is_refused_unopened(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    path = tmp_path / "NAS-Bench-201-v1_1-096897.pth"  # even under an official name
    path.write_bytes(pickle.dumps(Foreign()))
    refused = nasbench("import", "nas-bench-201", path)
    assert refused.code == 2
    assert "--trust" in refused.err
    assert not Path("/tmp/nasbench-must-never-exist").exists()


def test_a_forged_official_file_runs_no_code(
    api: ModuleType, nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The few digits in a name can be forged: what is not plain data is refused even then."""
    monkeypatch.setattr(nasbench201, "is_official", lambda path: True)
    for name in ("forged.pth", "forged.pbz2"):
        content = pickle.dumps(Foreign())
        (tmp_path / name).write_bytes(bz2.compress(content) if name.endswith("pbz2") else content)
        refused = nasbench("import", "nas-bench-201", tmp_path / name)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not Path("/tmp/nasbench-must-never-exist").exists()


def test_official_files_are_plain_data(
    api: ModuleType, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nasbench201, "is_official", lambda path: True)
    nats = pytest.importorskip("nats_bench")
    nats.pickle_save(miniature(nats, CELLS, nats=True), str(tmp_path / "plain.pickle"))
    for path in (file, tmp_path / "plain.pickle.pbz2"):
        assert len(nasbench201.convert(path, False, lambda _: None)) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"x" * 5000])
def test_what_is_no_such_file_gets_one_sentence(
    api: ModuleType, nasbench: Callable[..., Printed], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "broken.pth"
    path.write_bytes(content)
    refused = nasbench("import", "nas-bench-201", path, "--trust")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "cannot be read" in refused.err
    import torch

    torch.save({"meta_archs": ["|x~0|"], "arch2infos": {0: {"full": {}}}}, path)
    refused = nasbench("import", "nas-bench-201", path, "--trust")
    assert refused.code == 2
    assert "does not have the structure" in refused.err
