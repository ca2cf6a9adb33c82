"""The contract of a search method: what it is given, what it answers, and when it is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import iscoroutinefunction, isfunction, signature
from typing import ClassVar, NamedTuple

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.base.registry import Registry
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import FORMER, About, Needs
from nasbench.methods.problem import Observation, Problem, Proposal


class Logged(NamedTuple):
    """A number that a method logs about its search. Fields that do not apply to the quantity are None."""

    epoch: int
    """Epoch of the search, from 1."""
    quantity: str
    """Name of the quantity, for example `val_loss`."""
    value: float
    """Value, in the unit of the quantity."""
    stage: int | None = None
    """Stage of the network, from 1."""
    edge: str | None = None
    """Edge of the cell, as `source-target`."""
    choice: str | None = None
    """Name of the choice that the value describes, for example with its probability."""
    step: int | None = None
    """Step inside the epoch, from 1."""


class Method(ABC):
    """A search method: proposes configurations, learns from their evaluations.

    The harness builds one instance per run and then calls `ask` and `tell` from one thread, as follows.

    * With w workers, up to w configurations are pending: `ask` may be called before the `tell` of earlier asks. Tells
      come in the order in which evaluations finish, not in the order of asking. Every `tell` answers an earlier `ask`.
    * A failed evaluation is told too, with status "failed" and NaN metrics; the method must go on. A configuration that
      was refused before training has the status "infeasible"; only its metrics that need no training are known.
    * All randomness comes from `rng`, which belongs to the method alone; global random state is never used. The same
      seed and the same tells give the same asks. A killed run is resumed by asking again and telling the recorded
      observations.
    * The constructor is cheap, because it is also called to check options. The work belongs in `ask`.
    * An exception ends the run and is recorded with its text. Other runs continue.

    Options are the constructor's keyword-only arguments, annotated int, float, bool or str, all with defaults. The user
    sets them with `--method name:option=value`. A bad value raises UsageError. The docstring ends with a section
    `Options:` with one line `name: meaning` per option, which `nasbench show` prints together with that of base
    classes.
    """

    about: ClassVar[About] = About()
    """What the method states of itself."""
    needs: ClassVar[Needs] = Needs()
    """What it needs of a problem."""

    @abstractmethod
    def __init__(self, problem: Problem, rng: Generator) -> None: ...

    @abstractmethod
    def ask(self) -> Configuration | Proposal:
        """The configuration to evaluate next, a member of the problem's space.

        A method that chooses how long to train returns a `Proposal`; a bare configuration is trained to the end.
        """

    @abstractmethod
    def tell(self, observation: Observation) -> None:
        """Learns from a finished evaluation of an earlier `ask`."""

    @property
    def log(self) -> Sequence[Logged]:
        """Numbers about the search, read when the run is over and stored with it; empty by default."""
        return ()

    @classmethod  # noqa: B027 (most methods have nothing to import)
    def make_ready(cls) -> None:
        """Imports and compiles what the method needs.

        Called before the first run of a process, so that this time belongs to no run.
        """


class LongSearch(Method):
    """A method whose first ask takes minutes, such as one that trains a supernet."""

    unpaid: float = 0.0
    """Seconds of work that the last ask took over from an interrupted attempt (`Problem.state`). The harness adds them
    to the run's clock and sets this to 0."""

    @property
    @abstractmethod
    def beginning(self) -> float:
        """Estimated CPU seconds that the first ask takes in addition to `About.seconds`."""


def beginning_of(method: Method) -> float:
    """Estimated CPU seconds of a method's first ask in addition to `About.seconds`; 0 unless it is a long search."""
    return float(method.beginning) if isinstance(method, LongSearch) else 0.0


def _is_method(item: object) -> bool:
    """Whether an object is a class of methods. Raises UsageError if its facts are where nobody reads them."""
    if isfunction(item) or (isinstance(item, type) and not issubclass(item, Method)):
        raise UsageError(f"{item.__name__} is no method: a class that extends nasbench.methods.Method is expected")
    if not isinstance(item, type):
        return False
    for name, kind in (("about", About), ("needs", Needs)):
        if not isinstance(getattr(item, name), kind):
            raise UsageError(f"{name} of {item.__name__} must be {kind.__name__}(…), not {getattr(item, name)!r}")
    for p in signature(item.__init__).parameters.values():  # type: ignore[misc]
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is not p.empty:
            raise UsageError(f"{p.name!r} of {item.__name__} is no option: in its constructor, write `*` before it")
    for name in ("ask", "tell"):
        if iscoroutinefunction(getattr(item, name)):
            raise UsageError(f"{name} of {item.__name__} must be a function, not `async def {name}`")
    if stray := sorted({*FORMER} & {name for owner in item.__mro__ for name in vars(owner)}):
        raise UsageError(
            f"{', '.join(stray)} of {item.__name__}: a method states its facts as `about = About(…)` and "
            "`needs = Needs(…)` (docs/plugins.md)"
        )
    return True


METHODS: Registry[type[Method]] = Registry(
    "method", "nasbench.methods", "nasbench.methods", _is_method, decorator="METHODS"
)
"""Every method by name."""
