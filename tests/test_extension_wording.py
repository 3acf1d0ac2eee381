"""What the extension shows speaks of Blender's interface, not of commands and their pages."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from blender_extension import build

#: What no user of the extension has: options, commands, pages of the documentation.
OF_COMMANDS = re.compile(r"--[a-z]|\b(?:gltf2msh|msh2gltf|msh-inspect|msh-mod)\b|docs/\w")
#: Modules whose messages the extension does not show: runs over games, checks, other formats.
NOT_SHOWN = (
    "converter/game/check",
    "converter/game/outcome",
    "converter/game/export_",
    "converter/game/import_",
    "converter/game/library_edits",
    "converter/game/manifest",
    "converter/options",  # of commands
    "converter/game/sources",
    "converter/game/walk",
    "converter/game/write_game",
    "converter/game/workers",
    "converter/checks/",
    "converter/kinds/check",
    "converter/kinds/inspect",
    "converter/kinds/obj",
    "converter/kinds/differences",
    "converter/game/uses",
    "converter/rebuild/lods",
    "converter/game/mods",
    "converter/__init__",
)
#: Messages that the extension cannot bring about, and why.
NEVER = {
    "--allow-delete": "the extension exports everything: what is missing was deleted",
    "--force": "the extension passes a hint of its own, or replaces what the file browser named",
    "--like": "the extension has no such choice",
    "with --game": "the same",
    "--sidecar PATH": "the extension hands the sidecar over, unless everything is rebuilt",
    ", or rebuild everything with --no-sidecar": "the same",
    "--require-all": "the extension has no such choice",
    "msh-inspect lists it": "the extension unpacks nothing",
    "again with msh2gltf --unpack": "the same",
    "msh-mod status --json": "the extension restores no state by its digest",
    " --to ": "the same",
    "--tolerant": "the same",
    "--parts visible": "the extension exports every part",
    "--unit is empty": "units are opened as files",
    "--scene chooses": "the extension exports one scene",
    "(an OBJ: --up)": "the extension exports +Y Up, and no OBJ",
    "given by --dialect": "the panel shows the dialect without the reason",
    ": gltf2msh ": "messages of files beside a model: the extension has one of its own",
    " --into ": "the same",
    "--game DIR looks": "the same",
    "--strict": "the same",
    "--frame and --up": "the extension reads no OBJ",
    "--generate-lods": "the extension generates no levels",
    "uv tool install msh-gltf --with ": "the zip holds what it needs",
    "msh-mod status shows what was": "the same",
    "msh-mod restore GAME": "the same",
    "`msh-mod status GAME`": "the README of the vault",
    "`msh-mod restore GAME`": "the same",
}


@pytest.fixture(scope="module")
def wording() -> ModuleType:
    path = build.HERE / "addon/wording.py"
    spec = importlib.util.spec_from_file_location("wording", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts() -> Iterator[tuple[str, str]]:
    """Every text of a module of the zip that is neither a docstring nor a rule: place, text."""
    for name, data in build.sources():
        if not name.endswith(".py") or name.startswith(NOT_SHOWN) or name == "wording.py":
            continue
        tree = ast.parse(data.decode())
        left_out: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                left_out.add(id(node.value))  # a docstring
            calls_rule = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if calls_rule and node.func.id in ("Rule", "_rule", "partial"):
                left_out |= {id(one) for one in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
                yield f"{name}:{node.lineno}", node.value


def test_no_message_names_commands_or_pages(wording: ModuleType) -> None:
    left = []
    for place, text in texts():
        shown = wording.in_blender(text)
        for never in NEVER:
            shown = shown.replace(never, "")
        if OF_COMMANDS.search(shown):
            left.append(f"{place}: {text!r}")
    assert not left, "translate them in addon/wording.py:\n" + "\n".join(left)


def test_every_translation_is_of_a_message(wording: ModuleType) -> None:
    known = [text for _, text in texts()]
    for of_commands, of_blender in wording.WORDS.items():
        assert any(of_commands in text for text in known), of_commands
        assert not OF_COMMANDS.search(of_blender), of_blender
    for never in NEVER:
        assert any(never in text for text in known), never
