"""A Russian page (``NAME.ru.md``) is built like its English original, and has the same code."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.link_translations import linked
from msh_gltf.converter.language import Catalogue

ROOT = Path(__file__).parents[2]
RUSSIAN = sorted([*ROOT.glob("*.ru.md"), *(ROOT / "docs").rglob("*.ru.md")])
every_page = pytest.mark.parametrize("page", RUSSIAN, ids=lambda path: path.relative_to(ROOT).as_posix())
PARSER = MarkdownIt("commonmark").enable("table")
#: Comments are translated: after two blanks, or on a line of their own.
COMMENT = re.compile(r"(^|\s+)# .*$", re.MULTILINE)
#: What the extension calls its buttons and panels, and names of Blender's own that pages use.
EXTENSION = {
    message: forms[0]
    for (message, _), forms in Catalogue((ROOT / "blender_extension/addon/ru.po").read_text("utf-8")).rows.items()
} | {"Put Back": "Вернуть в игру"}
BLENDER = {
    "Base Color",
    "Custom Properties",
    "Dope Sheet",
    "End",
    "Graph Editor",
    "Images",
    "Material Preview",
    "Merge Vertices",
}
CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)


def english(target: str, folder: Path) -> str:
    """A link's target as the English original has it; anchors follow the language of the page."""
    path, mark, _ = target.partition("#")
    path = path.replace(".ru.md", ".md")
    if not path or (folder / path).with_suffix(".ru.md").is_file():
        return path + mark
    return target


def structure(text: str, folder: Path = ROOT) -> list[str]:
    """One line per block, code block, link and picture of a page that lies in ``folder``."""
    out = []
    for token in PARSER.parse(text):
        if token.type == "fence":
            out.append(f"fence {token.info}\n{COMMENT.sub('', token.content)}")
        elif token.type == "inline":
            out += sorted(filter(None, (inline(child, folder) for child in token.children or [])))
        else:
            out.append(f"{token.type} {token.tag}")
    return out


def inline(token: Token, folder: Path) -> str:
    if token.type == "link_open":
        return f"link {english(str(token.attrs['href']), folder)}"
    return f"picture {token.attrs['src']}" if token.type == "image" else ""


@every_page
def test_twins_have_the_same_structure(page: Path) -> None:
    original = page.with_name(page.name.replace(".ru.md", ".md"))
    assert original.is_file(), f"{page.name} has no English original"
    theirs, ours = (structure(p.read_text("utf-8"), page.parent) for p in (page, original))
    assert theirs == ours


@every_page
def test_links_and_anchors_are_those_of_the_translations(page: Path) -> None:
    """To Russian pages where there are some; anchors by the place of their heading: ``docs/link_translations.py``."""
    text = page.read_text("utf-8")
    assert linked(text, page) == text


@every_page
def test_a_russian_page_is_in_russian(page: Path) -> None:
    """Every heading and every paragraph of some length has Russian letters."""
    tokens = PARSER.parse(page.read_text("utf-8"))
    for before, token in pairwise(tokens):
        if token.type == "inline" and before.type in ("heading_open", "paragraph_open"):
            words = re.sub(r"`[^`]*`|\]\([^)]*\)", "", token.content)
            long = len(re.findall(r"[A-Za-z]{2,}", words)) > 6
            assert CYRILLIC.search(words) or not long, token.content


@every_page
def test_interfaces_are_named_in_russian_with_the_english_name_in_brackets(page: Path) -> None:
    """As a Russian Blender and the extension in it show them."""
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", text):
        for match in re.finditer(r"(?<![\w*])\*{1,2}([^*\s][^*]*?)\*{1,2}(?!\w)", paragraph):
            name, before = " ".join(match[1].split()), paragraph[: match.start()]
            is_shown = " > " in name or name in BLENDER or EXTENSION.get(name, name) != name
            if is_shown and not CYRILLIC.search(name):
                assert before.count("(") > before.count(")"), name
        for russian, original in re.findall(r"\*([^*>]+)\* \(\*([^*]+)\*\)", " ".join(paragraph.split())):
            assert EXTENSION.get(original, russian) == russian


def test_a_difference_is_seen(tmp_path: Path) -> None:
    """The comparison sees what it is for."""
    (tmp_path / "b.ru.md").touch()
    text = "# A\n\n- [b](b.md#b) [f](f.md#f)\n\n```\nc # d\n```\n\n![e](e.png)\n"
    for old, new in (
        ("# A", "## A"),
        ("- [b]", "1. [b]"),
        ("(b.md#b)", "(x.md#b)"),
        ("(b.md#b)", "(b.ru.md)"),
        ("(f.md#f)", "(f.md#g)"),
        ("c #", "x #"),
        ("(e.png)", "(x.png)"),
        ("```\nc", "```python\nc"),
        ("[b](b.md#b)", "b"),
    ):
        assert structure(text.replace(old, new), tmp_path) != structure(text, tmp_path), (old, new)
    for old, new in (("# A", "# Я"), ("b.md#b", "b.ru.md#б"), ("# d", "# я"), ("[e]", "[ё]")):
        assert structure(text.replace(old, new), tmp_path) == structure(text, tmp_path), (old, new)
