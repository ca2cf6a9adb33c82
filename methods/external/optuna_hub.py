"""Samplers of OptunaHub from the user's clone of its registry: nothing is downloaded, and a digest pins the code."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.base.textfile import opened
from nasbench.methods.about import Options
from nasbench.methods.contract import METHODS
from nasbench.methods.external.optuna_samplers import OptunaMethod, asked_arguments, suggested
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Problem

if TYPE_CHECKING:
    import optuna

_EXCESSES = "nasbench-excesses"
_NEEDED = "needs path=CLONE (of optunahub-registry) and package=samplers/NAME"


def _unless(problem: Problem, options: Options) -> str:
    given = options["path"] and options["package"]
    return OptunaMethod.needs.unless(problem, options) if given else _NEEDED


@METHODS.register("optunahub")
class OptunaHub(OptunaMethod):
    """A sampler of OptunaHub, from a clone of its registry: `optunahub:path=CLONE,package=samplers/ctpe,digest=…`.

    The code is third-party: read it first. Its digest is part of the run's identity. The constructor gets `seed`, and
    `constraints_func` and `search_space` if it takes them. A sampler that takes no seed is refused, because its runs
    could not be repeated.

    Take it for a sampler that somebody has published there.

    Beside its source: it is the package's own; only a sampler that takes a seed is run.

    Options:
        path: your clone of optunahub-registry; required.
        package: the package in it, for example samplers/ctpe; required.
        digest: digest of the code; required. The error without it states the digest of the code in the clone.
        sampler: name of the class, if the package has several.
        initial: random configurations at first, if the sampler has `n_startup_trials`; 0 for its default.
        population: members of a generation, if the sampler has `population_size` or `popsize`; 0 for its default.
        multivariate: false for one density per hyper-parameter, if the sampler has `multivariate`.
    """

    about = replace(
        OptunaMethod.about,
        source="No paper: each package of OptunaHub names its own.",
        seconds=5e-3,
        files=("path",),
        pinned=lambda _: {},  # by the digest, which the user states
    )
    needs = replace(OptunaMethod.needs, unless=_unless)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        path: str = "",
        package: str = "",
        digest: str = "",
        sampler: str = "",
        initial: int = 0,
        population: int = 0,
        multivariate: bool = True,
    ) -> None:
        require("optunahub", "optuna", "optuna")
        super().__init__(problem, rng)
        folder = _folder(path, package)
        actual = package_digest(folder)
        if digest != actual:
            wanted = f"has the digest {actual}, not {digest}" if digest else f"has the digest {actual}"
            raise UsageError(f"{folder} {wanted}: read what it does, then write digest={actual} to run this code")
        self._class = _sampler_class(_loaded(folder, actual, package), package, sampler)
        self._takes = inspect.signature(self._class).parameters
        if "seed" not in self._takes:
            raise UsageError(f"{self._class.__name__} of {package} takes no seed: its runs could not be repeated")
        if "search_space" in self._takes and any(self._flat.conditions):
            raise UsageError(f"{self._class.__name__} of {package} wants a fixed space, and this one has conditions")
        self._arguments = asked_arguments(self._class.__name__, self._class, initial, population, multivariate)

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        import optuna

        arguments: dict[str, Any] = {"seed": seed, **self._arguments}
        if "constraints_func" in self._takes:
            arguments["constraints_func"] = _excesses
        if "search_space" in self._takes:
            trial = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()
            for h in self._named:
                suggested(trial, h)
            arguments["search_space"] = trial.distributions
        built: optuna.samplers.BaseSampler = self._class(**arguments)
        return built

    def constrain(self, trial: optuna.Trial, excesses: dict[str, float]) -> None:
        trial.set_user_attr(_EXCESSES, list(excesses.values()))
        if "constraints_func" not in self._takes:
            super().constrain(trial, excesses)


def _excesses(trial: optuna.trial.FrozenTrial) -> list[float]:
    values: list[float] = trial.user_attrs.get(_EXCESSES, [])
    return values


def _folder(path: str, package: str) -> Path:
    """The folder of a package in a clone. Raises UsageError if there is none."""
    if not path or not package:
        raise UsageError(f"optunahub {_NEEDED}")
    root = Path(path).expanduser() / "package"
    folder = root / package
    if not (folder / "__init__.py").is_file() or root.resolve() not in folder.resolve().parents:
        raise UsageError(f"there is no {package}/__init__.py in {root}: path is a clone of optunahub-registry")
    return folder.resolve()


def package_digest(folder: Path) -> str:
    """The first 12 hexadecimal digits of a SHA-256 over names and contents of a package's Python files."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*.py"), key=lambda f: f.relative_to(folder).as_posix()):
        with opened(file) as source:
            content = source.read()
        total.update(f"{file.relative_to(folder).as_posix()} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()[:12]


def _loaded(folder: Path, digest: str, package: str) -> ModuleType:
    """The package as a module, executed once per process. Raises UsageError if it cannot be imported."""
    name = f"optunahub_registry_{digest}_{package.replace('/', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it is executed, because its modules import each other
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{package} cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _sampler_class(module: ModuleType, package: str, wanted: str) -> type[Any]:
    """The sampler class of a package. Raises UsageError unless there is exactly one, or `wanted` names one."""
    import optuna

    offered = {
        name: item
        for name in getattr(module, "__all__", vars(module))
        if isinstance(item := getattr(module, name, None), type)
        and issubclass(item, optuna.samplers.BaseSampler)
        and item.__module__.startswith(module.__name__)
    }
    if wanted in offered:
        return offered[wanted]
    if wanted or len(offered) != 1:
        raise UsageError(f"{package} offers {', '.join(sorted(offered)) or 'no sampler'}: write sampler=NAME")
    return next(iter(offered.values()))
