"""Programs that end with an error: raised in code of the user, or by what is built on tensors.

Each takes the library, tensorlike or PyTorch, and `watch`, which it gives the objects that must be gone when the error
has been caught and dropped. Each raises.
"""

from __future__ import annotations

from . import backward, objects
from .common import PROGRAMS, UserError
from .overrides import Raises, Refuses
from .own import OWN
from .transforms import TRANSFORMS

__all__ = ["OWN", "PROGRAMS", "TRANSFORMS", "Raises", "Refuses", "UserError", "backward", "objects"]
