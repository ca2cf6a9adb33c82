"""BANANAS (White, Neiswanger and Savani, AAAI 2021): an ensemble of networks predicts the best mutants.

Defaults are those of the authors' code (naszilla @7e65491). Differences: paths are those of the layer graph, so the
operation `none` is on no path, and the 500 seen most often have a bit; targets are standardised; a network is mutated
once and then again with probability one half each time; constraints are additional outputs; where layers have units or
a configuration is more than its graph, its values are words, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import check_choice, check_least
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsGraph, AsScalars, Configuration, Space
from nasbench.benchmarks.spaces.features import tokenizer
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.methods.about import About
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Rank

Array = NDArray[np.float64]

_LAYERS, _WIDTH = 10, 20
_EPOCHS, _BATCH, _RATE, _DECAYS = 150, 32, 0.01, (0.9, 0.99)
_MUTANTS = 100  # mutants of each parent, and candidates in all
_MOST_DRAWS = 1000
_MOST_WORDS = 500
_MOST_PATHS = 1000  # of one network; their number may grow exponentially with its layers


@METHODS.register("bananas")
class Bananas(Method):
    """An ensemble of networks on path encodings, independent Thompson sampling, mutants of the best as candidates.

    With encoding=path a configuration is encoded as the set of its paths' operations if the space has graphs of layers,
    together with the set of its named values unless it is a cell of a table, which has none but operations; else,
    and with encoding=values, as the set of its named values. Unknown constraints are predicted like the objective.
    Candidates are compared by sampled violation, then sampled objective. Pending evaluations are ignored.

    Take it for cells and graphs with some hundred evaluations, and ten milliseconds or more to think.

    Beside its source: follows naszilla's defaults, but paths are those of the layer graph, the 500 seen most often
    have a bit, targets are standardised, and constraints are further outputs of the same networks.

    Options:
        initial: random configurations at first, at least 1.
        batch: proposals per fit of the ensemble, at least 1.
        ensemble: number of networks that predict, at least 1.
        encoding: path or values.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source=(
            "C. White, W. Neiswanger and Y. Savani. BANANAS: Bayesian Optimization with Neural Architectures for "
            "Neural Architecture Search. AAAI 2021."
        ),
        version=4,
        tuned_on=("nas-bench-101",),
        seconds=0.05,
    )

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        initial: int = 10,
        batch: int = 10,
        ensemble: int = 5,
        encoding: str = "path",
    ) -> None:
        for name, value in {"initial": initial, "batch": batch, "ensemble": ensemble}.items():
            check_least(name, value, 1)
        check_choice("encoding", encoding, ("path", "values"))
        self._problem, self._rng, self._space = problem, rng, problem.space
        self._left, self._batch, self._ensemble = initial, batch, ensemble
        self._words = words_of(problem.space, encoding)
        self._asked: set[Configuration] = set()
        self._queue: list[Configuration] = []
        self._seen: list[tuple[Rank, Observation]] = []

    def ask(self) -> Configuration:
        if not self._queue and (self._left > 0 or len(self._seen) < 2):
            self._left -= 1
            self._queue = [self._problem.sample(self._rng)]
        elif not self._queue:
            candidates = self._candidates()
            best = self._ranked(candidates)[: self._batch] if candidates else []
            self._queue = [candidates[i] for i in best] or [self._problem.sample(self._rng)]
        chosen = self._queue.pop(0)
        self._asked.add(chosen)
        return chosen

    def tell(self, observation: Observation) -> None:
        if observation.evaluation.status == "ok":
            self._seen.append((observation.rank(self._problem.constraints), observation))

    def _candidates(self) -> list[Configuration]:
        """New mutants of the best configuration, then of the next best, until there are enough."""
        mutants: dict[Configuration, None] = {}
        parents = [o.configuration for _, o in sorted(self._seen, key=lambda pair: pair[0])]
        for parent in dict.fromkeys(parents[: _MOST_DRAWS // _MUTANTS]):
            for _ in range(_MUTANTS):
                mutant = self._space.mutant(parent, self._rng)
                while self._rng.random() < 0.5:
                    mutant = self._space.mutant(mutant, self._rng)
                if mutant not in self._asked:
                    mutants[mutant] = None
            if len(mutants) >= _MUTANTS:
                break
        return list(mutants)[:_MUTANTS]

    def _ranked(self, candidates: Sequence[Configuration]) -> list[int]:
        """Indices of the candidates, best first: by violation, then objective, drawn from the ensemble's prediction."""
        learnt = self._problem.learnt_bounds
        words = [self._words(o.configuration) for _, o in self._seen]
        counts = sorted(Counter(w for group in words for w in group).items(), key=lambda item: (-item[1], item[0]))
        vocabulary = [word for word, _ in counts[:_MOST_WORDS]]  # sorted: a set's order differs between processes
        targets = np.array(
            [[o.objective, *(b.counted(o.evaluation.metrics[b.metric.name]) for b in learnt)] for _, o in self._seen]
        )
        centre, scale = targets.mean(0), np.where((deviation := targets.std(0)) > 0, deviation, 1.0)
        networks = Ensemble(len(vocabulary), targets.shape[1], self._ensemble, self._rng)
        networks.fit(_bits(words, vocabulary), (targets - centre) / scale)
        predicted = networks.predict(_bits([self._words(c) for c in candidates], vocabulary))
        mean, spread = predicted.mean(0), predicted.std(0)
        sampled = centre + scale * self._rng.normal(mean, spread)
        violations = np.array([self._problem.known_violation(candidate) for candidate in candidates])
        for k, bound in enumerate(learnt, 1):
            violations += [bound.violation(value) for value in sampled[:, k].tolist()]
        order: list[int] = np.lexsort((sampled[:, 0], violations)).tolist()
        return order


class Ensemble:
    """Dense networks, trained independently by Adam on the mean absolute error.

    Args:
        inputs: number of bits of an example.
        outputs: number of targets of an example.
        count: number of networks.
    """

    def __init__(self, inputs: int, outputs: int, count: int, rng: Generator) -> None:
        self._rng, self._count = rng, count
        widths = [inputs, *[_WIDTH] * _LAYERS, outputs]
        shapes = [shape for a, b in pairwise(widths) for shape in ((a, b), (1, b))]
        sizes = np.cumsum([0, *(a * b for a, b in shapes)])
        self._parameters, self._gradient = np.zeros((count, sizes[-1])), np.zeros((count, sizes[-1]))
        views = list(zip(sizes, sizes[1:], shapes, strict=False))
        self._weights, self._slopes = (
            [array[:, a:b].reshape(count, *shape) for a, b, shape in views]
            for array in (self._parameters, self._gradient)
        )
        for weights in self._weights[::2]:
            limit = math.sqrt(6 / sum(weights.shape[1:]))  # Glorot and Bengio, 2010
            weights[:] = rng.uniform(-limit, limit, weights.shape)

    def fit(self, x: Array, y: Array) -> None:
        """Trains on inputs of shape (examples, inputs) and targets of shape (examples, outputs)."""
        first, second = np.zeros_like(self._parameters), np.zeros_like(self._parameters)
        step = 0
        for _ in range(_EPOCHS):
            order = self._rng.permuted(np.tile(np.arange(len(x)), (self._count, 1)), axis=1)
            for begin in range(0, len(x), _BATCH):
                batch = order[:, begin : begin + _BATCH]
                step += 1
                self._differentiate(x[batch], y[batch])
                first += (1 - _DECAYS[0]) * (self._gradient - first)
                second += (1 - _DECAYS[1]) * (self._gradient**2 - second)
                rate = _RATE * math.sqrt(1 - _DECAYS[1] ** step) / (1 - _DECAYS[0] ** step)
                self._parameters -= rate * first / (np.sqrt(second) + 1e-8)

    def predict(self, x: Array) -> Array:
        """The prediction of each network, shape (networks, examples, outputs)."""
        return self._forward(np.broadcast_to(x, (self._count, *x.shape)))[-1]

    def _forward(self, x: Array) -> list[Array]:
        results = [x]
        for k in range(0, len(self._weights), 2):
            x = x @ self._weights[k] + self._weights[k + 1]
            if k + 2 < len(self._weights):
                x = np.maximum(x, 0.0)
            results.append(x)
        return results

    def _differentiate(self, x: Array, y: Array) -> None:
        """Computes the gradients of each network's mean absolute error on its batch, shape (networks, examples, …)."""
        results = self._forward(x)
        slope = np.sign(results[-1] - y) / y[0].size
        for k in range(len(self._weights) - 2, -1, -2):
            before = results[k // 2]
            self._slopes[k][:] = before.swapaxes(1, 2) @ slope
            self._slopes[k + 1][:] = slope.sum(1, keepdims=True)
            if k:
                slope = (slope @ self._weights[k].swapaxes(1, 2)) * (before > 0)


def words_of(space: Space, encoding: str) -> Callable[[Configuration], frozenset[str]]:
    """The function that encodes a configuration: by the operations along its paths, by its values, or by both.

    Values, such as learning rates and widths, stand beside paths, but not on tables of cells, which have operations
    alone.
    """
    words = tokenizer(space)
    if encoding == "values" or not isinstance(space, AsGraph):
        return lambda configuration: frozenset(words(configuration))
    if isinstance(space, AsScalars | NetworkSpace):
        return lambda configuration: frozenset((*_paths(space.as_graph(configuration)), *words(configuration)))
    return lambda configuration: frozenset(_paths(space.as_graph(configuration)))


def _paths(graph: LayerGraph) -> Iterator[str]:
    """The labels of the layers on each path from input to output; at most `_MOST_PATHS` paths."""
    last, paths = len(graph.labels) - 1, 0
    stack = [(last, "")]
    while stack and paths < _MOST_PATHS:
        layer, behind = stack.pop()
        if layer == 0:
            paths += 1
            yield behind
        stack += [(p, f"{graph.labels[p]} {behind}" if p else behind) for p in graph.parents[layer]]


def _bits(words: Sequence[frozenset[str]], vocabulary: Sequence[str]) -> Array:
    return np.array([[float(word in group) for word in vocabulary] for group in words])
