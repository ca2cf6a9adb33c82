"""ResNet-18 (He et al., CVPR 2016) for small images: one architecture, for orientation."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential
from nasbench.benchmarks.spaces.language.graph import Part


def resnet18(filters: int = 64, classes: int = 10) -> Part:
    """Four stages of two residual blocks; as for MedMNIST, the stem is a 3 × 3 convolution without pooling."""
    parts = [layers.conv2d(filters, 3, bias=False), layers.batch_norm(), layers.relu()]
    for stage in range(4):
        width = filters << stage
        parts += [_block(width, stride=2 if stage else 1, project=stage > 0), _block(width, stride=1, project=False)]
    return layers.classifier(siso_sequential(parts), classes)


def _block(filters: int, stride: int, project: bool) -> Part:
    def main() -> Part:
        first = [layers.conv2d(filters, 3, stride, bias=False), layers.batch_norm(), layers.relu()]
        return siso_sequential([*first, layers.conv2d(filters, 3, bias=False), layers.batch_norm()])

    def shortcut() -> Part:
        if not project:
            return identity()
        return siso_sequential([layers.conv2d(filters, 1, stride, bias=False), layers.batch_norm()])

    return siso_sequential([siso_residual(main, shortcut, layers.add), layers.relu()])
