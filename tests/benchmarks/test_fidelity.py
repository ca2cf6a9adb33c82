"""Levels and fidelities, of one axis and of several."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.benchmarks import WHOLE, Axis, Fidelity, Level, UsageError
from nasbench.benchmarks.fidelity import spans

EPOCHS = Fidelity("epochs", "1 epoch", (1, 3, 9))
BOTH = Fidelity("epochs", "1 epoch", (1, 3, 9), beside=(Axis("images", "1 image", (2, 5), continuable=False),))


def at(epochs: int, images: int) -> Level:
    return Level(epochs=epochs, images=images)


@pytest.mark.parametrize(
    "values", [(), (0, 1, 3), (9, 3, 1), (1, 1), (0.5, 1.0), (True, 2), (1, 10**9 + 1), np.arange(1, 4)]
)
def test_values_that_are_no_levels_are_refused(values: tuple[int, ...]) -> None:
    """With a level of 0, counting rungs down by their quotient would not end."""
    with pytest.raises(
        UsageError, match=r"the values of epochs are no ascending integers \(of type int\) from 1 to 10⁹"
    ):
        Fidelity("epochs", "1 epoch", values)
    with pytest.raises(UsageError, match="the values of images are no ascending integers"):
        Fidelity("epochs", "1 epoch", (1, 3), beside=(Axis("images", "1 image", (5, 2)),))


def test_levels_with_the_same_values_are_one_level_in_whatever_order() -> None:
    one, other = Level(epochs=3, images=5), Level(images=5, epochs=3)
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, Level(epochs=5, images=3), Level(epochs=3), WHOLE}) == 4
    assert one != {"epochs": 3, "images": 5}
    assert Level(epochs=3) != Level(points=3)


def test_a_level_is_a_mapping_and_its_work_is_the_product() -> None:
    level = Level(epochs=27, images=500)
    assert dict(level) == {"epochs": 27, "images": 500}
    assert (level["images"], len(level), level.work) == (500, 2, 13_500)
    assert (WHOLE.work, len(WHOLE)) == (1, 0)
    with pytest.raises(KeyError):
        level["points"]


def test_levels_are_written_for_people_and_for_python() -> None:
    assert str(Level(epochs=27, images=500)) == "epochs 27, images 500"
    assert str(WHOLE) == "whole"
    assert eval(repr(Level(epochs=27, images=500))) == Level(epochs=27, images=500)


def test_the_ladder_climbs_the_first_axis_where_the_others_are_highest() -> None:
    assert EPOCHS.ladder == EPOCHS.levels == (Level(epochs=1), Level(epochs=3), Level(epochs=9))
    assert BOTH.ladder == (at(1, 5), at(3, 5), at(9, 5))
    assert BOTH.highest == at(9, 5)


def test_levels_are_all_combinations_by_work() -> None:
    assert set(BOTH.levels) == {at(epochs, images) for epochs in (1, 3, 9) for images in (2, 5)}
    assert [level.work for level in BOTH.levels] == [2, 5, 6, 15, 18, 45]


@pytest.mark.parametrize(
    ("reached", "level", "continues"),
    [
        (at(1, 2), at(3, 2), True),
        (at(1, 5), at(9, 5), True),
        (at(3, 2), at(3, 2), False),
        (at(3, 2), at(1, 2), False),
        (at(1, 2), at(1, 5), False),
        (at(1, 2), at(3, 5), False),
        (at(3, 5), at(9, 2), False),
    ],
)
def test_a_training_goes_on_along_continuable_axes_alone(reached: Level, level: Level, continues: bool) -> None:
    assert BOTH.continues(reached, level) == continues


def test_a_training_goes_on_along_two_axes_at_once_where_both_are_continuable() -> None:
    both = Fidelity("epochs", "1 epoch", (1, 3), beside=(Axis("images", "1 image", (2, 5)),))
    assert both.continues(at(1, 2), at(3, 5))
    assert both.continues(at(1, 2), at(1, 5))
    assert not both.continues(at(3, 2), at(1, 5))
    assert both.may_continue(at(3, 2))
    assert not both.may_continue(at(3, 5))


def test_a_training_may_go_on_until_its_continuable_axes_end() -> None:
    assert [BOTH.may_continue(at(epochs, 2)) for epochs in (1, 3, 9)] == [True, True, False]
    assert [EPOCHS.may_continue(level) for level in EPOCHS.levels] == [True, True, False]
    separate = Fidelity("epochs", "1 epoch", (1, 3, 9), continuable=False)
    assert not any(map(separate.may_continue, separate.levels))
    assert (EPOCHS.continuable, BOTH.continuable, separate.continuable) == (True, True, False)


def test_members_are_points_with_a_value_on_every_axis() -> None:
    assert all(level in BOTH for level in BOTH.levels)
    for foreign in (at(2, 5), at(9, 6), Level(epochs=9), Level(epochs=9, images=5, folds=1), WHOLE, 9, None):
        assert foreign not in BOTH


def test_a_fidelity_says_its_values_and_which_are_separate_trainings() -> None:
    assert str(BOTH) == "epochs 1, 3, 9; images 2, 5, each a separate training"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1, 2, 3), "1 to 3"),
        ((4, 5), "4, 5"),
        ((1, 3, 9), "1, 3, 9"),
        ((200, 400, 600), "200 to 600 in steps of 200"),
        ((7,), "7"),
        ((), ""),
    ],
)
def test_long_lists_of_numbers_are_spans(numbers: tuple[int, ...], text: str) -> None:
    assert spans(numbers) == text


def test_two_axes_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two axes of the fidelity have the name 'epochs'"):
        Fidelity("epochs", "1 epoch", (1, 3), beside=(Axis("epochs", "1 epoch", (1, 2)),))
