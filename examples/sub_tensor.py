"""Subclasses of Tensor come out of the operations they go into, and which one wins when several meet."""

from __future__ import annotations

import tensorlike as tl


class SubTensor(tl.Tensor):
    pass


class SubTensor2(SubTensor):
    pass


class OtherSubTensor(tl.Tensor):
    pass


def main() -> None:
    a, b = SubTensor([0]), SubTensor([1])
    t = tl.Tensor([1])
    print("SubTensor and SubTensor:", type(tl.add(a, b)).__name__)
    print("SubTensor and Tensor:", type(tl.add(a, t)).__name__)
    print("Tensor and SubTensor, by operator:", type(t + a).__name__)
    print("method of SubTensor:", type(b.exp()).__name__)
    print("slice of SubTensor:", type(b[:1]).__name__)

    # The lowest class in the hierarchy wins.
    print("SubTensor2 and SubTensor:", type(tl.add(SubTensor2([0]), b)).__name__)
    print("SubTensor and SubTensor2:", type(tl.add(a, SubTensor2([1]))).__name__)
    print("SubTensor2 and Tensor:", type(tl.add(SubTensor2([0]), t)).__name__)

    # Neither of these two descends from the other, so neither may speak for both.
    try:
        tl.add(a, OtherSubTensor([1]))
    except TypeError as error:
        print("TypeError:", error)


if __name__ == "__main__":
    main()
