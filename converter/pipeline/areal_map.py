"""Export an areal map to glTF, which is view-only, and import it again. No printing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...exporters.gltf_areal import export_areal_map
from ...exporters.gltf_file import Document
from ...importers.areal_map import read_areal_map
from ...importers.nres import read_nres
from .. import __version__
from ..checks.recover_maps import checked_areals
from ..edits.compare_areal_map import compare_areal_map
from ..formats.archive import Archive
from ..formats.areal_map import ArealMap
from ..formats.kinds import Kind
from ..formats.names import readable, stem
from ..formats.sidecar import Description, Sidecar
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from ..scene.scene import ImportedScene, require_in_range
from .gltf_output import Files, output_files
from .import_result import ImportResult
from .loaded import LoadedScene
from .options import ExportOptions
from .terrain import container_at


@dataclass(frozen=True, kw_only=True)
class LoadedArealMap(LoadedScene):
    """A valid areal map; ``areals``: its tables."""

    kind = Kind.AREAL_MAP

    areals: ArealMap

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        areals = self.areals
        return (
            f"areal map, {len(areals.records):,} areals, {len(areals.vertices):,} vertices, "
            f"{areals.cells_x} x {areals.cells_y} cells"
        )


def load_areal_map(
    archive: Archive, path: Path, index: int | None, options: ExportOptions
) -> LoadedArealMap:
    """Read an areal map; arguments as of ``dispatch.load``.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    own, name = container_at(archive, path, index)
    areals, findings = checked_areals(read_areal_map(own), options.mode)
    return LoadedArealMap(name=readable(name), archive=own, findings=findings, areals=areals)


def areal_map_files(
    loaded: LoadedArealMap,
    target: Path,
    options: ExportOptions,
    *,
    sidecar: bool,
    root: Path | None,
) -> Files:
    """Make the files of an areal map's glTF; arguments as of ``dispatch.gltf_files``."""
    require_in_range("a position", loaded.areals.vertices, loaded.name)  # the import refuses it
    about = Description(
        loaded.name,
        "",
        dialect="",
        dialect_reason="",
        clip="",
        lod=0,
        group=0,
        converter=__version__,
        materials=[],
        kind=loaded.kind,
        tolerant=loaded.tolerant,
    )

    def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
        return export_areal_map(loaded.areals, stem(loaded.name), extras)

    return output_files(
        loaded,
        about,
        SourceExtras(),
        document,
        target=target,
        options=options,
        sidecar=sidecar,
        root=root,
    )


def import_areal_map(kept: Sidecar, given: ImportedScene, label: str) -> ImportResult:
    """Return the areal map of the sidecar, and report where the glTF shows another.

    Args:
        kept: the sidecar.
        given: the glTF file, which is view-only (``docs/reference/gltf.md``).
        label: what messages call the sidecar.

    Raises:
        ConversionError: unreadable.
    """
    about = kept.description
    out = ImportResult(about.source, bytes(kept.source), "", kept_all=True)
    areals, _ = checked_areals(read_areal_map(read_nres(kept.source, label)), about.mode)
    out.not_applied += compare_areal_map(given, areals)
    return out
