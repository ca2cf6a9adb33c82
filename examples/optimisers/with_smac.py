"""SMAC on a benchmark of nasbench: it is asked and told, and what violates the constraint costs more than anything."""

from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory import TrialValue

import nasbench

task = nasbench.task("nb201-cifar10", "model_size@0.5")
for seed in range(3):
    scenario = Scenario(task.to_configspace(), n_trials=30, seed=seed, deterministic=True, output_directory="smac")
    smac = HyperparameterOptimizationFacade(scenario, lambda configuration, seed=0: 0.0, overwrite=True)
    with task.record("my-smac", seed=seed, evals=30, store="runs/smac") as run:
        while run.open:
            trial = smac.ask()
            result = run.evaluate(dict(trial.config))
            smac.tell(trial, TrialValue(result.value if result.feasible else 100.0))
