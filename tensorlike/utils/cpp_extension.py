"""Extensions in C++ and CUDA, written for PyTorch's headers: build them and load them.

`load` and `load_inline` compile when they are called; `CppExtension`, `CUDAExtension` and `BuildExtension` are for a
`setup.py`, which `tensorlike run setup.py ...` runs unchanged. The headers come with the package; a compiler and the
extra `tensorlike[cpp]` are needed.

# Note [What is built again]
Each object file has a record beside it: its command, and a hash of the content of every file that went into it, as the
compiler lists them, but for those of the system. It is compiled again when any of them differs. Times of files do not
matter, so that a checkout or a restored cache is as good as the first build.

Source: PyTorch's `torch.utils.cpp_extension`.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorlike._above import above, absent

from .precompiled import LISTED, precompiled_folder

__all__ = [
    "CUDA_HOME",
    "BuildExtension",  # noqa: F822 - made on first use
    "CUDAExtension",
    "CppExtension",
    "get_compiler_abi_compatibility_and_version",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

_CUDA_SUFFIXES = (".cu", ".cuh")


def _find_cuda_home() -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    if home is not None:
        return home
    compiler = shutil.which("nvcc")
    for folder in ([] if compiler is None else [Path(compiler).resolve().parent.parent]) + [Path("/usr/local/cuda")]:
        # An nvcc on the path may be a program that calls the one of the toolkit.
        if (folder / "bin" / "nvcc").exists() and (folder / "include" / "cuda_runtime.h").exists():
            return str(folder)
    return None


#: The folder of the CUDA toolkit, None where there is none.
CUDA_HOME: str | None = _find_cuda_home()
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """Return the folders of headers that an extension needs; "cuda" adds those of the CUDA toolkit.

    Raises ModuleNotFoundError without pybind11.
    """
    try:
        import pybind11  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "cpp_extension needs pybind11, whose headers extensions include: install tensorlike[cpp]"
        ) from error
    found = [str(Path(__file__).parent.parent / "include")] if torch_include_dirs else []
    found += [np.get_include(), pybind11.get_include(), sysconfig.get_paths()["include"]]
    if device_type == "cuda":
        found.append(os.path.join(_cuda_home(), "include"))
    return found


def library_paths(
    device_type: str = "cpu", torch_include_dirs: bool = True, cross_target_platform: object = None
) -> list[str]:
    """Return the folders of libraries that an extension is linked with: none, but that of the CUDA toolkit."""
    if device_type != "cuda":
        return []
    home = Path(_cuda_home())
    folders = [home / "lib64", *home.glob("targets/*/lib"), home / "lib"]
    return [str(p) for p in folders if any(p.glob("libcudart.so*"))][:1]


def _cuda_home() -> str:
    if CUDA_HOME is None:
        raise OSError(
            "CUDA_HOME environment variable is not set, and there is no nvcc on the path. Please set it to your CUDA "
            "install root."
        )
    return CUDA_HOME


def is_ninja_available() -> bool:
    """Return whether the build tool ninja can be run."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise RuntimeError where ninja cannot be run; builds here do without it."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_cxx_compiler() -> str:
    """Return the compiler of C++: that of the environment variable CXX, or the first there is."""
    wished = os.environ.get("CXX")
    for candidate in (wished,) if wished else ("c++", "g++", "clang++"):
        found = shutil.which(candidate.split()[0])
        if found is not None:
            return candidate if wished else found
    raise RuntimeError(
        f"there is no compiler of C++ ({wished or 'c++, g++, clang++'} is not on the path): install g++ 9 or newer or "
        "clang 11 or newer, for example with `apt-get install g++`, or name one in the environment variable CXX"
    )


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, str]:
    """Return whether a compiler fits, which every one does here, and its version."""
    text = subprocess.run([*shlex.split(compiler), "-dumpfullversion", "-dumpversion"], capture_output=True, text=True)
    return True, text.stdout.strip()


# ---- flags -----------------------------------------------------------------------------------------------------------


def _has_standard(flags: Iterable[str]) -> bool:
    return any(f.startswith(("-std=", "--std=")) for f in flags)


def _flags_of(*variables: str) -> list[str]:
    """Return the flags that environment variables give."""
    return [flag for name in variables for flag in shlex.split(os.environ.get(name, ""))]


def _definitions(name: str) -> list[str]:
    return [f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]


def _cpp_flags(name: str, extra: Sequence[str], includes: Sequence[str], with_cuda: bool) -> list[str]:
    system = [f"-isystem{p}" for p in include_paths("cuda" if with_cuda else "cpu")]
    standard = [] if _has_standard(extra) else ["-std=c++20"]
    # See Note [Two extensions, two versions] in config.h.
    unique = ["-fno-gnu-unique"] if "clang" not in get_cxx_compiler() else []
    # The headers read CPython's and NumPy's objects directly, which the limited interface does not allow.
    given = [f for f in extra if not f.startswith("-DPy_LIMITED_API")]
    return [*_definitions(name), *[f"-I{p}" for p in includes], *system, "-fPIC", *unique, *standard, *given]


# Numbers of 16 bits are those of the headers, whose operators would otherwise be ambiguous with the toolkit's.
_NO_CUDA_HALF = [
    f"-D__CUDA_NO_{part}__"
    for part in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS")
]


def _cuda_flags(name: str, extra: Sequence[str], includes: Sequence[str]) -> list[str]:
    system = [f"-isystem={p}" for p in include_paths("cuda")]
    standard = [] if _has_standard(extra) else ["-std=c++20"]
    wished = os.environ.get("CXX")
    return [
        *_definitions(name),
        *_NO_CUDA_HALF,
        *[f"-I{p}" for p in includes],
        *system,
        *(["-ccbin", shlex.split(wished)[0]] if wished else []),
        *["-Xcompiler", "-fPIC,-fno-gnu-unique", "--expt-relaxed-constexpr", "--extended-lambda"],
        *_cuda_architectures(extra),
        *standard,
        *extra,
    ]


def _cuda_architectures(extra: Sequence[str]) -> list[str]:
    """Return the flags that name the GPUs to compile for.

    They come from TORCH_CUDA_ARCH_LIST, such as "8.0;9.0a+PTX", else from the GPU of this machine. Without either, the
    compiler's own default runs on every GPU since the oldest one that it knows: the driver compiles the rest.
    """
    if any(f.startswith(("-arch", "--gpu-architecture", "-gencode", "--generate-code")) for f in extra):
        return []
    listed = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    if not listed:
        return ["-arch=native"] if _has_gpu() else []
    flags = []
    for one in listed:
        found = re.fullmatch(r"(\d+)\.(\d+[af]?)(\+PTX)?", one)
        if found is None:
            raise ValueError(f"TORCH_CUDA_ARCH_LIST: {one!r} is no compute capability such as 8.0, 9.0a or 9.0+PTX")
        number = found[1] + found[2]
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if found[3]:
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return flags


def _has_gpu() -> bool:
    program = shutil.which("nvidia-smi")
    return program is not None and "GPU" in subprocess.run([program, "-L"], capture_output=True, text=True).stdout


# ---- building --------------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """One file to make: the command, what it makes, and the file with the list of what went into it."""

    command: list[str]
    output: Path
    dependencies: Path | None
    inputs: tuple[Path, ...]
    #: The folder of a precompiled header: see Note [When a precompiled header pays].
    header: Path | None = None

    @property
    def shell(self) -> list[str]:
        """The command as it is run."""
        return self.command if self.header is None else [*self.command, f"-I{self.header}"]

    @property
    def record(self) -> Path:
        return self.output.with_name(self.output.name + ".json")


def _hash(path: str | Path) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _is_current(step: _Step) -> bool:
    """Return whether the output was made by this command from files of this content."""
    try:
        record = json.loads(step.record.read_text())
    except (OSError, ValueError):
        return False
    if not step.output.exists() or record["command"] != step.command:
        return False
    return all(_hash(path) == content for path, content in record["files"].items())


def _remember(step: _Step) -> None:
    files = set(map(str, step.inputs))
    lists = [p for p in (step.dependencies, step.header and step.header / LISTED) if p is not None]
    for text in (p.read_text().replace("\\\n", " ") for p in lists):
        listed = (p.replace("\\ ", " ") for p in re.split(r"(?<!\\)\s+", text.partition(":")[2].strip()))
        # The compiler's and the system's own come with the compiler.
        files.update(p for p in listed if not p.startswith("/usr/"))
    record = {"command": step.command, "files": {f: _hash(f) for f in sorted(files)}}
    temporary = step.record.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(record))
    temporary.replace(step.record)


class CompilationError(RuntimeError):
    """Raised for a source that does not compile, with the compiler's own words."""


def _run(step: _Step, verbose: bool) -> None:
    if verbose:
        print(shlex.join(step.shell), file=sys.stderr, flush=True)
    result = subprocess.run(step.shell, capture_output=True, text=True)
    if result.returncode != 0:
        raise CompilationError(f"{shlex.join(step.shell)}\n{result.stderr or result.stdout}")
    if verbose and result.stderr:
        print(result.stderr, file=sys.stderr)


def _workers() -> int:
    try:
        return max(1, int(os.environ["MAX_JOBS"]))
    except (KeyError, ValueError):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _build(name: str, steps: Sequence[_Step], folder: Path, verbose: bool) -> None:
    """Make the outputs that are not current, several at once: see Note [What is built again]."""
    stale = [s for s in steps if not _is_current(s)]
    if not stale:
        if verbose:
            print(f"{name}: nothing to do", file=sys.stderr)
        return
    if verbose:
        print(f"Building extension {name}: {len(stale)} of {len(steps)} files, in {folder}", file=sys.stderr)
    for step in stale:
        # A build may be interrupted: what it leaves has no record, and is made again.
        step.record.unlink(missing_ok=True)
        step.output.unlink(missing_ok=True)
    try:
        if is_ninja_available() and len(stale) > 1:
            _run_ninja(stale, folder, verbose)
        else:
            _run_in_threads(stale, verbose)
    except CompilationError as error:
        # Compilers remove what they could not finish.
        for step in stale:
            if step.output.exists():
                _remember(step)
        raise RuntimeError(f"Error building extension '{name}': {error}") from None
    for step in stale:
        _remember(step)


def _run_in_threads(steps: Sequence[_Step], verbose: bool) -> None:
    with concurrent.futures.ThreadPoolExecutor(min(_workers(), len(steps))) as pool:
        running = [pool.submit(_run, s, verbose) for s in steps]
        try:
            for number, done in enumerate(concurrent.futures.as_completed(running), 1):
                done.result()
                if verbose:
                    print(f"[{number}/{len(steps)}]", file=sys.stderr, flush=True)
        except BaseException:
            # An error, or an interrupt: those that have not begun are left out.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_ninja(steps: Sequence[_Step], folder: Path, verbose: bool) -> None:
    def escaped(text: str) -> str:
        return text.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")

    lines = ["ninja_required_version = 1.3", "rule make", "  command = $command", "  description = $out"]
    for step in steps:
        # What is stale is decided by content; ninja, which looks at times, makes all of these: none is there.
        lines.append(f"build {escaped(str(step.output))}: make {' '.join(escaped(str(p)) for p in step.inputs)}")
        lines.append(f"  command = {shlex.join(step.shell).replace('$', '$$')}")
    (folder / "build.ninja").write_text("\n".join(lines) + "\n")
    command = ["ninja", "-C", str(folder), "-j", str(_workers()), *(["-v"] if verbose else ["--quiet"])]
    # What it prints is passed on as it comes, and kept: the compiler's words are those of the error.
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if verbose:
                print(line, end="", file=sys.stderr, flush=True)
    if process.returncode != 0:
        raise CompilationError("".join(said))


def _compile_steps(
    name: str, sources: Sequence[str | Path], folder: Path, cpp_flags: Sequence[str], cuda_flags: Sequence[str]
) -> list[_Step]:
    steps = []
    for number, source in enumerate(map(Path, sources)):
        is_cuda = source.suffix in _CUDA_SUFFIXES
        suffix = ".cuda.o" if is_cuda else ".o"
        output = folder / f"{source.stem}_{number}{suffix}"
        listed = output.with_suffix(".d")
        compiler = [os.path.join(_cuda_home(), "bin", "nvcc")] if is_cuda else shlex.split(get_cxx_compiler())
        flags = cuda_flags if is_cuda else cpp_flags
        command = [*compiler, "-MD", "-MF", str(listed), *flags, "-c", str(source), "-o", str(output)]
        steps.append(_Step(command, output, listed, (source,)))
    return steps


def _build_root() -> Path:
    root = os.environ.get("TENSORLIKE_EXTENSIONS_DIR") or os.environ.get("TORCH_EXTENSIONS_DIR")
    if root:
        return Path(root)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "tensorlike_extensions"


def _default_folder(name: str) -> Path:
    version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    return _build_root() / version / name


def get_default_build_root() -> str:
    """Return the folder under which extensions are built: set it with TENSORLIKE_EXTENSIONS_DIR."""
    return str(_build_root())


def _as_list(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
    use_pch: bool | None = None,
    **ignored: object,
) -> Any:
    """Compile an extension, unless it was compiled before, and load it.

    - `sources`: files of C++ (`.cpp`) and CUDA (`.cu`).
    - `extra_cflags`, `extra_cuda_cflags`, `extra_ldflags`: flags for the compilers and the linker.
    - `extra_include_paths`: folders of more headers.
    - `build_directory`: where to build; by default a folder of the user's cache.
    - `verbose`: print the commands and the progress.
    - `is_python_module`: return the module; false for a library that registers operators.
    - `is_standalone`: build a program, and return its path.
    - `use_pch`: whether g++ is to use a precompiled header; None for where it pays, which is from five files on.

    Raises RuntimeError with the compiler's own words for a source that does not compile, and where there is no
    compiler.
    """
    paths = _as_list(sources)
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"load(): there is no source {path}")
    folder = Path(build_directory) if build_directory is not None else _default_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    library = _build_library(
        name, [str(Path(p).resolve()) for p in paths], folder, _as_list(extra_cflags), _as_list(extra_cuda_cflags),
        _as_list(extra_ldflags), _as_list(extra_include_paths), verbose, with_cuda, is_standalone, use_pch,
    )  # fmt: skip
    if is_standalone:
        return str(library)
    return _loaded(name, library, is_python_module)


def _build_library(
    name: str,
    sources: Sequence[str],
    folder: Path,
    cflags: Sequence[str],
    cuda_cflags: Sequence[str],
    ldflags: Sequence[str],
    includes: Sequence[str],
    verbose: bool,
    with_cuda: bool | None,
    is_standalone: bool,
    use_pch: bool | None,
    written: Mapping[Path, str] = {},
) -> Path:
    uses_cuda = any(Path(s).suffix in _CUDA_SUFFIXES for s in sources) if with_cuda is None else with_cuda
    cpp_flags = _cpp_flags(name, cflags, includes, uses_cuda)
    cuda_flags = _cuda_flags(name, cuda_cflags, includes) if uses_cuda else []
    with _Lock(folder / "lock"):
        for path, text in written.items():
            path.write_text(text)
        steps = _compile_steps(name, sources, folder, cpp_flags, cuda_flags)
        stale = [s for s in steps if not _is_current(s) and s.inputs[0].suffix not in _CUDA_SUFFIXES]
        header = _precompiled([s.inputs[0] for s in stale], cpp_flags, use_pch, verbose) if stale else None
        _build(name, [s._replace(header=header) if s in stale else s for s in steps], folder, verbose)
        objects = [s.output for s in steps]
        # A library that is loaded must not be written over: its name tells its content.
        content = hashlib.sha256("".join(_hash(o) or "" for o in objects).encode() + repr(ldflags).encode()).hexdigest()
        target = folder / (name if is_standalone else f"{name}.{content[:16]}.so")
        link = [] if is_standalone else ["-shared"]
        # PyTorch's library brings OpenMP's along, so that many extensions only compile for it.
        link += [f for f in cflags if f.startswith("-fopenmp")][:1]
        # The library of the toolkit is found when the extension is loaded, unless CuPy has loaded its own before.
        libraries = [f for p in library_paths("cuda") for f in (f"-L{p}", f"-Wl,-rpath,{p}")] if uses_cuda else []
        libraries += ["-lcudart"] if uses_cuda else []
        embedded = _embedding_flags() if is_standalone else []
        command = [
            *shlex.split(get_cxx_compiler()), *map(str, objects), *link, *ldflags, *libraries, *embedded,
            "-o", str(target),
        ]  # fmt: skip
        _build(name, [_Step(command, target, None, tuple(objects))], folder, verbose)
    return target


def _precompiled(sources: Sequence[Path], flags: Sequence[str], wanted: bool | None, verbose: bool) -> Path | None:
    """Return the folder of a precompiled header to search first: see Note [When a precompiled header pays]."""

    def make(command: list[str], target: Path) -> None:
        if verbose:
            print("Precompiling the headers", file=sys.stderr, flush=True)
        _run(_Step(command, target, None, ()), verbose)

    root = _build_root()
    package, _, pybind11, _ = include_paths()
    (root / "precompiled").mkdir(parents=True, exist_ok=True)
    with _Lock(root / "precompiled.lock"):
        try:
            return precompiled_folder(
                sources, shlex.split(get_cxx_compiler()), flags, [package, pybind11], root, wanted, make
            )
        except (CompilationError, OSError) as error:
            # It only saves time: a source that is wrong says so itself.
            if verbose:
                print(f"No precompiled header: {error}", file=sys.stderr)
            return None


def _embedding_flags() -> list[str]:
    """Return the flags that link a program with the interpreter."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    version = sysconfig.get_config_var("LDVERSION") or sysconfig.get_python_version()
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-lpython{version}", "-lpthread", "-ldl"]


class _Lock:
    """Keeps other processes from building in a folder at the same time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        self._file = open(self._path, "w")
        try:
            import fcntl  # noqa: PLC0415 - not in every Python

            fcntl.flock(self._file, fcntl.LOCK_EX)
        except ImportError:
            pass

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _loaded(name: str, path: Path, is_python_module: bool) -> Any:
    operators = above("library.operators")
    if not is_python_module:
        operators.ops.load_library(path)
        return str(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    operators.raise_kept_error()
    return module


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: str | Sequence[str] | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool | None = None,
    no_implicit_headers: bool = False,
    **ignored: object,
) -> Any:
    """Compile an extension from source texts, and load it.

    `functions` names the functions of the sources that Python is to call, or maps their names to docstrings; the other
    arguments are those of `load`. `torch/extension.h` is included before the sources unless `no_implicit_headers`.

    Raises RuntimeError as `load` does.
    """
    cpp, cuda = _as_list(cpp_sources), _as_list(cuda_sources)
    exported = dict(functions) if isinstance(functions, Mapping) else dict.fromkeys(_as_list(functions))
    folder = Path(build_directory) if build_directory is not None else _default_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    head = "" if no_implicit_headers else "#include <torch/extension.h>\n"
    text = head + "\n".join(cpp)
    if exported:
        text += "\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n"
        for function, doc in exported.items():
            text += f'  m.def("{function}", &{function}, {json.dumps(doc or function)});\n'
        text += "}\n"
    written = {folder / "main.cpp": text}
    if cuda:
        cuda_head = (
            "" if no_implicit_headers else "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
        )
        written[folder / "cuda.cu"] = cuda_head + "\n".join(cuda)
    # Written when no other process builds here.
    library = _build_library(
        name, [str(p.resolve()) for p in written], folder, _as_list(extra_cflags), _as_list(extra_cuda_cflags),
        _as_list(extra_ldflags), _as_list(extra_include_paths), verbose, bool(cuda) if with_cuda is None else with_cuda,
        False, use_pch, written,
    )  # fmt: skip
    return _loaded(name, library, is_python_module)


# ---- setup.py --------------------------------------------------------------------------------------------------------


def _extension(name: str, sources: Sequence[str], kwargs: dict[str, Any], device_type: str) -> Any:
    import setuptools  # noqa: PLC0415 - optional

    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths(device_type)]
    kwargs["library_dirs"] = [*kwargs.get("library_dirs", []), *library_paths(device_type)]
    if device_type == "cuda":
        kwargs["libraries"] = [*kwargs.get("libraries", []), "cudart"]
    # PyTorch's own libraries, which some name themselves: everything is in the headers here.
    own = {"c10", "torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda"}
    kwargs["libraries"] = [one for one in kwargs.get("libraries", []) if one not in own]
    kwargs["language"] = "c++"
    for unused in ("dlink", "dlink_libraries", "py_limited_api"):
        kwargs.pop(unused, None)
    return setuptools.Extension(name, list(sources), **kwargs)


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """Return a `setuptools.Extension` of C++ sources; the arguments are setuptools'."""
    return _extension(name, sources, kwargs, "cpu")


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """Return a `setuptools.Extension` of C++ and CUDA sources. Raises OSError where there is no CUDA toolkit."""
    return _extension(name, sources, kwargs, "cuda")


def __getattr__(name: str) -> Any:
    # Made on first use: setuptools takes 0.2 s to import, and need not be there.
    if name == "BuildExtension":
        globals()[name] = made = _build_extension()
        return made
    return absent(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _build_extension() -> type:
    try:
        from setuptools.command.build_ext import build_ext  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("BuildExtension needs setuptools: install tensorlike[cpp]") from error

    class BuildExtension(build_ext):  # type: ignore[misc, unused-ignore]
        """The `build_ext` command for `CppExtension` and `CUDAExtension`: `cmdclass={"build_ext": BuildExtension}`."""

        @classmethod
        def with_options(cls, **options: Any) -> type:
            """Return a subclass with options set: `no_python_abi_suffix=True`, `use_ninja=False`."""
            return type(cls.__name__, (cls,), {"_options": {**getattr(cls, "_options", {}), **options}})

        def get_ext_filename(self, ext_name: str) -> str:
            """Return the file name of an extension."""
            path = super().get_ext_filename(ext_name)
            if getattr(self, "_options", {}).get("no_python_abi_suffix"):
                parts = path.split(".")
                return ".".join([*parts[:-2], parts[-1]])
            return str(path)

        def build_extension(self, ext: Any) -> None:
            """Build one extension."""
            output = Path(self.get_ext_fullpath(ext.name)).resolve()
            output.parent.mkdir(parents=True, exist_ok=True)
            folder = Path(self.build_temp).resolve() / ext.name.replace(".", "_")
            folder.mkdir(parents=True, exist_ok=True)
            given = ext.extra_compile_args or []
            cflags = given.get("cxx", []) if isinstance(given, dict) else given
            # As setuptools does for every extension.
            cflags = [*_flags_of("CPPFLAGS", "CFLAGS", "CXXFLAGS"), *cflags]
            cuda_cflags = given.get("nvcc", []) if isinstance(given, dict) else []
            defined = [f"-D{k}" if v is None else f"-D{k}={v}" for k, v in ext.define_macros]
            defined += [f"-U{k}" for k in ext.undef_macros]
            own = set(include_paths())
            includes = [os.path.abspath(p) for p in ext.include_dirs if p not in own]
            ldflags = [*_flags_of("LDFLAGS"), *(ext.extra_link_args or []), *[f"-L{p}" for p in ext.library_dirs]]
            ldflags += [f"-Wl,-rpath,{p}" for p in ext.runtime_library_dirs] + [f"-l{one}" for one in ext.libraries]
            optimized = [] if any(f.startswith("-O") for f in cflags) else ["-O3"]
            built = _build_library(
                ext.name.rpartition(".")[2], [os.path.abspath(s) for s in ext.sources], folder,
                [*optimized, *defined, *cflags], [*defined, *cuda_cflags], ldflags, includes, bool(self.verbose), None,
                False, None,
            )  # fmt: skip
            shutil.copyfile(built, output)

    return BuildExtension
