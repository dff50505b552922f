"""The listings on `torch.autograd` and `torch.nn` of PyTorch's notes on extending it, of versions 0.3, 1.5 and 1.7.

Each runs as it was printed, with `import tensorlike as torch`. Where a listing has a slip of its own, so it says. A
tutorial on custom functions, which follows the same notes, is here too.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import tensorlike as torch
from tensorlike import nn
from tensorlike.autograd import Function, Variable, gradcheck, gradgradcheck

# ---------------------------------------------------------------------------------------------------------------------
# torch.autograd: Function
# ---------------------------------------------------------------------------------------------------------------------


class LinearFunction(Function):
    """As in 1.5 and 1.7."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class OldestLinearFunction(LinearFunction):
    """As in 0.3: `saved_variables`, and one more squeeze."""

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_variables
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0).squeeze(0)
        return grad_input, grad_weight, grad_bias


class MulConstant(Function):
    """As in 0.3, 1.5 and 1.7."""

    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.constant, None


class MulConstantUnmaterialized(Function):
    """As in 1.7, the second form."""

    seen: list[Any] = []

    @staticmethod
    def forward(ctx, tensor, constant):
        ctx.set_materialize_grads(False)
        ctx.constant = constant
        return tensor * constant

    @staticmethod
    def backward(ctx, grad_output):
        MulConstantUnmaterialized.seen.append(grad_output)
        if grad_output is None:
            return None, None
        return grad_output * ctx.constant, None


@pytest.fixture
def _old_name_may_warn() -> Any:
    """Let `saved_variables` warn or not; if it does, the warning is a DeprecationWarning that names its successor."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        assert issubclass(warning.category, DeprecationWarning)
        assert "saved_tensors" in str(warning.message)


LINEAR_FUNCTIONS = [LinearFunction, OldestLinearFunction]


@pytest.mark.usefixtures("_old_name_may_warn")
@pytest.mark.parametrize("function", LINEAR_FUNCTIONS)
def test_linear_function(function: Any) -> None:
    linear = function.apply
    input = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    weight = torch.tensor([[1.0, 0.0, -1.0], [2.0, 1.0, 0.0]], requires_grad=True)
    bias = torch.tensor([10.0, 20.0], requires_grad=True)
    output = linear(input, weight, bias)
    assert output.tolist() == [[8.0, 24.0], [8.0, 33.0]]
    output.backward(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    assert input.grad.tolist() == [[1.0, 0.0, -1.0], [4.0, 2.0, 0.0]]
    assert weight.grad.tolist() == [[1.0, 2.0, 3.0], [8.0, 10.0, 12.0]]
    assert bias.grad.tolist() == [1.0, 2.0]


@pytest.mark.usefixtures("_old_name_may_warn")
@pytest.mark.parametrize("function", LINEAR_FUNCTIONS)
def test_linear_function_without_bias_returns_one_none_too_many(function: Any) -> None:
    input = torch.tensor([[1.0, 2.0]], requires_grad=True)
    weight = torch.tensor([[3.0, 4.0]], requires_grad=True)
    output = function.apply(input, weight)
    assert output.tolist() == [[11.0]]
    output.backward()
    assert input.grad.tolist() == [[3.0, 4.0]]
    assert weight.grad.tolist() == [[1.0, 2.0]]


@pytest.mark.usefixtures("_old_name_may_warn")
@pytest.mark.parametrize("function", LINEAR_FUNCTIONS)
@pytest.mark.parametrize("needed", [(True, False, False), (False, True, False), (False, False, True)])
def test_linear_function_computes_what_is_needed(function: Any, needed: tuple[bool, ...]) -> None:
    asked = []

    class Recording(function):
        @staticmethod
        def backward(ctx, grad_output):
            gradients = function.backward(ctx, grad_output)
            asked.append((ctx.needs_input_grad, tuple(gradient is not None for gradient in gradients)))
            return gradients

    shapes = ((4, 3), (2, 3), (2,))
    tensors = [torch.randn(*shape, requires_grad=flag) for shape, flag in zip(shapes, needed)]
    Recording.apply(*tensors).sum().backward()
    assert asked == [(needed, needed)]
    assert tuple(tensor.grad is not None for tensor in tensors) == needed


def test_mul_constant() -> None:
    tensor = torch.tensor([1.0, 2.0], requires_grad=True)
    output = MulConstant.apply(tensor, 3)
    assert output.tolist() == [3.0, 6.0]
    output.sum().backward()
    assert tensor.grad.tolist() == [3.0, 3.0]


class PassOnNothing(Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return None


def test_mul_constant_without_materialized_gradients() -> None:
    MulConstantUnmaterialized.seen.clear()
    tensor = torch.tensor([1.0, 2.0], requires_grad=True)
    MulConstantUnmaterialized.apply(tensor, 3).sum().backward()
    assert tensor.grad.tolist() == [3.0, 3.0]

    tensor = torch.tensor([1.0, 2.0], requires_grad=True)
    PassOnNothing.apply(MulConstantUnmaterialized.apply(tensor, 3)).sum().backward()
    assert tensor.grad is None
    assert [gradient is None for gradient in MulConstantUnmaterialized.seen] == [False, True]

    # The first form is handed zeros there.
    PassOnNothing.apply(MulConstant.apply(tensor, 3)).sum().backward()
    assert tensor.grad.tolist() == [0.0, 0.0]


def test_the_last_argument_may_be_anything_and_lists_are_not_searched() -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx, tensor, others, settings):
            assert not torch.is_grad_enabled()
            ctx.factor = settings["factor"] * sum(other.sum().item() for other in others)
            return tensor * ctx.factor

        @staticmethod
        def backward(ctx, grad_output):
            assert ctx.needs_input_grad == (True, False, False)
            return grad_output * ctx.factor, None, None

    tensor, other = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    output = Scale.apply(tensor, [other], {"factor": 2})
    assert output.tolist() == [6.0, 6.0]
    output.sum().backward()
    assert tensor.grad.tolist() == [6.0, 6.0]
    assert other.grad is None


def test_which_outputs_require_gradients() -> None:
    class Outputs(Function):
        @staticmethod
        def forward(ctx, tensor):
            marked = tensor * 2
            ctx.mark_non_differentiable(marked)
            return tensor * 3, marked, tensor.long()

        @staticmethod
        def backward(ctx, grad_output, grad_marked, grad_integers):
            return grad_output * 3

    tensor = torch.tensor([1.0, 2.0], requires_grad=True)
    outputs = Outputs.apply(tensor)
    assert [output.requires_grad for output in outputs] == [True, False, False]
    outputs[0].sum().backward()
    assert tensor.grad.tolist() == [3.0, 3.0]


def test_an_input_changed_in_place_is_marked_dirty() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx, tensor):
            ctx.mark_dirty(tensor)
            return tensor.mul_(2)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 2

    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    tensor = leaf.clone()
    assert Double.apply(tensor) is tensor
    assert tensor.tolist() == [2.0, 4.0]
    (tensor * tensor).sum().backward()
    assert leaf.grad.tolist() == [8.0, 16.0]


def test_a_backward_of_differentiable_operations_has_higher_derivatives() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx, tensor):
            ctx.save_for_backward(tensor)
            return tensor * tensor * tensor

        @staticmethod
        def backward(ctx, grad_output):
            (tensor,) = ctx.saved_tensors
            # Another custom function inside, as the note allows.
            return MulConstant.apply(grad_output * tensor * tensor, 3)

    tensor = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(tensor).sum(), tensor, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), tensor, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), tensor)
    assert [first.item(), second.item(), third.item()] == [12.0, 12.0, 6.0]


def test_an_intermediate_is_differentiated_through_when_it_is_an_output() -> None:
    class OnContext(Function):
        @staticmethod
        def forward(ctx, tensor):
            ctx.square = tensor * tensor
            return tensor * ctx.square

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 3 * ctx.square

    class AsOutput(Function):
        @staticmethod
        def forward(ctx, tensor):
            square = tensor * tensor
            ctx.save_for_backward(tensor, square)
            return tensor * square, square

        @staticmethod
        def backward(ctx, grad_output, grad_square):
            tensor, square = ctx.saved_tensors
            return grad_output * 3 * square + grad_square * 2 * tensor

    tensor = torch.tensor([2.0], requires_grad=True)
    grad_output = torch.ones(1, requires_grad=True)
    (first,) = torch.autograd.grad(OnContext.apply(tensor), tensor, grad_output, create_graph=True)
    assert first.item() == 12.0
    assert torch.autograd.grad(first.sum(), tensor, allow_unused=True) == (None,)

    (first,) = torch.autograd.grad(AsOutput.apply(tensor)[0], tensor, grad_output, create_graph=True)
    assert first.item() == 12.0
    assert torch.autograd.grad(first.sum(), tensor)[0].item() == 12.0


# ---------------------------------------------------------------------------------------------------------------------
# torch.autograd: gradcheck
# ---------------------------------------------------------------------------------------------------------------------


def test_gradcheck() -> None:
    linear = LinearFunction.apply
    input = (
        torch.randn(20, 20, dtype=torch.double, requires_grad=True),
        torch.randn(30, 20, dtype=torch.double, requires_grad=True),
    )
    assert gradcheck(linear, input, eps=1e-6, atol=1e-4) is True


@pytest.mark.usefixtures("_old_name_may_warn")
def test_oldest_gradcheck() -> None:
    # The listing passes Linear.apply, by which it means the function.
    Linear = OldestLinearFunction
    input = (
        Variable(torch.randn(20, 20).double(), requires_grad=True),
        Variable(torch.randn(30, 20).double(), requires_grad=True),
    )
    assert all(isinstance(variable, torch.Tensor) and variable.requires_grad for variable in input)
    assert gradcheck(Linear.apply, input, eps=1e-6, atol=1e-4) is True


def test_gradgradcheck() -> None:
    shapes = ((3, 2), (4, 2), (4,))
    input = tuple(torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in shapes)
    assert gradgradcheck(LinearFunction.apply, input) is True


def test_gradcheck_refuses_a_wrong_backward() -> None:
    class Wrong(LinearFunction):
        @staticmethod
        def backward(ctx, grad_output):
            grad_input, grad_weight, grad_bias = LinearFunction.backward(ctx, grad_output)
            return grad_input, grad_weight * 1.01, grad_bias

    input = tuple(torch.randn(3, 2, dtype=torch.double, requires_grad=True) for _ in range(2))
    assert gradcheck(Wrong.apply, input, raise_exception=False) is False
    with pytest.raises(RuntimeError, match="input 1"):
        gradcheck(Wrong.apply, input)


# ---------------------------------------------------------------------------------------------------------------------
# torch.nn: a Module
# ---------------------------------------------------------------------------------------------------------------------


class Linear(nn.Module):
    """As in 1.7."""

    def __init__(self, input_features, output_features, bias=True):
        super(Linear, self).__init__()  # noqa: UP008 -- as printed
        self.input_features = input_features
        self.output_features = output_features
        self.weight = nn.Parameter(torch.Tensor(output_features, input_features))
        if bias:
            self.bias = nn.Parameter(torch.Tensor(output_features))
        else:
            self.register_parameter("bias", None)
        self.weight.data.uniform_(-0.1, 0.1)
        if self.bias is not None:
            self.bias.data.uniform_(-0.1, 0.1)

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)

    def extra_repr(self):
        return "input_features={}, output_features={}, bias={}".format(  # noqa: UP032 -- as printed
            self.input_features, self.output_features, self.bias is not None
        )


def test_uninitialized_tensor_of_a_shape() -> None:
    tensor = torch.Tensor(2, 3)
    assert (tuple(tensor.shape), tensor.dtype) == ((2, 3), torch.float32)


def test_linear_module() -> None:
    module = Linear(4, 3)
    assert repr(module) == "Linear(input_features=4, output_features=3, bias=True)"
    parameters = dict(module.named_parameters())
    assert {name: tuple(parameter.shape) for name, parameter in parameters.items()} == {"weight": (3, 4), "bias": (3,)}
    for parameter in parameters.values():
        assert isinstance(parameter, nn.Parameter)
        assert parameter.requires_grad
        assert parameter.is_leaf
        assert 0 < parameter.abs().max().item() <= 0.1

    input = torch.randn(5, 4)
    output = module(input)
    expected = input.numpy() @ module.weight.detach().numpy().T + module.bias.detach().numpy()
    np.testing.assert_allclose(output.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    output.sum().backward()
    np.testing.assert_allclose(module.weight.grad.numpy(), np.tile(input.numpy().sum(0), (3, 1)), rtol=1e-5, atol=1e-6)
    assert module.bias.grad.tolist() == [5.0, 5.0, 5.0]


def test_linear_module_without_bias() -> None:
    module = Linear(4, 3, bias=False)
    assert repr(module) == "Linear(input_features=4, output_features=3, bias=False)"
    assert module.bias is None
    assert list(dict(module.named_parameters())) == ["weight"]
    assert list(module.state_dict()) == ["weight"]
    module(torch.ones(2, 4)).sum().backward()
    assert module.weight.grad.tolist() == [[2.0] * 4] * 3


def test_linear_module_of_1_5_names_attributes_it_does_not_have() -> None:
    class Linear1_5(Linear):
        def extra_repr(self):
            return "in_features={}, out_features={}, bias={}".format(  # noqa: UP032 -- as printed
                self.in_features, self.out_features, self.bias is not None
            )

    with pytest.raises(AttributeError, match="'Linear1_5' object has no attribute 'in_features'"):
        repr(Linear1_5(4, 3))


def test_linear_module_of_0_3_asks_the_argument_instead_of_the_attribute() -> None:
    class Linear0_3(nn.Module):
        def __init__(self, input_features, output_features, bias=True):
            super(Linear0_3, self).__init__()  # noqa: UP008 -- as printed
            self.weight = nn.Parameter(torch.Tensor(output_features, input_features))
            if bias:
                self.bias = nn.Parameter(torch.Tensor(output_features))
            else:
                self.register_parameter("bias", None)
            self.weight.data.uniform_(-0.1, 0.1)
            if bias is not None:
                self.bias.data.uniform_(-0.1, 0.1)

    assert repr(Linear0_3(4, 3)) == "Linear0_3()"
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'data'"):
        Linear0_3(4, 3, bias=False)


# ---------------------------------------------------------------------------------------------------------------------
# The tutorial on custom functions
# ---------------------------------------------------------------------------------------------------------------------


def test_tutorial_function_of_several_inputs_and_outputs() -> None:
    class SumAndProduct(Function):
        @staticmethod
        def forward(ctx, first, second):
            ctx.save_for_backward(first, second)
            return first + second, first * second

        @staticmethod
        def backward(ctx, grad_sum, grad_product):
            first, second = ctx.saved_tensors
            return grad_sum + grad_product * second, grad_sum + grad_product * first

    first, second = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
    outputs = SumAndProduct.apply(first, second)
    assert [output.item() for output in outputs] == [7.0, 10.0]
    (outputs[0] * 100 + outputs[1]).backward()
    assert [first.grad.item(), second.grad.item()] == [105.0, 102.0]

    # With only one output used, the other's gradient arrives as zeros.
    assert [g.item() for g in torch.autograd.grad(SumAndProduct.apply(first, second)[1], (first, second))] == [5.0, 2.0]


def test_tutorial_two_ways_to_call() -> None:
    alias = LinearFunction.apply

    def wrapped(input, weight, bias=None):
        return LinearFunction.apply(input, weight, bias)

    input, weight, bias = torch.ones(1, 2), torch.tensor([[1.0, 2.0]]), torch.tensor([4.0])
    assert alias(input, weight, bias).tolist() == [[7.0]]
    assert wrapped(input, bias=bias, weight=weight).tolist() == [[7.0]]
    assert wrapped(input, weight).tolist() == [[3.0]]


def test_tutorial_computation_by_another_library() -> None:
    class Sinc(Function):
        @staticmethod
        def forward(ctx, tensor):
            values = tensor.detach().numpy()
            ctx.slope = torch.from_numpy((np.cos(np.pi * values) - np.sinc(values)) / values)
            return torch.from_numpy(np.sinc(values))

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * ctx.slope

    tensor = torch.tensor([0.5, 1.5], dtype=torch.double, requires_grad=True)
    output = Sinc.apply(tensor)
    assert output.requires_grad
    assert output[0].item() == pytest.approx(2 / np.pi)
    assert gradcheck(Sinc.apply, (tensor,)) is True
