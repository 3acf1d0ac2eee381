"""From the kind of a file to its class, which loads, exports, imports and describes it.

load(kind, source, options)           ->  Loaded
Loaded.files(target, options)         ->  the files to write
import_gltf(gltf, sidecar, options)   ->  ImportResult

What only some kinds or only the import need is imported where it is used: a command that converts
one model spends most of its time on imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..edits.materials import cell_of
from ..errors import ConversionError, called, with_article
from ..files import read_file
from ..findings import without_errors
from ..formats.gltf import WHOLE, ShownPicture, Surface, TextureTransform, is_image, read_rectangle, same_picture
from ..formats.kinds import ASSEMBLY_KINDS, SCENE_KINDS, Kind, assembly_kind, find_model, is_rsli, kind_at
from ..formats.library import LibraryEntry
from ..formats.names import without_number
from ..formats.nres import is_nres, read_nres, trailing_bytes
from ..formats.objects import UNIT_ENDING
from ..options import ExportOptions, ImportOptions
from ..scene.scene import ImportedScene
from .base import EditedFile, Loaded, LoadedScene, Source, find_sidecar, open_sidecar, sidecar_path
from .open_files import mission_in

if TYPE_CHECKING:
    from rich.console import Console

    from ...importers.gltf_file import GltfInMemory
    from ..scene.scene import ImportedScene
    from .base import Json
    from .import_result import ImportResult


def load_file(path: Path, entry: str | None, options: ExportOptions) -> Loaded:
    """Load what a file is, or an entry of it. Raises ConversionError: unreadable, no such entry, or an error finding.

    Args:
        path: a model, a terrain, an areal map, an archive, a unit or a mission, or its directory.
        entry: the archive's entry, by name or directory index, where there are several.
    """
    if (mission := mission_in(path) if path.is_dir() else None) is not None:
        path = mission
    data = read_file(path)
    kind = assembly_kind(path.name, data) if entry is None else None
    if path.suffix.lower() == UNIT_ENDING and kind is None and entry is None and not is_nres(data):
        kind = Kind.UNIT  # reading it says what is wrong
    if kind is not None:
        return load(kind, Source(path), options)
    if path.suffix.lower() == ".wea" and not is_nres(data):
        raise ConversionError(
            "is a list of materials, and shows nothing by itself",
            file=str(path),
            hint="convert the model beside it, which uses the list",
        )
    if is_rsli(data):
        raise ConversionError("is an RsLi library", file=str(path), hint="choose a texture with --entry NAME")
    archive = read_nres(data, str(path), longer=True)
    index = find_model(archive, entry)
    return load(kind_at(archive, index), Source(path, archive, index), options)


#: The module and class of each kind; a module is imported when a file of its kind turns up.
_CLASSES = {
    Kind.MODEL: ("model", "LoadedModel"),
    Kind.TERRAIN: ("landscape", "LoadedTerrain"),
    Kind.AREAL_MAP: ("landscape", "LoadedArealMap"),
    Kind.TEXTURE: ("library", "LoadedTexture"),
    Kind.UNIT: ("missions", "LoadedUnit"),
    Kind.MISSION: ("missions", "LoadedMission"),
}


def class_of(kind: Kind) -> type[Loaded]:
    """Return the class of a kind; that of models for whatever cannot be exported: reading it says why."""
    module, name = _CLASSES.get(kind, _CLASSES[Kind.MODEL])
    found: type[Loaded] = getattr(import_module(f".{module}", __package__), name)
    return found


def load(kind: Kind, source: Source, options: ExportOptions) -> Loaded:
    """Load a file or an entry of a known kind. Raises ConversionError: unreadable, or an error finding."""
    trailing = []
    if source.archive is not None:
        trailing = [trailing_bytes(source.archive)] if source.archive.trailing else []
        without_errors(trailing, source.archive.label, mode=options.mode)
        if options.mode == "strict" and kind in SCENE_KINDS:
            from .check import require_strict  # loads every check, which only this mode needs

            require_strict(source.archive, source.path, source.index, kind)
    loaded = class_of(kind).load(source, options)
    return replace(loaded, findings=[*trailing, *loaded.findings]) if trailing else loaded


def import_file(
    path: Path,
    sidecar: Path | bytes | None = None,
    options: ImportOptions | None = None,
    *,
    up: str | None = None,
    frame: float | None = None,
) -> ImportResult:
    """Turn a glTF file, an OBJ or another mesh that trimesh reads into a model; as :func:`import_gltf`. Raises
    ConversionError: as of :func:`import_gltf`; or ``up`` or ``frame`` of a glTF file.

    Args:
        path: the file; its ending says what it is.
        up, frame: as of ``kinds.obj.import_obj``; glTF says it.
    """
    if path.suffix.lower() not in (".glb", ".gltf"):
        from ...importers.trimesh_scene import read_by_trimesh

        if path.suffix.lower() == ".obj" or read_by_trimesh(path):
            from .obj import import_obj

            return import_obj(path, sidecar, options, up=up, frame=frame)
    if (up, frame) != (None, None):
        raise ConversionError("--frame and --up are for OBJ files, STL and the like", file=str(path))
    return import_gltf(path, sidecar, options)


def import_gltf(
    gltf: Path,
    sidecar: Path | bytes | None = None,
    options: ImportOptions | None = None,
    *,
    in_memory: GltfInMemory | None = None,
) -> ImportResult:
    """Turn a glTF file into a model, a terrain or an areal map, with what the sidecar keeps. Raises ConversionError:
    unreadable, another model's sidecar, beyond the format's limits, or the written model would not show what the file
    shows.

    Args:
        gltf: the file; what messages call a document in memory.
        sidecar: its sidecar, or the bytes of it; found by the name in the file, then by stem, if not given.
    """
    from ...importers.gltf import read_gltf  # only the import needs it

    options = options or ImportOptions()
    lost = in_memory is not None and in_memory.folder is None  # nothing lies beside it
    beside = sidecar is not None or (not lost and sidecar_path(gltf).is_file())
    given = read_gltf(
        gltf, in_memory, scene=options.scene, all_scenes=options.use_sidecar and beside, rigid_skin=options.rigid_skin
    )
    return import_scene(gltf, given, sidecar, options, alone=lost)


def import_scene(
    gltf: Path,
    given: ImportedScene,
    sidecar: Path | bytes | None = None,
    options: ImportOptions | None = None,
    *,
    alone: bool = False,
) -> ImportResult:
    """Turn what a reader made of a file into a model; as :func:`import_gltf`. ``gltf``: what messages call it; files
    that it needs lie beside it. Raises ConversionError: as of :func:`import_gltf`.
    """
    from ..judge.models import snapshot
    from .import_model import import_new, judge_new

    options = options or ImportOptions()
    found, kept_in_memory = (
        find_sidecar(gltf, sidecar, given.info, alone=alone) if options.use_sidecar else (None, None)
    )
    try:
        kept = None if found is None else open_sidecar(found, gltf, given.info, options, data=kept_in_memory)
        about = None if kept is None else kept.description
        seen = snapshot(given) if options.verify else None
        settle_coordinates(given, about.shown if about else [], about.library if about else [])
        if seen is not None and about is None:
            seen = snapshot(given)  # nothing else knows what rectangles the game shows
        if found is None or kept is None:
            if (made_of := given.info.get("kind")) in ASSEMBLY_KINDS:
                raise ConversionError(
                    f"is {with_article(Kind(made_of))}, which is not written without its sidecar",
                    hint="keep the .msh-sidecar beside the file, or convert it again",
                )
            out = import_new(gltf, given, replace(options, new=options.new or alone))
            if seen is not None:
                judge_new(out, seen, options)
        else:
            made_by = class_of(kept.description.kind)
            assert issubclass(made_by, LoadedScene), "a sidecar is of one of SCENE_KINDS"
            out = made_by.import_edited(EditedFile(gltf, given, seen, kept, found, options))
            out.source_sha256 = kept.description.source_sha256
    except ConversionError as error:
        raise error.at(file=str(gltf)) from None
    return out


def show(console: Console, facts: Json) -> None:
    """Print the facts about a file as one screen; ``kind`` is among them."""
    from . import inspect, model

    shown = {
        Kind.MODEL: inspect.show_model,
        Kind.TERRAIN: inspect.show_map,
        Kind.AREAL_MAP: inspect.show_map,
        Kind.TEXTURE: inspect.show_texture,
        Kind.REGISTRY: inspect.show_registry,
        Kind.UNIT: inspect.show_unit,
        Kind.MISSION: inspect.show_mission,
        Kind.RSLI: inspect.show_rsli,
        Kind.CONTROLLER: model.show_controller,
    }
    shown[facts["kind"]](console, facts)


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
    uv = before.undo(transform.apply(streams.uv0[moved]))
    if not np.isfinite(uv).all():
        title = f"texture transform of material {called(given.materials[material].name)}"
        raise ConversionError(f"{title} is not finite, or too large")
    streams.uv0 = streams.uv0.astype(np.float32)
    streams.uv0[moved] = uv
