from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Bound, Evaluation, Metric, UsageError
from nasbench.benchmarks.spaces import Categorical, Float, GridSpace, Integer, Ordinal, ParameterSpace
from nasbench.benchmarks.spaces.flat import uniquely_named
from nasbench.benchmarks.spaces.language.combinators import substitution
from nasbench.benchmarks.spaces.language.graph import D, Part
from nasbench.benchmarks.spaces.language.layers import classifier, conv_norm_relu
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import listed
from nasbench.cli.checks import METHOD_CHECKS
from nasbench.methods import METHODS, Method, MethodSpec, Observation, Problem
from nasbench.methods.external import optuna_samplers, requirements
from nasbench.methods.external.optuna_hub import package_digest
from nasbench.methods.external.smac_forest import penalised
from tests.benchmarks.mixed_space import SPACE
from tests.methods.libraries import LIBRARIES

NUMBERS = GridSpace([Ordinal("a", tuple(range(8))), Ordinal("b", tuple(range(8)))])
GRID = GridSpace(
    [Ordinal("a", tuple(range(1, 9)), log=True), Ordinal("b", tuple(range(8))), Categorical("c", (0, 1, 2))]
)
BOUND = Bound(Metric("size", ""), high=3.0)
PROBLEM = Problem(GRID, (Metric("loss", ""),), (BOUND,))


def built(name: str, problem: Problem = PROBLEM, seed: int = 0) -> Method:
    library = LIBRARIES[name.partition(":")[0]]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed (make test EXTRAS=dev,peers,live,gp,optuna,smac installs it)")
    return MethodSpec.parse(name).build(problem, np.random.default_rng(seed))


def told(method: Method, configuration: tuple[int, ...]) -> bool:
    a, b, c = configuration
    metrics = {"loss": 20.0 - a - b + 3.0 * (c != 1), "size": float(a)}
    feasible = BOUND.holds(metrics["size"])
    method.tell(Observation(configuration, Evaluation(metrics, 1.0), feasible))
    return feasible


def searched(method: Method, n: int) -> list[tuple[int, ...]]:
    """n asks, two pending at a time, every seventh evaluation failing."""
    asked, pending = [], []
    for i in range(n):
        configuration = method.ask()
        GRID.check(configuration)
        asked.append(configuration)
        pending.append(configuration)
        if i >= 2:
            done = pending.pop(i % 2)
            if i % 7 == 0:
                failed = Evaluation({"loss": math.nan, "size": math.nan}, 0.0, "failed", "x")
                method.tell(Observation(done, failed, False))
            else:
                told(method, done)
    return asked


EVALUATIONS = [
    ("cnsga2", 80), ("optuna-tpe", 60), ("rf-cei", 30), ("optuna-gp", 25), ("ax-nei", 12), ("smac", 20), ("catcma", 80),
    ("optuna", 60), ("optuna:population=8,sampler=nsga3", 80), ("hyperopt:initial=10", 60),
]  # fmt: skip


@pytest.mark.parametrize(("name", "n"), EVALUATIONS)
def test_peers_know_constraints_pending_and_failed_evaluations_and_repeat(name: str, n: int) -> None:
    asked = searched(built(name), n)
    assert asked[:12] == searched(built(name), 12)
    assert asked[:12] != searched(built(name, seed=1), 12)
    if name not in ("ax-nei", "smac", "hyperopt:initial=10"):  # too dear for more than a few, or ignores constraints
        share = np.mean([a <= 3 for a, _, _ in asked[n // 2 :]])
        assert share > 0.5  # chance: 4 of 8


@pytest.mark.parametrize(
    "name",
    ["cnsga2", "optuna-tpe", "rf-cei", "optuna-gp", "optuna:sampler=qmc", "smac", "catcma", "hyperopt:initial=5"],
)
def test_peers_search_floats_and_conditions(name: str) -> None:
    method = built(name, Problem(SPACE, (Metric("loss", ""),)))
    for i in range(14):
        configuration = method.ask()
        SPACE.check(configuration)
        method.tell(Observation(configuration, Evaluation({"loss": float(i % 5)}, 1.0), True))


def test_two_bounds_on_one_metric_reach_optuna_as_one_interval() -> None:
    window = (Bound(Metric("size", ""), high=3.0), Bound(Metric("size", ""), low=2.0))
    method = built("cnsga2", Problem(GRID, (Metric("loss", ""),), window))
    for _ in range(3):
        configuration = method.ask()
        told(method, configuration)
    trial = method._study.trials[0]  # type: ignore[attr-defined]
    assert list(trial.constraints) == ["size in [2, 3]"]


def test_what_exceeds_a_bound_reaches_optuna_as_a_share_of_the_limit() -> None:
    """Its samplers add what exceeds several bounds, seconds to bytes."""
    bounds = (Bound(Metric("size", ""), high=1e6), Bound(Metric("time", "s"), high=2.0))
    method = built("cnsga2", Problem(GRID, (Metric("loss", ""),), bounds))
    method.tell(Observation(method.ask(), Evaluation({"loss": 1.0, "size": 3e6, "time": 3.0}, 1.0), False))
    assert list(method._study.trials[0].constraints.values()) == [2.0, 0.5]  # type: ignore[attr-defined]


def best_of(name: str, problem: Problem, seed: int) -> float:
    """The best value after 60 evaluations of a function whose least value is 0."""
    method, best = built(name, problem, seed), math.inf
    for _ in range(60):
        configuration = method.ask()
        x = problem.flat.coordinates(configuration)
        value = sum((c - 0.3 * (d + 1)) ** 2 for d, c in enumerate(x) if c is not None)
        best = min(best, value)
        method.tell(Observation(configuration, Evaluation({"loss": float(value)}, 1.0), True))
    return best


@pytest.mark.slow
def test_hyperopt_learns_on_every_kind_of_hyperparameter() -> None:
    pytest.importorskip("hyperopt")
    space = ParameterSpace(
        [Float("x", -1.0, 1.0), Float("r", 1e-3, 10.0, log=True), Integer("n", 0, 9), Integer("m", 1, 100, log=True)]
    )
    problem = Problem(space, (Metric("loss", ""),))
    found = [best_of("hyperopt", problem, seed) for seed in range(5)]
    at_random = [best_of("hyperopt:initial=60", problem, seed) for seed in range(5)]
    assert np.median(found) < np.median(at_random)


@pytest.mark.slow
def test_hyperopt_draws_levels_and_choices_by_their_priors() -> None:
    pytest.importorskip("hyperopt")
    space = GridSpace(
        [
            Ordinal("a", (1, 2, 4)),
            Categorical("c", ("x", "y"), prior=(0.9, 0.1)),
            Ordinal("o", (1, 2), prior=(1.0, 4.0)),
        ]
    )
    method = built("hyperopt:initial=900", Problem(space, (Metric("loss", ""),)))
    drawn = np.array([method.ask() for _ in range(600)])
    np.testing.assert_allclose(np.bincount(drawn[:, 0]) / 600, [1 / 3] * 3, atol=0.06)
    np.testing.assert_allclose(np.bincount(drawn[:, 1]) / 600, [0.9, 0.1], atol=0.05)
    np.testing.assert_allclose(np.bincount(drawn[:, 2]) / 600, [0.2, 0.8], atol=0.06)


def test_of_a_list_hyperopt_learns_the_row_that_was_evaluated_and_failures_teach_it_nothing() -> None:
    pytest.importorskip("hyperopt")
    method: Any = built("hyperopt", Problem(LIST, (Metric("loss", ""),)))
    asked = []
    for number in range(6):
        asked.append(method.ask())
        if number < 3:
            evaluation = Evaluation({"loss": float(number)}, 1.0)
            method.tell(Observation(asked[-1], evaluation, True))
        elif number < 5:
            method.tell(Observation(asked[-1], Evaluation({"loss": math.nan}, 1.0, "failed", "x"), False))
    _, trials = method._search
    trials.refresh()
    kept = [tuple(int(trial["misc"]["vals"][str(d)][0]) for d in range(2)) for trial in trials.trials]
    assert kept == [tuple(LIST.as_flat().coordinates(configuration)) for configuration in asked]
    assert trials.losses() == [0.0, 1.0, 2.0, None, None, None]
    assert trials.statuses() == ["ok"] * 3 + ["fail"] * 2 + ["new"]


def test_what_others_depend_on_is_a_choice_of_hyperopt_and_what_is_absent_has_no_value() -> None:
    pytest.importorskip("hyperopt")
    method: Any = built("hyperopt", Problem(SPACE, (Metric("loss", ""),)))
    flat, absent = SPACE.as_flat(), 0
    for _ in range(30):
        coordinates = flat.coordinates(method.ask())
        values = method._search[1].trials[-1]["misc"]["vals"]
        for d, (x, condition) in enumerate(zip(coordinates, flat.conditions, strict=True)):
            assert (values[str(d)] == []) == (x is None), (d, condition)
            absent += x is None
    assert absent


LIST = listed(NUMBERS.hyperparameters, np.array([[i, 3 * i % 8] for i in range(8)]))


def learned(method: Any) -> dict[tuple[int, ...], float]:
    """Coordinates and the value that a library has for them."""
    if isinstance(method, optuna_samplers.OptunaMethod):
        return {tuple(t.params.values()): t.value for t in method._study.trials if t.state.name == "COMPLETE"}
    frame = method._client.summarize()
    done = frame[frame["trial_status"] == "COMPLETED"]
    return {(int(a), int(b)): y for a, b, y in zip(done["a"], done["b"], done["objective"], strict=True)}


@pytest.mark.parametrize("name", ["optuna-tpe", "cnsga2", "optuna:sampler=nsga3", "ax-nei:initial=5"])
def test_of_a_list_that_lacks_a_proposal_a_library_learns_the_row_that_was_evaluated(name: str) -> None:
    method = built(name, Problem(LIST, (Metric("loss", ""),)))
    asked = []
    for _ in range(7):
        row = method.ask()
        asked.append(row)
        method.tell(Observation(row, Evaluation({"loss": float(row)}, 1.0), True))
    assert learned(method) == {tuple(LIST.points[row].tolist()): float(row) for row in asked}


def test_rows_that_stand_for_proposals_belong_to_the_generation_of_these() -> None:
    method = built("cnsga2:population=3", Problem(LIST, (Metric("loss", ""),)))
    for _ in range(20):
        row = method.ask()
        method.tell(Observation(row, Evaluation({"loss": float(row)}, 1.0), True))
    trials = [trial for trial in method._study.trials if trial.state.name == "COMPLETE"]  # type: ignore[attr-defined]
    assert [trial.system_attrs["NSGAIISampler:generation"] for trial in trials[::3]] == list(range(7))


def test_ax_proposes_something_when_it_must_wait_or_has_proposed_all() -> None:
    waiting = built("ax-nei")
    assert len([waiting.ask() for _ in range(14)]) == 14  # more pending than initial trials
    tiny = built("ax-nei", Problem(GridSpace([Ordinal("a", (1, 2, 3))]), (Metric("loss", ""),)))
    for _ in range(6):
        configuration = tiny.ask()
        tiny.tell(Observation(configuration, Evaluation({"loss": float(configuration[0])}, 1.0), True))


def test_ax_proposes_members_of_spaces_with_conditions() -> None:
    pytest.importorskip("ax")
    method = METHODS.get("ax-nei")(Problem(SPACE, (Metric("loss", ""),)), np.random.default_rng(0), initial=3)
    for number in range(6):
        configuration = method.ask()
        SPACE.check(configuration)
        method.tell(Observation(configuration, Evaluation({"loss": float(number % 3)}, 1.0), True))


def test_a_peer_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"ax-nei needs ax: `make setup EXTRAS=gp` .*pip install '\.\[gp\]'`"):
        METHODS.get("ax-nei")(PROBLEM, np.random.default_rng(0))
    with pytest.raises(UsageError, match=r"cnsga2 needs optuna: `make setup EXTRAS=peers` in a clone"):
        METHODS.get("cnsga2")(PROBLEM, np.random.default_rng(0))


@pytest.mark.parametrize("name", sorted(optuna_samplers.SAMPLERS))
def test_every_sampler_of_optuna_s_differs_by_seed_and_repeats_itself(name: str) -> None:
    pytest.importorskip("optuna")
    for module in optuna_samplers.SAMPLERS[name].modules:
        pytest.importorskip(module)
    problem = Problem(NUMBERS, (Metric("loss", ""),), (BOUND,))

    def asked(seed: int) -> list[tuple[int, ...]]:
        method = MethodSpec.parse(f"optuna:sampler={name}").build(problem, np.random.default_rng(seed))
        found = []
        for _ in range(12):
            a, b = configuration = method.ask()
            found.append(configuration)
            evaluation = Evaluation({"loss": float(a + b), "size": float(a)}, 1.0)
            method.tell(Observation(configuration, evaluation, BOUND.holds(a)))
        return found

    assert asked(0) == asked(0)
    assert asked(0)[2:] != asked(1)[2:]  # the first may be random whatever the sampler is


def test_cma_es_minimises_where_its_numbers_are() -> None:
    pytest.importorskip("cmaes")
    method = built("optuna:sampler=cmaes", Problem(NUMBERS, (Metric("loss", ""),)))
    sums = []
    for _ in range(60):
        a, b = configuration = method.ask()
        sums.append(a + b)
        method.tell(Observation(configuration, Evaluation({"loss": float(a + b)}, 1.0), True))
    assert np.mean(sums[40:]) < 3.5  # at random: 7


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("sampler=grid", "unknown sampler of optuna 'grid'.*allowed: cmaes, gp, nsga2, nsga3, qmc, random, tpe"),
        ("sampler=qmc,initial=5", "Optuna's qmc has no option initial"),
        ("population=5", "Optuna's tpe has no option population"),
        ("initial=-1", "initial must be at least 1"),
        ("sampler=nsga2,population=1", "population must be at least 2"),
        ("sampler=nsga2,multivariate=false", "no option multivariate"),
    ],
)
def test_options_that_a_sampler_lacks_are_refused(options: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        built(f"optuna:{options}")


def test_cma_es_refuses_categories() -> None:
    pytest.importorskip("cmaes")
    with pytest.raises(UsageError, match="cmaes searches numbers only, and here c is categorical"):
        built("optuna:sampler=cmaes")


def test_what_is_penalised_costs_more_than_all_that_is_feasible() -> None:
    def told(objective: float, size: float, status: str = "ok") -> Observation:
        reason = "" if status == "ok" else "x"
        evaluation = Evaluation({"loss": objective, "size": size}, 1.0, status, reason)  # type: ignore[arg-type]
        return Observation((0, 0, 0), evaluation, status == "ok" and BOUND.holds(size))

    nan = math.nan
    infeasible = [told(1.0, 6.0), told(1.0, 4.5), told(nan, nan, "failed"), told(nan, 9.0, "infeasible")]
    assert penalised(infeasible, PROBLEM) == [1.0, 0.5, 2.0, 2.0]  # violations alone, and the worst of them
    costs = penalised([*infeasible, told(5.0, 1.0), told(-7.0, 3.0)], PROBLEM)
    assert costs == [6.0, 5.5, 7.0, 7.0, 5.0, -7.0]


def test_smac_is_told_again_what_its_penalties_have_become() -> None:
    pytest.importorskip("smac")
    method = built("smac")
    for objective, size in ((1.0, 6.0), (4.0, 2.0), (9.0, 3.0)):
        configuration = method.ask()
        method.tell(Observation(configuration, Evaluation({"loss": objective, "size": size}, 1.0), BOUND.holds(size)))
    history = method._facade.runhistory  # type: ignore[attr-defined]
    assert [value.cost for value in history.values()] == [10.0, 4.0, 9.0]  # 1 was the first, then 5


def test_smac_learns_where_the_penalty_is() -> None:
    pytest.importorskip("smac")
    method = built("smac")
    asked = []
    for _ in range(20):
        configuration: Any = method.ask()
        a, b, _ = configuration
        asked.append(a)
        method.tell(Observation(configuration, Evaluation({"loss": float(b), "size": 3.0 * a}, 1.0), a <= 1))
    assert np.mean([a <= 1 for a in asked[10:]]) > 0.5  # chance: 2 of 8


def test_smac_goes_on_at_random_when_it_has_proposed_all() -> None:
    tiny = GridSpace([Ordinal("a", (1, 2, 3)), Ordinal("one", (5,))])
    method = built("smac", Problem(tiny, (Metric("loss", ""),)))
    asked = []
    for _ in range(7):
        configuration = method.ask()
        tiny.check(configuration)
        asked.append(configuration)
        method.tell(Observation(configuration, Evaluation({"loss": float(configuration[0])}, 1.0), True))
    assert len(set(asked)) == 3


TOY = """
import optuna

from .drawing import draw


class Toy(optuna.samplers.RandomSampler):
    def __init__(self, seed=None, constraints_func=None, search_space=None, n_startup_trials=3):
        super().__init__(seed)
        self.constraints_func, self.space, self.startup = constraints_func, search_space, n_startup_trials
        self.seen = []

    def after_trial(self, study, trial, state, values):
        self.seen.append(self.constraints_func(trial))

    def sample_independent(self, study, trial, name, distribution):
        assert self.space[name] == distribution
        return draw(self._rng.rng, distribution)
"""
DRAWING = """
def draw(rng, distribution):
    if hasattr(distribution, "choices"):
        return distribution.choices[0]
    return int(rng.randint(distribution.low, distribution.high + 1))
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """A clone of OptunaHub's registry with one package."""
    pytest.importorskip("optuna")
    package = tmp_path / "clone" / "package" / "samplers" / "toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .sampler import Toy\n\n__all__ = ['Toy']\n")
    (package / "sampler.py").write_text(TOY)
    (package / "drawing.py").write_text(DRAWING)
    return tmp_path / "clone"


def hub(clone: Path, options: str = "", package: str = "samplers/toy") -> str:
    digest = package_digest(clone / "package" / package)
    return f"optunahub:path={clone},package={package},digest={digest}{options}"


def test_a_sampler_of_a_clone_keeps_our_promises(registry: Path) -> None:
    for check in METHOD_CHECKS:
        check(hub(registry))


def test_a_sampler_of_a_clone_gets_seed_space_options_and_constraints(registry: Path) -> None:
    method = MethodSpec.parse(hub(registry, ",initial=7")).build(PROBLEM, np.random.default_rng(0))
    a, *_ = configuration = method.ask()
    told(method, configuration)
    sampler = method._study.sampler  # type: ignore[attr-defined]
    assert sampler.startup == 7
    assert sampler.seen == [[(a - 3.0) / 3.0]]
    assert list(sampler.space) == ["a", "b", "c"]


def test_code_that_was_not_named_by_its_digest_does_not_run(registry: Path) -> None:
    package = registry / "package" / "samplers" / "toy"
    (package / "__init__.py").write_text("raise SystemExit('it ran')\n")
    digest = package_digest(package)
    for options in ("", ",digest=0123456789ab"):
        with pytest.raises(UsageError, match=f"then write digest={digest} to run this code"):
            text = f"optunahub:path={registry},package=samplers/toy{options}"
            MethodSpec.parse(text).build(PROBLEM, np.random.default_rng(0))
    spec = MethodSpec.parse(hub(registry))
    (package / "drawing.py").write_text(DRAWING + "\n")
    with pytest.raises(UsageError, match="has the digest"):
        spec.build(PROBLEM, np.random.default_rng(0))
    assert ("digest", digest) in spec.parameters()  # part of a run's identity


def test_the_path_of_a_clone_is_no_part_of_its_identity(registry: Path, tmp_path: Path) -> None:
    shutil.copytree(registry, tmp_path / "another")
    here, there = (MethodSpec.parse(hub(clone)) for clone in (registry, tmp_path / "another"))
    assert (
        here.label
        == there.label
        == hub(registry).replace(f"path={registry},package=samplers/toy,", "") + (",package=samplers/toy")
    )
    assert here.parameters() == there.parameters() == MethodSpec.parse(here.label).parameters()
    assert MethodSpec.parse(here.text) == here
    assert "needs path=CLONE" in MethodSpec.parse(here.label).misfit(PROBLEM)  # as a store has it


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("raise RuntimeError('broken')", "cannot be imported: RuntimeError: broken"),
        ("import optunahub_is_not_here", "cannot be imported: ModuleNotFoundError"),
        ("x = 1", "offers no sampler"),
        (
            "import optuna\nclass A(optuna.samplers.RandomSampler): pass\nclass B(A): pass",
            "offers A, B: write",
        ),
        ("import optuna\nclass A(optuna.samplers.RandomSampler):\n    def __init__(self): pass", "takes no seed"),
    ],
)
def test_a_package_that_cannot_be_used_is_one_sentence(registry: Path, text: str, sentence: str) -> None:
    (registry / "package" / "samplers" / "toy" / "__init__.py").write_text(text)
    with pytest.raises(UsageError, match=sentence):
        MethodSpec.parse(hub(registry)).build(PROBLEM, np.random.default_rng(0))


def test_a_package_outside_the_clone_is_refused(registry: Path) -> None:
    outside = registry / "elsewhere"
    outside.mkdir()
    (outside / "__init__.py").write_text("")
    for package in ("../elsewhere", "samplers/none", ""):
        with pytest.raises(UsageError, match=r"there is no|needs path=CLONE"):
            spec = MethodSpec.parse(f"optunahub:path={registry},package={package}")
            spec.build(PROBLEM, np.random.default_rng(0))


def asked_where_a_metric_lacks(name: str, n: int, known: int) -> list[tuple[int, int, int]]:
    """What a method asks for; a constraint's metric is known where a < `known`, and elsewhere the loss is best."""
    method = METHODS.get("scbo")(PROBLEM, np.random.default_rng(0)) if name == "scbo" else built(name)
    asked = []
    for _ in range(n):
        a, b, _ = configuration = method.ask()
        GRID.check(configuration)
        asked.append(configuration)
        size = float(a) if a < known else math.nan
        metrics = {"loss": 20.0 - 2 * a - b, "size": size}
        method.tell(Observation(configuration, Evaluation(metrics, 1.0), BOUND.holds(size)))
    return asked


@pytest.mark.parametrize(
    ("name", "n"), [("optuna-tpe", 30), ("cnsga2", 30), ("rf-cei", 20), ("ax-nei", 8), ("scbo", 20)]
)
def test_a_search_goes_on_where_the_metric_of_a_constraint_is_never_known(name: str, n: int) -> None:
    assert len(set(asked_where_a_metric_lacks(name, n, 0))) > n / 2


@pytest.mark.parametrize(("name", "n"), [("optuna-tpe", 30), ("cnsga2", 30), ("rf-cei", 20), ("scbo", 20)])
def test_an_evaluation_without_a_constraints_metric_is_not_taken_for_a_feasible_one(name: str, n: int) -> None:
    asked = asked_where_a_metric_lacks(name, n, 4)
    assert np.mean([a < 4 for a, _, _ in asked[n // 2 :]]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rf-cei", "optuna-tpe", "optuna-gp", "ax-nei", "scbo", "treebo"])
def test_what_was_made_ready_is_not_loaded_while_the_clock_runs(name: str) -> None:
    """The libraries that a search of 14 evaluations has loaded were there before it began."""
    library = LIBRARIES.get(name, "scipy")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    loaded = subprocess.run(
        [sys.executable, "-c", LOADING.format(name=name)], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == "set()"


LOADING = """
import sys
import numpy as np
from nasbench.benchmarks import Bound, Evaluation, Metric
from nasbench.methods import METHODS, MethodSpec, Observation, Problem
from tests.methods.test_external import BOUND, GRID, told
HEAVY = ("ax", "botorch", "gpytorch", "optuna", "pandas", "scipy", "sklearn", "torch")
spec = MethodSpec.parse("{name}:initial=3")
spec.method.make_ready()
before = {{n for n in sys.modules if n in HEAVY or n in ("scipy.special", "scipy.stats", "scipy.optimize")}}
method = spec.build(Problem(GRID, (Metric("loss", ""),), (BOUND,)), np.random.default_rng(0))
for _ in range(5):
    told(method, method.ask())
print({{n for n in sys.modules if n in HEAVY or n in ("scipy.special", "scipy.stats", "scipy.optimize")}} - before)
"""


def twice_named() -> Program:
    """The kernel of a wide network has other values than that of a narrow one, and the same name."""

    def branch(wide: int) -> Part:
        return conv_norm_relu(8, D([3, 5, 7] if wide else [1, 3], name="kernel"))

    def network() -> Part:
        options = {"wide": D([0, 1], name="wide")}
        return classifier(substitution("s", lambda values: branch(values["wide"]), options), 10)

    return Program(network)


@pytest.mark.parametrize("name", ["optuna-tpe", "cnsga2", "optuna:sampler=random", "optuna:sampler=qmc", "ax-nei"])
def test_two_hyperparameters_of_one_name_are_two_to_a_library(name: str) -> None:
    space = twice_named()
    assert [h.name for h in space.as_flat().hyperparameters].count("s-0/kernel") == 2
    method, seen = built(name, Problem(space, (Metric("loss", ""),))), set()
    for number in range(12):
        configuration = method.ask()
        space.check(configuration)
        seen.add(tuple(space.as_flat().coordinates(configuration)))
        method.tell(Observation(configuration, Evaluation({"loss": math.sin(number)}, 1.0), True))
    assert len(seen) > 2


def test_further_names_are_counted_and_stay_unique() -> None:
    given = [Categorical(name, (0, 1)) for name in ("a", "b", "a#2", "a", "a")]
    assert [h.name for h in uniquely_named(given)] == ["a", "b", "a#2", "a#3", "a#4"]
