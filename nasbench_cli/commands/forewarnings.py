"""Says before anything is computed what computes it, and warns of budgets and machines that are too small."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nasbench.base.layout import span
from nasbench.base.numbers import count, listed
from nasbench.base.streams import say
from nasbench.benchmarks import abilities, open_benchmark
from nasbench.cli.engine.devices import devices
from nasbench.cli.engine.plan import PlannedSetup


def say_cautions(planned: Sequence[PlannedSetup]) -> None:
    """Prints, on standard error, what limits the scores of benchmarks."""
    told: dict[str, list[str]] = {}
    for p in planned:
        if p.setup.setting.caution:
            told.setdefault(p.setup.setting.caution, []).append(p.setup.bench)
    for caution, names in told.items():
        say(f"notice: {listed(list(dict.fromkeys(names)))}: {caution}", err=True)


def warn_of_void_constraints(planned: Sequence[PlannedSetup]) -> None:
    """Prints, on standard error, limits that every configuration of a table keeps: perhaps they are in another unit."""
    void: dict[str, list[str]] = {}
    for p in planned:
        if "=" in p.setup.constraint and p.setup.setting.feasible_share == 1:  # a limit, not a quantile
            void.setdefault(listed(p.setup.setting.bounds), []).append(p.setup.bench)
    for bounds, names in void.items():
        where = listed(list(dict.fromkeys(names)))
        say(f"notice: every configuration of {where} satisfies {bounds}: is its unit meant?", err=True)


def warn_of_small_budgets(planned: Sequence[PlannedSetup]) -> None:
    """Prints, on standard error, methods whose budget ends before they search, or before they learn."""
    _warn_of_long_searches(planned)
    _warn_of_random_phases(planned)


def _warn_of_long_searches(planned: Sequence[PlannedSetup]) -> None:
    """Warns of budgets that the first ask of a method will probably use up: a search is not interrupted."""
    warnings = dict.fromkeys(  # one for all constraints
        f"notice: {p.setup.method} on {p.setup.bench} searches for about {span(p.beginning)} before its first "
        f"evaluation, without interruption: nothing will be left of {p.setup.seconds:g} s"
        for p in planned
        if (p.live or p.setup.charge_thinking) and p.setup.seconds is not None and p.beginning > p.setup.seconds
    )
    for warning in warnings:
        say(warning, err=True)


def _warn_of_random_phases(planned: Sequence[PlannedSetup]) -> None:
    """Warns of budgets that end before a method uses its observations."""
    setups = [p.setup for p in planned]
    blind = {c.method: (c.initial, c.evals) for c in setups if c.evals is not None and c.evals <= c.initial}
    for method, (initial, evals) in blind.items():
        say(
            f"notice: the first {initial} configurations of {method} are random, and its budget of "
            f"{count(evals, 'evaluation')} ends before it learns anything",
            err=True,
        )


def say_device(planned: list[PlannedSetup], jobs: int) -> None:
    """Prints the device of live evaluations, as PyTorch in this process names it."""
    names = dict.fromkeys(abilities.device(open_benchmark(p.setup.bench)) for p in planned if p.live)
    if names:
        several = len(devices()) if jobs > 1 and any(names) else 1
        turns = f" (--jobs take {several} devices in turn)" if several > 1 else ""
        say(f"device: {', '.join(name or 'cpu' for name in names)}{turns}")


def warn_of_crowd(planned: list[PlannedSetup], jobs: int) -> None:
    """Warns if more evaluations run at the same time than there are cores: each then takes longer."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    together = jobs * max((p.setup.workers for p in planned if p.live), default=0)
    if together > cores:
        say(
            f"notice: {together} evaluations at the same time (--jobs x --workers) on {cores} cores: on a CPU each "
            "takes longer, and live runs are timed by the wall clock",
            err=True,
        )
