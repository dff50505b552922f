"""Modules of PyTorch's beside the heart, under their public names: `tensorlike.cuda`, `tensorlike.amp` and so on.

# Note [Namespaces that PyTorch has]
The files of this folder are the modules `tensorlike.cuda` and so on: `tensorlike.__path__` ends with the folder, so
that they are found, when they are asked for, under their public names, which are those in pickles and texts. They
import each other relatively (`from ..cpu import ...`), the rest of the library by its full name. What type checkers
read for `import tensorlike.cuda` is in `stubs/`, written by tools/generate_stubs.py; setup.py copies it into the wheel,
to where they look.
"""

raise ImportError("the modules of tensorlike.as_torch.namespaces are imported by their public names: tensorlike.cuda")
