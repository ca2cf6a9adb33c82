"""One-shot search: each published equation against something that was not written here."""

from __future__ import annotations

import itertools
from typing import NoReturn

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from nasbench.benchmarks.spaces.cells import Stage, dead_stages, parameters_paper  # noqa: E402
from nasbench.benchmarks.spaces.cells.network import Cell, CellNetwork  # noqa: E402
from nasbench.benchmarks.spaces.cells.operations import EDGES, named  # noqa: E402
from nasbench.benchmarks.spaces.cells.searchable import Searchable  # noqa: E402
from nasbench.benchmarks.training.augmentation import ImageBatch  # noqa: E402
from nasbench.benchmarks.training.recipes import RECIPES  # noqa: E402
from nasbench.methods.oneshot.bilevel import Darts, Milenas  # noqa: E402
from nasbench.methods.oneshot.distributions import Logits, Probabilities, Sparsemax, softmax, sparsemax, temperature  # noqa: E402
from nasbench.methods.oneshot.parameters import ExpectedParameters  # noqa: E402
from nasbench.methods.oneshot.sampling import stages  # noqa: E402
from nasbench.methods.oneshot.settings import GradientEstimate  # noqa: E402
from nasbench.methods.oneshot.supernet import MixedCell, Supernet  # noqa: E402
from nasbench.methods.oneshot.weights import Weights, gradients, norm  # noqa: E402
from nasbench.methods.oneshot.zeroth_order import Scripted, Update, ZerothOrder  # noqa: E402
from tests.methods.small_searches import one_hot  # noqa: E402

RECIPE = RECIPES["search"]


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def batch(seed: int, size: int = 8) -> ImageBatch:
    labels = torch.randint(3, (size,), generator=torch.Generator().manual_seed(seed))
    return ImageBatch(drawn(size, 1, 8, 8, seed=seed), labels)


def loss(network: torch.nn.Module, logits: Logits, images: ImageBatch) -> Tensor:
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


def searchable(filters: int, channels: int, classes: int) -> Searchable:
    def nothing(*_: object) -> NoReturn:
        raise AssertionError("a formula needs no images")

    return Searchable("toy", filters, (channels, 8, 8), classes, 64, 8, {}, 7e10, nothing, nothing)


def alive_stages(rng: np.random.Generator) -> tuple[Stage, ...]:
    """Three random stages of which no cell is dead, though edges may be."""
    while True:
        uniform = [np.full(shape, 1 / shape[1]) for shape in ((18, 5), (18, 3), (3, 3))]
        found = stages([rows.tolist() for rows in uniform], (7, 5, 3), 3, rng)
        if not dead_stages(found):
            return found


def copied_into(cell: Cell, mixed: MixedCell) -> None:
    """Puts the supernet's convolutions into a cell that has some of them."""
    for name, into in cell.convolutions.items():
        node, operation = name.split("-")
        kernel = named(operation).kernel
        source = int(node)
        whole = mixed._pointwise[source] if kernel == 1 else mixed._spatial[source][(7, 5, 3).index(kernel)]
        leaving = [target for _, target in EDGES if _ == source]
        parts = dict(zip(leaving, whole.weight.chunk(len(leaving)), strict=True))
        into.conv.weight.data = torch.cat([parts[target] for target in cell.leaving[source][operation]]).detach()


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

    @pytest.mark.parametrize("temperature", [1e-7, 1e-8, 1e-13, 1e-30])
    def test_however_cold_it_is_the_largest_is_left(self, temperature: float) -> None:
        p = sparsemax(torch.tensor([[0.5, 0.1, -0.2, 0.3, 0.0]]), temperature)
        assert p.tolist() == [[1.0, 0.0, 0.0, 0.0, 0.0]]

    def test_the_temperatures_are_the_papers(self) -> None:
        assert [round(temperature(e), 4) for e in (0, 4, 5, 20, 39, 49)] == [1.5, 1.5, 1.125, 0.4746, 0.2002, 0.1126]


class TestSupernet:
    @pytest.mark.parametrize("grown", [False, True])
    def test_leaving_out_what_has_no_probability_changes_nothing(self, grown: bool) -> None:
        torch.manual_seed(0)
        network = Supernet(4, 1, 3, depth=2, kernel=7).double()
        parts = [drawn(18, 5, seed=2, scale=2.0)]
        if grown:
            network.grow((5, 3))
            parts += [drawn(18, 3, seed=3, scale=2.0), drawn(3, 2, seed=4, scale=3.0)]
        for part in parts:
            part.requires_grad_()
        probabilities = Probabilities(*map(sparsemax, parts))
        assert all((p == 0).any() for p in probabilities.present())
        found = []
        for exact_skip in (True, False):
            network.exact_skip = exact_skip
            images = batch(5)
            value = cross_entropy(network(images.images, Logits(*parts).probabilities(sparsemax)), images.labels)
            found.append((value, gradients(value, [*parts, *network.parameters()])))
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

    @pytest.mark.parametrize("seed", range(5))
    def test_a_sampled_network_is_the_supernet_at_its_distributions(self, seed: int) -> None:
        """The network that is retrained, with the supernet's weights, gives what the supernet gives."""
        drawn = alive_stages(np.random.default_rng(seed))
        torch.manual_seed(seed)
        network = Supernet(4, 1, 3, depth=3, kernel=7).double()
        network.grow((5, 3))
        for parameter in network.parameters():  # small kernels that are no longer the centres of large ones
            parameter.data += 0.1 * torch.randn_like(parameter)
        discrete = CellNetwork(drawn, 4, 1, 3).double()
        body = list(discrete.body)
        for stage, alone in enumerate(drawn):
            if stage:
                body.pop(0).load_state_dict(network._halvings[stage - 1].state_dict())
            for number in range(alone.depth):
                copied_into(body.pop(0), network._cells[stage][number])
        for name in ("stem", "norm", "classifier"):
            getattr(discrete, name).load_state_dict(getattr(network, name).state_dict())
        images = batch(7).images
        for exact_skip in (True, False):
            network.exact_skip = exact_skip
            assert torch.allclose(network(images, one_hot(drawn)), discrete(images), rtol=1e-10)

    def test_kernel_sizes_that_share_a_tensor_are_one_masked_convolution(self) -> None:
        """β one-hot at a size: that size's convolution with the centre of the tensor; mixed: their weighted sum."""
        torch.manual_seed(0)
        network = Supernet(4, 1, 3, depth=1, kernel=7, shared=True).double()
        assert network.grow((5, 3)) == []
        operations, images = softmax(drawn(18, 5)), batch(1).images
        for size, kernel in enumerate((7, 5, 3)):
            kernels = torch.zeros(18, 3).double()
            kernels[:, size] = 1
            found = network(images, Probabilities(operations, kernels, torch.ones(3, 1).double()))
            torch.manual_seed(0)
            cut = Supernet(4, 1, 3, depth=1, kernel=7).double()
            margin = (7 - kernel) // 2
            for cell in cut.cells:
                for convolutions in cell._spatial:
                    weight = convolutions[0].weight.data
                    inside = torch.zeros_like(weight)
                    centre = slice(margin, 7 - margin)
                    inside[:, :, centre, centre] = weight[:, :, centre, centre]
                    convolutions[0].weight.data = inside
            assert torch.allclose(found, cut(images, Probabilities(operations)), rtol=1e-10)


class TestExpectedParameters:
    @pytest.mark.parametrize("paper", [True, False])
    def test_it_is_the_number_of_parameters_of_one_architecture(self, paper: bool) -> None:
        """200 architectures, dead edges and all, against real tensors and against the authors' formula."""
        space = searchable(filters=4, channels=3, classes=5)
        expected = ExpectedParameters(space, (7, 5, 3), 3, paper, torch.device("cpu"))
        rng = np.random.default_rng(0)
        for _ in range(200):
            alone = alive_stages(rng)
            found = float(expected(one_hot(alone)))
            if paper:
                assert found == parameters_paper(alone, 4, 5)
            else:
                network = CellNetwork(alone, 4, 3, 5)
                assert found == sum(parameter.numel() for parameter in network.parameters())

    def test_it_is_the_mean_over_all_networks_of_a_cell(self) -> None:
        """Against an enumeration of what three operations on each edge can make of one stage."""
        space = searchable(filters=4, channels=1, classes=2)
        expected = ExpectedParameters(space, (7, 5, 3), 1, True, torch.device("cpu"))
        names = ("none", "skip_connect", "nor_conv_1x1")
        shares = softmax(drawn(6, 3, scale=2.0))
        operations = torch.zeros(18, 5).double()
        operations[:6, :3], operations[6:, 1] = shares, 1
        bare = Stage(("skip_connect",) * 6, 1)
        mean = 0.0
        for chosen in itertools.product(range(3), repeat=6):
            probability = float(torch.stack([shares[k, c] for k, c in enumerate(chosen)]).prod())
            stage = Stage(tuple(names[c] for c in chosen), 1)
            mean += probability * parameters_paper([stage, bare, bare], 4, 2)
        assert float(expected(Probabilities(operations))) == pytest.approx(mean, rel=1e-12)

    def test_where_every_edge_carries_something_it_is_equation_17(self) -> None:
        """Written out here as the paper has it: parameters of a stage times its expected depth."""
        space = searchable(filters=16, channels=1, classes=2)
        expected = ExpectedParameters(space, (7, 5, 3), 3, True, torch.device("cpu"))
        operations = softmax(drawn(18, 5))
        operations[:, 0] = 0
        operations /= operations.sum(1, keepdim=True)
        kernels, depths = softmax(drawn(18, 3, seed=1)), softmax(drawn(3, 3, seed=2))
        total = 72_368 + 65 * 2  # the specification's fixed part, for one channel and 16 filters
        for stage, c in enumerate((16, 32, 64)):
            for k in range(6 * stage, 6 * stage + 6):
                spatial = sum(kernels[k, i] * (kernel**2 * c + 1) * c for i, kernel in enumerate((7, 5, 3)))
                depth = depths[stage] @ torch.tensor([1.0, 2.0, 3.0]).double()
                total = total + (operations[k, 2] * (c + 1) * c + operations[k, 3] * spatial) * depth
        assert float(expected(Probabilities(operations, kernels, depths))) == pytest.approx(float(total), rel=1e-12)

    def test_its_gradient_is_the_derivative(self) -> None:
        space = searchable(filters=4, channels=1, classes=2)
        expected = ExpectedParameters(space, (7, 5, 3), 3, False, torch.device("cpu"))
        parts = [drawn(18, 5), drawn(18, 3, seed=1), drawn(3, 3, seed=2)]
        parts[0][4] = torch.tensor([-40.0, 0, 0, 0, 0])  # an edge that is never `none`: its factor is 0
        for part in parts:
            part.requires_grad_()
        assert torch.autograd.gradcheck(lambda *p: expected(Probabilities(*map(softmax, p))) / 1e5, parts)


class TestZerothOrder:
    def difference(self, u: list[Tensor], window: list[ImageBatch], val: ImageBatch) -> float:
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
        for estimate_of in (ZerothOrder, Scripted):
            rule = estimate_of(weights(), loss, loss, torch.Generator(), window=4)
            here = logits()
            rule.open(here, [direction], mu=1e-8)
            for images in window:
                rule.train(here, images)
            estimate, (facts,) = rule.estimate(here, val)
            update = Update(*facts.tolist())
            s = update.direct + update.implicit
            assert torch.allclose(estimate[0], s * direction[0])
            if estimate_of is ZerothOrder:
                assert s == pytest.approx(expected, rel=1e-3)
            else:  # the scripts' second optimiser: what they measure does not depend on the direction
                assert abs(s - expected) > 1e3 * abs(expected)

    def test_both_ways_the_error_of_a_long_step_aside_is_of_higher_order(self) -> None:
        """Halving μ halves the error of the one-sided estimate of a smooth toy, and quarters the antithetic one's.

        (The gradient of a network with ReLUs jumps, and so do weights that are trained with it.)
        """

        class Point(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = torch.nn.Parameter(drawn(4, seed=2))

        def toy_loss(network: torch.nn.Module, at: Logits, _: ImageBatch) -> Tensor:
            return (network.w - at.operations.exp()).square().sum() / 2

        from dataclasses import replace

        plain = replace(RECIPE, clip=None)
        direction = drawn(4, seed=3)

        def s(antithetic: bool, mu: float) -> float:
            how, own = GradientEstimate(antithetic=antithetic), Weights(Point(), plain)
            rule = ZerothOrder(own, toy_loss, toy_loss, torch.Generator(), window=4, how=how)
            here = Logits(drawn(4, seed=1).requires_grad_())
            rule.open(here, [[direction / direction.norm()]], mu=mu)
            for _ in range(4):
                rule.train(here, batch(0))
            return Update(*rule.estimate(here, batch(0))[1][0].tolist()).s

        exact = s(True, 1e-6)
        one, both = ([s(way, mu) - exact for mu in (2e-2, 1e-2)] for way in (False, True))
        assert one[0] / one[1] == pytest.approx(2, rel=0.05)
        assert both[0] / both[1] == pytest.approx(4, rel=0.05)
        assert abs(both[1]) < 0.1 * abs(one[1])

    def test_an_estimate_is_the_mean_over_its_directions_or_has_the_length_one(self) -> None:
        directions = [[u / u.norm()] for u in (drawn(6, 5, seed=seed) for seed in (1, 2))]
        found = []
        for normalised in (False, True):
            rule = ZerothOrder(
                weights(), loss, loss, torch.Generator(), how=GradientEstimate(directions=2, normalised=normalised)
            )
            here = logits()
            rule.open(here, directions, mu=1e-4)
            for number in range(2):
                rule.train(here, batch(number))
            found.append(rule.estimate(here, batch(50)))
        (mean,), facts = found[0]
        s = [Update(*one.tolist()).s for one in facts]
        assert torch.allclose(mean, (s[0] * directions[0][0] + s[1] * directions[1][0]) / 2)
        assert torch.allclose(found[1][0][0], mean / mean.norm())

    def test_a_coin_keeps_the_size_and_drops_what_the_images_say(self) -> None:
        def toy_loss(network: torch.nn.Module, at: Logits, _: ImageBatch) -> Tensor:
            return (network.weight - at.operations).square().sum()

        own = Weights(torch.nn.Linear(5, 6, bias=False).double(), RECIPE)
        how = GradientEstimate(random_sign=True)
        rule = ZerothOrder(own, toy_loss, toy_loss, torch.Generator().manual_seed(0), how=how)
        here, signs = logits(), []
        rule.open(here)
        rule.train(here, batch(0))
        for _ in range(200):
            (found,), (fact,) = rule.estimate(here, batch(50))
            ratio = found / (Update(*fact.tolist()).s * rule._directions[0][0])
            assert torch.allclose(ratio.abs(), torch.ones_like(ratio))
            signs.append(float(ratio.mean()))
        assert abs(sum(signs)) < 4 * 200**0.5

    @pytest.mark.slow
    def test_its_mean_is_the_gradient_of_a_quadratic_toy(self) -> None:
        """L_train = |w - A a|² / 2, L_val = |w - b|² / 2: d times the mean of s u is Aᵀ(A a - b) in the end."""
        a0, matrix, b = drawn(4, seed=1), drawn(3, 4, seed=2), drawn(3, seed=3)

        class Point(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.w = torch.nn.Parameter(matrix @ a0)

        def train_loss(network: torch.nn.Module, at: Logits, _: ImageBatch) -> Tensor:
            return (network.w - matrix @ at.operations).square().sum() / 2

        def val_loss(network: torch.nn.Module, at: Logits, _: ImageBatch) -> Tensor:
            return (network.w - b).square().sum() / 2 + 0 * at.operations.sum()

        from dataclasses import replace

        plain = replace(RECIPE, learning_rate=0.3, momentum=0.0, nesterov=False, weight_decay=0.0, clip=None)
        total, count = torch.zeros(4, dtype=torch.float64), 1000
        for number in range(count):
            rule = ZerothOrder(Weights(Point(), plain), train_loss, val_loss, torch.Generator().manual_seed(number), 20)
            here = Logits(a0.clone().requires_grad_())
            rule.open(here)
            for _ in range(20):
                rule.train(here, batch(0))
            total += rule.estimate(here, batch(0))[0][0]
        expected = matrix.T @ (matrix @ a0 - b)
        assert torch.allclose(4 * total / count, expected, rtol=0.1, atol=0.1 * float(expected.norm()))

    def test_directions_are_on_the_unit_sphere_and_mu_is_a_share_of_the_norm(self) -> None:
        rule = ZerothOrder(weights(), loss, loss, torch.Generator().manual_seed(3), mu=0.005)
        here = Logits(drawn(18, 5), drawn(18, 3), drawn(3, 3))
        rule.open(here)
        assert float(norm(rule._directions[0])) == pytest.approx(1)
        length = float(torch.cat([p.flatten() for p in here.present()]).norm())
        assert float(rule._mu) == pytest.approx(0.005 * length)
        floored = ZerothOrder(weights(), loss, loss, torch.Generator(), how=GradientEstimate(floor=2 * length))
        floored.open(here)
        assert float(floored._mu) == pytest.approx(0.01 * length)


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
        assert torch.equal(first, torch.autograd.grad(loss(own.network, here, val), here.operations)[0])

    def test_darts_leaves_weights_and_momentum_as_they_were(self) -> None:
        own = weights()
        before, momentum = own.values(), [m.clone() for m in own.momentum()]
        Darts(own, loss, loss).gradient(logits(), batch(1), batch(2))
        assert all(torch.equal(a, b) for a, b in zip(before, own.parameters, strict=True))
        assert all(torch.equal(a, b) for a, b in zip(momentum, own.momentum(), strict=True))

    def test_milenas_is_the_sum_of_two_gradients(self) -> None:
        own, here, train, val = weights(), logits(), batch(1), batch(2)
        found = Milenas(own, loss, loss).gradient(here, train, val)[0]
        both = loss(own.network, here, train) + loss(own.network, here, val)
        assert torch.allclose(found, torch.autograd.grad(both, here.operations)[0])
