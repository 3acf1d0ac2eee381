"""Messages in Russian: what users see daily is translated, names stay, and the catalogue has nothing stale."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.language import Catalogue, in_language, use_language
from tests.converter.cli.test_provoked import ERRORS
from tests.docs.materials import EXAMPLES, ROOT, game
from tests.docs.runner import steps_of
from tests.support.runs import call

PO = (ROOT / "converter/ru.po").read_text("utf-8")
RUSSIAN = Catalogue(PO)
PLACE = re.compile(r"\{(\w+)\}")
#: What others print: click, and the system.
FOREIGN = PO.partition("# click\n")[2].partition("# errors of the system\n")[0]
SYSTEM = PO.partition("# errors of the system\n")[2].partition("# what to do")[0]
#: English that stays: names of what is between quotes, commands with their arguments, what stands in a game.
NAMES = re.compile(
    r"'[^']*'|\"[^\"]*\"|\((?:gltf2msh|msh-mod)[^)]*\)|\b(?:msh2gltf|gltf2msh|msh-inspect|msh-mod)\b[^;)]*|Second gun"
    r"|--[a-z-]+(?: list)?|https?://\S+|v 9 of 3"
)


#: Lines that pages show as ``...``, or that come of several changes.
FURTHER = [
    "r_h_01.msh, new: change 1, 2026-11-26T18:12, from static.rlb/r_h_01.glb",
    "a.rlb, entry one: change 2 (edit) changed it later; take that back first: msh-mod undo GAME 2",
    "not applied: material 'a': shines in one colour in the file, and through its picture in the game; a material's "
    "own light goes through its picture; use the same picture for both",
    "not applied: node 'a': is moved, but its animation is not; the keys alone say where an animated node stands; "
    "move its keys",
    "not applied: object 'a': is tilted; objects stand upright and turn about z only; clear its rotation about x and y",
    "Material.lib::a: a of Material.lib is used by 11 models (--own-materials makes a copy for each model instead)",
    "as it is in the game, see not applied",
    "Land.glb: a face crosses its square's border: face 6 round (5, 5), and 63 more (expected inside square 0 of "
    "8 x 8, 64 x 64 units each); cut it at the border, or move its corners back",
    "a.rlb: what change 3 wrote is not in the game any more; a later change or another program took it back",
    "a.rlb: what change 3 wrote was changed since, by another program perhaps; that stays; "
    "msh-mod restore GAME FILE --to DIGEST gets a state of the file that was kept",
    "edits.jsonl: the history of changes is damaged: it lacks 'number'; take it from a copy of the game's folder",
]


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
    return re.search(r"[A-Za-z]*[a-z]{2,} [a-z]{2,}", NAMES.sub("", RUSSIAN.translated(line))) is not None


def test_what_users_see_daily_is_translated() -> None:
    """Lines of the pages, and of what users do wrong: counted, and none is left in English."""
    pages, errors = shown(), [line for _, line in ERRORS]
    assert len(pages) > 120
    assert len(errors) >= 60
    assert [line for line in [*pages, *errors, *FURTHER] if untranslated(line)] == []
    assert len(RUSSIAN.rows) > 450


def test_the_catalogue_is_of_messages_that_there_are() -> None:
    """Each text between places stands in the program, in a line that the pages show, in click, or in the system."""
    files = [path for name in ("converter", "importers") for path in sorted((ROOT / name).rglob("*.py"))]
    program = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text("utf-8") for path in files))
    foreign = FOREIGN + SYSTEM
    program += "\n".join([*shown(), *(line for _, line in ERRORS)])
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
    command = [
        sys.executable,
        "-m",
        "msh_gltf",
        "msh2gltf",
        str(EXAMPLES / "walker.msh"),
        "-o",
        "x.glb",
        "--lang",
        "ru",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={"PYTHONIOENCODING": "cp866", "PYTHONPATH": str(ROOT)},
    )
    text = done.stdout.decode("cp866")
    assert "\\" not in text.replace(str(tmp_path), "")
    assert "записан x.glb" in text
