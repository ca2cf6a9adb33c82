"""Search spaces in the words of other libraries, there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces import (
    AsFlat,
    Categorical,
    Float,
    Hyperparameter,
    Integer,
    Ordinal,
    ParameterSpace,
    Space,
)
from nasbench.benchmarks.spaces import configspace as configspace_json
from nasbench.benchmarks.spaces.configspace import are_levels
from nasbench.benchmarks.spaces.flat import Named

_LOGARITHMIC = {"Uniform": False, "LogUniform": True}
"""Name of a sampler of Syne Tune or Ray Tune → whether it draws evenly by the logarithm."""


def space_of(words: object) -> Space:
    """A space of ours, or one in the words of ConfigSpace, Optuna or Syne Tune.

    Args:
        words: a `Space`; ConfigSpace's `ConfigurationSpace`; or a mapping from names to Optuna's distributions, to Syne
            Tune's domains, to lists of choices, or to hyper-parameters of ours.

    Raises UsageError for anything else.
    """
    if isinstance(words, Space):
        return words
    if type(words).__module__.startswith("ConfigSpace"):
        return configspace_json.read(json.dumps(words.to_serialized_dict()))  # type: ignore[attr-defined]
    if not isinstance(words, Mapping) or not words:
        raise UsageError(f"a space is one of ours, of ConfigSpace, or a mapping of names, not {type(words).__name__}")
    return ParameterSpace([_hyperparameter(str(name), word) for name, word in words.items()])


def _hyperparameter(name: str, word: Any) -> Hyperparameter:
    """A hyper-parameter in the words of a library: what its class is called, and the attributes that it has."""
    kind = type(word).__name__
    if isinstance(word, tuple) and len(word) == 2 and all(type(end) in (int, float) for end in word):
        raise UsageError(
            f"{name} is the pair {word}: a range is Float or Integer of nasbench.benchmarks.spaces, "
            f"two choices are the list {list(word)}"
        )
    if isinstance(word, list | tuple):
        return Categorical(name, tuple(word))
    if hasattr(word, "name") and isinstance(word, Hyperparameter):
        return word
    if kind == "CategoricalDistribution":  # Optuna
        return Categorical(name, tuple(word.choices))
    if kind in ("FloatDistribution", "IntDistribution"):
        if kind == "FloatDistribution" and word.step is not None:
            count = round((word.high - word.low) / word.step) + 1
            return Ordinal(name, tuple(min(word.low + i * word.step, word.high) for i in range(count)))
        if kind == "IntDistribution" and word.step != 1:
            return Ordinal(name, tuple(range(word.low, word.high + 1, word.step)))
        return (Float if kind == "FloatDistribution" else Integer)(name, word.low, word.high, log=word.log)
    if kind in ("Float", "Integer") and hasattr(word, "lower"):  # Syne Tune and Ray Tune
        sampler = type(word.get_sampler()).__name__.strip("_")
        if sampler == "Quantized":
            raise UsageError(f"{name} has quantised numbers: state it as the list of its values")
        if sampler not in _LOGARITHMIC:
            raise UsageError(f"{name} is drawn from {sampler}, not evenly or evenly by its logarithm")
        is_log = _LOGARITHMIC[sampler]
        if kind == "Float":
            return Float(name, float(word.lower), float(word.upper), log=is_log)
        is_open = type(word).__module__.startswith("ray.")  # Ray leaves the upper bound out
        return Integer(name, int(word.lower), int(word.upper) - is_open, log=is_log)
    if kind in ("Categorical", "Ordinal", "OrdinalNearestNeighbor") and hasattr(word, "categories"):
        is_ordered = kind != "Categorical" and are_levels(word.categories)
        if not is_ordered:
            return Categorical(name, tuple(word.categories))
        return Ordinal(name, tuple(word.categories), log=bool(getattr(word, "log_scale", False)))
    raise UsageError(f"{name} is {kind!r}, which is no distribution of Optuna, domain of Syne Tune, or list of choices")


def to_configspace(space: Space) -> Any:
    """The space as ConfigSpace's `ConfigurationSpace`. Raises UsageError for one that it cannot say."""
    from ConfigSpace import ConfigurationSpace

    return ConfigurationSpace.from_serialized_dict(json.loads(configspace_json.write(space)))


def to_optuna(space: Space) -> dict[str, Any]:
    """Name → Optuna's distribution; conditions are left out, and `as_ours` drops what a configuration does not have."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    made: dict[str, Any] = {}
    for h in _flat(space):
        if isinstance(h, Float):
            made[h.name] = FloatDistribution(h.low, h.high, log=h.log)
        elif isinstance(h, Integer):
            made[h.name] = IntDistribution(h.low, h.high, log=h.log)
        else:
            made[h.name] = CategoricalDistribution(h.values)
    return made


def to_syne_tune(space: Space) -> dict[str, Any]:
    """Name → Syne Tune's domain; conditions are left out, as for Optuna."""
    from syne_tune import config_space  # type: ignore[import-not-found,unused-ignore]

    made: dict[str, Any] = {}
    for h in _flat(space):
        if isinstance(h, Float):
            made[h.name] = (config_space.loguniform if h.log else config_space.uniform)(h.low, h.high)
        elif isinstance(h, Integer):
            made[h.name] = (config_space.lograndint if h.log else config_space.randint)(h.low, h.high)
        elif isinstance(h, Categorical):
            made[h.name] = config_space.choice(list(h.values))
        else:
            made[h.name] = config_space.ordinal(list(h.values))
    return made


def _flat(space: Space) -> tuple[Hyperparameter, ...]:
    if not isinstance(space, AsFlat):
        raise UsageError("this space is no list of hyper-parameters")
    return space.as_flat().hyperparameters


def as_ours(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a configuration as Python's own, without those that it does not have by its conditions."""
    kept = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    if not isinstance(space, AsFlat) or not any((flat := space.as_flat()).conditions):
        return kept  # the space says what is allowed
    named = Named(flat)
    return named.values(named.configuration(kept))
