"""What a report gives to a paper, and to other tools."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

from nasbench.results import Store, StoreError
from nasbench.results.curves import Curves
from nasbench.results.parts import convergence, settings
from nasbench.results.reading import load, select
from nasbench.results.report import export, report, studies
from nasbench.results.report.request import Request
from nasbench.results.scores import HIDDEN
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict import citation
from nasbench.results.verdict.citation import protocol
from tests.conftest import Printed
from tests.results.conftest import SETTING, Fill, make_run, make_setup


@pytest.fixture
def compared(filled: Fill) -> Store:
    return filled(
        {
            make_setup(method, constraint=constraint): [
                make_run(s, [9.0, 5.0 + shift, 9.0 if s == 5 else 2.0 + shift + s / 10], [False, True, True])
                for s in range(6)
            ]
            for method, shift in (("random", 2.0), ("evolution", 0.0), ("c-tpe:gamma=0.1", 1.0))
            for constraint in ("none", "size@0.1")
        }
    )


@pytest.fixture
def paper(compared: Store, tmp_path: Path) -> Path:
    report.write([compared], Request(tmp_path / "out", formats=("csv",), paper=tmp_path / "paper", figure_width=2.5))
    return tmp_path / "paper"


def test_what_a_paper_is_told_is_legible_and_holds_no_html(filled: Fill, tmp_path: Path) -> None:
    methods = ("random", "a<b>bold")
    setups = [make_setup(m) for m in methods]
    store = filled({c: [make_run(s, [9.0, 2.0 + s + i]) for s in range(6)] for i, c in enumerate(setups)})
    store.save_plan("nasbench run --constrain 'size<=1'", [(c, list(range(6))) for c in setups], {})
    report.write([store], Request(tmp_path / "out", formats=("csv",), paper=tmp_path / "paper", baseline="a<b>bold"))
    text = (tmp_path / "paper" / "README.md").read_text()
    assert "'size<=1'" in text
    assert "a&lt;b>bold" in text
    assert "<b" not in text


FIGURES = ("fig-ranks", "fig-cd", "fig-cd-wilcoxon", "fig-regret-toy")
TABLES = ("tab-means", "tab-ranks", "tab-pairs", "tab-every-pair", "tab-wilcoxon", "tab-scopes")


def test_each_figure_and_table_for_a_paper_states_its_protocol(paper: Path) -> None:
    names = {path.name for path in paper.iterdir()} - {".nasbench-report"}
    of_figures = {f"{name}.{end}" for name in FIGURES for end in ("pdf", "tex")}
    assert names == of_figures | {f"{name}.tex" for name in TABLES} | {"README.md"}
    for path in paper.glob("*.tex"):
        text = " ".join(path.read_text().split())
        caption = text[text.index(r"\caption{") :]
        for fact in (
            "3 evaluations on 1 worker",
            "6 seeds (0 to 5)",
            "2 settings",
            "1 search space: toy",
            "commit c0ffee",
        ):
            assert fact in caption, (path.name, fact)
        assert text.startswith(r"% \usepackage{")
        assert text.count(r"\label{") == 1
    assert r"\graphicspath{{paper/}}" in (paper / "fig-ranks.tex").read_text().splitlines()[0]
    overview = (paper / "README.md").read_text()
    for name in (*FIGURES, *TABLES):
        assert f"* `{name}`: " in overview


def test_captions_say_for_what_share_of_the_runs_nothing_was_hidden(
    compared: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = pd.DataFrame({"hidden": [1.0, 0.0, 0.0, math.nan, 1.0]})
    remark = citation.not_hidden(cast(Curves, SimpleNamespace(compared=HIDDEN, runs=runs)))
    assert remark == " (in 50 % of the runs its only one)"
    assert citation.not_hidden(cast(Curves, SimpleNamespace(compared=HIDDEN, runs=runs[:1]))) == ""
    monkeypatch.setattr(citation, "not_hidden", lambda _: remark)
    report.write([compared], Request(tmp_path / "out", formats=("csv",), paper=tmp_path / "paper", figure_width=2.5))
    assert r"(in 50 \% of the runs its only one)" in " ".join(
        (tmp_path / "paper" / "tab-pairs.tex").read_text().split()
    )


def test_captions_and_overview_say_what_was_selected_and_which_command_made_them(
    compared: Store, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    folder = tmp_path / "paper"
    chosen = ("--method", "random", "--method", "evolution", "--constrain", "none")
    asked = ("report", compared.folder, *chosen, "--out", tmp_path / "out", "--format", "csv", "--paper", folder)
    assert nasbench(*asked).code == 0
    selected = "A selection by hand: 2 of 3 methods, 1 of 2 constraints. 1 setting of"
    assert selected in " ".join((folder / "fig-ranks.tex").read_text().split())
    assert selected in (folder / "README.md").read_text()
    command = f"nasbench report {compared.folder} {' '.join(chosen)}"
    assert f"Made by `{command}" in (folder / "README.md").read_text()
    assert "A selection" not in protocol(Subject(Comparison(load(select([compared])), 0, (3.0,)), []))


def test_means_mark_the_best_and_what_is_not_significantly_worse(filled: Fill) -> None:
    ends = {"good": (1.0, 0.1), "equal": (1.05, 0.1), "worse": (2.0, 0.1), "worst": (9.0, 0.0)}
    runs = {
        make_setup(m): [make_run(s, [9.0, mean + spread * (s - 4.5)]) for s in range(10)]
        for m, (mean, spread) in ends.items()
    }
    table = settings.means(Comparison(load(select([filled(runs)])), 0, (2.0,)))
    (row,) = table.shown.to_dict("records")
    assert table.bold is not None
    assert {m: bool(table.bold[0, table.shown.columns.get_loc(m)]) for m in ends} == {
        "good": True,
        "equal": True,
        "worse": False,
        "worst": False,
    }
    sd = float(np.std(0.1 * np.arange(10), ddof=1))
    assert {m: row[m] for m in ends} == {m: f"{mean:.2f} ± {sd if s else 0:.2f}" for m, (mean, s) in ends.items()}
    assert r"1.00 $\pm$ 0.30" in table.latex()
    facts = table.data.set_index("method")
    assert facts.loc["equal", ["mean", "sd"]].tolist() == pytest.approx([1.05, sd])


def test_means_have_a_row_where_nothing_feasible_was_found_and_no_worst_value_is_known(filled: Fill) -> None:
    live = replace(SETTING, worst=None)
    lost = {
        make_setup(m, constraint="size@0.1", setting=live): [make_run(s, [9.0], [False]) for s in range(6)]
        for m in "ab"
    }
    found = {make_setup(m, setting=live): [make_run(s, [9.0 + i]) for s in range(6)] for i, m in enumerate("ab")}
    curves = load(select([filled(lost | found)]))
    table = settings.means(Comparison(curves, 0, (curves.end,)))
    rows = table.shown.set_index("constraint")
    assert rows.loc["size@0.1"].tolist()[1:] == ["-", "-"]
    assert table.bold is not None
    assert table.bold.sum() == 1


def test_only_captions_of_tables_with_verdicts_say_how_they_were_tested(paper: Path) -> None:
    says = {
        path.name for path in paper.glob("*.tex") if "t over seeds, stratified" in " ".join(path.read_text().split())
    }
    assert says == {"tab-scopes.tex", "tab-pairs.tex", "tab-every-pair.tex", "tab-ranks.tex", "fig-cd.tex"}


def test_a_regret_is_what_is_missing_to_the_oracle_and_zero_lies_at_the_lower_edge(filled: Fill) -> None:
    oracle = SETTING.oracle
    runs = {
        make_setup("a"): [make_run(s, [oracle + 8.0, oracle + 2.0, oracle]) for s in range(5)],
        make_setup("b"): [make_run(s, [oracle + 4.0] * 3) for s in range(5)],
    }
    (panel,) = convergence.regrets(Comparison(load(select([filled(runs)])), 0, (3.0,)), 3)["toy"]
    assert panel.log
    assert panel.reference is None
    assert panel.ylabel.startswith("regret of ")
    assert [s.y.tolist() for s in panel.series] == [[8.0, 2.0, 2.0], [4.0, 4.0, 4.0]]
    unknown = {
        make_setup(m, "other", setting=replace(SETTING, oracle=np.nan, score_oracle=np.nan)): own
        for m, own in zip("ab", runs.values(), strict=True)
    }
    (plain,) = convergence.regrets(Comparison(load(select([filled(unknown)])), 0, (3.0,)), 3)["other"]
    assert [s.y.tolist()[0] for s in plain.series] == [oracle + 8.0, oracle + 4.0]
    assert "regret" not in plain.ylabel


def test_a_papers_figures_are_as_wide_as_asked_with_embedded_fonts(paper: Path) -> None:
    for name in FIGURES:
        pdf = (paper / f"{name}.pdf").read_bytes()
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
        assert box
        assert float(box[1]) == pytest.approx(2.5 * 72, abs=0.5)
        assert b"/FontFile2" in pdf  # TrueType, embedded: type 42
        assert b"/Type3" not in pdf


def test_a_papers_tables_have_the_numbers_of_the_page(compared: Store, paper: Path, tmp_path: Path) -> None:
    with (tmp_path / "out" / "scopes.csv").open() as file:
        rows = list(csv.DictReader(file))
    text = (paper / "tab-scopes.tex").read_text()
    assert {r["where"] for r in rows} == {"all together", "no constraint", "size@0.1"}
    for row in rows:
        assert f"{row['where']} & " in text
        assert f"{float(row['better']):.2f}" in text
        assert f"{float(row['low']):.2f}--{float(row['high']):.2f}" in text


def test_no_folder_may_lie_in_a_store(compared: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="lies inside the store"):
        report.write([compared], Request(tmp_path / "out", formats=("csv",), paper=compared.folder / "paper"))


# Exports


def test_tidy_steps_give_every_incumbent_back(compared: Store) -> None:
    curves = load(select([compared]))
    rows = list(csv.DictReader(io.StringIO(export.tidy(curves))))
    found = np.full(curves.incumbent.shape, np.nan)
    for row in rows:
        setting = curves.settings["constraint"].tolist().index(row["constraint"])
        method = curves.names.index(row["method"])
        (run,) = np.flatnonzero(
            (curves.runs["setting"] == setting)
            & (curves.runs["method"] == method)
            & (curves.runs["seed"] == int(row["seed"]))
        )
        found[run, int(row["evaluation"]) - 1 :] = float(row["value"] or "nan")
    assert np.array_equal(found, curves.incumbent, equal_nan=True)
    lasts = [row for row, after in zip(rows, [*rows[1:], rows[0]], strict=True) if after["evaluation"] == "1"]
    assert len(lasts) == len(curves.runs)
    assert {row["evaluation"] for row in lasts} == {"3"}  # also where the last evaluation was no better
    assert {row["seconds"] for row in rows} == {"1.0", "2.0", "3.0"}


def test_the_format_of_iohprofiler_holds_every_run(compared: Store) -> None:
    curves = load(select([compared]))
    files = export.ioh(curves)
    assert len(files) == 2 * 6
    for name, content in files.items():
        if name.endswith(".json"):
            facts = json.loads(content)
            (scenario,) = facts["scenarios"]
            lines = files[scenario["path"]].decode().splitlines()
            assert lines.count("evaluations raw_y") == len(scenario["runs"]) == 6
            assert [run["instance"] for run in scenario["runs"]] == list(range(6))
            assert lines[1] == "1 100.0"  # nothing feasible yet: the worst feasible value


def test_iohinspector_reads_what_we_write(compared: Store, tmp_path: Path) -> None:
    inspector = pytest.importorskip("iohinspector")
    report.write([compared], Request(tmp_path / "out", formats=("csv",), ioh=tmp_path / "ioh"))
    curves = load(select([compared]))
    manager = inspector.DataManager()
    manager.add_folder(str(tmp_path / "ioh"))
    overview = manager.overview
    assert len(overview) == len(curves.runs)
    assert set(overview["algorithm_name"]) == set(curves.names)
    loaded = manager.load(monotonic=False, include_meta_data=True)
    for (method, function, instance), rows in loaded.group_by(["algorithm_name", "function_name", "instance"]):
        _, constraint = function.split()
        setting = curves.settings["constraint"].tolist().index(constraint)
        own = curves.groups[setting, curves.names.index(method)]
        (run,) = [r for r in own if curves.runs["seed"].iloc[r] == instance]
        steps = rows.sort("evaluations")
        values = curves.padded(curves.incumbent)[run]
        assert steps["raw_y"].to_list() == values[np.array(steps["evaluations"].to_list(), int) - 1].tolist()
        assert steps["evaluations"].to_list()[-1] == 3


def test_optuna_reads_every_run_as_a_study_whose_best_trial_is_the_incumbent(compared: Store, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    file = tmp_path / "new" / "runs.log"
    report.write([compared], Request(tmp_path / "out", formats=("csv",), optuna=file))
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(file)))
    names = optuna.get_all_study_names(storage)
    curves = load(select([compared]))
    assert len(names) == len(curves.runs)
    for f in compared.fragments():
        frame = f.table().to_pandas()
        for seed, rows in frame.groupby("seed"):
            (name,) = [n for n in names if n == f"{f.setup.method} on toy, {f.setup.constraint}, seed {seed}"]
            study = optuna.load_study(study_name=name, storage=storage)
            done = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
            assert [trial.value for trial in done] == rows["objective"][rows["status"] == "ok"].tolist()
            assert len(study.trials) == len(rows)
            assert [trial.params["x"] for trial in study.trials] == [0, 1, 2]
            assert [trial.duration.total_seconds() for trial in study.trials] == [1.0] * 3
            assert study.user_attrs == {"objective": "valid-error@1 %", "protocol": "3 evaluations on 1 worker"}
            if rows["feasible"].any():
                assert study.best_value == rows["incumbent"].iloc[-1]
            else:
                with pytest.raises(ValueError, match="feasible"):
                    _ = study.best_value
    written = file.read_bytes()
    report.write([compared], Request(tmp_path / "out", formats=("csv",), optuna=file))  # the same runs: the same bytes
    assert file.read_bytes() == written
    for other in (b"my notes", written + b"what a dashboard has added\n", written[:-20]):
        file.write_bytes(other)
        with pytest.raises(StoreError, match="is there already, with other contents"):
            report.write([compared], Request(tmp_path / "other", formats=("csv",), optuna=file))
        assert file.read_bytes() == other
    assert not (tmp_path / "other").exists()


def test_a_report_whose_second_export_is_refused_has_written_nothing_and_can_be_repeated(
    compared: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    out, file, folder = tmp_path / "out", tmp_path / "runs.log", tmp_path / "ioh"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match="neither empty nor an earlier report"):
        report.write([compared], Request(out, formats=("csv",), optuna=file, ioh=folder))
    assert not out.exists()
    assert not file.exists()
    (folder / "thesis.txt").unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    report.write([compared], Request(out, formats=("csv",), optuna=file))
    with monkeypatch.context() as patched:  # --ioh fails when the other file is there already
        patched.setattr("nasbench.results.report.report.export.ioh", lambda curves: {"x": b""})
        patched.setattr("nasbench.results.report.files.disk.sync_folder", full)
        with pytest.raises(StoreError, match="No space left"):
            report.write([compared], Request(out, formats=("csv",), optuna=file, ioh=folder))
    report.write([compared], Request(out, formats=("csv",), optuna=file, ioh=folder))
    assert any(folder.glob("*.json"))


@pytest.mark.parametrize("place", [0, 40, -3])
def test_a_damaged_list_of_a_reports_files_is_said_and_nothing_of_it_is_deleted(
    place: int, compared: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    report.write([compared], Request(out, formats=("csv", "md")))
    (out / "thesis.md").write_text("precious")
    content = bytearray((out / ".nasbench-report").read_bytes())
    content[place] ^= 0x80
    (out / ".nasbench-report").write_bytes(content)
    report.write([compared], Request(out, formats=("csv",)))
    assert ".nasbench-report is damaged, or of an older nasbench" in caplog.text
    assert {"thesis.md", "report.md"} <= {path.name for path in out.iterdir()}
    caplog.clear()
    report.write([compared], Request(out, formats=("md",)))
    assert not caplog.records
    assert not list(out.glob("*.csv"))


def test_failed_evaluations_are_failed_trials_and_those_in_part_are_left_out(filled: Fill) -> None:
    optuna = pytest.importorskip("optuna")
    setups = {make_setup("a"): [make_run(0, [5.0, np.nan, 4.0])]}
    part = make_run(0, [5.0])
    part.columns["spent"][:] = 0.5
    setups[make_setup("b", setting=replace(SETTING, highest=2))] = [part]
    setups[make_setup("c")] = [make_run(0, [5.0, np.nan], failure="broken")]
    chosen = select([filled(setups)])
    lines = studies.studies(load(chosen), chosen).decode().splitlines()
    trials = [json.loads(line) for line in lines if "value" in json.loads(line)]
    complete, failed = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL
    assert [trial["state"] for trial in trials] == [complete, failed, complete, complete]
    assert trials[1]["user_attrs"] == {"status": "failed", "reason": "boom", "worker": 0}


def test_a_study_has_what_a_run_tried(tmp_path: Path) -> None:
    distributions = pytest.importorskip("optuna").distributions
    found = studies._distributions(
        [{"n": 3, "lr": 1, "op": "none", "on": True, "graph": [1]}, {"n": 5, "lr": 0.5, "op": 2, "on": False}]
    )
    assert found == {
        "n": distributions.IntDistribution(3, 5),
        "lr": distributions.FloatDistribution(0.5, 1.0),
        "op": distributions.CategoricalDistribution(["none", 2]),
        "on": distributions.CategoricalDistribution([True, False]),
    }


def test_without_optuna_its_export_says_what_to_install(compared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    curves = load(select([compared]))
    with pytest.raises(StoreError, match=r"needs Optuna: `pip install optuna`"):
        studies.studies(curves, select([compared]))
