"""Messages in Russian: all that users can see is translated, names stay, and the catalogue has nothing stale."""

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.language import Catalogue, in_language, use_language
from tests.converter.cli.test_sessions import REFUSED
from tests.docs.materials import EXAMPLES, ROOT, game
from tests.docs.runner import steps_of
from tests.support.runs import call

PO = (ROOT / "converter/ru.po").read_text("utf-8")
RUSSIAN = Catalogue(PO)
PROGRAM = [path for name in ("converter", "importers", "exporters") for path in sorted((ROOT / name).rglob("*.py"))]
PLACE = re.compile(r"\{(\w+)\}")
WORDS = re.compile(r"[a-z]{2,} [a-z]{2,}")
#: What others print: click, and the system.
FOREIGN = PO.partition("# click\n")[2].partition("# errors of the system\n")[0]
SYSTEM = PO.partition("# errors of the system\n")[2].partition("# what to do")[0]
#: English that stays: names of what is between quotes, commands with their arguments, what stands in a game.
NAMES = re.compile(
    r"'[^']*'|\"[^\"]*\"|\((?:gltf2msh|msh-mod)[^)]*\)|\b(?:msh2gltf|gltf2msh|msh-inspect|msh-mod)\b[^;)]*|Second gun"
    r"|--[a-z-]+(?: list)?|\b(?:pip|pipx|uv) .*|https?://\S+|v 9 of 3"
    r"|Limit to(?: Playback Range)?|npx .*|apt install .*|shape keys|у каждого треугольника игры он есть: [^;]*"
)
#: Modules whose texts no command prints: the library's alone, and help, which stays English.
SILENT = (
    "converter/queries/",
    "converter/numeric/",
    "converter/scene/extras",
    "converter/options",
    "converter/cli/given",
)
#: Calls whose texts are help, rules (docs/checks.md), or for programmers.
FOR_OTHERS = {"option", "rule", "why", "Rule", "_rule", "compile", "Option", "command", "_fields", "ValueError"}
FOR_OTHERS |= {"KeyError", "AssertionError", "RuntimeError", "TableSpec", "Key", "split", "debug", "field", "partial"}
#: Texts that are no messages, and those that stand inside a longer line, which the catalogue has as a whole.
PARTS = {
    "one of ",
    "Language of messages; 7 sets it for all commands. Help, JSON, reports and logs stay English.",
    "has this material",
    "has these materials",
    "its colours and picture count",
    "their colours and pictures count",
    "7 7 already, and 7, not the file's: 7",
    "becomes a new node",
    "become new nodes",
    "more node",
    "other place",
    "picture is",
    " or more",
    " and 7 more frames",
    " (and in 7 more 7)",
    " of node 7",
    " (of {}, the {} of the two)",
    ": the game is as it was",
    "positions or texture coordinates changed on ",
    "nodes have the legacy stride of 24 bytes: no hierarchy, poses or LODs are known, all ",
    "[bold]7[/]  RsLi library of 7 7",
    "7used by 7 7",
    "has 7 triangles in the 7 that are not in the 7",
    "in the 7 that are not in the 7, or are of another class there",
    "frame count of the model's timeline",
    "a count, meaning unknown",
    "Got unexpected extra",
    "failed to map segment",
    "Cannot allocate memory",
    "no default",
    "resource_tracker: process died",
    "# msh-gltf rectangle ",
    "glTF as objects",
    "a sidecar is of one of SCENE_KINDS",
    "case is nothing",
    "the frame is no finite number",
}


def shown() -> list[str]:
    """The lines that the pages show of commands which convert, check, change and undo."""
    lines = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.name.endswith(".ru.md"):
            continue
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for step in steps_of(block):
                if re.match(r"(?:msh2gltf|gltf2msh|msh-mod|msh-inspect --(?:uses|roundtrip))\b", step.command):
                    lines += [line.strip() for line in step.shown if "--json" not in step.command]
    # cells of wide tables are broken into lines after they are translated
    return [line for line in dict.fromkeys(lines) if re.search("[a-z]", line) and not re.search("  |^moved, ", line)]


def untranslated(line: str) -> bool:
    """Whether English words are left in a translated line."""
    return WORDS.search(NAMES.sub("", RUSSIAN.translated(line))) is not None


def test_what_users_see_daily_is_translated() -> None:
    """Lines of the pages, and of what users do wrong: counted, and none is left in English."""
    pages = shown()
    assert len(pages) > 120
    assert [line for line in [*pages, *REFUSED] if untranslated(line)] == []
    assert len(RUSSIAN.rows) > 450


def messages() -> Iterator[tuple[str, list[str]]]:
    """Every text of the program that may be a message: place, and its forms with the places filled in."""
    for path in sorted(
        path for name in ("converter", "importers", "exporters") for path in (ROOT / name).rglob("*.py")
    ):
        place, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))
        left_out: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr):
                left_out.add(id(node.value))  # a docstring
            elif isinstance(node, ast.JoinedStr):
                left_out |= {id(one) for part in node.values for one in (part, *is_counted(part))}
            elif (
                isinstance(node, ast.Call) and ast.unparse(node.func).partition("(")[0].rpartition(".")[2] in FOR_OTHERS
            ):
                left_out |= {id(one) for one in ast.walk(node)}
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Subject" and node.args:
                left_out.add(id(node.args[0]))  # what is called by a name
                if isinstance(node.args[0], ast.Constant) and not place.startswith(SILENT):
                    yield f"{place}:{node.lineno}", [f"{node.args[0].value} 'Xx'"]
        for node in ast.walk(tree) if not place.startswith(SILENT) else ():
            if id(node) in left_out or not isinstance(node, ast.Constant | ast.JoinedStr):
                continue
            forms = [node.value] if isinstance(node, ast.Constant) else list(filled(node))
            if isinstance(forms[0], str) and "\n" not in forms[0] and any(WORDS.search(form) for form in forms):
                yield f"{place}:{node.lineno}", forms


def is_counted(part: ast.expr) -> list[ast.AST]:
    """What a place of a text is made of where it is ``plural(count, "noun")``; else nothing."""
    value = part.value if isinstance(part, ast.FormattedValue) else None
    return [*ast.walk(value)] if isinstance(value, ast.Call) and ast.unparse(value.func) == "plural" else []


def filled(text: ast.JoinedStr) -> Iterator[str]:
    """A text with numbers, names or nothing in its places."""
    parts: list[list[str]] = []
    for part in text.values:
        if isinstance(part, ast.Constant):
            parts.append([part.value])
        elif is_counted(part):
            noun = part.value.args[1]
            parts.append([f"7 {noun.value}s" if isinstance(noun, ast.Constant) else "Xx"])
        else:
            parts.append(["7", "Xx", ""])
    yield from map("".join, itertools.islice(itertools.product(*parts), 5000))


def test_everything_that_may_be_shown_is_translated() -> None:
    left = [
        (place, forms[0])
        for place, forms in messages()
        if forms[0] not in PARTS and all(untranslated(form.removeprefix(" (").strip(" ;,:")) for form in forms)
    ]
    rules = [(rule.code, text) for rule in all_rules().values() for text in (rule.rule, rule.why, rule.fix, rule.drops)]
    left += [(code, text) for code, text in rules if text and (text, "") not in RUSSIAN.rows]
    assert left == [], "translate them in converter/ru.po"


def recorded() -> Iterator[str]:
    """Lines as the program composes them: of imports, checks and refusals that other tests recorded."""
    edits = ("missions", "inside", "placed", "pictures")
    for name in (
        "kinds/reports",
        "judge/reports",
        "judge/trials",
        "checks/findings",
        *(f"edits/{one}" for one in edits),
    ):
        for line in (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines():
            for text in line.partition(" | a second reader: ")[0].split(" | ")[1:]:
                text = re.sub(r"(?:; )?\d+ (?:differences from what is stored|lines of differences,) \S{1,8}", "", text)
                yield re.sub(r"^(?:refused: \S+ |\w+, \d+ x |[0-9a-f~]{1,8}(?: [0-9a-f~]{1,8})*(?:; |$))", "", text)
    yield from REFUSED


def test_no_english_is_left_in_what_is_composed() -> None:
    """No word of the messages but those that translations keep, and names outside of quotes in these lines."""
    word = re.compile(r"(?<![\w./\\'\"<>*{}#:=-])[a-z]{2,}(?:'s)?(?![\w/\\'\"<>*{}=-]|\.\w|\()")
    english = {one for key in RUSSIAN.rows for text in key for one in word.findall(PLACE.sub("", text))}
    english -= {
        one for row in RUSSIAN.rows.values() for text in row for one in re.findall("[a-z]+", PLACE.sub("", text))
    }
    english -= {"clan", "default", "edit", "inf", "many", "models", "nobody", "nothing", "three"}
    english -= {"found", "gun", "key", "path", "start", "turret"}  # values, names of custom properties and classes
    left = {line: RUSSIAN.translated(line) for line in recorded()}
    assert len(left) > 700
    found = {line: sorted(english.intersection(word.findall(NAMES.sub("", now)))) for line, now in left.items()}
    assert {line: words for line, words in found.items() if words} == {}


def test_the_catalogue_is_of_messages_that_there_are() -> None:
    """Each text between places stands in the program, in a line that the pages show, in click, or in the system."""
    program = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text("utf-8") for path in PROGRAM))
    foreign = FOREIGN + SYSTEM
    program += "\n".join([*shown(), *recorded()])
    texts = [
        (message, text)
        for message, plural in RUSSIAN.rows
        for text in (PLACE.split(message)[::2] if not plural else [plural.split(" ")[1].rstrip("s,:")])
    ]
    stale = {
        message
        for message, text in texts
        if len(text.strip()) > 2 and text.strip(" ():;,'") not in program and f'"{message}"' not in foreign
    }
    assert sorted(stale) == [], "change them in converter/ru.po as they were changed in the program"


def test_a_translation_has_the_places_of_its_message_and_letters_of_old_consoles() -> None:
    for (message, plural), forms in RUSSIAN.rows.items():
        assert len(forms) == (3 if plural else 1), message
        for form in forms if message else ():
            assert set(PLACE.findall(form)) <= set(PLACE.findall(message)), message
            assert message.endswith("{text}") <= form.endswith("{text}"), message
            assert form.encode("cp866").decode("cp866") == form.encode("cp1251").decode("cp1251")
            forms_of_one = {n: RUSSIAN.translated(f"{n} file") for n in ("1", "2", "5", "11", "1,021")}
    assert list(forms_of_one.values()) == ["1 файл", "2 файла", "5 файлов", "11 файлов", "1 021 файл"]


@pytest.mark.parametrize(
    "line", ["static.rlb::r_h_01.msh", "Tom and Jerry.msh", "My error.glb", "C:\\Games\\new part\\r.msh", "a, b: c (d)"]
)
def test_names_stay(line: str) -> None:
    assert RUSSIAN.translated(line) == line


def test_the_language_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the option or the variable, never by the system's; errors of the command line too; names of parts stay."""
    game(tmp_path / "Игра")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "ru_RU.UTF-8")
    said = []
    for arguments in (["status", "Игра"], ["status", "Игра", "--lang", "ru"], ["--lang=ru", "status", "--foo"]):
        call(cli.msh_mod, *arguments)
        streams = capsys.readouterr()
        said.append((streams.out + streams.err).splitlines()[-1])
    assert said[:2] == ["nothing was changed here", "здесь ничего не меняли"]
    assert said[2].startswith("Ошибка: Нет параметра '--foo'")
    monkeypatch.setenv("MSH_GLTF_LANG", "ru")
    assert call(cli.msh2gltf, "Игра", "-q", "-o", "out", "--report", "r.json", "--log-file", "r.log") == 0
    assert all("converted" in (tmp_path / name).read_text("utf-8") for name in ("r.json", "r.log"))
    assert call(cli.msh_mod, "status", "Игра", "--lang", "de") == 2
    capsys.readouterr()
    use_language([], {})
    assert in_language("failed") == "failed"


def test_a_console_of_code_page_866(tmp_path: Path) -> None:
    """As in Windows with PYTHONIOENCODING: every letter is there, from an installation or a checkout."""
    words = ["msh2gltf", str(EXAMPLES / "walker.msh"), "-o", "x.glb", "--lang", "ru"]
    settings = {"PYTHONIOENCODING": "cp866", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "msh_gltf", *words]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, env=settings).stdout.decode("cp866")
    assert "\\" not in text.replace(str(tmp_path), "")
    assert "записан x.glb" in text
