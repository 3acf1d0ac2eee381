"""The whole road for one model, both ways: files to files, as data. No printing.

With ``converter.batch`` and ``converter.cli``, which call it, the only module of this package
that imports ``importers`` and ``exporters``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...exporters.gltf import GltfOptions, export_gltf
from ...exporters.gltf_file import Document, glb_bytes, gltf_bytes
from ...exporters.msh import write_model
from ...exporters.nres import bytes_as_read
from ...importers.content import find_model
from ...importers.msh import model_at, read_model
from ...importers.nres import read_file, read_nres
from ...importers.wear import read_wear_names, wear_of
from .. import __version__
from ..checks.recover import put_back, refuse_edit, sound_model
from ..edits.compare_model import Change, compare_model
from ..edits.identify_nodes import POSE_NOISE, Identified, identify, model_size
from ..errors import ConversionError, printable
from ..findings import Finding, Mode
from ..formats.archive import Archive
from ..formats.model import MshModel
from ..formats.names import readable, stem
from ..formats.sidecar import (
    SUFFIX,
    Description,
    Sidecar,
    read_sidecar,
    sha256,
    sidecar_path,
    write_sidecar,
)
from ..scene.appearance import Appearance
from ..scene.decode import decode, path_segments
from ..scene.dialect import Decision, Dialect, decide
from ..scene.extras import FileInfo, SourceExtras
from ..scene.points import is_point, unread_points
from ..scene.scene import Imported, Scene, require_in_range
from .appearance import dress_of, missing_looks, picture_files, placed

if TYPE_CHECKING:
    from ..rebuild.context import Rebuilt


@dataclass(frozen=True)
class ExportOptions:
    """How a model becomes glTF; see ``msh2gltf --help``.

    ``dressed``: whether the game's libraries are looked for: in the folders ``textures``, then in
    the model's own (``own_folder``). ``embed``: whether pictures go into the glTF or beside it;
    ``lightmaps``: whether they are shown. ``mode``: what is refused; ``strict``: all that
    ``msh-inspect --check --strict`` does not call sound; ``tolerant``: only what cannot be left out
    (``converter.checks.recover``).
    """

    dialect: str = "auto"
    fps: float = 24.0
    lod: int = 0
    group: int = 0
    visible_only: bool = False
    subframes: int = 1
    stored_keys: bool = False
    vertex_ids: bool = False
    paths: bool = False
    points: bool = False
    textures: tuple[str, ...] = ()
    dressed: bool = True
    own_folder: bool = True
    embed: bool = True
    lightmaps: bool = True
    mode: Mode = "default"


@dataclass(frozen=True)
class LoadedModel:
    """A sound model and what was found out about it.

    ``model`` is a view without what a tolerant reader leaves out (``converter.checks.recover``);
    error findings say what that is.
    """

    model: MshModel
    name: str
    decision: Decision
    wear: list[str]
    scene: Scene
    findings: list[Finding]
    dress: Appearance | None = None

    @property
    def tolerant(self) -> bool:
        """Whether something is left out."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        scene = self.scene
        triangles = sum(scene.triangle_count(part.mesh) for part in scene.parts)
        clip = f", {scene.frame_count} frames" if scene.tracks else ""
        return f"{len(scene.nodes)} nodes, {len(scene.parts)} parts, {triangles:,} triangles{clip}"


def load(path: Path, entry: str | None, options: ExportOptions) -> LoadedModel:
    """Read a core model and decode it.

    Args:
        path: a model file or an archive.
        entry: the archive entry, where there are several models.
        options: dialect, subframes, keys and paths matter here.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    archive = read_nres(read_file(path), str(path))
    return load_from(archive, path, find_model(archive, entry), options)


def load_from(
    archive: Archive,
    path: Path,
    index: int | None,
    options: ExportOptions,
    fallback: Callable[[], Decision | None] | None = None,
) -> LoadedModel:
    """Decode a core model of an archive that is already open.

    Args:
        archive: the archive, or the model's own container.
        path: its path.
        index: directory index of the model's entry; ``None``: the archive is the model.
        options: as in :func:`load`.
        fallback: what to take where the file has no evidence of a dialect.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    model = model_at(archive, index, path.name)
    if options.mode == "strict":
        from .check import require_strict

        require_strict(archive, path, index, "core model")
    model, findings = sound_model(model, options.mode)
    decision = decide(model, options.dialect)
    if decision.step == "d" and fallback is not None:
        decision = fallback() or decision
    text = wear_of(archive, path, index)
    wear = read_wear_names(text)
    scene = decode(
        model,
        decision.dialect,
        stem(readable(model.name)),
        wear=wear,
        subframes=options.subframes,
        stored_keys=options.stored_keys,
    )
    if options.paths:
        scene.paths = path_segments(model, scene)
    if options.points:
        from ...importers.control_points import points_in

        scene.points, found = points_in(scene, archive, path, index)
        findings = [*findings, *found]
    loaded = LoadedModel(model, readable(model.name), decision, wear, scene, findings)
    return with_dress(loaded, dress_of(text, path, options))


def require_scene_in_reach(scene: Scene, label: str) -> None:
    """Refuse on the way out what the way back would refuse: numbers that no place has.

    Raises:
        ConversionError: a coordinate beyond ``scene.MAX_COORDINATE``.
    """
    require_in_range("a position", scene.streams.positions, label)
    for node in scene.nodes:
        require_in_range(f"the transform of node {node.name!r}", node.translation, label)
    for track in scene.tracks:
        if track.translation is not None:
            what = f"a value of the animation of node {scene.nodes[track.node].name!r}"
            require_in_range(what, track.translation.values, label)


def with_dress(loaded: LoadedModel, dress: Appearance | None) -> LoadedModel:
    """The model with how its materials look; what was not found becomes findings."""
    return replace(loaded, dress=dress, findings=[*loaded.findings, *missing_looks(dress)])


def gltf_files(
    loaded: LoadedModel,
    target: Path,
    options: ExportOptions,
    *,
    sidecar: bool = True,
    root: Path | None = None,
) -> list[tuple[Path, bytes]]:
    """The files of a glTF export, in the order in which to write them; the glTF is last.

    Args:
        loaded: the model.
        target: the ``.glb`` or ``.gltf``.
        options: what to show and how.
        sidecar: whether to write one beside the glTF.
        root: the directory of a run over many models, which writes their pictures itself.
    """
    require_scene_in_reach(loaded.scene, loaded.name)
    dress = placed(loaded.dress, target, options, root)
    decision = loaded.decision
    extras = SourceExtras(dialect=decision.dialect.value, dialect_reason=decision.reason)
    about = Description(
        loaded.name,
        "",
        decision.dialect.value,
        decision.reason,
        "keys" if options.stored_keys else "samples",
        options.lod,
        options.group,
        __version__,
        loaded.wear,
        points=loaded.scene.points,
        tolerant=loaded.tolerant,
    )

    def document(extras: SourceExtras) -> Document:
        shown = GltfOptions(
            options.fps,
            options.lod,
            options.group,
            options.visible_only,
            options.vertex_ids,
            extras,
            dress,
        )
        return export_gltf(loaded.scene, shown)

    files = package(loaded.model.archive, about, extras, document, target, sidecar=sidecar)
    return files if root is not None else [*picture_files(dress, target), *files]


def package(
    archive: Archive,
    about: Description,
    extras: SourceExtras,
    document: Callable[[SourceExtras], Document],
    target: Path,
    *,
    sidecar: bool,
) -> list[tuple[Path, bytes]]:
    """The files of a glTF document and its sidecar, in the order in which to write them.

    Args:
        archive: the source, as it was read.
        about: the sidecar's description; its digest is filled in here.
        extras: of scene 0; source, digest and sidecar are added.
        document: makes the document.
        target: the ``.glb`` or ``.gltf``.
        sidecar: whether to write one.
    """
    data = bytes_as_read(archive)
    digest = sha256(data)
    about = replace(about, source_sha256=digest)
    extras = {**extras, "source": about.source, "digest": digest, "pair": about.pair}
    files: list[tuple[Path, bytes]] = []
    if sidecar:
        path = sidecar_path(target)
        extras["sidecar"] = readable(path.name)
        files.append((path, write_sidecar(Sidecar(about, data))))
    made = document(extras)
    if target.suffix.lower() == ".gltf":
        buffer = buffer_path(target)
        if made.buffer:
            files.append((buffer, made.buffer))
        return [*files, (target, gltf_bytes(made, buffer.name))]
    return [*files, (target, glb_bytes(made))]


def buffer_path(target: Path) -> Path:
    """Where the buffer of a ``.gltf`` lies."""
    return target.with_suffix(".bin")


@dataclass(frozen=True)
class ImportOptions:
    """How glTF becomes a model; see ``gltf2msh --help``."""

    dialect: str = "auto"
    scene: str | None = None
    clip: str | None = None
    fps: float | None = None
    rigid_skin: bool = False
    ignore_scale: bool = False
    reduce: bool = True
    verify: bool = True
    use_sidecar: bool = True
    lod_shares: tuple[float, ...] = ()
    weld: float = 0.0


@dataclass
class Returned:
    """A model that came back from glTF.

    Attributes:
        name: the model's file name.
        data: its bytes.
        dialect: the dialect it is written in.
        changes: what differs from the sidecar; empty where nothing does.
        report: every node and part with kept, rebuilt, new or deleted, and why.
        warnings: what the user should know.
        kept_all: nothing was changed, and the bytes are those of the source.
        rebuilt: there was no sidecar.
        wear: material names by row, of a model that was rebuilt.
    """

    name: str
    data: bytes
    dialect: str
    changes: list[Change] = field(default_factory=list)
    report: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept_all: bool = False
    rebuilt: bool = False
    wear: list[str] | None = None


def to_model(
    gltf: Path, sidecar: Path | None = None, options: ImportOptions | None = None
) -> Returned:
    """Turn a glTF file into a model, with what the sidecar keeps.

    Args:
        gltf: the file.
        sidecar: its sidecar; found by the name in the file, then by stem, if not given.
        options: how to read and rebuild.

    Raises:
        ConversionError: unreadable, another model's sidecar, beyond the format's limits, or the
            written model would not show what the file shows.
    """
    from ...importers.gltf import read_gltf  # pygltflib: only the way back needs it

    options = options or ImportOptions()
    beside = sidecar is not None or sidecar_path(gltf).is_file()
    given = read_gltf(
        gltf,
        scene=options.scene,
        all_scenes=options.use_sidecar and beside,
        clip=options.clip,
        fps=options.fps,
        rigid_skin=options.rigid_skin,
        ignore_scale=options.ignore_scale,
    )
    found = find_sidecar(gltf, sidecar, given.info) if options.use_sidecar else None
    try:
        out = (
            rebuild_alone(gltf, given, options)
            if found is None
            else merge_with_sidecar(gltf, given, found, options)
        )
    except ConversionError as error:
        raise error.at(file=str(gltf)) from None
    out.warnings[:0] = given.warnings
    return out


def merge_with_sidecar(
    gltf: Path, given: Imported, found: Path, options: ImportOptions
) -> Returned:
    """The model of a sidecar with what a file changed.

    Args:
        gltf: the glTF or OBJ file, for messages and buffers beside it.
        given: what it holds.
        found: its sidecar.
        options: as in :class:`ImportOptions`.

    Raises:
        ConversionError: the sidecar is not this file's, or damaged; or the edit cannot be kept.
    """
    kept = read_sidecar(read_file(found), str(found))
    about = kept.description
    digest = given.info.get("digest")
    if digest is not None and digest != about.source_sha256:
        raise ConversionError(
            "sidecar belongs to another model",
            file=str(found),
            value=f"it holds {about.source} with digest {about.source_sha256}",
            expected=f"{given.info.get('source', 'the model')} with digest {digest}",
            hint="use the sidecar that was written with this glTF",
        )
    pair = given.info.get("pair")
    if pair is not None and pair not in (about.pair, about.pair_of_obj):
        raise ConversionError(
            "sidecar is of another conversion of this model",
            file=str(found),
            value=f"digest {about.pair}",
            expected=f"{pair}, as {gltf.name} says",
            hint="convert the model again with the options of the glTF; if a run was interrupted, "
            "repeat it with --force",
        )
    if about.kind == "model" and options.dialect not in ("auto", about.dialect):
        raise ConversionError(
            "the sidecar's model has another dialect",
            file=str(found),
            value=options.dialect,
            expected=about.dialect,
            hint="convert it again with msh2gltf --dialect, or rebuild it with --no-sidecar",
        )
    if about.kind != "model":
        from .maps import map_back

        return map_back(kept, given, options, str(found))
    dialect = Dialect(about.dialect)
    model = read_model(read_nres(kept.source, str(found)), about.source)
    stored, (model, _) = model, sound_model(model, about.mode)
    scene = decode(
        model, dialect, stem(about.source), wear=about.materials, stored_keys=about.clip == "keys"
    )
    # Blender writes a clip of its own for every object that gets its first key
    given.tracks += given.other_tracks
    shown = (given.info.get("lod", about.lod), given.info.get("group", about.group))
    names = {node.name for node in scene.nodes}
    noise = POSE_NOISE * model_size(scene)
    given.warnings += unread_points(given.items, about.points, names, noise)
    identified = identify(given, scene, shown)
    _add_lods(identified, scene, options)
    plan = compare_model(identified, scene, lightmap=dialect is Dialect.RETAIL)
    given.warnings += plan.warnings
    out = Returned(about.source, bytes(kept.source), dialect.value, plan.changes)
    if not plan.changes:
        out.kept_all = True
        return out
    from ..rebuild.context import RebuildOptions
    from ..rebuild.model import edited_model

    built = edited_model(
        plan, model, stored=scene, dialect=dialect, options=RebuildOptions(options.reduce)
    )
    if about.tolerant:
        if (kept_broken := put_back(built.model, stored)) is None:
            raise refuse_edit(plan.changes, str(found))
        built.model = kept_broken
        built.warnings.append("what is broken was kept as it is, as --tolerant left it out")
    _written(out, built, identified, dialect, options, before=model, mode=about.mode)
    moved = any(not part.unchanged for part in plan.parts) or bool(plan.deleted_parts)
    beside = [path.with_suffix(".bas") for path in (gltf, found)]
    if moved and any(path.is_file() for path in beside):
        out.warnings.append("triangles may be renumbered: check the model's .bas, which names them")
    return out


def rebuild_alone(gltf: Path, given: Imported, options: ImportOptions) -> Returned:
    """A model made of nothing but a file; arguments as of :func:`merge_with_sidecar`.

    Raises:
        ConversionError: nothing to make a model of, or beyond the format's limits.
    """
    from ..rebuild.context import RebuildOptions
    from ..rebuild.materials import wear_rows
    from ..rebuild.model import new_model

    if (kind := given.info.get("kind", "model")) != "model":
        raise ConversionError(
            f"is a {kind.replace('_', ' ')}, which cannot be rebuilt without its sidecar",
            hint="keep the .msh-sidecar beside it, or give it with --sidecar PATH",
        )
    if options.weld > 0:
        grid = np.float64(options.weld)
        snapped = np.rint(given.streams.positions.astype(np.float64) / grid) * grid
        given.streams.positions = snapped.astype(np.float32)
    stated = given.info.get("dialect", "spec")
    dialect = Dialect(stated if options.dialect == "auto" else options.dialect)
    name = given.info.get("source") or f"{stem(readable(gltf.name))}.msh"
    others = sorted(gltf.parent.glob(f"*{SUFFIX}")) if options.use_sidecar else []
    if others:
        given.warnings.append(
            f"no sidecar of this file was found, though {printable(others[0].name)} lies beside "
            "it: everything is rebuilt (--sidecar PATH keeps what glTF cannot hold)"
        )
    if given.other_tracks:
        given.warnings.append("several clips: the first is read (--clip chooses)")
    if passed := sum(map(is_point, given.items)):
        given.warnings.append(f"{passed} control points (NAME.point) are passed by")
    identified = identify(given, None, given.shown)
    _add_lods(identified, None, options)
    if not identified.scene.nodes:
        raise ConversionError("has no nodes to make a model of")
    built = new_model(identified, name, dialect, RebuildOptions(options.reduce))
    out = Returned(name, b"", dialect.value, rebuilt=True)
    _written(out, built, identified, dialect, options)
    out.wear, said = wear_rows(identified.scene)
    out.warnings += said
    return out


def _add_lods(identified: Identified, kept: Scene | None, options: ImportOptions) -> None:
    if options.lod_shares:
        from ..rebuild.lods import generate_lods

        node_of = {k: i for i, k in identified.stored_of.items()}
        parts = kept.parts if kept is not None else []
        taken = {(node_of[p.node], p.lod, p.group) for p in parts if p.node in node_of}
        generate_lods(identified.scene, options.lod_shares, taken)


def _written(
    out: Returned,
    built: Rebuilt,
    identified: Identified,
    dialect: Dialect,
    options: ImportOptions,
    before: MshModel | None = None,
    mode: Mode = "default",
) -> Returned:
    out.data = write_model(built.model)
    out.report, out.warnings = built.report, built.warnings
    if options.verify:
        from .verify import verify

        again, _ = sound_model(read_model(read_nres(out.data, out.name), out.name), mode)
        verify(again, identified, built.rows, dialect, before)
    return out


def find_sidecar(gltf: Path, given: Path | None, info: FileInfo) -> Path | None:
    """The sidecar: as given, as the glTF names it, or by its stem; ``None`` for a stranger.

    Raises:
        ConversionError: the file names a sidecar that is not there.
    """
    if given is not None:
        return given
    named = info.get("sidecar")
    beside = sidecar_path(gltf)
    candidates = [beside]
    # only a plain file name: nothing inside a file leads out of its directory
    if isinstance(named, str) and named and not set(named) & set("/\\:\0"):
        candidates.insert(0, gltf.parent / named)
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    if not isinstance(named, str):
        return None
    raise ConversionError(
        "its sidecar is missing",
        file=str(gltf),
        expected=str(candidates[0]),
        hint="give it with --sidecar PATH, or rebuild everything with --no-sidecar",
    )
