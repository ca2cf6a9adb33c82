"""The meaning of a column, guessed from its name."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Literal, TypeAlias

from nasbench.base.metrics import sounds_like_test
from nasbench.benchmarks.tabular.direction import counted, is_rate, is_score, matches, words_of

Meaning: TypeAlias = Literal[
    "choice", "record", "identity", "outcome", "spread", "rank", "repetition", "epoch", "size", "seconds", "resource",
    "score",
]  # fmt: skip
"""Meanings of columns: a hyper-parameter, what a tool notes, a number of the row, how a training ended, …"""

MEASURED = ("score", "seconds", "resource", "size")
"""Meanings of measurements."""

_SPLITS = {"valid": re.compile("val|valid|validation|dev|eval"), "train": re.compile("train|training")}
_COSTS, _TIMES = re.compile("costs?"), re.compile("times?|seconds?|secs?|hours?|minutes|duration|runtime|walltime")
_WORDS: dict[Meaning, re.Pattern[str]] = {
    "choice": re.compile(
        "lr\\d?|learning|(mini)?batch|momentum|decay|dropout|units|layers?|hidden|kernel|filters?|channels?|optimi[sz]er"
        "|activation|coef|weight|clip|buffer|depth|width|n?estimators|trees|leaf|leaves|neighbou?rs|heads|embed(ding)?"
        "|augment(ation)?|scheduler?|warmup|stride|pooling|regulari[sz]ation|subsample|colsample|bootstrap|criterion"
        "|solver|bs|wd|mom|optim|opt|nodes?|blocks?|cells?|stages?|degree|rounds|op\\d*|edge\\d*|eps|seqlen"
        "|algorithm|features?|splits?|bins|arch(itecture)?|model|backbone|init|norm(alization)?"
    ),
    "identity": re.compile("index|id|hash|uuid|unnamed|timestamp|datetime|date|code|pid|hostname|logdir|path|url|uri"),
    "spread": re.compile("std|stderr|stdev|stdv|stddev|sd|sem|variance|dispersion"),
    "rank": re.compile("rank|ranking"),
    "size": re.compile("n?params|nparam|parameters|flops|macs|madds"),
    "seconds": re.compile(f"{_TIMES.pattern}|cost"),
    "resource": re.compile("latency|energy|power|memory|ram|kwh|co2|throughput|fps"),
}
"""Meaning → the words in a name that indicate it; an earlier meaning has priority."""
_OBJECTIVE = re.compile("objective|objectivevalue")
_SIZE = re.compile(
    r"(?:model|network|net|file|weights?|checkpoint)[\W_]*size(?:[\W_]*(?:[kmg]i?b?|bytes|params?|millions?))?\W*",
    re.IGNORECASE,
)
"""Names of a network's size, perhaps with a unit: `Model size (M)`."""
_KNOBS = re.compile(
    "limit|budget|fraction|frac|split|threshold|thresh|tolerance|tol|coef\\w*|weights?|scale|complexity|penalty|bits"
    "|dims?|steps|function|fn|type|mode|interval|frequency|freq|window|factor|patience|alpha|beta\\d?|gamma|lambda|eta"
    "|tau|eps|epsilon|sigma|nu|rho|c|l1|l2"
)
"""Last words of names that say that a person chooses: of `time_limit`, `cost_complexity`, `loss_weight`."""
_COEFFICIENTS = re.compile("dice|jaccard|overlap|corr|correlation|pearson|spearman|kendall|matthews|silhouette|gini")
"""Words before `coef` that say what is measured: `val_dice_coef`."""
_NORMS = re.compile(r"(?:.*[\W_])?grad(?:ient)?s?_?norm", re.IGNORECASE)
"""Names of what a training is observed by, unless they say a limit: `grad_norm`, and not `max_grad_norm`."""
_SURELY = re.compile(
    r"lr(?:_?\w)?|dropout|momentum|decay|temperature|penalty|smooth(?:ing)?|tol|colsample\w*|subsample"
)
"""Last words that say what is chosen, whatever stands before them."""
_BESIDE = re.compile(
    r"n|num|number|of|initial|base|start|end|final|max|maximum|min|minimum|log\d*|rate|ratio|prob(?:ability)?|p|pct|percent"
    r"|noise|label|loss"
    r"|mixup|cutmix|cutout|erasing|drop|path|attention|attn|fc|conv|dense|input|output|feature|node|tree|leaf|child|pos|neg"
    r"|gain|range|entropy|ent|value|vf|policy|actor|critic|discount|gae|target|exploration|temp|kl|contrast|brightness"
    r"|rotation|shift|crop|flip|jitter|bagging|col|row|reg|ridge|lasso|elastic|shrinkage|grad(?:ient)?|warm|restart|cycle"
    r"|step|samples?|length|probs|focal|lora|ccp|smooth(?:ing)?|adam[wx]?|sgd|rmsprop|nesterov|x|y|z|[a-z]?\d+|\d+[a-z]?"
)
"""Words that stand beside those of `_WORDS` and `_KNOBS` in names of what is chosen: of `base_learning_rate`."""
_OBSERVED = re.compile(r"(?:\w*_)?(?:clip_?fraction|norm|activation)|l[12]|eps(?:ilon)?")
_UNITS = re.compile(
    "[kmg]i?b|bytes|ms|s|secs?|seconds?|minutes|hours?|h|[kmgt]?(?:flops?|macs?|params?)|joules?|watts?"
)
_SEEDS = re.compile("(?:random)?seeds?")
_SHARES = re.compile("size|ratio|share|portion|fold|folds")
"""Last words that say so after the name of a split: of `test_size`."""
_TRAILING = re.compile(
    r"\d+|\d*ep|epochs?|steps?|ms|s|h|gb|mb|kb|pct|percent|mean|avg|average|median|max|min|best|final|last|total|sum"
)
"""Words after the one that says what is meant: of `batch_time_ms_mean`."""
_WHOLE: dict[str, Meaning | None] = {
    **dict.fromkeys(("split", "data_split"), None),  # a share of the data, or the number of a part
    "": "identity",  # pandas writes the numbers of its rows there
    **dict.fromkeys(("status", "state", "failed", "crashed", "diverged", "done", "converged", "success"), "outcome"),
    **dict.fromkeys(("sys/failed", "exit_code", "exitcode", "exit_status", "return_code", "returncode"), "outcome"),
    **dict.fromkeys(
        ("seed", "seeds", "random_seed", "repetition", "repeat", "rep", "replicate", "fold", "run", "run_number"),
        "repetition",
    ),
    **dict.fromkeys(
        ("epoch", "epochs", "step", "steps", "iteration", "iterations", "global_step", "timesteps", "boosting_round"),
        "epoch",
    ),
    **dict.fromkeys(("budget", "fidelity", "resource", "resources", "n_resources", "rung"), "epoch"),
    **dict.fromkeys(("size", "model_size", "network_size"), "size"),
    **dict.fromkeys(("start_time", "end_time", "starttime", "endtime", "start time", "end time"), "identity"),
    **dict.fromkeys(
        ("row", "trial", "trial_number", "run_name", "trial_name", "experiment_tag", "batch_nr"), "identity"
    ),
    **dict.fromkeys(  # of PyTorch Lightning's trainer
        ("gradient_clip_val", "check_val_every_n_epoch", *(f"limit_{of}_batches" for of in ("train", "val", "test"))),
        "choice",
    ),
    **dict.fromkeys(("loss_reduction", "min_loss_reduction", "min_split_loss"), "choice"),  # gradient boosting's γ
    **dict.fromkeys(("c", "alpha", "beta", "gamma", "lambda", "eta", "train_batch", "val_batch"), "choice"),
}
"""Whole names that indicate a meaning."""
_OTHER_UNITS = re.compile(
    r"\w*hours?|hrs?|h|\w*minutes?|mins?|m|ms|msecs?|milli\w*|us|usecs?|micro\w*|ns|nano\w*|days?|d|weeks?|k"
)
_MONEY = re.compile(r"[$€£¥]|(?:^|[\W_])(?:usd|eur|gbp|dollars?|euros?|cents?)(?:$|[\W_])", re.IGNORECASE)
_BAR = re.compile(
    r"err|error|errorbar|se|sd|ci|ci\d+|\d+ci|lo|low|lower|hi|high|upper|bound|margin|uncertainty|pm", re.IGNORECASE
)
"""Words for the bar around what stands before them: `accuracy_err`, `auc_ci_low`."""


def meaning_of(name: str) -> Meaning | None:
    """The meaning of a column of numbers by its name; None if the name does not indicate one.

    Of two meanings the last word decides: `batch_time` is a time, `time_limit` is chosen.
    """
    if name.lower() in _WHOLE:
        return _WHOLE[name.lower()]
    if is_rate(name):
        return "resource"
    if _SIZE.fullmatch(name):
        return "size"
    words = [piece for _, *pieces in counted(name) for piece in pieces]
    while len(words) > 1 and _TRAILING.fullmatch(words[-1]) and not _KNOBS.fullmatch(words[-1]):
        words.pop()
    last = words[-1] if words else ""
    if re.fullmatch(r"coef\w*", last) and matches(name, _COEFFICIENTS):
        return "score"
    if _NORMS.fullmatch(name) and not matches(name, re.compile("max|maximum|clip|limit|target")):
        return None
    if _KNOBS.fullmatch(last) or (_SHARES.fullmatch(last) and split_of(name)):
        return "choice"
    if matches(name, re.compile("(?:un)?explained")):
        return "score"
    if matches(name, _SEEDS):
        return None  # `model_seed`: a repetition, or what a person varies
    by_words, by_last = _by_words(name), _by_words(last)
    if by_words == "rank" and is_score(name):
        first, *others = (word for word, *_ in counted(name))
        if not any(map(_WORDS["rank"].fullmatch, [first, *others[-1:]])):
            return "score"  # `label_ranking_average_precision`
    decides = (*MEASURED, "identity") if by_words == "choice" else MEASURED
    meaning = by_last if by_words in ("choice", *MEASURED) and by_last in decides else by_words
    return "resource" if meaning == "seconds" and _MONEY.search(name) else meaning


def is_surely_chosen(name: str) -> bool:
    """Whether a name says nothing but what a person chooses: `weight_decay`, `svc__C`; not `bits_per_dim`, `cell_ms`.

    What stands before `__`, `.`, `/` or `:` is the part of a model or of a file.
    """
    rest = re.split(r"__|[./:]", name)[-1]
    words, known = words_of(rest), (_WORDS["choice"], _KNOBS, _BESIDE)
    if not words or _UNITS.fullmatch(words[-1][0]) or _OBSERVED.fullmatch(rest.lower()):
        return False
    return bool(_SURELY.fullmatch(words[-1][-1]) or _SURELY.fullmatch(rest.lower())) or all(
        any(kind.fullmatch(piece) for kind in known) or any(kind.fullmatch(whole) for kind in known)
        for whole, *pieces in words
        for piece in pieces
    )


def is_label(name: str) -> bool:
    """Whether a name says by itself that its numbers are labels: `trial_id`, `run`, `index`."""
    return name.lower() in _WHOLE or matches(name, re.compile("index|id|hash|uuid|unnamed|timestamp|datetime|date|pid"))


def may_number_repetitions(name: str) -> bool:
    """Whether the last word of a name is one for seeds, whatever a tool writes before it: `config/seed`."""
    return bool(re.search(r"(?:^|[\W_])(?:seeds?|random_?(?:seed|state)|fold)$", name, re.IGNORECASE))


def may_count_epochs(name: str) -> bool:
    """Whether a name says an amount that a person chooses or that grows within a training: `env_steps`."""
    return matches(name, re.compile("steps|budget")) and not matches(name, _WORDS["choice"])


def other_unit(name: str) -> str:
    """The word in the name of a time that says another unit than seconds; empty if none does."""
    return next((piece for word in counted(name) for piece in word if _OTHER_UNITS.fullmatch(piece)), "")


def may_be_other_than_seconds(name: str) -> bool:
    """Whether a name says `cost`, and no time: an episode's violations are one, too."""
    return matches(name, _COSTS) and not matches(name, _TIMES)


def is_spread_of_another(name: str, header: Container[str]) -> bool:
    """Whether a column is the bar around the score in another one, as `accuracy_err` is beside `accuracy`."""
    parts = re.split(r"([\W_]+)", name)  # words, and what stands between them
    if parts[-1].lower() == "dev" and any(
        "".join([*parts[:-1], mean]) in header for mean in ("mean", "avg", "average")
    ):
        return True  # not the split
    parts = parts if parts[-1] else parts[:-2]
    while len(parts) > 2 and _BAR.fullmatch(parts[-1]):
        parts = parts[:-2]
        if (other := "".join(parts)) in header and meaning_of(other) == "score":
            return True
    return False


def _by_words(name: str) -> Meaning | None:
    for meaning, words in _WORDS.items():
        if matches(name, words):
            return meaning
    return "score" if names_a_measure(name) or matches(name, _OBJECTIVE) else None


def names_a_measure(name: str) -> bool:
    """Whether a name contains a word for a quality or for a split of the data."""
    return is_score(name) or split_of(name) is not None


def split_of(name: str) -> str | None:
    """The data split that a name contains, as metrics call it; None if it contains none."""
    if sounds_like_test(name):
        return "test"
    return next((split for split, words in _SPLITS.items() if matches(name, words)), None)
