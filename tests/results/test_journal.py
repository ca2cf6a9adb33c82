from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from nasbench.results import StoreError
from nasbench.results.store import disk
from nasbench.results.store.journal import Journal, Record, drop_failed, forget, keep_for_retry, peek
from tests.results.faults import Counting, Cutting

RECORDS = [
    Record(0, '{"x": 1}', (1.5, 2.0), 0.1, "ok", "", 0.0, 0.1, 0, 1, True),
    Record(2, '{"x": 2}', (math.nan, math.nan), 0.2, "failed", "out of memory\nat line 3", 0.0, 0.2, 2, 1, False),
    Record(1, '{"x": "ü"}', (1e-300, 0.1 + 0.2), 0.3, "ok", "", 0.0, 0.3, 1, 3, True, (math.nan, 0.1, 1e-300)),
]


def write(path: Path) -> None:
    journal = Journal(path, "run")
    for record in RECORDS:
        journal.append(record)
    journal.close()


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    write(tmp_path / "j.jsonl")
    journal = Journal(tmp_path / "j.jsonl", "run")
    assert repr(journal.records) == repr(RECORDS)  # repr: NaN equals NaN
    journal.close()


@pytest.mark.usefixtures("without_fsync")
def test_whatever_byte_a_crash_stops_at_only_the_torn_record_is_lost(in_memory: Path) -> None:
    path = in_memory / "j.jsonl"
    write(path)
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        journal = Journal(path, "run")
        whole = sum(end <= length for end in ends[1:])
        assert repr(journal.records) == repr(RECORDS[:whole])
        for record in RECORDS[whole:]:
            journal.append(record)
        journal.close()
        assert path.read_bytes() == content


def test_what_failed_is_taken_back_with_all_after_it_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    drop_failed(path)
    assert not path.exists()
    write(path)
    lines = path.read_bytes().splitlines(keepends=True)
    drop_failed(path)
    assert path.read_bytes() == b"".join(lines[:2])  # the header, and the record before the failed one
    drop_failed(path)
    assert path.read_bytes() == b"".join(lines[:2])
    path.write_bytes(b"".join(lines) + b'{"check": "00000300-')  # torn by a crash
    drop_failed(path)
    assert path.read_bytes() == b"".join(lines[:2])
    path.write_bytes(b"".join(lines) + b'{"ask": 3}\n')
    drop_failed(path)
    assert path.read_bytes() == b"".join(lines) + b'{"ask": 3}\n'  # damaged: left for whoever opens it to say so


def test_a_journal_of_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    content = path.read_bytes()
    with pytest.raises(StoreError, match="the journal of another run"):
        Journal(path, "other")
    assert path.read_bytes() == content


@pytest.mark.slow
@pytest.mark.usefixtures("without_fsync")
def test_of_a_journal_damaged_anywhere_all_before_is_used_and_all_after_kept(in_memory: Path) -> None:
    """Every bit of every byte, and every line left out, doubled or moved."""
    path = in_memory / "j.jsonl"
    write(path)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    cases = [
        (i, content[:i] + bytes([content[i] ^ 1 << bit]) + content[i + 1 :])
        for i in range(len(content))
        for bit in range(8)
    ]
    cases += [(len(b"".join(lines[:n])), b"".join(lines[:n] + lines[n + 1 :])) for n in range(len(lines) - 1)]
    cases += [(len(b"".join(lines[: n + 1])), b"".join([*lines[: n + 1], *lines[n:]])) for n in range(len(lines))]
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for position, damaged in cases:
        path.write_bytes(damaged)
        journal = Journal(path, "run")
        journal.close()
        whole = sum(end <= position for end in ends)
        assert repr(journal.records) == repr(RECORDS[: max(0, whole - 1)])
        kept = path.with_suffix(".damaged")
        assert f"after {len(journal.records)} evaluations" in journal.damage
        assert kept.read_bytes() == damaged[ends[whole - 1] if whole else 0 :]
        kept.unlink()


@pytest.mark.parametrize("part", [0, 1, 40])
def test_what_a_full_disk_left_of_a_line_is_taken_back(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, "run")
    journal.append(RECORDS[0])
    intact = path.read_bytes()
    with monkeypatch.context() as patch:
        plain = disk.system.write
        patch.setattr(disk.system, "write", lambda handle, data: plain(handle, data[:part]))
        with pytest.raises(StoreError, match=r"cannot write .*what it holds is intact"):
            journal.append(RECORDS[1])
        assert path.read_bytes() == intact
    for record in RECORDS[1:]:
        journal.append(record)
    journal.close()
    again = Journal(path, "run")
    assert repr(again.records) == repr(RECORDS)
    again.close()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j.jsonl", "run")
    with pytest.raises(StoreError, match=r"process \d+ on .* is computing"):
        Journal(tmp_path / "j.jsonl", "run")
    first.close()
    Journal(tmp_path / "j.jsonl", "run").close()
    forget(tmp_path / "j.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_of_a_stored_run_with_a_failure_the_states_are_kept_that_a_retry_may_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, "run")
    for trial, status in ((0, "ok"), (10, "ok"), (1, "failed"), (2, "ok")):
        journal.append(RECORDS[0]._replace(ask=trial, trial=trial, status=status))
    states = {trial: journal.state(f"{trial}-abc") for trial in (0, 1, 2, 10)}
    for state in (*states.values(), journal.state("method")):
        state.touch()
    journal.close()
    keep_for_retry(path)
    assert [trial for trial, state in states.items() if state.exists()] == [0, 10]
    assert path.exists()
    assert journal.state("method").exists()


def test_damage_of_another_time_is_kept_beside_what_was_kept_before(in_memory: Path) -> None:
    path = in_memory / "j.jsonl"
    for _ in range(2):
        write(path)
        path.write_bytes(path.read_bytes() + b"noise\n")
        Journal(path, "run").close()
        path.unlink()
    assert path.with_suffix(".damaged").read_bytes() == b"noise\n" * 2


def test_a_journal_that_was_begun_outlives_a_power_failure(in_memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation may take hours: with the first line the name of the file must be safe, too."""
    for seed in range(20):
        folder = in_memory / f"journals{seed}"
        folder.mkdir()
        cutting = Cutting(10**9)
        monkeypatch.setattr(disk, "system", cutting)
        write(folder / "j.jsonl")
        cutting.settle(folder, random.Random(seed))
        monkeypatch.setattr(disk, "system", Counting())
        journal = Journal(folder / "j.jsonl", "run")
        journal.close()
        assert repr(journal.records) == repr(RECORDS)


def test_a_journal_without_a_line_is_no_runs(tmp_path: Path) -> None:
    """A command that begins it, or was killed then, leaves it empty; `nasbench status` may look at it."""
    (tmp_path / "j.jsonl").touch()
    assert peek(tmp_path / "j.jsonl", "run") is None


def test_damaged_lines_are_kept_when_their_run_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    path.write_bytes(path.read_bytes() + b"noise\n")
    Journal(path, "run").close()
    forget(path)
    assert [left.name for left in tmp_path.iterdir()] == ["j.damaged"]
