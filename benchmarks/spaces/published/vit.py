"""Small vision transformers (after Dosovitskiy et al., ICLR 2021), whose layers mix tokens by attention or a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.language import layers, token_layers
from nasbench.benchmarks.spaces.language.combinators import siso_optional, siso_or, siso_repeat, siso_sequential
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part, ordinal

_ACTIVATIONS = {"gelu": layers.gelu, "relu": layers.relu, "silu": layers.silu}


def vit(filters: int = 16, classes: int = 10, depths: Sequence[int] = (1, 2, 3, 4)) -> Part:
    """One to four layers: 32 × (108 + … + 108^4) = 4,394,252,160 architectures.

    A layer mixes tokens by attention with one, two or four heads, or by a matrix (MLP-Mixer). Its perceptron is one,
    two or four times as wide as a token, with one of three activations and one of three dropout rates: 108 variants.
    Width, patch size, positions and pooling give 32 variants.

    Args:
        filters: half of the smallest width; the widths are 2, 4, 6 and 8 times this number.
        classes: number of scores.
        depths: the possible numbers of layers.
    """
    width = ordinal([factor * filters for factor in (2, 4, 6, 8)], name="width")
    parts = [
        token_layers.patch_embedding(width, ordinal([2, 4], name="patch")),
        siso_optional(token_layers.positions, D([0, 1], name="positions")),
        siso_repeat(lambda: _layer(width), ordinal(depths, name="depth")),
        *(token_layers.layer_norm(), token_layers.token_pool(D(["mean", "max"], name="pool")), layers.dense(classes)),
    ]
    return siso_sequential(parts)


def _layer(width: AnyHyperparameter) -> Part:
    mixers = {
        "attention": lambda: token_layers.attention(ordinal([1, 2, 4], name="heads")),
        "matrix": token_layers.across_tokens,
    }
    return siso_sequential(
        [
            token_layers.residual(siso_or(mixers, D(list(mixers), name="mixer"))),
            token_layers.residual(_perceptron(width)),
        ]
    )


def _perceptron(width: AnyHyperparameter) -> Part:
    return siso_sequential(
        [
            token_layers.widened(ordinal([1, 2, 4], name="ratio")),
            siso_or(_ACTIVATIONS, D(list(_ACTIVATIONS), name="activation")),
            layers.dropout(ordinal([0.0, 0.1, 0.2], name="dropout")),
            token_layers.token_linear(width),
        ]
    )
