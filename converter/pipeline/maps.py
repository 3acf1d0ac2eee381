"""The whole road for terrains and areal maps, both ways: files to files, as data. No printing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...exporters.gltf_areal import export_areal_map
from ...exporters.gltf_file import Document
from ...exporters.gltf_terrain import export_terrain
from ...exporters.terrain import write_terrain
from ...importers.areal_map import read_areal_map
from ...importers.nres import read_nres
from ...importers.terrain import read_terrain
from ...importers.wear import read_wear_names, wears_of_level
from .. import __version__
from ..checks.recover import refuse_edit
from ..checks.recover_maps import sound_areals, sound_terrain
from ..checks.terrain_structure import check_terrain
from ..edits.compare_model import Change
from ..edits.compare_terrain import compare_terrain
from ..errors import ConversionError
from ..findings import Finding
from ..formats.archive import Archive
from ..formats.areal_map import ArealMap
from ..formats.names import readable, stem
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import Terrain
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from ..scene.scene import Imported, require_in_range
from ..scene.terrain import TerrainScene, blend_weights, decode_terrain
from .appearance import dress_of, missing_looks, picture_files, placed
from .model import ExportOptions, ImportOptions, Returned, package


@dataclass(frozen=True)
class LoadedMap:
    """A sound terrain or areal map.

    Attributes:
        kind: ``terrain`` or ``areal map``.
        name: file or entry name.
        archive: its container.
        content: its tables.
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``; terrains only.
        findings: errors say what a tolerant reader left out of ``content``.
        scene: what a terrain looks like; ``None`` for an areal map.
        dress: how its materials look.
    """

    kind: str
    name: str
    archive: Archive
    content: Terrain | ArealMap
    wear: list[str]
    micro: list[str]
    findings: list[Finding]
    scene: TerrainScene | None = None
    dress: Appearance | None = None

    @property
    def tolerant(self) -> bool:
        """Whether something is left out."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        content = self.content
        if isinstance(content, Terrain):
            fine, coarse = (len(content.faces_of(level)) for level in (0, 1))
            return (
                f"terrain, {len(content.positions):,} vertices, {fine:,} fine and {coarse:,} "
                f"coarse faces, {content.across} x {content.down} squares"
            )
        return (
            f"areal map, {len(content.records):,} areals, {len(content.vertices):,} vertices, "
            f"{content.cells_x} x {content.cells_y} cells"
        )


def load_map(
    archive: Archive, path: Path, index: int | None, kind: str, options: ExportOptions
) -> LoadedMap:
    """Read a terrain or an areal map.

    Args:
        archive: the file.
        path: its path.
        index: directory index of the entry; ``None``: the file itself.
        kind: ``terrain`` or ``areal map``.
        options: where to look for textures.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    own, name = archive, path.name
    if index is not None:
        member = archive.entries[index]
        own, name = read_nres(member.payload, archive.label), member.name
    if options.mode == "strict":
        from .check import require_strict

        require_strict(archive, path, index, kind)
    if kind == "terrain":
        terrain, findings = sound_terrain(read_terrain(own, name), options.mode)
        first, second = wears_of_level(archive, path, index)
        wear, micro = read_wear_names(first), read_wear_names(second)
        title = readable(name)
        scene = decode_terrain(terrain, stem(title), wear, micro)
        dress = dress_of(first, path, options, blend_weights(scene))
        findings += missing_looks(dress)
        return LoadedMap(kind, title, own, terrain, wear, micro, findings, scene, dress)
    areals, findings = sound_areals(read_areal_map(own), options.mode)
    return LoadedMap(kind, readable(name), own, areals, [], [], findings)


def map_files(
    loaded: LoadedMap,
    target: Path,
    options: ExportOptions,
    *,
    sidecar: bool = True,
    root: Path | None = None,
) -> list[tuple[Path, bytes]]:
    """The files of a glTF export; as :func:`converter.pipeline.model.gltf_files`."""
    about = Description(
        loaded.name, "", "", "", "", 0, 0, __version__, loaded.wear, loaded.kind, loaded.micro,
        tolerant=loaded.tolerant,
    )  # fmt: skip
    content, scene = loaded.content, loaded.scene
    shown = content.positions if isinstance(content, Terrain) else content.vertices
    require_in_range("a position", shown, loaded.name)  # the way back would refuse it
    dress = placed(loaded.dress, target, options, root)

    def document(extras: SourceExtras) -> Document:
        if scene is not None:
            return export_terrain(scene, extras, dress, visible_only=options.visible_only)
        assert isinstance(content, ArealMap)
        return export_areal_map(content, stem(loaded.name), extras)

    files = package(loaded.archive, about, SourceExtras(), document, target, sidecar=sidecar)
    return files if root is not None else [*picture_files(dress, target), *files]


def map_back(kept: Sidecar, given: Imported, options: ImportOptions, label: str) -> Returned:
    """A terrain or an areal map with what a glTF file changed.

    Args:
        kept: the sidecar.
        given: the glTF file.
        options: ``verify`` matters here.
        label: what messages call the sidecar.

    Raises:
        ConversionError: unreadable, or an edit that the game cannot hold.
    """
    about = kept.description
    archive = read_nres(kept.source, label)
    out = Returned(about.source, bytes(kept.source), "", kept_all=True)
    if about.kind == "areal map":
        return _areal_back(sound_areals(read_areal_map(archive), about.mode)[0], given, out)
    terrain, _ = sound_terrain(read_terrain(archive, about.source), about.mode)
    scene = decode_terrain(terrain, stem(about.source), about.materials, about.micro)
    plan = compare_terrain(given, terrain, scene, about.materials)
    out.changes, out.warnings = plan.changes, plan.warnings
    if not plan.changes:
        return out
    if about.tolerant:
        raise refuse_edit(plan.changes, label)
    from ..rebuild.terrain import edited_terrain

    built = edited_terrain(plan, terrain)
    out.data, out.kept_all = write_terrain(built.terrain), False
    out.report = built.report
    out.warnings += built.warnings
    if options.verify:
        _verify(out, terrain)
    return out


def _verify(out: Returned, before: Terrain) -> None:
    """Read the written terrain again: nothing may be wrong with it that was not before.

    Raises:
        ConversionError: an internal error, better met here than in the game.
    """
    again = read_terrain(read_nres(out.data, out.name), out.name)
    known = {finding.code for finding in check_terrain(before)}
    for finding in check_terrain(again):
        if finding.code == "terrain-coarse-vertex":
            # it stays, says the rebuild page; the user should know
            out.warnings.append(finding.problem)
        elif finding.code not in known and finding.severity != "note":
            raise ConversionError(
                "the rebuilt terrain does not hold together, please report it",
                value=str(finding),
                hint="--no-verify writes it all the same",
            )


def _areal_back(areals: ArealMap, given: Imported, out: Returned) -> Returned:
    """The areal map of the sidecar; glTF is for looking (``gltf-mapping`` page, Areal map)."""
    used = {item.mesh for item in given.items if item.mesh >= 0}
    shown = [
        given.streams.positions[p.vertex_start : p.vertex_start + p.vertex_count]
        for mesh in sorted(used)
        for p in given.meshes[mesh].primitives
    ]
    points = np.concatenate([*shown, np.empty((0, 3), np.float32)]) + np.float32(0)
    stored = np.unique(areals.vertices + np.float32(0), axis=0)
    if not np.array_equal(np.unique(points, axis=0), stored):
        out.warnings.append(
            "an areal map is not read back from glTF: the file restored is the sidecar's "
            "(edit it with the functions of msh_gltf.converter.edits.areal_map)"
        )
        out.changes = [Change("areal map", "edited, and not taken over")]
    return out
