"""Recipes: everything beyond data and network that decides on a network's scores on a live benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

MOST_EPOCHS = 1000


@dataclass(frozen=True)
class Recipe:
    """A training with SGD and momentum or with Adam; the learning rate decays by a half cosine from epoch to epoch."""

    name: str
    """The part of a benchmark's name: `NAME/RECIPE`."""
    summary: str
    """The recipe in one line, for people."""
    epochs: int
    """Number of epochs, unless the benchmark's name says otherwise (`NAME@EPOCHS`)."""
    filters: int
    """Number of channels of a network's first stage."""
    batch: int | None
    """Images per step; None for the data set's number (table I of ZO-DARTS++)."""
    images: int | None = None
    """Largest number of training images, a fixed sample of a larger set; None for all."""
    side: int | None = None
    """Largest number of pixels along a side, to which larger images are reduced; None for all."""
    learning_rate: float = 0.1
    """Highest learning rate."""
    final_learning_rate: float = 0.001
    """Learning rate at the end of the decay."""
    warmup: int = 0
    """Number of epochs in which the rate rises linearly to `learning_rate`; at most half of all epochs."""
    warmup_rate: float = 0.001
    """Learning rate at the beginning of the warm-up."""
    adam: bool = False
    """Whether the optimiser is Adam, which has no use for `momentum` and `nesterov`."""
    momentum: float = 0.9
    """Momentum of SGD."""
    nesterov: bool = True
    """Whether the momentum is Nesterov's."""
    weight_decay: float = 3e-4
    """Weight decay of the optimiser."""
    clip: float | None = 5.0
    """Largest norm of the gradient; None for no clipping."""
    label_smoothing: float = 0.0
    """Share of the label that is spread over all classes, in [0, 1)."""
    mix: float | None = None
    """Parameter of Beta(mix, mix), from which the share of a MixUp or CutMix is drawn; None for neither."""
    discard: int | None = None
    """The epoch after which a hopeless network is given up (`Recipe.hopeless`)."""
    optimistic: bool = False
    """Whether the smallest test error of all epochs is recorded too, as in table II of ZO-DARTS++."""
    test_curve: bool = True
    """Whether tables of networks record the scores of the test split after every epoch, or after the last one only."""
    precision: str = "bfloat16"
    """Precision of training on a GPU: bfloat16 or float32. A CPU trains in float32; evaluation is always in float32."""
    layout: str = "channels-last"
    """Memory layout of images and convolutions: channels-last, or contiguous (channel after channel)."""

    def with_options(self, names: Sequence[str]) -> Recipe:
        """This recipe with some of `OPTIONS`."""
        return replace(self, **{field: value for name in names for field, value in OPTIONS[name].items()})

    def rate(self, epoch: int, epochs: int) -> float:
        """The learning rate in an epoch, counted from 0, of `epochs` epochs."""
        warmup = min(self.warmup, epochs // 2)
        if epoch < warmup:
            return self.warmup_rate + (self.learning_rate - self.warmup_rate) * epoch / warmup
        share = (epoch - warmup) / (epochs - warmup)
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * (
            (1 + math.cos(math.pi * share)) / 2
        )

    @staticmethod
    def hopeless(first: float, now: float) -> str:
        """Why a network is given up, by its validation accuracies after the first epoch and now; empty if it is not.

        The rule is that of ZO-DARTS++'s scripts, which apply it to the test set.
        """
        if now < 0.3:
            return f"validation accuracy {now:.3f} is below 0.3"
        if now - first < 0.01 and now < 0.8:
            return f"validation accuracy rose from {first:.3f} to {now:.3f} only, and is below 0.8"
        return ""


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("smoke", "small networks, 3 epochs: seconds on a CPU", 3, filters=8, batch=64),
        Recipe("search", "what a search can afford for each candidate: 20 epochs", 20, filters=16, batch=None),
        Recipe(
            "table",
            "what a table of all networks can afford for each: 6 epochs of small networks",
            6,
            filters=4,
            batch=64,
            images=1200,
            learning_rate=0.02,
        ),
        Recipe(
            "rank",
            "short trainings that rank networks: 8 epochs of small networks on many small images",
            8,
            filters=4,
            batch=64,
            images=8000,
            side=16,
            learning_rate=0.05,
        ),
        Recipe(
            "adam",
            "DeepArchitect's training of what it samples: 25 epochs of Adam at a rate of 0.001; here small networks",
            25,
            filters=8,
            batch=64,
            learning_rate=0.001,
            final_learning_rate=0.001,
            adam=True,
            weight_decay=0.0,
            clip=None,
        ),
        Recipe(
            "retrain",
            "ZO-DARTS++'s training of the networks it reports: 300 epochs, warm-up, label smoothing, MixUp and CutMix",
            300,
            filters=16,
            batch=None,
            final_learning_rate=0.0,
            warmup=10,
            nesterov=False,
            clip=None,
            label_smoothing=0.1,
            mix=0.1,
            discard=20,
            optimistic=True,
        ),
    )
}

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "float32": {"precision": "float32"},
    "contiguous": {"layout": "contiguous"},
    "val-curve": {"test_curve": False},
}
"""Options that may follow a recipe in a benchmark's name, in this order → the fields that they set."""
