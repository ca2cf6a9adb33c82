"""PyTorch's layers as modules of the language. PyTorch is loaded when a network is built.

Arguments may be hyper-parameters of the language or plain values. Convolutions and poolings with odd kernel size and
stride 1 keep the size of the image. The number of input channels is known when the network is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import Basic, Part


def layer(
    kind: str,
    build: Callable[..., Any],
    hyperparameters: dict[str, Any] | None = None,
    inputs: Sequence[str] = ("in",),
    label: str = "",
) -> Part:
    """Any module of PyTorch: `layer("mine", lambda torch, shapes, n: Mine(shapes[0], n), {"n": D([1])})`.

    Its constructor draws the parameters, under the seed of the evaluation. A network can be pickled if its modules can:
    classes and functions of a file can, local classes, local functions and lambdas cannot.

    Args:
        kind: the name of the module, with which the names of its choices begin.
        build: `build(torch, shapes, **values)` returns a `torch.nn.Module` for inputs of these shapes, the batch first.
        hyperparameters: hyper-parameters of the language or plain values, by the names of the arguments of `build`.
        inputs: the names of the inputs; in alphabetical order, they are the arguments of the module's `forward`.
        label: the label in the layer-graph view (NASBOT); empty for a module that is not a layer there.
    """

    def make(values: dict[str, Any], given: Sequence[Any]) -> Any:
        import torch

        # In eval mode: while shapes are tried, no statistics are gathered, and nothing random is drawn.
        return build(torch, [tuple(x.shape) for x in given], **values).eval()

    return Basic(kind, hyperparameters or {}, make, inputs, layer=label).part


def conv2d(filters: Any, kernel_size: Any = 3, stride: Any = 1, groups: Any = 1, bias: bool = True) -> Part:
    """A padded convolution; before a batch normalisation, a bias is of no use."""
    return layer(
        "conv2d" if bias else "conv2d_without_bias",
        lambda torch, shapes, filters, kernel_size, stride, groups: torch.nn.Conv2d(
            shapes[0][1], filters, kernel_size, stride, kernel_size // 2, groups=groups, bias=bias
        ),
        {"filters": filters, "kernel_size": kernel_size, "stride": stride, "groups": groups},
        label="conv",
    )


def separable_conv2d(filters: Any, kernel_size: Any = 3, stride: Any = 1) -> Part:
    """A depthwise convolution, then a pointwise one."""
    return layer(
        "separable_conv2d",
        lambda torch, shapes, filters, kernel_size, stride: torch.nn.Sequential(
            torch.nn.Conv2d(shapes[0][1], shapes[0][1], kernel_size, stride, kernel_size // 2, groups=shapes[0][1]),
            torch.nn.Conv2d(shapes[0][1], filters, 1),
        ),
        {"filters": filters, "kernel_size": kernel_size, "stride": stride},
        label="conv",
    )


def depthwise_conv2d(kernel_size: Any = 3, stride: Any = 1) -> Part:
    """A separate convolution of each channel."""
    return layer(
        "depthwise_conv2d",
        lambda torch, shapes, kernel_size, stride: torch.nn.Conv2d(
            shapes[0][1], shapes[0][1], kernel_size, stride, kernel_size // 2, groups=shapes[0][1]
        ),
        {"kernel_size": kernel_size, "stride": stride},
        label="conv",
    )


def batch_norm() -> Part:
    """Batch normalisation of images."""
    return layer("batch_norm", lambda torch, shapes: torch.nn.BatchNorm2d(shapes[0][1]))


def relu() -> Part:
    """max(0, x)."""
    return layer("relu", lambda torch, shapes: torch.nn.ReLU())


def relu6() -> Part:
    """min(6, max(0, x))."""
    return layer("relu6", lambda torch, shapes: torch.nn.ReLU6())


def gelu() -> Part:
    """x times the normal distribution function at x (Hendrycks and Gimpel, 2016)."""
    return layer("gelu", lambda torch, shapes: torch.nn.GELU())


def silu() -> Part:
    """x times the sigmoid of x."""
    return layer("silu", lambda torch, shapes: torch.nn.SiLU())


def tanh() -> Part:
    """Hyperbolic tangent."""
    return layer("tanh", lambda torch, shapes: torch.nn.Tanh())


def sigmoid() -> Part:
    """1 / (1 + exp(-x))."""
    return layer("sigmoid", lambda torch, shapes: torch.nn.Sigmoid())


def dropout(rate: Any) -> Part:
    """Sets a random share of the values to zero in training."""
    return layer("dropout", lambda torch, shapes, rate: network_class("Dropout")(rate), {"rate": rate})


def squeeze_excitation(ratio: Any = 4) -> Part:
    """Scales each channel by a function of the means of all channels (Hu et al., CVPR 2018).

    Args:
        ratio: channels per unit of the hidden layer.
    """
    return layer(
        "squeeze_excitation",
        lambda torch, shapes, ratio: network_class("SqueezeExcitation")(shapes[0][1], max(1, shapes[0][1] // ratio)),
        {"ratio": ratio},
    )


def inverted_residual(
    filters: Any, kernel_size: Any = 3, stride: Any = 1, expansion: Any = 6, ratio: Any = 0, shortcut: bool = False
) -> Part:
    """MobileNetV2's block (Sandler et al., CVPR 2018): more channels, a depthwise convolution, fewer channels.

    Args:
        filters: channels of the output.
        kernel_size: kernel size of the depthwise convolution.
        stride: stride of the depthwise convolution.
        expansion: channels of the depthwise convolution per channel of the input; 1 omits the expansion.
        ratio: channels per unit of the squeeze-excitation; 0 omits it.
        shortcut: whether the input is added; it must have the shape of the output.
    """

    def expanded(values: dict[str, Any]) -> Part:
        if values["expansion"] == 1:
            return identity()
        return siso_sequential([_widened(values["expansion"]), batch_norm(), relu6()])

    def squeezed(values: dict[str, Any]) -> Part:
        return squeeze_excitation(values["ratio"]) if values["ratio"] else identity()

    parts = [
        substitution("expansion", expanded, {"expansion": expansion}),
        *(depthwise_conv2d(kernel_size, stride), batch_norm(), relu6()),
        substitution("squeeze", squeezed, {"ratio": ratio}),
        *(conv2d(filters, 1, bias=False), batch_norm()),
    ]
    body = siso_sequential(parts)
    return siso_residual(lambda: body, identity, add) if shortcut else body


def _widened(factor: int) -> Part:
    """A pointwise convolution that multiplies the number of channels."""
    return layer(
        "expand",
        lambda torch, shapes, factor: torch.nn.Conv2d(shapes[0][1], factor * shapes[0][1], 1, bias=False),
        {"factor": factor},
        label="conv1",
    )


def max_pool(kernel_size: Any = 3, stride: Any = 1) -> Part:
    """The largest value around each place."""
    return layer(
        "max_pool",
        lambda torch, shapes, kernel_size, stride: torch.nn.MaxPool2d(kernel_size, stride, (kernel_size - 1) // 2),
        {"kernel_size": kernel_size, "stride": stride},
        label="max-pool",
    )


def avg_pool(kernel_size: Any = 3, stride: Any = 1) -> Part:
    """The mean value around each place; padding does not count."""
    return layer(
        "avg_pool",
        lambda torch, shapes, kernel_size, stride: torch.nn.AvgPool2d(
            kernel_size, stride, (kernel_size - 1) // 2, count_include_pad=False
        ),
        {"kernel_size": kernel_size, "stride": stride},
        label="avg-pool",
    )


def dense(units: Any) -> Part:
    """A fully connected layer on the flattened input."""
    return layer(
        "dense",
        lambda torch, shapes, units: torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(math.prod(shapes[0][1:]), units)
        ),
        {"units": units},
        label="fc",
    )


def global_pool() -> Part:
    """The mean of each channel."""
    return layer(
        "global_pool", lambda torch, shapes: torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    )


def concat(inputs: int) -> Part:
    """The concatenation of channels."""
    return _merge("concat", "Concat", inputs)


def add(inputs: int) -> Part:
    """The sum."""
    return _merge("add", "Sum", inputs)


def multiply(inputs: int = 2) -> Part:
    """The product, element by element."""
    return _merge("multiply", "Product", inputs)


def mean(inputs: int) -> Part:
    """The mean of several inputs."""
    return _merge("mean", "Mean", inputs)


def zero() -> Part:
    """Zeroes in the shape of its input: no connection."""
    return layer("zero", lambda torch, shapes: network_class("Zero")())


def conv_norm_relu(filters: Any, kernel_size: Any = 3, stride: Any = 1) -> Part:
    """Convolution, batch normalisation, ReLU."""
    return siso_sequential([conv2d(filters, kernel_size, stride), batch_norm(), relu()])


def classifier(features: Part, classes: int) -> Part:
    """Pooled features and a linear layer: one score per class."""
    return siso_sequential([features, global_pool(), dense(classes)])


def _merge(kind: str, module: str, inputs: int) -> Part:
    return layer(kind, lambda torch, shapes: network_class(module)(), inputs=[f"in{i}" for i in range(inputs)])


def network_class(name: str) -> Any:
    """A class of `spaces.language.network` by name, imported with PyTorch when it is needed."""
    from nasbench.benchmarks.spaces.language import network

    return getattr(network, name)
