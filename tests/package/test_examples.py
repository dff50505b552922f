"""Every example runs as a newcomer runs it, in a process of its own, and prints what it should."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike as tl

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

EXPECTED = {
    "scalar_tensor": """\
1. Without the protocol
PlainScalarTensor(N=5, value=2)
tensor([[2., 0., 0., 0., 0.],
        [0., 2., 0., 0., 0.],
        [0., 0., 2., 0., 0.],
        [0., 0., 0., 2., 0.],
        [0., 0., 0., 0., 2.]])
TypeError: mean(): argument 'input' (position 1) must be Tensor, not PlainScalarTensor

2. With a table of handled functions
mean: 0.4
add: ScalarTensor(N=2, value=4)
add with a tensor:
tensor([[3., 1.],
        [1., 3.]])
TypeError: add() got an unexpected keyword argument 'alpha'
TypeError: no implementation found for 'tensorlike.mul' on types that implement __torch_function__: [ScalarTensor]
Asked in this order, each returned NotImplemented:
  1. ScalarTensor.__torch_function__, for operand 'input'
Handle tensorlike.mul in ScalarTensor.__torch_function__, or convert the operands to tensors before the call.

3. With a fallback to an ordinary tensor
mean: 1.0
mul:
tensor([[4., 0.],
        [0., 4.]])
""",
    "metadata_tensor": """\
Metadata:
{'owner': 'Ministry of Silly Walks'}

data:
tensor([[2, 4],
        [4, 6]])

Metadata:
{'owner': 'Ministry of Silly Walks'}

data:
tensor([[1, 4],
        [3, 8]])

Metadata:
{'owner': 'Ministry of Silly Walks'}

data:
tensor([[1, 2, 1, 2],
        [1, 2, 3, 4]])

floating point: False
""",
    "logging_tensor": """\
func: mul, args: (LoggingTensor([1., 2.]), 2), kwargs: {}
func: add, args: (LoggingTensor([2., 4.]), LoggingTensor([3., 4.])), kwargs: {}
func: sum, args: (LoggingTensor([5., 8.]),), kwargs: {'dim': 0, 'keepdim': True}
func: item, args: (LoggingTensor([13.]),), kwargs: {}
LoggingTensor of value 13.0
""",
    "sub_tensor": """\
SubTensor and SubTensor: SubTensor
SubTensor and Tensor: SubTensor
Tensor and SubTensor, by operator: SubTensor
method of SubTensor: SubTensor
slice of SubTensor: SubTensor
SubTensor2 and SubTensor: SubTensor2
SubTensor and SubTensor2: SubTensor2
SubTensor2 and Tensor: SubTensor2
TypeError: no implementation found for 'tensorlike.add' on types that implement __torch_function__: \
[SubTensor, OtherSubTensor]
Asked in this order, each returned NotImplemented:
  1. SubTensor.__torch_function__, for operand 'input': from left to right
  2. OtherSubTensor.__torch_function__, for operand 'other': from left to right
SubTensor and OtherSubTensor are unrelated subclasses, and the default __torch_function__ does not choose between \
them. Make one a subclass of the other, give one a __torch_function__ that knows both, or convert an operand, e.g. \
with .as_subclass(SubTensor).
No rule is registered for (SubTensor, OtherSubTensor); settle it with overrides.register(tensorlike.add, \
(SubTensor, OtherSubTensor)).
""",
    "linear_function": """\
output:
tensor([[ 8.0000, 23.0000],
        [ 8.0000, 27.5000]])
gradient of input:
tensor([[ 1.5000,  0.5000, -0.5000],
        [ 1.5000,  0.5000, -0.5000]])
gradient of weight:
tensor([[5., 7., 9.],
        [5., 7., 9.]])
gradient of bias:
tensor([2., 2.])
the same gradients as nn.functional.linear: True
without bias:
tensor([[-2.0000,  3.0000],
        [-2.0000,  7.5000]])
""",
    "mul_constant": """\
MulConstant
  result: tensor([ 5., 10., 15.])
  gradient: tensor([5., 5., 5.])
  gradient behind StopGradient: tensor([0., 0., 0.])
MulConstantUnmaterialized
  result: tensor([ 5., 10., 15.])
  gradient: tensor([5., 5., 5.])
  gradient behind StopGradient: None
""",
    "linear_module": """\
Linear(input_features=3, output_features=2, bias=True)
Linear(input_features=3, output_features=2, bias=False)
weight: (2, 3), requires_grad=True
bias: (2,), requires_grad=True
loss below 1e-6: True
found the weight: True
found the bias: True
""",
}

GRADCHECK_VERDICTS = """\
LinearFunction: True
LinearFunction with bias: True
Cube: True
Cube, second order: True
WrongCube: False
"""


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error"}


def run(*arguments: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=timeout, cwd=EXAMPLES)


def test_every_example_is_tested() -> None:
    # That of estimators is tested in tests/array_api, that of training with Dask in tests/dask.
    others = {"gradcheck", "digits", "cuda_raw_kernel", "estimators", "dask_training"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*EXPECTED, *others}


@pytest.mark.parametrize("name", EXPECTED)
def test_prints(name: str) -> None:
    done = run(EXAMPLES / f"{name}.py")
    assert (done.stdout, done.stderr, done.returncode) == (EXPECTED[name], "", 0)


def test_gradcheck_catches_the_wrong_formula() -> None:
    done = run(EXAMPLES / "gradcheck.py")
    assert (done.stderr, done.returncode) == ("", 0)
    verdicts, found, message = done.stdout.partition("GradcheckError: ")
    assert (verdicts, found) == (GRADCHECK_VERDICTS, "GradcheckError: ")
    # It names the output and the input, and shows both slopes of 2x**2 against 3x**2 at x = 2.
    assert "output 0" in message
    assert "input 0" in message
    assert re.search(r"\b12\.", message)
    assert re.search(r"\b8\.", message)


def test_cuda_raw_kernel_says_what_it_needs() -> None:
    done = run(EXAMPLES / "cuda_raw_kernel.py")
    if importlib.util.find_spec("cupy") is None:
        message = (
            "cuda_raw_kernel.py: No module named 'cupy'. It needs a GPU and CuPy: pip install \"tensorlike[cuda13]\"\n"
        )
        assert (done.stdout, done.stderr, done.returncode) == ("", message, 1)
    elif not tl.cuda.is_available():
        assert (done.stdout, done.stderr, done.returncode) == ("", "cuda_raw_kernel.py: CuPy finds no GPU\n", 1)
    else:
        printed = "the same values as nn.functional.silu: True\nthe same gradients: True\n"
        assert (done.stdout, done.stderr, done.returncode) == (printed, "", 0)


@pytest.fixture
def _digits_extra() -> None:
    for name in ("sklearn", "safetensors"):
        pytest.importorskip(name, reason=f"{name}, of the extra 'examples', is not installed")


@pytest.mark.usefixtures("_digits_extra")
def test_digits(tmp_path: Path) -> None:
    weights = tmp_path / "digits.safetensors"
    done = run(EXAMPLES / "digits.py", "--output", weights, timeout=55)
    # A progress bar would be on stderr; there is none, because nobody is watching.
    assert (done.stderr, done.returncode) == ("", 0)
    printed = re.fullmatch(
        r"1347 digits to train on, 450 held out\n"
        r"trained for 30 epochs in \d+\.\d s\n"
        r"accuracy on the held-out digits: (0\.\d{4})\n"
        rf"saved (\d+) bytes of weights to {re.escape(str(weights))}\n"
        r"accuracy of the weights loaded again: (0\.\d{4})\n",
        done.stdout,
    )
    assert printed, done.stdout
    trained, size, restored = printed.groups()
    assert float(trained) >= 0.96
    assert restored == trained
    assert weights.stat().st_size == int(size)

    from safetensors.numpy import load_file

    shapes = {name: (array.shape, array.dtype.name) for name, array in load_file(weights).items()}
    assert shapes == {
        "hidden.weight": ((256, 64), "float32"),
        "hidden.bias": ((256,), "float32"),
        "output.weight": ((10, 256), "float32"),
        "output.bias": ((10,), "float32"),
    }


@pytest.mark.usefixtures("_digits_extra")
def test_digits_seed_and_default_output() -> None:
    def accuracies(seed: int) -> list[str]:
        done = run(EXAMPLES / "digits.py", "--epochs", "1", "--seed", str(seed))
        assert (done.stderr, done.returncode) == ("", 0)
        assert re.search(r"^saved \d+ bytes of weights$", done.stdout, re.MULTILINE), done.stdout
        return re.findall(r"0\.\d{4}$", done.stdout, re.MULTILINE)

    first = accuracies(1)
    assert len(first) == 2
    assert accuracies(1) == first
    assert accuracies(2) != first


@pytest.mark.usefixtures("_digits_extra")
def test_digits_shows_progress_on_a_terminal() -> None:
    pytest.importorskip("tqdm", reason="tqdm, of the extra 'examples', is not installed")
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    import termios

    terminal, process_end = pty.openpty()
    termios.tcsetwinsize(process_end, (24, 80))  # a new one has no columns, and tqdm writes nothing into them
    command = [sys.executable, EXAMPLES / "digits.py", "--epochs", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=process_end, env=environment()) as process:
        os.close(process_end)
        shown = b""
        while True:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # how Linux reports that the other end was closed
                break
            if not chunk:
                break
            shown += chunk
    os.close(terminal)
    assert process.returncode == 0, shown
    assert b"training: 100%" in shown
    assert b"2/2" in shown


@pytest.mark.usefixtures("_digits_extra")
@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--epochs", "0", "argument --epochs: must be at least 1, not 0"),
        ("--epochs", "many", "argument --epochs: invalid int value: 'many'"),
        ("--output", ".", "argument --output: must be a file in a folder that exists, not ."),
        ("--output", "absent/digits", f"must be a file in a folder that exists, not {Path('absent/digits')}"),
    ],
)
def test_digits_refuses_bad_options(option: str, value: str, message: str) -> None:
    done = run(EXAMPLES / "digits.py", option, value)
    assert (done.stdout, done.returncode) == ("", 2)
    assert message in done.stderr


@pytest.mark.parametrize("missing", ["sklearn", "safetensors"])
def test_digits_names_the_extra_it_needs(missing: str) -> None:
    # None in sys.modules makes the import fail as if the package were not installed.
    code = f"import runpy, sys; sys.modules[{missing!r}] = None; runpy.run_path('digits.py', run_name='__main__')"
    done = run("-c", code)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("digits.py: ")
    assert done.stderr.endswith('needs scikit-learn and safetensors: pip install "tensorlike[examples]"\n')
    assert "Traceback" not in done.stderr
