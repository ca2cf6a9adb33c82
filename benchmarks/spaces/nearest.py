"""The name that a person probably meant."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_LEAST = 0.45  # of likeness: below it a name is not worth naming
_NEARLY = 0.8  # of the greatest likeness
_LETTERS, _WORDS, _NAMES = 60, 6, 500  # of what is compared, for anything may be asked for
_PART, _ABBREVIATION = 0.9, 0.7


def nearest(asked: str, names: Collection[str]) -> list[str]:
    """The name that is most like what was asked for, and those nearly as like; none where nothing resembles it."""
    compared = [name[:_LETTERS] for name in list(names)[:_NAMES]]
    frequency = Counter(word for name in compared for word in set(_words(name)))
    likeness = {
        name: round(_likeness(asked[:_LETTERS], short, frequency), 2)
        for name, short in zip(names, compared, strict=False)
    }
    least = max(_LEAST, _NEARLY * max(likeness.values(), default=0.0))
    return sorted((name for name in likeness if likeness[name] >= least), key=lambda name: -likeness[name])


def _likeness(asked: str, name: str, frequency: Mapping[str, int]) -> float:
    """Likeness from 0 to 1: of the whole texts, of the asked words to the name's, and of the name's words to the asked.

    So that `pathmnist` is nearest to `medmnist-path`, and `nas-bench-201` to `nb201-cifar10`.

    Args:
        frequency: number of names that have a word: the more, the less it distinguishes (`slice` beats `hpobench`).
    """
    words, joined = _words(name), _words(re.sub(r"[\W_]", "", asked))
    whole = _ratio("".join(_words(asked)), "".join(words))
    covered = (
        _covered(given, words, frequency) + _covered(words, given, frequency) for given in (_words(asked), joined)
    )
    return (whole + max(covered)) / 3


def _words(text: str) -> list[str]:
    """Runs of letters, of digits and of `+`: `nb201-cifar10` has four."""
    return re.findall(r"[^\W\d_]+|\d+|\++", text.lower())[:_WORDS]


def _covered(words: Sequence[str], by: Sequence[str], frequency: Mapping[str, int]) -> float:
    """Weighted mean likeness of each word to the one that is most like it."""
    weights = [1 / math.sqrt(max(frequency.get(word, 1), 1)) for word in words]
    likeness = [max((_alike(word, other) for other in by), default=0.0) for word in words]
    return sum(w * x for w, x in zip(weights, likeness, strict=True)) / (sum(weights) or 1.0)


def _alike(first: str, second: str) -> float:
    short, long = sorted((first, second), key=len)
    likeness = _ratio(first, second)
    if len(short) > 2 and short in long:
        return max(likeness, _PART)
    letters = iter(long)
    if short[0] == long[0] and all(letter in letters for letter in short):
        return max(likeness, _ABBREVIATION)
    return likeness


@lru_cache(maxsize=10_000)
def _ratio(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second).ratio()
