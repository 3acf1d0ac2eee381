"""The pictures of the documentation show what is there now."""

import re

import pytest

from docs import make_pictures
from tests.docs.materials import ROOT


@pytest.mark.parametrize("target", make_pictures.RECIPES)
def test_current(target: str) -> None:
    """Nothing that a picture was made from has changed since; nor has the picture."""
    stale = make_pictures.noted().get(target) != make_pictures.current(target)
    assert not stale, f"out of date: python docs/make_pictures.py {target}"
    assert (ROOT / target).stat().st_size < (600_000 if target.endswith(".webp") else 150_000)  # moving ones


def test_nothing_is_left_over() -> None:
    assert set(make_pictures.noted()) == set(make_pictures.RECIPES)


def test_pictures_of_the_tutorials_have_a_recipe() -> None:
    """One that nobody can make again would grow old unseen."""
    pages = sorted((ROOT / "docs/tutorials").glob("*.md"))
    shown = {name for page in pages for name in re.findall(r"pictures/[\w.]+", page.read_text())}
    assert shown
    assert {f"docs/{name}" for name in shown} <= set(make_pictures.RECIPES)


def test_a_change_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: another source, another recipe, another text."""
    target = "docs/pictures/inspect.svg"
    recipe = make_pictures.RECIPES[target]
    before = recipe.made_of()
    changed = make_pictures.Recipe(target, make_pictures.hill_picture, recipe.sources, lambda: "other")
    after = changed.made_of()
    assert before["recipe"] != after["recipe"]
    assert before["text"] != after["text"]


def test_terminals_need_no_network() -> None:
    """Only names of XML and a comment are addresses; nothing is fetched."""
    terminals = [target for target in make_pictures.RECIPES if target.endswith(".svg")]
    assert terminals
    for target in terminals:
        text = (ROOT / target).read_text("utf-8")
        assert not re.search(r"url\((?!#)|href=|@font-face|@import|<script", text), target
