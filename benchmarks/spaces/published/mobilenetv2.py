"""Inverted residuals with choices (MobileNetV2: Sandler et al., CVPR 2018), and Once-for-all's space, made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import siso_optional, siso_repeat, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Dependent, Part, ordinal

KERNELS = (3, 5, 7)


def mobilenetv2(filters: int = 16, classes: int = 10) -> Part:
    """One to four inverted residuals: 6 × (18 + … + 18^4) = 666,900 architectures.

    A block has an expansion of 1 (none), 3 or 6, a kernel of 3, 5 or 7, and optional squeeze-excitation: 18 variants.
    There are three widths and an optional convolution at the end: 6 variants. The first and the third block halve the
    image; the third and the fourth have twice as many channels.

    Args:
        filters: channels of the first two blocks, before the factor 1/2, 1 or 3/2 is chosen.
        classes: number of scores.
    """
    width = ordinal([filters // 2, filters, 3 * filters // 2], name="width")

    def blocks(values: dict[str, int]) -> Part:
        return siso_sequential([_block(width, number) for number in range(values["depth"])])

    body = substitution("blocks", blocks, {"depth": ordinal([1, 2, 3, 4], name="depth")})
    head = siso_optional(lambda: layers.conv_norm_relu(4 * filters, 1), D([0, 1], name="head"))
    return layers.classifier(siso_sequential([layers.conv_norm_relu(width), body, head]), classes)


def once_for_all(filters: int = 16, classes: int = 10, stages: int = 5) -> Part:
    """Once-for-all's space (Cai et al., ICLR 2020): (9^2 + 9^3 + 9^4)^5 = 7,371^5 = 2.18e19 architectures.

    Five stages of two to four inverted residuals, each with a kernel of 3, 5 or 7 and an expansion of 3, 4 or 6. Widths
    are scaled down, and MobileNetV3's details (squeeze-excitation and h-swish in fixed places) are left out.

    Args:
        filters: channels of the first stage; they double in every second stage.
        classes: number of scores.
        stages: number of stages; every second stage halves the image.
    """
    parts = [layers.conv_norm_relu(filters)]
    for number in range(stages):
        width, stride = filters << (number + 1) // 2, 1 + number % 2
        first = _chosen(width, (3, 4, 6), stride)
        others = partial(_chosen, width, (3, 4, 6), shortcut=True)
        depth = ordinal([2, 3, 4], name=f"depth{number}")
        parts += [first, siso_repeat(others, Dependent(lambda values: values["depth"] - 1, {"depth": depth}))]
    return layers.classifier(siso_sequential(parts), classes)


def _chosen(width: int, expansions: Sequence[int], stride: int = 1, shortcut: bool = False) -> Part:
    return layers.inverted_residual(width, D(KERNELS), stride, D(expansions), shortcut=shortcut)


def _block(width: AnyHyperparameter, number: int) -> Part:
    kernel, expansion = ordinal(KERNELS, name=f"kernel{number}"), ordinal([1, 3, 6], name=f"expansion{number}")
    filters = Dependent(lambda values: values["width"] << number // 2, {"width": width})
    ratio = D([0, 4], name=f"squeeze{number}")
    halves = number % 2 == 0
    return layers.inverted_residual(filters, kernel, 2 if halves else 1, expansion, ratio, shortcut=not halves)
