"""Point the links of Russian pages to Russian pages, where there are some.

python docs/link_translations.py

A Russian page has the headings of its original, in the same order: so an anchor is found by its
place. Run it after a page has got a translation, or another heading.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUSSIAN = ".ru.md"
LINK = re.compile(r"(\]\()([^)\s#:]+\.md|(?=#))(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The anchor of a heading, as the site and repositories make it."""
    text = re.sub(r"\]\([^)]*\)|[^\w\- ]", "", heading)
    return text.strip().lower().replace(" ", "-")


@cache
def anchors(page: Path) -> list[str]:
    """The anchors of a page, in order."""
    text = FENCE.sub("", page.read_text("utf-8"))
    return [slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]


def russian(path: str, anchor: str, page: Path) -> tuple[str, str]:
    """Return where a link of a Russian page leads: to the translation, if there is one.

    Args:
        path: the page that the link names, seen from its own; nothing for the same page.
        anchor: ``#heading``, or nothing.
        page: the page with the link.
    """
    if not path:
        own, theirs = anchors(page), anchors(page.with_name(page.name.replace(RUSSIAN, ".md")))
        known = anchor[1:] not in own and anchor[1:] in theirs
        return path, f"#{own[theirs.index(anchor[1:])]}" if known else anchor
    original = page.parent / path
    translation = original.with_suffix(RUSSIAN)
    is_own_original = translation == page and not anchor
    if path.endswith(RUSSIAN) or is_own_original or not translation.is_file():
        return path, anchor
    path = path.removesuffix(".md") + RUSSIAN
    if not anchor:
        return path, ""
    place = anchors(original).index(anchor.removeprefix("#"))
    return path, f"#{anchors(translation)[place]}"


def linked(text: str, page: Path) -> str:
    """A Russian page with its links as they should be."""

    def moved(link: re.Match[str]) -> str:
        path, anchor = russian(link[2], link[3] or "", page)
        return f"{link[1]}{path}{anchor}"

    return LINK.sub(moved, text)


if __name__ == "__main__":
    for one in [*ROOT.glob(f"*{RUSSIAN}"), *(ROOT / "docs").rglob(f"*{RUSSIAN}")]:
        one.write_text(linked(one.read_text("utf-8"), one), "utf-8")
