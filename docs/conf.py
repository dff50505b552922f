"""Settings of the site: `python tools/build_docs.py` builds it."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT, ROOT / "tools", ROOT / "docs" / "_ext"):
    sys.path.insert(0, str(folder))

from tensorlike_site import theme_options  # noqa: E402

import tensorlike  # noqa: E402

project = "tensorlike"
author = "the tensorlike developers"
copyright = "the tensorlike developers"
version = release = tensorlike.__version__

extensions = ["myst_parser", "tensorlike_site", "tensorlike_reports"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# `source:` is a link to a page with a file's source: Note [Pages that also read well without the site].
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": "source:{{path}}"}

# Every reference must lead somewhere. Annotations name Python's own types, which have no page here, and aliases.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!tensorlike).*")]
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
smartquotes = False  # Takes a tenth of the build; quotes are code here.
highlight_language = "none"

#: The addresses of the project, where it has them: a fork or a mirror changes them in one place.
with (ROOT / "pyproject.toml").open("rb") as settings:
    urls = tomllib.load(settings)["project"].get("urls", {})

html_theme = "furo"
html_theme_options = theme_options(urls)
html_title = f"tensorlike {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
