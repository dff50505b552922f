"""Windows and other views with strides of their own, beyond the samples."""

from __future__ import annotations

import tensorlike as tl


def test_the_gradient_of_windows_on_an_expanded_tensor():
    x = tl.arange(4.0, requires_grad=True)
    x.expand(3, 4).as_strided((2, 4), (0, 1)).sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2]
