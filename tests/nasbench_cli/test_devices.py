"""A device that fails ends its process, not the evaluation: that is repeated in a new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from nasbench.base.faults import DeviceLost
from nasbench.cli.commands.forewarnings import say_device
from nasbench.cli.engine import devices
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.methods import MethodSpec
from nasbench.results import Store
from tests.conftest import Printed

BROKEN = """
import nasbench.benchmarks.training.training as training
whole, calls = training.train, []
def train(*arguments):
    calls.append(1)
    if len(calls) > 1:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    return whole(*arguments)
training.train = train
from nasbench.cli.main import main
main()
"""
"""The command, whose second training and all later ones meet a failed device; processes that it starts do not."""


def fails_first(task: str) -> str:
    """A device that fails in the first process, and in a second one, too, if the task ends so."""
    marks = [Path(f"{task}.{number}") for number in range(9)]
    mark = next(mark for mark in marks if not mark.exists())
    mark.touch()
    if mark == marks[0] or task.endswith("always"):
        raise DeviceLost("the device has failed: a test")
    return mark.name


@pytest.mark.slow
def test_a_task_whose_device_failed_is_done_in_a_new_process(tmp_path: Path) -> None:
    tasks = [str(tmp_path / "once"), str(tmp_path / "always")]
    found = dict(in_processes(fails_first, tasks, 1))
    assert found[tasks[0]] == "once.1"
    lost = found[tasks[1]]
    assert isinstance(lost, Lost)
    assert lost.reason == "its device failed in 3 processes, one after another"
    assert not lost.killed  # it is recorded as failed, not left missing for ever
    assert len(list(tmp_path.glob("always.*"))) == 3


@pytest.mark.slow
def test_a_run_goes_on_in_a_new_process_as_if_nothing_had_happened(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    asked = ["run", "--bench", "digits@1", "--method", "random", "--seeds", "1", "--evals", "2", "--store"]
    broken = [sys.executable, "-c", BROKEN, *asked, str(tmp_path / "broken")]
    assert nasbench(*asked, tmp_path / "whole").code == 0
    done = subprocess.run(broken, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the device has failed: CUDA error: an illegal memory access" in done.stderr
    assert "in a new process" in done.stderr
    frames = [pd.read_parquet(tmp_path / name).sort_values("evaluation") for name in ("whole", "broken")]
    for column in ("configuration", "objective", "status", "metric.test-error@1"):
        assert frames[0][column].tolist() == frames[1][column].tolist()
    assert set(frames[1]["status"]) == {"ok"}


NVIDIA_SMI = """#!/bin/sh
echo 'GPU 0: NVIDIA H200 (UUID: GPU-aaaa)'
echo '  MIG 3g.71gb     Device  0: (UUID: MIG-one)'
echo '  MIG 3g.71gb     Device  1: (UUID: MIG-two)'
echo 'GPU 1: NVIDIA H200 (UUID: GPU-bbbb)'
"""
SEEN = (
    "from nasbench.cli.engine.devices import devices, shared_out; print(devices(), [shared_out(n) for n in range(4)])"
)


def seen(folder: Path, smi: str = NVIDIA_SMI, **environment: str) -> str:
    """What a process sees of devices, on a machine whose nvidia-smi is `smi`."""
    (folder / "nvidia-smi").write_text(smi)
    (folder / "nvidia-smi").chmod(0o755)
    inherited = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", SEEN],
        env=inherited | {"PATH": path} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_processes_take_the_devices_in_turn_and_the_parts_of_a_divided_one_for_it(tmp_path: Path) -> None:
    found = seen(tmp_path)
    assert "Device(name='MIG-one', model='NVIDIA H200 MIG 3g.71gb'), Device(name='MIG-two'" in found
    assert "Device(name='GPU-bbbb', model='NVIDIA H200')" in found
    assert "GPU-aaaa" not in found
    taken = [f"{{'CUDA_VISIBLE_DEVICES': '{name}'}}" for name in ("MIG-one", "MIG-two", "GPU-bbbb", "MIG-one")]
    assert found.strip().endswith(f"[{', '.join(taken)}]")


def test_what_the_environment_leaves_visible_is_what_there_is(tmp_path: Path) -> None:
    two = seen(tmp_path, CUDA_VISIBLE_DEVICES="GPU-bbbb, 7")
    assert "(Device(name='GPU-bbbb', model='NVIDIA H200'), Device(name='7', model=''))" in two
    assert "[{'CUDA_VISIBLE_DEVICES': 'GPU-bbbb'}, {'CUDA_VISIBLE_DEVICES': '7'}" in two
    assert seen(tmp_path, CUDA_VISIBLE_DEVICES="").startswith("() ")
    assert seen(tmp_path, CUDA_VISIBLE_DEVICES="0").strip().endswith("[{}, {}, {}, {}]")  # one is shared by all
    assert seen(tmp_path, smi="#!/bin/sh\nexit 9\n").startswith("() ")


def visible(mark: str) -> str:
    """The devices of the process, which waits until another one has begun, too."""
    Path(mark).touch()
    while len(list(Path(mark).parent.glob("begun-*"))) < 2:
        time.sleep(0.01)
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.slow
def test_each_process_has_a_device_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nasbench.cli.engine.pool.shared_out", lambda number: {"CUDA_VISIBLE_DEVICES": f"GPU-{number}"})
    tasks = [str(tmp_path / f"begun-{number}") for number in range(2)]
    found = dict(in_processes(visible, tasks, 2))
    assert sorted(str(value) for value in found.values()) == ["GPU-0", "GPU-1"]


@pytest.fixture
def beside_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with GPUs and their driver, and a PyTorch that finds none."""
    training = pytest.importorskip("nasbench.benchmarks.training.training")
    pytest.importorskip("sklearn")
    (tmp_path / "nvidia-smi").write_text(NVIDIA_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(devices, "_listed", cache(devices._listed.__wrapped__))
    monkeypatch.setattr(training.torch.cuda, "is_available", lambda: False)
    assert len(devices.devices()) == 3


def recorded(store: Path) -> list[str]:
    """The GPUs that a store's provenance names."""
    return [fragment.provenance["machine"]["gpu"] for fragment in Store.open(store).fragments()]


@pytest.mark.slow
@pytest.mark.usefixtures("beside_a_driver")
def test_the_time_on_a_gpu_is_unknown_until_a_run_was_made_on_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["digits@1"]\nseeds = 1\nevals = 1\n')
    asked = ("plan", tmp_path / "s.toml", "--store", tmp_path / "store")
    assert "GPU:" not in nasbench(*asked).out  # what the driver has, PyTorch does not use
    monkeypatch.setattr("nasbench.benchmarks.training.training.device_name", lambda: "NVIDIA H200")
    assert "of one CPU core; on a GPU: unknown" in nasbench(*asked).out
    assert json.loads(nasbench(*asked, "--json").out)["gpu_seconds"] is None
    assert nasbench("run", "--suite", tmp_path / "s.toml", "--store", tmp_path / "store").code == 0
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["digits@1"]\nseeds = 2\nevals = 1\n')
    again = nasbench(*asked).out
    assert "on a GPU: " in again
    assert "unknown" not in again


@pytest.mark.slow
@pytest.mark.usefixtures("beside_a_driver")
def test_the_time_on_a_cpu_is_not_that_of_runs_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    asked = ("plan", tmp_path / "s.toml", "--store", tmp_path / "store", "--json")
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["digits@1"]\nseeds = 1\nevals = 1\n')
    with monkeypatch.context() as patched:
        patched.setattr("nasbench.benchmarks.training.training.device_name", lambda: "NVIDIA H200")
        assert nasbench("run", "--suite", tmp_path / "s.toml", "--store", tmp_path / "store").code == 0
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["digits@1"]\nseeds = 2\nevals = 1\n')
    (entry,) = json.loads(nasbench(*asked).out)["setups"]
    assert (entry["stored"], entry["measured"]) == (1, False)


@pytest.mark.slow
@pytest.mark.usefixtures("beside_a_driver")
def test_the_gpu_of_a_run_is_the_one_that_pytorch_computes_on(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    nasbench: Callable[..., Printed],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("run", "--method", "random", "--seeds", "1", "--evals", "1", "--bench")
    live = nasbench(*asked, "digits@1", "--store", tmp_path / "cpu")
    assert live.out.splitlines()[0] == "device: cpu"
    assert recorded(tmp_path / "cpu") == [""]
    monkeypatch.setattr("nasbench.benchmarks.training.training.device_name", lambda: "NVIDIA H200")
    live = nasbench(*asked, "digits@1", "--store", tmp_path / "gpu")
    assert live.out.splitlines()[0] == "device: NVIDIA H200"
    assert recorded(tmp_path / "gpu") == ["NVIDIA H200"]
    assert "device:" not in nasbench(*asked, "digits@1", "--store", tmp_path / "gpu").out  # nothing is computed
    assert "device:" not in nasbench(*asked, "nb201-cifar10", "--store", tmp_path / "table").out
    assert recorded(tmp_path / "table") == [""]  # a table is looked up
    say_device(expand([Grid((MethodSpec("random"),), ("digits@1",), ((),), (0,), Protocol(1))]), 2)
    assert capsys.readouterr().out == "device: NVIDIA H200 (--jobs take 3 devices in turn)\n"


@pytest.mark.slow
def test_where_nothing_is_live_pytorch_is_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["nb201-cifar10"]\nevals = 3\n')
    for words in (["plan", "s.toml"], ["run", "--suite", "s.toml"], ["plan", "s.toml"], ["list"]):
        code = f"import sys; from nasbench.cli.main import cli; cli({words}, standalone_mode=False)"
        code += "; assert 'torch' not in sys.modules"
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("named", "expected"), [("", []), ("-1", []), ("0,-1,1", ["0"]), ("1, 0", ["1", "0"]), ("0,1,", ["0", "1"])]
)
def test_devices_are_named_up_to_the_first_that_is_none(
    named: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CUDA reads its variable."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert [device.name for device in devices.devices()] == expected
