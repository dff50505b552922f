"""Building and loading: what is built again, errors, setup.py, two versions of the headers, what PyTorch refuses."""

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tensorlike as tl
from tensorlike.utils import cpp_extension
from tests.cpp.building import extension, require_compiler

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent

# The handle alone: nothing that takes long to compile.
SMALL = """
#include <torch/torch.h>
extern "C" PyObject* PyInit_{name}(void) {{
  static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", nullptr, -1, nullptr,
                                           nullptr, nullptr, nullptr, nullptr}};
  return PyModule_Create(&definition);
}}
{more}
"""


@pytest.fixture(autouse=True)
def compiler():
    require_compiler()


def built(folder):
    return sorted(p.name for p in folder.glob("*.so"))


def test_a_source_is_compiled_again_when_its_content_or_a_header_of_its_differs(tmp_path):
    source, header = tmp_path / "again.cpp", tmp_path / "number.h"
    header.write_text("#define NUMBER 1\n")
    source.write_text(
        SMALL.format(name="again", more='#include "number.h"\nextern "C" int number() { return NUMBER; }')
    )
    folder = tmp_path / "build"

    def run():
        cpp_extension.load("again", [str(source)], extra_cflags=["-O0"], build_directory=folder)
        return built(folder)

    first = run()
    stamp = (folder / "again_0.o").stat().st_mtime_ns
    os.utime(source)  # The time of a file is nothing that is looked at.
    assert run() == first
    assert (folder / "again_0.o").stat().st_mtime_ns == stamp
    header.write_text("#define NUMBER 2\n")
    assert len(run()) == 2
    assert (folder / "again_0.o").stat().st_mtime_ns != stamp


def test_the_compiler_speaks_for_itself(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text("#include <torch/torch.h>\nat::Tensor f(at::Tensor x) { return x.sinn(); }\n")
    with pytest.raises(RuntimeError, match=r"(?s)Error building extension 'wrong'.*wrong\.cpp:2.*sinn"):
        cpp_extension.load("wrong", [str(source)], build_directory=tmp_path)


def test_without_a_compiler_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    source = tmp_path / "any.cpp"
    source.write_text("")
    with pytest.raises(RuntimeError, match=r"no compiler of C\+\+ .*install g\+\+"):
        cpp_extension.load("any", [str(source)], build_directory=tmp_path)


def test_a_source_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no source .*nowhere\.cpp"):
        cpp_extension.load("nowhere", [str(tmp_path / "nowhere.cpp")], build_directory=tmp_path)


def test_the_errors_of_registrations_are_raised_by_the_load(tmp_path):
    cases = {
        "does not parse": 'm.def("broken(Tensor x -> Tensor");',
        "defined twice": 'm.def("twice(Tensor x) -> Tensor"); m.def("twice(Tensor x) -> Tensor");',
        "another signature": 'm.def("other(Tensor x) -> Tensor", [](at::Tensor x, int64_t n) { return x; });',
    }
    expected = {
        "does not parse": r"expected \) but found 'arrow' here",
        "defined twice": "Tried to register an operator .*multiple times",
        "another signature": r"(?s)doesn't match the expected function schema.*arguments is different. 1 vs 2",
    }
    for number, (case, body) in enumerate(cases.items()):
        name = f"wrong{number}"
        source = tmp_path / f"{name}.cpp"
        block = f"TORCH_LIBRARY(tests_wrong_{number}, m) {{ {body} }}"
        source.write_text(SMALL.format(name=name, more=block))
        with pytest.raises(RuntimeError, match=expected[case]):
            cpp_extension.load(
                name, [str(source)], extra_cflags=["-O0"], build_directory=tmp_path / name, is_python_module=False
            )
        # Nothing of the failed block is left.
        assert dir(getattr(tl.ops, f"tests_wrong_{number}")) == []
    # So the mended extension is loaded, in the same namespace.
    body = 'm.def("other(Tensor x, int n) -> Tensor", [](at::Tensor x, int64_t n) { return x + n; });'
    source.write_text(SMALL.format(name=name, more=f"TORCH_LIBRARY(tests_wrong_2, m) {{ {body} }}"))
    cpp_extension.load(
        name, [str(source)], extra_cflags=["-O0"], build_directory=tmp_path / name, is_python_module=False
    )
    assert tl.ops.tests_wrong_2.other(tl.ones(2), 3).tolist() == [4.0, 4.0]


def test_operators_of_the_old_way_end_with_their_object(tmp_path):
    source = tmp_path / "old_way.cpp"
    block = """
    at::Tensor next(const at::Tensor& x) { return x + 1; }
    static auto stays = torch::RegisterOperators().op("tests_old_way::stays(Tensor x) -> Tensor", &next);
    static const bool ended = [] {
      torch::RegisterOperators registry("tests_old_way::ends(Tensor x) -> Tensor", &next);
      torch::RegisterOperators moved(std::move(registry));
      return c10::Dispatcher::singleton().findOp({"tests_old_way::ends", ""}).has_value();
    }();
    extern "C" bool was_there() { return ended; }
    """
    source.write_text(SMALL.format(name="old_way", more=block))
    path = cpp_extension.load(
        "old_way", [str(source)], extra_cflags=["-O0"], build_directory=tmp_path / "old_way", is_python_module=False
    )
    assert ctypes.CDLL(path).was_there()
    assert dir(tl.ops.tests_old_way) == ["stays"]
    assert tl.ops.tests_old_way.stays(tl.ones(2)).tolist() == [2.0, 2.0]


def test_a_kernel_may_be_registered_before_its_operator_is_defined(tmp_path):
    source = tmp_path / "early.cpp"
    block = """
    TORCH_LIBRARY_IMPL(tests_early, CPU, m) { m.impl("next", [](const at::Tensor& x) { return x + 1; }); }
    TORCH_LIBRARY(tests_early, m) { m.def("next(Tensor x) -> Tensor"); }
    """
    source.write_text(SMALL.format(name="early", more=block))
    cpp_extension.load(
        "early", [str(source)], extra_cflags=["-O0"], build_directory=tmp_path / "early", is_python_module=False
    )
    assert tl.ops.tests_early.next(tl.ones(2)).tolist() == [2.0, 2.0]


SETUP = """
from setuptools import setup
import torch
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name="of_setup",
    ext_modules=[CppExtension("of_setup", ["of_setup.cpp"], extra_compile_args={"cxx": ["-O0"]},
                              define_macros=[("ADDED", "5")])],
    cmdclass={"build_ext": BuildExtension},
)
"""
OF_SETUP = """
#include <torch/extension.h>
at::Tensor add(at::Tensor x) { return x + ADDED; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add); }
"""


def test_a_setup_script_written_for_pytorch_builds_unchanged(tmp_path):
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "of_setup.cpp").write_text(OF_SETUP)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tensorlike", "run", "setup.py", "-q", "build_ext", "--inplace"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    program = "import torch, of_setup; print(of_setup.add(torch.ones(2)), torch.__version__)"
    (tmp_path / "use.py").write_text(program)
    command = [sys.executable, "-m", "tensorlike", "run", "use.py"]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.stdout == "tensor([6., 6.]) 2.13.0+tensorlike\n", result.stderr


def test_duck_types_and_subclasses_pass_through_cpp():
    reference = extension("reference")
    asked = []

    class Logged:
        def __init__(self, value):
            self.value, self.shape, self.dtype = value, value.shape, value.dtype

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            plain = [a.value if isinstance(a, Logged) else a for a in args]
            return Logged(func(*plain, **(kwargs or {})))

    result = reference.linear(Logged(tl.ones(1, 3)), tl.ones(2, 3), tl.ones(2))
    assert type(result) is Logged
    assert asked[:1] == ["mm"]
    assert result.value.tolist() == [[4.0, 4.0]]

    class Meters(tl.Tensor):
        pass

    assert type(reference.my_relu(tl.ones(2).as_subclass(Meters))) is Meters
    features = extension("features")
    with pytest.raises(TypeError, match="Logged has no memory that C\\+\\+ could read"):
        features.dispatched(Logged(tl.ones(2)))


def test_modes_see_the_operators_that_cpp_calls():
    features = extension("features")
    seen = []

    class Watching(tl.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Watching():
        features.conversions(tl.ones(2))
    assert seen.count("to") >= 3


def test_operators_of_cpp_are_mapped_audited_and_overridable():
    extension("operators")
    muladd = tl.ops.tests_cpp.muladd
    batch = tl.arange(6.0).reshape(3, 2)
    assert tl.vmap(lambda x: muladd(x, x, 1.0))(batch).tolist() == (batch * batch + 1).tolist()
    listed = [f for functions in tl.overrides.get_overridable_functions().values() for f in functions]
    assert any(f is muladd for f in listed)
    assert muladd in tl.overrides.get_testing_overrides()
    assert tl.overrides.resolve_name(muladd) == "tensorlike.ops.tests_cpp.muladd"


def test_a_function_below_autograd_is_recorded_and_operators_are_not():
    extension("operators")
    x = tl.tensor([2.0], requires_grad=True)
    result = tl.ops.tests_cpp.guarded_cube(x)
    result.sum().backward()
    assert x.grad.tolist() == [12.0]
    with tl.no_grad():
        assert not tl.ops.tests_cpp.guarded_cube(x).requires_grad


def test_memory_of_cpp_is_freed_when_its_tensor_ends():
    features = extension("features")
    before = features.freed()
    made = features.owned_blob(4)
    assert made.tolist() == [0.0, 1.0, 2.0, 3.0]
    view = made[1:]
    del made
    assert features.freed() == before
    del view
    assert features.freed() == before + 1


def test_a_handle_sees_what_became_of_its_tensor():
    features = extension("features")
    x = tl.ones(2, 3)
    assert features.describe(x).startswith("[2, 3][3, 1]")
    x.t_()
    assert features.describe(x).startswith("[3, 2][1, 3]")
    x.data = tl.zeros(4)
    assert features.describe(x).startswith("[4][1]")


def test_a_precompiled_header_is_made_once_and_what_is_in_it_is_looked_at(tmp_path, monkeypatch, capfd):
    if "g++" not in cpp_extension.get_cxx_compiler() and "c++" not in cpp_extension.get_cxx_compiler():
        pytest.skip("only g++ is given a precompiled header")
    monkeypatch.setenv("TENSORLIKE_EXTENSIONS_DIR", str(tmp_path / "cache"))
    for name in ("first", "second"):
        (tmp_path / f"{name}.cpp").write_text(SMALL.format(name=name, more=""))

    def build(name, **options):
        source = str(tmp_path / f"{name}.cpp")
        cpp_extension.load(
            name, [source], extra_cflags=["-O0"], build_directory=tmp_path / name, verbose=True, **options
        )
        return capfd.readouterr().err

    assert "Precompiling" not in build("first")  # It does not pay for one file.
    (tmp_path / "first" / "first_0.o").unlink()
    assert "Precompiling" in build("first", use_pch=True)
    (made,) = (tmp_path / "cache" / "precompiled").iterdir()
    assert (made / "torch" / "torch.h.gch").exists()
    said = build("second")  # Another extension of the same flags uses it.
    assert "Precompiling" not in said
    assert f"-I{made}" in said
    record = (tmp_path / "second" / "second_0.o.json").read_text()
    assert "tensor_impl.h" in record  # A change of the headers still compiles it again.
    assert "nothing to do" in build("second", use_pch=False)
    monkeypatch.setenv("TENSORLIKE_PRECOMPILED_HEADER", "0")
    (tmp_path / "second" / "second_0.o").unlink()
    assert f"-I{made}" not in build("second", use_pch=True)


#: A source that needs no header, so that it compiles in no time.
TINY = 'extern "C" int {name}() {{ return {number}; }}\n'


def test_processes_that_build_the_same_extension_at_once_do_not_disturb_each_other(tmp_path):
    program = """
        import sys, ctypes
        from tensorlike.utils import cpp_extension
        number = int(sys.argv[1])
        path = cpp_extension.load_inline(
            "shared", f'extern "C" int number() {{ return {number % 2}; }}', no_implicit_headers=True,
            build_directory=sys.argv[2], is_python_module=False, extra_cflags=["-O0"])
        print(ctypes.CDLL(path).number() == number % 2)
    """
    text = "\n".join(line[8:] for line in program.split("\n"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen([sys.executable, "-c", text, str(n), str(tmp_path)], env=environment, stdout=subprocess.PIPE)
        for n in range(6)
    ]
    assert [p.communicate()[0] for p in processes] == [b"True\n"] * 6


def test_an_interrupted_build_leaves_nothing_that_is_taken_for_a_result(tmp_path, monkeypatch):
    sources = []
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.cpp").write_text(TINY.format(name=name, number=1))
        sources.append(str(tmp_path / f"{name}.cpp"))
    folder = tmp_path / "build"

    def build():
        return cpp_extension.load("broken", sources, build_directory=folder, is_python_module=False)

    good = Path(build()).read_bytes()
    (tmp_path / "two.cpp").write_text(TINY.format(name="two", number=2))

    # The compiler is interrupted when it has written half of its output.
    def interrupted(step, verbose):
        step.output.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(cpp_extension, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build()
    monkeypatch.undo()
    (tmp_path / "two.cpp").write_text(TINY.format(name="two", number=1))
    assert Path(build()).read_bytes() == good


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("ninja", [False, True])
def test_the_error_of_one_of_several_files_has_the_compilers_words(tmp_path, monkeypatch, capfd, verbose, ninja):
    if ninja and not cpp_extension.is_ninja_available():
        pytest.skip("ninja is not there")
    monkeypatch.setattr(cpp_extension, "is_ninja_available", lambda: ninja)
    monkeypatch.setenv("MAX_JOBS", "1")
    (tmp_path / "right.cpp").write_text(TINY.format(name="right", number=1))
    (tmp_path / "wrong.cpp").write_text("int wrong() { return missing_name; }\n")
    with pytest.raises(RuntimeError, match=r"(?s)Error building extension 'several'.*wrong\.cpp:1.*missing_name"):
        cpp_extension.load(
            "several", [str(tmp_path / f"{n}.cpp") for n in ("right", "wrong")], build_directory=tmp_path,
            verbose=verbose,
        )  # fmt: skip
    assert ("Building extension several: 2 of 2 files" in capfd.readouterr().err) is verbose


def test_max_jobs_limits_how_many_files_are_compiled_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(cpp_extension, "is_ninja_available", lambda: False)
    monkeypatch.setenv("MAX_JOBS", "2")
    counted, most, run, lock = 0, 0, cpp_extension._run, threading.Lock()

    def counting(step, verbose):
        nonlocal counted, most
        with lock:
            counted += 1
            most = max(most, counted)
        run(step, verbose)
        with lock:
            counted -= 1

    monkeypatch.setattr(cpp_extension, "_run", counting)
    for n in range(5):
        (tmp_path / f"part{n}.cpp").write_text(TINY.format(name=f"part{n}", number=n))
    sources = [str(tmp_path / f"part{n}.cpp") for n in range(5)]
    cpp_extension.load("parts", sources, build_directory=tmp_path, is_python_module=False)
    assert most == 2
