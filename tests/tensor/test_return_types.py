"""Named results: the types in `tensorlike.return_types`."""

from __future__ import annotations

import pickle

import tensorlike as tl
from tensorlike.tensor.declarations.declare import DECLARATIONS


class TestReturnTypes:
    def test_every_declared_one_is_there_with_its_fields(self):
        for d in DECLARATIONS.values():
            if isinstance(d.outputs, tuple) and not d.namespace.endswith("._internal"):
                name = f"linalg_{d.name}" if d.namespace == "tensorlike.linalg" else d.name
                assert getattr(tl.return_types, name).__match_args__ == d.outputs

    def test_results_are_of_them_and_can_be_pickled(self):
        found = tl.sort(tl.tensor([3, 1]))
        assert type(found) is tl.return_types.sort
        again = pickle.loads(pickle.dumps(found))
        assert type(again) is tl.return_types.sort
        assert again.values.tolist() == [1, 3]
