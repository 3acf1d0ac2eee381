"""Models as objects in memory and back: bytes, ``pygltflib.GLTF2``, ``trimesh.Scene``, and files of them.

``msh_gltf`` re-exports these functions. pygltflib and trimesh are imported when they are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeGuard

from .api import FilePath, bytes_of, with_suffix
from .converter.errors import ConversionError, machine_errors
from .converter.findings import Finding
from .converter.formats.areal_map import ArealMap
from .converter.formats.kinds import Kind, find_model
from .converter.formats.model import MshModel, read_model
from .converter.formats.names import file_stem, readable
from .converter.formats.nres import bytes_as_read, read_nres
from .converter.formats.sidecar import named_sidecar, sidecar_path
from .converter.formats.terrain import Terrain
from .converter.kinds import dispatch, open_files
from .converter.kinds.base import Files, Loaded, Source
from .converter.kinds.import_result import ImportResult
from .converter.kinds.model import LoadedModel
from .converter.options import ExportOptions, ImportOptions
from .converter.storage import write_outputs

if TYPE_CHECKING:
    import pygltflib
    import trimesh

#: What becomes glTF.
AnyModel = MshModel | Terrain | ArealMap
#: A folder that is not there: what is made in memory finds no file of another run beside it.
_IN_MEMORY = Path("in memory")
_KINDS = {MshModel: Kind.MODEL, Terrain: Kind.TERRAIN, ArealMap: Kind.AREAL_MAP}


class Glb(bytes):
    """The bytes of a ``.glb``, with those of its sidecar as long as they are in memory.

    Attributes:
        sidecar: what goes beside it as the ``.msh-sidecar`` of its name; :func:`import_gltf` finds it.
    """

    sidecar: bytes = b""

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it: trimesh's viewer, which needs no network, 400 pixels high."""
        from base64 import b64encode
        from html import escape

        from trimesh import resources, util

        files = util.decompress(resources.get_bytes("templates/viewer.zip"), file_type="zip")
        page = files["viewer.html.template"].read().decode().replace("$B64GLTF", b64encode(self).decode())
        return f'<iframe srcdoc="{escape(page)}" width="100%" height="400" style="border:none"></iframe>'


@dataclass(frozen=True)
class ExportResult:
    """What an export made.

    Attributes:
        files: the paths that were written, the glTF last; none without a path.
        findings: about the model; errors say what ``ExportOptions.mode="tolerant"`` left out.
        glb: the bytes of the ``.glb``; empty of a ``.gltf``.
        sidecar: the bytes of the sidecar; empty without one.
        images: the bytes of each picture that is not inside the glTF, by its path from there.
    """

    files: list[Path]
    findings: list[Finding]
    glb: bytes = field(default=b"", repr=False)
    sidecar: bytes = field(default=b"", repr=False)
    images: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def export_gltf(
    model: AnyModel,
    path: FilePath | None = None,
    *,
    options: ExportOptions | None = None,
    sidecar: bool = True,
    force: bool = False,
) -> ExportResult:
    """Turn a model, a terrain or an areal map into glTF, with the sidecar that keeps the rest.

    Names of materials and textures are looked up as ``msh2gltf`` does: beside the file that the
    model was read from, and in ``options.textures``. Files appear whole or not at all.

    Args:
        model: as it was read, or with tables replaced.
        path: a ``.glb`` or ``.gltf``; the sidecar goes beside it. Without one nothing is written.
        options: by default those of ``msh2gltf``.
        sidecar: whether to make it; without it an import rebuilds everything.
        force: replace files that exist.

    Raises:
        ConversionError: another suffix, a file exists, or the model cannot be converted.

    Examples:
        >>> model = read_msh("walker.msh")
        >>> [path.name for path in export_gltf(model, "walker.glb").files]
        ['walker.msh-sidecar', 'walker.glb']
        >>> made = export_gltf(model)
        >>> made.files, import_gltf(made.glb, sidecar=made.sidecar).unchanged
        ([], True)
    """
    target = _target(model) if path is None else with_suffix(path, ".glb", ".gltf")
    files, loaded = _files(model, target, options or ExportOptions(), sidecar=sidecar)
    if path is not None:
        with machine_errors():
            write_outputs(files, force)
    made = dict(files)
    beside = sidecar_path(target)
    return ExportResult(
        [] if path is None else [file for file, _ in files],
        loaded.findings,
        made[target] if target.suffix.lower() == ".glb" else b"",
        made.get(beside, b""),
        {
            file.relative_to(target.parent).as_posix(): data
            for file, data in files
            if file.suffix == ".png" and file != target
        },
    )


def to_glb(model: AnyModel, *, options: ExportOptions | None = None) -> Glb:
    """Return a model, a terrain or an areal map as the bytes of a ``.glb``; nothing is written.

    They name their sidecar and have it with them: :func:`import_gltf` of them loses nothing.
    Arguments and errors as of :func:`export_gltf`.

    Examples:
        >>> glb = to_glb(read_msh("walker.msh"))
        >>> glb[:4], import_gltf(glb).unchanged
        (b'glTF', True)
    """
    glb, sidecar, _ = _made(model, options or ExportOptions())
    out = Glb(glb)
    out.sidecar = sidecar
    return out


def to_pygltflib(model: AnyModel, *, options: ExportOptions | None = None) -> pygltflib.GLTF2:
    """Return a model, a terrain or an areal map as ``pygltflib.GLTF2``, with its blob.

    It is the document of the ``.glb``, built without pygltflib's JSON loader. Its extras name the
    sidecar and have it with them, as long as the object or a copy of it is in memory.
    Arguments and errors as of :func:`export_gltf`.

    Examples:
        >>> gltf = to_pygltflib(read_msh("walker.msh"))
        >>> len(gltf.nodes), gltf.scenes[0].extras["msh"]["sidecar"]
        (20, 'walker.msh-sidecar')
        >>> gltf.nodes[0].translation = [0.0, 1.0, 0.0]  # a metre up: glTF has Y up
        >>> print(import_gltf(gltf).changes[0])
        node 'Base_TM': translation changed
    """
    from .exporters.gltf_file import gltf_objects

    glb, sidecar, target = _made(model, options or ExportOptions())
    out = gltf_objects(glb)
    out.scenes[0].extras["msh"]["sidecar"] = named_sidecar(readable(sidecar_path(target).name), sidecar)
    return out


def to_trimesh(
    model: MshModel, frame: float = 0.0, stage: int = 0, level: int = 0, *, options: ExportOptions | None = None
) -> trimesh.Scene:
    """Return a model as ``trimesh.Scene``: a geometry per part, the nodes posed at a frame.

    The axes are those of glTF (Y up), units those of the game. Vertices are in the frame of their
    node, float64 of the stored float32, and normals and texture coordinates with them. A part of
    several materials has a ``MultiMaterial``, and ``face_attributes["material"]``, (F,) which of it each
    face has (trimesh's own viewers draw the first alone; :func:`to_glb` shows all). Pictures are PIL
    images. ``metadata["msh"]`` is the ``extras.msh`` of the glTF, and has the sidecar
    with it: :func:`import_gltf` of the scene puts back what was edited, as of an OBJ.

    Args:
        model: as it was read, or with tables replaced.
        frame: when it is posed, in frames of its animation; between two the runtime's sampler blends.
        stage: of damage, 0 is whole (``lod`` of ``extras.msh``).
        level: of detail, 0 is the finest (``group`` of ``extras.msh``).
        options: by default those of ``msh2gltf``; ``lod`` and ``group`` do not count.

    Raises:
        ConversionError: a frame that is not finite, or the model cannot be converted.

    Examples:
        >>> scene = to_trimesh(read_msh("walker.msh"), frame=6)
        >>> len(scene.geometry), scene.metadata["msh"]["frame"]
        (11, 6.0)
        >>> import_gltf(scene).unchanged
        True
    """
    from .converter.scene.appearance import Appearance, as_shown, rectangles_of
    from .converter.scene.decode import local_poses
    from .exporters.obj import trimesh_scene
    from .importers.gltf_file import GltfInMemory, open_gltf

    options = replace(options or ExportOptions(), lod=stage, group=level, parts="visible", embed=True)
    target = _target(model)
    files, loaded = _files(model, target, options, sidecar=True)
    assert isinstance(loaded, LoadedModel)
    made = dict(files)
    file = open_gltf(target, GltfInMemory(made[target]))
    poses = local_poses(loaded.model, loaded.scene, loaded.decision.dialect, frame)
    buffer = file.buffers[0] if file.buffers else memoryview(b"")
    shown = as_shown(loaded.scene, rectangles_of(loaded.scene, loaded.appearance or Appearance()))
    out = trimesh_scene(shown, poses, file.root, buffer, lod=stage, group=level)
    extras: dict[str, Any] = file.root["scenes"][0]["extras"]["msh"]
    beside = sidecar_path(target)
    extras |= {"frame": float(frame), "sidecar": named_sidecar(readable(beside.name), made[beside])}
    out.metadata["msh"] = extras
    return out


def import_gltf(
    source: FilePath | bytes | bytearray | memoryview | BinaryIO | pygltflib.GLTF2 | trimesh.Scene | trimesh.Trimesh,
    *,
    sidecar: FilePath | bytes | None = None,
    options: ImportOptions | None = None,
) -> ImportResult:
    """Turn glTF into a model, with what its sidecar keeps; nothing is written.

    What was not edited comes back byte for byte. :func:`write_msh` writes the result.

    Args:
        source: the path of a ``.glb``, ``.gltf``, ``.obj`` or another mesh that trimesh reads; or the
            bytes of a ``.glb``, a file that is open for reading bytes, or an object of pygltflib or
            trimesh, which is not changed. A ``trimesh.Scene`` is read as an OBJ: what it shows at
            ``metadata["msh"]["frame"]``.
        sidecar: a path, or the bytes. By default the one that the source names or has with it, or the
            one beside its file; a source that has none is rebuilt from glTF alone.
        options: by default those of ``gltf2msh``.

    Raises:
        ConversionError: unreadable, its sidecar is missing or another model's, or beyond the format's
            limits. Messages call a source without a file ``model.glb``.
        TypeError: not a source.

    Examples:
        >>> _ = export_gltf(read_msh("walker.msh"), "walker.glb")
        >>> result = import_gltf("walker.glb")
        >>> result.data == Path("walker.msh").read_bytes(), result.changes
        (True, [])
        >>> with open("walker.glb", "rb") as file:
        ...     import_gltf(file).unchanged
        True
    """
    kept = sidecar if sidecar is None or isinstance(sidecar, bytes) else Path(sidecar)
    if _is_of("trimesh", source, "Scene", "Trimesh"):
        from .converter.kinds.obj import import_obj

        scene: Any = source
        scene = scene.scene() if _is_of("trimesh", scene, "Trimesh") else scene
        return import_obj(Path("model.glb"), kept, options, in_memory=scene)
    if _is_of("pygltflib", source, "GLTF2"):
        from .importers.gltf_file import document_of

        document = document_of(source)
        name = getattr(source, "_name", None) or "model.glb"
        return dispatch.import_gltf((document.folder or Path()) / name, kept, options, in_memory=document)
    if isinstance(source, bytes | bytearray | memoryview):
        if kept is None and isinstance(source, Glb):
            kept = source.sidecar
        return _import_bytes(source, None, kept, options)
    if isinstance(source, str | PathLike):
        return dispatch.import_file(Path(source), kept, options)
    if not hasattr(source, "read"):
        kinds = "a path, bytes, a file, pygltflib.GLTF2 or trimesh.Scene"
        raise TypeError(f"import_gltf() takes {kinds}, not {type(source).__name__}")
    data, name = source.read(), getattr(source, "name", None)
    if not isinstance(data, bytes):
        raise ConversionError("is open for reading text", file=str(name), hint='open it with "rb"')
    return _import_bytes(data, Path(name) if isinstance(name, str) else None, kept, options)


def _import_bytes(
    data: bytes | bytearray | memoryview, path: Path | None, sidecar: Path | bytes | None, options: ImportOptions | None
) -> ImportResult:
    from .importers.gltf_file import GltfInMemory

    in_memory = GltfInMemory(memoryview(data), path and path.parent)
    return dispatch.import_gltf(path or Path("model.glb"), sidecar, options, in_memory=in_memory)


def _is_of(package: str, source: Any, *names: str) -> TypeGuard[Any]:
    """Whether an object is of a class of a package, which is not imported for it: then it is there."""
    module = sys.modules.get(package)
    return module is not None and isinstance(source, tuple(getattr(module, name) for name in names))


def _target(model: AnyModel) -> Path:
    """What a glTF that is not written is called."""
    name = model.name if isinstance(model, MshModel | Terrain) else Path(model.archive.label).name
    return _IN_MEMORY / f"{file_stem(name)}.glb"


def _made(model: AnyModel, options: ExportOptions) -> tuple[bytes, bytes, Path]:
    """The ``.glb`` and its sidecar, and what the former is called."""
    target = _target(model)
    files, _ = _files(model, target, options, sidecar=True)
    made = dict(files)
    return made[target], made[sidecar_path(target)], target


def _files(model: AnyModel, target: Path, options: ExportOptions, *, sidecar: bool) -> tuple[Files, Loaded]:
    """Return the files of an export, and the model as its tables are now."""
    loaded = _loaded_model(model, options) if isinstance(model, MshModel) else _loaded_map(model, options)
    return loaded.files(target, options, sidecar=sidecar), loaded


def _loaded_model(model: MshModel, options: ExportOptions) -> Loaded:
    """Decode a model's tables; what goes with it is looked up where it was read."""
    data = bytes_of(model)
    archive, path = model.archive, Path(model.archive.label)
    if data != bytes_as_read(archive):  # its tables were replaced
        archive = read_nres(data, archive.label)
        entry, holder = model.entry, model.holder
        model = read_model(archive, model.name)
        model.entry, model.holder = entry, holder
    if model.holder is None:
        return dispatch.load(Kind.MODEL, Source(path, archive, model=model), options)
    outer, index = model.holder
    if options.mode == "strict" and archive is not model.archive:
        entries = [*outer.entries]
        entries[index] = replace(entries[index], payload=data)
        outer = replace(outer, entries=entries)
    return dispatch.load(Kind.MODEL, Source(path, outer, index, model), options)


def _loaded_map(model: Terrain | ArealMap, options: ExportOptions) -> Loaded:
    """Read a terrain or an areal map again, with its tables as they are now."""
    label, data = model.archive.label, bytes_of(model)
    source, archive, index = Path(label), read_nres(data, label), None
    name = getattr(model, "name", source.name)
    if name not in (None, source.name):  # an entry: materials are named beside it, in its archive
        archive = open_files.open_nres(source, label)
        index = find_model(archive, name)
        assert index is not None, "it is named"
        archive.entries[index].payload = data
    return dispatch.load(_KINDS[type(model)], Source(source, archive, index), options)
