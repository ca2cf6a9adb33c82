"""Everything that is measured on a device, in tables, within a limit of time."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click
import torch
from torch import nn

from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.speed.gpu import evaluations, searches
from nasbench.cli.speed.gpu import training as trainings
from nasbench.cli.speed.gpu.process import measured
from nasbench.cli.speed.gpu.sizes import USUAL, Sizes
from nasbench.cli.speed.gpu.tables import NotMeasured, Row, Table


def main(out: Path | None, sizes: Sizes = USUAL) -> bool:
    """Prints every table as soon as it is measured; returns whether all rows were.

    Args:
        out: the folder into which tables are written as CSV, too; None for none.
    """
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    whole = tables(sizes)
    missing = 0
    with closing(measured([row for table in whole for row in table.rows], sizes.seconds, begin)) as found:
        for table in whole:
            cells = [next(found) for _ in table.rows]
            missing += sum(isinstance(one, NotMeasured) for one in cells)
            click.echo(table.text(cells) + "\n")
            if out is not None:
                table.write(cells, out)
    rows = sum(len(table.rows) for table in whole)
    click.echo(f"{rows - missing} of {rows} rows measured" + ("" if out is None else f", tables in {out}"))
    return not missing


def tables(sizes: Sizes) -> list[Table]:
    """Every table. What may take long stands at the end, where the time is that others have left."""
    live, images, backend = sizes.live, sizes.images, sizes.backend
    eager = [Row(f"{name}, eager", partial(trainings.images_a_second, name, None, sizes), 12) for name in RECIPES]
    fast = [Row(f"{name}, compiled", partial(trainings.images_a_second, name, backend, sizes), 50) for name in RECIPES]
    same = [Row(name, partial(trainings.agreement, name, backend, sizes), 30) for name in RECIPES]
    stacks = [Row(name, partial(trainings.stacked_images_a_second, name, sizes), 20) for name in RECIPES]
    steps = [Row(name, partial(searches.step, name, sizes), 12) for name in searches.SEARCHES]
    seen = [Row(f"{name}, a step", partial(searches.kernels, name, sizes), 20) for name in searches.SEARCHES]
    trained = [
        Row(f"training step of search, {how}", partial(trainings.kernels, "search", own, sizes), weight)
        for how, own, weight in (("eager", None, 20), ("compiled", backend, 30))
    ]
    a_minute = [Row(name, partial(evaluations.a_minute, name, sizes), 15) for name in live]
    apart = [Row(name, partial(evaluations.spread, name, sizes), 15) for name in live]
    search = [Row(f"{sizes.search} on {images}", partial(searches.whole, sizes), 60)]
    repeated = f"median of {sizes.repeats}"
    return [
        Table("machine", "Machine", ("device", "PyTorch", "CUDA", "commit"), (Row("this one", machine),)),
        Table(
            "evaluations",
            "Evaluations, one after the other, random networks of the cells",
            ("per minute", "seconds each", "counted"),
            tuple(a_minute),
        ),
        Table(
            "spread",
            f"One network with one seed, trained {sizes.repetitions} times",
            ("val errors %", "test errors %", "largest difference"),
            tuple(apart),
        ),
        Table(
            "steps",
            f"Steps of one-shot search on {images}, T = {sizes.window}, {repeated}",
            ("ms", "ms of a pass", "passes", "expected"),
            tuple(steps),
        ),
        Table(
            "kernels",
            f"Kernels on {images}; of searches with T = 2",
            ("kernels", "launches"),
            tuple(seen + trained),
        ),
        Table(
            "training",
            f"Training on {images}, images per second, {repeated}",
            ("images/s", "plain loop", "ratio", "first loss apart"),
            tuple(eager + fast),
        ),
        Table(
            "stacked",
            f"{trainings.STACKED} networks of one shape trained as one on {images}, images per second, {repeated}",
            ("images/s", "one by one", "ratio", "first losses apart"),
            tuple(stacks),
        ),
        Table(
            "agreement",
            "Loss of a first step in float32",
            ("eager", "compiled", "apart", "gradients apart", f"within {trainings.AGREE:g}"),
            tuple(same),
        ),
        Table("search", "A whole search", ("seconds", "paper", "paper / ours", "how"), tuple(search)),
    ]


def begin() -> None:
    """Wakes the device up, and the libraries that compute on it."""
    training.warm_up()
    layers = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 2)).to(training.device())
    torch.autograd.backward(layers(torch.zeros(2, 1, 3, 3, device=training.device())).sum())
    training.wait(training.device())


def machine(until: float) -> tuple[str, ...]:
    """The device, PyTorch and what it was made for, the commit."""
    facts = provenance()
    name = training.device_name() or facts["machine"]["cpu"] or "unknown"
    return name, torch.__version__, torch.version.cuda or "none", facts["commit"] or "unknown"
