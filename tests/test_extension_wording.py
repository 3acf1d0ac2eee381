"""What the extension shows speaks of Blender's interface, not of commands and their pages."""

import ast
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from blender_extension import build
from msh_gltf.converter.language import Catalogue

PO = (build.HERE / "addon/ru.po").read_text("utf-8")
#: What the extension has of its own, and that with the converter's messages, as it shows them.
OWN, RUSSIAN = Catalogue(PO), Catalogue(f"{(build.ROOT / 'converter/ru.po').read_text('utf-8')}\n{PO}")
PLACE = re.compile(r"\{\w+\}")

#: What no user of the extension has: options, commands, pages of the documentation.
OF_COMMANDS = re.compile(r"--[a-z]|\b(?:gltf2msh|msh2gltf|msh-inspect|msh-mod)\b|docs/\w")
#: Modules whose messages the extension does not show: runs over games, checks, other formats.
NOT_SHOWN = (
    "converter/game/inspect",
    "converter/game/export_",
    "converter/game/import_",
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
    "converter/game/mods",
    "converter/__init__",
)
#: Messages that the extension cannot bring about, and why.
NEVER = {
    "--allow-delete": "the extension exports everything: what is missing was deleted",
    "slower or faster, --fps ": "the extension knows the rate: a frame of Blender is a frame of the game",
    "--force": "the extension passes a hint of its own, or replaces what the file browser named",
    "--like": "the extension has no such choice",
    "with --game": "the same",
    "--sidecar PATH": "the extension hands the sidecar over, unless everything is rebuilt",
    ", or rebuild everything with --no-sidecar": "the same",
    "--require-all": "the extension has no such choice",
    "again with msh2gltf --unpack": "the same",
    "that msh2gltf --unpack wrote": "the extension reads no such folders",
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
    "--clips states": "the extension marks the ranges on the timeline",
    "--lang": "the extension follows Blender's language",
    "--frame and --up": "the extension reads no OBJ",
    "--generate-lods": "the extension makes levels before it exports",
    "uv tool install msh-gltf --with ": "the zip holds what it needs",
    "msh-mod status shows what was": "the same",
    "msh-mod restore GAME": "the same",
    "`msh-mod status GAME`": "the README of the vault",
    "`msh-mod restore GAME`": "the same",
}


@pytest.fixture(scope="module")
def wording() -> ModuleType:
    """What puts messages into other words: the part of a module that does not need Blender."""
    tree = ast.parse((build.HERE / "addon/window.py").read_text("utf-8"))
    tree.body = [node for node in tree.body if _words_of(node) or getattr(node, "name", "") == "in_blender"]
    module = ModuleType("wording")
    exec(compile(tree, "wording", "exec"), vars(module))
    return module


def _words_of(node: ast.AST) -> bool:
    """Whether a statement lists messages and what is said instead."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(getattr(target, "id", "") in ("WORDS", "_PREFERENCES") for target in targets)


def texts() -> Iterator[tuple[str, str]]:
    """Every text of a module of the zip that is neither a docstring nor a rule: place, text."""
    for name, data in build.sources():
        if not name.endswith(".py") or name.startswith(NOT_SHOWN):
            continue
        tree = ast.parse(data.decode())
        left_out: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                left_out.add(id(node.value))  # a docstring
            if _words_of(node):
                left_out |= {id(one) for one in ast.walk(node)}
            called = getattr(node, "func", None)
            if getattr(getattr(called, "func", called), "id", "") in ("Rule", "Rules", "_rule", "partial"):
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
    assert not left, "translate them in addon/window.py:\n" + "\n".join(left)


def test_every_translation_is_of_a_message(wording: ModuleType) -> None:
    known = [text for _, text in texts()]
    for of_commands, of_blender in wording.WORDS.items():
        assert any(of_commands in text for text in known), of_commands
        assert not OF_COMMANDS.search(of_blender), of_blender
    for never in NEVER:
        assert any(never in text for text in known), never


#: Where a text is that Blender's interface shows: arguments by name, or by place of what is called.
SHOWN = {"name", "description", "text", "hint", "message", "expected"}
CALLED = {
    "ConversionError": (0,),
    "skipped": (0, 1, 2, 3),
    "say": (2,),
    "Field": (2, 3),
    "append": (0,),
    "Step": (0,),
    "paced": (1,),
}
NAMED = {"bl_label", "why", "what", "question", "state.outcome", "done"}


def shown_texts() -> Iterator[tuple[str, str]]:
    """Every text of the extension that is shown: place, text; ``{}`` for what is filled in."""
    for path in sorted((build.HERE / "addon").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            found: list[ast.expr] = []
            if isinstance(node, ast.ClassDef) and any(ast.unparse(one).endswith("Operator") for one in node.bases):
                yield f"{path.name}:{node.lineno}", ast.get_docstring(node) or ""
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in NAMED:
                found = [node.value]
            elif isinstance(node, ast.Return) and path.name == "game.py":
                found = [] if node.value is None else [node.value]
            elif isinstance(node, ast.Tuple) and path.name == "game_material.py":
                found = node.elts[-1:] if len(node.elts) == 5 else []  # what a socket means
            elif isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2]
                given = {word.arg: word.value for word in node.keywords}
                if "name" in given or not called.endswith("Property"):  # others are never drawn
                    found = [given[name] for name in SHOWN & {*given}]
                found += [node.args[i] for i in CALLED.get(called, ()) if i < len(node.args)]
                items = given.get("items")
                if isinstance(items, ast.Tuple):
                    found += [text for item in items.elts if isinstance(item, ast.Tuple) for text in item.elts[1:]]
            for text in (text for one in found for text in texts_of(one)):
                yield f"{path.name}:{node.lineno}", text


def texts_of(node: ast.expr) -> list[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return texts_of(node.body) + texts_of(node.orelse)
    return [text for one in node.values for text in texts_of(one)] if isinstance(node, ast.BoolOp) else []


def test_everything_that_is_shown_has_a_russian_text() -> None:
    """As a user of a Russian Blender sees it."""
    left = []
    for place, text in shown_texts():
        filled = text.replace("{}", "7")
        names_only = re.fullmatch(r"[a-z._*;7 ]*", filled) and " " not in filled.strip()
        translated = (filled, "") in OWN.rows or re.search("[а-я]", RUSSIAN.translated(filled))
        if not names_only and re.search("[A-Za-z]{2}", filled) and not translated:
            left.append(f"{place}: {text!r}")
    assert not left, "translate them in addon/ru.po:\n" + "\n".join(left)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.rlb: is not where it was; choose the game's folder with Find the Game", "x.rlb: не там, где был; укажите"),
        ("a.msh: 4 nodes, 1 part", "a.msh: 4 узла, 1 часть"),
        ("made: 2 levels", "построено: 2 уровня"),
        (
            "is a generated level: 62 of 74 triangles, the same surface",
            "построенный уровень: 62 из 74 треугольников, та",
        ),
        ("3 changes, 1 not applied", "3 изменения, не применено: 1"),
        ("2 changes in force", "в силе 2 изменения"),
        ("something of the converter", "something of the converter"),
    ],
)
def test_messages_are_translated_part_by_part(text: str, expected: str) -> None:
    assert RUSSIAN.translated(text).startswith(expected)


def test_every_russian_text_is_of_a_text() -> None:
    """And has as many places to fill in; an operator's tooltip is one line, since Pythons indent others differently."""
    known = {text for name, data in build.sources() if name.endswith(".py") for text in all_of(data)}
    for (text, _), forms in OWN.rows.items():
        parts = [part.strip(" ()") for part in PLACE.split(text.lower().replace("the scene alone", "the file alone"))]
        assert any(part in one for one in known for part in parts if part) or not text, text
        assert all(sorted(PLACE.findall(text)) == sorted(PLACE.findall(there)) for there in forms if text), text


def all_of(data: bytes) -> Iterator[str]:
    """The texts of a module, in lower case."""
    found = (node.value for node in ast.walk(ast.parse(data)) if isinstance(node, ast.Constant))
    yield from (value.lower() for value in found if isinstance(value, str))
