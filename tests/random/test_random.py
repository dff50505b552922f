"""Random numbers: their distributions, seeds, generators, states, threads and errors.

The seeds are fixed, so that a moment that is off by more than five of its standard errors is off in every run.
"""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl

ROOT = Path(__file__).parents[2]
COUNT = 40_000


def values(tensor):
    return tensor.detach().numpy().astype(np.float64)


def assert_moments(sample, mean, variance):
    """Mean and variance agree with the distribution's, as well as so many samples can tell."""
    found = np.asarray(sample, np.float64).ravel()
    deviation = math.sqrt(variance)
    assert abs(found.mean() - mean) < 5 * deviation / math.sqrt(found.size) + 1e-12
    # The variance of a sample variance is at most some ten times variance**2 / n for what is drawn here.
    assert abs(found.var() - variance) < 5 * variance * math.sqrt(10 / found.size) + 1e-12


def same(a, b):
    return np.array_equal(a.numpy(), b.numpy())


# ------------------------------------------------------------------------------------------------------- distributions


class TestFactories:
    @pytest.mark.parametrize("dtype", [tl.float16, tl.float32, tl.float64])
    def test_rand_is_uniform_on_the_half_open_unit_interval(self, dtype):
        drawn = tl.rand(COUNT, dtype=dtype)
        assert drawn.dtype is dtype
        found = values(drawn)
        assert found.min() >= 0
        assert found.max() < 1
        assert_moments(found, 0.5, 1 / 12)
        counts, _ = np.histogram(found, bins=10, range=(0, 1))
        assert np.abs(counts - COUNT / 10).max() < 5 * math.sqrt(COUNT / 10)

    def test_rand_complex_fills_both_parts(self):
        found = tl.rand(COUNT, dtype=tl.complex64).numpy()
        assert found.dtype == np.complex64
        assert_moments(found.real, 0.5, 1 / 12)
        assert_moments(found.imag, 0.5, 1 / 12)
        assert abs(np.corrcoef(found.real, found.imag)[0, 1]) < 5 / math.sqrt(COUNT)

    @pytest.mark.parametrize("dtype", [tl.float16, tl.float32, tl.float64])
    def test_randn_is_standard_normal(self, dtype):
        drawn = tl.randn(COUNT, dtype=dtype)
        assert drawn.dtype is dtype
        found = values(drawn)
        assert_moments(found, 0, 1)
        below_one = 0.841345
        assert abs(np.mean(found < 1) - below_one) < 5 * math.sqrt(below_one * (1 - below_one) / COUNT)

    def test_randn_complex_has_variance_one(self):
        found = tl.randn(COUNT, dtype=tl.complex128).numpy()
        assert_moments(found.real, 0, 0.5)
        assert_moments(found.imag, 0, 0.5)

    @pytest.mark.parametrize("dtype", [tl.int64, tl.int32, tl.uint8, tl.float32, tl.float16])
    def test_randint_reaches_every_number_equally_often(self, dtype):
        drawn = tl.randint(3, 8, (COUNT,), dtype=dtype)
        assert drawn.dtype is dtype
        numbers, counts = np.unique(values(drawn), return_counts=True)
        assert numbers.tolist() == [3, 4, 5, 6, 7]
        assert np.abs(counts - COUNT / 5).max() < 5 * math.sqrt(COUNT / 5)

    def test_randint_has_two_forms_and_keywords(self):
        assert set(tl.randint(2, (100,)).tolist()) == {0, 1}
        assert set(tl.randint(-2, 0, (100,)).tolist()) == {-2, -1}
        assert tl.randint(high=3, size=(2, 3)).shape == (2, 3)
        assert tl.randint(low=1, high=3, size=[4]).shape == (4,)
        assert tl.randint(5, ()).shape == ()
        assert tl.randint(0, 2, (50,), dtype=tl.bool).dtype is tl.bool

    def test_randint_reaches_the_largest_int64(self):
        found = tl.randint(2**63 - 3, 2**63 - 1, (100,))
        assert set(found.tolist()) == {2**63 - 3, 2**63 - 2}

    def test_randperm_is_a_permutation_in_any_order(self):
        assert sorted(tl.randperm(100).tolist()) == list(range(100))
        orders = {tuple(tl.randperm(3).tolist()) for _ in range(200)}
        assert len(orders) == 6
        assert tl.randperm(0).shape == (0,)
        assert tl.randperm(5, dtype=tl.float32).dtype is tl.float32

    def test_normal_of_numbers(self):
        assert_moments(values(tl.normal(3.0, 2.0, (COUNT,))), 3, 4)
        assert tl.normal(0, 1, (2,), dtype=tl.float64).dtype is tl.float64

    def test_normal_of_tensors_draws_each_with_its_own_parameters(self):
        mean = tl.tensor([[0.0], [100.0]])
        std = tl.tensor([1.0, 10.0, 0.0]).repeat_interleave(COUNT // 4)
        found = values(tl.normal(mean, std)).reshape(2, 3, COUNT // 4)
        for row, center in enumerate((0, 100)):
            for column, width in enumerate((1, 10, 0)):
                assert_moments(found[row, column], center, width**2)

    def test_the_result_of_normal_has_the_dtype_of_the_mean(self):
        assert tl.normal(tl.zeros(2, dtype=tl.float64), tl.ones(2)).dtype is tl.float64
        assert tl.normal(tl.zeros(2), tl.ones(2, dtype=tl.float64)).dtype is tl.float32
        assert tl.normal(tl.zeros(2)).shape == (2,)
        assert tl.normal(0.0, tl.ones(2, dtype=tl.float64)).dtype is tl.float64

    def test_like_functions_take_shape_and_dtype_from_their_argument(self):
        like = tl.zeros(2, 3, dtype=tl.float64)
        for function in (tl.rand_like, tl.randn_like):
            assert (function(like).shape, function(like).dtype) == ((2, 3), tl.float64)
            assert function(like, dtype=tl.float32).dtype is tl.float32
            assert function(like, requires_grad=True).requires_grad
        assert tl.randint_like(like, 3).dtype is tl.float64
        assert set(tl.randint_like(tl.zeros(99), 2, 4).tolist()) == {2, 3}

    def test_out_is_written_in_its_own_dtype(self):
        out = tl.zeros(3, dtype=tl.float64)
        assert tl.rand(3, out=out) is out
        assert out.dtype is tl.float64
        assert bool((out > 0).all())
        assert out._version == 1
        with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter \(Double\)"):
            tl.rand(3, out=out, dtype=tl.float32)

    def test_requires_grad(self):
        assert tl.rand(2, requires_grad=True).is_leaf
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require grad"):
            tl.randint(3, (2,), requires_grad=True)


class TestInPlace:
    def test_uniform(self):
        found = values(tl.empty(COUNT).uniform_(-2, 3))
        assert found.min() >= -2
        assert found.max() < 3
        assert_moments(found, 0.5, 25 / 12)

    def test_uniform_leaves_the_upper_bound_out(self):
        # Single precision has two numbers here: rounding would give the upper one half of the time.
        low, high = 16777216.0, 16777218.0
        assert set(tl.empty(1000).uniform_(low, high).tolist()) == {low}

    def test_normal(self):
        assert_moments(values(tl.empty(COUNT).normal_(-1, 0.5)), -1, 0.25)

    def test_random(self):
        assert set(tl.empty(200, dtype=tl.int64).random_(3).tolist()) == {0, 1, 2}
        assert set(tl.empty(200).random_(-1, 1).tolist()) == {-1, 0}
        assert set(tl.empty(200, dtype=tl.bool).random_().tolist()) == {False, True}
        found = values(tl.empty(COUNT, dtype=tl.uint8).random_())
        assert (found.min(), found.max()) == (0, 255)
        single = values(tl.empty(COUNT).random_())
        assert single.max() <= 2**24
        assert_moments(single, 2**23, 2**48 / 12)

    def test_bernoulli(self):
        assert_moments(values(tl.empty(COUNT).bernoulli_(0.3)), 0.3, 0.21)
        assert_moments(values(tl.empty(COUNT, dtype=tl.int64).bernoulli_()), 0.5, 0.25)
        p = tl.tensor([0.0, 0.25, 1.0], dtype=tl.float64)
        found = values(tl.empty(COUNT, 3).bernoulli_(p))
        assert_moments(found[:, 0], 0, 0)
        assert_moments(found[:, 1], 0.25, 0.1875)
        assert_moments(found[:, 2], 1, 0)

    def test_exponential(self):
        found = values(tl.empty(COUNT).exponential_(4))
        assert found.min() >= 0
        assert_moments(found, 0.25, 1 / 16)

    def test_geometric(self):
        found = values(tl.empty(COUNT).geometric_(0.3))
        assert found.min() == 1
        assert_moments(found, 1 / 0.3, 0.7 / 0.09)
        assert abs(np.mean(found == 1) - 0.3) < 5 * math.sqrt(0.21 / COUNT)

    def test_cauchy_by_its_quartiles(self):
        found = values(tl.empty(COUNT).cauchy_(5, 2))
        assert np.quantile(found, [0.25, 0.5, 0.75]) == pytest.approx([3, 5, 7], abs=0.2)

    def test_log_normal(self):
        assert_moments(np.log(values(tl.empty(COUNT, dtype=tl.float64).log_normal_(0.5, 0.25))), 0.5, 1 / 16)

    def test_the_tensor_is_returned_and_its_version_counted(self):
        for fill in (
            lambda x: x.uniform_(), lambda x: x.normal_(), lambda x: x.random_(), lambda x: x.bernoulli_(),
            lambda x: x.exponential_(), lambda x: x.geometric_(0.5), lambda x: x.cauchy_(), lambda x: x.log_normal_(),
        ):  # fmt: skip
            tensor = tl.ones(3)
            assert fill(tensor) is tensor
            assert tensor._version == 1

    def test_strided_tensors_are_filled_and_nothing_else(self):
        base = tl.full((4, 6), 7.0)
        base[:, ::2].uniform_(0, 1)
        assert bool((base[:, 1::2] == 7).all())
        assert bool((base[:, ::2] < 1).all())

    def test_a_leaf_that_requires_grad_is_written_under_no_grad_alone(self):
        leaf = tl.ones(3, requires_grad=True)
        for fill in (lambda: leaf.normal_(), lambda: leaf.bernoulli_(0.5)):
            with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
                fill()
        with tl.no_grad():
            leaf.fill_(2).uniform_()
        assert leaf.is_leaf
        assert bool((leaf < 1).all())

    def test_an_expanded_tensor_is_refused(self):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single"):
            tl.ones(1).expand(3).uniform_()

    @pytest.mark.parametrize("fill", ["normal_", "uniform_", "exponential_", "bernoulli_"])
    def test_nothing_flows_back_to_what_was_overwritten(self, fill):
        x = tl.ones(3, requires_grad=True)
        y = x * 2
        getattr(y, fill)()
        assert y.requires_grad
        (y * 3).sum().backward()
        assert x.grad.tolist() == [0, 0, 0]


class TestFunctionsOfParameters:
    def test_bernoulli(self):
        found = values(tl.bernoulli(tl.tensor([0.1, 0.5, 0.9]).expand(COUNT, 3)))
        assert set(np.unique(found)) == {0, 1}
        for column, p in enumerate((0.1, 0.5, 0.9)):
            assert_moments(found[:, column], p, p * (1 - p))

    def test_a_small_probability_is_met_exactly(self):
        # Numbers of 24 bits would hit it twice as often, or never.
        hits = values(tl.empty(4_000_000).bernoulli_(0.6 * 2**-20)).sum()
        assert abs(hits - 4_000_000 * 0.6 * 2**-20) < 5 * math.sqrt(2.3)

    def test_bernoulli_with_a_number_ignores_the_values(self):
        found = tl.bernoulli(tl.full((COUNT,), 7), 0.25)
        assert found.dtype is tl.int64
        assert_moments(values(found), 0.25, 0.1875)

    def test_poisson(self):
        rates = (0.0, 0.5, 4.0, 300.0)
        found = values(tl.poisson(tl.tensor(rates).expand(COUNT, 4)))
        for column, rate in enumerate(rates):
            assert_moments(found[:, column], rate, rate)

    def test_multinomial_with_replacement(self):
        weights = tl.tensor([[1.0, 0.0, 3.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
        found = tl.multinomial(weights, COUNT, replacement=True).numpy()
        assert found.dtype == np.int64
        assert found.shape == (2, COUNT)
        assert_moments(found[0] == 2, 0.75, 0.1875)
        assert set(found[0]) == {0, 2}
        assert set(found[1]) == {1}

    def test_multinomial_without_replacement(self):
        weights = tl.tensor([1.0, 2.0, 3.0, 4.0]).expand(COUNT // 4, 4)
        found = tl.multinomial(weights, 4).numpy()
        assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(4), (COUNT // 4, 1)))
        # The first of a sample without replacement is drawn as with it.
        for index, p in enumerate((0.1, 0.2, 0.3, 0.4)):
            assert_moments(found[:, 0] == index, p, p * (1 - p))
        # So is the second, among the rest.
        rest = found[found[:, 0] == 3, 1]
        for index, p in enumerate((1 / 6, 2 / 6, 3 / 6)):
            assert_moments(rest == index, p, p * (1 - p))

    def test_many_rows_of_weights_are_kept_apart(self):
        weights = tl.eye(7).repeat(3000, 1)
        found = tl.multinomial(weights, 5, replacement=True)
        assert np.array_equal(found.numpy(), np.tile(np.arange(7)[:, None], (3000, 5)))

    @pytest.mark.parametrize("function", [tl.bernoulli, tl.poisson, lambda p: tl.normal(p, 1.0)])
    def test_the_gradient_of_a_parameter_is_zero(self, function):
        p = tl.full((3,), 0.5, requires_grad=True)
        function(p).sum().backward()
        assert p.grad.tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------------- seeds and generators


class TestSeeds:
    def test_the_same_seed_gives_the_same_numbers(self):
        def draw():
            return [
                tl.rand(5), tl.randn(5), tl.randint(9, (5,)), tl.randperm(9), tl.normal(tl.zeros(3), 2.0),
                tl.bernoulli(tl.full((9,), 0.5)), tl.poisson(tl.full((9,), 3.0)), tl.multinomial(tl.ones(9), 3),
                tl.empty(3).uniform_(), tl.empty(3).exponential_(), tl.empty(3).cauchy_(), tl.empty(9).random_(),
            ]  # fmt: skip

        tl.manual_seed(7)
        first = draw()
        assert not all(same(a, b) for a, b in zip(first, draw()))
        assert tl.manual_seed(7) is tl.default_generator
        assert all(same(a, b) for a, b in zip(first, draw()))

    def test_other_seeds_give_other_numbers(self):
        firsts = {tl.rand((), generator=tl.Generator().manual_seed(n)).item() for n in range(100)}
        assert len(firsts) == 100

    def test_a_generator_that_nobody_seeded_starts_from_a_known_seed(self):
        assert tl.Generator().initial_seed() == tl.Generator().initial_seed()
        assert same(tl.rand(3, generator=tl.Generator()), tl.rand(3, generator=tl.Generator()))

    @pytest.mark.parametrize("given, kept", [(5, 5), (-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1)])
    def test_seeds_have_64_bits(self, given, kept):
        assert tl.Generator().manual_seed(given).initial_seed() == kept
        tl.manual_seed(given)
        assert tl.initial_seed() == kept

    @pytest.mark.parametrize("bad", [2**64, -(2**63) - 1])
    def test_larger_seeds_are_refused(self, bad):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            tl.manual_seed(bad)
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            tl.Generator().manual_seed(bad)

    def test_seeds_are_integers(self):
        with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
            tl.Generator().manual_seed(1.5)
        with pytest.raises(ValueError, match="invalid literal"):
            tl.manual_seed("a")
        assert tl.manual_seed(1.5).initial_seed() == 1

    def test_seed_takes_one_from_the_system(self):
        assert tl.seed() != tl.seed()
        number = tl.seed()
        assert tl.initial_seed() == number
        drawn = tl.rand(3)
        assert same(tl.rand(3, generator=tl.Generator().manual_seed(number)), drawn)

    def test_programs_start_from_different_seeds(self):
        program = "import tensorlike as tl; print(tl.initial_seed())"
        found = {subprocess.check_output([sys.executable, "-c", program], text=True, cwd=ROOT) for _ in range(2)}
        assert len(found) == 2


class TestGenerators:
    def test_generators_do_not_see_each_other(self):
        one, other = tl.Generator().manual_seed(1), tl.Generator().manual_seed(2)
        alone = [tl.rand(3, generator=one) for _ in range(3)]
        one.manual_seed(1)
        mixed = []
        for _ in range(3):
            tl.rand(5, generator=other)
            tl.rand(5)
            mixed.append(tl.rand(3, generator=one))
        assert all(same(a, b) for a, b in zip(alone, mixed))

    def test_a_generator_leaves_the_default_one_alone(self):
        tl.manual_seed(3)
        expected = tl.rand(3)
        tl.manual_seed(3)
        tl.rand(7, generator=tl.Generator())
        assert same(tl.rand(3), expected)

    @pytest.mark.parametrize(
        "draw",
        [
            lambda g: tl.rand(4, generator=g), lambda g: tl.randn(4, generator=g),
            lambda g: tl.randint(99, (4,), generator=g), lambda g: tl.randperm(9, generator=g),
            lambda g: tl.normal(0.0, 1.0, (4,), generator=g), lambda g: tl.normal(tl.zeros(4), 1.0, generator=g),
            lambda g: tl.rand_like(tl.ones(4), generator=g), lambda g: tl.randn_like(tl.ones(4), generator=g),
            lambda g: tl.randint_like(tl.ones(4), 99, generator=g),
            lambda g: tl.bernoulli(tl.full((40,), 0.5), generator=g), lambda g: tl.poisson(tl.full((9,), 9.0), g),
            lambda g: tl.multinomial(tl.ones(40), 9, generator=g), lambda g: tl.empty(4).uniform_(generator=g),
            lambda g: tl.empty(4).normal_(generator=g), lambda g: tl.empty(4).random_(generator=g),
            lambda g: tl.empty(40).bernoulli_(generator=g), lambda g: tl.empty(4).exponential_(generator=g),
            lambda g: tl.empty(9).geometric_(0.1, generator=g), lambda g: tl.empty(4).cauchy_(generator=g),
            lambda g: tl.empty(4).log_normal_(generator=g),
        ],
    )  # fmt: skip
    def test_everything_that_draws_takes_one(self, draw):
        first = draw(tl.Generator().manual_seed(5))
        assert same(draw(tl.Generator().manual_seed(5)), first)
        assert not same(draw(tl.Generator().manual_seed(6)), first)
        with pytest.raises(TypeError, match=r"argument 'generator' must be tensorlike\.Generator, not int"):
            draw(5)

    def test_its_device(self):
        assert tl.Generator().device == tl.device("cpu")
        assert tl.Generator(device=None).device == tl.device("cpu")
        with pytest.raises(RuntimeError, match="device 'meta' has no elements"):
            tl.Generator("meta")

    def test_its_text_names_device_and_seed(self):
        assert repr(tl.Generator().manual_seed(4)) == "<tensorlike.Generator on cpu, seeded with 4>"


class TestStates:
    def test_round_trip(self):
        generator = tl.Generator().manual_seed(1)
        tl.rand(3, generator=generator)
        state = generator.get_state()
        assert (state.dtype, state.device) == (tl.uint8, tl.device("cpu"))
        first = [tl.rand(3, generator=generator), tl.randint(9, (3,), generator=generator)]
        assert generator.set_state(state) is generator
        assert generator.initial_seed() == 1
        assert all(
            same(a, b)
            for a, b in zip(first, [tl.rand(3, generator=generator), tl.randint(9, (3,), generator=generator)])
        )

    def test_half_of_a_number_that_was_kept_back_is_part_of_it(self):
        generator = tl.Generator().manual_seed(1)
        # A single number of 32 bits leaves the other half of 64 bits for the next one.
        tl.rand((), generator=generator)
        state = generator.get_state()
        first = tl.rand(4, generator=generator)
        assert same(tl.rand(4, generator=tl.Generator().set_state(state)), first)

    @pytest.mark.parametrize(
        "duplicate", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy, tl.Generator.clone_state]
    )
    def test_copies_go_on_from_the_same_place(self, duplicate):
        generator = tl.Generator().manual_seed(9)
        tl.randn(3, generator=generator)
        other = duplicate(generator)
        assert other is not generator
        assert other.initial_seed() == 9
        expected = tl.randn(3, generator=generator)
        assert same(tl.randn(3, generator=other), expected)

    def test_of_the_default_generator(self):
        state = tl.get_rng_state()
        first = tl.rand(3)
        tl.set_rng_state(state)
        assert same(tl.rand(3), first)
        assert same(tl.random.get_rng_state(), tl.default_generator.get_state())

    def test_what_is_no_state_is_refused(self):
        generator = tl.Generator()
        before = generator.get_state()
        with pytest.raises(TypeError, match=r"expected a tensorlike\.ByteTensor, but got int"):
            generator.set_state(3)
        with pytest.raises(TypeError, match=r"RNG state must be a tensorlike\.ByteTensor"):
            generator.set_state(tl.zeros(48))
        with pytest.raises(RuntimeError, match="but found the input RNG state size to be 3"):
            generator.set_state(tl.zeros(3, dtype=tl.uint8))
        assert same(generator.get_state(), before)

    def test_fork_rng_brings_the_state_back(self):
        tl.manual_seed(2)
        expected = tl.rand(3)
        tl.manual_seed(2)
        with tl.random.fork_rng():
            tl.manual_seed(99)
            tl.rand(5)
        assert tl.initial_seed() == 2
        assert same(tl.rand(3), expected)

    def test_fork_rng_brings_it_back_after_an_error_too(self):
        before = tl.get_rng_state()

        @tl.random.fork_rng()
        def fail():
            tl.rand(5)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert same(tl.get_rng_state(), before)

    def test_fork_rng_can_be_switched_off(self):
        before = tl.get_rng_state()
        with tl.random.fork_rng(enabled=False):
            tl.rand(5)
        assert not same(tl.get_rng_state(), before)


class TestThreads:
    def run(self, work, count=8):
        errors = []

        def guarded(index):
            try:
                work(index)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    def test_threads_that_share_a_generator_never_get_the_same_numbers(self):
        generator = tl.Generator().manual_seed(0)
        found = [[] for _ in range(8)]

        def work(index):
            for _ in range(50):
                found[index] += tl.rand(20, dtype=tl.float64, generator=generator).tolist()

        self.run(work)
        together = [x for part in found for x in part]
        assert len(set(together)) == len(together) == 8 * 50 * 20
        # Whatever the order, they are the numbers that one thread would have got.
        expected = tl.rand(8 * 50 * 20, dtype=tl.float64, generator=tl.Generator().manual_seed(0)).tolist()
        assert sorted(together) == sorted(expected)

    def test_threads_with_generators_of_their_own_get_reproducible_numbers(self):
        found = [None] * 8

        def work(index):
            generator = tl.Generator().manual_seed(index)
            found[index] = [tl.empty(100).normal_(generator=generator) for _ in range(20)][-1]

        self.run(work)
        first = list(found)
        self.run(work)
        assert all(same(a, b) for a, b in zip(first, found))

    def test_states_can_be_taken_while_others_draw(self):
        generator = tl.Generator().manual_seed(0)

        def work(index):
            for _ in range(50):
                if index % 2:
                    tl.randn(10, generator=generator)
                else:
                    tl.Generator().set_state(generator.get_state())

        self.run(work)


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: tl.rand(-1), RuntimeError, "Trying to create tensor with negative dimension -1"),
        (lambda: tl.rand("a"), TypeError, "must be tuple of ints"),
        (lambda: tl.rand(2, dtype=tl.int64), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.randn(2, dtype=tl.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: tl.randn_like(tl.ones(2, dtype=tl.int64)), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.randint(3, 3, (2,)), RuntimeError, "expects 'from' to be less than 'to', but got from=3 >= to=3"),
        (lambda: tl.randint(5), TypeError, "argument 'size' must be tuple of ints, not NoneType"),
        (lambda: tl.randint(0, 5, 2), TypeError, "argument 'size' must be tuple of ints, not int"),
        (lambda: tl.randint(1.5, (2,)), TypeError, "argument 'high' must be int, not float"),
        (lambda: tl.randint(0, 300, (2,), dtype=tl.uint8), RuntimeError, "to - 1 is out of bounds for .*uint8"),
        (lambda: tl.randint(-1, 3, (2,), dtype=tl.uint8), RuntimeError, "from is out of bounds for tensorlike.uint8"),
        (lambda: tl.randint(0, 70000, (2,), dtype=tl.float16), RuntimeError, "out of bounds for tensorlike.float16"),
        (lambda: tl.randint(0, 5, (2,), dtype=tl.complex64), RuntimeError, "only integral, floating-point and boolean"),
        (lambda: tl.randint(0, 2**63, (2,)), ValueError, "Overflow when unpacking long long"),
        (lambda: tl.randint_like(tl.ones(2)), TypeError, "argument 'high' must be int"),
        (lambda: tl.randint_like(tl.ones(2), 5, 3), RuntimeError, "from=5 >= to=3"),
        (lambda: tl.randperm(-1), RuntimeError, "negative dimension -1"),
        (lambda: tl.randperm(2.5), TypeError, "argument 'n' .*must be int, not float"),
        (lambda: tl.randperm(300, dtype=tl.uint8), RuntimeError, "cannot be converted to type tensorlike.uint8"),
        (lambda: tl.randperm(3000, dtype=tl.float16), RuntimeError, "n cannot be greater than 2049 for Half type"),
        (lambda: tl.randperm(4, dtype=tl.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: tl.normal(0.0, 1.0), TypeError, "received an invalid combination of arguments"),
        (lambda: tl.normal(tl.zeros(2), 1.0, (2,)), TypeError, "received an invalid combination of arguments"),
        (lambda: tl.normal(0.0, 1.0, 2), TypeError, "argument 'size' must be tuple of ints, not int"),
        (lambda: tl.normal(0.0, -1.0, (2,)), RuntimeError, r"normal expects std >= 0.0, but found std -1"),
        (lambda: tl.normal(tl.zeros(2), -1.0), RuntimeError, r"normal expects std >= 0.0, but found std -1"),
        (lambda: tl.normal(0.0, tl.tensor([1.0, -1.0])), RuntimeError, "normal expects all elements of std >= 0.0"),
        (lambda: tl.normal(tl.zeros(2), tl.ones(3)), RuntimeError, r"The size of tensor a \(2\) must match"),
        (lambda: tl.normal(tl.zeros(2, dtype=tl.int64), 1.0), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.bernoulli(tl.tensor([1.5])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (lambda: tl.bernoulli(tl.tensor([math.nan])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (lambda: tl.bernoulli(tl.ones(2), 1.5), RuntimeError, r"expects p to be in \[0, 1\], but got p=1.5"),
        (lambda: tl.bernoulli(tl.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.ones(2).bernoulli_(tl.ones(3)), RuntimeError, r"\[3\] do not broadcast to the tensor of"),
        (lambda: tl.ones(2, dtype=tl.complex64).bernoulli_(), NotImplementedError, "for 'ComplexFloat'"),
        (lambda: tl.poisson(tl.tensor([-1.0])), RuntimeError, "expected rate to be non-negative"),
        (lambda: tl.poisson(tl.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.multinomial(tl.ones(2), 3), RuntimeError, "samples without replacement"),
        (lambda: tl.multinomial(tl.ones(2), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
        (lambda: tl.multinomial(tl.zeros(2), 1), RuntimeError, r"invalid multinomial distribution \(sum of prob"),
        (lambda: tl.multinomial(tl.tensor([1.0, -1.0]), 1), RuntimeError, "either `inf`, `nan` or element < 0"),
        (lambda: tl.multinomial(tl.tensor([1, 2]), 1), RuntimeError, "only supports floating-point dtypes"),
        (lambda: tl.multinomial(tl.ones(2, 3, 4), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
        (lambda: tl.multinomial(tl.ones(2), 1.5), TypeError, "argument 'num_samples' .*must be int, not float"),
        (lambda: tl.ones(2).uniform_(2, 1), RuntimeError, r"but found from=2 > to=1"),
        (lambda: tl.ones(2).uniform_(0, math.inf), RuntimeError, "to is out of bounds for tensorlike.float32"),
        (lambda: tl.ones(2).uniform_(math.nan, 1), RuntimeError, "from is out of bounds for tensorlike.float32"),
        (lambda: tl.ones(2).uniform_("a"), TypeError, "must be float, not str"),
        (lambda: tl.ones(2, dtype=tl.int64).uniform_(), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.ones(2).normal_(0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda: tl.ones(2, dtype=tl.int64).normal_(), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.ones(2).random_(3, 3), RuntimeError, "from=3 >= to=3"),
        (lambda: tl.ones(2, dtype=tl.complex64).random_(), NotImplementedError, "not implemented for 'ComplexFloat'"),
        (lambda: tl.ones(2).exponential_(0), RuntimeError, "expects lambda > 0.0, but found lambda=0"),
        (lambda: tl.ones(2, dtype=tl.int64).exponential_(), RuntimeError, "you specified Long"),
        (lambda: tl.ones(2).geometric_(1), RuntimeError, r"expects p to be in \(0, 1\), but got p=1"),
        (lambda: tl.ones(2, dtype=tl.bool).geometric_(0.3), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: tl.ones(2).cauchy_(0, 0), RuntimeError, "expects sigma > 0.0, but found sigma=0"),
        (lambda: tl.ones(2).log_normal_(0, 0), RuntimeError, "expects std > 0.0, but found std=0"),
        (lambda: tl.ones(2, dtype=tl.int64).log_normal_(), NotImplementedError, "not implemented for 'Long'"),
    ],
)
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_range_that_single_precision_cannot_hold_is_warned_about():
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        tl.randint(0, 2**24 + 3, (2,), dtype=tl.float32)


def test_types_are_asked_about_what_takes_tensors():
    class Recorder(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    asked = []
    like = tl.full((3,), 0.5).as_subclass(Recorder)
    for call, expected in (
        (lambda: tl.rand_like(like), tl.rand_like),
        (lambda: tl.normal(like, 1.0), tl.normal),
        (lambda: tl.normal(0.0, like), tl.normal),
        (lambda: tl.bernoulli(like), tl.bernoulli),
        (lambda: tl.multinomial(like, 2), tl.multinomial),
        (lambda: like.clone().uniform_(), tl.Tensor.uniform_),
        (lambda: like.clone().bernoulli_(0.5), tl.Tensor.bernoulli_),
    ):
        asked.clear()
        assert type(call()) is Recorder
        assert asked[-1] is expected
        assert tl.rand(2).shape == (2,)


def test_modes_see_factories():
    from tensorlike.overrides import TorchFunctionMode

    class Recorder(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    asked = []
    with Recorder():
        tl.rand(2)
        tl.randperm(3)
        tl.empty(2).normal_()
    assert asked == [tl.rand, tl.randperm, tl.empty, tl.Tensor.normal_]


def test_binomial_has_the_mean_and_variance_it_should_have():
    tl.manual_seed(0)
    drawn = tl.binomial(tl.full((20000,), 10.0), tl.tensor(0.3))
    assert abs(float(drawn.mean()) - 3.0) < 0.05
    assert abs(float(drawn.var()) - 2.1) < 0.1
    assert tl.binomial(tl.tensor([3.0, float("nan")]), tl.tensor([2.0, 0.5])).isnan().tolist() == [False, True]
    p = tl.tensor([0.5], requires_grad=True)
    tl.binomial(tl.tensor([4.0]), p).sum().backward()
    assert p.grad.tolist() == [0]
