"""The mechanical part of the rules for docstrings and comments: subjects, and the glossary."""

import ast
import functools
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tensorlike"
GLOSSARY = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

#: A first sentence must not have one of these as its subject.
SUBJECTS = ("What", "Whatever", "Who", "Whoever", "Whichever", "Nobody", "Somebody", "Anybody", "Everybody")

#: Words that have no place in a text about code: functions, types and callers have names.
WORDS = ("nobody", "somebody", "anybody", "whoever", "stand-in", "stand-ins", "led nowhere")

def text_of(docstring: str) -> str:
    """Return a docstring in one line, without its examples and what these print."""
    kept, example = [], False
    for line in docstring.splitlines():
        example = line.strip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            kept.append(line.strip())
    return " ".join(" ".join(kept).split())


def texts(source: str) -> list[tuple[int, str, bool]]:
    """Return (line, text, is docstring) of each docstring and of each block of comments."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                found.append((node.body[0].lineno, text_of(docstring), True))
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if block and line != last + 1:
                found.append((last, " ".join(block), False))
                block = []
            block.append(token.string.lstrip("#: "))
            last = line
    if block:
        found.append((last, " ".join(block), False))
    return found


def faults(text: str, is_docstring: bool) -> list[str]:
    """Return what is wrong with one docstring or comment."""
    found = []
    first = text.split(" ", 1)[0].rstrip(",:")
    if is_docstring and first in SUBJECTS:
        found.append(f"the first sentence has the subject {first!r}")
    lowered = text.lower()
    return found + [f"{word!r}" for word in WORDS if re.search(rf"\b{word}\b", lowered)]


@functools.cache
def package_texts() -> list[tuple[str, str, bool]]:
    """Return (file and line, text, is docstring) of every docstring and comment of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, text, is_docstring in texts(path.read_text(encoding="utf-8")):
            found.append((f"{path.relative_to(ROOT)}:{line}", text, is_docstring))
    return found


def glossary_of(text: str) -> dict[str, str]:
    """Return the terms of the section "Glossary" with their explanations."""
    section = re.search(r"^## Glossary\n(.*?)(?=^## )", text, re.M | re.S)
    assert section is not None, "CONTRIBUTING.md has no glossary"
    items = re.split(r"^- ", section[1], flags=re.M)[1:]
    matches = [re.fullmatch(r"\*\*([^*]+)\*\*: (.*)", " ".join(item.split())) for item in items]
    assert all(matches), "an item of the glossary is not `**term**: explanation`"
    return {match[1]: match[2] for match in matches if match}


def test_docstrings_and_comments_are_plain():
    kinds = [is_docstring for _, _, is_docstring in package_texts()]
    assert kinds.count(True) > 2000
    assert kinds.count(False) > 500
    wrong = [f"{place}: {fault}" for place, text, kind in package_texts() for fault in faults(text, kind)]
    assert wrong == []


def test_the_glossary_explains_the_terms_of_the_code():
    glossary = glossary_of(GLOSSARY)
    # What a reader has to learn before the code: more would be a language of its own.
    assert 10 <= len(glossary) <= 20
    assert list(glossary) == sorted(glossary)
    code = " ".join(text for _, text, _ in package_texts()).lower()
    assert [term for term in glossary if term.lower() not in code] == []
    long = {term: text for term, text in glossary.items() if len(re.findall(r"[.!?](?: |$)", text)) not in (1, 2)}
    assert long == {}


class TestTheChecksThemselves:
    @pytest.mark.parametrize(
        "docstring",
        [
            "What a tensor is.",
            "Whoever asks is answered.",
            "Nobody is asked.",
            "Return the tensor, which nobody else holds.",
        ],
    )
    def test_a_vague_subject_is_found(self, docstring):
        source = f'def f():\n    """{docstring}"""\n'
        (found,) = texts(source)
        assert found[2]
        assert faults(*found[1:])

    def test_a_comment_is_read_over_the_end_of_a_line(self):
        ((_, text, is_docstring),) = texts("x = 1  # Write to it, which\n# nobody\n# reads.\n")
        assert not is_docstring
        assert text == "Write to it, which nobody reads."
        assert faults(text, is_docstring) == ["'nobody'"]

    @pytest.mark.parametrize(
        "source",
        [
            'def f():\n    """Return the overriding types, in dispatch order."""\n',
            'def f():\n    """Explain.\n\n    >>> f()\n    nobody is asked\n    """\n',
            "# Whatever the dtype: the ufunc keeps it.\nnobody = None\n",
        ],
    )
    def test_plain_english_examples_and_names_pass(self, source):
        assert [fault for _, text, is_docstring in texts(source) for fault in faults(text, is_docstring)] == []

    def test_a_glossary_is_read(self):
        text = "## Glossary\n\n- **leaf**: A value\n  of a tree.\n\n## Style\n"
        assert glossary_of(text) == {"leaf": "A value of a tree."}
        with pytest.raises(AssertionError, match="no glossary"):
            glossary_of("## Style\n")
        with pytest.raises(AssertionError, match="is not"):
            glossary_of("## Glossary\n\n- leaf\n\n## Style\n")
