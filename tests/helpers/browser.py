"""A browser without a window, for what a person sees of a page: Chromium through Playwright, or the reason for none."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

#: Nothing but the page: a browser that looks for updates waits for a network that tests do not need.
_OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")

# Each text on its nearest background that is not transparent: the worst ratio, by WCAG's formula, and all under 4.5.
_CONTRAST = """() => {
  const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility() || element.closest("script, noscript, .skip")) continue;
    let below = element, background = [0, 0, 0, 0];
    while (below && background[3] === 0) {
      background = channels(getComputedStyle(below).backgroundColor);
      if (background.length === 3) background.push(1);
      below = below.parentElement;
    }
    const [a, b] = [luminance(channels(getComputedStyle(element).color)), luminance(background)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""


def _executable() -> str | None:
    names = (os.environ.get("TENSORLIKE_TEST_BROWSER", ""), *_NAMES)
    return next((found for name in names if name and (found := shutil.which(name))), None)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Start the browser; skip the test, with the reason, where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="looking at pages needs Playwright, of the extra 'dev'"
    )
    executable = _executable()
    with playwright.sync_playwright() as running:
        if executable is None and not os.path.exists(running.chromium.executable_path):
            pytest.skip("looking at pages needs Chromium: there is none on the PATH, nor in TENSORLIKE_TEST_BROWSER")
        started = running.chromium.launch(executable_path=executable, args=_OPTIONS)
        try:
            yield started
        finally:
            started.close()


def low_contrasts(page: Any) -> list[tuple[float, str]]:
    """Return the texts in sight whose contrast is under 4.5, what WCAG's level AA asks for."""
    found: list[tuple[float, str]] = [(ratio, text) for ratio, text in page.evaluate(_CONTRAST)]
    assert len(found) > 10, "nothing was looked at"
    return [(ratio, text) for ratio, text in found if ratio < 4.5]


def overflow(page: Any) -> float:
    """Return by how many pixels the page is wider than its window."""
    width: float = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
