"""The pages of the reference: one for every public function, with the facts of its operation."""

import re

import pytest

import tensorlike as tl
from tensorlike.overrides.introspection import public_rows
from tools import generate_reference as reference


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


def test_every_public_function_has_its_page(pages: dict[str, str]) -> None:
    described = set(re.findall(r"\{py:(?:function|method|property)\} (tensorlike\.[\w.]+)", "\n".join(pages.values())))
    public = {reference.public_name(row) for _, row in public_rows() if row.of_library}
    assert sorted(public - described) == []
    assert len(described) > 1300


def test_no_object_is_described_twice(pages: dict[str, str]) -> None:
    # Two descriptions of one name are two targets: references to it would be ambiguous.
    seen: dict[str, str] = {}
    for name, text in pages.items():
        for found in re.findall(r"\{py:(?:function|method|property)\} (tensorlike\.[\w.]+)", text):
            assert seen.setdefault(found, name) == name


def test_a_page_has_the_facts(pages: dict[str, str]) -> None:
    page = pages["functions/tensorlike.mul.md"]
    for wanted in (
        "tensorlike.mul(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor",
        "tensorlike.Tensor.__rmul__",
        "{py:function} tensorlike.multiply(",
        "| `tensorlike.Tensor.__imul__` | operator | `tensorlike.Tensor.mul_` |",
        "input: lambda grad, other:",
        "tensorlike/operations/elementwise/arithmetic.py:",
        "Tested with `float32`",
        "tensorlike.mul(float32[2, 3], float32[2, 3])",
        ">>> tl.mul(",
    ):
        assert wanted in page


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("tensorlike.zeros", "a mode can intercept it, and a type that stands for one of them"),
        ("tensorlike.Tensor.shape", "`tensorlike.Tensor.shape.__get__`"),
        ("tensorlike.empty_cache", None),
        ("tensorlike.cat", "each tensor of a sequence"),
        ("tensorlike.dropout", "draws random numbers if `train` and `p`"),
        ("tensorlike.linalg.solve", "composite"),
        ("tensorlike.histc", "which of two bins"),
        ("tensorlike.eq", "have no derivative"),
    ],
)
def test_pages_of_other_kinds(pages: dict[str, str], name: str, wanted: str | None) -> None:
    page = pages.get(f"functions/{name}.md")
    if wanted is None:
        assert page is None  # of the module's page
        assert "{py:function} empty_cache(" in pages["modules/tensorlike.md"]
    else:
        assert page is not None
        assert wanted in page


def test_formulas_are_found_among_several_on_a_line() -> None:
    first, second = lambda grad, other: grad * other, lambda grad, other: grad + other
    assert reference.formula_source(first) == "lambda grad, other: grad * other"
    assert reference.formula_source(second) == "lambda grad, other: grad + other"


def test_modules_have_what_users_write(pages: dict[str, str]) -> None:
    overrides = pages["modules/tensorlike.overrides.md"]
    for name in ("implements", "register", "trace", "explain", "rewrap", "to_dense"):
        assert re.search(rf"\{{py:\w+\}} {name}\b", overrides), name
    assert "{py:class} TensorLike(" in pages["classes/tensorlike.overrides.TensorLike.md"]
    assert "[`TensorLike`](../classes/tensorlike.overrides.TensorLike.md)" in overrides


def test_the_command_line_is_that_of_the_parsers(pages: dict[str, str]) -> None:
    page = pages["command-line.md"]
    for wanted in ("## `tensorlike new`", "## `tensorlike compare`", "`--repro FUNCTION`", "`--override-coverage-html"):
        assert wanted in page


@pytest.mark.parametrize(
    "text, expected",
    [
        ("the sum a * b of [1]", r"the sum a \* b of \[1\]"),
        ("`a * b` <c>", r"`a * b` \<c\>"),
        ("``x``_y", r"`x`\_y"),
        ("`tl.a\nb`", "`tl.a b`"),
    ],
)
def test_text_means_itself(text: str, expected: str) -> None:
    assert reference.markdown(text) == expected


def test_blocks_of_a_docstring() -> None:
    page = reference.page_text(
        """Return it.

        Args:
            dim: the dimension
                or all
            keepdim: kept

        >>> tl.ones(1)
        tensor([1.])

        >>> tl.zeros(1)
        tensor([0.])

        Same as *that*.
        """
    )
    assert page.split("\n\n") == [
        "Return it.",
        "**Args**",
        "- **`dim`**: the dimension or all\n- **`keepdim`**: kept",
        "```pycon\n>>> tl.ones(1)\ntensor([1.])",
        ">>> tl.zeros(1)\ntensor([0.])\n```",
        r"Same as \*that\*.",
    ]


def test_pages_are_written_when_they_change(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "pages", lambda: {"functions/a.md": "a\n", "functions/b.md": "b\n"})
    assert reference.write(tmp_path) == 2
    before = (tmp_path / "functions/a.md").stat().st_mtime_ns
    monkeypatch.setattr(reference, "pages", lambda: {"functions/a.md": "a\n"})
    assert reference.write(tmp_path) == 1
    assert (tmp_path / "functions/a.md").stat().st_mtime_ns == before
    assert not (tmp_path / "functions/b.md").exists()


def test_overridable_function_of_a_user_is_no_page() -> None:
    @tl.overridable
    def of_the_user(x: tl.Tensor) -> tl.Tensor:
        return x

    assert all("of_the_user" not in entry.name for entry in reference.entries())
