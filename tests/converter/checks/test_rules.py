"""The rules: each declared once, beside what finds it, and listed on the page of codes."""

import re
import runpy
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from msh_gltf.converter.checks import all_rules, similar_codes

ROOT = Path(__file__).parents[3]
#: Modules that make findings, and words with hyphens in them that are not codes.
PACKAGES = ("converter", "importers", "exporters")
NO_CODES = {
    "counter-clockwise",
    "fparkan-validator",
    "playground-packer",
    "latin-1",
    "areal-maps",
    "utf-8",
    "utf-8-sig",
}
NO_CODES |= {"utf-8-sig", "msh-gltf", "msh-inspect", "msh-mod"}
SOURCES = {path: path.read_text("utf-8") for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
#: A rule that is a constant, and one that stands above its check: name and code, code and name.
CONSTANT = re.compile(r'^(\w+) = (?:_rule\(|Rule\(\s*"[^"]+",)\s*"([a-z0-9-]+)"', re.M)
CHECK = re.compile(r'^@rule\(\s*"([a-z0-9-]+)".*?^def (\w+)', re.M | re.S)


def declarations(source: str) -> dict[str, str]:
    """Code -> name of the constant or check, of the rules that a module declares."""
    return {code: name for name, code in CONSTANT.findall(source)} | dict(CHECK.findall(source))


def test_every_code_stands_in_exactly_one_place() -> None:
    """Codes have hyphens but for one, which is a JSON key too."""
    found = Counter(code for source in SOURCES.values() for code in re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', source))
    assert found.keys() - NO_CODES == all_rules().keys() - {"unreadable"}
    assert [code for code in all_rules() if found[code] > 1] == []


def test_every_declared_rule_is_listed() -> None:
    """A module with rules that ``all_rules`` does not import is missing."""
    assert sorted(code for source in SOURCES.values() for code in declarations(source)) == sorted(all_rules())


def test_a_rule_stands_beside_what_finds_it() -> None:
    """A check is called like its rule, and somebody calls it; what readers refuse stands in ``formats``."""
    words = Counter(word for source in SOURCES.values() for word in re.findall(r"\w+", source))
    for path, source in SOURCES.items():
        names = declarations(source)
        assert not names or path.parent.name in ("checks", "formats") or path.stem == "files", path
        if path.parent.name == "checks":
            assert [name for name in names.values() if words[name] < 2] == [], path
            assert [code for code, name in names.items() if name.lower() != code.replace("-", "_")] == []


def test_rules_of_one_format_are_listed_together() -> None:
    formats = [name for name, _ in groupby(all_rules().values(), key=lambda rule: rule.format)]
    assert len(formats) == len(set(formats))


def test_rules_are_complete() -> None:
    for code, rule in all_rules().items():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", code)
        assert rule.code == code
        assert re.fullmatch(r"docs/[\w/]+\.md(#[\w-]+)?", rule.source), code
        for text in (rule.rule, rule.why):
            assert text.endswith("."), code
        assert rule.fix
        assert not rule.drops or rule.severity == "error", code


def test_no_similar_code() -> None:
    assert similar_codes("qqqqqq") == similar_codes("") == []


def test_the_page_of_codes_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    make = runpy.run_path(str(ROOT / "docs/make_checks.py"))
    russian = make["RUSSIAN"].read_text("utf-8")
    assert make["russian"](russian) == russian, "run: python docs/make_checks.py"
    text = (ROOT / "docs/checks.md").read_text("utf-8")
    assert make["updated"](text) == text, "run: python docs/make_checks.py"
    for rule in all_rules().values():
        assert f"`{rule.code}`" in text
        assert f"({rule.source.removeprefix('docs/')})" in text
