"""Optuna's samplers on a benchmark of nasbench: a study is asked and told."""

import optuna

import nasbench

task = nasbench.task("nb201-cifar10", "model_size@0.5")
for seed in range(3):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    with task.record("my-optuna", seed=seed, evals=30, store="runs/optuna") as run:
        while run.open:
            trial = study.ask(task.to_optuna())
            result = run.evaluate(trial.params)
            study.tell(trial, result.value if result.feasible else float("inf"))
