"""The meaning of a column, guessed from its name and its values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from nasbench.benchmarks.metrics import sounds_held_out
from nasbench.benchmarks.tabular.table import Array

Meaning: TypeAlias = Literal[
    "choice", "identity", "outcome", "spread", "repetition", "epoch", "size", "seconds", "resource", "score"
]
"""Meanings of columns: a hyper-parameter, a number of the row, how a training ended, a standard deviation, …"""

_ON = "(?:val|valid|test|train|dev|bal)?"  # a split joined with the quantity: valacc
_HIGHER = re.compile(
    rf"{_ON}m?acc(?:uracy)?\d*|top\d+|auc|auroc|auprc|rocauc|bac|f1|precision|recall|scores?|rewards?|returns?|m?iou"
    "|map|bleu|r2|dice|ssim|psnr|kappa|mcc|fitness|throughput|fps"
)
_LOWER = re.compile(
    rf"{_ON}err(?:ors?)?\d*|{_ON}loss(?:es)?|r?mse|mae|mape|nll|entropy|perplexity|ppl|wer|cer|brier|logloss|regret|mmce"
)
_SPLITS = {"valid": re.compile("val|valid|validation|dev|eval"), "train": re.compile("train|training")}
_WORDS: dict[Meaning, re.Pattern[str]] = {
    "choice": re.compile(
        "lr|learning|(mini)?batch|momentum|decay|dropout|units|layers?|hidden|kernel|filters?|channels?|optimi[sz]er"
        "|activation|coef|weight|clip|buffer"
    ),
    "identity": re.compile("index|id|hash|uuid|unnamed|timestamp|date|code"),
    "spread": re.compile("std|stderr|stdev|sem|variance"),
    "size": re.compile("n?params?|parameters|flops|macs|madds"),
    "seconds": re.compile("times?|seconds?|secs?|hours?|minutes|duration|runtime|walltime|cost"),
    "resource": re.compile("latency|energy|power|memory|ram|kwh|co2|throughput|fps"),
}
"""Meaning → the words in a name that indicate it; an earlier meaning has priority."""
_WHOLE: dict[str, Meaning] = {
    "": "identity",  # pandas writes the numbers of its rows there
    **dict.fromkeys(("status", "state", "failed", "crashed", "diverged"), "outcome"),
    **dict.fromkeys(("seed", "seeds", "random_seed", "repetition", "repeat", "rep", "replicate", "fold"), "repetition"),
    **dict.fromkeys(("epoch", "epochs", "step", "iteration"), "epoch"),
    **dict.fromkeys(("size", "model_size", "network_size"), "size"),
}
"""Whole names that indicate a meaning."""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a column of numbers by its name; None if the name does not indicate one."""
    if name.lower() in _WHOLE:
        return _WHOLE[name.lower()]
    for meaning, words in _WORDS.items():
        if _has(name, words):
            return meaning
    return "score" if rises(name) or falls(name) or split_of(name) else None


def rises(name: str) -> bool:
    """Whether a name indicates a quantity to maximise: an accuracy, a reward, a throughput."""
    return not falls(name) and _has(name, _HIGHER)


def falls(name: str) -> bool:
    """Whether a name indicates a quantity to minimise: an error, a loss."""
    return _has(name, _LOWER)


def split_of(name: str) -> str | None:
    """The data split that a name contains, as metrics call it; None if it contains none."""
    if sounds_held_out(name):
        return "test"
    return next((split for split, words in _SPLITS.items() if _has(name, words)), None)


def scale_of(values: Array) -> int | None:
    """1 or 100 if all values lie between 0 and that number, as accuracies do; otherwise None."""
    known = values[np.isfinite(values)]
    if not len(known) or known.min() < 0 or known.max() > 100:
        return None
    return 1 if known.max() <= 1 else 100


def looks_like_accuracy(name: str, values: Array, first: Array | None, sizes: Iterable[Array]) -> str:
    """Why larger values of a column seem to be better; empty if they do not.

    Args:
        name: name of the column.
        values: values at the last epoch, shape (rows,).
        first: values at the first epoch, if there are several.
        sizes: sizes of networks, such as numbers of parameters, each of shape (rows,).
    """
    if falls(name):
        return ""
    if rises(name):
        return "its name says so"
    scale = scale_of(values)
    if scale is None:
        return ""
    if first is not None and pd.Series(first).mean() < pd.Series(values).mean():
        return f"it lies in [0, {scale}] and rises with the epochs"
    ranks = pd.Series(values).rank()
    if any(ranks.corr(pd.Series(size).rank()) > 0.3 for size in sizes):
        return f"it lies in [0, {scale}] and rises with the size"
    return ""


def _has(name: str, words: re.Pattern[str]) -> bool:
    """Whether a word of a name matches. The words of `validTop1_acc` are `validtop1`, `valid`, `top1` and `acc`."""
    parts = [part for part in re.split(r"[\W_]+", name) if part]
    inner = [word for part in parts for word in re.split(r"(?<=[a-z0-9])(?=[A-Z])", part)]
    return any(words.fullmatch(word.lower()) for word in (*parts, *inner))
