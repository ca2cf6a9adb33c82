"""What a benchmark may also know, asked of one that knows nothing more and of one that knows everything."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from nasbench.benchmarks import Benchmark, Bound, Evaluation, Level, Metric, Oracle, UsageError, abilities
from nasbench.benchmarks import parse_constraints as parsed
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal

ORACLE = Oracle(0.0, 9.0, 0.5, 4.0, 0.0, 9.0, 0.1)


class Bare(Benchmark):
    """One digit, whose loss is the digit; it knows nothing without an evaluation."""

    name, family, source, licence, checksum = "bare", "toys", "made here", "MIT", "1"
    space = GridSpace([Ordinal("digit", tuple(range(10)))])
    metrics = (
        Metric("loss", ""),
        Metric("size", "MB", cheap=True),
        Metric("speed", "1/s", minimize=False),
        Metric("test-loss", "", split="test"),
    )

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        (digit,) = map(float, configuration)
        return Evaluation({"loss": digit, "size": 2 * digit, "speed": 9 - digit, "test-loss": digit}, 1.0)


class Knowing(Bare):
    """The same digit with every ability."""

    name = "knowing"
    fidelities, variants = (1, 2, 3, 9), ("small",)
    gpus = 0.25
    repetitions = 1
    loaded = False

    def mean_metrics(self, configuration: Configuration) -> Mapping[str, float]:
        return self.evaluate(configuration, 0).metrics

    def repetition_count(self, configuration: Configuration) -> int:
        return 1

    def known(self, metric: str, configuration: Configuration) -> float:
        return self.evaluate(configuration, 0).metrics[metric]

    def quantile(self, metric: str, q: float) -> float:
        return math.nan if metric == "loss" else 10 * q

    def oracle(self, bounds: Sequence[Bound]) -> Oracle:
        return ORACLE._replace(feasible_share=1 / (1 + len(bounds)))

    def canonical(self, configuration: Configuration) -> Configuration:
        return configuration

    def at(self, epochs: int) -> Benchmark:
        other = Knowing()
        other.name = f"knowing@{epochs}"
        return other

    def variant(self, name: str) -> Benchmark:
        other = Knowing()
        other.name = f"knowing/{name}"
        return other

    def make_ready(self) -> None:
        self.loaded = True

    def seconds_each(self) -> float:
        return 2.5

    def device(self) -> str:
        return "a device"


PROTOCOLS = (
    abilities.KnowsMeans,
    abilities.KnowsRepetitions,
    abilities.KnowsBefore,
    abilities.KnowsQuantiles,
    abilities.KnowsOracle,
    abilities.Canonical,
    abilities.HasEpochs,
    abilities.HasVariants,
    abilities.Prepared,
    abilities.Timed,
    abilities.OnDevice,
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_benchmark_has_an_ability_if_it_has_its_methods(protocol: type) -> None:
    assert isinstance(Knowing(), protocol)
    assert not isinstance(Bare(), protocol)


def test_a_cheap_metric_is_known_beforehand_and_no_other() -> None:
    assert abilities.known(Knowing(), "size", (3,)) == 6
    for benchmark, metric in ((Knowing(), "loss"), (Knowing(), "test-loss"), (Bare(), "size")):
        with pytest.raises(UsageError, match=f"^{benchmark.name} does not know {metric} before training$"):
            abilities.known(benchmark, metric, (3,))
    with pytest.raises(UsageError, match=r"unknown metric of knowing 'sise' \(did you mean size\?\)"):
        abilities.known(Knowing(), "sise", (3,))


def test_quantiles_are_those_of_the_table_if_there_is_one() -> None:
    assert abilities.quantile(Knowing(), "size", 0.3) == 3
    with pytest.raises(UsageError, match=r"^bare has no table of size: give an absolute bound$"):
        abilities.quantile(Bare(), "size", 0.3)
    with pytest.raises(UsageError, match="unknown metric of bare 'sise'"):
        abilities.quantile(Bare(), "sise", 0.3)


def test_the_oracle_is_none_where_it_is_not_known() -> None:
    (bound,) = abilities.bounds(Knowing(), parsed(["size<=4"]))
    assert abilities.oracle(Knowing(), (bound,)) == ORACLE
    assert abilities.oracle(Bare(), ()) is None


@pytest.mark.parametrize(
    ("ability", "answer", "ask", "what"),
    [
        ("oracle", (0.0, 12.0), lambda b: abilities.oracle(b, ()), "oracle: TypeError"),
        ("oracle", ValueError("who knows"), lambda b: abilities.oracle(b, ()), "oracle: ValueError: who knows"),
        ("quantile", None, lambda b: abilities.quantile(b, "size", 0.5), "quantiles: TypeError"),
        ("seconds_each", None, abilities.seconds_each, "time per evaluation: TypeError"),
        ("make_ready", OSError("no disk"), abilities.make_ready, r"data: OSError: no disk \(test_abilities.py:"),
    ],
)
def test_a_benchmark_that_answers_amiss_is_named(
    ability: str, answer: object, ask: Callable[[Benchmark], object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(*_: object) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    benchmark = Knowing()
    monkeypatch.setattr(benchmark, ability, answers)
    with pytest.raises(UsageError, match=f"^benchmark knowing fails when it is asked for its {what}"):
        ask(benchmark)


def test_a_lower_fidelity_is_one_of_those_stated() -> None:
    assert abilities.at(Knowing(), 9).name == "knowing@9"
    with pytest.raises(UsageError, match=r"^there is no knowing@4; allowed: 1, 2, 3, 9$"):
        abilities.at(Knowing(), 4)
    with pytest.raises(UsageError, match=r"^there is no bare@9; it has one fidelity only$"):
        abilities.at(Bare(), 9)


def test_variants_are_opened_where_there_are_any() -> None:
    assert abilities.variants(Knowing()) == ("small",)
    assert abilities.variants(Bare()) == ()
    assert abilities.variant(Knowing(), "small").name == "knowing/small"
    with pytest.raises(UsageError, match="unknown variant of bare 'small'"):
        abilities.variant(Bare(), "small")


def test_what_evaluations_need_is_loaded_where_there_is_something_to_load() -> None:
    knowing = Knowing()
    abilities.make_ready(knowing)
    abilities.make_ready(Bare())
    assert knowing.loaded


def test_time_and_device_are_nothing_where_they_are_not_stated() -> None:
    asked = (abilities.seconds_each, abilities.gpus, abilities.device)
    assert [ask(Knowing()) for ask in asked] == [2.5, 0.25, "a device"]
    assert [ask(Bare()) for ask in asked] == [0.0, 0.0, ""]


def test_a_metric_is_found_by_its_name() -> None:
    assert abilities.named(Bare(), "speed") is Bare.metrics[2]
    with pytest.raises(UsageError, match=r"unknown metric of bare 'sped'.*allowed: loss, size, speed$"):
        abilities.named(Bare(), "sped")


def test_constraints_bound_every_metric_but_the_objective_and_those_of_test_splits() -> None:
    assert abilities.constrainable(Bare()) == ("size", "speed")


def test_absolute_bounds_need_no_table_and_stay_in_order() -> None:
    size, speed = Bare.metrics[1:3]
    bounds = abilities.bounds(Bare(), parsed(["speed>=3", "size<=4"]))
    assert set(bounds) == {Bound(speed, low=3.0), Bound(size, high=4.0)}
    assert [bound.metric.name for bound in bounds] == [c.metric for c in parsed(["speed>=3", "size<=4"])]
    assert abilities.bounds(Bare(), ()) == ()


def test_quantiles_bound_each_metric_on_its_better_side() -> None:
    size, speed = Knowing.metrics[1:3]
    assert abilities.bounds(Knowing(), parsed(["size@0.3"])) == (Bound(size, high=3.0),)
    assert abilities.bounds(Knowing(), parsed(["speed@0.3"])) == (Bound(speed, low=3.0),)
    with pytest.raises(UsageError, match="bare has no table of size"):
        abilities.bounds(Bare(), parsed(["size@0.3"]))
    with pytest.raises(UsageError, match=r"loss@0.3 of knowing is nan, which is not a bound"):
        abilities.bounds(Knowing(), parsed(["loss@0.3"]))


def test_size_classes_bound_what_is_minimised_from_both_sides() -> None:
    size = Knowing.metrics[1]
    assert abilities.bounds(Knowing(), parsed(["size@S"])) == (Bound(size, high=2.0),)
    assert abilities.bounds(Knowing(), parsed(["size@M"])) == (Bound(size, 4.0, 6.0),)
    with pytest.raises(UsageError, match="speed is maximised: @M needs a metric that grows with the network"):
        abilities.bounds(Knowing(), parsed(["speed@M"]))


@pytest.mark.parametrize("text", ["test-loss<=3", "test-loss@0.3", "test-loss@S"])
@pytest.mark.parametrize("benchmark", [Bare(), Knowing()])
def test_what_a_test_split_measures_is_never_bounded(benchmark: Benchmark, text: str) -> None:
    with pytest.raises(UsageError, match=f"^test-loss of {benchmark.name} is measured on the test split"):
        abilities.bounds(benchmark, parsed([text]))


def test_objectives_are_on_a_log_scale_if_they_are_costs_or_properties_of_the_network() -> None:
    assert Metric("time", "s").log
    assert not Metric("valid-loss", "nats", split="valid").log
    assert not Metric("sparsity", "%").log


def test_objectives_by_a_name_that_two_metrics_share_or_more_than_three_are_refused() -> None:
    class Twice(Bare):
        metrics = (Metric("valid-error@1", "%"), Metric("valid-error@9", "%"), Metric("size", "MB"))

    class Four(Bare):
        metrics = tuple(Metric(name, "") for name in "abcd")

    with pytest.raises(UsageError, match="unknown metric"):
        abilities.objectives(Twice(), ("valid-error", "size"))
    with pytest.raises(UsageError, match="at most 3 objectives, not 4"):
        abilities.objectives(Four(), tuple("abcd"))
    assert len(abilities.objectives(Four(), tuple("abc"))) == 3
