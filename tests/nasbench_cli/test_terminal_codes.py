"""Codes for a terminal in names and values of others are shown, never sent to it."""

from __future__ import annotations

import os
from pathlib import Path

from nasbench.base.streams import visible
from tests import forked
from tests.benchmarks.small_table import CSV, SPEC


def test_codes_in_values_of_a_table_reach_no_terminal(tmp_path: Path) -> None:
    """In processes of their own, since benchmarks are registered when a process begins."""
    (tmp_path / "t.csv").write_text(CSV.replace("tanh", "\x1b[2Jtanh").replace("relu", "\u202erelu\x9b1m\x07"))
    (tmp_path / "t.toml").write_text(SPEC.replace('values = ["tanh", "relu"]', "").replace("invalid", "infeasible"))
    environment = os.environ | {"NASBENCH_DATA": str(tmp_path / "data")}
    printed = {}
    for command in (
        "import table t.csv --spec t.toml",
        "run --method random --bench mine --evals 20 --seeds 1 --store store",
        "show mine",
        "show-run store random mine 0",
    ):
        done = forked.nasbench(command.split(), tmp_path, environment)
        assert done.returncode == 0, done.stderr
        assert not {"\x1b", "\x9b", "\x07", "\u202e"} & {*done.stdout, *done.stderr}
        printed[command.split()[0]] = done.stdout
    for command in ("show", "show-run"):
        assert "\\x1b[2Jtanh" in printed[command] or "\\u202erelu\\x9b1m\\x07" in printed[command]


def test_line_ends_tabs_and_the_bold_letters_of_a_report_stay() -> None:
    text = "a\tb\n\x1b[1mbest\x1b[0m é 中"
    assert visible(text) == text
    assert visible("\x1b[31m\x1b]0;t\x07\r\x00\u2066") == "\\x1b[31m\\x1b]0;t\\x07\\r\\x00\\u2066"
