"""What a method states of itself (`About`), and what it needs of a problem (`Needs`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from nasbench.base.errors import Types, UsageError, check_types
from nasbench.base.options import Value
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces.views import missing
from nasbench.methods.problem import Problem

Options: TypeAlias = Mapping[str, Any]
"""Every option of a method with its value: int, float, bool or str."""

_ABOUT: Types = {
    "source": (str, "a text"),
    "version": (int, "a whole number"),
    "tuned_on": (tuple, "a tuple of names"),
    "seconds": ((int, float), "a number"),
    "shortened_by": (tuple, "a tuple of options"),
    "learns_from_all": (bool, "True or False"),
    "by": (str, "a text"),
    "files": (tuple, "a tuple of options"),
}
_NEEDS: Types = {
    "views": (tuple, "a tuple of protocols"),
    "fidelity": (bool, "True or False"),
    "several": (bool, "True or False"),
    "knowledge": (bool, "True or False"),
    "experts": (bool, "True or False"),
}


def _option_initial(options: Options) -> int:
    initial = options.get("initial", 0)
    return initial if type(initial) is int else 0  # a text says something else


def _fits(problem: Problem, options: Options) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a method states of itself. Raises UsageError for a fact of another type, or one that cannot be."""

    source: str = ""
    """The publication of the method: authors, title, venue and year."""
    version: int = 1
    """Part of a run's identity. Raise it when a change makes the method propose differently."""
    tuned_on: tuple[str, ...] = ()
    """Search spaces (`Benchmark.search_space`) on whose results a default or a rule of this method was chosen; empty
    for defaults of a publication. Reports call verdicts on these spaces in sample."""
    repeatable: Repeatable | Callable[[Options], Repeatable] = Repeatable.ANY_PROCESSOR
    """The machines on which the same seed gives the same proposals, perhaps by the options; `nasbench check` tests it.
    """
    initial: Callable[[Options], int] = _option_initial
    """Options → number of random configurations before the method uses its observations; by default its option
    `initial`, or 0. A run whose budget is not larger shows nothing of the method, and the user is told so."""
    seconds: float = 0.0
    """Estimated CPU seconds of one ask and tell, averaged over a run of 200 evaluations; for the cost of a suite."""
    shortened_by: tuple[str, ...] = ()
    """Options, whole numbers, by which a long first ask takes less time if all fall together (`LongSearch`)."""
    learns_from_all: bool = False
    """Whether the method may be told evaluations that it did not ask for, before its first ask; it then begins to use
    its model as if it had asked for them. `parego` and `warm-start` search by such methods."""
    by: str = ""
    """Name of the option that names another method, by which this one searches; empty if there is none. The version,
    `tuned_on` and `repeatable` of that method then count for this one, too."""
    files: tuple[str, ...] = ()
    """Options that name files of the user's machine. `nasbench archive check` computes no run for which one is given:
    an archive does not choose which files are opened."""
    pinned: Callable[[Options], Mapping[str, Value]] | None = None
    """All options → those that follow from the files, such as a digest. Where this is stated, these identify a run in
    place of the options `files`: where a file lies does not matter then. None if those identify a run themselves."""

    def __post_init__(self) -> None:
        check_types(self, _ABOUT, "a method")
        if not 0 <= self.seconds < math.inf:
            raise UsageError(f"seconds of a method must be 0 or more, not {self.seconds}")
        if not all(isinstance(name, str) for name in self.tuned_on):
            raise UsageError(f"tuned_on of a method must be a tuple of names, not {self.tuned_on!r}")
        for name, stated in (("initial", self.initial), ("pinned", self.pinned)):
            if stated is not None and not callable(stated):
                raise UsageError(f"{name} of a method must be a function of the options, not {stated!r}")
        if not isinstance(self.repeatable, Repeatable) and not callable(self.repeatable):
            places = ", ".join(f"Repeatable.{place.name}" for place in Repeatable)
            raise UsageError(
                f"repeatable of a method must be one of {places}, or a function of the options, not {self.repeatable!r}"
            )


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a method needs of a problem, and what it is given for that. Raises UsageError for another type."""

    views: tuple[type, ...] = ()
    """The views that the space must have, as protocols of `spaces.views` (`AsFlat`, `AsGraph`, …)."""
    fidelity: bool = False
    """Whether the method chooses how long to train, and so needs a benchmark with a fidelity."""
    several: bool = False
    """Whether the method serves several objectives: it then optimises all of `Problem.objectives`."""
    knowledge: bool = False
    """Whether the method is given what is known of other tasks on the same space (`Problem.knowledge`)."""
    experts: bool = False
    """Whether the method may ask simulated experts (`Problem.experts`), who know the best of the task itself. It asks
    them only where the user's value of an option says so, such as `prior=good`."""
    unless: Callable[[Problem, Options], str] = _fits
    """(problem, options) → a further reason why the method cannot solve the problem, as the end of the sentence "it …";
    empty if it can."""

    def __post_init__(self) -> None:
        check_types(self, _NEEDS, "a method's needs")
        if not callable(self.unless):
            raise UsageError(
                f"unless of a method's needs must be a function of problem and options, not {self.unless!r}"
            )

    def misfit(self, problem: Problem, options: Options) -> str:
        """The reason why the method cannot solve a problem, as the end of the sentence "it …"; empty if it can."""
        if reason := self.unless(problem, options):
            return reason
        if self.fidelity and problem.fidelity is None:
            return "chooses how long to train, and that benchmark has one fidelity only"
        names = missing(problem.space, self.views)
        return f"needs a {' and a '.join(names)}" if names else ""


FORMER = (
    *(name for name in _ABOUT if name not in ("by", "files")), "repeatable", "needs_fidelity", "serves_several",
    "asks_experts", "method_option", "initial_phase", "misfit", "form", "newer_options",
)  # fmt: skip
"""Attributes of classes of methods before there were `About` and `Needs`, which nobody would read now."""
