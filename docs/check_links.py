"""Every link of the built site leads somewhere, from ``file://`` too.

    python docs/check_links.py site

Links, pictures, scripts and styles must be files of the site, with the anchor they name. Addresses
of the web are only looked at: they need a host, and only links may have one, so that no page loads
anything from the network.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Where each element names another file.
PLACES = {
    "a": "href",
    "audio": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "video": "src",
}


@dataclass
class HtmlPage(HTMLParser):
    """What a page names, and what can be named of it."""

    path: Path
    #: Line, element, address.
    links: list[tuple[int, str, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if given.get(name)}
        address = given.get(PLACES.get(tag, ""))
        if address is not None:
            self.links.append((self.getpos()[0], tag, address))


def problems(site: Path) -> list[str]:
    """A line for each link that leads nowhere."""
    pages = {path: HtmlPage(path) for path in sorted(site.resolve().rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for line, tag, address in page.links:
            problem = _problem(path, tag, address, pages)
            if problem:
                found.append(f"{path.relative_to(site.resolve())}:{line}: {address}: {problem}")
    return found


def _problem(path: Path, tag: str, address: str, pages: dict[Path, HtmlPage]) -> str | None:
    try:
        parts = urlsplit(address)
    except ValueError as error:
        return str(error)
    if parts.scheme in ("http", "https"):
        if tag != "a":
            return "is loaded from the network"
        return None if "." in parts.netloc and " " not in address else "is no address"
    if parts.scheme in ("mailto", "data"):
        return None
    if parts.scheme or parts.netloc or parts.path.startswith("/"):
        return "does not lead into the site"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "is no file of the site"
    if parts.fragment and target in pages:
        anchor = unquote(parts.fragment)
        if anchor not in pages[target].anchors:
            return f"{target.name} has no such anchor"
    return None


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]))
    print("\n".join(lines) or "every link leads somewhere")
    sys.exit(bool(lines))
