"""The site: built strictly, every link leads somewhere, nothing comes from the network."""

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.check_links import HtmlPage, problems
from docs.make_gallery import make_gallery
from tests.support.browser import Heard, browser

ROOT = Path(__file__).parents[2]
__all__ = ["browser"]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="no mkdocs (the docs extra)")


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Not ``--quiet``: then mkdocs counts no warnings, and strict is nothing."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", target],
        cwd=root,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("book") / "site"
    done = build(ROOT, target)
    assert done.returncode == 0, done.stderr
    make_gallery(target / "gallery-example")
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, HtmlPage]:
    return {p.relative_to(site).as_posix(): HtmlPage(p) for p in site.rglob("*.html")}


def test_every_link_leads_somewhere(site: Path) -> None:
    assert problems(site) == []


def test_every_page_is_there(site: Path) -> None:
    """Each page of ``docs/`` and the repository's own."""
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    for name in ("index", "index.ru", "develop/changelog", "develop/contributing"):
        assert (site / f"{name}.html").is_file()


def test_languages(site: Path, pages: dict[str, HtmlPage]) -> None:
    """Russian pages speak Russian, have their own navigation, and both lead to one another."""
    for name in pages:
        russian = name.endswith(".ru.html")
        text = (site / name).read_text("utf-8")
        assert ('<html lang="ru"' in text, '<html lang="en"' in text) == (russian, not russian)
        other = name.replace(".ru.html", ".html") if russian else name.replace(".html", ".ru.html")
        if other in pages:
            leads = [a for _, tag, a in pages[name].links if tag == "a" and "/" not in a]
            assert Path(other).name in leads, name
        ahead = re.findall(r'<link rel="(?:next|prev)" href="([^"]+)"', text)
        assert [a for a in ahead if a.endswith(".ru.html") != russian] == [], name
        assert ("API (англ.)" in text) == russian, name
        assert not re.search(r"По-русски\s*<", text), name


def test_every_module_is_on_an_api_page(pages: dict[str, HtmlPage]) -> None:
    """But the commands, and packages that only have a purpose."""
    anchors = set().union(*(p.anchors for name, p in pages.items() if name.startswith("api/")))
    places = [
        path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        for package in ("importers", "converter", "exporters")
        for path in (ROOT / package).rglob("*.py")
        if path.stem != "__init__" and "converter/cli" not in path.as_posix()
    ]
    assert {f"msh_gltf.{place}" for place in [*places, "api"]} - anchors == set()


def test_contents_of_api_pages_are_short(site: Path) -> None:
    """A page of many modules lists these, a page of one module what is in it."""
    for name, shown, listed in (("pipeline", "kinds.landscape", False), ("functions", "api", True)):
        text = (site / f"api/{name}.html").read_text("utf-8")
        contents = re.findall(r'<nav class="md-nav md-nav--secondary".*?</nav>\s*</div>', text, re.S)[-1]
        anchors = re.findall(r'href="#([^"]+)"', contents)
        assert len(anchors) <= 70, name
        members = [a for a in anchors if re.search(rf"{re.escape(shown)}\.\w+$", a)]
        assert bool(members) == listed, name


def test_copy_buttons_copy_what_one_types(site: Path) -> None:
    """No prompt, no output, no comment; a command of several lines is whole; output has none."""
    copied = re.findall(r'data-copy="([^"]*)"', (site / "commands.html").read_text("utf-8"))
    blocks_of_page = [html.unescape(text).split("\n") for text in copied]
    assert blocks_of_page[0][0] == "python examples/make_game.py GAME"
    assert ["msh2gltf robot.msh", "gltf2msh robot.glb -o new/"] in [lines[:2] for lines in blocks_of_page]
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        blocks = text.count('<div class="language-console highlight"')
        texts = re.findall(r'<div class="language-console highlight" data-copy="([^"]+)"', text)
        assert len(texts) == blocks, path
        assert not [one for one in texts if re.search(r"(^|&#10;)(\$|&gt; )", one)], path
    assert 'class="language-output highlight no-copy"' in (site / "api/index.html").read_text()


def test_the_example_gallery_is_in_the_site(site: Path, pages: dict[str, HtmlPage]) -> None:
    pytest.importorskip("vtkmodules", reason="no VTK (the preview extra)")
    assert "gallery-example/index.html" in [a for _, _, a in pages["gallery.html"].links]
    models = site / "gallery-example/gallery/models/static.rlb"
    assert {"r_h_01.js", "r_h_01.png"} <= {path.name for path in models.iterdir()}


@pytest.mark.parametrize(
    ("page", "html"),
    [
        ("commands", '<code class="option">--fps</code>'),  # browsers break a line after its hyphens
        # for those that show a page of which they have the address
        ("gallery", '<meta property="og:title" content="Browsing a whole game">'),
    ],
)
def test_what_a_page_has(page: str, html: str, site: Path) -> None:
    assert html in (site / f"{page}.html").read_text("utf-8")


def test_no_role_or_code_mark_is_left(site: Path) -> None:
    """Docstrings are translated: roles became links, double backticks code."""
    for path in (site / "api").glob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r":(attr|class|data|func|meth|mod):|(?<!`)``(?!`)", text), path.name


#: Where something is typed, and the title of what is then found first; without one it is the words that are found.
SEARCHES = {
    "index.html": {
        **dict.fromkeys(("too dark", "texture size", "Steam", "undo", "polygon limit", "animation speed"), "Questions"),
        "areal": "",
    },
    "index.ru.html": {
        **dict.fromkeys(("тёмная", "размер текстуры", "стим", "отменить", "лимит полигонов", "русский"), "Вопросы"),
        "команды": "",
    },
    "glossary.html": {"LOD": "Glossary"},
    "api/queries.html": {"posed_matrices": ""},
}


@pytest.mark.parametrize("page", SEARCHES)
def test_in_a_browser_from_a_folder(page: str, browser: Any, site: Path) -> None:
    """Nothing is asked of the network, nothing is complained of; search and languages work."""
    tab = browser.new_page()
    heard = Heard(tab)
    tab.goto(f"{site.as_uri()}/{page}")
    tab.wait_for_load_state("networkidle")
    results = tab.locator(".md-search-result__item")
    tab.keyboard.press("/")
    for words, title in SEARCHES[page].items():
        for typed in ("", words):
            tab.locator(".md-search__input").fill(typed)
            tab.keyboard.press("End")  # the page waits for a key to come up
            results.first.wait_for(timeout=20_000, state="visible" if typed else "hidden")
        (results.first.locator("h1", has_text=title) if title else results.filter(has_text=words).first).wait_for()
    tab.keyboard.press("Escape")
    tab.locator(".md-select button").hover()
    tab.locator(f"[hreflang={'en' if page.endswith('.ru.html') else 'ru'}]").click()
    tab.wait_for_url(f"**/{'index' if page.startswith('api/') else page.partition('.')[0]}*.html")
    assert tab.url.endswith(".ru.html") != page.endswith(".ru.html")
    assert tab.evaluate("document.querySelector('h1').textContent").startswith("msh-gltf") == ("glossary" not in page)
    heard.require_nothing()
    tab.close()


AXE = ROOT / "tests/validator/node_modules/axe-core/axe.min.js"


def test_pages_can_be_read_by_everybody(browser: Any, site: Path) -> None:
    """No violation that axe knows: contrast, names of dialogs and landmarks, links without colour; both languages.

    As dark as the system asks for, then as light as the page's own switch makes them.
    """
    if not AXE.is_file():
        pytest.skip("no axe-core: npm ci in tests/validator installs it")
    found = []
    context = browser.new_context(color_scheme="dark")
    for name in ("index", "index.ru", "questions", "commands/msh2gltf", "reference/nres"):
        tab = context.new_page()
        tab.goto((site / f"{name}.html").as_uri())
        tab.wait_for_load_state("networkidle")
        tab.evaluate(AXE.read_text("utf-8"))
        # what does not depend on colours was looked at once
        for scheme, looked in (("slate", {}), ("default", {"runOnly": ["color-contrast", "link-in-text-block"]})):
            assert tab.locator("body").get_attribute("data-md-color-scheme") == scheme
            violations = tab.evaluate("looked => axe.run(looked)", looked)["violations"]
            found += [f"{name}: {one['id']}: {one['nodes'][0]['html'][:90]}" for one in violations]
            tab.locator("[data-md-component=palette] label:visible").click()
        tab.close()
    context.close()
    assert found == []


def test_each_language_has_a_search_index_of_its_own(site: Path) -> None:
    """Half the size each, and the other language answers nothing; the search dialog has a name."""
    for place, russian in (("search", False), ("ru/search", True)):
        index = json.loads((site / place / "search_index.json").read_text("utf-8"))
        pages = [(site / place).parent / row["location"].partition("#")[0] for row in index["docs"]]
        assert {page.name.endswith(".ru.html") for page in pages} == {russian}
        assert all(page.is_file() for page in pages)
        assert (site / place / "search_index.js").stat().st_size < 2_200_000
    assert 'role="dialog" aria-label="Поиск"' in (site / "tutorials/look.ru.html").read_text("utf-8")


def sources(place: Path) -> Path:
    """The sources of the site, with one API page only: the others take their time."""
    for name in ("docs", "msh_gltf", "converter", "importers", "exporters", "examples"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    own = ("mkdocs.yml", "pyproject.toml", "LICENSE")
    for path in [*ROOT.glob("*.md"), *(ROOT / name for name in own)]:
        shutil.copy(path, place)
    for path in (place / "docs/api").glob("[!iq]*.md"):
        path.unlink()
    return place


def change(book: Path, page: str, old: str, new: str) -> None:
    text = (book / page).read_text("utf-8")
    assert old in text
    (book / page).write_text(text.replace(old, new), "utf-8")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Sources with a fault of each kind and a repository: what is built all the same, and what is said."""
    book = sources(tmp_path_factory.mktemp("broken"))
    change(book, "docs/obj.md", "(materials.md)", "(nowhere.md)")
    change(book, "docs/recovery.md", "#when-a-run-is-stopped", "#never")
    change(book, "docs/decisions/index.md", "(0002-content-decides.md)", "(0003-gltf-is-written-as-json.md)")
    change(book, "converter/queries/model.py", ":func:`owner_slots`", ":func:`ownerslots`")
    change(book, "converter/queries/model.py", "        dialect: how keys are read.", "        diaclet: so.")
    change(book, "pyproject.toml", 'repository = ""', 'repository = "https://host.org/us/it"')
    done = build(book, book / "site")
    assert done.returncode != 0
    return book / "site", done.stderr


@pytest.mark.parametrize("fault", ["nowhere.md", "#never", "0002-content-decides.md", "ownerslots", "diaclet"])
def test_broken_references_fail(fault: str, broken: tuple[Path, str]) -> None:
    """Each of them is a warning, which a strict build does not survive."""
    warnings = [line for line in broken[1].splitlines() if "WARNING" in line or line[:3] == "  -"]
    assert [line for line in warnings if fault in line], broken[1]


def test_pages_have_edit_links_once_the_repository_is_known(broken: tuple[Path, str], site: Path) -> None:
    assert "/edit/main/" not in (site / "obj.html").read_text("utf-8")
    for page, source in (("obj", "docs/obj.md"), ("index", "README.md"), ("index.ru", "README.ru.md")):
        text = (broken[0] / f"{page}.html").read_text("utf-8")
        assert f'href="https://host.org/us/it/edit/main/{source}"' in text


def test_a_link_to_no_file_of_the_repository_stops_the_build(tmp_path: Path) -> None:
    """The theme's hook makes those links, of files outside ``docs``; mkdocs itself would leave them alone."""
    book = sources(tmp_path)
    change(book, "docs/develop/extend.md", "../../CONTRIBUTING.md", "../../NOTHING.md")
    done = build(book, book / "site")
    assert done.returncode != 0
    assert "NOTHING.md, which is no file of the repository" in done.stderr


@pytest.mark.parametrize(
    ("html", "said"),
    [
        ('<a href="b.html">', "is no file"),
        ('<a href="b/">', "is no file"),
        ('<a href="#b">', "no such anchor"),
        ('<a href="a.html#b">', "no such anchor"),
        ('<a href="/a.html">', "does not lead into"),
        ('<a href="//host/a.html">', "does not lead into"),
        ('<a href="javascript:void(0)">', "does not lead into"),
        ('<a href="https://nowhere">', "is no address"),
        ('<a href="http://[::1">', "Invalid"),
        ('<img src="b.png">', "is no file"),
        ('<script src="https://host.org/x.js">', "from the network"),
        ('<link rel="stylesheet" href="https://host.org/x.css">', "from the network"),
    ],
)
def test_a_broken_link_is_found(html: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(html, "utf-8")
    (line,) = problems(tmp_path)
    assert line.startswith("a.html:1: ")
    assert said in line


def test_a_good_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "б e.html").write_text('<a id="где">', "utf-8")
    good = '<p id="b"><a href="#b"><a href="%D0%B1%20e.html#%D0%B3%D0%B4%D0%B5">'
    more = '<a href="https://host.org/x"><img src="data:,"><a href="mailto:a@b.org"><a href="">'
    (tmp_path / "a.html").write_text(good + more, "utf-8")
    assert problems(tmp_path) == []
