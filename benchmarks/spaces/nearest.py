"""The name that a person probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_LEAST = 0.45  # of likeness: below it a name is not worth naming
_NEARLY = 0.8  # of the greatest likeness
_LETTERS, _WORDS, _NAMES = 60, 6, 500  # of what is compared, for anything may be asked for
_PART, _ABBREVIATION = 0.9, 0.7


def nearest(asked: str, names: Collection[str]) -> list[str]:
    """The name that is most like what was asked for, and those nearly as like; none where nothing resembles it."""
    likeness = {name: round(_likeness(asked[:_LETTERS], name[:_LETTERS]), 2) for name in list(names)[:_NAMES]}
    least = max(_LEAST, _NEARLY * max(likeness.values(), default=0.0))
    return sorted((name for name in likeness if likeness[name] >= least), key=lambda name: -likeness[name])


def _likeness(asked: str, name: str) -> float:
    """From 0 to 1: of the whole, of its words to the name's, and of the name's words to its own.

    So that `pathmnist` is nearest to `medmnist-path`, and `nas-bench-201` to `nb201-cifar10`.
    """
    words, joined = _words(name), _words(re.sub(r"[\W_]", "", asked))
    whole = _ratio("".join(_words(asked)), "".join(words))
    return (whole + max(_covered(own, words) + _covered(words, own) for own in (_words(asked), joined))) / 3


def _words(text: str) -> list[str]:
    """Runs of letters, of digits and of `+`: `nb201-cifar10` has four."""
    return re.findall(r"[^\W\d_]+|\d+|\++", text.lower())[:_WORDS]


def _covered(words: Sequence[str], by: Sequence[str]) -> float:
    """Mean likeness of each word to the one that is most like it."""
    return sum(max((_alike(word, other) for other in by), default=0.0) for word in words) / max(len(words), 1)


def _alike(one: str, other: str) -> float:
    short, long = sorted((one, other), key=len)
    found = _ratio(one, other)
    if len(short) > 2 and short in long:
        return max(found, _PART)
    letters = iter(long)
    if short[0] == long[0] and all(letter in letters for letter in short):
        return max(found, _ABBREVIATION)
    return found


@lru_cache(maxsize=10_000)
def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
