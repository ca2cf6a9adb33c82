"""The supernet: every operation on every edge, weighted by its probability, with shared computations fused.

At each node all outgoing edges share one ReLU, and per kernel size one convolution and one batch normalisation. Every
operation without parameters is computed once. Operations with a probability of exactly zero are skipped: their output
and gradient are zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, batch_norm, conv2d, relu

from nasbench.benchmarks.spaces.cells.convolution import ConvNorm
from nasbench.benchmarks.spaces.cells.network import EqualEdges, Reduction
from nasbench.benchmarks.spaces.cells.operations import EDGES, SPATIAL, ZERO
from nasbench.benchmarks.spaces.published.cells import OPERATIONS
from nasbench.methods.oneshot._mixing import LEAVING as _LEAVING
from nasbench.methods.oneshot._mixing import POINTWISE as _POINTWISE
from nasbench.methods.oneshot._mixing import Job, MixedEdges
from nasbench.methods.oneshot.distributions import Probabilities, alive_of


class Supernet(nn.Module):
    """Three stages of mixed cells with residual reductions between them (ZO-DARTS++, section III-A).

    Args:
        filters: channels of the first stage; they double from stage to stage.
        depth: cells of each stage.
        kernel: the size of the spatial convolution before `grow`.
        shared: whether kernel sizes share one tensor, whose centre is the smaller sizes; their mixture is one
            convolution.
        operations: the operations of an edge, in the order of the columns of the probabilities.
    """

    exact_skip = True
    """Whether operations of probability zero are skipped; outputs and gradients are the same."""

    def __init__(
        self,
        filters: int,
        channels: int,
        classes: int,
        depth: int = 3,
        kernel: int = 3,
        shared: bool = False,
        operations: Sequence[str] = OPERATIONS,
    ) -> None:
        super().__init__()
        self._shared, self._operations = shared, tuple(operations)
        widths = [filters << stage for stage in range(3)]
        self.stem = ConvNorm(channels, filters, 3)
        self._cells = [[MixedCell(width, kernel, operations) for _ in range(depth)] for width in widths]
        self._halvings = [Reduction(width, 2 * width) for width in widths[:-1]]
        self.cells = nn.ModuleList(cell for stage in self._cells for cell in stage)
        self.reductions = nn.ModuleList(self._halvings)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.classifier = nn.Linear(widths[-1], classes)

    def forward(self, images: Tensor, probabilities: Probabilities) -> Tensor:
        """Scores, shape (batch, classes). If depths are not searched, a stage's output is that of its last cell."""
        alive = probabilities.alive
        if not self.exact_skip:
            alive = probabilities.everything()
        elif alive is None:
            (alive,) = alive_of([probabilities])
        x: Tensor = self.stem(images)
        for number, cells in enumerate(self._cells):
            if number:
                x = self._halvings[number - 1](x)
            mixed = MixedEdges(probabilities, alive, number, self._operations, cells[0].width, cells[0].sizes)
            x = self._stage(cells, x, mixed)
        scores: Tensor = self.classifier(adaptive_avg_pool2d(relu(self.norm(x)), 1).flatten(1))
        return scores

    def grow(self, kernels: Sequence[int]) -> list[nn.Parameter]:
        """Adds kernel sizes to each spatial convolution, cut from the centre of its weight; returns new parameters.

        ZO-DARTS++, section III-B: each size then has its tensor, trained like the others, unless they share one.
        """
        cells = [cell for stage in self._cells for cell in stage]
        if self._shared:
            for cell in cells:
                cell.share(kernels)
            return []
        return [parameter for cell in cells for parameter in cell.grow(kernels)]

    def stop_counting(self) -> None:
        """Stops batch normalisations from counting their batches, which costs time and is never read."""
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.num_batches_tracked = None

    @torch.no_grad()
    def recalibrate(self, images: Iterable[Tensor], probabilities: Probabilities) -> None:
        """Computes the statistics of every normalisation from batches of images, for one mixture; sets eval mode.

        In eval mode each normalisation uses the mean of the batches' means and of their variances instead of the
        statistics of its batch (Guo et al., section 3.4). `train` ends this.
        """
        self.train()
        norms = [module for module in self.modules() if isinstance(module, nn.BatchNorm2d | MixedCell)]
        for cell in self.cells:
            assert isinstance(cell, MixedCell)
            cell.statistics = {}
        for number, batch in enumerate(images, 1):
            for norm in norms:
                norm.momentum = 1 / number
            self(batch, probabilities)
        self.eval()

    def _stage(self, cells: list[MixedCell], x: Tensor, mixed: MixedEdges) -> Tensor:
        if mixed.depths is None:
            for cell in cells:
                x = cell(x, mixed)
            return x
        total: Tensor | None = None
        for number in range(max(mixed.depths) + 1):
            x = cells[number](x, mixed)
            if number in mixed.depths:
                total = _sum(total, mixed.depths[number] * x)
        assert total is not None
        return total


class MixedCell(nn.Module):
    """A NAS-Bench-201 cell with every operation on every edge, normalised by the statistics of the batch.

    The statistics of one mixture may be stored and used in eval mode: see `Supernet.recalibrate`.
    """

    statistics: dict[tuple[int, Job], tuple[Tensor, Tensor]] | None = None
    """Stored means and variances of each convolution's output channels, shape (channels,); None if not stored."""
    momentum: float = 1.0
    """The weight of a batch's statistics when they are added to the stored ones."""

    def __init__(self, width: int, kernel: int, operations: Sequence[str]) -> None:
        super().__init__()
        self.width = width
        self._names = tuple(operations)
        self._columns = {name: column for column, name in enumerate(operations) if name != ZERO}
        self._masks: Tensor | None = None
        self._pointwise = [self._convolution(node, 1) for node in range(3)]
        self._spatial = [[self._convolution(node, kernel)] for node in range(3)]
        self.pointwise = nn.ModuleList(self._pointwise)
        self.spatial = nn.ModuleList(sizes[0] for sizes in self._spatial)
        names = [name for name in self._columns if name not in (_POINTWISE, SPATIAL)]
        self._others = [{name: EqualEdges(name, width, len(edges)) for name in names} for edges in _LEAVING]
        self.others = nn.ModuleList(module for modules in self._others for module in modules.values())

    def forward(self, x: Tensor, mixed: MixedEdges) -> Tensor:
        nodes: list[Tensor | None] = [x, None, None, None]
        for node in range(3):
            value = nodes[node]
            if value is None:
                continue  # the input is zero, so the output is: a normalised convolution of zeros is zero
            for edge, part in self._brought(node, value, mixed):
                target = EDGES[edge][1]
                nodes[target] = _sum(nodes[target], part)
        return torch.zeros_like(x) if nodes[3] is None else nodes[3]

    def grow(self, kernels: Sequence[int]) -> list[nn.Parameter]:
        """See `Supernet.grow`."""
        new: list[nn.Parameter] = []
        for node, sizes in enumerate(self._spatial):
            (largest,) = sizes
            for kernel in kernels:
                margin = (largest.kernel_size[0] - kernel) // 2
                centre = slice(margin, margin + kernel)
                with torch.device("meta"):  # no initial values are drawn: the weight is copied
                    convolution = self._convolution(node, kernel)
                convolution = convolution.to(largest.weight.dtype).to_empty(device=largest.weight.device)
                convolution.weight.data.copy_(largest.weight.data[:, :, centre, centre])
                sizes.append(convolution)
                self.spatial.append(convolution)
                new += convolution.parameters()
        return new

    def share(self, kernels: Sequence[int]) -> None:
        """Makes the mixture of kernel sizes one convolution whose outer weights are masked for smaller sizes."""
        largest = self._spatial[0][0].weight
        side = torch.arange(largest.shape[-1], device=largest.device)
        centre = (side - largest.shape[-1] // 2).abs()
        ring = torch.maximum(centre[:, None], centre)
        self._masks = torch.stack([ring <= kernel // 2 for kernel in (largest.shape[-1], *kernels)]).to(largest)

    @property
    def sizes(self) -> int | None:
        """The number of kernel sizes, if each has its convolution; None if there is one convolution for all."""
        return len(self._spatial[0]) if self._masks is None and len(self._spatial[0]) > 1 else None

    def _brought(self, node: int, value: Tensor, mixed: MixedEdges) -> Iterator[tuple[int, Tensor]]:
        """The outputs of the edges that leave a node: (edge, weighted output)."""
        convolved = mixed.convolved(node)
        positive = relu(value) if convolved else value
        for job, shares in convolved:
            is_spatial = job.column == self._columns.get(SPATIAL)
            convolution = self._spatial[node][job.size or 0] if is_spatial else self._pointwise[node]
            masked = mixed if is_spatial and self._masks is not None else None
            weight = self._weight(node, convolution, list(job.edges), masked)
            brought = conv2d(positive, weight, padding=weight.shape[-1] // 2)
            # The affine weight of the normalisation is the share: the same as multiplying afterwards.
            normed = self._normalised(brought, (node, job), shares.to(brought))
            yield from zip(job.edges, normed.chunk(len(job.edges), 1), strict=True)
        for job, shares in mixed.others(node):
            module = self._others[node][self._names[job.column]]
            places = [_LEAVING[node].index(k) for k in job.edges]
            for k, share, part in zip(job.edges, shares.unbind(), module.outputs(value, places), strict=True):
                yield k, share * part

    def _normalised(self, brought: Tensor, which: tuple[int, Job], weight: Tensor) -> Tensor:
        """A convolution's output, normalised and multiplied by a weight per channel."""
        if self.statistics is None:
            return batch_norm(brought, None, None, weight, training=True)
        if self.training and which not in self.statistics:
            self.statistics[which] = torch.zeros_like(weight), torch.ones_like(weight)
        kept = self.statistics[which]
        return batch_norm(brought, *kept, weight, training=self.training, momentum=self.momentum)

    def _convolution(self, node: int, kernel: int) -> nn.Conv2d:
        leaving = self.width * len(_LEAVING[node])
        return nn.Conv2d(self.width, leaving, kernel, padding=kernel // 2, bias=False)

    def _weight(self, node: int, convolution: nn.Conv2d, edges: list[int], mixed: MixedEdges | None) -> Tensor:
        """The convolution's weight for some of a node's outgoing edges; masked if sizes share one tensor."""
        if edges == _LEAVING[node] and mixed is None:
            return convolution.weight
        parts = convolution.weight.chunk(len(_LEAVING[node]))
        chosen = {k: parts[_LEAVING[node].index(k)] for k in edges}
        if mixed is not None and mixed.kernels is not None:
            assert self._masks is not None
            chosen = {k: part * (mixed.kernels[k, :, None, None] * self._masks).sum(0) for k, part in chosen.items()}
        return torch.cat([chosen[k] for k in edges])


def _sum(before: Tensor | None, part: Tensor) -> Tensor:
    return part if before is None else before + part
