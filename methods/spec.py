"""A method with its options, in the user's notation: `evolution:population=50,tournament=5`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import index
from typing import ClassVar, Self

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.base.foreign import Broken, foreign, placed
from nasbench.base.options import Spec, Value, option_defaults
from nasbench.base.registry import Registry
from nasbench.base.repeatability import Repeatable
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Problem


@dataclass(frozen=True)
class MethodSpec(Spec):
    """The name of a method and the options that differ from their defaults, sorted by name."""

    registry: ClassVar[Registry[type[Method]]] = METHODS

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads what the user asks for, with the options that follow from files on this machine (`About.pinned`).

        Raises UsageError for unknown names and wrong options.
        """
        spec = cls.parse(text)
        if (pin := spec.method.about.pinned) is None:
            return spec
        try:
            with spec._guarded():
                pinned = pin(spec.values())
        except Broken as error:
            raise UsageError(f"{spec.name} fails when asked which options follow: {error}") from None
        return replace(spec, options=tuple(sorted({**dict(spec.options), **pinned}.items())))

    @property
    def label(self) -> str:
        """The canonical text of its identity: without options that name files, where `About.pinned` stands for them."""
        return replace(self, options=self._identifying(self.options)).text

    def values(self) -> dict[str, Value]:
        """All options with their values, defaults included."""
        defaults = {option: default for option, (_, default) in option_defaults(self.method).items()}
        return defaults | dict(self.options)

    def parameters(self) -> tuple[tuple[str, Value], ...]:
        """The options that identify a run, with their values, sorted by name (`label`)."""
        return self._identifying(tuple(sorted(self.values().items())))

    def _identifying(self, options: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
        about = self.method.about
        left_out = () if about.pinned is None else about.files
        return tuple((option, value) for option, value in options if option not in left_out)

    @property
    def initial(self) -> int:
        """Number of random configurations before the method uses its observations (`About.initial`)."""
        try:
            with self._guarded():
                return index(self.method.about.initial(self.values()))
        except Broken as error:
            raise UsageError(f"{self.name} fails when asked for its initial phase: {error}") from None

    @property
    def method(self) -> type[Method]:
        """The class of the method. Raises UsageError if the name is unknown."""
        return METHODS.get(self.name)

    @property
    def version(self) -> int:
        """`About.version`, with that of the method by which it searches."""
        return sum(method.about.version for method in self.classes)

    @property
    def tuned_on(self) -> tuple[str, ...]:
        """`About.tuned_on`, with that of the method by which it searches."""
        return tuple(sorted({space for method in self.classes for space in method.about.tuned_on}))

    @property
    def repeatable(self) -> Repeatable:
        """`About.repeatable`, or that of the method by which it searches if that is narrower."""
        stated = [method.about.repeatable for method in self.classes]
        try:
            with self._guarded():
                places = [place if isinstance(place, Repeatable) else place(self.values()) for place in stated]
        except Broken as error:
            raise UsageError(f"{self.name} fails when asked where it is repeatable: {error}") from None
        return reduce(Repeatable.both, places)

    @property
    def classes(self) -> list[type[Method]]:
        """The class of the method, and of the one by which it searches, if there is one."""
        return [self.method, *map(METHODS.get, self._inner)]

    @property
    def _inner(self) -> list[str]:
        """The name of the method by which it searches (`About.by`), if there is one."""
        option = self.method.about.by
        return [str(self.values()[option])] if option else []

    @property
    def files(self) -> list[str]:
        """The options that are given and name files of the user (`About.files`)."""
        return [option for option, _ in self.options if option in self.method.about.files]

    @property
    def is_foreign(self) -> bool:
        """Whether it, or the one by which it searches, is a third party's: it shares no process with other methods."""
        return any(map(METHODS.is_foreign, [self.name, *self._inner]))

    def build(self, problem: Problem, rng: Generator) -> Method:
        """An instance for one run. Raises UsageError if an option is out of range or the problem does not fit."""
        if reason := self.misfit(problem):
            raise UsageError(f"{self.name} cannot search here: it {reason}")
        needs = self.method.needs
        problem = replace(
            problem,
            knowledge=problem.knowledge if needs.knowledge else None,
            experts=problem.experts if needs.experts else None,
        )
        return self.method(problem, rng, **dict(self.options))

    def misfit(self, problem: Problem) -> str:
        """The reason why the method cannot solve the problem, as the end of the sentence "it …"; empty if it can."""
        if problem.several and not self.method.needs.several:
            those = ", ".join(name for name in METHODS.names() if METHODS.get(name).needs.several)
            return f"serves one objective, and here are {len(problem.objectives)}; these serve several: {those}"
        try:
            with self._guarded():
                return self.method.needs.misfit(problem, self.values())
        except (Broken, UsageError) as error:
            return f"fails when asked whether it fits: {error}"

    def _guarded(self) -> AbstractContextManager[None]:
        """A guard around questions to a class, which raises errors as Broken; of a third party's also what hangs."""
        return foreign() if self.is_foreign else _named()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except UsageError:  # is written for the user
        raise
    except Exception as error:
        raise Broken(placed(error)) from error
