"""The files of one glTF export: the document, its buffer, its pictures and the sidecar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...exporters.gltf_file import Document, glb_bytes, gltf_bytes
from ..formats.kinds import ASSEMBLY_KINDS
from ..formats.names import readable
from ..formats.sidecar import Description, Sidecar, sha256, write_sidecar
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from .appearance import in_folder, picture_files
from .loaded import LoadedScene
from .sidecars import sidecar_path

#: Outputs in the order in which to write them.
Files = list[tuple[Path, bytes]]


def output_files(
    loaded: LoadedScene,
    about: Description,
    extras: SourceExtras,
    document: Callable[[SourceExtras, Appearance | None], Document],
    *,
    target: Path,
    options: ExportOptions,
    sidecar: bool,
    root: Path | None,
    attached: Sequence[Sidecar] = (),
) -> Files:
    """Make the files of a glTF document and its sidecar; the glTF is the last.

    Args:
        loaded: the source, as it was read.
        about: the sidecar's description; its digest is filled in here.
        extras: of scene 0; source, digest and sidecar are added.
        document: makes the document of its extras and the appearance of its materials.
        target: the ``.glb`` or ``.gltf``.
        options: whether pictures go into the glTF.
        sidecar: whether to write one.
        root: the directory of a run over many models, which writes their pictures itself.
        attached: sidecars that are attached to its own.
    """
    appearance = in_folder(loaded.appearance, target, options, root)
    data = loaded.stored
    digest = sha256(data)
    about = replace(about, source_sha256=digest)
    extras = {**extras, "source": about.source, "digest": digest, "pair": about.pair}
    files = [] if root is not None else picture_files(appearance, target)
    if sidecar:
        beside = sidecar_path(target)
        extras["sidecar"] = readable(beside.name)
    made = document(extras, appearance)
    if sidecar:
        entries = [] if appearance is None else appearance.entries
        about = replace(about, shown=made.surfaces(), library=entries)
        if about.kind in ASSEMBLY_KINDS:
            from ..scene.inside import material_texts  # models and maps do without

            names = [material["name"] for material in made.json.get("materials", [])]
            about = replace(about, inside=about.inside | material_texts(names))
        files.append((beside, write_sidecar(Sidecar(about, data, [*attached]))))
    if target.suffix.lower() == ".gltf":
        buffer = buffer_path(target)
        if made.buffer:
            files.append((buffer, made.buffer))
        return [*files, (target, gltf_bytes(made, buffer.name))]
    return [*files, (target, glb_bytes(made))]


def buffer_path(target: Path) -> Path:
    """Return where the buffer of a ``.gltf`` lies."""
    return target.with_suffix(".bin")
