"""A real browser: a Chromium that is on the PATH, driven by Playwright; nothing is downloaded."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: No graphics card is needed; root may not use the sandbox.
SWITCHES = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright (the test extra)")
    if BROWSER is None:
        pytest.skip("no Chromium on the PATH")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=BROWSER, args=SWITCHES)
        yield browser
        browser.close()


class Heard:
    """What a page complains of, and the addresses that it asks for."""

    def __init__(self, page: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.on("request", lambda request: self.asked.append(request.url))

    def require_nothing(self, base: str = "file:") -> None:
        """Nothing was complained of, and nothing was asked of the network."""
        assert self.said == []
        assert [address for address in self.asked if not address.startswith((base, "blob:", "data:"))] == []
