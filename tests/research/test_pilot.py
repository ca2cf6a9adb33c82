"""The pilot of a table: its statistics on data whose reliability is known, and on noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from research import pilot

Array = NDArray[np.float64]
CELLS = pilot.RULES["cells"]


def drawn(rng: np.random.Generator, share: float, count: int = 40, seeds: int = 3, studies: int = 1) -> Array:
    """Scores whose variance lies between networks to a share; shape (studies, networks, seeds)."""
    own = rng.normal(size=(studies, count, 1)) * np.sqrt(share)
    return own + rng.normal(size=(studies, count, seeds)) * np.sqrt(1 - share)


def of_mean(share: float, seeds: int = 3) -> float:
    """The reliability of the mean that such scores have."""
    return share / (share + (1 - share) / seeds)


def test_reliability_is_what_scipys_analysis_of_variance_gives() -> None:
    for share in (0.3, 0.6, 0.95):
        (scores,) = drawn(np.random.default_rng(0), share, seeds=4)
        assert pilot.reliability(scores) == pytest.approx(1 - 1 / stats.f_oneway(*scores).statistic)


@pytest.mark.parametrize("share", [0.4, 0.73, 0.9])
def test_reliability_of_many_studies_is_centred_on_the_known_one(share: float) -> None:
    found = pilot.reliability(drawn(np.random.default_rng(1), share, studies=4000))
    # 1 / F has the mean (n - 1) / (n - 3) times its parameter
    assert found.mean() == pytest.approx(1 - (1 - of_mean(share)) * 39 / 37, abs=0.01)
    one = np.mean([pilot.of_one_seed(f, 3) for f in found])
    assert one == pytest.approx(share, abs=0.02)


def test_the_interval_covers_the_known_reliability() -> None:
    rng = np.random.default_rng(2)
    ends = np.array([pilot.interval(pilot.reliability, s, rng=rng, draws=400) for s in drawn(rng, 0.73, studies=300)])
    below, above = (ends[:, 0] > of_mean(0.73)).mean(), (ends[:, 1] < of_mean(0.73)).mean()
    assert below < 0.1  # nominal 0.05
    assert above < 0.15


def test_noise_never_passes() -> None:
    rng = np.random.default_rng(3)
    for scores in drawn(rng, 0.0, studies=200):
        low, _ = pilot.interval(pilot.reliability, scores, rng=rng, draws=200)
        assert not pilot.passes(CELLS, 1.0, low, 1.0, 9.0)


def test_a_table_passes_only_if_it_is_reliable_and_agrees_with_longer_training() -> None:
    rng = np.random.default_rng(4)
    (scores,) = drawn(rng, 0.9)
    longer = scores.mean(1, keepdims=True) + rng.normal(size=(40, 2)) / 3
    low, _ = pilot.interval(pilot.reliability, scores, rng=rng, draws=500)
    assert pilot.passes(CELLS, 1.0, low, float(pilot.agreement(scores, longer)), 0.0)
    assert not pilot.passes(CELLS, 1.0, low, float(pilot.agreement(scores, drawn(rng, 0.9)[0])), 9.0)
    assert not pilot.passes(CELLS, 1.0, 0.69, 1.0, 9.0)


@pytest.mark.parametrize("measures", [(0.69, 0.5, 2.0), (0.7, 0.49, 2.0), (0.7, 0.5, 1.9)])
def test_the_rule_of_the_miniature_asks_for_reliability_agreement_and_a_spread_of_the_best(
    measures: tuple[float, float, float],
) -> None:
    of_mean, agreement, spread = measures
    assert pilot.passes(pilot.RULES["mini"], 0.7, 0.0, 0.5, 2.0)
    assert not pilot.passes(pilot.RULES["mini"], of_mean, 1.0, agreement, spread)


def test_the_spread_of_the_best_tenth_is_counted_in_standard_errors_of_one_mean() -> None:
    means = np.arange(40.0)
    scores = means[::-1, None] + [-1.0, 0.0, 1.0]  # standard deviation 1 between seeds
    assert pilot.spread_of_best(scores) == pytest.approx(3 * np.sqrt(3))  # from 0 to 3
    assert pilot.spread_of_best(scores[:8]) == pytest.approx(np.sqrt(3))  # of fewer than twenty, the best two


def test_agreement_is_spearmans_of_the_means() -> None:
    rng = np.random.default_rng(5)
    short, long = np.round(rng.normal(size=(30, 3)) * 2), np.round(rng.normal(size=(30, 2)) * 2)  # with ties
    expected = stats.spearmanr(short.mean(1), long.mean(1)).statistic
    assert pilot.agreement(short, long) == pytest.approx(expected)


def test_scores_without_any_spread_are_not_reliable() -> None:
    assert pilot.reliability(np.full((40, 3), 5.0)) == 0
    assert pilot.agreement(np.full((40, 3), 5.0), np.full((40, 2), 5.0)) == 0


@pytest.mark.parametrize(("share", "code"), [(0.95, 0), (0.0, 1)])
def test_the_command_says_whether_a_table_may_be_built(
    share: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (scores,) = drawn(np.random.default_rng(6), share, seeds=5)
    paths = []
    for epochs, columns in ((6, scores[:, :3]), (24, scores[:, 3:])):
        rows = [(f"cell {i}", i, r, value) for i, own in enumerate(columns) for r, value in enumerate(own)]
        paths.append(tmp_path / f"{epochs}.csv")
        pd.DataFrame(rows, columns=["Op0", "class", "repetition", f"val-error@{epochs}"]).to_csv(paths[-1], index=False)
    monkeypatch.setattr("sys.argv", ["pilot.py", *map(str, paths)])
    assert pilot.main() == code
    said = capsys.readouterr().out
    assert "40 networks x 3 seeds of val-error@6" in said
    assert "rank correlation with val-error@24, 2 seeds" in said
    assert ("failed, do not build" in said) == bool(code)


def test_a_longer_training_of_one_seed_and_a_part_of_the_networks_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (scores,) = drawn(np.random.default_rng(6), 0.95, seeds=4)
    paths = [tmp_path / "short.csv", tmp_path / "long.csv"]
    for path, epochs, columns in ((paths[0], 6, scores[:, :3]), (paths[1], 30, scores[:24, 3:])):
        rows = [(f"cell {i}", i, r, value) for i, own in enumerate(columns) for r, value in enumerate(own)]
        pd.DataFrame(rows, columns=["Op0", "class", "repetition", f"val-error@{epochs}"]).to_csv(path, index=False)
    monkeypatch.setattr("sys.argv", ["pilot.py", *map(str, paths), "--rule", "mini"])
    assert pilot.main() == 0
    said = capsys.readouterr().out
    rho = stats.spearmanr(scores[:24, :3].mean(1), scores[:24, 3]).statistic
    assert "40 networks x 3 seeds" in said
    assert f"reliability of the mean {pilot.reliability(scores[:, :3]):.2f}" in said
    assert f"rank correlation with val-error@30 of 24 of them: {rho:.2f}" in said


def test_copies_within_a_class_are_one_network(tmp_path: Path) -> None:
    rows = [("a", 0, r, r + 0.5, 9.0) for r in range(3)]
    rows += [("b", 0, r, r + 0.5, 9.0) for r in range(3)] + [("c", 1, r, r + 1.5, 9.0) for r in range(3)]
    names = ["Op0", "class", "repetition", "val-error@6", "val-error@5"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "short.csv", index=False)
    name, found = pilot.read(tmp_path / "short.csv", "val-error")
    assert name == "val-error@6"
    assert found.to_numpy().tolist() == [[0.5, 1.5, 2.5], [1.5, 2.5, 3.5]]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("a,class,repetition,val-error@3\nx,0,0,1.0", "has one repetition per network; reliability needs two"),
        ("a,class,repetition,error\nx,0,0,1.0\nx,0,1,1.0", "has no columns val-error@EPOCH, class and repetition"),
        ("a,class,repetition,val-error@3\nx,0,0,1.0\nx,0,1,1.0", "unknown benchmark 'nothing'"),
    ],
)
def test_what_cannot_be_judged_is_no_verdict(
    header: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code 1 says that the table must not be built; bad input has 2."""
    (tmp_path / "short.csv").write_text(header + "\n")
    monkeypatch.setattr("sys.argv", ["pilot.py", str(tmp_path / "short.csv"), "nothing"])
    with pytest.raises(SystemExit) as ended:
        pilot.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
