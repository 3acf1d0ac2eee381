"""From the kind of a file to what loads, exports, imports and shows it: the only place that knows.

load(kind, archive, path, index, options)  ->  Loaded
gltf_files(loaded, target, options)        ->  the files to write
import_gltf(gltf, sidecar, options)        ->  ImportResult
describe(loaded), show(console, facts)     ->  what ``msh-inspect`` prints

What only some kinds or only the import need is imported where it is used: a command that converts
one model spends most of its time on imports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConversionError, with_article
from ..files import read_file
from ..findings import without_errors
from ..formats.kinds import ASSEMBLY_KINDS, SCENE_KINDS, Kind, assembly_kind, find_model, kind_at
from ..formats.nres import Archive, is_nres, read_nres, trailing_bytes
from ..formats.rsli import is_rsli
from ..formats.unit import UNIT_ENDING
from ..options import ExportOptions, ImportOptions
from ..scene.dialect import Decision
from .base import Files, Loaded, sidecar_path
from .export_model import LoadedModel, load_model, model_files
from .open_files import mission_in

if TYPE_CHECKING:
    from rich.console import Console

    from ...importers.gltf_file import GltfInMemory
    from ..formats.model import MshModel
    from .import_result import ImportResult
    from .inspect import Json
    from .missions import LoadedMission, LoadedUnit


def load_file(path: Path, entry: str | None, options: ExportOptions) -> Loaded:
    """Load what a file is, or an entry of it.

    Args:
        path: a model, a terrain, an areal map, an archive, a unit or a mission, or its directory.
        entry: the archive's entry, by name or directory index, where there are several.
        options: how it becomes glTF.

    Raises:
        ConversionError: unreadable, no such entry, or an error finding.
    """
    if (mission := mission_in(path) if path.is_dir() else None) is not None:
        path = mission
    data = read_file(path)
    kind = assembly_kind(path.name, data) if entry is None else None
    if path.suffix.lower() == UNIT_ENDING and kind is None and entry is None and not is_nres(data):
        kind = Kind.UNIT  # reading it says what is wrong
    if kind is not None:
        return load_assembly(kind, path, options)
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
    return load(kind_at(archive, index), archive, path, index, options)


def load_assembly(kind: Kind, path: Path, options: ExportOptions) -> LoadedUnit | LoadedMission:
    """Load a unit or a mission.

    Args:
        kind: one of ``ASSEMBLY_KINDS``.
        path: its file.
        options: how it becomes glTF.

    Raises:
        ConversionError: unreadable, not in a game, or an error finding.
    """
    if kind is Kind.UNIT:
        from .missions import load_unit

        return load_unit(path, options)
    from .missions import load_mission

    return load_mission(path, options)


def load(
    kind: Kind,
    archive: Archive,
    path: Path,
    index: int | None,
    options: ExportOptions,
    *,
    model: MshModel | None = None,
    fallback: Callable[[], Decision | None] | None = None,
) -> Loaded:
    """Load a file or an entry of a known kind.

    Args:
        kind: what it is; whatever cannot be exported is read as a model, which reports why.
        archive: the file, which is open already.
        path: its path.
        index: directory index of the entry; ``None``: the file itself.
        options: how it becomes glTF.
        model: its tables, where they were read already.
        fallback: the dialect of a model whose file has no evidence of one.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    if kind in ASSEMBLY_KINDS:
        return load_assembly(kind, path, options)
    trailing = [trailing_bytes(archive)] if archive.trailing else []
    without_errors(trailing, archive.label, mode=options.mode)
    loaded = _load(kind, archive, path, index, options, model, fallback)
    return replace(loaded, findings=[*trailing, *loaded.findings]) if trailing else loaded


def _load(
    kind: Kind,
    archive: Archive,
    path: Path,
    index: int | None,
    options: ExportOptions,
    model: MshModel | None,
    fallback: Callable[[], Decision | None] | None,
) -> Loaded:
    if options.mode == "strict" and kind in SCENE_KINDS:
        from .check import require_strict  # loads every check, which only this mode needs

        require_strict(archive, path, index, kind)
    if kind is Kind.TERRAIN:
        from .terrain import load_terrain

        return load_terrain(archive, path, index, options)
    if kind is Kind.AREAL_MAP:
        from .areal_map import load_areal_map

        return load_areal_map(archive, path, index, options)
    if kind is Kind.TEXTURE:
        from .texture import load_texture

        assert index is not None  # a walk finds them in libraries
        return load_texture(archive, index)
    return load_model(archive, path, index, options, model=model, fallback=fallback)


def gltf_files(
    loaded: Loaded, target: Path, options: ExportOptions, *, sidecar: bool = True, root: Path | None = None
) -> Files:
    """Make the files of a glTF export, in the order in which to write them; the glTF is last.

    Args:
        loaded: a model, a terrain, an areal map, a unit or a mission; of a texture the PNG is made.
        target: the ``.glb``, ``.gltf`` or ``.png``.
        options: what to show and how.
        sidecar: whether to write one beside the glTF.
        root: the directory of a run over many models, which writes their pictures itself.

    Raises:
        ConversionError: a coordinate that the import would refuse.
    """
    if isinstance(loaded, LoadedModel):
        return model_files(loaded, target, options, sidecar=sidecar, root=root)
    if loaded.kind in ASSEMBLY_KINDS:
        return _assembly_files(loaded, target, options, sidecar, root)
    from .areal_map import LoadedArealMap, areal_map_files
    from .terrain import LoadedTerrain, terrain_files
    from .texture import LoadedTexture, png_file

    if isinstance(loaded, LoadedTerrain):
        return terrain_files(loaded, target, options, sidecar=sidecar, root=root)
    if isinstance(loaded, LoadedArealMap):
        return areal_map_files(loaded, target, options, sidecar=sidecar, root=root)
    assert isinstance(loaded, LoadedTexture)
    return [png_file(loaded, target)]


def _assembly_files(loaded: Loaded, target: Path, options: ExportOptions, sidecar: bool, root: Path | None) -> Files:
    from .missions import LoadedMission, LoadedUnit, mission_files, unit_files

    if isinstance(loaded, LoadedUnit):
        return unit_files(loaded, target, options, sidecar=sidecar, root=root)
    assert isinstance(loaded, LoadedMission)
    return mission_files(loaded, target, options, sidecar=sidecar, root=root)


def import_file(
    path: Path,
    sidecar: Path | bytes | None = None,
    options: ImportOptions | None = None,
    *,
    up: str | None = None,
    frame: float | None = None,
) -> ImportResult:
    """Turn a glTF file, an OBJ or another mesh that trimesh reads into a model; as :func:`import_gltf`.

    Args:
        path: the file; its ending says what it is.
        up, frame: as of ``kinds.obj.import_obj``; glTF says it.

    Raises:
        ConversionError: as of :func:`import_gltf`; or ``up`` or ``frame`` of a glTF file.
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
    """Turn a glTF file into a model, a terrain or an areal map, with what the sidecar keeps.

    Args:
        gltf: the file; what messages call a document in memory.
        sidecar: its sidecar, or the bytes of it; found by the name in the file, then by stem, if not given.
        options: how to read and rebuild.
        in_memory: the document, where it is not a file.

    Raises:
        ConversionError: unreadable, another model's sidecar, beyond the format's limits, or the
            written model would not show what the file shows.
    """
    from ...importers.gltf import read_gltf  # only the import needs it
    from ..judge.models import snapshot
    from .base import find_sidecar, open_sidecar
    from .import_model import import_edited, import_new, stored_model
    from .judged import judge_edited, judge_mission, judge_new, judge_terrain, judge_unit

    options = options or ImportOptions()
    lost = in_memory is not None and in_memory.folder is None  # nothing lies beside it
    beside = sidecar is not None or (not lost and sidecar_path(gltf).is_file())
    given = read_gltf(
        gltf, in_memory, scene=options.scene, all_scenes=options.use_sidecar and beside, rigid_skin=options.rigid_skin
    )
    seen = snapshot(given) if options.verify else None
    found, kept_in_memory = find_sidecar(gltf, sidecar, given.info, alone=lost) if options.use_sidecar else (None, None)
    try:
        if found is None:
            if (made_of := given.info.get("kind")) in ASSEMBLY_KINDS:
                raise ConversionError(
                    f"is {with_article(Kind(made_of))}, which is not written without its sidecar",
                    hint="keep the .msh-sidecar beside the file, or convert it again",
                )
            out = import_new(gltf, given, replace(options, new=options.new or lost))
            if seen is not None:
                judge_new(out, seen, options)
        else:
            kept = open_sidecar(found, gltf, given.info, options, data=kept_in_memory)
            kind = kept.description.kind
            if kind is Kind.TERRAIN:
                from .terrain import import_terrain

                out = import_terrain(kept, given, options, str(found))
                if seen is not None:
                    judge_terrain(out, seen, kept, str(found))
            elif kind is Kind.AREAL_MAP:
                from .areal_map import import_areal_map

                out = import_areal_map(kept, given, options, str(found))
            elif kind is Kind.MISSION:
                from .import_missions import import_mission

                out = import_mission(kept, given, options, gltf)
                if seen is not None:
                    judge_mission(out, seen, kept)
            elif kind is Kind.UNIT:
                from .import_missions import import_unit

                out = import_unit(kept, given, options, gltf)
                if seen is not None:
                    judge_unit(out, seen, kept)
            else:
                stored = stored_model(kept, found)
                out = import_edited(gltf, given, stored, options)
                if seen is not None:
                    judge_edited(out, seen, stored, options)
            out.source_sha256 = kept.description.source_sha256
    except ConversionError as error:
        raise error.at(file=str(gltf)) from None
    return out


def describe(loaded: Loaded) -> Json:
    """Return the facts about a loaded file as plain JSON values; ``kind`` is among them."""
    from . import inspect
    from .areal_map import LoadedArealMap
    from .terrain import LoadedTerrain
    from .texture import LoadedTexture

    if isinstance(loaded, LoadedTerrain):
        facts = inspect.describe_terrain(loaded)
    elif isinstance(loaded, LoadedArealMap):
        facts = inspect.describe_areal_map(loaded)
    elif isinstance(loaded, LoadedTexture):
        facts = inspect.describe_texture(loaded)
    else:
        assert isinstance(loaded, LoadedModel)
        facts = inspect.describe(loaded.model, loaded.decision, loaded.scene, loaded.findings)
        if loaded.controller is not None:
            from .controllers import describe_states

            facts["controller"] = describe_states(loaded.controller, loaded.ranges)
    return {"kind": loaded.kind, **facts}


def show(console: Console, facts: Json) -> None:
    """Print the facts of :func:`describe`, or of ``assembly_files``, as one screen."""
    from . import controllers, inspect
    from . import inspect_missions as inspect_assembly

    shown = {
        Kind.MODEL: inspect.show_model,
        Kind.TERRAIN: inspect.show_map,
        Kind.AREAL_MAP: inspect.show_map,
        Kind.TEXTURE: inspect.show_texture,
        Kind.REGISTRY: inspect_assembly.show_registry,
        Kind.UNIT: inspect_assembly.show_unit,
        Kind.MISSION: inspect_assembly.show_mission,
        Kind.RSLI: inspect_assembly.show_rsli,
        Kind.CONTROLLER: controllers.show_controller,
    }
    shown[facts["kind"]](console, facts)
