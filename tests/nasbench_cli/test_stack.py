"""`run --stack`: seeds whose searches are computed as one, and what is stored of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nasbench.cli.engine import batches as engine
from nasbench.cli.engine import executors
from nasbench.cli.engine.batches import Batch
from nasbench.results import Store, StoreError
from tests import few_digits
from tests.conftest import Printed

pytest.importorskip("torch")
pytest.importorskip("sklearn")

SEARCHED = ["run", "--method", "milenas:epochs=1", "--evals", "1"]


def searched(store: Path) -> pd.DataFrame:
    return pd.read_parquet(store / "_searches")


def test_searches_of_several_seeds_are_stored_as_those_of_each(
    tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*SEARCHED, "--method", "one-shot-random", "--bench", f"{few_digits.register(monkeypatch)}@1"]
    for name, options in {"alone": [], "stacked": ["--stack", "2"]}.items():
        assert nasbench(*command, "--seeds", "3", "--store", str(tmp_path / name), *options).code == 0
    alone, stacked = (searched(tmp_path / name) for name in ("alone", "stacked"))
    assert "stacked" not in set(alone["quantity"])
    marked = stacked[stacked["quantity"] == "stacked"]
    assert set(marked["value"]) == {2}
    assert marked.groupby("seed").size().to_dict() == {0: 1, 1: 1}  # seed 2 was left for itself
    ours, theirs = (one[one["quantity"] == "train_loss"].sort_values(["seed", "epoch"]) for one in (alone, stacked))
    assert theirs["value"].tolist() == pytest.approx(ours["value"].tolist(), rel=0.05)
    store = Store.open(tmp_path / "stacked")
    assert sum(len(runs) for runs in store.runs().values()) == 6
    assert not list(store.journals.iterdir())


def test_what_was_searched_together_before_a_kill_is_found_again(
    tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    command = [*SEARCHED, "--bench", f"{few_digits.register(monkeypatch)}@1", "--seeds", "2", "--store", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_compute_live", killed)
        nasbench(*command, "--stack", "2")
    assert len(list((tmp_path / "_journals").glob("*.method.state"))) == 2
    again = nasbench(*command)
    assert again.code == 0
    assert "epoch" not in again.err
    marked = searched(tmp_path).query("quantity == 'stacked'")
    assert marked.groupby("seed").size().to_dict() == {0: 1, 1: 1}


def test_processes_take_a_stack_each(
    tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(work: Sequence[Batch], *_: object) -> Iterator[Any]:
        batches.extend(batch.seeds for batch in work)
        return iter(())

    batches: list[tuple[int, ...]] = []
    monkeypatch.setattr(executors, "_in_children", taken)
    methods = ["--method", "milenas:epochs=2", "--method", "one-shot-random"]
    asked = ["run", *methods, "--bench", f"{few_digits.register(monkeypatch)}@1", "--seeds", "3", "--evals", "1"]
    nasbench(*asked, "--store", str(tmp_path), "--stack", "2", "--jobs", "2")
    assert batches == [(0, 1), (2,), (0,), (1,), (2,)]


def test_what_was_damaged_is_told_and_what_another_command_computes_is_left_to_it(
    tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*SEARCHED, "--bench", f"{few_digits.register(monkeypatch)}@1", "--seeds", "3", "--store", str(tmp_path)]
    begun: list[list[int]] = []

    def begins(*given: Any) -> None:
        begun.append([seed for seed, _ in given[-1]])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "begin_together", begins)
        nasbench(*command, "--stack", "3")
    journals = sorted((tmp_path / "_journals").glob("*.jsonl"))
    assert begun == [[0, 1, 2]]
    held, damaged, _ = journals
    damaged.write_text("no line of a journal\nnor this\n")
    opened = engine.Journal

    def opens(path: Path, run: str) -> Any:
        if path == held and len(seen) < 3:
            seen.append(path)
            raise StoreError("another process is computing it")
        return opened(path, run)

    seen: list[Path] = []
    monkeypatch.setattr(engine, "Journal", opens)
    monkeypatch.setattr(engine, "begin_together", lambda *given: begun.append([seed for seed, _ in given[-1]]))
    told = nasbench(*command, "--stack", "3")
    assert len(begun[1]) == 2
    assert "is damaged" in told.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--method", "random", "--stack", "2"],
            "of darts, milenas, zo-darts, zo-darts+, zo-darts++: none",
        ),
        (["--method", "darts", "--stack", "2", "--seeds", "1"], "here is one seed"),
        (["--method", "darts", "--stack", "0"], "stack must be at least 1, not 0"),
        (["--method", "darts", "--stack", "2", "--executor", "ray"], "--stack is for the local executor"),
    ],
)
def test_where_nothing_could_be_stacked_it_is_refused(
    options: list[str], says: str, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    store = tmp_path / "store"
    refused = nasbench("run", "--bench", "digits", "--store", str(store), *options)
    assert refused.code == 2
    assert says in refused.err
    assert not store.exists()
