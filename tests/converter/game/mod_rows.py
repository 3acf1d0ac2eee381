"""What two versions of a game's entries have in common, row by row, without the differences' own split.

A second implementation: it reads by the formats' readers, and zeroes what follows from other tables.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import ArealMap, read_areal_map
from msh_gltf.converter.formats.kinds import Kind, archive_kind, content_kind
from msh_gltf.converter.formats.mission import Mission, read_mission, write_mission
from msh_gltf.converter.formats.model import TABLES, TRIANGLE_DTYPE
from msh_gltf.converter.formats.names import escape
from msh_gltf.converter.formats.nres import is_nres, read_nres
from msh_gltf.converter.formats.objects import is_unit
from msh_gltf.converter.formats.tables import SLOT_DTYPE
from msh_gltf.converter.formats.terrain import FACE_DTYPE, TERRAIN_TABLES
from msh_gltf.converter.game.changes import unpack_changes
from msh_gltf.converter.game.differences import make_exactly
from msh_gltf.converter.game.packing import decode_delta, unpack
from msh_gltf.converter.game.split import Table, split

#: Table and row -> its bytes.
Parts = dict[tuple[str, int], bytes | None]
_BOX = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")
#: What follows from other tables: record, and its fields.
_DERIVED = {
    (Kind.MODEL, 2): (SLOT_DTYPE, (*_BOX, "area", "volume")),
    (Kind.MODEL, 7): (TRIANGLE_DTYPE, ("normal",)),
    (Kind.TERRAIN, 2): (SLOT_DTYPE, _BOX),
    (Kind.TERRAIN, 21): (FACE_DTYPE, ("normal",)),
}
WINDOW, FEW = 64, 8


def game_parts(files: dict[str, bytes], *, whole: bool = False) -> dict[str, Parts]:
    """The rows of every entry of a game; ``whole``: all of an entry is one row."""
    found: dict[str, Parts] = {}
    for file, data in files.items():
        archive = _archive(data)
        if archive is None:
            found[file] = {("whole", 0): data} if whole else parts(file, data)
            continue
        counts: dict[str, int] = {}
        for entry in archive.entries:
            name = entry.name_bytes.hex()
            counts[name] = counts.get(name, -1) + 1
            text = bytes.fromhex(name).decode("cp1251", "replace")
            payload = bytes(entry.payload)
            own = {("whole", 0): payload} if whole else parts(text, payload)
            attributes = f"{entry.type_id} {entry.attr1} {entry.attr2} {entry.attr3}".encode()
            found[f"{file}::{escape(text)}#{counts[name]}"] = own | {("attributes", 0): attributes}
    return found


def _archive(data: bytes):  # type: ignore[no-untyped-def]
    try:
        if is_nres(data) and content_kind(data) is Kind.ARCHIVE:
            return read_nres(data, "")
    except ConversionError:
        pass
    return None


def parts(name: str, data: bytes) -> Parts:
    """The rows of one entry; all of it is one where its format is not known."""
    try:
        if is_nres(data):
            return dict(_container(data))
        if is_unit(data):
            return _rows("header", data[:8], 8) | _rows("components", data[8:], 112)
        if name.lower().endswith(".tma"):
            return dict(_mission(read_mission(data, name)))
    except ConversionError:
        pass
    if name.lower().endswith(".wea"):
        return {("lines", i): line for i, line in enumerate(data.splitlines(keepends=True))}
    return {("whole", 0): data}


def _rows(table: str, data: bytes, size: int) -> Parts:
    return {(table, i): bytes(data[at : at + size]) for i, at in enumerate(range(0, len(data), size))}


def _container(data: bytes) -> Iterator[tuple[tuple[str, int], bytes]]:
    archive = read_nres(data, "")
    kind = archive_kind(archive)
    if kind is Kind.AREAL_MAP:
        yield from _areals(read_areal_map(archive))
    for index, entry in enumerate(archive.entries):
        payload = bytes(entry.payload)
        if kind is Kind.AREAL_MAP and entry.type_id == 12:
            payload = b""
        yield ("directory", index), f"{entry.type_id} {entry.attr1} {entry.attr2} {entry.attr3}".encode()
        specs = {Kind.MODEL: TABLES, Kind.TERRAIN: TERRAIN_TABLES}.get(kind, {})
        spec = specs.get(entry.type_id)
        record = None if spec is None else spec.record(entry.attr3)
        if spec is None or record is None or (len(payload) - spec.start) % record.itemsize:
            yield (f"entry {index}", 0), payload
            continue
        if spec.start and kind not in (Kind.MODEL, Kind.TERRAIN):
            yield (f"entry {index} head", 0), payload[: spec.start]
        body = payload[spec.start :]
        if (derived := _DERIVED.get((kind, entry.type_id))) is not None:
            rows = np.frombuffer(body, derived[0]).copy()
            for name in derived[1]:
                rows[name] = 0
            body = rows.tobytes()
        yield from _rows(f"entry {index}", body, record.itemsize).items()  # type: ignore[misc]


def _areals(areals: ArealMap) -> Iterator[tuple[tuple[str, int], bytes]]:
    corners, extras, cells = areals.vertex_start, areals.extra_start, areals.cell_start
    for i, poly in enumerate(areals.polys):
        own, extra = slice(corners[i], corners[i + 1]), slice(extras[i], extras[i + 1])
        rows = (areals.records[i : i + 1], areals.vertices[own], areals.links[own], areals.extra_links[extra])
        yield ("areals", i), b"".join([*(a.tobytes() for a in rows), poly])
    yield ("grid", 0), f"{areals.cells_x} {areals.cells_y}".encode()
    for i in range(len(cells) - 1):
        yield ("cells", i), areals.cell_ids[cells[i] : cells[i + 1]].tobytes()


def _mission(mission: Mission) -> Iterator[tuple[tuple[str, int], bytes]]:
    """A record is what a mission with it alone has more than one without any."""
    empty = replace(mission, routes=[], clans=[], objects=[], lodes=mission.lodes[:0])
    yield ("mission", 0), write_mission(empty)
    for table in ("routes", "clans", "objects", "lodes"):
        records = getattr(mission, table)
        for i in range(len(records)):
            yield (table, i), write_mission(replace(empty, **{table: records[i : i + 1]}))
        yield (f"count of {table}", 0), str(len(records)).encode()


# ------------------------------------------------------------------ what a difference holds


def bare(diff: bytes, before: bytes) -> list[bytes]:
    """What a difference makes of its base set to zero, and what it holds."""
    packed = unpack(diff)
    if packed.description["kind"] == "new":
        return [bytes(packed.payload)]
    if packed.description["kind"] != "tables":
        return [decode_delta(packed.payload, bytes(len(before)), packed.size)]
    changes = unpack_changes(packed.description, packed.payload)
    tables = split(changes.content, before)
    assert tables is not None
    out = [bytes(packed.payload)]
    for key, change in changes.rows.items():
        table = tables.tables[key]
        sizes = None if change.stride else tuple(map(len, table.lines))
        zeros = Table(bytes(len(table.data)), change.stride, sizes)
        out.append(change.written(zeros, np.ones(len(change.rows), np.bool_)))
    for key, blob in changes.blobs.items():
        out.append(decode_delta(blob.delta, bytes(len(tables.tables[key].data)), blob.size))
    made = make_exactly(replace(changes, layout=b""), before, 0)
    if changes.layout:
        out.append(decode_delta(changes.layout, bytes(len(made)), packed.size))
    return out


def repeats(data: bytes, base: bytes) -> bool:
    """Whether 64 bytes with more than eight values are 64 bytes of the base, window by window."""
    windows = {base[i : i + WINDOW] for i in range(len(base) - WINDOW + 1)}
    for i in range(len(data) - WINDOW + 1):
        window = data[i : i + WINDOW]
        if window in windows and len(set(window)) > FEW:
            return True
    return False
