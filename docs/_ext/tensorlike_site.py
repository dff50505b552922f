"""The site's own part of the build: generated pages, links into the repository, links of names in backticks.

# Note [Pages that also read well without the site]
The pages in `docs/` are read on a git host as well. So they use Markdown's own links, to files of the repository too,
and names in backticks; what the site adds to both is added here. A link to a Markdown file outside of `docs/` leads to
its page in `docs/project`, one to any other file to a page with its source. A name in backticks that is an object of
the reference, such as `tl.overrides.trace`, leads to it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

ROOT = Path(__file__).resolve().parents[2]

#: Files outside of `docs/` that have a page.
PROJECT_PAGES = {
    "CONTRIBUTING.md": "project/contributing",
    "CHANGELOG.md": "project/changelog",
    "SECURITY.md": "project/security",
}
#: Pages that list all others of their folder by a pattern; a git host lists the folder itself.
LISTS = {"decisions/README": "0*"}

#: Where the pages lie that no table of contents lists: of each function, class and source.
UNLISTED = ("reference/functions/", "reference/classes/", "_source/")

_LINK = re.compile(r"\]\((?P<target>(?!\w+:|#)[^)\s]+)\)")
_NAME = re.compile(r"(?:(?:tensorlike|tl)\.)?[A-Za-z_][\w.]*(\(\))?")


class SourceRole(SphinxRole):
    """A link to a line of a file: {source}`tensorlike/func.py:12`, shown as it is written, or {source}`text <path>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the text with its target; the address is that of a page's place, known when it is written."""
        found = re.fullmatch(r"(?s)(?P<text>.*) <(?P<path>[^>]*)>", self.text)
        text, target = (found["text"], found["path"]) if found else (self.text, self.text)
        path, _, line = target.partition(":")
        reference = nodes.reference("", "", internal=True, source_path=path, source_line=line)
        is_name = found is None or text.startswith("`")
        reference += (nodes.literal if is_name else nodes.inline)("", text.strip("`"))
        if not (ROOT / path).is_file():
            message = self.inliner.reporter.warning(f"there is no file {path}", line=self.lineno)
            return [reference], [message]
        return [reference], []


def _rewritten(folder: str, text: str) -> str:
    """Return a page's text with its links out of `docs/` as links inside of the site."""

    def link(found: re.Match[str]) -> str:
        path, _, anchor = found["target"].partition("#")
        target = posixpath.normpath(posixpath.join("docs", folder, path))
        if target in PROJECT_PAGES:
            page = posixpath.relpath(PROJECT_PAGES[target], folder or ".")
            return f"]({page}.md{'#' + anchor if anchor else ''})"
        if not target.startswith("docs/") and (ROOT / target).is_file():
            return f"](source:{target})"
        if target.startswith("docs/") and (ROOT / target).is_dir() and (ROOT / target / "index.md").is_file():
            return f"]({path.rstrip('/')}/index.md)"
        return found[0]

    return _LINK.sub(link, text)


def read_source(app: Sphinx, docname: str, content: list[str]) -> None:
    """Rewrite the links of a page as it is read."""
    if not docname.startswith("reference/functions/") or docname.endswith("/index"):
        content[0] = _rewritten(posixpath.dirname(docname), content[0])
    pattern = LISTS.get(docname)
    folder = Path(app.srcdir) / posixpath.dirname(docname)
    if pattern and {path.stem for path in folder.glob(f"{pattern}.md")} - {posixpath.basename(docname)}:
        content[0] += f"\n```{{toctree}}\n:glob:\n\n{pattern}\n```\n"


def read_include(app: Sphinx, path: Path, docname: str, content: list[str]) -> None:
    """Rewrite the links of a file from outside of `docs/` that a page includes."""
    folder = posixpath.dirname(docname)

    def link(found: re.Match[str]) -> str:
        path, _, anchor = found["target"].partition("#")
        target = posixpath.normpath(path)
        if target.startswith("docs/"):
            relative = posixpath.relpath(target.removeprefix("docs/"), folder or ".")
        else:
            relative = posixpath.relpath(target, posixpath.join("docs", folder))
        return f"]({relative}{'#' + anchor if anchor else ''})"

    content[0] = _rewritten(folder, _LINK.sub(link, content[0]))


def _files_shown(app: Sphinx) -> set[str]:
    found: set[str] = set()
    for paths in getattr(app.env, "tensorlike_sources", {}).values():
        found |= paths
    return found


def note_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Turn `source:` links into references to source pages, and note the files that a page refers to."""
    for reference in doctree.findall(nodes.reference):
        target = reference.get("refuri", "")
        if target.startswith("source:"):
            reference["source_path"], reference["source_line"] = target.removeprefix("source:"), ""
    paths = {r["source_path"] for r in doctree.findall(nodes.reference) if r.get("source_path")}
    kept = app.env.__dict__.setdefault("tensorlike_sources", {})
    kept[app.env.docname] = paths


def mark_lists(app: Sphinx, doctree: nodes.document) -> None:
    """Mark tables without a heading, which are lists of names: a narrow screen shows their cells below each other."""
    for table in doctree.findall(nodes.table):
        if not any(head.astext().strip() for head in table.findall(nodes.thead)):
            table["classes"].append("names")


def merge_sources(app: Sphinx, env: Any, docnames: list[str], other: Any) -> None:
    """Take over what a process that read a part of the pages has noted."""
    env.__dict__.setdefault("tensorlike_sources", {}).update(getattr(other, "tensorlike_sources", {}))


def forget_sources(app: Sphinx, env: Any, docname: str) -> None:
    """Forget the files that a page referred to before it was read anew."""
    env.__dict__.setdefault("tensorlike_sources", {}).pop(docname, None)


def _objects(app: Sphinx) -> Any:
    return app.env.domains.python_domain.objects


def _named(objects: Any, text: str) -> str | None:
    """Return the full name of the object that a text in backticks means, if it means one."""
    if not _NAME.fullmatch(text):
        return None
    name = text.removesuffix("()")
    if name.startswith("tl."):
        name = "tensorlike." + name.removeprefix("tl.")
    # A single word is a parameter, or a word; a dotted one is a name.
    candidates = (name, f"tensorlike.{name}") if "." in name else ()
    return next((candidate for candidate in candidates if candidate in objects), None)


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give names in backticks, and references to sources, their addresses."""
    objects = _objects(app)
    builder = app.builder
    for literal in list(doctree.findall(nodes.literal)):
        if any(isinstance(parent, (nodes.reference, nodes.title)) for parent in _parents(literal)):
            continue
        name = _named(objects, literal.astext())
        if name is None:
            continue
        entry = objects[name]
        if entry.docname == docname:
            continue
        address = builder.get_relative_uri(docname, entry.docname) + "#" + entry.node_id
        reference = nodes.reference("", "", internal=True, refuri=address, reftitle=name)
        literal.parent.replace(literal, reference)
        reference += literal
    for reference in doctree.findall(nodes.reference):
        path = reference.get("source_path")
        if path:
            page = posixpath.relpath(f"_source/{path}.html", posixpath.dirname(docname) or ".")
            line = reference["source_line"]
            reference["refuri"] = page + (f"#line-{line}" if line else "")
            del reference.attributes["source_path"], reference.attributes["source_line"]


def _parents(node: nodes.Node) -> Iterator[nodes.Node]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the pages with the source of every file that a page refers to."""
    for path in sorted(_files_shown(app)):
        text = (ROOT / path).read_text(encoding="utf-8")
        formatter = HtmlFormatter(linenos="inline", anchorlinenos=True, lineanchors="line", cssclass="highlight")
        body = highlight(text, get_lexer_for_filename(path), formatter)
        yield f"_source/{path}", {"title": path, "body": f"<h1>{path}</h1>\n{body}"}, "page.html"


def share_navigation(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Have the pages of a folder that no table of contents lists share one list of the site's pages.

    That list is the same on each but for the way back to the root, and making it takes half of the time of such a page.
    """
    folder = posixpath.dirname(pagename)
    if "toctree" not in context or not pagename.startswith(UNLISTED) or pagename.endswith("/index"):
        return
    made = context["toctree"]
    kept: dict[str, str] = app.builder.__dict__.setdefault("tensorlike_navigation", {})

    def toctree(**options: Any) -> str:
        if folder not in kept:
            kept[folder] = str(made(**options))
        return kept[folder]

    context["toctree"] = toctree


def theme_options(urls: Mapping[str, str]) -> dict[str, Any]:
    """Return the theme's options for the addresses of `[project.urls]`: links below each page, and to its source."""
    options: dict[str, Any] = {
        "footer_icons": [{"name": name, "url": url, "html": name, "class": ""} for name, url in urls.items()]
    }
    if "Repository" in urls:
        options |= {"source_repository": urls["Repository"], "source_branch": "main", "source_directory": "docs/"}
    return options


def generate(app: Sphinx) -> None:
    """Write the pages of the reference."""
    import generate_reference

    generate_reference.write(Path(app.srcdir) / "reference")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to the build."""
    app.add_role("source", SourceRole())
    app.connect("builder-inited", generate)
    app.connect("source-read", read_source)
    app.connect("include-read", read_include)
    app.connect("doctree-read", note_sources)
    app.connect("doctree-read", mark_lists)
    app.connect("env-merge-info", merge_sources)
    app.connect("env-purge-doc", forget_sources)
    app.connect("doctree-resolved", link_names)
    app.connect("html-collect-pages", source_pages)
    app.connect("html-page-context", share_navigation, priority=100)  # Before the theme's, which asks for the list.
    return {"version": "2", "env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}
