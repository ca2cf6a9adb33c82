"""Walking a partly decided graph: its modules and hyper-parameters in their unique order (algorithms 2 and 5)."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language.graph import Dependent, Independent, Input, Module, Output, Substitution, Value


def ordered_modules(outputs: dict[str, Output], assigned: dict[Independent, Value]) -> list[Module]:
    """The modules that the outputs depend on, backwards, in lexicographic order of local names (algorithm 5).

    A substitution module whose hyper-parameters are assigned is seen as what stands in for it.
    """
    modules: dict[Module, None] = {}
    for _, output in sorted(outputs.items()):
        modules.setdefault(resolved(output, assigned).module)
    queue = list(modules)
    for module in queue:
        for name in module.inputs:
            source = source_of(module.inputs[name], assigned)
            if source is not None and source.module not in modules:
                modules[source.module] = None
                queue.append(source.module)
    return queue


def ordered_hyperparameters(modules: list[Module]) -> list[Independent | Dependent]:
    """The hyper-parameters of ordered modules, then what dependent ones depend on (algorithm 2)."""
    hyperparameters: dict[Independent | Dependent, None] = {}
    for module in modules:
        hyperparameters.update(dict.fromkeys(module.hyperparameters.values()))
    queue = list(hyperparameters)
    for h in queue:
        if isinstance(h, Dependent):
            for parent in h.parents.values():
                if parent not in hyperparameters:
                    hyperparameters[parent] = None
                    queue.append(parent)
    return queue


def source_of(target: Input, assigned: dict[Independent, Value]) -> Output | None:
    """The output that feeds an input, substitutions seen through; None where the outside does."""
    while target.source is None:
        if target.outer is None:
            return None
        target = target.outer
    return resolved(target.source, assigned)


def outside_of(target: Input) -> Input:
    """The program's own open input that an input without a source stands for."""
    while target.outer is not None:
        target = target.outer
    return target


def resolved(output: Output, assigned: dict[Independent, Value]) -> Output:
    """The output that stands in for one of a substitution module whose hyper-parameters are assigned."""
    while isinstance(output.module, Substitution) and all(h in assigned for h in output.module.roots):
        output = output.module.expansion(assigned).outputs[output.name]
    return output
