"""How much `nasbench speed --gpu` measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much each part measures. The defaults make the tables of the documentation; tests take tiny ones."""

    seconds: float = 480.0
    """The longest that all measurements together may take."""
    images: str = "medmnist-breast"
    """The data set of every row that names no other."""
    live: tuple[str, ...] = ("digits", "medmnist-breast")
    """The benchmarks whose evaluations are counted and repeated."""
    backend: str = "inductor"
    """What compiles; on a GPU `inductor` captures CUDA graphs."""
    repeats: int = 5
    """Measurements of each thing, of which the median is shown; one more before them is not counted."""
    epochs: int = 5
    """Epochs of training in one measurement."""
    window: int = 8
    """Batches of a window of the zeroth-order methods (T), and of an epoch of a search whose steps are measured."""
    filters: int | None = None
    """Channels of the first stage of a supernet; None for what the data set's recipe says."""
    search: str = "zo-darts++:T=8"
    """The search that is measured as a whole."""
    evaluations: int = 20
    """The most evaluations that are counted on one benchmark."""
    repetitions: int = 3
    """Evaluations of one network with one seed."""


USUAL = Sizes()
