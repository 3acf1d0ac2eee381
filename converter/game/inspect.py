"""What ``msh-inspect`` finds out about whole games: ``--check``, ``--roundtrip``, and what uses what (``--uses``).

A texture is used by materials, a material by material lists, a list and a model by object keys, a
key by other keys, units and missions, a unit by missions and ``BuildDat.lst``. Files that cannot be
read are left out there: ``--check`` says what is wrong with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConversionError, plural
from ..files import UNREADABLE, in_any_case, read_file, stamp
from ..findings import Finding, Mode
from ..formats.kinds import MISSION_FILE, Kind
from ..formats.material import MATERIAL_TYPE, read_material
from ..formats.mission import read_mission
from ..formats.names import decode_text, readable
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.objects import is_registry, is_unit, read_registry, read_unit
from ..formats.terrain import read_build_dat
from ..formats.wear import WEAR_TYPE, read_wear
from ..kinds.check import Checked, check_file
from ..kinds.dispatch import import_gltf, load
from ..kinds.open_files import open_nres
from ..options import ExportOptions
from ..storage import absolute, walk_files, write_outputs
from .manifest import FAILED, Outcome, Progress, guarded
from .sources import archive_of, payload_of, source_of
from .walk import Item, Skipped, files_below, foreign
from .workers import Engine


@dataclass(frozen=True)
class CheckTask:
    """One file. ``folders``: where the game's libraries are looked for. ``known``: the user named it."""

    path: str
    source: str
    folders: tuple[str, ...]
    known: bool


@dataclass
class CheckRun:
    """What became of a check.

    Attributes:
        checked: files and their entries, in the order of sorted paths and directories.
        skipped: files of other kinds, and those that are not opened.
        failures: ``(file, error)`` of faults of the machine or of this program.
    """

    checked: list[Checked] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    interrupted: bool = False


def check_item(task: CheckTask) -> Outcome:
    """Check one file; never raises. ``result`` is what was found."""
    return guarded(task.source, partial(_check, task))


def _check(task: CheckTask) -> Outcome:
    folders = [Path(folder) for folder in task.folders]
    found = check_file(Path(task.path), task.source, folders, known=task.known)
    # which rows they are is for programs in this process, and may be much
    small = [replace(one, findings=[replace(finding, rows=None) for finding in one.findings]) for one in found]
    return Outcome(task.source, "checked", result=small)


def check_tasks(inputs: Sequence[Path]) -> tuple[list[CheckTask], CheckRun]:
    """What there is to check, and a run that knows what there is not; ``inputs``: directories, archives, other files.

    Raises:
        ConversionError: an input is not there.
    """
    opened, found = files_below(inputs)
    named = {str(absolute(path)) for path in inputs}
    folders = tuple(str(absolute(path)) for path in inputs if path.is_dir())
    tasks = []
    run = CheckRun(skipped=found.skipped)
    for broken in found.unreadable:
        finding = Finding(UNREADABLE, broken.reason)
        run.checked.append(Checked(broken.id, None, None, Kind.UNKNOWN.file_format, [finding]))
    for source, path, reason in opened:
        if reason is not None:
            run.skipped.append(Skipped(source, reason))
        else:
            tasks.append(CheckTask(str(path), source, folders, str(path) in named))
    return tasks, run


def check_run(tasks: Sequence[CheckTask], run: CheckRun, engine: Engine, progress: Progress) -> CheckRun:
    """Check files; the run is filled in and returned. ``tasks``, ``run``: from :func:`check_tasks`."""
    here = Engine(0) if len(tasks) == 1 else engine
    ids, sizes = [task.source for task in tasks], [_size(task.path) for task in tasks]
    outcomes, run.interrupted = here.gather(check_item, tasks, progress, ids=ids, sizes=sizes)
    for at, outcome in outcomes.items():
        if outcome.status == FAILED:
            run.failures.append((outcome.id, outcome.detail))
        elif outcome.result:
            run.checked += outcome.result
        else:
            reason = foreign(Path(tasks[at].path)) or "of no kind known here"
            run.skipped.append(Skipped(outcome.id, reason))
    return run


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


#: What became of a model: the same bytes, or others.
IDENTICAL, DIFFERENT = "identical", "different"


@dataclass(frozen=True)
class RoundTripTask:
    """One item to export and import again.

    ``dialect``, ``mode``: how to read it; as of :class:`~converter.options.ExportOptions`. ``folder``: a directory
    for temporary files. It is the caller's, who removes it whatever becomes of the process that works in it.
    """

    item: Item
    folder: str
    dialect: str = "auto"
    mode: Mode = "default"


def roundtrip_item(task: RoundTripTask) -> Outcome:
    """Convert one model to glTF and back, in a temporary directory; never raises.

    The status is ``IDENTICAL``, ``DIFFERENT`` (``detail`` says where first) or ``failed``.
    """
    return guarded(task.item.id, partial(_round_trip, task))


def _round_trip(task: RoundTripTask) -> Outcome:
    item, path = task.item, Path(task.item.path)
    started = perf_counter()
    now = stamp(path)
    archive = archive_of(item, now)
    options = ExportOptions(task.dialect, find_textures=False, mode=task.mode)
    with TemporaryDirectory(dir=task.folder) as folder:
        target = Path(folder, "model.glb")
        write_outputs(load(item.kind, source_of(archive, item, now), options).files(target, options), force=False)
        exported = perf_counter()
        result = import_gltf(target)
    source = payload_of(archive, item)
    status, detail = IDENTICAL, ""
    if source != result.data:
        status, detail = DIFFERENT, _difference(bytes(source), result.data, item.kind)
    elif result.not_applied:
        status, detail = DIFFERENT, result.not_applied[0].line
    return Outcome(
        item.id,
        status,
        detail,
        result.warnings,
        {"kind": item.kind, "bytes": item.size, "changes": [str(c) for c in result.changes]},
        {"out": exported - started, "back": perf_counter() - exported},
    )


def _difference(before: bytes, after: bytes, kind: Kind) -> str:
    """Where two files differ first, by table where they are models."""
    if kind is Kind.MODEL:
        from ..formats.model import read_model
        from ..kinds.differences import diff_models, lines

        differences = lines(diff_models(*(read_model(read_nres(b, kind), kind) for b in (before, after))))
        if differences:
            return str(differences[0])
    if len(before) != len(after):
        return f"{plural(len(after), 'byte')} instead of {len(before)}"
    at = int((np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)).argmax())
    return f"byte {at}: {after[at]:#04x} instead of {before[at]:#04x}"


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
        for path in (folder / name for folder, _, names in walk_files(root) for name in names):
            if path.is_file() and os.access(path, os.R_OK):
                with suppress(ConversionError):
                    self._read(path, readable(path.relative_to(root).as_posix()))

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
            level, number = path.stem[:-1], path.stem[-1:]
            if number in ("1", "2") and in_any_case(path.parent, [f"{level}.msh"]).exists():  # Land1.wea, Land2.wea
                self._use(user, self._take("level", source[: -len("1.wea")]))
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
            elif entry.type_id == WEAR_TYPE:
                self._list(bytes(entry.payload), f"{source}::{entry.name}")
            elif entry.name.lower().endswith(".msh"):
                model = self._take("model", f"{source}::{entry.name}")
                stem = entry.name.rpartition(".")[0]
                if archive.find(f"{stem}.wea") is not None:
                    self._use(self._take("material list", f"{source}::{stem}.wea"), model)

    def _material(self, archive: Archive, entry: Any) -> None:
        user = self._take("material", entry.name)
        with suppress(ConversionError):
            for raw in read_material(entry, archive.label).phases["texture"]:
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
