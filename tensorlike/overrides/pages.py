"""The pages that reports are written as: one HTML file each, which needs neither network nor other files."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["as_script_data", "rendered"]


def rendered(package: str, template: str, **values: object) -> str:
    """Return a template of `package` with `values`; it may extend `page.html.j2`, which stands in this folder.

    Raises ImportError when Jinja2 is not installed.
    """
    import jinja2  # noqa: PLC0415 - optional

    folders = (package, "tensorlike.overrides")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(folder, package_path="") for folder in folders]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(values)


def as_script_data(data: object) -> Any:
    """Return `data` as JSON that can stand in a script element: no text in it ends the element or begins a tag."""
    import markupsafe  # noqa: PLC0415 - optional

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return markupsafe.Markup(text)
