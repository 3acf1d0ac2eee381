"""The registry of rules: complete, used, and what the page of codes says."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

from msh_gltf.converter.findings import RULES, Finding, near

ROOT = Path(__file__).parents[3]
#: Modules that make findings, and words with hyphens in them that are no codes.
PACKAGES = ("converter", "importers")
NO_CODES = {"counter-clockwise", "latin-1", "msh-gltf", "msh-inspect", "utf-8", "utf-8-sig"}


def words_like_codes() -> set[str]:
    """Every literal of the source that could be a code, the registry left out."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if path.parent.name == "rules":
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    word = node.value
                    if re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", word) or word in RULES:
                        found.add(word)
    return found - NO_CODES


def test_every_code_in_the_source_is_registered_and_the_other_way_round() -> None:
    assert words_like_codes() == RULES.keys()


def test_rules_are_complete() -> None:
    for code, rule in RULES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", code)
        assert rule.code == code
        assert re.search(r"(core|animation|terrain|evidence|container) page", rule.source), code
        for text in (rule.rule, rule.why):
            assert text.endswith("."), code
        assert rule.mend
        assert not rule.drops or rule.severity == "error", code


def test_codes_are_registered_once() -> None:
    text = "".join(p.read_text("utf-8") for p in (ROOT / "converter/checks/rules").glob("*.py"))
    assert len(re.findall(r'\bcode="', text)) == len(RULES)


def test_an_unregistered_code_has_no_severity() -> None:
    with pytest.raises(KeyError):
        assert Finding("no-such-code", "problem").severity


@pytest.mark.parametrize(
    ("typed", "meant"), [("slot-bx", "slot-box"), ("NRES-SIZE", "nres-size"), ("wear", "wear-id")]
)
def test_near_codes(typed: str, meant: str) -> None:
    assert meant in near(typed)


def test_no_near_code() -> None:
    assert near("qqqqqq") == near("") == []


def test_the_page_of_codes_is_current() -> None:
    make = runpy.run_path(str(ROOT / "docs/make_checks.py"))
    text = (ROOT / "docs/checks.md").read_text("utf-8")
    assert make["updated"](text) == text, "run: python docs/make_checks.py"
    for rule in RULES.values():
        assert f"`{rule.code}`" in text
        assert rule.source in text
