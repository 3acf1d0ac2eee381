"""Check a file of any kind, for ``msh-inspect --check``. No printing.

A file is recognised by content (``BuildDat.lst`` and ``.wea``, which are plain text, by name). What
cannot be read is a finding like any other; nothing is raised but for faults of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...importers.areal_map import read_areal_map
from ...importers.build_dat import read_build_dat
from ...importers.control_points import read_points
from ...importers.material import read_material
from ...importers.msh import read_model
from ...importers.nres import is_nres, read_file, read_nres
from ...importers.terrain import read_terrain
from ...importers.texm import read_texm
from ...importers.wear import read_wear, wear_of, wears_of_level
from ..checks import all_rules
from ..checks.appearance import check_phase_textures, check_row_names
from ..checks.areal_map import check_areal_map, check_areal_map_further
from ..checks.batches import check_materials
from ..checks.container import check_container, check_members
from ..checks.level import check_level_lists, not_a_list
from ..checks.materials import check_material
from ..checks.model import check_model, check_model_further
from ..checks.terrain import check_terrain, check_terrain_further
from ..checks.textures import check_texm
from ..errors import ConversionError, printable
from ..findings import Finding, more, without_errors
from ..formats.archive import UNREADABLE, Archive, Entry, fold_upper
from ..formats.control_points import POINTS_TYPE, misplaced
from ..formats.kinds import Kind, archive_kind
from ..formats.material import MATERIAL_TYPE, Material
from ..formats.texture import TEXM_MAGIC
from ..scene.appearance import LIGHTMAPS, MATERIALS, TEXTURES
from ..scene.dialect import decide
from .texture_lookup import Libraries

_MESH, _WEAR, _TEXM = (int.from_bytes(code, "little") for code in (b"MESH", b"WEAR", b"Texm"))
#: The game's other container, which is nobody's fault.
_RSLI_MAGIC = b"NL\0"
#: Tables that only a terrain has.
_TERRAIN_ONLY = {11, 21}


@dataclass(frozen=True)
class Checked:
    """What was found about one file, or about one entry of it.

    Attributes:
        file: as the user or the walk calls it.
        entry: the entry's name, ``None`` for the file.
        index: the entry's directory index.
        kind: the name of its file format: ``core model``, ``terrain``, ``WEAR`` and so on.
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


def check_file(
    path: Path, source: str, folders: Sequence[Path] = (), *, known: bool = False
) -> list[Checked]:
    """Everything about a file and its entries; empty where it is no file of a kind known here.

    Args:
        path: the file.
        source: what findings call it.
        folders: where the game's libraries are looked for, before the file's own folder.
        known: the user says that it is such a file: an unknown one is a finding.
    """
    with np.errstate(all="ignore"):  # hostile numbers are findings, not messages of NumPy
        try:
            data = read_file(path)
        except ConversionError as error:
            return [Checked(source, None, None, Kind.UNKNOWN.file_format, [finding_of(error)])]
        places = tuple(dict.fromkeys([*map(str, folders), str(path.parent)]))
        return list(_check(data, path, source, places, known))


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


def _check(
    data: memoryview, path: Path, source: str, folders: tuple[str, ...], known: bool
) -> Iterator[Checked]:
    name = path.name.lower()

    def about(kind: Kind, work: Callable[[], Iterable[Finding]]) -> Checked:
        return Checked(source, None, None, kind.file_format, _collected(work))

    if is_nres(data):
        yield from _check_nres(data, path, source, folders)
    elif name == "builddat.lst":
        yield about(Kind.BUILD_DAT, lambda: read_build_dat(bytes(data), source)[1])
    elif name.endswith(".wea"):
        yield about(Kind.WEAR, lambda: _wear(data, source, folders))
    elif bytes(data[:4]) == TEXM_MAGIC:
        yield about(Kind.TEXTURE, lambda: check_texm(read_texm(data, source)))
    elif known and bytes(data[:3]) != _RSLI_MAGIC:
        yield from _check_nres(data, path, source, folders)  # says what is wrong


def _check_nres(
    data: memoryview, path: Path, source: str, folders: tuple[str, ...]
) -> Iterator[Checked]:
    try:
        archive = read_nres(data, source)
    except ConversionError as error:
        kind = Kind.ARCHIVE if is_nres(data) else Kind.UNKNOWN
        yield Checked(source, None, None, kind.file_format, [finding_of(error)])
        return
    kind = _kind(archive, path.name)
    if kind is not Kind.ARCHIVE:
        work = _of_container(archive, archive, path, None, kind)
        yield Checked(source, None, None, kind.file_format, _collected(work))
        return
    yield Checked(source, None, None, kind.file_format, _collected(lambda: _archive(archive)))
    for index, entry in enumerate(archive.entries):
        if (found := _entry(archive, path, index, entry, folders)) is not None:
            kind, work = found
            yield Checked(source, entry.name, index, kind.file_format, _collected(work))


def _kind(archive: Archive, name: str) -> Kind:
    """What a container is by content; by name where a table is missing."""
    kind = archive_kind(archive)
    types = archive.type_ids
    if kind is Kind.ARCHIVE and types and max(types) <= 0xFF:
        suffix = name.lower().rpartition(".")[2]
        if suffix == "map":
            return Kind.AREAL_MAP
        if suffix == "msh":
            return Kind.TERRAIN if types & _TERRAIN_ONLY else Kind.MODEL
    return kind


def _archive(archive: Archive) -> Iterator[Finding]:
    yield from check_container(archive, by_name=True)
    rows = range(len(archive.entries))
    entries = archive.entries
    yield from check_members(
        archive,
        [row for row in rows if entries[row].type_id == _MESH and not _nres(entries[row])],
        [row for row in rows if _entry_kind(entries[row]) is Kind.ARCHIVE],
    )


def _nres(entry: Entry) -> bool:
    return is_nres(entry.payload)


def _entry_kind(entry: Entry) -> Kind | None:
    """What an entry with a container in it is; ``None``: it has none, or a broken one."""
    if not _nres(entry):
        return None
    try:
        inner = read_nres(entry.payload, "")
    except ConversionError:
        return None
    kind = _kind(inner, entry.name)
    return Kind.MODEL if kind is Kind.ARCHIVE and entry.type_id == _MESH else kind


def _entry(
    archive: Archive, path: Path, index: int, entry: Entry, folders: tuple[str, ...]
) -> tuple[Kind, Callable[[], Iterable[Finding]]] | None:
    """What kind an entry is, and what finds everything about it."""
    label = archive.label
    if _nres(entry):
        kind = _entry_kind(entry) or Kind.MODEL
        if kind is Kind.ARCHIVE:
            return None

        def inner() -> Iterable[Finding]:
            return _of_container(read_nres(entry.payload, label), archive, path, index, kind)()

        return kind, inner
    if entry.type_id == _WEAR:
        return Kind.WEAR, lambda: _wear(entry.payload, label, folders)
    if entry.type_id == MATERIAL_TYPE:
        return Kind.MATERIAL, lambda: _material(read_material(entry, label), folders)
    if entry.type_id == POINTS_TYPE:
        return Kind.CONTROL_POINTS, lambda: _points(archive, index, entry)
    if entry.type_id == _TEXM:
        return Kind.TEXTURE, lambda: check_texm(read_texm(entry.payload, label))
    return None


def _of_container(
    own: Archive, archive: Archive, path: Path, index: int | None, kind: Kind
) -> Callable[[], Iterable[Finding]]:
    """What finds everything about a model, a terrain or an areal map.

    Args:
        own: its own container.
        archive: the file, which is ``own`` where ``index`` is ``None``.
    """

    def work() -> Iterator[Finding]:
        yield from check_container(own, by_name=False)
        if kind is Kind.TERRAIN:
            yield from _terrain(own, archive, path, index)
        elif kind is Kind.AREAL_MAP:
            areals = read_areal_map(own)
            findings = check_areal_map(areals)
            yield from findings
            if not _broken(findings):
                yield from check_areal_map_further(areals)
        else:
            yield from _model(own, archive, path, index)

    return work


def findings_in(archive: Archive, path: Path, index: int | None, kind: Kind) -> list[Finding]:
    """Every finding about a model, a terrain or an areal map.

    Args:
        archive: the file that it is, or is in.
        path: that file's path.
        index: directory index of its entry; ``None``: the file itself.
        kind: one of ``SCENE_KINDS``.
    """

    def work() -> Iterable[Finding]:
        own = archive
        if index is not None:
            own = read_nres(archive.entries[index].payload, archive.label)
        return _of_container(own, archive, path, index, kind)()

    with np.errstate(all="ignore"):
        return _collected(work)


def require_strict(archive: Archive, path: Path, index: int | None, kind: Kind) -> None:
    """Stop where ``msh-inspect --check --strict`` finds something (core page, 7.3).

    Args:
        archive, path, index: as of :func:`findings_in`.
        kind: one of ``SCENE_KINDS``.

    Raises:
        ConversionError: the first error or warning, with its code.
    """
    entry = None if index is None else printable(archive.entries[index].name)
    without_errors(findings_in(archive, path, index, kind), archive.label, entry, "strict")


def _broken(findings: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def _model(own: Archive, archive: Archive, path: Path, index: int | None) -> Iterator[Finding]:
    model = read_model(own, path.name if index is None else archive.entries[index].name)
    findings = check_model(model)
    yield from findings
    if _broken(findings):
        return
    decision = decide(model)
    yield from check_model_further(model, decision)
    wear, broken = read_wear(wear_of(archive, path, index), "")
    names = ([], []) if _broken(broken) else (wear.materials, wear.lightmaps)
    yield from check_materials(model, *names, None if decision.step == "d" else decision.dialect)


def _terrain(own: Archive, archive: Archive, path: Path, index: int | None) -> Iterator[Finding]:
    terrain = read_terrain(own, path.name)
    findings = check_terrain(terrain)
    yield from findings
    if _broken(findings):
        return
    yield from check_terrain_further(terrain)
    texts = wears_of_level(archive, path, index)
    if not all(texts):
        return  # a loose terrain: nothing says what its rows are called
    lists = []
    for number, text in zip("12", texts, strict=True):
        wear, broken = read_wear(text, "")
        if _broken(broken) or not wear.materials:
            yield not_a_list(f"{number}.wea is not a list of materials", "WEAR")
            return
        lists.append(wear.materials)
    for _, finding in check_level_lists(terrain, lists[0], lists[1], ("1.wea", "2.wea")):
        yield finding


def _wear(data: memoryview | bytes, label: str, folders: tuple[str, ...]) -> Iterator[Finding]:
    wear, findings = read_wear(data, label)
    yield from findings
    materials, _, lightmaps = _names_in(folders)
    for title, names, known in (
        ("material", wear.materials, materials),
        ("lightmap", wear.lightmaps, lightmaps),
    ):
        if known is not None:
            yield from check_row_names(title, names, known)


def _material(material: Material, folders: tuple[str, ...]) -> Iterator[Finding]:
    yield from check_material(material)
    _, textures, _ = _names_in(folders)
    if textures is not None:
        yield from check_phase_textures(material, textures)


def _points(archive: Archive, index: int, entry: Entry) -> Iterator[Finding]:
    points = read_points(entry.payload, archive.label)
    name, nodes = archive.entries[index].name, None
    model = archive.find(f"{name.rpartition('.')[0] or name}.msh")
    if model is not None and _entry_kind(archive.entries[model]) is Kind.MODEL:
        inner = read_nres(archive.entries[model].payload, archive.label)
        nodes = len(read_model(inner, name).nodes)
    yield from misplaced(points, nodes).values()


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
