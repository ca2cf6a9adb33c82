from __future__ import annotations

import math
from pathlib import Path

import pytest

from nasbench.results import StoreError
from nasbench.results.store.journal import Journal, Record, drop_failed, forget

RECORDS = [
    Record(0, '{"x": 1}', (1.5, 2.0), 0.1, "ok", "", 0.0, 0.1),
    Record(2, '{"x": 2}', (math.nan, math.nan), 0.2, "failed", "out of memory\nat line 3", 0.0, 0.2),
    Record(1, '{"x": "ü"}', (1e-300, 0.1 + 0.2), 0.3, "ok", "", 0.0, 0.3),
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


def test_whatever_byte_a_crash_stops_at_only_the_torn_record_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
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
    path.write_bytes(b"".join(lines) + b'{"ask": 3}\n')
    drop_failed(path)
    assert path.read_bytes() == b"".join(lines) + b'{"ask": 3}\n'  # damaged: left for whoever opens it to say so


def test_a_journal_of_another_run_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    write(path)
    content = path.read_bytes()
    with pytest.raises(StoreError, match="the journal of another run"):
        Journal(path, "other")
    lines = content.splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"ask": 1}\n' + lines[2])
    with pytest.raises(StoreError, match="is damaged"):
        Journal(path, "run")
    assert path.exists()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j.jsonl", "run")
    with pytest.raises(StoreError, match="another process"):
        Journal(tmp_path / "j.jsonl", "run")
    first.close()
    Journal(tmp_path / "j.jsonl", "run").close()
    forget(tmp_path / "j.jsonl")
    assert list(tmp_path.iterdir()) == []
