"""Suggestions for unknown names."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

_LEAST = 0.53  # similarity below which a name is not suggested
_NEARLY = 0.8  # share of the greatest similarity that other suggestions need
_LETTERS, _WORDS, _NAMES = 60, 6, 500  # bounds on the texts that are compared
_PART, _ABBREVIATION = 0.9, 0.7  # similarity of a word to a part and to an abbreviation of it


def nearest(asked: str, names: Collection[str]) -> list[str]:
    """The name most similar to the one given, and names of almost the same similarity; empty if none is similar."""
    compared = [name[:_LETTERS] for name in list(names)[:_NAMES]]
    frequency = Counter(word for name in compared for word in set(_words(name)))
    similarity = {
        name: round(_similarity(asked[:_LETTERS], short, frequency), 2)
        for name, short in zip(names, compared, strict=False)
    }
    least = max(_LEAST, _NEARLY * max(similarity.values(), default=0.0))
    return sorted((name for name in similarity if similarity[name] >= least), key=lambda name: -similarity[name])


def _similarity(asked: str, name: str, frequency: Mapping[str, int]) -> float:
    """Similarity in [0, 1]: the mean over the whole texts, and the words of each text in the words of the other.

    So `pathmnist` is nearest to `medmnist-path`, and `nas-bench-201` to `nb201-cifar10`.

    Args:
        frequency: number of names with a word; frequent words weigh less (`slice` beats `hpobench`).
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
    """Weighted mean, over words, of the similarity to the most similar word of another text."""
    weights = [1 / math.sqrt(max(frequency.get(word, 1), 1)) for word in words]
    similarity = [max((_similarity_of_words(word, other) for other in by), default=0.0) for word in words]
    return sum(w * x for w, x in zip(weights, similarity, strict=True)) / (sum(weights) or 1.0)


def _similarity_of_words(first: str, second: str) -> float:
    short, long = sorted((first, second), key=len)
    similarity = _ratio(first, second)
    if len(short) > 2 and short in long:
        return max(similarity, _PART)
    letters = iter(long)
    if short[0] == long[0] and all(letter in letters for letter in short):
        return max(similarity, _ABBREVIATION)
    return similarity


@lru_cache(maxsize=10_000)
def _ratio(first: str, second: str) -> float:
    return SequenceMatcher(None, first, second).ratio()
