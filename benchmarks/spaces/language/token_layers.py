"""Layers of transformers as modules of the language: on tokens, shape (batch, tokens, width)."""

from __future__ import annotations

from typing import Any

from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential
from nasbench.benchmarks.spaces.language.graph import Part
from nasbench.benchmarks.spaces.language.layers import add, layer, own


def patch_embedding(filters: Any, kernel_size: Any = 4) -> Part:
    """An image, cut into squares of so many pixels a side, each of which becomes a token of so many numbers.

    What is left over at the right and lower borders is left out (Dosovitskiy et al., ICLR 2021).
    """
    return layer(
        "patch_embedding",
        lambda torch, shapes, filters, kernel_size: torch.nn.Sequential(
            torch.nn.Conv2d(shapes[0][1], filters, kernel_size, kernel_size), own("Tokens")()
        ),
        {"filters": filters, "kernel_size": kernel_size},
        label="conv",
    )


def positions() -> Part:
    """Adds a vector that is learnt to the token at each place."""
    return layer("positions", lambda torch, shapes: own("Positions")(*shapes[0][1:]))


def attention(heads: Any = 4) -> Part:
    """Multi-head self-attention (Vaswani et al., NeurIPS 2017); the heads divide the width."""
    return layer(
        "attention",
        lambda torch, shapes, heads: own("Attention")(shapes[0][2], heads),
        {"heads": heads},
        label="attention",
    )


def across_tokens() -> Part:
    """A linear layer along the tokens, of each channel on its own (MLP-Mixer: Tolstikhin et al., NeurIPS 2021)."""
    return layer("across_tokens", lambda torch, shapes: own("AcrossTokens")(shapes[0][1]), label="across-tokens")


def token_linear(units: Any) -> Part:
    """A linear layer of each token on its own."""
    return layer(
        "token_linear", lambda torch, shapes, units: torch.nn.Linear(shapes[0][2], units), {"units": units}, label="fc"
    )


def widened(factor: Any) -> Part:
    """A linear layer of each token on its own, to so many times its width."""
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
    """One vector of all tokens: their "mean", or the "max" of each channel."""
    return layer("token_pool", lambda torch, shapes, which: own("TokenPool")(which == "max"), {"which": which})


def residual(part: Part) -> Part:
    """A part after a layer normalisation, added to its input: a half of a transformer's layer."""
    return siso_residual(lambda: siso_sequential([layer_norm(), part]), identity, add)
