"""What an import makes, what it refuses of a whole file, and where the files go that change with a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..edits.frame_rate import Timing
from ..edits.materials import NewMaterial, cell_of
from ..errors import ConversionError, called, few, plural, printable
from ..files import read_file
from ..findings import Change, NotApplied, Report, Subject
from ..formats.controller import CONTROLLER_ENDING
from ..formats.gltf import WHOLE, ShownPicture, Surface, TextureTransform, is_image, read_rectangle, same_picture
from ..formats.material import LibraryEdit, LibraryEntry
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING, misplaced, read_points
from ..formats.names import decode_text, escape, stem, without_number
from ..formats.nres_edits import ArchiveEdits
from ..formats.objects import Member
from ..formats.sidecar import Description
from ..formats.wear import WEAR_ENDING, WEAR_TYPE, agrees, new_wear, read_wear_names, write_wear
from ..judge.shown import WrittenLooks
from ..numeric.arrays import F32, F64, I64, row_ids
from ..numeric.pose import game_to_gltf
from ..numeric.quantize import encode_uv
from ..scene.scene import GeneratedLevel, ImportedScene, Material, Scene
from .open_files import named_like
from .registry import Game, KnownObject, inside

#: Files that name parts of a model by number: a new model without changes of them uses its origin's.
NUMBERED = (CONTROLLER_ENDING, FOOTING_ENDING, NODE_PROPERTIES_ENDING)


@dataclass(frozen=True)
class Companion:
    """A file of the model's name that changes with it.

    Attributes:
        ending: what follows the model's stem: ``.cpt``, ``.wea``, ``1.wea``.
        type_id: type of its entry in an archive.
        attr1: of its entry in an archive; ``None``: as it was, 0 of a new one.
        nodes: of control points made without a sidecar, how many nodes the model has: what was
            there before is not known.
        name: of the file, where the registry names one that is not called like the model; empty: it is.
    """

    ending: str
    type_id: int
    data: bytes
    before: bytes
    attr1: int | None = None
    nodes: int | None = None
    name: str = ""

    def entry_name(self, model: str) -> str:
        """Return the name of its entry, beside that of a model."""
        return self.name or f"{stem(model)}{self.ending}"


@dataclass(frozen=True)
class PlacedImport:
    """A model, or a level, that a unit or mission shows and that was edited there.

    Attributes:
        sha256: of the model that was shown.
        path: the game's file that it is, or is in; ``None``: not known.
        index: directory index of its entry; ``None``: the file is the level.
        raw_name: the entry's name, as its bytes.
    """

    result: ImportResult
    sha256: str
    path: Path | None = None
    index: int | None = None
    raw_name: bytes = b""


@dataclass
class ImportResult:
    """A file as the import makes it.

    Attributes:
        differences: what differs from the sidecar, and what else the user should know.
        report: every node and part with kept, rebuilt, new or deleted, and why.
        kept_all: nothing is applied, and the bytes are those of the source.
        rebuilt: there was no sidecar.
        wear: material names by row, of a model that was rebuilt.
        kept_companions: those that did not, as they were: ``before`` is ``data``.
        new_materials: materials whose names the ``.wea`` did not have, or the game; of each that
            the game has not an entry is made (``kinds.new_entries``).
        timing: what the times of the clip were taken for, ``None`` without a clip.
        library: entries of the game's libraries that change, each once.
        levels: what is stated of levels of detail that the import made, by node of the model.
        placed: models and the level that a unit or mission shows, as they were edited there.
        source_sha256: digest of the sidecar's source; empty where there was none.
        rows: stored node of an edited model -> its row now.
    """

    name: str
    data: bytes
    dialect: str
    differences: Report
    report: list[dict[str, str]] = field(default_factory=list)
    kept_all: bool = False
    rebuilt: bool = False
    wear: list[str] | None = None
    companions: list[Companion] = field(default_factory=list)
    kept_companions: list[Companion] = field(default_factory=list)
    timing: Timing | None = None
    new_materials: list[NewMaterial] = field(default_factory=list)
    library: list[LibraryEdit] = field(default_factory=list)
    levels: list[GeneratedLevel] = field(default_factory=list)
    placed: list[PlacedImport] = field(default_factory=list)
    source_sha256: str = ""
    rows: Mapping[int, int] = field(default_factory=dict)

    @property
    def changes(self) -> list[Change]:
        """What differs from the sidecar and is applied."""
        return self.differences.changes

    @property
    def not_applied(self) -> list[NotApplied]:
        """What differs and is not applied."""
        return self.differences.not_applied

    @property
    def warnings(self) -> list[str]:
        """What else the user should know."""
        return self.differences.warnings

    def take(self, companion: Companion) -> None:
        """Add a file that goes with the model: to those that change, or to those that do not."""
        if companion.data != companion.before:
            self.companions.append(companion)
        elif companion.before:
            self.kept_companions.append(companion)

    @property
    def own_companions(self) -> list[Companion]:
        """What goes with it as a new model: what changed, and its origin's materials and control points."""
        kept = [one for one in self.kept_companions if one.ending not in NUMBERED]
        return [*self.companions, *(replace(one, before=b"") for one in kept)]

    @property
    def unchanged(self) -> bool:
        """Whether the file shows what the sidecar's model shows."""
        return self.kept_all and not (self.changes or self.not_applied or self.new_materials)

    @property
    def verdict(self) -> str:
        """What came of it, in one line."""
        if self.unchanged:
            return "unchanged, restored byte for byte"
        if self.kept_all and not self.changes:
            said = "nothing changed, restored byte for byte"
        elif self.rebuilt:
            said = f"rebuilt from the file alone, dialect {self.dialect}"
        else:
            said = plural(len(self.changes), "change")
        return said + (f", {len(self.not_applied)} not applied" if self.not_applied else "")


def written_looks(out: ImportResult, about: Description, stored: Sequence[Material]) -> WrittenLooks | None:
    """What decides the looks of the materials of a result; ``None``: what the stored ones showed was not recorded."""
    return WrittenLooks(stored, about.shown, out.library, out.new_materials, about.library) if about.shown else None


def unapplied(differences: Sequence[NotApplied]) -> ConversionError:
    """Return the error of ``--require-all``."""
    return ConversionError(
        f"{plural(len(differences), 'difference')} cannot be applied",
        value=differences[0].where,
        hint="nothing was written; without --require-all everything else is applied",
    )


def wear_beside(
    target: Path,
    names: Sequence[str],
    force: bool,
    *,
    hint: str = "move it away and repeat the command to get a new one",
) -> tuple[list[tuple[Path, bytes]], list[str]]:
    """The ``.wea`` to write beside a new model, if any, and what to say.

    One that is there stays if it names the same rows; another one stays unless it is forced. ``hint``: what the user
    can do about another one.
    """
    path = named_like(target, ".wea")
    there = path if path.is_file() else None
    if there is not None and agrees(names, read_wear_names(read_file(there))):
        return [], []
    if there is not None and not force:
        return [], [f"{_stays(there.name, names)} ({hint})"]
    return [(path, write_wear(new_wear(names)))], []


def put_wear(archive: ArchiveEdits, model: bytes, names: Sequence[str] | None) -> list[str]:
    """Put the ``.wea`` of a new model into its archive; return what to say.

    Only where other models have theirs in it; one of that name stays. ``archive``: where the model is already.
    """
    if names is None or WEAR_TYPE not in archive.type_ids:
        return []
    name = model[: -len(b".msh")] + b".wea"
    found = archive.find(name)
    if found is None:
        archive.add(name, WEAR_TYPE, write_wear(new_wear(names)))
    elif not agrees(names, read_wear_names(archive.entries[found].payload)):
        return [_stays(decode_text(name), names)]
    return []


def _stays(name: str, names: Sequence[str]) -> str:
    rows = ", ".join(map(printable, names))
    return f"{printable(name)} is there already and stays, though the model's rows are: {rows}"


def shows_same_points(companion: Companion, now: memoryview | bytes) -> bool:
    """Whether a ``.cpt`` holds the points of a file without a sidecar.

    Then it stays: it also has what glTF does not show, leftovers in names and points without a
    place.
    """
    if companion.nodes is None:
        return False
    made = read_points(companion.data, "")
    try:
        stored = read_points(now, "")
    except ConversionError:
        return False
    rows = [*range(len(stored.records))]
    hidden = misplaced(stored, companion.nodes)
    shown = [row for row in rows if row not in hidden]
    a, b = made.records, stored.records[shown]
    return (
        [made.name(row) for row in range(len(a))] == [stored.name(row) for row in shown]
        and all((a[key] == b[key]).all() for key in ("opaque0", "node", "second"))
        and all(np.allclose(a[key], b[key], 1e-5, 1e-5) for key in ("position", "direction"))
    )


def companions_beside(target: Path, companions: Sequence[Companion]) -> list[tuple[Path, bytes]]:
    """The files to write beside a model: path, in the case that is there, and bytes."""
    return [
        (target.with_name(escape(one.name)) if one.name else named_like(target, one.ending), one.data)
        for one in companions
    ]


def placed_beside(target: Path, result: ImportResult) -> list[tuple[Path, bytes]]:
    """The files of models that a unit or mission shows and that were edited there, to write beside it.

    What has the name of another one is reported. ``result``: its import; its messages grow.
    """
    files: dict[Path, bytes] = {}
    report = result.differences
    for placed in result.placed:
        path = target.with_name(escape(placed.result.name))
        whole = [] if placed.result.kept_all else [(path, placed.result.data)]
        own = [*whole, *companions_beside(path, placed.result.companions)]
        if files.keys() & {file for file, _ in own}:
            report.not_applied.append(
                NotApplied(
                    where=Subject("model", placed.result.name),
                    what="is edited, too",
                    why="it has the name of another one, which is written beside the file",
                    instead="run gltf2msh on the whole game",
                )
            )
            continue
        files |= own
        home = "its archive" if placed.path is None else placed.path.name
        names = ", ".join(file.name for file, _ in own)
        report.warnings.append(f"{names} of {home}: edited here, and written beside the file")
    return [*files.items()]


_NOISE = 1e-5


def refuse_draco(imported: ImportedScene, *, rebuilds: bool = True) -> None:
    """Refuse a file that is to be compared with a stored one, and whose vertices are rounded. ``rebuilds``: whether
    something could be made of the file alone. Raises ConversionError: its meshes are compressed.
    """
    if imported.draco:
        raise ConversionError(
            "meshes are compressed with Draco, which moves every vertex",
            hint="clear Compression in Blender's glTF exporter, and export again"
            + (" (--no-sidecar makes a new model of the file as it is)" if rebuilds else ""),
        )


def report_no_normals(imported: ImportedScene) -> None:
    """Report that a file has no normals: what is where stored faces are keeps theirs (``keep_normals``)."""
    if not imported.has_normals:
        computed = "smooth" if "up" in imported.info else "flat"  # of an OBJ, of a glTF
        imported.report.warnings.append(
            "no normals in the file (Normals is cleared in Blender's exporter): faces that are where they were keep "
            f"the stored ones, moved and new ones are {computed}; check Normals, and export again"
        )


def refuse_turned(imported: ImportedScene, positions: F32, uv0: NDArray[np.int16] | None) -> None:
    """Refuse a file whose vertices are the stored ones, turned by 90 degrees about X. Raises ConversionError: most
    vertices are stored ones when they are turned back, more than as they are.

    Args:
        positions: (V, 3) stored vertices.
        uv0: (V, 2) their texture coordinates as stored, or ``None``.
    """
    streams = imported.streams
    words = None if streams.uv0 is None or uv0 is None else encode_uv(streams.uv0)[0]
    stored = _rows(positions, None if words is None else uv0)
    here, back = (_rows(p, words) for p in (streams.positions, game_to_gltf(streams.positions)))
    ids = row_ids(np.concatenate([stored, here, back]).view(np.uint64))
    known, rest = ids[: len(stored)], ids[len(stored) :]
    as_is, turned = (int(np.isin(part, known).sum()) for part in np.split(rest, [len(here)]))
    if turned > as_is and 2 * turned > len(here):
        raise _turned()


def refuse_turned_model(imported: ImportedScene, stored: Scene) -> None:
    """Refuse a file that was exported with Z up; by its vertices, or where its nodes stand. Raises ConversionError: as
    :func:`refuse_turned`, or nodes stand in the stored places turned.
    """
    uv0 = stored.streams.uv0
    refuse_turned(imported, stored.streams.positions, None if uv0 is None else encode_uv(uv0)[0])
    places = {node.name: node.translation for node in stored.nodes}
    pairs = [
        (node.translation, places[name]) for node in imported.nodes if (name := without_number(node.name)) in places
    ]
    if not pairs:
        return
    now, before = (np.stack(side).astype(np.float64) for side in zip(*pairs, strict=True))
    noise = _NOISE * max(1.0, float(np.abs(before).max()))

    def standing(here: F64) -> int:
        return int((np.abs(here - before).max(axis=1) <= noise).sum())

    turned = standing(game_to_gltf(now))
    if turned > standing(now) and turned == len(pairs):
        raise _turned()


def _rows(positions: F32, words: NDArray[np.int16] | None) -> I64:
    """Vertices as rows of integers, (V, 3) or (V, 5)."""
    columns = [(np.ascontiguousarray(positions) + np.float32(0)).view(np.int32)]
    if words is not None:
        columns.append(words.astype(np.int32))
    return np.ascontiguousarray(np.concatenate(columns, axis=1).astype(np.int64))


def _turned() -> ConversionError:
    return ConversionError(
        "is turned by 90 degrees about X against the model of its sidecar",
        hint="set +Y Up (Transform) in Blender's glTF exporter, and export again (an OBJ: --up)",
    )


def settle_coordinates(
    given: ImportedScene, shown: Sequence[Surface[ShownPicture]], entries: Sequence[LibraryEntry]
) -> None:
    """Make the texture coordinates of a file those that the game stores. Raises ConversionError: a transform makes
    coordinates that are not finite.

    Args:
        given: the file; its coordinates are changed in place, and its report says so.
        shown: what the stored materials showed; empty: there is no sidecar.
    """
    used = {p.material for mesh in given.meshes for p in mesh.primitives} & set(range(len(given.surfaces)))
    stored = {i: _exported(given, i, shown) for i in sorted(used)}
    lost = [i for i in stored if stored[i][0] != WHOLE]
    if lost and all(given.surfaces[i].transform == WHOLE for i in stored):
        if any(given.surfaces[i].picture for i in lost):
            given.report.skipped(
                "materials",
                "show the whole of their textures, not the rectangles that the game shows",
                "no texture transform (KHR_texture_transform) is in the file, as programs write it that lack it",
                "nothing, if nobody took them away; else edit the texture coordinates",
            )
        return
    for i, (before, picture) in stored.items():
        surface = given.surfaces[i]
        new = surface.picture
        if new is None or surface.transform == before == WHOLE:
            continue
        same = picture is None or is_image(new.name, picture.name) or same_picture(new, picture)
        if same and (surface.transform.near(before) or cell_of(surface.transform, picture, entries) is not None):
            continue
        _move(given, i, surface.transform, before if same else WHOLE)
        if picture is not None or before != WHOLE:
            text = "the texture transform of the file became part of the texture coordinates"
            given.report.changed(f"material {called(given.materials[i].name)}", text)


def _exported(
    given: ImportedScene, i: int, shown: Sequence[Surface[ShownPicture]]
) -> tuple[TextureTransform, ShownPicture | None]:
    """The transform and the texture that a material of a file had when it was exported, as far as is known."""
    extras = given.material_extras[i] if i < len(given.material_extras) else {}
    name = (extras.get("material") or without_number(given.materials[i].name)).casefold()
    known = next((one for one in shown if one.definition and one.definition.casefold() == name), None)
    if known is not None:
        return known.transform, known.picture
    return read_rectangle(extras.get("rectangle", "")), None


def _move(given: ImportedScene, material: int, transform: TextureTransform, before: TextureTransform) -> None:
    """Give the vertices of a material the coordinates that show in a rectangle what a transform shows."""
    streams = given.streams
    if streams.uv0 is None:
        return
    moved = np.zeros(len(streams.uv0), np.bool_)
    for primitive in (p for mesh in given.meshes for p in mesh.primitives if p.material == material):
        moved[primitive.vertex_start : primitive.vertex_start + primitive.vertex_count] = True
    with np.errstate(over="ignore"):
        uv = before.undo(transform.apply(streams.uv0[moved])).astype(np.float32)
    if not np.isfinite(uv).all():
        title = f"texture transform of material {called(given.materials[material].name)}"
        raise ConversionError(f"{title} is not finite, or too large")
    streams.uv0 = streams.uv0.astype(np.float32)
    streams.uv0[moved] = uv


def placed_import(result: ImportResult, about: Description, known: KnownObject | None) -> PlacedImport:
    """A model and what changes with it, where the registry says that they are."""
    if known is None or known.model is None or known.resolved is None:
        return PlacedImport(result, about.source_sha256)
    there, files = known.model, known.resolved.members
    for i, one in enumerate(result.companions):
        member = files.get(one.ending.lower())
        if member is not None and member.name.lower() != one.entry_name(there.entry.name).lower():
            result.companions[i] = replace(one, name=member.name)
    return PlacedImport(result, about.source_sha256, there.path, there.index, there.entry.name_bytes)


def why_elsewhere(placed: PlacedImport, others: Sequence[PlacedImport]) -> tuple[str, str] | None:
    """Why a file of another name that goes with a model cannot be written with it, and what to do; ``None``: it can."""
    own = {one.name.lower(): one for one in placed.result.companions if one.name}
    for other in others:
        model = decode_text(other.raw_name)
        for one in other.result.companions if other.path == placed.path else ():
            mine = own.get(one.entry_name(model).lower())
            if mine is not None and mine.data != one.data:
                why = f"it shares {printable(mine.name)} with model {called(other.result.name)}, which is edited, too"
                return why, "put one of the two edits into the game first"
    return None


def shared_lists(placed: PlacedImport, game: Game) -> Iterator[str]:
    """Warn of objects that show an edited model with another list of materials, or another model with this one."""
    for one in placed.result.companions:
        if placed.path is None or one.ending.lower() != WEAR_ENDING:
            continue
        archive, model = inside(placed.path, game), decode_text(placed.raw_name)
        name = one.entry_name(model)
        own = Member(archive, model).place, Member(archive, name).place
        before = read_wear_names(one.before)
        renamed = before != read_wear_names(one.data)[: len(before)]
        others = []
        for known in game.objects:
            if known.model is not None and known.wear is not None:
                of_model, of_list = known.model.place == own[0], known.wear.place == own[1]
                if of_model != of_list and (of_model or renamed):
                    others.append(printable(known.key))
        if others:
            yield (
                f"{printable(name)} was edited for {printable(model)}; object {few(others)} has this list with "
                "another model, or this model with another list: look at it, too"
            )
