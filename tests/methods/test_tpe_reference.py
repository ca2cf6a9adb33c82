"""c-TPE against the scripts of its authors: the comparison itself and, slow, its outcome."""

from __future__ import annotations

import numpy as np
import pytest

from research import ctpe_reference
from research.ctpe_reference import Reference

THEIRS = [Reference(50, (4.0, 3.0, 2.0, 1.0)), Reference(20, (8.0, 6.0, 4.0, 2.0))]


def ours(shift: float, seeds: int = 40) -> np.ndarray:
    """Runs scattered around the medians of THEIRS, moved by `shift` standard deviations."""
    noise = np.random.default_rng(0).standard_normal((2, seeds, 4))
    noise -= np.median(noise, axis=1, keepdims=True)
    return np.array([r.medians for r in THEIRS])[:, None, :] * (1 + 0.1 * (noise + shift))


def test_the_reference_has_every_setting_of_every_method() -> None:
    found = ctpe_reference.reference()
    assert {method: len(settings) for method, settings in found.items()} == {
        "c-tpe": 63,
        "c-tpe-naive": 63,
        "random": 63,
        "tpe": 63,
    }
    assert found["random"]["nb201-cifar10", "model_size@0.1+train_time@0.1"].medians[0] == pytest.approx(13.94)


def test_equal_medians_tie_and_are_not_worse() -> None:
    for verdict in ctpe_reference.compare(ours(0.0), THEIRS):
        assert (verdict.better, verdict.worse, verdict.tied) == (0, 0, 2)
        assert verdict.share == pytest.approx(0.5)
        assert verdict.p_worse == pytest.approx(0.5)


@pytest.mark.parametrize(("shift", "better", "worse"), [(-1.0, 2, 0), (1.0, 0, 2)])
def test_a_shift_of_a_standard_deviation_is_seen(shift: float, better: int, worse: int) -> None:
    for verdict in ctpe_reference.compare(ours(shift), THEIRS):
        assert (verdict.better, verdict.worse) == (better, worse)
        assert verdict.share == pytest.approx(0.84 if better else 0.16, abs=0.08)
        assert verdict.p_worse > 0.999 if better else verdict.p_worse < 0.001


def test_before_the_first_feasible_observation_a_run_has_the_worst_value() -> None:
    setting = ("nb201-cifar10", "model_size@0.1+train_time@0.1")
    found = ctpe_reference.incumbents("random", [setting], range(30))
    assert found.shape == (1, 30, 4)
    assert (np.diff(found, axis=2) <= 0).all()
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["c-tpe", "tpe:variant=paper", "random"])
def test_it_is_not_worse_than_the_authors_scripts(method: str) -> None:
    theirs = ctpe_reference.reference()[method.partition(":")[0]]
    settings = [setting for setting in theirs if "+" in setting[1]]
    found = ctpe_reference.incumbents(method, settings, range(500, 520))
    for verdict in ctpe_reference.compare(found, [theirs[setting] for setting in settings]):
        assert verdict.p_worse > 0.01
