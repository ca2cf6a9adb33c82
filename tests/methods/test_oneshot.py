"""One-shot search: each published equation against something that was not written here."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from benchmarks.images.augmentation import Batch  # noqa: E402
from benchmarks.images.recipes import RECIPES  # noqa: E402
from methods.oneshot import bilevel  # noqa: E402
from methods.oneshot.bilevel import Darts, Milenas, Weights, ZerothOrder  # noqa: E402
from methods.oneshot.distributions import Logits, Probabilities, Sparsemax, softmax, sparsemax, temperature  # noqa: E402
from methods.oneshot.supernet import OPERATIONS, Supernet  # noqa: E402

RECIPE = RECIPES["search"]


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def batch(seed: int, size: int = 8) -> Batch:
    labels = torch.randint(3, (size,), generator=torch.Generator().manual_seed(seed))
    return Batch(drawn(size, 1, 8, 8, seed=seed), labels)


def loss(network: torch.nn.Module, logits: Logits, images: Batch) -> Tensor:
    return cross_entropy(network(images.images, logits.probabilities(softmax)), images.labels)


def weights(seed: int = 0) -> Weights:
    """A tiny supernet in double precision whose optimiser has momentum already."""
    torch.manual_seed(seed)
    found = Weights(Supernet(4, 1, 3, depth=1).double(), RECIPE)
    for number in range(3):
        found.step(loss(found.network, Logits(drawn(6, 5, scale=0.1)), batch(100 + number)))
    return found


def logits() -> Logits:
    return Logits(drawn(6, 5, seed=1, scale=0.1).requires_grad_())


class TestSparsemax:
    def test_it_is_the_nearest_point_of_the_simplex(self) -> None:
        """Against a quadratic program: minimise |p - z|² over the simplex."""
        from scipy.optimize import minimize

        for seed in range(20):
            z = drawn(5, seed=seed, scale=2.0)
            start = np.full(5, 0.2)
            best = minimize(
                lambda p, z=z: ((p - z.numpy()) ** 2).sum(),
                start,
                jac=lambda p, z=z: 2 * (p - z.numpy()),
                bounds=[(0, 1)] * 5,
                constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(5)},
                method="SLSQP",
                options={"ftol": 1e-14},
            )
            assert sparsemax(z).numpy() == pytest.approx(best.x, abs=1e-6)

    def test_its_gradient_is_the_derivative(self) -> None:
        z = drawn(4, 5, scale=2.0).requires_grad_()
        assert torch.autograd.gradcheck(Sparsemax.apply, (z,))

    def test_it_projects_once_and_is_exactly_sparse(self) -> None:
        p = sparsemax(drawn(50, 7, scale=3.0))
        assert torch.allclose(p.sum(-1), torch.ones(50, dtype=torch.float64))
        assert torch.allclose(sparsemax(p), p, atol=1e-15)
        assert (p == 0).any()
        assert (p >= 0).all()

    def test_colder_is_sparser(self) -> None:
        z = drawn(200, 5, scale=0.2)
        alive = [int((sparsemax(z, t) > 0).sum()) for t in (1.5, 0.5, 0.1)]
        assert alive[0] > alive[1] > alive[2]
        assert torch.equal(sparsemax(z, 0.5), sparsemax(z / 0.5))

    def test_the_temperatures_are_the_papers(self) -> None:
        assert [round(temperature(e), 4) for e in (0, 4, 5, 20, 39, 49)] == [1.5, 1.5, 1.125, 0.4746, 0.2002, 0.1126]


class TestSupernet:
    @pytest.mark.parametrize("grown", [False, True])
    def test_leaving_out_what_has_no_probability_changes_nothing(self, grown: bool) -> None:
        torch.manual_seed(0)
        network = Supernet(4, 1, 3, depth=2, kernel=7, exact_skip=True).double()
        parts = [drawn(18, 5, seed=2, scale=2.0)]
        if grown:
            network.grow((5, 3))
            parts += [drawn(18, 3, seed=3, scale=2.0), drawn(3, 2, seed=4, scale=3.0)]
        for part in parts:
            part.requires_grad_()
        probabilities = Probabilities(*map(sparsemax, parts))
        assert all((p == 0).any() for p in probabilities if p is not None)
        found = []
        for exact_skip in (True, False):
            network.exact_skip = exact_skip
            images = batch(5)
            value = cross_entropy(network(images.images, Logits(*parts).probabilities(sparsemax)), images.labels)
            found.append((value, bilevel.gradients(value, [*parts, *network.parameters()])))
        (skipped, some), (whole, every) = found
        assert torch.allclose(skipped, whole, rtol=1e-12)
        for a, b in zip(some, every, strict=True):
            assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)

    def test_small_kernels_begin_as_the_centre_of_the_large_one_and_are_trained(self) -> None:
        torch.manual_seed(0)
        own = Weights(Supernet(4, 1, 3, depth=1, kernel=7).double(), RECIPE)
        network = own.network
        new = network.grow((5, 3))
        own.add(new)
        assert len(new) == 3 * 3 * 2
        for cell in network.cells:
            for largest, five, three in cell._spatial:
                assert torch.equal(five.weight, largest.weight[:, :, 1:6, 1:6])
                assert torch.equal(three.weight, largest.weight[:, :, 2:5, 2:5])
        before = [parameter.detach().clone() for parameter in new]
        parts = Logits(drawn(18, 5), drawn(18, 3), drawn(3, 1))
        own.step(loss(network, parts, batch(0)))
        assert all(not torch.equal(a, b) for a, b in zip(before, new, strict=True))

    def test_one_depth_is_the_network_cut_there_and_one_kernel_is_that_kernel(self) -> None:
        torch.manual_seed(0)
        network = Supernet(4, 1, 3, depth=3, kernel=7).double()
        network.grow((5, 3))
        operations, images = softmax(drawn(18, 5)), batch(1).images
        for depth, size in itertools.product(range(3), range(3)):
            kernels, depths = torch.zeros(18, 3).double(), torch.zeros(3, 3).double()
            kernels[:, size], depths[:, depth] = 1, 1
            mixed = network(images, Probabilities(operations, kernels, depths))
            torch.manual_seed(0)
            cut = Supernet(4, 1, 3, depth=depth + 1, kernel=(7, 5, 3)[size]).double()
            cut.stem, cut._halvings, cut.norm, cut.classifier = (
                network.stem,
                network._halvings,
                network.norm,
                network.classifier,
            )
            for stage, cells in enumerate(cut._cells):
                for cell, theirs in zip(cells, network._cells[stage], strict=False):
                    for node in range(3):
                        cell._pointwise[node].weight.data = theirs._pointwise[node].weight.data
                        cell._spatial[node][0].weight.data = theirs._spatial[node][size].weight.data
            assert torch.allclose(cut(images, Probabilities(operations)), mixed, rtol=1e-10)


class TestZerothOrder:
    def difference(self, u: list[Tensor], window: list[Batch], val: Batch) -> float:
        """d/dε L_val(w_T(α + ε u), α + ε u), by a central difference of whole trainings."""

        def value(step: float) -> float:
            own, there = weights(), logits().moved(u, step)
            for images in window:
                own.step(loss(own.network, there, images))
            return loss(own.network, there, val).item()

        return (value(1e-6) - value(-1e-6)) / 2e-6

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_it_is_the_derivative_of_trained_weights_along_the_direction(self, seed: int) -> None:
        window, val, u = [batch(n) for n in range(4)], batch(50), drawn(6, 5, seed=seed)
        direction = [u / u.norm()]
        expected = self.difference(direction, window, val)
        for matched in (True, False):
            rule = ZerothOrder(weights(), loss, loss, torch.Generator(), window=4, matched=matched)
            here = logits()
            rule.open(here, direction, mu=1e-8)
            for images in window:
                rule.train(here, images)
            estimate, update = rule.estimate(here, val)
            s = update.direct + update.implicit
            assert torch.allclose(estimate[0], s * direction[0])
            if matched:
                assert s == pytest.approx(expected, rel=1e-3)
            else:  # the scripts' second optimiser: what they measure does not depend on the direction
                assert abs(s - expected) > 1e3 * abs(expected)

    def test_its_mean_is_the_gradient_of_a_quadratic_toy(self) -> None:
        """L_train = |w - A a|² / 2, L_val = |w - b|² / 2: d times the mean of s u is Aᵀ(A a - b) in the end."""
        a0, matrix, b = drawn(4, seed=1), drawn(3, 4, seed=2), drawn(3, seed=3)

        class Point(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = torch.nn.Parameter(matrix @ a0)

        def train_loss(network: torch.nn.Module, at: Logits, _: Batch) -> Tensor:
            return (network.w - matrix @ at.operations).square().sum() / 2

        def val_loss(network: torch.nn.Module, at: Logits, _: Batch) -> Tensor:
            return (network.w - b).square().sum() / 2 + 0 * at.operations.sum()

        from dataclasses import replace

        plain = replace(RECIPE, learning_rate=0.3, momentum=0.0, nesterov=False, weight_decay=0.0, clip=None)
        total, count = torch.zeros(4, dtype=torch.float64), 3000
        for number in range(count):
            rule = ZerothOrder(Weights(Point(), plain), train_loss, val_loss, torch.Generator().manual_seed(number), 60)
            here = Logits(a0.clone().requires_grad_())
            rule.open(here)
            for _ in range(60):
                rule.train(here, batch(0))
            total += rule.estimate(here, batch(0))[0][0]
        expected = matrix.T @ (matrix @ a0 - b)
        assert torch.allclose(4 * total / count, expected, rtol=0.1, atol=0.1 * float(expected.norm()))

    def test_directions_are_on_the_unit_sphere_and_mu_is_a_share_of_the_norm(self) -> None:
        rule = ZerothOrder(weights(), loss, loss, torch.Generator().manual_seed(3), mu=0.005)
        here = Logits(drawn(18, 5), drawn(18, 3), drawn(3, 3))
        rule.open(here)
        assert float(bilevel.norm(rule._direction)) == pytest.approx(1)
        assert rule._mu == pytest.approx(0.005 * float(torch.cat([p.flatten() for p in here.present()]).norm()))


class TestFirstOrder:
    def test_darts_is_the_gradient_through_one_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Against PyTorch differentiating through the unrolled step; the finite difference is made a fine one."""
        monkeypatch.setattr(Darts, "epsilon", 1e-5)
        own, here, train, val = weights(), logits(), batch(1), batch(2)
        found = Darts(own, loss, loss).gradient(here, train, val)[0]
        group, rate = own.optimizer.param_groups[0], own.rate
        names = [name for name, _ in own.network.named_parameters()]
        down = torch.autograd.grad(loss(own.network, here, train), own.parameters, create_graph=True)
        ahead = {
            name: w - rate * (group["momentum"] * m + g + group["weight_decay"] * w)
            for name, w, m, g in zip(names, own.parameters, own.momentum(), down, strict=True)
        }
        scores = torch.func.functional_call(own.network, ahead, (val.images, here.probabilities(softmax)))
        expected = torch.autograd.grad(cross_entropy(scores, val.labels), here.operations)[0]
        assert torch.allclose(found, expected, rtol=1e-6, atol=1e-7 * float(expected.norm()))
        first = Darts(own, loss, loss, order=1).gradient(here, train, val)[0]
        assert not torch.allclose(first, expected, rtol=0.05)

    def test_darts_leaves_weights_and_momentum_as_they_were(self) -> None:
        own = weights()
        before, momentum = own.values(), [m.clone() for m in own.momentum()]
        Darts(own, loss, loss).gradient(logits(), batch(1), batch(2))
        assert all(torch.equal(a, b) for a, b in zip(before, own.parameters, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(momentum, own.momentum(), strict=True))

    def test_milenas_is_the_sum_of_two_gradients(self) -> None:
        own, here, train, val = weights(), logits(), batch(1), batch(2)
        found = Milenas(own, loss, loss, share=0.5).gradient(here, train, val)[0]
        both = loss(own.network, here, train) + 0.5 * loss(own.network, here, val)
        assert torch.allclose(found, torch.autograd.grad(both, here.operations)[0])


def test_columns_are_the_operations_of_the_cells() -> None:
    from benchmarks.architectures.cells import OPERATIONS as OF_CELLS

    assert OPERATIONS == OF_CELLS
