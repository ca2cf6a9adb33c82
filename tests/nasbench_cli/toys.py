"""Toy benchmarks and methods, well and badly behaved, for the runner's tests and, as a plug-in, for the command's."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
from numpy.random import Generator

from nasbench.base.foreign import end_process
from nasbench.benchmarks import Benchmark, Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.spaces import Categorical, Configuration, GridSpace, Ordinal
from nasbench.cli.engine.executors import Executor, Records, Work
from nasbench.methods import Logged, Method, MethodSpec, Observation, Problem


class Spec(MethodSpec):
    """A spec of a class that is not registered."""

    def __init__(self, method: type[Method]) -> None:
        super().__init__("toy")
        object.__setattr__(self, "_method", method)

    @property
    def method(self) -> type[Method]:
        found: type[Method] = self._method  # type: ignore[attr-defined]
        return found


class Toy(Benchmark):
    """A simulated benchmark: the sum of four digits, at a cost that the seed draws."""

    name, family, source, licence, checksum = "toy", "toy", "made here", "MIT", "toy-1"
    space = GridSpace([Ordinal(f"digit{i}", tuple(range(10))) for i in range(4)])
    metrics = (Metric("loss", ""), Metric("size", "", cheap=True))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        loss = float(sum(configuration)) + seed % 1000 / 1e4
        return Evaluation({"loss": loss, "size": float(configuration[0])}, 1.0 + seed % 7)

    def known(self, metric: str, configuration: Configuration) -> float:
        return float(configuration[0])


class Watched(Toy):
    """Trainings of 27 epochs: the loss falls to the sum of the digits, at a speed that the seed draws."""

    name = "toy-watched"
    fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, 28)))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        epochs = upto["epochs"]
        end = float(sum(configuration)) + seed % 1000 / 1e4
        curve = tuple(end + (27 - early) * (seed % 13) / 10 for early in range(1, epochs + 1))
        seconds = epochs * (1.0 + configuration[1] + seed % 7 / 8)
        watched = curve if self.fidelity.continuable else None
        return Evaluation({"loss": curve[-1], "size": float(configuration[0])}, seconds, curve=watched)


class Separate(Watched):
    """Each level is a training of its own."""

    name = "toy-separate"
    fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, 28)), continuable=False)


class Faulty(Toy):
    """Raises, answers NaN, and answers nonsense, for some configurations."""

    name = "toy-faulty"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        fault, good = configuration[3], super().measure(configuration, seed, upto, state)
        if fault == 0:
            raise MemoryError("out of memory")
        if fault == 1:
            return Evaluation({"loss": math.nan, "size": 1.0}, 2.0)
        if fault == 2:
            return Evaluation({"loss": 1.0}, 2.0)
        if fault == 3:
            return Evaluation({"loss": 1.0, "size": 1.0}, -2.0)
        if fault == 4:
            return Evaluation({}, 0.5, "infeasible", "too large to train")
        if fault == 5:
            return None  # type: ignore[return-value]
        return good


class Live(Toy):
    """Computes now: each evaluation takes some milliseconds of real time and leaves a mark."""

    name, kind = "toy-live", "live"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        time.sleep(0.01)
        if marks := os.environ.get("TOY_MARKS"):
            with Path(marks).open("a") as file:
                file.write(f"{seed}\n")
        return super().measure(configuration, seed, upto, state)


class Marked(Toy):
    """Leaves a mark when an evaluation has begun, and ends it when there is a gate, where one is named."""

    name = "toy-marked"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        with Path(os.environ["TOY_MARKS"]).open("a") as file:
            file.write(f"{seed}\n")
        while (gate := os.environ.get("TOY_GATE")) and not Path(gate).exists():
            time.sleep(0.01)
        return super().measure(configuration, seed, upto, state)


class Tested(Toy):
    """Scores on a test split too: numbers below -1000, so that whoever has one of them can be told."""

    __test__ = False  # no test, whatever pytest makes of its name
    name = "toy-tested"
    metrics = (*Toy.metrics, Metric("test-loss", "", split="test"))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        metrics = evaluation.metrics
        return evaluation._replace(metrics={**metrics, "test-loss": -1000 - metrics["loss"]})


class TestedLive(Tested, Live):
    """The same, computed now."""

    name = "toy-tested-live"


class Hanging(Live):
    """An evaluation that never ends, for some configurations."""

    name = "toy-hangs"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        if configuration[0] % 2:
            threading.Event().wait()
        return super().measure(configuration, seed, upto, state)


class Hermit(Toy):
    """Its space has a single, categorical point."""

    name = "toy-hermit"
    space = GridSpace([Categorical("only", ("x",))])

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        return Evaluation({"loss": 1.0, "size": 1.0}, 1.0)


class Careful(Method):
    """Climbs: a neighbour of the best so far; checks that every tell answers an ask."""

    def __init__(self, problem: Problem, rng: Generator, *, start: int = 3) -> None:
        self.space, self.rng, self.start = problem.space, rng, start
        self.pending: list[Configuration] = []
        self.best: Observation | None = None
        self.asked = 0

    def ask(self) -> Configuration:
        self.asked += 1
        if self.best is None or self.asked <= self.start:
            configuration = self.space.sample(self.rng)
        else:
            configuration = self.space.mutate(self.best.configuration, self.rng)
        self.pending.append(configuration)
        return configuration

    def tell(self, observation: Observation) -> None:
        self.pending.remove(observation.configuration)
        if observation.feasible and (self.best is None or observation.objective < self.best.objective):
            self.best = observation


class Spy(Careful):
    """Logs every number that it is told, as `heard` of evaluation `epoch` and metric `step`."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self.heard: list[Logged] = []
        self.told = 0

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        self.told += 1
        metrics = observation.evaluation.metrics.values()
        self.heard += [Logged(self.told, "heard", value, step=place) for place, value in enumerate(metrics)]

    @property
    def log(self) -> list[Logged]:
        return self.heard


class RaisesInAsk(Careful):
    """Fails at its fifth ask."""

    def ask(self) -> Configuration:
        if self.asked == 4:
            raise ValueError("no idea")
        return super().ask()


class RaisesInTell(Careful):
    """Fails at its third tell."""

    def tell(self, observation: Observation) -> None:
        if self.asked == 3:
            raise KeyError("lost")
        super().tell(observation)


class RaisesAtOnce(Careful):
    """Cannot even be built."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        raise RuntimeError("not today")


class Foreigner(Careful):
    """Proposes something that is not of the space."""

    def ask(self) -> Configuration:
        return (99,) * 4 if self.asked == 2 else super().ask()


class OddFails(Careful):
    """Fails in about half of its runs."""

    def ask(self) -> Configuration:
        configuration = super().ask()
        if self.asked == 1 and configuration[0] % 2:
            raise ValueError("odd")
        return configuration


class Exits(Careful):
    """Leaves, as scripts do."""

    def ask(self) -> Configuration:
        raise SystemExit("bye")


class Hangs(Careful):
    """Never answers its third ask, and says so."""

    def ask(self) -> Configuration:
        if self.asked == 2:
            print("waiting", flush=True)
            threading.Event().wait()
        return super().ask()


class Killed(Careful):
    """Its process is killed at its third ask, as often as there are lives in a file."""

    def ask(self) -> Configuration:
        lives = Path(os.environ["TOY_LIVES"])
        if self.asked == 2 and (left := int(lives.read_text())):
            lives.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask()


class Leaves(Careful):
    """Goes elsewhere, and says so."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        print("leaving")
        os.chdir("/")


class Replaces(Careful):
    """Puts something of its own where all code looks for random numbers; then does its work."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)

        def broken(*arguments: object) -> Generator:
            raise RuntimeError("somebody has replaced me")

        np.random.default_rng = broken  # type: ignore[assignment]


class Interrupts(Careful):
    """Raises what Ctrl-C raises: in its constructor, in its third ask, or in its second tell."""

    def __init__(self, problem: Problem, rng: Generator, *, where: str = "ask") -> None:
        super().__init__(problem, rng)
        self.where, self.told = where, 0
        if where == "constructor":
            raise KeyboardInterrupt("built")

    def ask(self) -> Configuration:
        if self.where == "ask" and self.asked == 2:
            raise KeyboardInterrupt("asked")
        return super().ask()

    def tell(self, observation: Observation) -> None:
        self.told += 1
        if self.where == "tell" and self.told == 2:
            raise KeyboardInterrupt("told")
        super().tell(observation)


class Colourful(Careful):
    """Writes codes for the terminal to both streams, in its answers, and in its last words."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        print("\x1b[2Jbuilt \x1b[31mred\x1b[0m")

    def ask(self) -> Configuration:
        print("\x1b]0;a title\x07asked", flush=True)
        print("\x1b[1;5Hto standard error\x9b2K", file=sys.stderr)
        if self.asked == 2:
            raise ValueError("\x1b[31mno\x1b[0m idea\x1b]8;;http://example.org\x1b\\ here\x1b]8;;\x1b\\")
        return super().ask()


class Unspeakable(Careful):
    """Raises what cannot be put into words, and is no Exception."""

    def ask(self) -> Configuration:
        class Nameless(GeneratorExit):
            def __str__(self) -> str:
                raise ValueError

        raise Nameless


class ExitsAtOnce(Careful):
    """Leaves before it has begun; with colours."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        raise SystemExit("\x1b]0;title\x07bye\0" + "!" * 1000)


class Deaf(Executor):
    """Computes the rest, too, when it is told to stop."""

    local = True

    def execute(self, work: Work) -> Records:
        batches = iter(work.batches(self.jobs))
        try:
            for batch in batches:
                yield from work.compute(batch)
        finally:
            for batch in batches:
                list(work.compute(batch))


SOMETHING = 3


class Dies(Careful):
    """Takes its process down in about half of its runs."""

    def ask(self) -> Configuration:
        configuration = super().ask()
        if self.asked == 1 and configuration[0] % 2:
            end_process(9)  # as compiled code does
        return configuration


class Vanishes(Careful):
    """Ends whatever process builds it, as if all was well."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        os._exit(0)


class Clumsy(Toy):
    """Answers numbers of other types, too few of them, or an error no file can take."""

    name = "toy-clumsy"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        kind = configuration[3] % 5
        if kind == 0:
            return Evaluation({"loss": np.float32(1.5), "size": np.int64(2)}, np.float32(1.0))  # type: ignore[dict-item,arg-type]
        if kind == 1:
            return Evaluation({"loss": 1.0, "size": None}, 1.0)  # type: ignore[dict-item]
        if kind == 2:
            raise ValueError("line one\nline two \ud800")
        if kind == 3:
            raise SystemExit(3)
        return super().measure(configuration, seed, upto, state)


class Hoarder(Careful):
    """Hangs on to one list and changes it after it was proposed."""

    def ask(self) -> Configuration:
        self.kept = [*getattr(self, "kept", []), 1]
        return self.kept
