"""Screenshots of the site in a real browser: docs/pictures/site/*.png.

    python3 dev.py docs
    python docs/make_screenshots.py

Needs Playwright and Pillow (the ``test`` extra has both) and a Chromium on the PATH. Pages are
opened from ``file://``, without a network.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
SITE = ROOT / "site"
TARGET = ROOT / "docs/pictures/site"
SIZES = {"wide": (1280, 800), "narrow": (390, 800)}
#: Picture, page, what to type into the search, the colours of the wide and of the narrow picture.
PAGES = (
    ("front", "index.html", "", ("light", "light")),
    ("api", "api/queries.html#msh_gltf.converter.queries.model.posed_matrices", "", ("dark", "dark")),
    ("command", "commands/msh2gltf.html#appearance", "", ("light", "dark")),
    ("gallery", "gallery.html", "", ("light", "light")),
    ("fields", "reference/model.html#res13-batches", "", ("light", "dark")),
    ("russian", "tutorials/turret.ru.html", "", ("light", "dark")),
    ("search", "blender.html", "LOD", ("dark", "light")),
)


def picture(browser: Browser, page: str, query: str, size: str, scheme: str) -> Image.Image:
    """A screenshot with 128 colours, which is enough for pages and a quarter of the bytes."""
    width, height = SIZES[size]
    tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab.goto(f"{SITE.as_uri()}/{page}")
    tab.wait_for_timeout(1500)  # scripts, and the pictures of the gallery
    if query:
        tab.keyboard.press("/")
        tab.keyboard.type(query)
        tab.locator(".md-search-result__item").first.wait_for()
    tab.wait_for_timeout(400)  # transitions
    shot = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    tab.close()
    return shot.quantize(128, dither=Image.Dither.NONE)


def main() -> None:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for name, page, query, schemes in PAGES:
            for size, scheme in zip(SIZES, schemes, strict=True):
                shot = picture(browser, page, query, size, scheme)
                shot.save(TARGET / f"{name}-{size}-{scheme}.png", optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
