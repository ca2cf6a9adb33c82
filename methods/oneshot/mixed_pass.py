"""The pass of a batch through a supernet, alone or with those of other searches."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.spaces.cells.searchable import LabelledImages
from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.lockstep import Pass, Shape
from nasbench.methods.oneshot.distributions import Alive, Probabilities, Rows, alive_of
from nasbench.methods.oneshot.supernet import Supernet


class MixedPass(Pass):
    """A batch's way through a supernet; its loss is the cross-entropy."""

    def __init__(self, network: nn.Module, probabilities: Probabilities, batch: LabelledImages) -> None:
        self.network, self._probabilities, self._batch = network, probabilities, batch

    @property
    def shape(self) -> Shape:
        return tuple(part.shape for part in (*self.network.parameters(), *self.mixture, self._batch.images))

    @property
    def mixture(self) -> list[Tensor]:
        return self._probabilities.present()

    def stack(self, number: int) -> nn.Module | None:
        found = self.network.stack(number) if isinstance(self.network, Supernet) else None
        if found is not None:
            training.channels_last(found)
            found.stop_counting()
        return found

    def losses(self, network: nn.Module, passes: Sequence[MixedPass], mixture: Sequence[Tensor]) -> list[Tensor]:
        probabilities = Probabilities.of(mixture)
        if len(passes) == 1:
            own = network(self._batch.images, probabilities._replace(alive=self._probabilities.alive))
            return [cross_entropy(own, self._batch.labels)]
        images = torch.cat([one._batch.images for one in passes], 1)
        probabilities = probabilities._replace(alive=_union([one._probabilities for one in passes]))
        outputs: Tensor = network(images, probabilities)
        return [cross_entropy(o, one._batch.labels) for o, one in zip(outputs.unbind(1), passes, strict=True)]


def _union(several: Sequence[Probabilities]) -> Alive:
    """What is above zero in any of several distributions."""
    known = [one.alive for one in several]
    alive = alive_of(several) if None in known else [own for own in known if own is not None]

    def any_of(rows: Sequence[Rows | None]) -> Rows | None:
        there = [own for own in rows if own is not None]
        return tuple(tuple(map(any, zip(*row, strict=True))) for row in zip(*there, strict=True)) if there else None

    operations = any_of([one.operations for one in alive])
    assert operations is not None
    return Alive(operations, any_of([one.kernels for one in alive]), any_of([one.depths for one in alive]))
