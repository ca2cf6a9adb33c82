"""What distinguishes the one-shot methods from each other: a supernet knows nothing else of them."""

from __future__ import annotations

from dataclasses import dataclass

from nasbench.benchmarks.spaces.published import cells

KERNELS = cells.KERNELS[::-1]
"""The largest first: the others are cut from it."""
DEPTH = cells.DEPTHS[-1]
"""Cells of a stage, or the most where depths are searched."""


@dataclass(frozen=True)
class Settings:
    """Of one search."""

    rule: str
    """darts, milenas or zeroth-order."""
    sparse: bool = False
    """Sparsemax with annealing instead of softmax."""
    flexible: bool = False
    """A cell a stage, kernel sizes and depths (ZO-DARTS++), instead of one cell for the whole network."""
    shared: bool = False
    """Kernel sizes share one tensor (`kernel_mode=shared_mask`)."""
    epochs: int = 50
    stop: int = 50
    """Epochs that are run of those that the learning rate is spread over."""
    theta: int = 20
    """The epoch at which kernel sizes and depths join in."""
    window: int = 10
    mu: float = 0.005
    tau: float = 1.5
    anneal: float = 0.75
    every: int = 5
    order: int = 2
    matched: bool = True
    exact_skip: bool = True
    alpha_rate: float = 3e-4
    bounds: tuple[float, float] | None = None
    """Parameters between which the network is to lie."""
    counts_as_paper: bool = False
    """Whether the bounds are on `parameters_paper`, not on `parameters`."""

    @property
    def kernels(self) -> tuple[int, ...]:
        """Sizes of the spatial convolution, in the order of their probabilities."""
        return KERNELS if self.flexible else (3,)
