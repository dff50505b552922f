"""Programs that raise in modules, files, iteration, threads and work on large arrays."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from typing import Any

from .common import UserError, Watch, fail, leaf, program, used
from .overrides import Raises

# ----------------------------------------------------------------------------------------- modules, files, iteration


@program
def module_misused(T: Any, watch: Watch) -> Any:
    module = watch(T.nn.Sequential(T.nn.Linear(3, 2, dtype=T.float64), T.nn.Linear(7, 2, dtype=T.float64)))
    return module(used(T, watch))


@program
def module_forward_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_forward_hook(fail)
    return module(used(T, watch))


@program
def module_always_called_hook(T: Any, watch: Watch) -> Any:
    import warnings

    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_forward_hook(fail, always_call=True)
    module.register_forward_pre_hook(fail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module(used(T, watch))


@program
def module_backward_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_full_backward_hook(fail)
    return module(used(T, watch)).sum().backward()


@program
def module_backward_pre_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_full_backward_pre_hook(fail)
    return module(used(T, watch)).sum().backward()


@program
def load_state_dict_misused(T: Any, watch: Watch) -> Any:
    state = {"weight": watch(T.ones(7, 7)), "other": watch(T.ones(2))}
    return watch(T.nn.Linear(3, 2)).load_state_dict(state)


@program
def optimizer_closure_raises(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    return T.optim.SGD([x], lr=0.1).step(fail)


@program
def optimizer_of_no_leaf(T: Any, watch: Watch) -> Any:
    return T.optim.SGD([used(T, watch)], lr=0.1)


@program
def clipping_finds_nan(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    x.grad = watch(T.full((3,), float("nan"), dtype=T.float64))
    return T.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


class Unpicklable:
    def __reduce__(self) -> Any:
        raise UserError("no")


@program
def save_of_what_cannot_be_pickled(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch), Unpicklable()], io.BytesIO())


@program
def save_of_a_function(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    return T.save({"x": x, "f": lambda: x}, io.BytesIO())


class Full(io.BytesIO):
    def write(self, *args: Any) -> Any:
        raise OSError("no space left")


@program
def save_to_a_file_that_raises(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch)], Full())


@program
def save_to_no_folder(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch)], "/no/such/folder/file.pt")


@program
def pickle_of_what_cannot_be_pickled(T: Any, watch: Watch) -> Any:
    return pickle.dumps([leaf(T, watch), Unpicklable()])


@program
def deepcopy_of_no_leaf(T: Any, watch: Watch) -> Any:
    return copy.deepcopy(used(T, watch))


@program
def deepcopy_of_what_cannot_be_copied(T: Any, watch: Watch) -> Any:
    module = watch(T.nn.Linear(3, 2))
    module.other = Unpicklable()
    return copy.deepcopy(module)


@program
def load_of_no_file(T: Any, watch: Watch) -> Any:
    return T.load(watch(io.BytesIO(b"nothing")))


@program
def load_of_half_a_file(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100)], whole)
    return T.load(watch(io.BytesIO(whole.getvalue()[:300])))


@program
def load_of_what_is_not_allowed(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100), UserError], whole)
    whole.seek(0)
    return T.load(watch(whole), weights_only=True)


@program
def load_whose_placing_raises(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100)], whole)
    whole.seek(0)
    return T.load(watch(whole), map_location=fail)


@program
def load_of_an_object_that_raises(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100), LoadRaises()], whole)
    whole.seek(0)
    return T.load(watch(whole), weights_only=False)


class LoadRaises:
    def __setstate__(self, state: Any) -> None:
        raise UserError("no")

    def __getstate__(self) -> Any:
        return {"something": 1}


@program
def iterating_over_a_scalar(T: Any, watch: Watch) -> Any:
    return list(used(T, watch).sum())


@program
def wrong_index(T: Any, watch: Watch) -> Any:
    return used(T, watch)[7]


@program
def wrong_index_written_to(T: Any, watch: Watch) -> Any:
    used(T, watch)[7] = used(T, watch)


@program
def truth_of_many(T: Any, watch: Watch) -> Any:
    return bool(used(T, watch))


@program
def numpy_of_what_requires_grad(T: Any, watch: Watch) -> Any:
    return used(T, watch).numpy()


@program
def tensor_of_what_is_ragged(T: Any, watch: Watch) -> Any:
    return T.tensor([[used(T, watch), used(T, watch)], [leaf(T, watch)]])


@program
def attribute_that_is_missing(T: Any, watch: Watch) -> Any:
    return used(T, watch).nothing_of_that_name


@program
def grad_of_the_wrong_shape(T: Any, watch: Watch) -> Any:
    leaf(T, watch).grad = used(T, watch, 2, 2)


@program
def requires_grad_of_integers(T: Any, watch: Watch) -> Any:
    return watch(T.ones(3, dtype=T.int64)).requires_grad_()


@program
def leaf_written_to(T: Any, watch: Watch) -> Any:
    return leaf(T, watch).add_(used(T, watch))


@program
def view_written_to_in_place(T: Any, watch: Watch) -> Any:
    x = used(T, watch, 4, 3)
    first, *_ = x.unbind(0)
    return watch(first).add_(1)


@program
def from_dlpack_of_nothing(T: Any, watch: Watch) -> Any:
    return T.from_dlpack(watch(Raises(used(T, watch))))


@program
def apply_raises(T: Any, watch: Watch) -> Any:
    return watch(T.ones(3)).apply_(fail)


# ------------------------------------------------------------------------------------------- threads and large arrays


@program
def large_operands_misused(T: Any, watch: Watch) -> Any:
    return watch(T.ones(1 << 20, dtype=T.float32)) + watch(T.ones(7))


@program
def error_kept_by_another_thread(T: Any, watch: Watch) -> Any:
    """A thread raises; the error is handed over as a result would be, and raised here."""
    kept: list[BaseException] = []

    def work() -> None:
        try:
            T.matmul(used(T, watch), used(T, watch, 2, 2))
        except RuntimeError as error:
            kept.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raise kept.pop()


@program
def error_in_a_pool(T: Any, watch: Watch) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        return pool.submit(lambda: used(T, watch).backward()).result()
