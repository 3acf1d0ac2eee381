"""What every kind has: what is loaded of a file, and the files of its glTF."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...exporters.gltf_file import Document, glb_bytes, gltf_bytes
from ..findings import Finding
from ..formats.kinds import ASSEMBLY_KINDS, Kind
from ..formats.names import file_stem, readable
from ..formats.nres import Archive, bytes_as_read, read_nres
from ..formats.sidecar import Description, Sidecar, sha256, sidecar_path, write_sidecar
from ..options import ExportOptions, ImportOptions
from ..scene.appearance import Appearance
from ..scene.extras import SourceExtras
from ..scene.scene import ImportedScene
from .appearance import in_folder, picture_files

if TYPE_CHECKING:
    from ..formats.model import MshModel
    from ..scene.dialect import Decision
    from .import_result import ImportResult

Json = dict[str, Any]
#: Outputs in the order in which to write them.
Files = list[tuple[Path, bytes]]


@dataclass(frozen=True)
class Source:
    """A file that is loaded, or an entry of it.

    Attributes:
        archive: the file, which is open; ``None``: a unit or a mission, which is no container.
        index: directory index of the entry; ``None``: the file itself.
        model: the tables of a model, where they were read already.
        fallback: the dialect of a model whose file has no evidence of one.
    """

    path: Path
    archive: Archive | None = None
    index: int | None = None
    model: MshModel | None = None
    fallback: Callable[[], Decision | None] | None = None

    @property
    def file(self) -> Archive:
        """The file's container."""
        assert self.archive is not None, "units and missions are not in containers"
        return self.archive

    def own(self) -> tuple[Archive, str]:
        """Return the container and the name of the entry, or of the file itself. Raises ConversionError: the entry is
        not an NRes file.
        """
        if self.index is None:
            return self.file, self.path.name
        entry = self.file.entries[self.index]
        return read_nres(entry.payload, self.file.label), entry.name


@dataclass(frozen=True)
class EditedFile:
    """A glTF file that was edited, with the sidecar that was written beside it.

    Attributes:
        gltf: the file, for messages and for what lies beside it.
        given: what it holds; an import changes it.
        seen: the same as it was read, for the judge; ``None``: nobody compares.
        sidecar: what messages call that.
    """

    gltf: Path
    given: ImportedScene
    seen: ImportedScene | None
    kept: Sidecar
    sidecar: Path
    options: ImportOptions


@dataclass(frozen=True, kw_only=True)
class Loaded(ABC):
    """A valid file or entry of one kind, and what was found out about it.

    Attributes:
        name: file or entry name.
        findings: errors are about what a tolerant reader leaves out of it.
    """

    kind: ClassVar[Kind]

    name: str
    findings: list[Finding] = field(default_factory=list)

    @property
    def tolerant(self) -> bool:
        """Whether something is left out."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    @abstractmethod
    def summary(self) -> str:
        """What it is, in a few figures."""

    @property
    def file_stem(self) -> str:
        """What its glTF is called, without an ending."""
        return file_stem(self.name)

    def why_no_ranges(self, options: ExportOptions) -> str:
        """Say why ``--clips states`` makes no clip of a range; empty where it does, or nobody asked for it."""
        return ""

    @classmethod
    @abstractmethod
    def load(cls, source: Source, options: ExportOptions) -> Self:
        """Read it. Raises ConversionError: unreadable, not in a game (units and missions), or a finding that is
        refused.
        """

    @abstractmethod
    def files(self, target: Path, options: ExportOptions, *, sidecar: bool = True, root: Path | None = None) -> Files:
        """Make the files of an export, in the order in which to write them; the glTF is last. Raises ConversionError: a
        coordinate that the import would refuse.

        Args:
            target: the ``.glb`` or ``.gltf``; the ``.png`` of a texture.
            root: the directory of a run over many models, which writes their pictures itself.
        """


@dataclass(frozen=True)
class Exported:
    """What a kind puts into its glTF and its sidecar.

    Attributes:
        about: the sidecar's description, without the digest.
        extras: of scene 0, without source, digest and sidecar.
        document: makes the document of its extras and the appearance of its materials.
        attached: makes the sidecars that are attached to its own.
    """

    about: Description
    extras: SourceExtras
    document: Callable[[SourceExtras, Appearance | None], Document]
    attached: Callable[[], list[Sidecar]] = list


@dataclass(frozen=True, kw_only=True)
class LoadedScene(Loaded):
    """What becomes glTF: a model, a terrain, an areal map, a unit or a mission.

    Attributes:
        appearance: its materials and textures; ``None`` where nobody looked for them.
    """

    appearance: Appearance | None = None

    @property
    @abstractmethod
    def stored(self) -> memoryview | bytes:
        """The bytes of the file or entry, which the sidecar keeps."""

    @abstractmethod
    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF. Raises ConversionError: a coordinate that the import would refuse."""

    def files(self, target: Path, options: ExportOptions, *, sidecar: bool = True, root: Path | None = None) -> Files:
        """Make the files of its glTF."""
        exported, data = self.exported(options), self.stored
        appearance = in_folder(self.appearance, target, options, root)
        about = replace(exported.about, source_sha256=sha256(data))
        extras: SourceExtras = {
            **exported.extras,
            "source": about.source,
            "digest": about.source_sha256,
            "pair": about.pair,
        }
        files = [] if root is not None else picture_files(appearance, target)
        beside = sidecar_path(target)
        if sidecar:
            extras["sidecar"] = readable(beside.name)
        made = exported.document(extras, appearance)
        if sidecar:
            entries = [] if appearance is None else appearance.entries
            about = replace(about, shown=made.surfaces(), library=entries)
            if about.kind in ASSEMBLY_KINDS:
                from ..scene.assembly import material_texts  # models and maps do without

                names = [material["name"] for material in made.json.get("materials", [])]
                about = replace(about, inside=about.inside | material_texts(names))
            files.append((beside, write_sidecar(Sidecar(about, data, exported.attached()))))
        if target.suffix.lower() == ".gltf":
            buffer = target.with_suffix(".bin")
            if made.buffer:
                files.append((buffer, made.buffer))
            return [*files, (target, gltf_bytes(made, buffer.name))]
        return [*files, (target, glb_bytes(made))]

    @staticmethod
    @abstractmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to what its sidecar keeps. Raises ConversionError: unreadable, or an edit that
        the game cannot hold.
        """


@dataclass(frozen=True, kw_only=True)
class LoadedContainer(LoadedScene):
    """An NRes file: a model, a terrain or an areal map; ``archive``: its own container."""

    archive: Archive

    @property
    def stored(self) -> memoryview | bytes:
        """The bytes of the file or entry, which the sidecar keeps."""
        return bytes_as_read(self.archive)

    @abstractmethod
    def describe(self) -> Json:
        """Return the facts about it as plain JSON values, as ``msh-inspect`` shows them."""

    def facts(self, own: Json) -> Json:
        """Return what is said of every container, with facts of its own between."""
        return {
            "kind": self.kind,
            "name": self.name,
            "bytes": self.archive.total_size,
            "summary": self.summary,
            **own,
            "entries": list_entries(self.archive),
            "findings": [finding.facts() for finding in self.findings],
        }


def list_entries(archive: Archive) -> list[Json]:
    """The directory of an NRes file."""
    return [
        {
            "index": i,
            "name": entry.name,
            "type": entry.type_text,
            "attr1": entry.attr1,
            "attr2": entry.attr2,
            "attr3": entry.attr3,
            "size": entry.size,
            "offset": entry.data_offset,
        }
        for i, entry in enumerate(archive.entries)
    ]
