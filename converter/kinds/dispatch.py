"""From the kind of a file to its class, which loads, exports, imports and describes it.

load(kind, source, options)           ->  Loaded
Loaded.files(target, options)         ->  the files to write
import_gltf(gltf, sidecar, options)   ->  ImportResult

What only some kinds or only the import need is imported where it is used: a command that converts
one model spends most of its time on imports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConversionError, with_article
from ..files import names_in, read_file
from ..findings import without_errors
from ..formats.kinds import ASSEMBLY_KINDS, SCENE_KINDS, Kind, assembly_kind, find_model, is_rsli, kind_at
from ..formats.nres import is_nres, read_nres, trailing_bytes
from ..formats.objects import UNIT_ENDING
from ..formats.sidecar import sidecar_of, sidecar_path
from ..options import ExportOptions, ImportOptions
from ..storage import cannot_read
from .base import EditedFile, Loaded, LoadedScene, Source
from .open_files import mission_in

if TYPE_CHECKING:
    from rich.console import Console

    from ...importers.gltf_file import GltfInMemory
    from ..findings import Finding
    from ..formats.areal_map import ArealMap
    from ..formats.terrain import Terrain
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
    from .import_model import import_new
    from .import_result import settle_coordinates

    options = options or ImportOptions()
    try:
        if (found := sidecar_of(gltf, sidecar, given.info, options, alone=alone)) is None:
            settle_coordinates(given, [], [])
            if (made_of := given.info.get("kind")) in ASSEMBLY_KINDS:
                raise ConversionError(
                    f"is {with_article(Kind(made_of))}, which is not written without its sidecar",
                    hint="keep the .msh-sidecar beside the file, or convert it again",
                )
            seen = snapshot(given) if options.verify else None  # nothing else knows what rectangles the game shows
            return import_new(gltf, given, seen, replace(options, new=options.new or alone))
        path, kept = found
        seen = snapshot(given) if options.verify else None
        settle_coordinates(given, kept.description.shown, kept.description.library)
        made_by = class_of(kept.description.kind)
        assert issubclass(made_by, LoadedScene), "a sidecar is of one of SCENE_KINDS"
        out = made_by.import_edited(EditedFile(gltf, given, seen, kept, path, options))
        out.source_sha256 = kept.description.source_sha256
        return out
    except ConversionError as error:
        raise error.at(file=str(gltf)) from None


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


@dataclass(frozen=True)
class Level:
    """A level as the game loads it.

    Attributes:
        files: by what they are called: ``1.wea``, ``2.wea``, ``.map``, ``.msh``.
        wear, micro: names by row of ``1.wea`` and ``2.wea``.
        findings: ``(file, finding)``, in the order of loading; the last are about files that do not fit one another.
    """

    files: dict[str, Path]
    wear: list[str]
    micro: list[str]
    areals: ArealMap
    terrain: Terrain
    findings: list[tuple[Path, Finding]]


def load_level(base: str | PathLike[str], *, strict: bool = True) -> Level:
    """Load a level by its base name, in the runtime's order: material lists, areal map, terrain.

    A step that fails ends the loading, as it ends the game (docs/reference/terrain.md). Raises ConversionError: a file
    is missing or cannot be read, or (``strict``) has errors.

    Args:
        base: e.g. ``DATA/MAPS/Tut_1/Land``: ``Land1.wea``, ``Land2.wea``, ``Land.map`` and ``Land.msh`` lie there, in
            any case.
        strict: an error finding is a failure too; else it is among the findings.
    """
    from ..checks.areal_map import check_areal_map
    from ..checks.terrain import check_terrain
    from ..checks.terrain_faces import level_material, level_wear, level_wear_parallel
    from ..formats.areal_map import read_areal_map
    from ..formats.terrain import read_terrain
    from ..formats.wear import read_wear_names

    files: dict[str, Path] = {}
    findings: list[tuple[Path, Finding]] = []

    def take(suffix: str) -> Path:
        files[suffix] = _find(Path(base), suffix)
        return files[suffix]

    def note(path: Path, found: list[Finding]) -> None:
        if strict:
            without_errors(found, str(path))
        findings.extend((path, finding) for finding in found)

    names = []
    for suffix in ("1.wea", "2.wea"):
        path = take(suffix)
        names.append(read_wear_names(read_file(path)))
        if not names[-1]:
            note(path, [*level_wear("is not a list of materials (WEAR)")])
    path = take(".map")
    areals = read_areal_map(read_nres(read_file(path), str(path)))
    note(path, check_areal_map(areals))
    path = take(".msh")
    terrain = read_terrain(read_nres(read_file(path), str(path)), path.name)
    note(path, check_terrain(terrain))
    wear, micro = names
    name = files["1.wea"].name
    note(files["2.wea"], [*level_wear_parallel(wear, micro, name)])
    note(files[".msh"], [*level_material(terrain, len(wear), name)])
    return Level(files, wear, micro, areals, terrain, findings)


def _find(base: Path, suffix: str) -> Path:
    wanted = f"{base.name}{suffix}"
    try:
        found = names_in(base.parent).get(wanted.lower(), ())
    except OSError as error:
        raise cannot_read(base.parent, error) from error
    if not found:
        raise ConversionError("a file of the level is missing", file=str(base.parent / wanted), hint="case is nothing")
    return base.parent / found[0]
