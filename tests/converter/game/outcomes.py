"""What is typed in sessions, and what comes of it: what is said, and which entries of the game are others then."""

import hashlib
import json
import re
import shlex
import zipfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import Entry
from msh_gltf.converter.formats.nres_edits import name_field
from msh_gltf.converter.formats.texture import read_texm
from msh_gltf.converter.formats.wear import read_wear_names
from tests.converter.game.contents import Files, content, digest_of, files_of
from tests.converter.game.typed import VERBS
from tests.support.recorded import digest, shown
from tests.support.runs import run

#: What is typed often.
SHORT = {
    "export": "msh2gltf game -o out -j 1 --report report.json",
    "back": "gltf2msh out --game game -j 1 --report report.json",
}
#: What is another one in each run, or where bytes are packed otherwise.
OTHER = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+(\+00:00)?|[0-9a-f]{16,64}|[\d,.]+ ?(bytes|MB)|\"sizes\":[^}]*}")
#: A digest of a file, by what it holds: the same many files are there after each step.
KNOWN: dict[tuple[str, bytes], str] = {}


def step(typed: str, number: int, folder: Path) -> str:
    """Do what is typed; what comes of it. ``number``: for edits."""
    command, *words = shlex.split(typed)
    if command in SHORT:
        command, *words = [*shlex.split(SHORT[command]), *words]
    words = [digest_of((folder / word[1:]).read_bytes()) if word[:1] == "@" else word for word in words]
    words = [word.replace("\\n", "\r\n") for word in words]
    if command in VERBS:
        text, more = acted(command, words, number, folder), []
    else:
        (folder / "report.json").unlink(missing_ok=True)
        said = run(command, *words, cwd=folder)
        lines = OTHER.sub("", f"{said.stdout}\n{said.stderr}".replace(str(folder), "")).strip().splitlines()
        whole = "".join(f"{said.stdout}{said.stderr}".split()).replace("".join(str(folder).split()), "")
        last = " / ".join(" ".join(line.split()) for line in lines[-3:])
        text = f"{said.returncode} {digest(OTHER.sub('', whole))} {last[:240]}"
        more = [*statuses(folder / "report.json")]
    return "".join([text, f" {digest([*facts(folder)])}", *more])


def acted(verb: str, words: list[str], number: int, folder: Path) -> str:
    """Do what an editor or another program does with a file that may be there."""
    path = next(folder.glob(words[0]), folder / words[0]) if {*words[0]} & {*"*?"} else folder / words[0]
    if verb not in ("give", "save", "draw", "brick", "link", "points", "sound", "write") and not path.exists():
        return "nothing"
    try:
        with chdir(folder):
            return VERBS[verb](path, number, *words[1:]) or "edited"
    except ConversionError as error:
        return f"refused: {error}".replace(f"{folder}/", "")


def stated(value: Any) -> Any:
    """JSON without what is another one in each run, or where bytes are packed otherwise."""
    if isinstance(value, dict):
        other = ("times", "converter", "key", "size", "frame", "library")
        return {key: stated(one) for key, one in value.items() if key not in other}
    return [*map(stated, value)] if isinstance(value, list) else value


def facts(folder: Path) -> Iterator[tuple[str, str]]:
    """The files of games and outputs; of what a vault holds only how many, for it is packed."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if ".msh-gltf" in path.parts or not path.is_file():
            continue
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as mod:
                yield name, str(sorted(mod.namelist()))
        elif path.suffix == ".json" and path.stat().st_size > 9:
            facts = stated(json.loads(path.read_text("utf-8")))
            yield name, digest(OTHER.sub("", json.dumps(facts).replace(str(folder), "")))
        elif path.name == "log.txt":
            yield name, digest(re.sub(r"[\d:.,-]+", "", path.read_text("utf-8").replace(str(folder), "")))
        elif path.suffix not in (".msh-sidecar", ".gltf"):
            yield name, known(path)


def known(path: Path) -> str:
    """A digest of a file; of a glTF or a picture, of what it shows."""
    data = path.read_bytes()
    if path.suffix not in (".glb", ".png") or data[:4] not in (b"glTF", b"\x89PNG"):
        return digest(data)
    key = (path.suffix, hashlib.md5(data).digest())
    if key not in KNOWN:
        KNOWN[key] = shown(path)
    return KNOWN[key]


def statuses(report: Path) -> Iterator[str]:
    """What the report of a run says of all that is not as it was."""
    if not report.is_file():
        return
    whole = json.loads(report.read_text("utf-8"))
    for row in [*whole.get("items", ()), *whole.get("textures", ())]:
        if row["status"] not in ("unchanged", "converted"):
            detail = row.get("detail", "").replace(f"{report.parent}/", "")[:90]
            said = [row["status"], row["id"], detail, row.get("key"), row.get("dialect")]
            yield f"; {' '.join(one for one in said if one)}"


def apart(folder: Path, original: Files) -> Iterator[str]:
    """The files of each game that differ from the original, and in archives which entries."""
    for root in ("game", "new", "second"):
        if not original or not (folder / root).is_dir():
            continue
        now = files_of(folder / root)
        names = [name for name in sorted({*now, *original}) if now.get(name) != original.get(name)]
        found = [f"{name}{entries_apart(original.get(name), now.get(name))}" for name in names]
        if found:  # and a digest, so that equal games are seen to be equal; outputs have a number of their own
            inside = [(name, now.get(name)) for name in names if not name.startswith("out/")]
            found[6:] = ["..."] * (len(found) > 6) + [digest(inside)]
        yield f"; {root}: {', '.join(found) or 'as it was'}"


def entries_apart(before: bytes | None, after: bytes | None) -> str:
    """The entries that differ, and what they are now."""
    if before is None or after is None:
        return " is gone" if after is None else " is new"
    old, new = content(before), content(after)
    if (b"", 0) in (*old, *new):
        return ""
    found = []
    for slot in sorted({*old, *new}, key=lambda one: (one[0].lower(), *one)):
        if old.get(slot) != new.get(slot):
            sign = "-" if slot not in new else "" if slot in old else "+"
            found.append(f"{sign}{slot[0].decode('cp1251')}{described(slot[0], new[slot]) if slot in new else ''}")
    order = "" if [one for one in old if one in new] == [one for one in new if one in old] else " in another order"
    return f" [{', '.join(found[:6])}{' ...' * (len(found) > 6)}]{order}"


def described(name: bytes, value: tuple[Any, ...]) -> str:
    """What an entry of a library says; of any other its text, if it is short."""
    payload, type_id, attr1, attr2, attr3 = value
    kind = type_id.to_bytes(4, "little").upper()
    try:
        if kind == b"MAT0":
            one = read_material(Entry(type_id, attr1, attr2, attr3, name_field(name), 0, 0, payload), "")
            diffuse, light = ([round(value, 3) for value in rgb] for rgb in (one.diffuse, one.self_light))
            return f" {attr1}/{attr2} {one.texture} {diffuse} light {light} alpha {one.alpha:.3g} kind {one.kind}"
        if kind == b"TEXM":
            texm = read_texm(payload, "")
            shape = f"{texm.width} x {texm.height} x {len(texm.levels)} format {texm.format}"
            return f" {shape} {digest(texm.rgba().tobytes())}"
        if kind == b"WEAR":
            return f" {' '.join(read_wear_names(payload))}"
    except ConversionError:
        pass
    return f"={payload.decode('cp1251')}" if 0 < len(payload) < 16 and b"\r" not in payload else ""
