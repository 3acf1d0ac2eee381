"""What mkdocs does not do by itself; the events of https://www.mkdocs.org/dev-guide/plugins/#events.

- Pages that a repository keeps at its root (README, ...) become pages of the site.
- A link that leaves ``docs/`` leads to such a page, or to a copy of the file below ``repository/``,
  so that one link serves the site and a repository's own pages.
- ``folder/`` in the navigation is the folder's index page and what it links to, in that order.
- The API pages show the packages as they are installed, below ``msh_gltf``.
- A copy button of a block of commands copies what one types.
- Pages have edit links once ``[tool.msh-gltf]`` of ``pyproject.toml`` names the repository.
- The contents of a long API page are its modules, not everything that is in them.
- Russian pages (``NAME.ru.md`` beside ``NAME.md``) have a navigation and a search index of their own.
- The search dialog has a name, for those who hear the page.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink

ROOT = Path(__file__).parent.parent.parent
#: Pages that lie elsewhere in the repository, by their place in the site.
PAGES = {
    "index.md": "README.md",
    "index.ru.md": "README.ru.md",
    "develop/changelog.md": "CHANGELOG.md",
    "develop/contributing.md": "CONTRIBUTING.md",
}
#: Where mkdocstrings reads the packages: it does not follow links, nor run ``__init__.py``.
API = ROOT / "build" / "api" / "msh_gltf"
RUSSIAN = ".ru.md"
#: Where the search index of Russian pages lies.
RUSSIAN_SEARCH = "ru"
#: Lines of contents that are too many to look through.
LONG_CONTENTS = 60
#: A Markdown link or picture that is no address and no anchor of the same page.
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=[)\s])")
#: A block of commands, or of what Python printed, in a built page.
BLOCK = re.compile(r'<div class="language-(console|output) highlight">(.*?)</div>', re.DOTALL)
#: Pages that are made of something else.
MADE_FROM = {
    "commands/msh2gltf.md": "converter/cli/to_gltf.py",
    "commands/gltf2msh.md": "converter/cli/to_msh.py",
    "commands/msh-inspect.md": "converter/cli/inspect.py",
    "commands/msh-mod.md": "converter/cli/mod.py",
    "commands/msh2gltf.ru.md": "docs/commands/russian.toml",
    "commands/gltf2msh.ru.md": "docs/commands/russian.toml",
    "commands/msh-inspect.ru.md": "docs/commands/russian.toml",
    "commands/msh-mod.ru.md": "docs/commands/russian.toml",
}
#: An option in a sentence.
OPTION = re.compile(r"<code>(--?[a-z][a-z-]*)</code>")
FENCE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Folders of the navigation become lists of pages; what only a server needs is left out."""
    config.theme.static_templates -= {"404.html", "sitemap.xml"}
    assert config.nav is not None
    config.nav = [_expanded(item) for item in config.nav]
    return config


def on_startup(command: str, dirty: bool) -> None:
    """The folder of the packages exists before mkdocstrings asks whether it does."""
    API.mkdir(parents=True, exist_ok=True)


def on_pre_build(config: MkDocsConfig) -> None:
    """The packages, copied below one name."""
    shutil.rmtree(API, ignore_errors=True)
    shutil.copytree(ROOT / "msh_gltf", API)
    for name in ("converter", "importers", "exporters"):
        shutil.copytree(ROOT / name, API / name)


def _expanded(item: Any) -> Any:
    if isinstance(item, dict):
        ((title, content),) = item.items()
        return {title: _expanded(content)}
    if isinstance(item, list):
        return [_expanded(part) for part in item]
    folder, _, name = item.rpartition("/")
    if name and not (folder and name.startswith("index.")):
        return item
    index = f"{folder}/{name or 'index.md'}"
    if not (ROOT / "docs" / index).is_file():
        return index  # mkdocs says that it is missing
    text = (ROOT / "docs" / index).read_text("utf-8")
    linked = [f"{folder}/{target}" for _, target, _ in LINK.findall(text)]
    ending = RUSSIAN if index.endswith(RUSSIAN) else ".md"
    pages = [path for path in linked if path.endswith(ending) and posixpath.dirname(path) == folder]
    return list(dict.fromkeys([index, *pages]))


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Pages of the repository's root join those of ``docs/``."""
    for place, path in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links that leave ``docs/`` lead to what the site has there; search finds guides first."""
    place = page.file.src_uri
    if place.startswith(("api/", "decisions/")):
        page.meta.setdefault("search", {"boost": 0.01})  # a title counts a thousandfold
    if place.startswith("glossary"):
        page.meta.setdefault("search", {"boost": 3})
    if place.startswith("index."):
        page.meta.setdefault("hide", ["navigation"])
    path = PAGES.get(place, f"docs/{place}")

    def moved(match: re.Match[str]) -> str:
        start, target, anchor = match.groups()
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if wanted.startswith("docs/"):
            found = wanted.removeprefix("docs/")
        else:
            found = next((p for p, source in PAGES.items() if source == wanted), "")
            found = found or _copied(wanted, config, files, place)
        return f"{start}{posixpath.relpath(found, posixpath.dirname(place) or '.')}{anchor or ''}"

    parts = FENCE.split(markdown)  # every second one is code
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


def repository() -> str:
    """The address of the repository, or nothing as long as it has none."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["msh-gltf"]
    return str(settings["repository"])


def typed(shown: str) -> str:
    """What one types of a block of commands: no prompt, no output, no comment."""
    lines: list[str] = []
    for line in shown.splitlines():
        more = line.startswith("> ") and bool(lines) and lines[-1].endswith("\\")
        if more or line.startswith("$ "):
            lines.append(re.sub(r"\s+# .*$", "", line[2:]))
    return "\n".join(lines)


def _with_copy(block: re.Match[str]) -> str:
    kind, inside = block.groups()
    if kind == "output":
        return f'<div class="language-output highlight no-copy">{inside}</div>'
    commands = html.escape(typed(html.unescape(re.sub(r"<[^>]*>", "", inside))))
    copied = commands.replace("\n", "&#10;")
    return f'<div class="language-console highlight" data-copy="{copied}">{inside}</div>'


def on_page_content(content: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set what copy buttons copy; keep options in one line; shorten the contents of API pages."""
    for title in page.toc.items if page.file.src_uri.startswith("api/") else ():
        if sum(map(_size, title.children)) > LONG_CONTENTS:
            for module in title.children:
                module.children = []
    content = content.replace("<th></th>", "<td></td>")  # a column without a title has no header
    content = OPTION.sub(r'<code class="option">\1</code>', content)
    return BLOCK.sub(_with_copy, content)


def _size(item: AnchorLink) -> int:
    return 1 + sum(map(_size, item.children))


def _copied(path: str, config: MkDocsConfig, files: Files, page: str) -> str:
    """A file of the repository as a file of the site; returns its place."""
    if not (ROOT / path).is_file():
        raise PluginError(f"{page} links to {path}, which is no file of the repository")
    place = f"repository/{path}"
    if files.get_file_from_path(place) is None:
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return place


def on_nav(nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
    """The last section is the navigation of Russian pages; the others are that of all others."""
    *english, last = nav.items
    assert isinstance(last, Section)
    titles: dict[str, str] = config.extra["russian"]
    sections = [item for item in english if isinstance(item, Section)]
    also = [Section(titles[s.title], s.children) for s in sections if s.title in titles]
    config.extra["russian_nav"] = Navigation([*last.children, *also], nav.pages)
    for page in nav.pages:  # the footer does not lead from one language to the other
        if page.next_page and _russian(page.next_page) != _russian(page):
            page.next_page.previous_page = page.next_page = None
        if page.file.src_uri.endswith(f"/index{RUSSIAN}"):
            page.file.name = "index"  # the theme makes it its section's page
    return Navigation(english, nav.pages)


def _russian(page: Page) -> bool:
    return page.file.src_uri.endswith(RUSSIAN)


def on_page_context(context: dict[str, Any], *, page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """The language of a page, and where the same page is in the other language."""
    place = page.file.src_uri
    russian = _russian(page)
    other = place.replace(RUSSIAN, ".md") if russian else place.replace(".md", RUSSIAN)
    pages = {p.file.src_uri: p for p in nav.pages}
    other_page = pages.get(other) or pages["index.md" if russian else f"index{RUSSIAN}"]
    both = [("en", "English", page), ("ru", "Русский", other_page)]
    if russian:
        both = [("en", "English", other_page), ("ru", "Русский", page)]
    config.extra["alternate"] = [{"lang": code, "name": name, "link": place.url} for code, name, place in both]
    config.theme["language"] = "ru" if russian else "en"  # the theme's own words
    if address := repository():
        path = PAGES.get(place) or MADE_FROM.get(place, f"docs/{place}")
        page.edit_url = f"{address}/edit/main/{path}"
    if russian:
        context["nav"] = config.extra["russian_nav"]
    return context


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Without what makes the theme ask for a site map, which a folder has not; search in the page's language."""
    if _russian(page):
        base = posixpath.relpath(".", posixpath.dirname(page.url) or ".")
        output = output.replace(f'"base": "{base}"', f'"base": "{base}/{RUSSIAN_SEARCH}/"', 1)
    name = "Поиск" if _russian(page) else "Search"
    output = output.replace(
        'data-md-component="search" role="dialog"', f'data-md-component="search" role="dialog" aria-label="{name}"'
    )
    return re.sub(r'\s*<link rel="alternate"[^>]*>', "", output)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Part the search index by language: the theme's script takes the one below the base of a page."""
    whole = Path(config.site_dir, "search", "search_index.json")
    index = json.loads(whole.read_text("utf-8"))
    russian = [row for row in index["docs"] if row["location"].partition("#")[0].endswith(".ru.html")]
    english = [row for row in index["docs"] if row not in russian]
    whole.write_text(json.dumps({**index, "docs": english}, ensure_ascii=False), "utf-8")
    # places of results count from the base, which lies in a folder of its own
    moved = [{**row, "location": f"../{row['location']}"} for row in russian]
    data = json.dumps({**index, "docs": moved}, ensure_ascii=False)
    place = Path(config.site_dir, RUSSIAN_SEARCH, "search")
    place.mkdir(parents=True, exist_ok=True)
    (place / "search_index.json").write_text(data, "utf-8")
    (place / "search_index.js").write_text(f"var __index = {data}", "utf-8")  # for file://, as the offline plugin does
