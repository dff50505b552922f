"""What every module does: registering, naming, saving, loading, converting, hooks, copying and printing."""

import copy
import gc
import pickle
import weakref
from collections import OrderedDict

import pytest

import tensorlike as tl
from tensorlike import nn


class Block(nn.Module):
    """Two layers, a parameter of its own, a buffer in the state and one that is not."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.scale = nn.Parameter(tl.tensor(2.0))
        self.register_buffer("mean", tl.zeros(3))
        self.register_buffer("cache", tl.ones(1), persistent=False)
        self.register_parameter("absent", None)

    def forward(self, input):
        return self.second(self.first(input)) * self.scale + self.mean


NAMES = ["scale", "first.weight", "first.bias", "second.0.weight", "second.0.bias"]
STATE = ["scale", "mean", *NAMES[1:]]


def same_state(a, b):
    first, second = a.state_dict(), b.state_dict()
    assert list(first) == list(second)
    return all(bool((first[key] == second[key]).all()) for key in first)


def double_output(module, args, output):
    return output * 2


class TestRegistration:
    def test_attributes_are_registered_by_what_they_are(self):
        block = Block()
        assert [name for name, _ in block.named_parameters()] == NAMES
        assert [name for name, _ in block.named_buffers()] == ["mean", "cache"]
        assert [name for name, _ in block.named_children()] == ["first", "second"]
        assert [name for name, _ in block.named_modules()] == ["", "first", "second", "second.0", "second.1"]
        assert list(block.state_dict()) == STATE
        assert block.absent is None
        assert "scale" not in vars(block)

    def test_names_can_have_a_prefix_and_stay_on_this_level(self):
        block = Block()
        assert [name for name, _ in block.named_parameters("a", recurse=False)] == ["a.scale"]
        assert [name for name, _ in block.named_modules(prefix="a")][1] == "a.first"
        assert len(list(block.parameters(recurse=False))) == 1
        assert len(list(block.modules())) == 5
        assert list(block.children()) == [block.first, block.second]
        assert len(list(block.buffers())) == 2

    def test_shared_parameters_are_counted_once(self):
        module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        module[1].weight = module[0].weight
        assert [name for name, _ in module.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
        assert len(list(module.named_parameters(remove_duplicate=False))) == 4

    def test_a_name_changes_its_kind(self):
        module = nn.Module()
        module.x = 3
        module.x = nn.Parameter(tl.ones(1))
        assert list(module._parameters) == ["x"]
        assert "x" not in vars(module)
        del module.x
        module.x = nn.Linear(1, 1)
        assert list(module._modules) == ["x"]
        module.x = None
        assert module.x is None
        del module.x
        module.x = nn.Buffer(tl.ones(1), persistent=False)
        assert [name for name, _ in module.named_buffers()] == ["x"]
        assert list(module.state_dict()) == []
        module.x = tl.zeros(1)
        assert module._buffers["x"].item() == 0
        assert list(module.state_dict()) == []
        module.x = nn.Buffer(tl.ones(1))
        assert list(module.state_dict()) == ["x"]
        module.x = nn.Parameter(tl.ones(1))
        assert list(module._buffers) == []
        assert [name for name, _ in module.named_parameters()] == ["x"]

    def test_none_removes_a_parameter_but_keeps_its_name(self):
        module = nn.Linear(2, 2)
        module.bias = None
        assert list(module.state_dict()) == ["weight"]
        with pytest.raises(
            TypeError, match=r"cannot assign 'int' as parameter 'bias' \(tensorlike.nn.Parameter or None"
        ):
            module.bias = 3
        module.bias = nn.Parameter(tl.ones(2))
        assert list(module.state_dict()) == ["weight", "bias"]

    @pytest.mark.parametrize("name", ["weight", "mean", "first"])
    def test_wrong_values_are_refused(self, name):
        block = Block()
        block.weight = nn.Parameter(tl.ones(1))
        with pytest.raises(TypeError, match=f"cannot assign 'str' as .* '{name}'"):
            setattr(block, name, "text")

    @pytest.mark.parametrize("method", ["register_parameter", "register_buffer", "add_module"])
    @pytest.mark.parametrize(
        "name, error, text",
        [
            (3, TypeError, "name should be a string. Got int"),
            ("a.b", KeyError, "name can.*t contain"),
            ("", KeyError, "name can.*t be empty string"),
            ("training", KeyError, "attribute 'training' already exists"),
        ],
    )
    def test_wrong_names_are_refused(self, method, name, error, text):
        with pytest.raises(error, match=text):
            getattr(nn.Linear(1, 1), method)(name, None)

    def test_computed_tensors_are_no_parameters(self):
        computed = nn.Parameter(tl.ones(2)) * 2
        with pytest.raises(TypeError, match="or None required"):
            nn.Module().register_parameter("x", computed)

    @pytest.mark.parametrize(
        "value, kind",
        [(nn.Parameter(tl.ones(1)), "parameters"), (nn.Identity(), "module"), (nn.Buffer(tl.ones(1)), "buffer")],
    )
    def test_init_comes_first(self, value, kind):
        class Early(nn.Module):
            def __init__(self):
                self.x = value

        with pytest.raises(AttributeError, match=rf"cannot assign {kind} before Module.__init__\(\) call"):
            Early()

    def test_a_missing_attribute_is_named(self):
        with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weigth'"):
            nn.Linear(1, 1).weigth
        with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weigth'"):
            del nn.Linear(1, 1).weigth

    def test_dir_lists_what_is_registered(self):
        assert {"scale", "mean", "first", "forward"} <= set(dir(Block()))
        assert "0" not in dir(nn.Sequential(nn.ReLU()))

    def test_dotted_names_are_found(self):
        block = Block()
        assert block.get_submodule("second.0") is block.second[0]
        assert block.get_submodule("") is block
        assert block.get_parameter("second.0.weight") is block.second[0].weight
        assert block.get_buffer("mean") is block.mean
        for method, name, text in [
            ("get_submodule", "second.x", "Sequential has no attribute `x`"),
            ("get_submodule", "scale", "`scale` is not an nn.Module"),
            ("get_parameter", "mean", "`mean` is not an nn.Parameter"),
            ("get_buffer", "scale", "`scale` is not a buffer"),
            ("get_buffer", "nothing", "Block has no attribute `nothing`"),
        ]:
            with pytest.raises(AttributeError, match=text):
                getattr(block, method)(name)
        block.set_submodule("second.0", nn.Identity())
        assert isinstance(block.second[0], nn.Identity)

    def test_forward_must_be_defined(self):
        with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
            nn.Module()(1)


class TestState:
    def test_what_is_saved_can_be_loaded(self):
        source, target = Block(), Block()
        source.mean.fill_(5.0)
        assert not same_state(source, target)
        result = target.load_state_dict(source.state_dict())
        assert same_state(source, target)
        assert str(result) == "<All keys matched successfully>"
        assert result == ([], [])

    def test_saved_tensors_are_detached_and_share_memory(self):
        module = nn.Linear(2, 2)
        state = module.state_dict()
        assert not state["weight"].requires_grad
        state["weight"].fill_(3.0)
        assert bool((module.weight == 3).all())
        assert module.state_dict(keep_vars=True)["weight"] is module.weight

    def test_missing_unexpected_and_misshapen(self):
        state = Block().state_dict()
        del state["scale"]
        state["more"] = tl.ones(1)
        state["second.7.weight"] = tl.ones(1)
        state["mean"] = tl.zeros(4)
        state["first.bias"] = 3
        with pytest.raises(RuntimeError) as caught:
            Block().load_state_dict(state)
        lines = str(caught.value).split("\n\t")
        assert lines[0] == "Error(s) in loading state_dict for Block:"
        assert lines[1] == 'Missing key(s) in state_dict: "scale". '
        assert lines[2] == 'Unexpected key(s) in state_dict: "more", "second.7.weight". '
        assert "size mismatch for mean: copying a param with shape" in lines[3]
        assert 'the parameter named "first.bias", expected tensorlike.Tensor or Tensor-like' in lines[4]

    def test_loading_loosely_returns_the_keys(self):
        result = nn.Linear(2, 2).load_state_dict({"weight": tl.ones(2, 2), "x": tl.ones(1)}, strict=False)
        assert result.missing_keys == ["bias"]
        assert result.unexpected_keys == ["x"]
        assert repr(result) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['x'])"

    def test_only_mappings_can_be_loaded(self):
        with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
            nn.Linear(1, 1).load_state_dict([1])

    def test_the_loaded_state_is_left_as_it_was(self):
        state = OrderedDict(nn.BatchNorm1d(2).state_dict())
        del state["num_batches_tracked"]
        nn.BatchNorm1d(2).load_state_dict(state)
        assert "num_batches_tracked" not in state

    def test_assign_takes_the_tensors_themselves(self):
        module = nn.Linear(2, 2)
        module.weight.requires_grad_(False)
        state = {"weight": tl.ones(2, 2, dtype=tl.float64), "bias": tl.zeros(2)}
        module.load_state_dict(state, assign=True)
        assert module.weight.dtype == tl.float64
        assert isinstance(module.weight, nn.Parameter)
        assert not module.weight.requires_grad
        assert module.bias.requires_grad
        state["bias"].fill_(7.0)
        assert bool((module.bias == 7).all())

    def test_scalars_may_have_been_saved_as_one_element(self):
        block = Block()
        state = block.state_dict()
        state["scale"] = tl.tensor([9.0])
        block.load_state_dict(state)
        assert block.scale.item() == 9

    def test_extra_state_goes_along(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 0

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        source, target = nn.Sequential(Counter()), nn.Sequential(Counter())
        source[0].count = 5
        state = source.state_dict()
        assert list(state) == ["0._extra_state"]
        target.load_state_dict(state)
        assert target[0].count == 5
        with pytest.raises(RuntimeError, match="Missing"):
            target.load_state_dict({})
        with pytest.raises(RuntimeError, match=r"Module.get_extra_state\(\) is not defined"):
            nn.Module().get_extra_state()

    def test_hooks_see_and_change_the_state(self):
        module = nn.Sequential(nn.Linear(1, 1))
        seen = []
        module.register_state_dict_pre_hook(lambda m, prefix, keep_vars: seen.append(("save", prefix, keep_vars)))
        module[0].register_state_dict_post_hook(
            lambda m, state, prefix, metadata: state.update({prefix + "w": state.pop(prefix + "weight")})
        )
        state = module.state_dict()
        assert list(state) == ["0.bias", "0.w"]

        def rename(m, state, prefix, *rest):
            seen.append(("load", m is module[0], prefix))
            state[prefix + "weight"] = state.pop(prefix + "w")

        module[0].register_load_state_dict_pre_hook(rename)
        module.register_load_state_dict_post_hook(lambda m, keys: seen.append(("loaded", keys.missing_keys)))
        module.load_state_dict(state)
        assert seen == [("save", "", False), ("load", True, "0."), ("loaded", [])]
        assert list(state) == ["0.bias", "0.w"]

    def test_a_module_saves_and_loads_in_its_own_form(self):
        class Halved(nn.Module):
            _version = 3

            def __init__(self):
                super().__init__()
                self.x = nn.Parameter(tl.ones(1))

            def _save_to_state_dict(self, destination, prefix, keep_vars):
                destination[prefix + "half"] = self.x.detach() / 2

            def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
                self.version = local_metadata.get("version")
                with tl.no_grad():
                    self.x.copy_(state_dict[prefix + "half"] * 2)

        source, target = nn.Sequential(Halved()), nn.Sequential(Halved())
        source[0].x.data.fill_(6.0)
        state = source.state_dict()
        assert state["0.half"].item() == 3
        target.load_state_dict(state)
        assert target[0].x.item() == 6
        assert target[0].version == 3


class TestConversion:
    def test_parameters_stay_the_objects_they_are(self):
        module = nn.Linear(2, 2)
        module(tl.ones(1, 2)).sum().backward()
        weight, gradient = module.weight, module.weight.grad
        assert module.double() is module
        assert module.weight is weight
        assert weight.dtype == tl.float64
        assert weight.grad is gradient
        assert gradient.dtype == tl.float64
        assert weight.requires_grad
        assert module(tl.ones(1, 2, dtype=tl.float64)).dtype == tl.float64

    def test_integers_keep_their_dtype(self):
        norm = nn.BatchNorm1d(2)
        for convert in (lambda: norm.half(), lambda: norm.to(tl.float64), lambda: norm.float()):
            convert()
            assert norm.num_batches_tracked.dtype == tl.int64
        assert norm.running_mean.dtype == tl.float32

    @pytest.mark.parametrize(
        "arguments, keywords",
        [
            (("cpu", "float64"), {}),
            (("float64",), {}),
            ((), {"dtype": "float64"}),
            ((), {"device": "cpu", "dtype": "float64"}),
            (("tensor",), {}),
        ],
    )
    def test_to_takes_what_tensors_take(self, arguments, keywords):
        values = {"float64": tl.float64, "tensor": tl.ones(1, dtype=tl.float64)}
        module = nn.Linear(2, 2)
        module.to(*(values.get(a, a) for a in arguments), **{k: values.get(v, v) for k, v in keywords.items()})
        assert module.weight.dtype == tl.float64

    def test_to_refuses_the_rest(self):
        module = nn.Linear(2, 2)
        with pytest.raises(TypeError, match=r"nn\.Module\.to only accepts floating point or complex dtypes"):
            module.to(tl.int32)
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            module.to(tl.float64, True, 3)
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            module.to(size=3)

    def test_type_and_cpu(self):
        module = nn.Linear(2, 2).type(tl.float64).cpu()
        assert module.weight.dtype == tl.float64
        assert module.weight.device.type == "cpu"

    def test_to_empty_keeps_shapes(self):
        module = nn.Linear(2, 2)
        module.to_empty(device="cpu")
        assert tuple(module.weight.shape) == (2, 2)
        assert module.weight.device.type == "cpu"

    def test_training_and_evaluation(self):
        module = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout()))
        assert module.training
        assert module.eval() is module
        assert not any(m.training for m in module.modules())
        assert module.train()[1][0].training
        with pytest.raises(ValueError, match="training mode is expected to be boolean"):
            module.train("yes")

    def test_requires_grad_and_zero_grad(self):
        module = nn.Linear(2, 2)
        module(tl.ones(1, 2)).sum().backward()
        module.zero_grad(set_to_none=False)
        assert bool((module.weight.grad == 0).all())
        module.zero_grad()
        assert module.weight.grad is None
        assert module.requires_grad_(False) is module
        assert not any(p.requires_grad for p in module.parameters())

    def test_apply_goes_from_the_leaves_to_the_root(self):
        seen = []
        module = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh())
        assert module.apply(lambda m: seen.append(type(m).__name__)) is module
        assert seen == ["ReLU", "Sequential", "Tanh", "Sequential"]


class TestHooks:
    def test_forward_hooks_change_arguments_and_results(self):
        module = nn.Identity()
        with module.register_forward_pre_hook(lambda m, args: args[0] + 1):
            with module.register_forward_hook(double_output):
                assert module(tl.ones(1)).item() == 4
            assert module(tl.ones(1)).item() == 2
        assert module(tl.ones(1)).item() == 1

    def test_order_and_keywords(self):
        order = []

        class Scaled(nn.Module):
            def forward(self, input, factor=1):
                order.append("forward")
                return input * factor

        module = Scaled()
        module.register_forward_hook(lambda m, a, o: order.append("after"))
        module.register_forward_hook(lambda m, a, k, o: order.append(sorted(k)), with_kwargs=True, prepend=True)
        module.register_forward_pre_hook(lambda m, a, k: (a, {"factor": k["factor"] + 1}), with_kwargs=True)
        module.register_forward_pre_hook(lambda m, a: order.append(len(a)), prepend=True)
        assert module(tl.ones(1), factor=2).item() == 3
        assert order == [1, "forward", ["factor"], "after"]
        module.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True)
        with pytest.raises(RuntimeError, match="must return None or a tuple of"):
            module(tl.ones(1), factor=2)

    def test_always_called_hooks_see_failures(self):
        class Failing(nn.Module):
            def forward(self, input):
                raise ValueError("from forward")

        def failing_hook(module, args, output):
            raise KeyError("from the hook")

        module, calls = Failing(), []
        module.register_forward_hook(lambda m, a, o: calls.append("never"))
        module.register_forward_hook(lambda m, a, o: calls.append(o), always_call=True)
        with pytest.raises(ValueError, match="from forward"):
            module(1)
        assert calls == [None]
        module.register_forward_hook(failing_hook, always_call=True)
        with pytest.warns(UserWarning, match="silenced"), pytest.raises(ValueError, match="from forward"):
            module(1)

    def test_backward_hooks_see_and_change_gradients(self):
        seen = []

        class Two(nn.Module):
            def forward(self, a, b, text):
                return a * 2, b * 3, text

        def hook(module, grad_input, grad_output):
            seen.append([[None if g is None else g.item() for g in gs] for gs in (grad_input, grad_output)])
            return (grad_input[0] * 10, None, None)

        module = Two()
        handle = module.register_full_backward_hook(hook)
        module.register_full_backward_pre_hook(lambda m, grads: (grads[0] + 1, *grads[1:]))
        a, b = tl.ones(1, requires_grad=True), tl.ones(1, requires_grad=True)
        x, y, text = module(a, b, "text")
        (x + y).sum().backward()
        assert text == "text"
        assert seen == [[[4.0, 3.0, None], [2.0, 1.0, None]]]
        assert a.grad.item() == 40
        assert b.grad is None
        handle.remove()
        x, y, _ = module(a, b, "text")
        (x + y).sum().backward()
        assert len(seen) == 1
        assert a.grad.item() == 44

    def test_backward_hooks_keep_namedtuples_and_warn_of_lists(self):
        from typing import Any, NamedTuple

        class Pair(NamedTuple):
            x: Any
            y: Any

        class Make(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.kind = kind

            def forward(self, a):
                return self.kind([a, a * 2])

        module = Make(Pair._make)
        seen = []
        module.register_full_backward_hook(lambda m, i, o: seen.append([g.item() for g in (*i, *o)]))
        result = module(tl.ones(1, requires_grad=True))
        assert isinstance(result, Pair)
        (result.x + result.y).sum().backward()
        assert seen == [[3.0, 1.0, 1.0]]
        module.kind = list
        with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
            module(tl.ones(1, requires_grad=True))

    def test_backward_hooks_without_inputs_that_require_grad(self):
        module = nn.Linear(1, 1)
        seen = []
        handle = module.register_full_backward_hook(lambda m, i, o: seen.append((i, o[0].item())))
        with pytest.warns(UserWarning, match="no inputs require gradients"):
            module(tl.ones(1, 1)).sum().backward()
        assert seen == [((None,), 1.0)]
        handle.remove()
        module.register_full_backward_hook(lambda m, i, o: (1,))
        with (
            pytest.warns(UserWarning, match="no inputs"),
            pytest.raises(RuntimeError, match="should always return None"),
        ):
            module(tl.ones(1, 1)).sum().backward()

    def test_backward_hooks_of_the_wrong_number(self):
        module = nn.Linear(1, 1)
        module.register_full_backward_hook(lambda m, i, o: (1, 2))
        with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
            module(tl.ones(1, 1, requires_grad=True)).sum().backward()

    def test_backward_hooks_cost_nothing_without_grad(self):
        module = nn.Identity()
        module.register_full_backward_hook(lambda m, i, o: None)
        x = tl.ones(1, requires_grad=True)
        with tl.no_grad():
            assert module(x) is x

    def test_a_graph_with_backward_hooks_is_freed_by_reference_counting(self):
        module = nn.Linear(2, 2)
        module.register_full_backward_hook(lambda m, i, o: None)
        gc.disable()
        try:
            output = module(tl.ones(1, 2, requires_grad=True))
            node = weakref.ref(output.grad_fn)
            output.sum().backward()
            del output
            assert node() is None
        finally:
            gc.enable()


class TestCopies:
    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_copies_are_equal_and_independent(self, duplicate):
        block = Block()
        block.register_forward_hook(double_output)
        block.note = ["anything"]
        other = duplicate(block)
        assert same_state(block, other)
        assert other.note == block.note
        assert [type(p) for p in other.parameters()] == [nn.Parameter] * 5
        assert all(p.requires_grad for p in other.parameters())
        assert bool((other.cache == block.cache).all())
        assert list(other.state_dict()) == STATE
        x = tl.ones(4, 2)
        assert bool((other(x) == block(x)).all())
        with tl.no_grad():
            other.scale.fill_(0.0)
        assert block.scale.item() == 2

    def test_shared_parameters_stay_shared(self):
        module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        module[1].weight = module[0].weight
        other = copy.deepcopy(module)
        assert other[1].weight is other[0].weight
        assert other[0].weight is not module[0].weight

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_a_copied_handle_removes_the_hook_of_the_copy(self, duplicate):
        module = nn.Identity()
        module.handle = module.register_forward_hook(double_output)
        other = duplicate(module)
        later = other.register_forward_hook(double_output)
        assert later.id != other.handle.id
        other.handle.remove()
        assert other(tl.ones(1)).item() == 2
        assert len(module._forward_hooks) == 1


class TestText:
    def test_nested_modules(self):
        class Named(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Sequential(nn.ReLU())
                self.nothing = None
                self.register_module("none", None)

            def extra_repr(self):
                return "one=1\ntwo=2"

        assert repr(Named()) == (
            "Named(\n  one=1\n  two=2\n  (layer): Sequential(\n    (0): ReLU()\n  )\n  (none): None\n)"
        )
        assert repr(nn.Module()) == "Module()"

    def test_runs_of_equal_modules_are_shown_once(self):
        modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh())])
        assert repr(modules) == (
            "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n  (3-4): 2 x Sequential(\n    (0): Tanh()\n  )\n)"
        )


class TestContainers:
    def test_sequential(self):
        model = nn.Sequential(nn.Identity(), nn.ReLU())
        assert len(model) == 2
        assert model[-1] is list(model)[1]
        model.append(nn.Tanh()).insert(0, nn.Sigmoid())
        assert [type(m).__name__ for m in model] == ["Sigmoid", "Identity", "ReLU", "Tanh"]
        removed = model.pop(1)
        assert isinstance(removed, nn.Identity)
        assert list(model._modules) == ["0", "1", "2"]
        del model[1:]
        assert repr(model) == "Sequential(\n  (0): Sigmoid()\n)"
        model += nn.Sequential(nn.ReLU())
        assert [len(model), len(model + model), len(model * 3), len(2 * model)] == [2, 4, 6, 4]
        assert model.get_submodule("1") in model
        with pytest.raises(IndexError, match="index 2 is out of range"):
            model[2]
        with pytest.raises(TypeError, match="int is not a Module subclass"):
            model.insert(0, 3)

    def test_parts_of_a_sequential_keep_their_names(self):
        model = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid()))
        assert list(model[1:]._modules) == ["b", "c"]
        assert model.b is model[1]

    def test_module_list(self):
        modules = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
        assert [name for name, _ in modules.named_parameters()][:2] == ["0.weight", "0.bias"]
        first = modules[0]
        modules.insert(0, nn.ReLU())
        assert modules[1] is first
        modules[0] = nn.Tanh()
        assert isinstance(modules[0], nn.Tanh)
        assert len(modules[1:]) == 3
        assert len(modules + nn.ModuleList([nn.ReLU()])) == 5
        assert len(modules) == 4
        with pytest.raises(NotImplementedError):
            modules(1)

    def test_module_dict(self):
        modules = nn.ModuleDict({"a": nn.ReLU()})
        modules["b"] = nn.Tanh()
        modules.update([("c", nn.Sigmoid())])
        assert list(modules) == ["a", "b", "c"]
        assert list(modules.keys()) == [key for key, _ in modules.items()]
        assert modules.pop("a") not in modules.values()
        assert "a" not in modules
        with pytest.raises(KeyError):
            modules["a"]
        modules.clear()
        assert len(modules) == 0

    def test_parameter_list(self):
        values = nn.ParameterList([tl.ones(2), nn.Parameter(tl.zeros(1))])
        assert all(isinstance(v, nn.Parameter) for v in values)
        values += [tl.ones(3)]
        values[0] = tl.zeros(2)
        assert [tuple(p.shape) for p in values.parameters()] == [(2,), (1,), (3,)]
        assert values[0].sum().item() == 0
        assert len(values[1:]) == 2
        with pytest.raises(RuntimeError, match="ParameterList should not be called"):
            values()

    def test_parameter_dict(self):
        values = nn.ParameterDict({"b": tl.ones(2), "a": tl.zeros(1)})
        assert list(values) == ["a", "b"]
        values["c"] = nn.Parameter(tl.ones(1))
        assert values.popitem()[0] == "c"
        assert sorted(values.state_dict()) == ["a", "b"]
        assert values.get("z") is None
        assert "z" in (values | {"z": tl.ones(1)})
        assert list(reversed(values)) == ["b", "a"]
        with pytest.raises(TypeError, match=r"keys must be strings, but got 1 \(type is 'int'\)"):
            values[1] = tl.ones(1)
        with pytest.raises(RuntimeError, match="ParameterDict should not be called"):
            values()


def test_a_subclass_of_tensor_stays_itself_in_a_module():
    class Marked(tl.Tensor):
        pass

    module = nn.Module()
    module.x = nn.Parameter(tl.ones(2).as_subclass(Marked))
    assert isinstance(module.x, Marked)
    assert [name for name, _ in module.named_parameters()] == ["x"]
    module.double()
    assert isinstance(module.x, Marked)
    assert module.x.dtype == tl.float64
