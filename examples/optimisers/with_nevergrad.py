"""An optimiser of nevergrad on a benchmark of nasbench."""

import nevergrad as ng

import nasbench

task = nasbench.task("nb201-cifar10", "model_size@0.5")
choices = ng.p.Dict(**{name: ng.p.Choice(d.choices) for name, d in task.to_optuna().items()})
for seed in range(3):
    choices.random_state.seed(seed)
    optimizer = ng.optimizers.DiscreteOnePlusOne(choices, budget=30)
    with task.record("my-nevergrad", seed=seed, evals=30, store="runs/nevergrad") as run:
        while run.open:
            candidate = optimizer.ask()
            result = run.evaluate(candidate.value)
            optimizer.tell(candidate, result.value if result.feasible else 100.0)
