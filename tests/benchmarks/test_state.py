"""What an unfinished training has done so far: it is read back bit for bit, or not at all, and then that is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from nasbench.benchmarks.training import training  # noqa: E402
from nasbench.benchmarks.training.state import keep, kept_in  # noqa: E402
from tests.benchmarks.quick_training import bits, resident, trained  # noqa: E402


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    """The state of a training that has paused after two of three epochs."""
    path = tmp_path / "run.0-abc.state"
    trained(resident(), state=path, until=2)
    return path


def test_no_flipped_bit_of_a_state_loads_other_values(paused: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = paused.read_bytes()
    places = [*range(0, len(content), len(content) // 1000), *range(64), *range(len(content) - 64, len(content))]
    assert len(places) > 1000
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        paused.write_bytes(changed)
        assert kept_in(paused) is None, place
    assert {record.getMessage() for record in caplog.records} == {
        f"{paused} cannot be used (it is damaged, or of an older nasbench: its digest is wrong): its training "
        "starts again"
    }
    assert len(caplog.records) == len(places)


def test_a_state_comes_back_as_it_was_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.method.state"
    assert kept_in(path) is None
    keep({"epoch": 3, "weights": torch.arange(5.0)}, path)
    kept = kept_in(path)
    assert kept is not None
    assert kept["epoch"] == 3
    assert torch.equal(kept["weights"], torch.arange(5.0))
    assert not caplog.records
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("damage", ["empty", "torn", "a bit", "no digest", "a folder", "a pipe"])
def test_a_training_with_a_damaged_state_begins_anew_and_says_so_in_a_line(
    damage: str, paused: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content = bytearray(paused.read_bytes())
    paused.unlink()
    if damage == "a folder":
        paused.mkdir()
    elif damage == "a pipe":
        os.mkfifo(paused)
    else:
        content[2000] ^= damage == "a bit"
        begin, end = {"empty": (0, 0), "torn": (0, 500), "a bit": (0, None), "no digest": (32, None)}[damage]
        paused.write_bytes(content[begin:end])
    assert bits(trained(resident(), state=paused)) == bits(trained(resident()))
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"{paused} cannot be used (")
    assert said.endswith("): its training starts again")
    assert "\n" not in said


def test_an_intact_state_is_gone_on_with(paused: Path, caplog: pytest.LogCaptureFixture) -> None:
    found: list[training.Epoch] = []
    data = resident()
    assert bits(trained(data, state=paused, at_epoch_end=lambda _, epoch: found.append(epoch))) == bits(trained(data))
    assert len(found) == 1
    assert not caplog.records
