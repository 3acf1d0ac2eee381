"""Sessions of commands: what is typed, what each command prints, and the files that are others then.

In a text file beside the tests ``# TITLE`` begins a session in an empty folder. ``$`` is what is typed: a command, or
a verb of ``verbs.py``, which sets something up or does what another program does; ``@FILE`` is the digest of a file.
Below it ``|`` is what is printed, ``!`` the same to standard error, ``=`` an exit code that is not 0; ``+ ~ -`` are
files that are new, different and gone, with what they show or which other file they equal, and which entries of an
archive differ. To add a session write its lines of ``#`` and ``$``; the test module that has the file writes all others
when it is run, for you to read what became different.
"""

import json
import os
import re
import shlex
import sys
import zipfile
from collections.abc import Iterator
from contextlib import chdir, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import Entry
from msh_gltf.converter.formats.nres_edits import name_field
from msh_gltf.converter.formats.texture import read_texm
from msh_gltf.converter.formats.wear import read_wear_names
from msh_gltf.converter.storage import VAULT
from tests.support.game import content
from tests.support.recorded import digest, shown
from tests.support.runs import run, run_apart
from tests.support.verbs import VERBS

#: What is typed often.
SHORT = {
    "export": "msh2gltf game -o out -j 1 --report report.json",
    "back": "gltf2msh out --game game -j 1 --report report.json",
}
#: Verbs whose words may have line breaks, and a byte of 0.
TEXTS = ("save", "replace", "change")
#: Of more lines than these the last ones are a digest.
LONGEST = 30
#: What is another one in each run, or where bytes are packed otherwise.
OTHER = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00)?"), "TIME"),
    (re.compile(r"(\(|originals |changes |\.\w+: )[\d,.]+ (bytes|MB)"), r"\1N \2"),
    (re.compile(r'"sizes": {[^}]*}'), '"sizes": {}'),
    (re.compile(r"(\d+\.\d{4})\d+"), r"\1"),
    (re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{16})\b"), "DIGEST"),
]
#: The same in JSON.
OTHER_KEYS = ("times", "converter", "key", "size", "frame", "library")
#: What comes before each error of usage.
USAGE = re.compile(r"Usage: .*\.\.\.$|Usage: .*\]$|Usage: .* INPUT$|Try '.*' for help\.$|$")
#: Help is as wide as the terminal.
ENVIRONMENT = {"COLUMNS": "80", "MSH_GLTF_LANG": "en"}
#: Digests of these differ in each run.
UNLIKE = (".msh-sidecar", ".gltf", ".bin")
#: These have times in them: one that shows the same is the same.
TIMED = (".json", ".txt")
#: A file's bytes, and what they show.
Fact = tuple[bytes, str]


class Session:
    """A session that is played in a folder.

    Attributes:
        is_brief: all that a command prints, or that it changes, is on one line: its end and beginning, and a digest.
        files: those that were there after the last step.
        first: what each was when it was there first.
    """

    def __init__(self, folder: Path, is_brief: bool) -> None:
        self.folder, self.is_brief = folder, is_brief
        self.files: dict[str, Fact] = {}
        self.first: dict[str, bytes] = {}

    def step(self, typed: str) -> list[str]:
        """Do what is typed; the lines that say what comes of it."""
        command, *words = shlex.split(typed)
        command, *words = [*shlex.split(SHORT.get(command, command)), *words]
        words = [self.digest_of(word[1:]) if word.startswith("@") else word for word in words]
        before = self.files
        if command in VERBS:
            said = self.act(command, words)
            self.files = self.look()
            return [] if said is None else [*self.printed("|", said), *self.changes(before)]
        with mock.patch.dict(os.environ, ENVIRONMENT):
            # help by itself: once it was other after tests that ran before
            done = (run_apart if "--help" in words else run)(command, *words, cwd=self.folder)
        self.files = self.look()
        code = [f"= {done.returncode}"] if done.returncode else []
        if self.is_brief:
            lines = self.printed("|", f"{done.stdout}\n{done.stderr}")
        else:
            lines = [*self.printed("|", done.stdout), *self.printed("!", done.stderr)]
        return [*lines, *code, *self.changes(before)]

    def digest_of(self, name: str) -> str:
        return sha256((self.folder / name).read_bytes()).hexdigest()

    def act(self, verb: str, words: list[str]) -> str | None:
        """Do what an editor or another program does with a file."""
        if verb in TEXTS:
            words = [word.replace("\\r", "\r").replace("\\n", "\n").replace("\\0", "\0") for word in words]
        path = next(self.folder.glob(words[0])) if {*words[0]} & {*"*?"} else self.folder / words[0]
        try:
            with chdir(self.folder):
                return VERBS[verb](path, *words[1:])
        except ConversionError as error:
            return f"refused: {error}"

    def printed(self, mark: str, text: str) -> list[str]:
        """What is printed, without what is of this machine and moment."""
        text = text.replace(f"{self.folder}{os.sep}", "").replace(str(self.folder), "HERE")
        for pattern, instead in OTHER:
            text = pattern.sub(instead, text)
        lines = [f"{mark} {line}".rstrip() for line in text.splitlines() if not USAGE.match(line)]
        if self.is_brief and lines:  # lines are broken where a path of this machine ends
            last = " / ".join([" ".join(line[1:].split()) for line in lines if line != mark][-3:])
            return [f"{mark} {last[:240]} {digest(''.join(text.split()))}"]
        rest = lines[LONGEST:]
        return [*lines[:LONGEST], f"{mark} ... and {len(rest)} more {digest(rest)}"] if rest else lines

    def changes(self, before: dict[str, Fact]) -> list[str]:
        """The files that are gone, new or different."""
        lines = [f"- {name}" for name in before if name not in self.files]
        for name, fact in self.files.items():
            if fact != before.get(name):
                sign = "~" if name in before else "+"
                lines.append(f"{sign} {name} {self.described(name, fact, before.get(name, (b'', ''))[0])}".rstrip())
        if self.is_brief and lines:
            rest = [f"and {len(lines) - 4} more {digest(lines[4:])}"] if len(lines) > 4 else []
            return ["; ".join([*lines[:4], *rest])]
        return lines

    def described(self, name: str, fact: Fact, before: bytes) -> str:
        """What a file shows that is new or different."""
        data, text = fact
        if before and data == self.first[name]:
            return "as at first"
        same = [other for other in self.files if other != name and self.files[other][0] == data != b""]
        return f"as {min(same, key=len)}" if same else " ".join(filter(None, (entries_apart(before, data), text)))

    def look(self) -> dict[str, Fact]:
        """All files; what was there before is not looked at again."""
        found: dict[str, Fact] = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if VAULT in path.parts:
                if path.name == VAULT:
                    found[name] = (b"", "")
            elif path.is_symlink():
                found[name] = (b"", f"-> {os.readlink(path)}".replace(str(self.folder), "HERE"))
            elif path.is_file():
                data = path.read_bytes()
                is_known = name in self.files and self.files[name][0] == data
                fact = self.files[name] if is_known else (data, self.shows(path, data))
                found[name] = (fact[1].encode(), fact[1]) if path.suffix in TIMED else fact
                self.first.setdefault(name, found[name][0])
        return found

    def shows(self, path: Path, data: bytes) -> str:
        """A digest of a file; of a glTF or a picture, of what it shows."""
        if path.suffix in UNLIKE:
            return ""
        if data.startswith((b"glTF", b"\x89PNG")) and path.suffix in (".glb", ".png"):
            with suppress(Exception):  # a broken one shows nothing
                return shown(path)
        if path.suffix == ".zip" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as mod:
                return digest(sorted(mod.namelist()))
        text = data.decode("utf-8", "replace").replace(str(self.folder), "")
        if path.name == "log.txt":
            return digest(re.sub(r"[\d:.,-]+", "", text))
        if path.suffix == ".json" and path.name != "index.json":
            try:
                text = json.dumps(stated(json.loads(text)))
            except ValueError:
                return digest(data)
            for pattern, instead in OTHER:
                text = pattern.sub(instead, text)
            return digest(text)
        return digest(data)


def stated(value: Any) -> Any:
    """JSON without what is another one in each run, or where bytes are packed otherwise."""
    if isinstance(value, dict):
        return {key: stated(one) for key, one in value.items() if key not in OTHER_KEYS}
    return [*map(stated, value)] if isinstance(value, list) else value


def entries_apart(before: bytes, after: bytes) -> str:
    """The entries of an archive that differ, and what they are now."""
    old, new = content(before), content(after)
    if (b"", 0) in (*old, *new) or not old:
        return ""
    found = []
    for slot in sorted({*old, *new}, key=lambda one: (one[0].lower(), *one)):
        if old.get(slot) != new.get(slot):
            sign = "-" if slot not in new else "" if slot in old else "+"
            found.append(f"{sign}{slot[0].decode('cp1251')}{described(slot[0], new[slot]) if slot in new else ''}")
    order = "" if [one for one in old if one in new] == [one for one in new if one in old] else " in another order"
    return f"[{', '.join(found[:6])}{' ...' * (len(found) > 6)}]{order}"


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
            return f" {texm.width} x {texm.height} x {len(texm.levels)} format {texm.format}"
        if kind == b"WEAR":
            return f" {' '.join(read_wear_names(payload))}"
    except ConversionError:
        pass
    return f"={payload.decode('cp1251')}" if 0 < len(payload) < 16 and b"\r" not in payload else ""


class Sessions:
    """The sessions of a text file beside a test module."""

    def __init__(self, module: str, name: str, *, is_brief: bool = False) -> None:
        self.path, self.is_brief = Path(module).with_name(name), is_brief
        parts = re.split(r"^# ", self.path.read_text("utf-8"), flags=re.MULTILINE)[1:]
        self.known = {title: [line for line in lines if line] for title, *lines in map(str.splitlines, parts)}

    def played(self, title: str, folder: Path) -> Iterator[str]:
        session = Session(folder, self.is_brief)
        for line in self.known[title]:
            if line.startswith("$"):
                yield line
                yield from session.step(line[1:])

    def require(self, title: str, folder: Path) -> None:
        """Fail where something else comes of a session than was recorded."""
        assert [*self.played(title, folder)] == self.known[title]

    def write(self) -> None:
        """Write those again whose titles are given to the module, or all."""
        for title in sys.argv[1:] or self.known:
            with TemporaryDirectory() as place:
                self.known[title] = [*self.played(title, Path(place).resolve())]
        text = [line for title, lines in self.known.items() for line in (f"# {title}", *lines, "")]
        self.path.write_text("\n".join(text), "utf-8")
