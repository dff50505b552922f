"""Sample inputs of every operation, in the folders of `operations/`; importing this package registers them all."""

from __future__ import annotations

import importlib
import pkgutil

from tensorlike.dispatch.operation import Form, form_of
from tensorlike.dispatch.registry import IGNORED, REGISTRY

from .sample import SAMPLES, Make, SampleInput, Samples, samples

__all__ = ["SAMPLES", "Make", "SampleInput", "Samples", "samples", "serving"]

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)


def _attach() -> None:
    """Give each form that samples are registered for these samples."""
    for name, given in SAMPLES.items():
        importlib.import_module(name.partition(".Tensor.")[0].rpartition(".")[0] or "tensorlike")  # As `nn.init`.
        ignored = IGNORED.get(name)
        form = REGISTRY.get(name) or (None if ignored is None else form_of(ignored[0]))
        if form is not None:
            form.samples = given


def serving(form: Form) -> Form | None:
    """Return the form whose samples serve `form`: itself, another of its operation, or of what that is a variant of."""
    operation = form.operation
    found = next((f for f in (form, *operation.forms) if f.samples is not None), None)
    if found is None and operation.variant is not None:
        found = serving(operation.variant.of.forms[0])
    return found


_attach()
