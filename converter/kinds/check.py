"""Check a file of any kind, for ``msh-inspect --check``. No printing.

A file is recognised by content; ``BuildDat.lst``, ``.wea`` and ``data.tma``, which have no mark of
their own, by name. What cannot be read is a finding like any other; nothing is raised but for
faults of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..checks import all_rules
from ..checks.areal_map import check_areal_map, check_areal_map_further, checked_areals
from ..checks.companions import check_controller, check_material, check_phase_textures, check_row_names, check_texm
from ..checks.model import check_model, check_model_further
from ..checks.model_tables import check_materials
from ..checks.nres import archive_mesh, archive_nested, check_container
from ..checks.recover import checked_model
from ..checks.terrain import check_terrain, check_terrain_further, checked_terrain
from ..checks.terrain_faces import level_material, level_wear, level_wear_parallel
from ..errors import ConversionError, printable
from ..files import UNREADABLE, read_file
from ..findings import Finding, Mode, more, without_errors
from ..formats.areal_map import read_areal_map
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_TYPE, read_controller
from ..formats.kinds import MISSION_FILE, Kind, entry_kind, file_kind, is_rsli
from ..formats.material import LIGHTMAPS, MATERIAL_TYPE, MATERIALS, TEXTURES, read_material
from ..formats.model import read_model
from ..formats.model_parts import (
    FOOTING_ENDING,
    NODE_PROPERTIES_ENDING,
    POINTS_TYPE,
    misplaced,
    other_count,
    read_footing,
    read_node_properties,
    read_points,
)
from ..formats.names import fold_upper
from ..formats.nres import Archive, Entry, is_nres, read_nres, trailing_bytes
from ..formats.objects import UNIT_ENDING, is_registry, is_unit
from ..formats.rsli import check_rsli, read_rsli
from ..formats.terrain import read_build_dat, read_terrain
from ..formats.texture import TEXM_MAGIC, read_texm
from ..formats.wear import read_wear
from ..scene.dialect import decide
from .appearance import Libraries, facts_of_model
from .open_files import wear_of, wears_of_level
from .registry import Game, game_of

T = TypeVar("T")
_MESH, _WEAR, _TEXM = (int.from_bytes(code, "little") for code in (b"MESH", b"WEAR", b"Texm"))


@dataclass(frozen=True)
class Checked:
    """What was found about one file, or about one entry of it.

    Attributes:
        file: as the user or the walk calls it.
        index: the entry's directory index.
        findings: one per code and table, the first place with the number of all.
    """

    file: str
    entry: str | None
    index: int | None
    kind: str
    findings: list[Finding]

    @property
    def id(self) -> str:
        """``path::entry``, or the path alone."""
        return self.file if self.entry is None else f"{self.file}::{printable(self.entry)}"


@dataclass(frozen=True)
class _Place:
    """A file, or the entry ``index`` of it; ``data``: its bytes, ``archive``: the file's container,
    ``folders``: where the game's libraries are looked for."""

    data: memoryview | bytes
    label: str
    path: Path
    folders: tuple[str, ...] = ()
    archive: Archive | None = None
    index: int | None = None

    @property
    def file(self) -> Archive:
        """The file's container."""
        return self.archive or read_nres(self.data, self.label)

    @property
    def own(self) -> Archive:
        """The container of the file or entry itself."""
        return self.file if self.index is None else read_nres(self.data, self.label)

    @property
    def entry(self) -> Entry:
        """The entry."""
        assert self.index is not None
        return self.file.entries[self.index]

    def checked(self, kind: Kind) -> Checked:
        """Return everything that is found about it."""
        name = None if self.index is None else self.entry.name
        trailing = self.archive is not None and self.index is None and self.archive.trailing
        first = [trailing_bytes(self.file)] if trailing else []
        found = _collected(lambda: chain(first, _CHECKS[kind](self)))
        return Checked(self.label, name, self.index, kind.file_format, found)


def check_file(path: Path, source: str, folders: Sequence[Path] = (), *, known: bool = False) -> list[Checked]:
    """Everything about a file and its entries; empty where it is no file of a kind known here.

    Args:
        folders: where the game's libraries are looked for, before the file's own folder.
        known: the user says that it is such a file: an unknown one is a finding.
    """
    with np.errstate(all="ignore"):  # hostile numbers are findings, not messages of NumPy
        try:
            data = read_file(path)
        except ConversionError as error:
            return [Checked(source, None, None, Kind.UNKNOWN.file_format, [finding_of(error)])]
        places = tuple(dict.fromkeys([*map(str, folders), str(path.parent)]))
        return list(_check(_Place(data, source, path, places), known))


def finding_of(error: ConversionError) -> Finding:
    """What a reader refused, as a finding."""
    return Finding(
        UNREADABLE if error.code is None else all_rules()[error.code],
        error.problem,
        table=error.table,
        row=error.row,
        offset=error.offset,
        value=error.value,
        expected=error.expected,
    )


def _check(at: _Place, known: bool) -> Iterator[Checked]:
    name, magic = at.path.name.lower(), bytes(at.data[:4])
    if is_nres(at.data):
        yield from _check_nres(at)
    elif name == "builddat.lst":
        yield at.checked(Kind.BUILD_DAT)
    elif name.endswith(".wea"):
        yield at.checked(Kind.WEAR)
    elif name.endswith(CONTROLLER_ENDING):
        yield at.checked(Kind.CONTROLLER)
    elif name == MISSION_FILE or (known and name.endswith(".tma")):
        yield at.checked(Kind.MISSION)
    elif is_unit(at.data) or (known and name.endswith(UNIT_ENDING)):
        yield at.checked(Kind.UNIT)
    elif magic == TEXM_MAGIC:
        yield at.checked(Kind.TEXTURE)
    elif known and is_rsli(at.data):
        yield at.checked(Kind.RSLI)
    elif known:
        yield from _check_nres(at)  # says what is wrong


def _check_nres(at: _Place) -> Iterator[Checked]:
    try:
        archive = read_nres(at.data, at.label, longer=True)
    except ConversionError as error:
        kind = Kind.ARCHIVE if is_nres(at.data) else Kind.UNKNOWN
        yield Checked(at.label, None, None, kind.file_format, [finding_of(error)])
        return
    at = replace(at, archive=archive)
    kind = file_kind(archive)
    yield at.checked(Kind.REGISTRY if kind is Kind.ARCHIVE and is_registry(archive) else kind)
    if kind is Kind.ARCHIVE:
        for index, entry in enumerate(archive.entries):
            if (inner := _inner_kind(entry)) is not None:
                yield replace(at, data=entry.payload, index=index).checked(inner)


def _inner_kind(entry: Entry) -> Kind | None:
    """What is checked of an entry of an archive."""
    kind = _OF_TYPE.get(entry.type_id, _OF_ENDING.get(entry.name[-4:].lower()))
    if is_nres(entry.start(4)):
        kind = _entry_kind(entry) or Kind.MODEL
    return None if kind is Kind.ARCHIVE else kind


def errors_of_entries(archive: Archive, path: Path, names: Container[str]) -> Iterator[str]:
    """Yield the first error of each entry of some names: what the game, or a conversion, stops at."""
    for index, entry in enumerate(archive.entries):
        kind = _inner_kind(entry) or (Kind.MODEL if entry.type_id == _MESH else None)
        if entry.name in names and kind is not None:
            with np.errstate(all="ignore"):
                found = _Place(entry.payload, archive.label, path, (), archive, index).checked(kind).findings
            if (error := next((one for one in found if one.severity == "error"), None)) is not None:
                yield f"{printable(entry.name)}: the game cannot read it: {error}"


def _archive(at: _Place) -> Iterator[Finding]:
    archive = at.file
    yield from check_container(archive, by_name=True)
    meshes = [(row, entry) for row, entry in enumerate(archive.entries) if entry.type_id == _MESH]
    yield from archive_mesh(archive, [row for row, entry in meshes if not is_nres(entry.start(4))])
    nested = [row for row, entry in enumerate(archive.entries) if _entry_kind(entry) is Kind.ARCHIVE]
    yield from archive_nested(archive, nested)


def _registry(at: _Place) -> Iterator[Finding]:
    from .missions import check_registry_file  # other archives do without

    yield from _archive(at)
    yield from check_registry_file(at.file, _game(at))


def check_assembly(kind: Kind, data: memoryview | bytes, label: str, game: Game | None) -> Iterator[Finding]:
    """Yield findings about a unit or a mission; ``game``: where it is resolved; ``None``: files are not looked for.

    Raises ConversionError: it cannot be read, or the registry cannot.
    """
    from .missions import check_mission_file, check_unit_file  # other files do without

    return (check_unit_file if kind is Kind.UNIT else check_mission_file)(data, label, game)


def _game(at: _Place) -> Game | None:
    return game_of(at.path, [Path(folder) for folder in at.folders])


def _entry_kind(entry: Entry) -> Kind | None:
    """What an entry with a container in it is; ``None``: a broken one."""
    with suppress(ConversionError):
        return entry_kind(entry, "")
    return None


def findings_in(archive: Archive, path: Path, index: int | None, kind: Kind) -> list[Finding]:
    """Every finding about one of ``SCENE_KINDS``. ``index``: its entry in the archive; ``None``: it is the archive."""
    data = b"" if index is None else archive.entries[index].payload
    with np.errstate(all="ignore"):
        return _Place(data, archive.label, path, (), archive, index).checked(kind).findings


def require_strict(archive: Archive, path: Path, index: int | None, kind: Kind) -> None:
    """Stop where ``msh-inspect --check --strict`` finds something (docs/checks.md); arguments as of
    :func:`findings_in`. Raises ConversionError: the first error or warning, with its code.
    """
    entry = None if index is None else printable(archive.entries[index].name)
    without_errors(findings_in(archive, path, index, kind), archive.label, entry, "strict")


def _broken(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def _whole(
    at: _Place,
    read: Callable[[Archive], T],
    check: Callable[[T], list[Finding]],
    leave_out: Callable[[T, Mode], tuple[T, list[Finding]]],
) -> Generator[Finding, None, T | None]:
    """Yield what is wrong with a container and what it holds; return that, unless it has errors.

    Of one that has, also the errors that show only where a tolerant reader leaves out what the others concern.
    """
    own = at.own
    yield from check_container(own, by_name=False)
    held = read(own)
    findings = check(held)
    yield from findings
    if not _broken(findings):
        return held
    codes = {finding.code for finding in findings}
    try:
        reported = leave_out(held, "tolerant")[1]
    except ConversionError as error:
        reported = [finding_of(error)]
    yield from (f for f in reported if f.severity == "error" and f.code not in codes)
    return None


def _model(at: _Place) -> Iterator[Finding]:
    name = at.path.name if at.index is None else at.entry.name
    model = yield from _whole(at, lambda own: read_model(own, name, cut=True), check_model, checked_model)
    if model is None:
        return
    decision = decide(model)
    yield from check_model_further(model, decision)
    wear, broken = read_wear(wear_of(at.file, at.path, at.index), "")
    names = ([], []) if _broken(broken) else (wear.materials, wear.lightmaps)
    yield from check_materials(model, *names, None if decision.step == "d" else decision.dialect)


def _areal_map(at: _Place) -> Iterator[Finding]:
    areals = yield from _whole(at, read_areal_map, check_areal_map, checked_areals)
    if areals is not None:
        yield from check_areal_map_further(areals)


def _terrain(at: _Place) -> Iterator[Finding]:
    name = at.path.name
    terrain = yield from _whole(at, lambda own: read_terrain(own, name, cut=True), check_terrain, checked_terrain)
    if terrain is None:
        return
    yield from check_terrain_further(terrain)
    texts = wears_of_level(at.file, at.path, at.index)
    if not all(texts):
        return  # a loose terrain: nothing says what its rows are called
    lists = []
    for number, text in zip("12", texts, strict=True):
        wear, broken = read_wear(text, "")
        if _broken(broken) or not wear.materials:
            yield from level_wear(f"{number}.wea is not a list of materials", "WEAR")
            return
        lists.append(wear.materials)
    yield from level_wear_parallel(lists[0], lists[1], "1.wea")
    yield from level_material(terrain, len(lists[0]), "1.wea")


def _wear(at: _Place) -> Iterator[Finding]:
    wear, findings = read_wear(at.data, at.label)
    yield from findings
    materials, _, lightmaps = _names_in(at.folders)
    for title, names, known in (("material", wear.materials, materials), ("lightmap", wear.lightmaps, lightmaps)):
        if known is not None:
            yield from check_row_names(title, names, known)


def _material(at: _Place) -> Iterator[Finding]:
    material = read_material(at.entry, at.label)
    yield from check_material(material)
    _, textures, _ = _names_in(at.folders)
    if textures is not None:
        yield from check_phase_textures(material, textures)


def _points(at: _Place) -> Iterator[Finding]:
    points = read_points(at.data, at.label)
    yield from misplaced(points, _nodes_of_its_model(at)).values()


def _controller(at: _Place) -> Iterator[Finding]:
    controller = read_controller(at.data, at.label)
    yield from check_controller(controller, facts_of_model(at.archive, at.path, at.index, _game(at)))


def _footing(at: _Place) -> Iterator[Finding]:
    read_footing(at.data, at.label)
    yield from ()


def _node_properties(at: _Place) -> Iterator[Finding]:
    records, nodes = read_node_properties(at.data, at.label), _nodes_of_its_model(at)
    if nodes is not None and nodes != len(records):
        yield other_count(records, nodes)


def _nodes_of_its_model(at: _Place) -> int | None:
    """How many nodes the model of an entry's name has; ``None``: its archive has none."""
    archive, name = at.file, at.entry.name
    model = archive.find(f"{name.rpartition('.')[0] or name}.msh")
    if model is None or _entry_kind(archive.entries[model]) is not Kind.MODEL:
        return None
    inner = read_nres(archive.entries[model].payload, archive.label)
    return len(read_model(inner, name).nodes)


@lru_cache(maxsize=8)
def _names_in(folders: tuple[str, ...]) -> tuple[frozenset[bytes] | None, ...]:
    """Names in ``Material.lib``, ``Textures.lib``, ``lightmap.lib``; ``None``: no such library."""
    libraries = Libraries([Path(folder) for folder in folders])

    def names(of: str) -> frozenset[bytes] | None:
        library = libraries.library(of)  # its own findings say what is wrong with it
        if library is None:
            return None
        return frozenset(fold_upper(entry.name_bytes) for entry in library.entries)

    return tuple(names(name) for name in (MATERIALS, TEXTURES, LIGHTMAPS))


def _collected(work: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Findings of some work, one per code and table; what cannot be read is the last one."""
    firsts: dict[tuple[str, str | None], Finding] = {}
    counts: Counter[tuple[str, str | None]] = Counter()

    def take(finding: Finding) -> None:
        key = finding.code, finding.table
        firsts.setdefault(key, finding)
        counts[key] += finding.count

    try:
        for finding in work():
            take(finding)
    except ConversionError as error:
        take(finding_of(error))
    return [_with_count(first, counts[key]) for key, first in firsts.items()]


def _with_count(first: Finding, count: int) -> Finding:
    """The first of several findings, with the number of all places."""
    if first.count == count:
        return first
    problem = more(first.problem, count, "places") if first.count == 1 else first.problem
    return replace(first, problem=problem, rows=None, count=count)


#: What finds everything about a file or entry, by its kind.
_CHECKS: dict[Kind, Callable[[_Place], Iterable[Finding]]] = {
    Kind.ARCHIVE: _archive,
    Kind.MODEL: _model,
    Kind.TERRAIN: _terrain,
    Kind.AREAL_MAP: _areal_map,
    Kind.TEXTURE: lambda at: check_texm(read_texm(at.data, at.label)),
    Kind.WEAR: _wear,
    Kind.MATERIAL: _material,
    Kind.CONTROL_POINTS: _points,
    Kind.CONTROLLER: _controller,
    Kind.FOOTING: _footing,
    Kind.NODE_PROPERTIES: _node_properties,
    Kind.REGISTRY: _registry,
    Kind.RSLI: lambda at: check_rsli(read_rsli(at.data, at.label)),
    Kind.UNIT: lambda at: check_assembly(Kind.UNIT, at.data, at.label, _game(at)),
    Kind.MISSION: lambda at: check_assembly(Kind.MISSION, at.data, at.label, _game(at)),
    Kind.BUILD_DAT: lambda at: read_build_dat(bytes(at.data), at.label)[1],
}
#: Kinds of the entries that are no containers.
_OF_TYPE = {
    _WEAR: Kind.WEAR,
    MATERIAL_TYPE: Kind.MATERIAL,
    POINTS_TYPE: Kind.CONTROL_POINTS,
    CONTROLLER_TYPE: Kind.CONTROLLER,
    _TEXM: Kind.TEXTURE,
}
#: The same by ending, where the type is not known.
_OF_ENDING = {
    CONTROLLER_ENDING: Kind.CONTROLLER,
    FOOTING_ENDING: Kind.FOOTING,
    NODE_PROPERTIES_ENDING: Kind.NODE_PROPERTIES,
}
