"""Texts that stand for numbers, as people and tools write them."""

from __future__ import annotations

import re

import pandas as pd

from nasbench.benchmarks.tabular.column import FEW, Column
from nasbench.benchmarks.tabular.meaning import MEASURED

IN_ONE = "in one text, such as"
"""Words of a reason for which several numbers, or a number with its spread, are left out."""
_NUMBER = r"'?[-+]?(?:\d[\d.,]*|\.\d+)(?:[eE][-+]?\d+)?"  # MLflow's page writes a ' before a minus
_MEAN_AND_SPREAD = re.compile(rf"\s*\$?{_NUMBER}\s*%?\s*(?:±|\+-|\+/-|\\pm)\s*{_NUMBER}\s*%?\$?\s*")
_FAILED = re.compile(r"(?:f_|err|fail|time_?out|crash|kill|diverg|oom|abort|n/?a\b|null|inf|[-?!.]+$).*", re.IGNORECASE)
"""What tools and people write in place of a number where a training failed: DeepHyper's `F_ValueError`."""
WRITTEN = re.compile(rf"\s*(?:{_NUMBER}\s*(?:%|[A-Za-z]{{1,3}}|\({_NUMBER}\))?|(?:\d+ days? )?\d+:\d+[\d:.]*)\s*")
"""Text that a person reads as a number: `57 %`, `0,5`, `1,000`, `3.2M`, `91.2 (0.3)`, `0 days 00:01:10`."""
_FILE = (
    r"\w+://.+|(?:[A-Za-z]:\\|\.{0,2}/).+"
    r"|.+\.(?:ckpt|pth?|pkl|pickle|joblib|h5|hdf5|keras|onnx|pb|tflite|safetensors|bin|cbm|ubj|rds|rda|mat|np[yz]"
    r"|zip|t?gz|tar|json|ya?ml|toml|ini|cfg|csv|tsv|parquet|txt|log|out|png)"
)
"""A name of a file: `models/1e869d.pt`, `s3://runs/7`, `/scratch/a/best`."""
_BEGINS_AS_NUMBER = r"\s*[-+~≈<>]?\s*\.?\d"
"""Beginning of a text that stands for a number under the name of a measurement: `11.7 million`, `1h 20m`."""


def text_for_numbers(column: Column) -> str:
    """Why texts in a column stand for numbers, which it is no choice among; empty if they do not."""
    if column.is_number:
        return ""
    texts = column.values.dropna().astype(str)
    if all(map(_holds_numbers, texts)):
        return f"several numbers {IN_ONE} {texts.iloc[0]!r}: [extract] makes columns of them"
    if texts.str.fullmatch(_MEAN_AND_SPREAD).all():
        return f"a number and its spread {IN_ONE} {texts.iloc[0]!r}: write plain numbers"
    if column.meaning not in MEASURED:
        return ""
    odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
    if texts.str.fullmatch(WRITTEN).all() or texts.str.match(_BEGINS_AS_NUMBER).all():
        return (
            f"a measurement by its name, but its values are text, such as {(odd if len(odd) else texts).iloc[0]!r}: "
            f"write plain numbers{' of seconds' if column.meaning == 'seconds' else ''}"
        )
    if 0 < len(odd) < len(texts) / 2:
        return (
            "a measurement by its name, but some of its values are text, such as "
            f"{odd.iloc[0]!r}: leave the field empty where there is no value"
        )
    return ""


def names_products(column: Column) -> bool:
    """Whether all texts are names of files, or digests of one length, as of the models that were trained."""
    if column.is_number or not column.distinct:
        return False
    texts = column.values.dropna().drop_duplicates().astype(str)
    if texts.str.fullmatch(_FILE, case=False).all():
        return True
    are_digests = texts.str.fullmatch("[0-9a-f]{6,}", case=False).all() and texts.str.len().nunique() == 1
    return bool(are_digests and texts.str.contains(r"\d").mean() > 0.5)


def _holds_numbers(text: str) -> bool:
    """Whether a text is a list of numbers, as SMAC writes the values of several objectives: `[-1.0, 4.5]`."""
    bare = text.strip()
    if bare[:1] not in ("[", "(") or bare[-1:] not in ("]", ")"):
        return False
    try:
        return len([float(part) for part in re.split("[,;]", bare[1:-1]) if part.strip()]) > 1
    except ValueError:
        return False


def mark_of_failure(column: Column) -> str:
    """What stands for failed trainings among the numbers of a column without a known name; empty if nothing does."""
    if column.is_number or column.meaning is not None or column.distinct <= FEW:
        return ""
    texts = column.values.dropna().astype(str)
    odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
    is_marked = 0 < len(odd) < len(texts) / 2 and odd.str.fullmatch(_FAILED).all()
    return str(odd.iloc[0]) if is_marked else ""
