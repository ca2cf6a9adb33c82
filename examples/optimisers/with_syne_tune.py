"""A searcher of Syne Tune on a benchmark of nasbench: it suggests configurations, and observes their values."""

import itertools

from syne_tune.optimizer.schedulers.searchers.regularized_evolution import RegularizedEvolution

import nasbench

task = nasbench.task("nb201-cifar10", "model_size@0.5")
for seed in range(3):
    searcher = RegularizedEvolution(task.to_syne_tune(), random_seed=seed)
    with task.record("my-syne-tune", seed=seed, evals=30, store="runs/syne-tune") as run:
        for trial in itertools.count():
            configuration = searcher.suggest()
            result = run.evaluate(configuration)
            value = result.value if result.feasible else 100.0
            searcher.on_trial_complete(trial, configuration, [value])
