"""What live benchmarks rank: how well networks train in the end, or how easily; by pilots, where there was one."""

from __future__ import annotations

LONG = 20
"""Epochs from which no caution is given."""

_SHORT = (
    "trainings this short may rank how easily a network trains: after 6 epochs on digits the order of cells was "
    "opposed to that of NAS-Bench-201 on CIFAR-10 (Spearman's ρ −0.59)"
)

_FAILED = {
    "digits/nasbench201/table": (
        "its pilot failed: of 40 cells, the order by three seeds repeats itself (reliability 0.90) but is hardly that "
        "of trainings of 24 epochs (Spearman's ρ 0.32): it ranks how easily a network trains"
    ),
    "medmnist-pneumonia/nasbench201/table": (
        "its pilot failed: seeds differ more than cells do (reliability of the mean of three seeds 0.23)"
    ),
    "medmnist-blood/nasbench201/table": (
        "its pilot failed: the order of 40 cells by three seeds hardly repeats itself (reliability 0.67, 0.47 to 0.78)"
    ),
}
"""Cautions of benchmarks whose pilot failed, by name (docs/notebook/tabulate.md)."""

_PASSED = {
    "medmnist-organa/nasbench201/rank": (
        "its pilot passed: of 40 cells with three seeds, reliability of the mean 0.83 (0.72 to 0.88), Spearman's ρ "
        "with NAS-Bench-201 on CIFAR-10 0.76 (0.59 to 0.87)"
    ),
}
"""Results of pilots that passed, by the name of the benchmark."""


def caution(benchmark: str, epochs: int) -> str:
    """What a reader of results on a benchmark must know of its validity; empty if nothing speaks against it.

    Args:
        benchmark: its name; pilots are of the epochs of the recipe.
        epochs: number of epochs of an evaluation.
    """
    return "" if epochs >= LONG or benchmark in _PASSED else _FAILED.get(benchmark, _SHORT)


def evidence(benchmark: str) -> str:
    """The result of a benchmark's pilot if it passed; else empty."""
    return _PASSED.get(benchmark, "")
