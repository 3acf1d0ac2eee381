"""What in a game uses a model, material, texture, unit: ``msh-inspect --uses``.

A texture is used by materials, a material by material lists, a list and a model by object keys, a
key by other keys, units and missions, a unit by missions and ``BuildDat.lst``. Files that cannot be
read are left out: ``msh-inspect --check`` says what is wrong with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConversionError
from ..files import read_file
from ..formats.build_dat import read_build_dat
from ..formats.kinds import MISSION_FILE
from ..formats.material import MATERIAL_TYPE, read_material
from ..formats.mission import read_mission
from ..formats.names import decode_text, readable
from ..formats.nres import Archive, is_nres
from ..formats.objects import is_registry, is_unit, read_registry, read_unit
from ..formats.wear import read_wear
from ..kinds.open_files import open_nres
from ..storage import walk_files

_WEAR = int.from_bytes(b"WEAR", "little")


class Thing(NamedTuple):
    """Something in a game that is used, or uses.

    Attributes:
        kind: ``texture``, ``lightmap``, ``material``, ``material list``, ``model``, ``object key``,
            ``unit``, ``level``, ``mission``, ``BuildDat.lst``.
        name: in lower case: a name, ``archive::entry`` or a path with slashes.
    """

    kind: str
    name: str


class Uses:
    """Who uses what in a game's directory.

    Attributes:
        users: what uses a thing, as it is spelled there; in the order of the files.
        spelled: things as they were first met.
    """

    def __init__(self, root: Path) -> None:
        self.users: dict[Thing, dict[Thing, None]] = {}
        self.spelled: dict[Thing, str] = {}
        for path in _files(root):
            source = readable(path.relative_to(root).as_posix())
            try:
                self._read(path, source)
            except ConversionError:
                continue

    def find(self, name: str) -> list[Thing]:
        """Return the things of a name: whole, without its ending, or the last part of a path."""
        wanted = name.replace("\\", "/").lower()
        return sorted(thing for thing in self.spelled if wanted in _names(thing))

    def _take(self, kind: str, name: str) -> Thing:
        text = name.replace("\\", "/")
        thing = Thing(kind, text.lower())
        self.spelled.setdefault(thing, text)
        return thing

    def _use(self, used: Thing, user: Thing) -> None:
        if used != user:
            self.users.setdefault(used, {})[user] = None

    def _read(self, path: Path, source: str) -> None:
        name = path.name.lower()
        with path.open("rb") as file:
            head = file.read(4)
        if is_nres(head):
            archive = open_nres(path, source)
            if is_registry(archive):
                self._registry(archive)
            else:
                self._archive(archive, source)
        elif name == MISSION_FILE:
            self._mission(path, source)
        elif is_unit(head):
            unit, user = read_unit(read_file(path), source), self._take("unit", source)
            for row in range(len(unit)):
                self._use(self._take("object key", unit.key(row)), user)
        elif name.endswith(".wea"):
            user = self._list(bytes(read_file(path)), source)
            if name[:-4].endswith(("1", "2")):  # Land1.wea, Land2.wea
                level = source[: -len("1.wea")]
                self._use(user, self._take("level", level))
        elif name == "builddat.lst":
            user = self._take("BuildDat.lst", source)
            for paths in read_build_dat(bytes(read_file(path)), source)[0].categories.values():
                for unit_path in paths:
                    self._use(self._take("unit", unit_path), user)

    def _registry(self, archive: Archive) -> None:
        registry = read_registry(archive)
        for row, entry in enumerate(archive.entries):
            user = self._take("object key", entry.name)
            for member in registry.members(row):
                if member.is_parent:
                    self._use(self._take("object key", member.name), user)
                elif kind := {".msh": "model", ".wea": "material list"}.get(member.ending):
                    self._use(self._take(kind, str(member)), user)

    def _archive(self, archive: Archive, source: str) -> None:
        for entry in archive.entries:
            if entry.type_id == MATERIAL_TYPE:
                self._material(archive, entry)
            elif entry.type_id == _WEAR:
                self._list(bytes(entry.payload), f"{source}::{entry.name}")
            elif entry.name.lower().endswith(".msh"):
                model = self._take("model", f"{source}::{entry.name}")
                stem = entry.name.rpartition(".")[0]
                if archive.find(f"{stem}.wea") is not None:
                    self._use(self._take("material list", f"{source}::{stem}.wea"), model)

    def _material(self, archive: Archive, entry: Any) -> None:
        user = self._take("material", entry.name)
        try:
            phases = read_material(entry, archive.label).phases
        except ConversionError:
            return
        for raw in phases["texture"]:
            if texture := decode_text(raw.tobytes().partition(b"\0")[0]):
                self._use(self._take("texture", texture), user)

    def _list(self, data: bytes, name: str) -> Thing:
        user = self._take("material list", name)
        wear, _ = read_wear(data, name)
        for kind, names in (("material", wear.materials), ("lightmap", wear.lightmaps)):
            for each in filter(None, names):
                self._use(self._take(kind, each), user)
        return user

    def _mission(self, path: Path, source: str) -> None:
        mission, user = read_mission(read_file(path), source), self._take("mission", source)
        self._use(self._take("level", mission.map), user)
        for placed in mission.objects:
            kind = "unit" if placed.is_assembly else "object key"
            self._use(self._take(kind, placed.reference), user)


def _names(thing: Thing) -> Iterator[str]:
    """What a thing may be called."""
    last = thing.name.rpartition("::")[2]
    short = last.rpartition("/")[2]
    yield from (thing.name, last, short)
    if thing.kind not in ("texture", "lightmap", "material", "object key"):
        yield short.rpartition(".")[0]


def _files(root: Path) -> Iterator[Path]:
    """The files below a directory, sorted; links to directories are not followed."""
    for folder, _, names in walk_files(root):
        for name in names:
            path = folder / name
            if path.is_file() and os.access(path, os.R_OK):
                yield path


def describe_uses(name: str, game: Path) -> list[dict[str, Any]]:
    """Return everything of a name in a game, with all that uses it, directly or through others.

    Args:
        name: of a model, material, texture, object key, unit, material list or level.

    Returns:
        For each thing ``kind``, ``name`` and ``users``: rows of ``kind``, ``name``, ``depth``
        (1: uses the thing itself), ``through`` (the row that it uses, -1: the thing) and ``again``
        (its own users are listed further up); after what it uses.

    Raises:
        ConversionError: not a directory, or nothing in it has the name.
    """
    if not game.is_dir():
        raise ConversionError("is not a directory", file=str(game), hint="name the game's folder")
    uses = Uses(game)
    found = uses.find(name)
    if not found:
        raise ConversionError(
            "game has nothing of this name", file=str(game), value=name, hint="msh2gltf GAME --list shows names"
        )
    return [{"kind": thing.kind, "name": uses.spelled[thing], "users": _users(uses, thing)} for thing in found]


def _users(uses: Uses, thing: Thing) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    seen = {thing}
    waiting = [(user, 1, -1) for user in reversed(uses.users.get(thing, {}))]
    while waiting:
        user, depth, through = waiting.pop()
        at, again = len(rows), user in seen and user in uses.users
        rows.append({"kind": user.kind, "name": uses.spelled[user], "depth": depth, "through": through, "again": again})
        if user not in seen:
            seen.add(user)
            waiting += [(next_, depth + 1, at) for next_ in reversed(uses.users.get(user, {}))]
    return rows
