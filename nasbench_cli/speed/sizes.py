"""How much `nasbench speed` measures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much each part measures. The defaults make the figures of the documentation; tests take tiny ones."""

    repeats: int = 5
    """Measurements of each thing, of which the median is shown; one more before them is not counted."""
    evaluations: int = 200
    """Evaluations of a run."""
    runs: int = 200
    """Runs through the runner and onto the disk."""
    searches: int = 3
    """Searches in which each method's suggestions are timed."""
    suggestions: int = 20
    """Suggestions timed after each number of observations."""
    observations: tuple[int, ...] = (50, 100, 200, 1000, 5000)
    """Numbers of observations after which TPE's suggestions are timed."""
    fewer_observations: tuple[int, ...] = (64, 256, 1024)
    """The same of the other methods."""
    samples: int = 2_000
    """Architectures drawn from a space of the search-space language."""
    layers: tuple[int, ...] = (10, 20, 30, 50)
    """Sizes of the networks whose distances are timed."""
    networks: int = 30
    """Networks of each size, every pair of which is compared."""
    matrix: int = 200
    """Networks of 20 layers in one matrix of distances."""
    report_seeds: int = 209
    """Seeds of each of the 24 setups of a report: with 200 evaluations each, a million rows."""
    many_seeds: int = 20_000
    """Seeds of each of the five setups of a report on many seeds."""
    memory_seeds: int = 100
    """Runs of the process whose memory is measured."""
    architectures: int = 6
    """Random architectures that are trained."""
    epochs: int = 3
    """Epochs of each training."""
    trainings: int = 3
    """Trainings of each architecture, of which the median is shown."""
    steps: int = 5
    """Training steps in one measurement."""
    batch: int | None = None
    """Images in a batch of a one-shot search; None for what the data set's recipe says."""


USUAL = Sizes()
