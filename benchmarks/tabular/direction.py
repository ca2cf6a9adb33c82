"""Whether more or less of a column is better, guessed from its name and its values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from nasbench.benchmarks.tabular.table import Array

Sense: TypeAlias = Literal["maximise", "minimise"]

_ON = "(?:val|valid|test|train|dev|bal)?"  # a split joined with the quantity: valacc
_SHARES = (
    rf"{_ON}m?acc(?:uracy|uracies)?\d*|top\d+|auc|auroc|auprc|aucpr|aucroc|rocauc|prauc|bac|f1|fbeta|f1score|precision"
    r"|recall|sensitivity|specificity|m?iou|jaccard|m?ap\d*|ndcg\d*|mrr|hits?|bleu\d*|rouge\w*|meteor|dice|ssim|psnr"
)
_HIGHER = re.compile(
    rf"{_SHARES}|scores?|rewards?|returns?|r2|kappa|mcc|fitness|throughput|fps|likelihood|loglikelihood|elbo|utility"
    "|profit|correlation|corr|spearman|pearson|kendall|explained|rsq|rsquared"
)
_LOWER = re.compile(
    rf"{_ON}err(?:ors?)?\d*|{_ON}loss(?:es)?|n?r?mse|rms?s?le|mae|s?mape|nll|entropy|perplexity|ppl|wer|cer|brier"
    "|logloss|regret|mmce|ce|deviance|divergence|fid|violations?|misclassifications?|gap|degradation|unexplained"
)
_FEES = re.compile(
    "times?|seconds?|secs?|hours?|minutes|duration|runtime|walltime|costs?|latency|energy|memory|ram|kwh|co2"
)
_UNSIGNED = re.compile(f"{_SHARES}|{_LOWER.pattern}")
"""Quantities that have no negative values unless their sign is reversed."""
_PARTS_OF_ALL = re.compile(rf"{_SHARES}|{_ON}err(?:ors?)?\d*|misclassifications?|mmce")
_DISTANCES = re.compile("squared?|absolute|abs|sq|log|quadratic")
_NEGATED = re.compile("neg|negative|negated|minus|inverted")
_LESSENED = re.compile("drop|decrease|decline|reduction")
_TURNED = re.compile(
    "inv|inverse|reciprocal|complement(?:ary)?|non|not?|free|improvements?|improved|gains?|sav(?:ed|ings?)|avoided"
    "|speedup|deficit|shortfall|lost|miss(?:ed|es|ing)?|penalty|distances?|dissimilarity|minimi[sz]\\w*|maximi[sz]\\w*"
    "|lower|higher"
)
"""Words that may turn a quantity into its opposite, as in `inv_auc`, `error_free_rate` and `jaccard_distance`."""
_QUALIFIERS = re.compile(
    r"val|valid|validation|dev|eval|test|train|training|fit|cv|oof|metrics?|hparam|objective|value|mean|avg|average|median|max|min"
    r"|best|final|last|total|sum|macro|micro|weighted|balanced|at|of|in|the|on|and|k|\d+\w?|epochs?|\d*ep|pct|percent|root|squared?"
    r"|absolute|log|cross|logistic|categorical|binary|sparse|hinge|huber|classification|regression|prediction|model|word"
    r"|character|bits?|area|under|curve|roc|pr|ovr|ovo|top\d*|rates?|r|wall|clock|cpu|gpu|elapsed|per|steps?|ms|s|h|m|f|u"
    r"|variance|episodes?|ep|rew|inference|forward|batch|image|sample|iteration|it|search|run|trial|device"
    "|sens|spec|coef|coefficient|classif|regr|rollout|learners"
)
"""Words that leave the direction of a quantity as it is: `mean_test_root_mean_squared_error`."""
_ELSEWHERE = re.compile("rewards?|returns?|fps|gap|ce|fid|profits?|utility|hits?")
"""Words that say more or less in most files, and something else in some: NNI writes any result as `reward`."""
_TOP = re.compile(r"top\d+")
_SCORES = re.compile("scores?")
_QUALITY = re.compile(f"{_SCORES.pattern}|fitness")
"""Words for what is better if larger in some files, and if smaller in others: `davies_bouldin_score`."""
_SEVERAL = 0.05  # share of values that are no exceptions
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹣－", "-"))
_FORMULA = re.compile(
    r"[=(\[]\W*(?:1|one|100)(?:\.0*)?[\s_]*(?:-|minus)|(?:^|[\W_])(?:1|one|100)(?:\.0*)?[\s_]*(?:/|over[\s_])"
    r"|(?:^|(?<!top)(?<!rouge)(?<!bleu)[./:,\s_])(?:1|100)(?:\.0*)?\s*%?\s*-|%\s*-|-\s*2[\s_*·]*log|[↓↑^*×]"
    r"|(?<![\s-])[^\w\s)\]}>'\"%-]-(?=[^\W\d_])|_-(?=[^\W\d_])",
    re.IGNORECASE,
)
"""Signs of a formula within a name, or of a direction: `accuracy (1-err)`, `1/auc`, `rmse^-1`, `-2 log likelihood`,
`100% - accuracy`, `model/-loss`, `score ↓`."""
_BEFORE = (
    r"\W*(?:(?:val(?:id(?:ation)?)?|test|train(?:ing)?|dev|eval|cv|oof|metrics?|objective|value|mean|avg|average|median"
    r"|max|min|best|final|last|total|macro|micro|weighted|balanced)[\W_]+)*"
)
_NUMBERED = (
    r"(?:best|shots?|nn|bits?|ways?|hops?|steps?|epochs?|ep|iter(?:ation)?s?|layers?|folds?|class(?:es)?|norm|grams?"
    r"|images?|samples?|examples?|frames?|tokens?|words?|batch(?:es)?|crops?|views?|models?|labels?|d|dim(?:ensional)?"
    r"|s|secs?|seconds?|min(?:utes?)?|h|hours?|days?|weeks?|months?|years?|out|of|in|to)(?![a-z])"
)
"""What is counted before a hyphen: `1-epoch accuracy` and `1-best WER` are no complements."""
_COMPLEMENT = re.compile(
    rf"{_BEFORE}(?:1(?:\.0*)?|one|100(?:\.0*)?)\s*%?[\s_-]*(?:-(?!{_NUMBERED})|minus[\s_-])[\s_]*", re.IGNORECASE
)
_LIKELIHOOD = re.compile(r"(?:neg|negative|minus)[\W_]*log[\W_]*(?:likelihood|lik|prob(?:ability)?)", re.IGNORECASE)
_PER = re.compile(r"[\W_]per[\W_]|(?-i:(?<=[a-z])Per(?=[A-Z]))|/(?=s(?:ecs?|econds?)?$)", re.IGNORECASE)
_RATE = re.compile(rf"(?:{_PER.pattern})[\W_]*(?:s|secs?|seconds?|minutes?|hours?)(?:$|[\W_])", re.IGNORECASE)
_MINUS = re.compile(rf"\W*-\s*(?=[^\W\d_])|{_BEFORE}(?<=[\W_])(?<!-)-(?=[^\W\d_])", re.IGNORECASE)
_THINGS = re.compile(
    r"(?:img|image|sample|example|instance|record|row|item|frame|clip|video|token|word|char(?:acter)?|sentence|sequence|doc(?:ument)?"
    r"|step|it|iter(?:ation)?|batch(?:e)?|update|epoch|episode|trial|eval(?:uation)?|inference|prediction|query|querie|request|graph"
    r"|node|edge|point|pixel|patch(?:e)?|transaction|event|op(?:eration)?|flop|(?:[kmgt]i?)?b(?:yte)?)s?|throughput|fps|processed|speed"
)
"""What a machine works off: more of it in a second is better; of false alarms, collisions or dollars it is not."""


def words_of(name: str) -> list[list[str]]:
    """The words of a name in their order, in lower case, each with its parts: `validTop1_acc` has `validtop1` (with
    `valid` and `top1`) and `acc`."""
    parts = [part for part in re.split(r"[\W_]+", name) if part]
    inner = [re.split(r"(?<=[a-z0-9])(?=[A-Z])", part) for part in parts]
    return [[part.lower(), *map(str.lower, pieces)] for part, pieces in zip(parts, inner, strict=True)]


def matches(name: str, words: re.Pattern[str]) -> bool:
    """Whether a word of a name matches."""
    return bool(_places(words_of(name), words))


def sense_of(name: str) -> Sense | None:
    """Whether a name says that more or that less is better; None if it says neither, or may say both.

    An error is to be minimised and an accuracy to be maximised; a word or a sign that negates one, as in `neg_mse`,
    `-loss`, `1-accuracy` and `accuracy_drop`, reverses that. A bare score says neither.
    """
    plain = _LIKELIHOOD.sub("nll", name.translate(_DASHES))
    turned = _reversal(plain)
    rest = plain[turned.end() :] if turned else plain
    if matches(plain, _TURNED) or _FORMULA.search(rest):
        return None
    words = counted(rest)
    fees, lower, higher = (_places(words, kind) for kind in (_FEES, _LOWER, _HIGHER))
    named = fees or lower or higher
    if not named:
        return "maximise" if _is_throughput(name) and not turned else None
    is_quality = all(map(_QUALITY.fullmatch, (words[place][0] for place in higher)))
    is_bare = is_quality and higher > fees and not lower  # `latency_score`; `score_time` is a time
    if is_bare or (fees and not is_quality):
        return None  # `time/fps` says both
    negations, lessened = _places(words, _NEGATED), _places(words, _LESSENED)
    before = [place for place in lessened if place < named[0] and words[place + 1][0] not in ("in", "of")]
    if before or any(place > named[0] for place in negations):
        return None  # `recall_negative`, `loss_neg`: of the negative examples, or of the other sign?
    reversals = len(negations) + len(lessened) + bool(turned)
    is_more = (not fees and not lower) != (reversals % 2 == 1)
    return "maximise" if is_more else "minimise"


def strange_words(name: str) -> str:
    """The words of a name that may change what its known words say, as those of `survival_time`; empty if none may.

    A word that rises or lessens may change what one that falls says: `Profit/Loss`, `error_reduction`.
    """
    if _is_throughput(name):
        return ""
    words = words_of(_LIKELIHOOD.sub("nll", name))

    def beside(*known: re.Pattern[str]) -> str:
        def is_known(word: str) -> bool:
            kinds = (*known, _LOWER, _FEES, _NEGATED, _QUALIFIERS)
            return not _ELSEWHERE.fullmatch(word) and any(pattern.fullmatch(word) for pattern in kinds)

        return ", ".join(whole for whole, *pieces in words if not (is_known(whole) or all(map(is_known, pieces))))

    says_less = _places(words, _LOWER) or _places(words, _FEES)
    return beside(_HIGHER, _LESSENED) or (beside(_SCORES) if says_less else "")


def says_top_alone(name: str) -> bool:
    """Whether a name says `top1` or `top5`, and not of what: of accuracies or of errors."""
    words = words_of(name)
    tops = _places(words, _TOP)
    return bool(tops) and tops == _places(words, _HIGHER) and not _places(words, _LOWER)


def rises(name: str) -> bool:
    """Whether a name indicates a quantity to maximise: an accuracy, a reward, a throughput, a negated error."""
    return sense_of(name) == "maximise"


def falls(name: str) -> bool:
    """Whether a name indicates a quantity to minimise: an error, a loss, a time, a complement of an accuracy."""
    return sense_of(name) == "minimise"


def is_score(name: str) -> bool:
    """Whether a name contains a word for a quality, such as an accuracy or an error."""
    return matches(name, _LOWER) or matches(name, _HIGHER)


def is_share(name: str) -> bool:
    """Whether a name is of a share, which some state in percent: an accuracy or an error rate, and no squared error."""
    return matches(name, _PARTS_OF_ALL) and not matches(name, _DISTANCES)


def is_rate(name: str) -> bool:
    """Whether a name says a number of things in a unit of time: `images_per_second`, and not `cost_per_hour`."""
    words = counted(name)
    return bool(_RATE.search(name)) and not _places(words, _FEES) and not _places(words, _LOWER)


def counted(name: str) -> list[list[str]]:
    """The words of a name before `per`: those of `seconds` for `seconds_per_step`."""
    return words_of(_PER.split(name)[0])


def is_reversed(name: str) -> bool:
    """Whether a name says that a quantity is negated, taken from its highest value, or lessened."""
    return bool(_reversal(name.translate(_DASHES)) or matches(name, _NEGATED) or matches(name, _LESSENED))


def _reversal(name: str) -> re.Match[str] | None:
    """The beginning of a name that takes what follows from its highest value, or negates it: `1-`, `eval/-`."""
    return _COMPLEMENT.match(name) or _MINUS.match(name)


def _is_throughput(name: str) -> bool:
    words = counted(name)
    return is_rate(name) and bool(words) and any(map(_THINGS.fullmatch, words[-1]))


def doubt_of_values(name: str, values: Array) -> str:
    """Why a column's values contradict its name or each other; empty if they do not.

    An error, a loss or an accuracy that is never positive is probably negated; one that is negated by its name is not
    positive. Of accuracies, many values up to 1 beside larger ones are not in percent, as the others are.
    """
    known = values[np.isfinite(values)]
    if is_share(name) and rises(name) and scale_of(known) == 100 and ((known > 0) & (known <= 1)).mean() > _SEVERAL:
        return "values up to 1 stand beside larger ones: shares beside percent?"
    if not len(known) or not matches(name, _UNSIGNED) or matches(name, _LESSENED):
        return ""
    plain = name.translate(_DASHES)
    is_negated = matches(_LIKELIHOOD.sub("nll", plain), _NEGATED) or bool(_MINUS.match(plain))
    if _COMPLEMENT.match(plain):
        is_negated = False
    if is_negated and known.max() > 0:
        return "its name says that it is negated, and some of its values are positive"
    if not is_negated and known.max() <= 0 and known.min() < 0:
        return "it is never positive, as if it were negated, and its name does not say so"
    return ""


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
    if matches(name, _HIGHER):
        return "its name may say so"
    scale = scale_of(values)
    if scale is None:
        return ""
    if first is not None and pd.Series(first).mean() < pd.Series(values).mean():
        return f"it lies in [0, {scale}] and rises with the epochs"
    ranks = pd.Series(values).rank()
    if any(ranks.corr(pd.Series(size).rank()) > 0.3 for size in sizes):
        return f"it lies in [0, {scale}] and rises with the size"
    return ""


def _places(words: list[list[str]], pattern: re.Pattern[str]) -> list[int]:
    """The numbers of the words that match."""
    return [place for place, parts in enumerate(words) if any(map(pattern.fullmatch, parts))]
