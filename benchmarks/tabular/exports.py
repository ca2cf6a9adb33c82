"""Headers of files that other tools write, and prefixes that mark hyper-parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nasbench.benchmarks.tabular.direction import Sense, sense_of
from nasbench.benchmarks.tabular.meaning import MEASURED, Meaning, meaning_of

_PREFIX = re.compile(
    r"(?:params?|parameters?|hp(?!_metric$)|hparams|hparam(?!/)|hyper_?param(?:eter)?s?)[_./]|config[./]", re.IGNORECASE
)
"""What stands before the names of hyper-parameters in the files of several tools."""
_TUNED: tuple[tuple[str, Meaning], ...] = (
    (r"(.*[./])?tuner/epochs", "epoch"),
    (r"(.*[./])?tuner/(initial_epoch|bracket|round|trial_id)", "record"),
)
"""What Keras-Tuner's Hyperband writes among the hyper-parameters."""
_MEASURED = re.compile("hparam/.+|hp_metric")
"""Names that PyTorch and Lightning give to measurements beside hyper-parameters."""
_AMOUNT = re.compile(
    "counts?|numbers?|num|total|sizes?|m|mb|k|kb|b|mil|millions?|bytes|trainable|remaining|left|kept|pruned|non|nonzero"
    "|active|norm",
    re.IGNORECASE,
)
"""First words after `params_` that make the name a network's size: of `params_M`."""


@dataclass(frozen=True)
class Export:
    """What the columns of a file mean that a certain tool has written."""

    tool: str
    marks: tuple[str, ...]
    """Patterns of names that each header of the tool has."""
    columns: tuple[tuple[str, Meaning], ...]
    """Patterns of whole names, and their meanings; the first that matches counts."""
    objective: str = ""
    """Pattern of the objective's name; empty if people name it."""
    is_prefixed: bool = True
    """Whether the names of all hyper-parameters begin with a prefix."""
    measures: str = "(?!)"
    """Pattern of names that are measurements, whatever their words say."""
    rising: str = "(?!)"
    """Pattern of names that the tool maximises, whatever their words say."""

    def wrote(self, header: Sequence[str]) -> bool:
        """Whether a header is of this tool."""
        return all(any(re.fullmatch(mark, name) for name in header) for mark in self.marks)

    def meaning_of(self, name: str) -> Meaning | None:
        """The meaning of a column: by the tool's use of its name, or else by the words in it."""
        for pattern, meaning in self.columns:
            if re.fullmatch(pattern, name):
                return meaning
        by_words = meaning_of(name)
        return "score" if re.fullmatch(self.measures, name) and by_words not in MEASURED else by_words

    def sense_of(self, name: str) -> Sense | None:
        """Whether more or less of a column is better: by the tool's rule, or else by the words in its name."""
        return "maximise" if re.fullmatch(self.rising, name) else sense_of(name)

    def knows(self, name: str) -> bool:
        """Whether the tool itself has named a column."""
        return any(re.fullmatch(pattern, name) for pattern, _ in self.columns)

    def is_choice(self, name: str) -> bool:
        """Whether a name has what the tool writes before those of hyper-parameters."""
        return any(meaning == "choice" and re.fullmatch(pattern, name) for pattern, meaning in self.columns)


TOOLS = (
    Export(
        "scikit-learn",  # cv_results_ of its searches
        ("mean_test_.+", r"param_.+|split\d+_test_.+|rank_test_.+"),
        (
            ("param_.+", "choice"),
            ("mean_(fit|score)_time", "seconds"),
            ("mean_(test|train)_.+", "score"),
            ("std_.+", "spread"),
            ("rank_.+", "rank"),
            ("n_resources", "epoch"),
            (r"split\d+_.+|params|iter", "record"),
        ),
        objective="mean_test_.+",
        rising="mean_(test|train)_.+",
    ),
    Export(
        "Optuna",  # Study.trials_dataframe
        ("number", "state", "values?(_.+)?"),
        (
            ("params_.+", "choice"),
            ("values?(_.+)?", "score"),
            ("duration", "seconds"),
            ("state", "outcome"),
            ("number|datetime_.+|system_attrs_.+|intermediate_values_.+", "record"),
        ),
        objective="values?(_.+)?",
    ),
    Export(
        "Ray Tune",  # ResultGrid.get_dataframe, and progress.csv with the configuration
        ("trial_id", "training_iteration", "time_total_s"),
        (
            ("config[/.].+", "choice"),
            ("training_iteration", "epoch"),
            ("time_total_s", "seconds"),
            ("done", "outcome"),
            (
                "trial_id|date|timestamp|pid|hostname|node_ip|logdir|trial_log_path|experiment_(id|tag)|warmup_time"
                "|should_checkpoint|checkpoint_dir_name|time_this_iter_s|time_since_restore|iterations_since_restore"
                "|(timesteps|episodes)_(total|since_restore|this_iter)|(timers|perf)/.+",
                "record",
            ),
        ),
    ),
    Export(
        "MLflow",  # search_runs, `mlflow experiments csv`
        ("run_id", "experiment_id", "artifact_uri"),
        (
            (r"params\..+", "choice"),
            ("status", "outcome"),
            (r"run_id|experiment_id|artifact_uri|start_time|end_time|tags\..+", "record"),
        ),
        measures=r"metrics\..+",
    ),
    Export(
        "MLflow",  # the button of its page
        ("Start Time", "Duration", "Run ID", "Source Type", "Status"),
        (
            ("Duration", "seconds"),
            ("Status", "outcome"),
            (r"Start Time|Run ID|Name|Source Type|Source Name|User|mlflow\..+", "record"),
        ),
        is_prefixed=False,
    ),
    Export(
        "SMAC",  # the data of runhistory.json, and the configurations
        ("config_id", "cost", "time", "status", "starttime", "endtime"),
        (
            ("cost", "score"),
            ("time|cpu_time", "seconds"),
            ("seed", "repetition"),
            ("budget", "epoch"),
            ("status", "outcome"),
            ("config_id|instance(_id)?|starttime|endtime|additional_info", "record"),
        ),
        objective="cost",
        is_prefixed=False,
    ),
    Export(
        "Keras-Tuner",  # Trial.get_state of its trials, flattened
        ("trial_id", r"hyperparameters[./]values[./].+", "score"),
        (
            *_TUNED,
            (r"hyperparameters[./]values[./].+", "choice"),
            ("score", "score"),
            ("status", "outcome"),
            (r"trial_id|best_step|message|hyperparameters[./]space|metrics[./].+", "record"),
        ),
        objective="score",
    ),
    Export(
        "DeepHyper",  # results.csv, whose failed trainings have a word in place of the objective
        ("p:.+", r"objective(_\d+)?", "job_id", "job_status"),
        (
            ("p:.+", "choice"),
            (r"objective(_\d+)?", "score"),
            (r"job_id|job_status|m:timestamp_.+|pareto_efficient", "record"),
        ),
        objective=r"objective(_\d+)?",
        rising=r"objective(_\d+)?",
    ),
    Export(
        "Ax",  # get_trials_data_frame, Client.summarize
        ("trial_index", "arm_name", "trial_status"),
        (
            ("trial_status", "outcome"),
            ("trial_index|arm_name|generation_(method|node)|fail_reason|deployed_name", "record"),
        ),
        is_prefixed=False,
    ),
    Export(
        "mlr3",  # as.data.table of a tuning instance's archive
        ("x_domain_.+", "runtime_learners", "batch_nr"),
        (
            ("x_domain_.+", "choice"),
            ("runtime_learners", "seconds"),
            ("timestamp|batch_nr|warnings|errors|uhash|resample_result", "record"),
        ),
        measures=r"(classif|regr|surv|clust|dens)\..+",
    ),
    Export(
        "caret",  # the results of a train object
        ("Accuracy|ROC|AUC|RMSE|logLoss", "(Accuracy|ROC|AUC|RMSE|logLoss)SD"),
        ((".+SD", "spread"),),
        is_prefixed=False,
        measures="Accuracy|Kappa|ROC|Sens|Spec|AUC|Precision|Recall|F|RMSE|Rsquared|MAE|logLoss",
        rising="ROC|Sens|Spec|F",
    ),
    Export(
        "tidymodels",  # collect_metrics, of one metric
        (r"\.metric", r"\.estimator", "mean", "std_err"),
        (("mean", "score"), ("std_err", "spread"), (r"\.metric|\.estimator|\.config|\.iter|n", "record")),
        objective="mean",
        is_prefixed=False,
    ),
    Export(
        "Stable-Baselines3",  # progress.csv, and the configuration
        ("rollout/ep_rew_mean",),
        (
            ("eval/mean_reward|rollout/ep_rew_mean", "score"),
            ("time/total_timesteps", "epoch"),
            ("time/time_elapsed", "seconds"),
            ("time/fps", "resource"),
            ("(train|time|rollout|eval)/.+", "record"),
        ),
        objective="eval/mean_reward|rollout/ep_rew_mean",
        is_prefixed=False,
        rising="eval/mean_reward|rollout/ep_rew_mean",
    ),
)
"""The tools whose files are recognised, by all names of a header together."""


def export_of(header: Sequence[str]) -> Export:
    """What the columns of a header mean: by the tool that wrote it, or by prefixes and words of their names."""
    known = next((export for export in TOOLS if export.wrote(header)), None)
    return known or _plain(header)


def _plain(header: Sequence[str]) -> Export:
    """The meanings in a header that no known tool has written."""
    noted = {pattern for pattern, _ in _TUNED for name in header if re.fullmatch(pattern, name)}
    tuned = _TUNED if len(noted) == len(_TUNED) else ()
    prefixed = _prefixed(header)
    sized = [name for name in prefixed if _AMOUNT.fullmatch(re.split(r"[\W_]+", _PREFIX.sub("", name, count=1))[0])]
    chosen = prefixed if len(sized) < len(prefixed) else []
    meanings: list[tuple[str, Meaning]] = [*tuned, *((re.escape(name), "choice") for name in chosen)]
    meanings += [(re.escape(name), "size") for name in sized if name not in chosen]
    meanings += [
        (re.escape(name), "score") for name in header if _MEASURED.fullmatch(name) and meaning_of(name) is None
    ]
    if "cost" in header and _lacks_a_score(header):
        meanings.append(("cost", "score"))
    return Export("Keras-Tuner" if tuned else "", (), tuple(meanings), "", len(chosen) > 1)


def _prefixed(header: Sequence[str]) -> list[str]:
    """The names with a prefix of hyper-parameters; one that stands once marks none where another stands more often."""
    found = {name: match[0].lower() for name in header if (match := _PREFIX.match(name))}
    counts = Counter(found.values())
    return [name for name, prefix in found.items() if counts[prefix] > 1 or max(counts.values()) == 1]


def _lacks_a_score(header: Sequence[str]) -> bool:
    """Whether a header has a time beside `cost`, and nothing else that could be the score."""
    others = [meaning_of(name) for name in header if name != "cost"]
    return "seconds" in others and "score" not in others
