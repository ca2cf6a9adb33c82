"""Files that other tools have written are recognised by their headers, and guessed right."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.exports import export_of
from nasbench.benchmarks.tabular.guess import guess
from nasbench.benchmarks.tabular.user_table import read_table

# Header lines as the tools themselves wrote them.
SKLEARN = (  # scikit-learn 1.9.1: GridSearchCV(SVC(), …, return_train_score=True).cv_results_
    "mean_fit_time,std_fit_time,mean_score_time,std_score_time,param_C,param_gamma,param_kernel,params,"
    "split0_test_score,split1_test_score,split2_test_score,mean_test_score,std_test_score,rank_test_score,"
    "split0_train_score,split1_train_score,split2_train_score,mean_train_score,std_train_score"
)
SKLEARN_NEGATED = (  # scikit-learn 1.9.1: scoring=["neg_root_mean_squared_error"], refit=False, cv=2
    "mean_fit_time,std_fit_time,mean_score_time,std_score_time,param_ridge__alpha,param_ridge__fit_intercept,params,"
    "split0_test_neg_root_mean_squared_error,split1_test_neg_root_mean_squared_error,"
    "mean_test_neg_root_mean_squared_error,std_test_neg_root_mean_squared_error,"
    "rank_test_neg_root_mean_squared_error"
)
OPTUNA = (  # Optuna 5.0.0: Study.trials_dataframe().to_csv()
    ",number,value,datetime_start,datetime_complete,duration,params_layers,params_lr,params_opt,user_attrs_acc,"
    "system_attrs_tpe:relative_params:0,state"
)
OPTUNA_TWO = (  # Optuna 5.0.0, two objectives
    "number,values_0,values_1,datetime_start,datetime_complete,duration,params_lr,params_n_trees,state"
)
RAY = (  # Ray 2.60.0: ResultGrid.get_dataframe()
    "accuracy,loss,timestamp,checkpoint_dir_name,done,training_iteration,trial_id,date,time_this_iter_s,time_total_s,"
    "pid,hostname,node_ip,time_since_restore,iterations_since_restore,config/lr,config/layers,config/opt/name,logdir"
)
MLFLOW = (  # MLflow 3.17.2: mlflow.search_runs()
    "run_id,experiment_id,status,artifact_uri,start_time,end_time,metrics.val_accuracy,metrics.train_loss,params.lr,"
    "params.optimizer,params.layers,tags.mlflow.user,tags.mlflow.source.name,tags.mlflow.source.type,"
    "tags.mlflow.runName"
)
MLFLOW_PAGE = (  # MLflow's page, by CsvUtils.ts of its repository: eight names, then parameters, metrics and tags
    "Start Time,Duration,Run ID,Name,Source Type,Source Name,User,Status,lr,layers,val_loss"
)
SMAC = (  # SMAC 2.4.1: the data of runhistory.json, and the configurations
    "config_id,instance,seed,budget,cost,time,cpu_time,status,starttime,endtime,additional_info,depth,lr"
)
DEEPHYPER = (  # DeepHyper 0.13.2: results.csv of CBO.search
    "p:act,p:units,p:x,objective,job_id,job_status,m:timestamp_submit,m:timestamp_gather,m:num_parameters"
)


def rows_of(header: str, number: int = 12) -> pd.DataFrame:
    """Made-up values under a header: of its tool's columns in the tool's types, of others choices."""
    rng, rows = np.random.default_rng(0), np.arange(number)
    texts = {"state": "COMPLETE", "status": "FINISHED", "Status": "FINISHED", "done": True}
    columns: dict[str, Any] = {}
    for name in header.split(","):
        if name.split("_")[0] in (
            "mean",
            "std",
            "value",
            "values",
            "split0",
            "split1",
            "split2",
            "time",
            "cost",
            "cpu",
        ):
            columns[name] = rng.random(number) * (-1 if "_neg_" in name else 1)
        elif name in texts:
            columns[name] = texts[name]
        elif any(word in name for word in ("acc", "loss", "user_attrs")):
            columns[name] = rng.random(number)
        elif name.lower() == "duration":
            columns[name] = [f"0 days 00:00:{i:02}.100000" for i in rows]
        elif any(word in name.lower() for word in ("date", "time", "tag", "id", "uri", "attrs", "name", "dir")) and (
            not name.startswith(("config/", "param"))
        ):
            columns[name] = [f"{name}-{i}" for i in rows]
        elif name in ("", "number") or name.startswith(("rank", "iterations", "training")):
            columns[name] = rows
        elif name.split("/")[-1] in (
            "name",
            "params_opt",
            "param_kernel",
            "params.optimizer",
            "param_ridge__fit_intercept",
        ):
            columns[name] = np.array(["a", "b"])[rows % 2]
        else:
            columns[name] = rows // (2 + len(columns) % 3)
    return pd.DataFrame(columns)


def guessed(frame: pd.DataFrame, folder: Path) -> tuple[dict[str, Any], set[str], dict[str, Any]]:
    """The objective's section, the names of the hyper-parameters, and the whole guess of a frame's CSV file."""
    frame.to_csv(folder / "export.csv", index=False)
    facts = tomllib.loads(guess(folder / "export.csv").text)
    return facts["metric"][0], {h["name"] for h in facts["hyperparameter"]}, facts


@pytest.mark.parametrize(
    ("header", "tool", "chosen", "objective", "cost"),
    [
        (SKLEARN, "scikit-learn", "param_C param_gamma param_kernel", "mean_test_score", "mean_fit_time"),
        (
            SKLEARN_NEGATED,
            "scikit-learn",
            "param_ridge__alpha param_ridge__fit_intercept",
            "mean_test_neg_root_mean_squared_error",
            "mean_fit_time",
        ),
        (OPTUNA, "Optuna", "params_layers params_lr params_opt", "value", 1.0),
        (OPTUNA_TWO, "Optuna", "params_lr params_n_trees", "values_0", 1.0),
        (RAY, "Ray Tune", "config/lr config/layers config/opt/name", "accuracy", "time_total_s"),
        (MLFLOW, "MLflow", "params.lr params.layers params.optimizer", "metrics.val_accuracy", 1.0),
        (MLFLOW_PAGE, "MLflow", "lr layers", "val_loss", 1.0),
        (SMAC, "SMAC", "depth lr", "cost", "time"),
        (DEEPHYPER, "DeepHyper", "p:act p:units p:x", "objective", 1.0),
    ],
)
def test_a_header_that_a_tool_wrote_is_recognised_whole(
    header: str, tool: str, chosen: str, objective: str, cost: str | float, tmp_path: Path
) -> None:
    first, hyperparameters, facts = guessed(rows_of(header), tmp_path)
    assert f"# By its header, {tool} wrote it." in guess(tmp_path / "export.csv").text
    assert hyperparameters == set(chosen.split())
    assert (first.get("column", first["name"]), facts["cost"]) == (objective, cost)


def test_a_mark_of_failure_in_the_objective_of_a_tool_is_named(tmp_path: Path) -> None:
    """DeepHyper writes F_ and a reason there."""
    frame = rows_of(DEEPHYPER).astype({"objective": object})
    frame.loc[3, "objective"] = "F_ValueError"
    frame.to_csv(tmp_path / "export.csv", index=False)
    with pytest.raises(
        UsageError, match=r"objective of .*, the objective of DeepHyper, is .*'F_ValueError': leave the"
    ):
        guess(tmp_path / "export.csv")
    frame.replace("F_ValueError", None).to_csv(tmp_path / "export.csv", index=False)
    assert guess(tmp_path / "export.csv").roles["objective"].startswith("objective, more is better: ")


# By the documentation of mlr3, caret and tidymodels, and the names that Stable-Baselines3 logs; none is installed here.
BY_HAND = {
    "mlr3": (
        "cp,minsplit,classif.ce,x_domain_cp,x_domain_minsplit,runtime_learners,timestamp,batch_nr,warnings,errors",
        "x_domain_cp x_domain_minsplit",
        "classif.ce",
    ),
    "caret": ("eta,max_depth,nrounds,ROC,Sens,Spec,ROCSD,SensSD,SpecSD", "eta max_depth nrounds", "ROC"),
    "tidymodels": (
        "mtry,loss_reduction,.metric,.estimator,mean,n,std_err,.config",
        "mtry loss_reduction",
        "mean",
    ),
    "Stable-Baselines3": (
        "learning_rate,clip_range,rollout/ep_rew_mean,rollout/ep_len_mean,train/policy_gradient_loss,time/fps",
        "learning_rate clip_range",
        "rollout/ep_rew_mean",
    ),
}


@pytest.mark.parametrize("tool", BY_HAND)
def test_a_header_of_other_tools_is_recognised(tool: str, tmp_path: Path) -> None:
    header, chosen, objective = BY_HAND[tool]
    rng, names = np.random.default_rng(0), header.split(",")
    frame = pd.DataFrame(rng.random((30, len(names))), columns=names)
    if tool == "mlr3":
        frame["timestamp"] = [f"2024-03-05 11:{i:02d}:07" for i in range(30)]
    first, hyperparameters, facts = guessed(frame, tmp_path)
    assert f"# By its header, {tool} wrote it." in guess(tmp_path / "export.csv").text
    assert hyperparameters == set(chosen.split())
    assert first["column"] == objective
    left_out = {"ROCSD", "batch_nr", "std_err", "train/policy_gradient_loss"}
    assert not left_out & {m.get("column", m["name"]) for m in facts["metric"]}


def test_of_scikit_learns_columns_means_count_and_folds_ranks_and_spreads_do_not(tmp_path: Path) -> None:
    _, _, facts = guessed(rows_of(SKLEARN), tmp_path)
    metrics = {entry.get("column", entry["name"]): entry for entry in facts["metric"]}
    assert list(metrics) == ["mean_test_score", "mean_fit_time", "mean_score_time", "mean_train_score"]
    assert "direction" not in metrics["mean_score_time"]  # a time: less is better


@pytest.mark.parametrize("scorer", ["fit_cost", "cost", "time", "inv_gain"])
def test_scikit_learn_maximises_each_test_score_whatever_its_words_say(scorer: str, tmp_path: Path) -> None:
    frame = rows_of(SKLEARN.replace("_test_score", f"_test_{scorer}"))
    first, _, facts = guessed(frame.assign(**{f"mean_test_{scorer}": -9 * np.arange(12)}), tmp_path)
    assert (first["column"], first["direction"]) == (f"mean_test_{scorer}", "maximise")
    assert facts["cost"] == "mean_fit_time"
    asked = "? more is better for the tool that wrote it, and less by its name"
    assert (asked in guess(tmp_path / "export.csv").text) == (scorer != "inv_gain")


def test_the_direction_of_an_optuna_study_is_left_to_the_person(tmp_path: Path) -> None:
    first, _, _ = guessed(rows_of(OPTUNA), tmp_path)
    assert first["direction"] == "?"
    assert "duration: a measurement by its name" in guess(tmp_path / "export.csv").text


def test_a_tools_objective_comes_before_a_validation_score_that_was_noted_beside_it(tmp_path: Path) -> None:
    header = "number,value,datetime_start,datetime_complete,duration,params_x,params_n,user_attrs_val_acc,state"
    first, _, facts = guessed(rows_of(header), tmp_path)
    assert (first["column"], facts["metric"][1]["column"]) == ("value", "user_attrs_val_acc")


def test_one_prefixed_hyperparameter_of_a_tool_is_the_only_one(tmp_path: Path) -> None:
    header = "number,value,datetime_start,datetime_complete,duration,params_n_estimators,user_attrs_size,state"
    first, hyperparameters, _ = guessed(rows_of(header), tmp_path)
    assert (first["column"], hyperparameters) == ("value", {"params_n_estimators"})


@pytest.mark.parametrize("prefix", ["param_", "params_", "params.", "config/", "config.", "hp_", "hparams/"])
def test_where_several_columns_have_a_prefix_no_other_is_a_hyperparameter(prefix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"lr": [1, 2, 3, 4], f"{prefix}n_trees": [5, 6, 5, 6], f"{prefix}depth": [1, 1, 2, 2]})
    frame = frame.assign(kind=list("abab"), thing=[0.5, 0.7, 0.1, 0.2], val_loss=[3.0, 2.0, 4.0, 1.0])
    first, hyperparameters, _ = guessed(frame, tmp_path)
    text = guess(tmp_path / "export.csv").text
    assert (first["column"], hyperparameters) == ("val_loss", {f"{prefix}n_trees", f"{prefix}depth"})
    assert text.count("has no prefix, as the hyper-parameters of this file have") == 2  # lr, kind
    assert "? no known name, and no prefix of a hyper-parameter: what is it?" in text


@pytest.mark.parametrize("name", ["hparam/accuracy", "hparam/thing", "hp_metric"])
def test_a_measurement_that_pytorch_or_lightning_notes_is_no_hyperparameter(name: str, tmp_path: Path) -> None:
    for prefix in ("", "hp_"):
        frame = pd.DataFrame({f"{prefix}lr": [1, 2, 1, 2], f"{prefix}units": [1, 1, 2, 2], name: [0.5, 0.4, 0.1, 0.2]})
        first, hyperparameters, _ = guessed(frame, tmp_path)
        assert (first["column"], hyperparameters) == (name, {f"{prefix}lr", f"{prefix}units"})
    assert "or does hparam change that" not in guess(tmp_path / "export.csv").text


@pytest.mark.parametrize("name", ["params_M", "param_count", "params", "params_millions"])
def test_a_number_of_parameters_is_a_size_and_no_prefixed_hyperparameter(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"depth": [1, 2, 3, 4], name: [10, 20, 30, 40], "val_loss": [3.0, 2.0, 4.0, 1.0]})
    _, hyperparameters, facts = guessed(frame, tmp_path)
    assert (hyperparameters, [m["name"] for m in facts["metric"]]) == ({"depth"}, ["valid-loss", name])


def test_a_cost_beside_a_time_is_the_score_where_no_other_is(tmp_path: Path) -> None:
    assert export_of(["lr", "cost", "time"]).meaning_of("cost") == "score"
    assert export_of(["lr", "cost", "val_loss", "time"]).meaning_of("cost") == "seconds"
    assert export_of(["lr", "cost", "val_loss"]).meaning_of("cost") == "seconds"


def test_what_scikit_learn_writes_now_is_guessed_and_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    linear, datasets = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.datasets")
    grid = {"alpha": [0.1, 1, 10, 1000], "fit_intercept": [True, False]}
    search = selection.GridSearchCV(linear.Ridge(), grid, cv=3, scoring=["neg_mean_squared_error"], refit=False)
    results = pd.DataFrame(search.fit(*datasets.load_diabetes(return_X_y=True)).cv_results_)
    first, hyperparameters, _ = guessed(results, tmp_path)
    assert hyperparameters == {"param_alpha", "param_fit_intercept"}
    assert (first["column"], first["direction"]) == ("mean_test_neg_mean_squared_error", "maximise")
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    (tmp_path / "spec.toml").write_text(guess(tmp_path / "export.csv").text)
    table = read_table(tmp_path / "export.csv", tmp_path / "spec.toml")
    best = -results["mean_test_neg_mean_squared_error"].max()
    assert np.nanmin(table.values[:, :, 0]) == pytest.approx(best)


@pytest.mark.parametrize("directions", [["maximize"], ["minimize", "maximize"]])
def test_what_optuna_writes_now_is_guessed(directions: list[str], tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> Any:
        x, n = trial.suggest_float("x", 0, 1), trial.suggest_int("n_estimators", 1, 5)
        trial.set_user_attr("note", f"trial {trial.number}")
        return [x * n] * len(directions) if len(directions) > 1 else x * n

    study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=25)
    first, hyperparameters, _ = guessed(study.trials_dataframe(), tmp_path)
    assert hyperparameters == {"params_x", "params_n_estimators"}
    assert (first["column"], first["direction"]) == ("value" if len(directions) == 1 else "values_0", "?")


def test_what_smac_writes_now_is_guessed(tmp_path: Path) -> None:
    runhistory, space = pytest.importorskip("smac.runhistory"), pytest.importorskip("ConfigSpace")
    choices = space.ConfigurationSpace({"lr": (1e-4, 1e-1), "depth": (1, 9)}, seed=0)
    history = runhistory.RunHistory()
    for number, configuration in enumerate(choices.sample_configuration(12)):
        history.add(
            configuration, cost=0.1 * number, time=1.0 + number, starttime=9.0 * number, endtime=9.0 * number + 8
        )
    history.save(tmp_path / "runhistory.json")
    written = json.loads((tmp_path / "runhistory.json").read_text())
    rows: Iterable[dict[str, Any]] = ({**row, **written["configs"][str(row["config_id"])]} for row in written["data"])
    first, hyperparameters, facts = guessed(pd.DataFrame(rows), tmp_path)
    assert (hyperparameters, facts["cost"]) == ({"lr", "depth"}, "time")
    assert (first["column"], first.get("direction", "minimise")) == ("cost", "minimise")


def test_what_keras_tuner_notes_among_hyper_parameters_is_no_choice(tmp_path: Path) -> None:
    """Names as `pandas.json_normalize` makes of `Trial.get_state()` (keras_tuner/engine/trial.py), and plainer ones."""
    noted = {"tuner/epochs": [2, 2, 4, 4], "tuner/initial_epoch": [0, 0, 2, 2], "tuner/bracket": 1, "tuner/round": 0}
    state = {"trial_id": ["00", "01", "02", "03"], "score": [0.5, 0.6, 0.7, 0.8], "status": "COMPLETED"}
    state |= {"best_step": [1, 0, 3, 2], "hyperparameters.space": "[]", "metrics.metrics.loss.direction": "min"}
    for prefix in ("hyperparameters.values.", "hp/"):
        chosen = {f"{prefix}{name}": values for name, values in ({"units": [8, 16, 32, 64]} | noted).items()}
        columns = (state if prefix != "hp/" else {"trial_id": state["trial_id"]}) | chosen | {"val_acc": state["score"]}
        first, hyperparameters, _ = guessed(pd.DataFrame(columns), tmp_path)
        assert hyperparameters == {f"{prefix}units"}
        assert first["column"] == ("val_acc" if prefix == "hp/" else "score")
        text = guess(tmp_path / "export.csv").text
        assert f"# ? {prefix}tuner/epochs: says how long" in text
        assert f"{prefix}tuner/bracket: a note of Keras-Tuner" in text


def test_samples_of_successive_halving_are_asked_about(tmp_path: Path) -> None:
    frame = rows_of(SKLEARN).assign(n_resources=[20] * 9 + [60] * 3, iter=[0] * 9 + [1] * 3)
    guessed(frame, tmp_path)
    asked = "says how long each configuration was trained; not all alike: does it count the epochs (epoch = "
    assert f"# ? n_resources: {asked}" in guess(tmp_path / "export.csv").text
