"""Whether more or less is better, by names and values of columns."""

from __future__ import annotations

import numpy as np
import pytest

from nasbench.benchmarks.tabular.direction import doubt_of_values, sense_of, strange_words
from nasbench.benchmarks.tabular.meaning import meaning_of

RISING = """
    accuracy valTop1 neg_mse mean_test_neg_root_mean_squared_error negative_loss minus_error -loss -val_loss 1-error
    loss_drop error_reduction neg_log_loss neg_brier_score log_likelihood negLoss images_per_second tokens/s top-1-acc
    100-error_rate neg_fit_time r2_score metrics.1-error eval/-loss val_top_1-acc rouge-1-f f1-score hit@1-rate
    imgs_processed_per_sec
"""
FALLING = """
    val_loss 1-accuracy 1_minus_acc one_minus_auc 100-top1 val_1-acc accuracy_drop drop_in_accuracy neg_accuracy
    negative_return -reward minus_auc neg_log_likelihood negative_log_likelihood_loss mean_score_time cost_per_hour
    seconds_per_step generalization_gap accuracy_loss 1.-acc one-minus-f1 brier_score metrics.1-accuracy final_1-auc
    cv:1-F1(macro) eval/-return val_-elbo metrics.-episode_return 100%-accuracy 1‐accuracy 1‑accuracy －accuracy
    val-loss log-loss cross-entropy loss--val
"""
NEITHER = """
    value result recall_negative loss_neg drop_path_loss negative_samples score val_score davies_bouldin_score fitness
    score_to_minimize inv_auc inverse_accuracy acc_complement jaccard_distance non_error_rate error_free_rate
    lost_accuracy error_improvement time_saved accuracy_deficit 1/auc acc=1-err accuracy(1-err) -2_log_likelihood score↓
    time/fps runtime_speedup accuracy_cost -1*return 1.0/mse 1_over_mse one_over_auc rmse^-1
    mse**-1 holdout/1-acc holdout/-loss 0.5*auc
    false_alarms_per_hour price_per_hour usd_per_hour joules_per_second eval/collisions_per_minute
"""


@pytest.mark.parametrize(
    ("names", "sense"), [(RISING, "maximise"), (FALLING, "minimise"), (NEITHER, None)], ids=["rising", "falling", "-"]
)
def test_a_word_or_sign_that_negates_reverses_the_direction_of_a_name(names: str, sense: str | None) -> None:
    assert {name: sense_of(name) for name in names.split()} == dict.fromkeys(names.split(), sense)


def test_only_a_name_of_which_every_word_is_known_is_beyond_doubt() -> None:
    plain = (
        "val_acc mean_test_neg_root_mean_squared_error validTop1_acc 1-accuracy train_time_s tokens_per_sec "
        "word_error_rate"
    )
    assert [strange_words(name) for name in plain.split()] == [""] * len(plain.split())
    doubtful = {
        "survival_time": "survival",
        "time_to_failure": "to, failure",
        "log1-acc": "log1",
        "accuracy_to_loss_ratio": "to, ratio",
        "policy_gradient_loss": "policy, gradient",
        "auc_se": "se",
        "mse_fitness": "fitness",
        "false_alarms_per_hour": "false, alarms",
    }
    assert {name: strange_words(name) for name in doubtful} == doubtful


def test_a_word_that_falls_is_in_doubt_beside_one_that_rises_or_lessens() -> None:
    doubtful = {"deviance_explained": "explained", "Profit/Loss": "profit", "error_reduction": "reduction"}
    assert {name: strange_words(name) for name in doubtful} == doubtful
    assert {name: strange_words(name) for name in ("reward", "val_GAP@20")} == {"reward": "reward", "val_GAP@20": "gap"}
    plain = "explained_variance accuracy_drop brier_score mean_score_time val_top1_error neg_log_likelihood"
    assert [strange_words(name) for name in plain.split()] == [""] * len(plain.split())


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("val_loss", (-3.0, -1.0), "never positive"),
        ("rmse", (-3.0, 0.0, np.nan), "never positive"),
        ("accuracy", (-0.9, -0.8), "never positive"),
        ("neg_mse", (-3.0, 1.0), "some of its values are positive"),
        ("-loss", (3.0, 1.0), "some of its values are positive"),
        ("neg_mse", (-3.0, 0.0), ""),
        ("val_loss", (-3.0, 1.0), ""),
        ("val_loss", (0.0, 0.0), ""),
        ("1-accuracy", (0.1, 0.2), ""),
        ("accuracy_drop", (-0.1, -0.2), ""),
        ("negative_return", (3.0, 1.0), ""),
        ("mean_test_score", (-3.0, -1.0), ""),
        ("neg_log_likelihood", (3.0, 1.0), ""),
    ],
)
def test_signs_that_contradict_a_name_are_doubted(name: str, values: tuple[float, ...], said: str) -> None:
    doubt = doubt_of_values(name, np.array(values))
    assert said in doubt
    assert bool(doubt) == bool(said)


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        (
            "choice",
            "test_size time_limit cost_complexity validation_fraction loss_weight val_split train_ratio entropy_coef "
            "score_threshold error_tol max_depth alpha C learning_rate hidden_size train_batch_size",
        ),
        ("seconds", "mean_score_time batch_time train_time_ms layer_time_mean seconds_per_batch fit_time"),
        ("resource", "images_per_second latency_ms kernel_latency throughput time/fps"),
        ("resource", "total_cost_usd cost($) price_of_training_time_€"),
        ("score", "val_acc_12 batch_loss clip_score explained_variance unexplained_variance optimizer_error"),
        ("repetition", "seed run Run fold"),
        ("size", "n_params params parameters model_size flops"),
        ("identity", "start_time endtime run_id hostname pid"),
        ("rank", "rank_test_score"),
    ],
)
def test_of_two_meanings_in_a_name_its_last_word_decides(meaning: str, names: str) -> None:
    assert {name: meaning_of(name) for name in names.split()} == dict.fromkeys(names.split(), meaning)


def test_a_score_of_a_ranking_is_no_rank() -> None:
    named = {"label_ranking_average_precision": "score", "rank_test_accuracy": "rank", "accuracy_rank": "rank"}
    assert {name: meaning_of(name) for name in named} == named


def test_a_score_of_what_costs_says_neither() -> None:
    assert sense_of("latency_score") is None
    assert sense_of("val_memory_score") is None
    assert sense_of("latency_ms") == "minimise"
