"""Our methods in somebody else's loop: ask for a dict, tell what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.benchmarks import Bound, Bounds, Evaluation, Metric
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.outside.words import as_ours, space_of
from nasbench.methods import MethodSpec, Observation, Problem


class Optimizer:
    """A method of ours on a space of the user's.

    Args:
        method: its name with options, as `nasbench run --method` takes it.
        space: in our words, or in those of ConfigSpace, Optuna or Syne Tune (`words.space_of`).
        seed: of everything random.
        limits: name of a further quantity → the largest value that is allowed; constraints that the method learns.

    Raises UsageError for an unknown method, or one that does not fit the space.
    """

    def __init__(self, method: str, space: object, *, seed: int = 0, limits: Mapping[str, float] | None = None) -> None:
        self.space = space_of(space)
        """The space, as ours."""
        bounds = Bounds.of(Bound(Metric(name, ""), high=float(high)) for name, high in (limits or {}).items())
        self._loss, self._bounds = Metric("loss", ""), bounds
        if self._loss.name in (limits or {}):
            raise UsageError("loss is the name of what is minimised: give the constraint another name")
        spec = MethodSpec.of(method)
        spec.method.make_ready()
        self._method = spec.build(Problem(self.space, (self._loss,), bounds), np.random.default_rng(seed))
        self._asked: dict[str, list[Configuration]] = {}

    def ask(self) -> dict[str, Any]:
        """The configuration to evaluate next, as name → value; several may be asked for before they are told."""
        asked: Any = self._method.ask()
        configuration = getattr(asked, "configuration", asked)
        self._asked.setdefault(self.space.to_json(configuration), []).append(configuration)
        return dict(self.space.values(configuration))

    def tell(self, configuration: Mapping[str, Any], loss: float, **quantities: float) -> None:
        """Tells what came of a configuration that was asked for.

        Args:
            configuration: as `ask` answered it.
            loss: what is minimised; NaN if the evaluation failed.
            quantities: the value of each quantity with a limit; needless where the evaluation failed.

        Raises UsageError for a configuration that was not asked for, or a quantity that is missing.
        """
        text = self.space.to_json(self.space.from_values(as_ours(self.space, configuration)))
        if not self._asked.get(text):
            raise UsageError(f"{dict(configuration)} was not asked for, or has been told already")
        names = [bound.metric.name for bound in self._bounds]
        is_ok = bool(np.isfinite(loss))
        if not is_ok:
            quantities = dict.fromkeys(names, np.nan) | {n: v for n, v in quantities.items() if n in names}
        if set(quantities) != set(names):
            raise UsageError(
                f"tell takes {', '.join(['loss', *names])}, and was given {', '.join(['loss', *quantities])}"
            )
        own = self._asked[text].pop(0)
        metrics = {"loss": float(loss)} | {name: float(quantities[name]) for name in names}
        evaluation = Evaluation(metrics, 0.0) if is_ok else Evaluation(metrics, 0.0, "failed", "no finite loss")
        self._method.tell(Observation(own, evaluation, is_ok and self._bounds.hold(metrics)))
