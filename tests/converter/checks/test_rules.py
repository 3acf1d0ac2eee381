"""The rules: each declared once, beside what finds it, and listed on the page of codes."""

import ast
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
    "msh-gltf",
    "msh-inspect",
    "msh-mod",
    "utf-8",
    "utf-8-sig",
}
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
TREES = {path: ast.parse(path.read_text("utf-8")) for path in SOURCES}


def literals(tree: ast.AST) -> list[str]:
    """Every string of the source that could be a code; codes have hyphens but for one."""
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", node.value)
    ]


def declarations(tree: ast.Module) -> dict[str, str]:
    """Name of the constant or check -> code, of the rules that a module declares.

    ``_rule`` makes what is called with ``why`` and ``fix``; ``@rule`` stands above a check.
    """
    constants = {
        node.targets[0].id: call.args[function == "Rule"].value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for call in (node.value.func if isinstance(node.value.func, ast.Call) else node.value,)
        if (function := getattr(call.func, "id", "")) in ("Rule", "_rule")
    }
    return constants | {
        node.name: call.args[0].value
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for call in node.decorator_list
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "rule"
    }


def test_every_code_stands_in_exactly_one_place() -> None:
    found = Counter(code for tree in TREES.values() for code in literals(tree))
    assert found.keys() - NO_CODES == all_rules().keys() - {"unreadable"}  # a JSON key too
    assert [code for code in all_rules() if found[code] > 1] == []


def test_every_declared_rule_is_listed() -> None:
    """A module with rules that ``all_rules`` does not import is missing."""
    declared = [code for tree in TREES.values() for code in declarations(tree).values()]
    assert sorted(declared) == sorted(all_rules())


def test_a_rule_stands_beside_what_finds_it() -> None:
    """A check is called like its rule, and somebody calls it; what readers refuse stands in ``formats``."""
    uses = Counter(node.id for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Name))
    for path, tree in TREES.items():
        names = declarations(tree)
        assert not names or path.parent.name in ("checks", "formats") or path.stem == "files", path
        if path.parent.name == "checks":
            assert [name for name in names if uses[name] < 1 + name.isupper()] == [], path
            assert [code for name, code in names.items() if name.lower() != code.replace("-", "_")] == []


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
