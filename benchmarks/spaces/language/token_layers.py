"""Layers of transformers as modules of the language, on tokens of shape (batch, tokens, width)."""

from __future__ import annotations

from typing import Any

from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential
from nasbench.benchmarks.spaces.language.graph import Part
from nasbench.benchmarks.spaces.language.layers import add, layer, network_class


def patch_embedding(filters: Any, kernel_size: Any = 4) -> Part:
    """Cuts an image into squares of `kernel_size` pixels a side, and maps each to a token of `filters` numbers.

    Incomplete squares at the right and lower borders are left out (Dosovitskiy et al., ICLR 2021).
    """
    return layer(
        "patch_embedding",
        lambda torch, shapes, filters, kernel_size: torch.nn.Sequential(
            torch.nn.Conv2d(shapes[0][1], filters, kernel_size, kernel_size), network_class("Tokens")()
        ),
        {"filters": filters, "kernel_size": kernel_size},
        label="conv",
    )


def positions() -> Part:
    """Adds a learnt vector to the token at each position."""
    return layer("positions", lambda torch, shapes: network_class("Positions")(*shapes[0][1:]))


def attention(heads: Any = 4) -> Part:
    """Multi-head self-attention (Vaswani et al., NeurIPS 2017); the heads divide the width."""
    return layer(
        "attention",
        lambda torch, shapes, heads: network_class("Attention")(shapes[0][2], heads),
        {"heads": heads},
        label="attention",
    )


def across_tokens() -> Part:
    """A linear layer along the tokens, applied to each channel (MLP-Mixer: Tolstikhin et al., NeurIPS 2021)."""
    return layer(
        "across_tokens", lambda torch, shapes: network_class("AcrossTokens")(shapes[0][1]), label="across-tokens"
    )


def token_linear(units: Any) -> Part:
    """A linear layer, applied to each token."""
    return layer(
        "token_linear", lambda torch, shapes, units: torch.nn.Linear(shapes[0][2], units), {"units": units}, label="fc"
    )


def widened(factor: Any) -> Part:
    """A linear layer, applied to each token, that multiplies its width."""
    return layer(
        "widen",
        lambda torch, shapes, factor: torch.nn.Linear(shapes[0][2], int(factor * shapes[0][2])),
        {"factor": factor},
        label="fc",
    )


def layer_norm() -> Part:
    """Layer normalisation of each token (Ba et al., 2016)."""
    return layer("layer_norm", lambda torch, shapes: torch.nn.LayerNorm(shapes[0][2]))


def token_pool(which: Any = "mean") -> Part:
    """Pooling of all tokens into one vector, by "mean" or "max"."""
    return layer(
        "token_pool", lambda torch, shapes, which: network_class("TokenPool")(which == "max"), {"which": which}
    )


def residual(part: Part) -> Part:
    """A layer normalisation and a part, with a shortcut: one half of a transformer's layer."""
    return siso_residual(lambda: siso_sequential([layer_norm(), part]), identity, add)
