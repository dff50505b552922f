"""Transforms of functions: batches and tangents as tensor-like types. `tensorlike.func` has the public names."""

from __future__ import annotations

from . import batching as batching
from . import custom_functions as custom_functions
from . import gradients, levels
from . import restructuring as restructuring

levels.answer_grad = gradients.answer_grad  # type: ignore[attr-defined]  # It differentiates through batches and tangents, which are levels.
