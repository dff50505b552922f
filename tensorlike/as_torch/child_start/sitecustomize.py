"""Run by Python when a child process starts: see Note [How a child starts]."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def _start() -> None:
    import os
    import sys
    from importlib.machinery import PathFinder

    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or os.curdir) != folder]
    missing = os.environ.get("TENSORLIKE_AS_TORCH")

    class Finder:
        """Installs tensorlike at the first question for torch."""

        @staticmethod
        def _install() -> Any:
            sys.meta_path.remove(Finder)
            try:
                import tensorlike
            except ModuleNotFoundError:
                sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(folder))))
                try:
                    import tensorlike
                except ImportError:  # Another Python, without NumPy: this library cannot be its torch.
                    del sys.path[-1]
                    return None
            tensorlike.install_as_torch(missing or "raise")
            return sys.meta_path[0]

        @staticmethod
        def find_spec(fullname: str, path: object = None, target: object = None) -> Any:
            if fullname.partition(".")[0] not in ("torch", "functorch"):
                return None
            finder = Finder._install()
            return None if finder is None else finder.find_spec(fullname, path, target)

        @staticmethod
        def find_distributions(context: Any) -> Iterator[Any]:
            if context.name is None or context.name.lower() != "torch":
                return iter(())
            finder = Finder._install()
            return iter(()) if finder is None else finder.find_distributions(context)

        @staticmethod
        def invalidate_caches() -> None:
            pass

    if missing in ("raise", "placeholder"):
        sys.meta_path.insert(0, Finder)
    # The sitecustomize that this one hides.
    hidden = PathFinder.find_spec("sitecustomize")
    if hidden is not None and hidden.loader is not None:
        from importlib.util import module_from_spec

        module = sys.modules["sitecustomize"] = module_from_spec(hidden)
        hidden.loader.exec_module(module)


_start()
