"""Options of one value that are given twice."""

from __future__ import annotations

from collections.abc import Callable

from click.shell_completion import ShellComplete

from nasbench.cli import main
from tests.conftest import Printed

Command = Callable[..., Printed]


def test_help_and_completion_are_given_beside_an_option_that_is_given_twice(nasbench: Command) -> None:
    assert nasbench("run", "--store", "a", "--store", "b", "--help").code == 0
    found = ShellComplete(main.cli, {}, "nasbench", "_NASBENCH_COMPLETE").get_completions(
        ["run", "--store", "a", "--store", "b"], "--me"
    )
    assert [item.value for item in found] == ["--method"]
