"""Training a classifier of handwritten digits through a custom autograd function, and keeping its weights.

The data are scikit-learn's 1,797 scanned digits of 8 x 8 pixels, a quarter of them held out. The weights are saved
with safetensors and loaded into a fresh model. Needs: pip install "tensorlike[examples]"
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorlike as tl
from tensorlike import nn
from tensorlike.autograd import Function

try:
    from safetensors.numpy import load_file, save_file
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
except ImportError as error:
    sys.exit(f'digits.py: {error}. It needs scikit-learn and safetensors: pip install "tensorlike[examples]"')

BATCH_SIZE = 64


class LinearFunction(Function):
    """The affine map of linear_function.py, where it is explained."""

    @staticmethod
    def forward(ctx: Any, input: tl.Tensor, weight: tl.Tensor, bias: tl.Tensor) -> tl.Tensor:
        ctx.save_for_backward(input, weight)
        return input.mm(weight.t()) + bias

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tuple[tl.Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        # The first layer's input is data: nobody needs its gradient.
        grad_input = grad_output.mm(weight) if ctx.needs_input_grad[0] else None
        return grad_input, grad_output.t().mm(input), grad_output.sum(0)


class Linear(nn.Module):
    def __init__(self, input_features: int, output_features: int) -> None:
        super().__init__()
        bound = input_features**-0.5
        self.weight = nn.Parameter(tl.empty(output_features, input_features).uniform_(-bound, bound))
        self.bias = nn.Parameter(tl.empty(output_features).uniform_(-bound, bound))

    def forward(self, input: tl.Tensor) -> tl.Tensor:
        return LinearFunction.apply(input, self.weight, self.bias)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = Linear(64, 256)
        self.output = Linear(256, 10)

    def forward(self, images: tl.Tensor) -> tl.Tensor:
        return self.output(nn.functional.relu(self.hidden(images)))


def load_data() -> list[tl.Tensor]:
    """Training images, held-out images, training labels and held-out labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype("float32")
    # The same digits are held out in every run, so that accuracies can be compared.
    split: list[Any] = train_test_split(images, labels, test_size=0.25, stratify=labels, random_state=0)
    return [tl.from_numpy(array) for array in split]


def progress(epochs: range) -> Iterable[int]:
    """The epochs, with a progress bar where someone is watching."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return epochs
    bar: Iterable[int] = tqdm(epochs, desc="training", unit="epoch", disable=not sys.stderr.isatty())
    return bar


def train(model: Classifier, images: tl.Tensor, labels: tl.Tensor, epochs: int) -> None:
    optimizer = tl.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for _ in progress(range(epochs)):
        for batch in tl.randperm(len(images)).split(BATCH_SIZE):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            loss.backward()
            optimizer.step()


def accuracy(model: Classifier, images: tl.Tensor, labels: tl.Tensor) -> float:
    model.eval()
    with tl.no_grad():
        return float((model(images).argmax(dim=1) == labels).float().mean().item())


def save(model: Classifier, path: Path) -> None:
    save_file({name: value.numpy() for name, value in model.state_dict().items()}, path)


def load(path: Path) -> Classifier:
    model = Classifier()
    model.load_state_dict({name: tl.from_numpy(array) for name, array in load_file(path).items()})
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a classifier of handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="file for the weights (default: a temporary one, removed again)")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"argument --epochs: must be at least 1, not {options.epochs}")
    # Better now than after the training.
    if options.output is not None and (options.output.is_dir() or not options.output.parent.is_dir()):
        parser.error(f"argument --output: must be a file in a folder that exists, not {options.output}")

    tl.manual_seed(options.seed)
    images, held_out_images, labels, held_out_labels = load_data()
    print(f"{len(images)} digits to train on, {len(held_out_images)} held out")

    model = Classifier()
    start = time.perf_counter()
    train(model, images, labels, options.epochs)
    print(f"trained for {options.epochs} epochs in {time.perf_counter() - start:.1f} s")
    print(f"accuracy on the held-out digits: {accuracy(model, held_out_images, held_out_labels):.4f}")

    with tempfile.TemporaryDirectory() as folder:
        path = options.output or Path(folder) / "digits.safetensors"
        save(model, path)
        print(f"saved {path.stat().st_size} bytes of weights" + (f" to {path}" if options.output else ""))
        restored = load(path)
    print(f"accuracy of the weights loaded again: {accuracy(restored, held_out_images, held_out_labels):.4f}")


if __name__ == "__main__":
    main()
