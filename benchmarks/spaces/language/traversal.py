"""Traversal of a partly decided graph: its modules and hyper-parameters in a unique order (algorithms 2 and 5)."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language.graph import Dependent, Independent, Input, Module, Output, Substitution, Value


def ordered_modules(outputs: dict[str, Output], assigned: dict[Independent, Value]) -> list[Module]:
    """The modules on which the outputs depend, backwards, in lexicographic order of local names (algorithm 5).

    A substitution module whose hyper-parameters are assigned is replaced by its expansion.
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
    """The hyper-parameters of ordered modules, then the parents of dependent hyper-parameters (algorithm 2)."""
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
    """The output that is the source of an input, with substitutions resolved; None if the source is outside."""
    while target.source is None:
        if target.outer is None:
            return None
        target = target.outer
    return resolved(target.source, assigned)


def outside_of(target: Input) -> Input:
    """The open input of the program that leads to an input without a source."""
    while target.outer is not None:
        target = target.outer
    return target


def resolved(output: Output, assigned: dict[Independent, Value]) -> Output:
    """An output, or the one that replaces it, if it is of a substitution module whose hyper-parameters are assigned."""
    while isinstance(output.module, Substitution) and all(h in assigned for h in output.module.roots):
        output = output.module.expansion(assigned).outputs[output.name]
    return output
