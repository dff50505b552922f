"""The pages of the audit and of a trace in a browser: what a reader, a keyboard and a screen reader find on them."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.audit.html import to_html
from tensorlike.audit.model import (
    AuditReport,
    AuditRow,
    Outcome,
    SignatureFault,
    SignatureProblem,
    ValueCheck,
)
from tests.helpers.browser import browser, low_contrasts, overflow

pytest.importorskip("jinja2", reason="HTML reports need Jinja2, of the extra 'report'")

UNITS = """
import tensorlike as tl

class Units:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # Sums keep the unit.
        if func in (tl.add, tl.linalg.norm):
            return f"{func.__name__} of units"
        raise TypeError("no sum of metres")

def test_units():
    tl.add(Units(), 1)
    tl.linalg.norm(Units())
"""
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\u2028{{ 7*7 }}"
SIZES = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]


def rows(count: int) -> list[AuditRow]:
    """Rows of all kinds: most of one cause, as in the audit of a type that is new."""

    def row(number: int, outcome: Outcome, **known: Any) -> AuditRow:
        namespace = ("tensorlike", "tensorlike.linalg", "tensorlike.nn.functional")[number % 3]
        name = f"{namespace}.function_{number}"
        call = f"{name}(Unit([1.5, 2.0]), float32[2, 3])"
        return AuditRow(name, namespace, "function", "input", outcome, call=call, answer="tensor([1., 2.])", **known)

    refused = {
        "error_type": "TypeError",
        "error": "no implementation found for 'x' on types that implement __torch_function__",
    }
    found = [
        row(0, Outcome.RAISED, error_type="IndexError", error="list index out of range"),
        row(1, Outcome.RAISED, error_type="IndexError", error="list index out of range"),
        row(2, Outcome.RAISED, error_type="ValueError", error=HOSTILE),
        row(3, Outcome.OWN, value=ValueCheck.DIFFERS, difference="2.0 instead of 3.0"),
        row(4, Outcome.OWN, value=ValueCheck.DIFFERS, difference="7.5 instead of 8.0"),
        row(5, Outcome.OWN, signature=[SignatureProblem(SignatureFault.MISSING, "out", "there is no parameter 'out'")]),
        row(6, Outcome.NOT_CALLED, reason="there are no sample inputs of this function"),
        *(row(n, Outcome.TYPE_LOST, reason="the answer is a Tensor, not a Unit") for n in range(7, 30)),
        *(row(n, Outcome.OWN, value=ValueCheck.EQUAL, answered_by="answer (units.py:7)") for n in range(30, 90)),
    ]
    found += [row(n, Outcome.REFUSED, left_out=True, **refused) for n in range(90, count)]
    return found


def report(count: int = 400) -> AuditReport:
    return AuditReport("units.Unit", rows(count), "units.py:Unit", version="1.0", warnings={HOSTILE: 2})


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the pages."""

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented if func is tl.mul else cls()

    with tl.overrides.trace() as log:
        for _ in range(40):
            tl.add(Duck(), 1)
            with pytest.raises(TypeError):
                tl.mul(Duck(), 2)
            tl.add(tl.ones(2).as_subclass(type("Kept", (tl.Tensor,), {})), tl.ones(2))
    folder = tmp_path_factory.mktemp("pages")
    pages = {"audit": to_html(report()), "large": to_html(report(5000)), "trace": log.to_html()}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    (folder / "test_units.py").write_text(UNITS, encoding="utf-8")
    options = ["--override-coverage=test_units:Units", "--override-coverage-html=coverage.html"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "test_units.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: Path(folder / f"{name}.html").as_uri() for name in (*pages, "coverage")}


class Opened:
    """Opens pages, and ends with a failure when one of them fetched something, spoke up, or had an error."""

    def __init__(self, chromium: Any) -> None:
        self.chromium = chromium
        self.troubles: list[str] = []
        self.contexts: list[Any] = []

    def __call__(self, address: str, width: int = 1280, scheme: str = "light", scripts: bool = True) -> Any:
        file, size = address.partition("#")[0], {"width": width, "height": 900}
        context = self.chromium.new_context(viewport=size, color_scheme=scheme, java_script_enabled=scripts)
        self.contexts.append(context)
        context.set_default_timeout(10_000)
        page = context.new_page()
        page.on("pageerror", lambda error: self.troubles.append(f"an error: {error}"))
        page.on("console", lambda message: self.troubles.append(f"on the console: {message.text}"))
        page.on("dialog", lambda dialog: (self.troubles.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: asked.url.startswith(file) or self.troubles.append(f"a fetch of {asked.url}"))
        page.goto(address)
        return page


@pytest.fixture
def opened(chromium: Any) -> Iterator[Opened]:
    found = Opened(chromium)
    yield found
    for context in found.contexts:
        context.close()
    assert found.troubles == []


def query(page: Any) -> str:
    return page.url.partition("#")[2]


def shown(page: Any) -> str:
    return page.locator("#count").inner_text()


def test_causes_come_first_and_rows_when_they_are_asked_for(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"])
    headings = [text.replace("\n", " ") for text in page.locator(".cause h3").all_inner_texts()]
    assert headings == [
        "raised · list index out of range",
        f"raised · {HOSTILE}",
        "wrong value · for example: 2.0 instead of 3.0",
        "wrong signature · there is no parameter 'out'",
        "refused · no implementation found for 'x'",
        "type lost · the answer is a Tensor, not a Unit",
        "own rule",
        "not called · there are no sample inputs of this function",
    ]  # fmt: skip
    assert shown(page) == "400 calls in 8 causes"
    # A search finds what only the details say, and opens what it finds.
    page.get_by_role("searchbox").fill("units.py:7 function_31")
    assert shown(page) == "1 of 400 calls in 1 cause"
    page.get_by_role("button", name="function_31").click()
    assert page.locator(".detail dt").all_inner_texts() == ["Outcome", "Answer", "Answered by", "Value"]
    page.get_by_role("searchbox").fill("nothing has this")
    assert shown(page) == "0 of 400 calls in 0 causes"
    assert page.get_by_text("No call fits the filters.").is_visible()
    # What was opened by the search is closed again, what the reader opened is not.
    page.locator("summary", has_text="list index").evaluate("element => element.parentElement.open = true")
    page.get_by_role("searchbox").fill("")
    assert page.locator(".cause[open]").count() == 1


def test_filters_are_in_the_address_and_back_takes_them_back(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"])
    page.get_by_label("Kind").select_option("type lost")
    assert query(page) == "kind=type+lost"
    assert shown(page) == "23 of 400 calls in 1 cause"
    page.get_by_role("searchbox").press_sequentially("linalg a&b=")
    assert query(page) == "text=linalg+a%26b%3D&kind=type+lost"
    page.get_by_role("searchbox").fill("linalg")
    assert shown(page) == "8 of 400 calls in 1 cause"
    # Shared with another reader.
    other = opened(files["audit"] + "#" + query(page))
    assert shown(other) == shown(page)
    assert other.get_by_role("searchbox").input_value() == "linalg"
    # Back undoes the text as a whole, then the kind.
    page.go_back()
    assert (query(page), shown(page)) == ("kind=type+lost", "23 of 400 calls in 1 cause")
    page.go_back()
    assert (query(page), shown(page)) == ("", "400 calls in 8 causes")
    page.go_forward()
    assert page.get_by_label("Kind").input_value() == "type lost"
    # An address of another report, whose kinds this one does not have.
    assert shown(opened(files["audit"] + "#kind=recursed&other=1")) == "400 calls in 8 causes"


def test_five_thousand_rows_open_in_a_second_and_scroll(files: dict[str, str], opened: Opened) -> None:
    def times() -> dict[str, float]:
        page = opened(files["large"])
        assert shown(page) == "5,000 calls in 8 causes"
        found: dict[str, float] = page.evaluate("""async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const timed = async (act) => {
            const begin = performance.now();
            act();
            await frame();
            return performance.now() - begin;
          };
          const load = performance.getEntriesByType("navigation")[0].loadEventEnd;
          const large = [...document.querySelectorAll(".cause")].find((cause) => cause.dataset.size > 4000);
          const open = await timed(() => { large.open = true; });
          const steps = [];
          for (let step = 0; step < 60; step++) steps.push(await timed(() => scrollBy(0, 700)));
          const seen = large.querySelectorAll("tbody tr").length;
          const input = document.querySelector("input");
          const search = await timed(() => { input.value = "linalg 99"; input.dispatchEvent(new Event("input")); });
          steps.sort((a, b) => a - b);
          return { load, open, step: steps[30], search, seen };
        }""")
        # Rows come as the reader comes to them.
        assert 500 < found["seen"] < 4910
        return found

    # On a machine that does other things at the same time: the best of a few.
    best = times()
    for _ in range(3):
        if max(best["load"], best["open"], best["search"]) < 1000 and best["step"] < 100:
            break
        best = {name: min(seconds, best[name]) for name, seconds in times().items()}
    assert best["load"] < 1000
    assert best["open"] < 1000
    assert best["search"] < 1000
    assert best["step"] < 100


def focused(page: Any) -> tuple[str, str]:
    """What has the focus, its tag and text; it must be seen to have it."""
    tag, text, style, width = page.evaluate("""() => {
      const element = document.activeElement, style = getComputedStyle(element);
      return [element.tagName, element.name || element.innerText, style.outlineStyle, parseFloat(style.outlineWidth)];
    }""")
    assert style != "none", f"{tag} {text!r} does not show its focus"
    assert width >= 1
    return tag, text


def test_a_keyboard_reaches_everything(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"] + "#kind=raised")
    keys = page.keyboard
    keys.press("Tab")
    assert focused(page) == ("A", "Skip to the calls")
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "calls"
    stops = []
    for _ in range(5):
        keys.press("Tab")
        stops.append(focused(page)[1].partition("\n")[0])
    assert stops[:4] == ["text", "kind", "namespace", "Open all"]
    assert stops[4].startswith("raised · list index out of range")
    assert query(page) == "kind=raised"
    keys.press("Enter")
    page.wait_for_selector(".cause[open] tbody button")
    keys.press("Tab")
    assert focused(page) == ("BUTTON", "tensorlike.function_0")
    keys.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert "IndexError: list index out of range" in page.locator(".detail").inner_text()
    keys.press("Enter")
    assert page.locator(".detail").count() == 0
    # More rows: the focus goes to the first new one.
    page = opened(files["large"] + "#kind=refused")
    page.locator(".cause:visible summary").focus()
    page.keyboard.press("Enter")
    page.locator(".more").focus()
    before = page.locator(".rows tbody tr").count()
    page.keyboard.press("Enter")
    assert page.locator(".rows tbody tr").count() >= before + 100
    assert page.evaluate("document.activeElement.className") == "open"


def test_what_a_screen_reader_is_told(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"] + "#kind=raised&text=function_0")
    page.get_by_role("button", name="tensorlike.function_0").click()
    told = page.locator("body").aria_snapshot()
    for part in (
        "banner", "main", 'heading "Audit of units.Unit" [level=1]', 'heading "By namespace" [level=2]',
        'heading "Calls by cause" [level=2]', 'search "Filter the calls"', 'combobox "Kind"', 'combobox "Namespace"',
        'columnheader "Function"', 'columnheader "Operand"', 'rowheader "tensorlike.function_0"',
        'table "raised · list index out of range"', 'button "tensorlike.function_0" [expanded]',
        'rowheader "tensorlike.nn.functional"', "passed",
    ):  # fmt: skip
        assert part in told, f"{part} is not in\n{told}"
    assert page.locator("#count").get_attribute("aria-live") == "polite"
    assert page.locator("html").get_attribute("lang") == "en"
    # No heading is left out between two levels.
    levels = [int(level) for level in re.findall(r"\[level=(\d)\]", told)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize(("width", "scheme"), SIZES)
@pytest.mark.parametrize("name", ["audit", "trace", "coverage"])
def test_pages_fit_and_can_be_read(files: dict[str, str], opened: Opened, name: str, width: int, scheme: str) -> None:
    page = opened(files[name], width, scheme)
    if name == "audit":
        page.get_by_role("button", name="Open all").click()
        for cause in page.locator(".cause").all():
            cause.locator("tbody .open").first.click()
    if name == "coverage":
        page.get_by_role("searchbox").fill("linalg.norm")
        page.locator(".source summary").first.click()
    assert low_contrasts(page) == []
    assert overflow(page) <= 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark / light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    assert low_contrasts(page) == []


def test_coverage_is_folded_by_namespace(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["coverage"])
    spaces = page.locator("details.namespace")
    assert spaces.count() > 5
    assert page.locator("details.namespace[open]").count() == 0
    page.get_by_role("searchbox").fill("linalg norm")
    assert page.locator("details.namespace[open] summary .name").all_inner_texts() == ["tensorlike.linalg"]
    rows = page.locator("details.namespace[open] tbody tr:visible")
    assert all("norm" in text for text in rows.all_inner_texts())
    page.get_by_role("checkbox").check()
    assert "tensorlike.linalg.norm\tA" not in "".join(rows.all_inner_texts())
    page.get_by_role("checkbox").uncheck()
    page.get_by_role("searchbox").fill("")
    assert page.locator("details.namespace[open]").count() == 0
    assert page.locator(".source b", has_text="raise").count() == 1
    assert page.locator(".source em").inner_text() == "# Sums keep the unit."


def test_without_scripts(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"], scripts=False)
    assert not page.get_by_role("searchbox").is_visible()
    assert not page.get_by_role("button", name="Dark / light").is_visible()
    cause = page.locator(".cause", has_text="type lost")
    assert "23 calls such as" in cause.inner_text()
    cause.locator("summary").click()
    assert "tensorlike.linalg.function_7 (input)" in cause.inner_text()
    assert "tensorlike.function_9(Unit([1.5, 2.0]), float32[2, 3])" in cause.inner_text()


def test_texts_of_the_type_stay_texts(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["audit"] + "#text=onerror")
    page.locator(".open").click()
    assert "<img src=x onerror=alert(2)>" in page.locator(".detail pre").last.inner_text()
    assert page.locator("img").count() == 0
    assert "{{ 7*7 }}" in page.locator(".detail").inner_text()


def test_trace_page_has_its_filters_in_the_address(files: dict[str, str], opened: Opened) -> None:
    page = opened(files["trace"])
    assert shown(page) == "120 of 120"
    page.get_by_label("Who answered").select_option("raised")
    assert (query(page), shown(page)) == ("kind=error", "40 of 120")
    page.get_by_role("searchbox").fill("add")
    assert shown(page) == "0 of 120"
    page.go_back()
    assert shown(page) == "40 of 120"
    assert page.locator("#list > li:visible").first.inner_text().startswith("tensorlike.mul(Duck, int)")
    assert "main" in page.locator("body").aria_snapshot()
