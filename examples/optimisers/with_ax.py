"""Ax on a benchmark of nasbench: the size of a network is a constraint on an outcome, which Ax learns."""

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig

import nasbench

task = nasbench.task("nb201-cifar10", "model_size@0.5")
(bound,) = task.constraints
for seed in range(2):
    client = Client(random_seed=seed)
    client.configure_experiment(
        [
            ChoiceParameterConfig(name=name, values=list(d.choices), parameter_type="str", is_ordered=False)
            for name, d in task.to_optuna().items()
        ]
    )
    client.configure_optimization("-error", outcome_constraints=[f"size <= {bound.high}"])
    with task.record("my-ax", seed=seed, evals=12, store="runs/ax") as run:
        while run.open:
            ((number, configuration),) = client.get_next_trials(max_trials=1).items()
            result = run.evaluate(configuration)
            client.complete_trial(number, {"error": result.value, "size": result.metrics["model_size"]})
