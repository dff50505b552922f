"""Links between the pages lead somewhere, anchors included, whether the site or a git host shows them."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: What the site's build writes.
_REFERENCE = ("functions/", "modules/", "classes/", "errors/", "command-line.md")
GENERATED = ("_build/", *(f"reference/{name}" for name in _REFERENCE))

PAGES = [
    *(path for path in sorted(DOCS.rglob("*.md")) if not path.relative_to(DOCS).as_posix().startswith(GENERATED)),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
]


def prose(path: Path) -> str:
    """Return a page without its listings and code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as git hosts and the site make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        inside = found.relative_to(ROOT)
        if inside.as_posix().removeprefix("docs/").startswith(GENERATED):
            continue  # written by the build, which checks it
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), target


def test_there_are_links() -> None:
    assert sum(len(re.findall(r"\]\(", prose(page))) for page in PAGES) > 100


def test_every_page_is_reached() -> None:
    """From the first page, by links: what is in no list of contents is found by nobody."""
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.is_file() or page.suffix != ".md":
            continue
        reached.add(page)
        text = page.read_text(encoding="utf-8")
        waiting += [(page.parent / t.partition("#")[0]).resolve() for t in re.findall(r"\]\(([^)\s:]+)\)", text)]
        for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for line in toctree.splitlines():
                entry = re.sub(r".*<(.*)>", r"\1", line.strip())
                if entry and not entry.startswith(":"):
                    pattern = entry[1:] if entry.startswith("/") else f"{page.parent.relative_to(DOCS)}/{entry}"
                    pattern = pattern.removeprefix("./") + ".md"
                    waiting += [
                        path for path in PAGES if fnmatchcase(path.relative_to(ROOT).as_posix(), "docs/" + pattern)
                    ]
    there = {path for path in DOCS.rglob("*.md") if not path.relative_to(DOCS).as_posix().startswith(GENERATED)}
    # The build lists these by their folders.
    listed = {path for path in there if path.parent.name in ("decisions", "gallery")}
    assert sorted(there - listed - reached) == []
