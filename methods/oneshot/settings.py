"""The settings that define each one-shot method."""

from __future__ import annotations

from dataclasses import dataclass

from nasbench.benchmarks.spaces.published import cells

KERNELS = cells.KERNELS[::-1]
"""Kernel sizes, the largest first: the others are cut from it."""
RECALIBRATED = 20 * 256
"""Largest number of training images whose statistics normalise a path of `spos` before it is scored."""


@dataclass(frozen=True)
class GradientEstimate:
    """Changes of the zeroth-order estimate relative to algorithm 1 of ZO-DARTS; none by default."""

    floor: float = 0.0
    """Least norm of which μ is a share; with 1, the perturbation is not microscopic while α is small."""
    antithetic: bool = False
    """True: w̃ is trained at α + μu and at α - μu, and their difference is used; terms that are even in u cancel."""
    directions: int = 1
    """Number of directions over which the estimate is averaged."""
    normalised: bool = False
    """True: the estimate has length 1, so that no single estimate dominates Adam's moments for epochs."""
    rewarmed: bool = False
    """True: Adam begins anew after the first epoch, in which estimates are largest."""
    random_sign: bool = False
    """True: the sign of each s is random, its size is as measured (the random-sign ablation)."""


@dataclass(frozen=True)
class Settings:
    """The settings of one search."""

    rule: str
    """The update of the architecture: darts, milenas or zeroth-order; single-path if only weights are trained."""
    sparse: bool = False
    """True: sparsemax at a falling temperature. False: softmax."""
    flexible: bool = False
    """True: one cell per stage, with kernel sizes and depths (ZO-DARTS++). False: one cell for the whole network."""
    shared: bool = False
    """True if kernel sizes share one tensor (`kernel_mode=shared_mask`)."""
    epochs: int = 50
    """Number of epochs over which the learning rate of the weights falls."""
    stop: int = 50
    """Number of epochs that are run, at most `epochs`."""
    theta: int = 20
    """Number of the epoch, from 0, from which kernel sizes and depths are searched."""
    window: int = 10
    """Batches per window of the zeroth-order estimate (T)."""
    mu: float = 0.005
    """Length of the perturbation of the zeroth-order estimate, as a share of the architecture's norm."""
    tau: float = 1.5
    """Temperature of the sparsemax at the beginning."""
    anneal: float = 0.75
    """Factor by which the temperature is multiplied, in (0, 1]."""
    every: int = 5
    """Number of epochs between two such multiplications."""
    order: int = 2
    """Order of DARTS: 2 looks one step of the weights ahead, 1 does not."""
    matched: bool = True
    """True: both copies of the weights have equal optimisers. False: as in the authors' scripts (an ablation)."""
    estimate: GradientEstimate = GradientEstimate()
    """Changes of the paper's zeroth-order estimate."""
    alpha_rate: float = 3e-4
    """Learning rate of the architecture parameters."""
    bounds: tuple[float, float] | None = None
    """Least and largest number of parameters of the network; None for no bounds."""
    counts_as_paper: bool = False
    """True if the bounds are on `parameters_paper`, False if on `parameters`."""

    @property
    def kernels(self) -> tuple[int, ...]:
        """Sizes of the spatial convolution, in the order of their probabilities."""
        return KERNELS if self.flexible else (3,)
