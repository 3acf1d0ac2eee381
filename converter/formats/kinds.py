"""The kinds of input that the converter tells apart, and how a container is recognised."""

from __future__ import annotations

from collections.abc import Sequence, Set
from difflib import get_close_matches
from enum import StrEnum

from ..errors import ConversionError, printable, quoted
from ..files import pass_on_unreadable
from .names import stem
from .nres import Archive, Entry, entry_types, is_nres, read_nres
from .objects import is_unit
from .texture import TEXM_TYPE

#: A payload with these types is a core model (docs/reference/nres.md).
CORE_MODEL_TYPES = frozenset({1, 2, 3, 6, 13})
#: A payload with these types is a terrain, unless it has a table that only models have.
TERRAIN_TYPES = frozenset({1, 2, 3, 11, 21})
#: The indices of a core model, which has no faces; draw order and faces of a terrain.
_MODEL_ONLY, _TERRAIN_ONLY = 6, {11, 21}
#: A payload with this type is an areal map.
AREAL_MAP_TYPE = 12
#: What an RsLi library starts with; the last byte is its version.
RSLI_MAGIC = b"NL\0\1"


class Kind(StrEnum):
    """What a file or an archive's entry is.

    The values are those of sidecars, manifests and the JSON of ``msh-inspect``.
    """

    MODEL = "model"
    TERRAIN = "terrain"
    AREAL_MAP = "areal map"
    TEXTURE = "texture"
    ARCHIVE = "archive"
    WEAR = "WEAR"
    MATERIAL = "MAT0"
    CONTROL_POINTS = "control points"
    BUILD_DAT = "BuildDat.lst"
    REGISTRY = "objects.rlb"
    UNIT = "unit"
    MISSION = "mission"
    RSLI = "RsLi"
    CONTROLLER = "controller"
    FOOTING = "footing"
    NODE_PROPERTIES = "node properties"
    UNKNOWN = "unknown"

    @property
    def file_format(self) -> str:
        """The name of its file format, as rules and ``--check --json`` have it."""
        return _FORMATS.get(self, self.value)

    @property
    def in_extras(self) -> str:
        """The value of ``extras.msh.kind`` in a glTF scene."""
        return self.value.replace(" ", "_")


_FORMATS = {Kind.MODEL: "core model", Kind.TEXTURE: "Texm"}
#: The mission of a directory, in any case.
MISSION_FILE = "data.tma"
#: Type of a core model's entry in an archive.
MODEL_TYPE = int.from_bytes(b"MESH", "little")
#: What becomes glTF and has a sidecar.
SCENE_KINDS = (Kind.MODEL, Kind.TERRAIN, Kind.AREAL_MAP, Kind.UNIT, Kind.MISSION)
#: Those of them that place models of a game, and are not NRes files.
ASSEMBLY_KINDS = (Kind.UNIT, Kind.MISSION)


def is_rsli(data: memoryview | bytes) -> bool:
    """Tell by its first bytes whether a file is an RsLi library."""
    return bytes(data[:4]) == RSLI_MAGIC


def archive_kind(archive: Archive) -> Kind:
    """Tell by its type ids what an NRes file is (``docs/reference/nres.md``, last paragraph)."""
    return kind_of_types(archive.type_ids)


def kind_of_types(types: Set[int]) -> Kind:
    """Tell the same by the type ids themselves."""
    if types >= CORE_MODEL_TYPES:
        return Kind.MODEL
    if types >= TERRAIN_TYPES and _MODEL_ONLY not in types:
        return Kind.TERRAIN
    if AREAL_MAP_TYPE in types and max(types) <= 0xFF:
        return Kind.AREAL_MAP
    return Kind.ARCHIVE


def kind_by_name(types: Set[int], name: str) -> Kind:
    """Tell what a container of some types is that lacks a table of what its name says: reading it says which."""
    kind = kind_of_types(types)
    ending = name[-4:].lower()
    if kind is Kind.ARCHIVE and ending == ".map":
        return Kind.AREAL_MAP
    if kind is Kind.ARCHIVE and ending == ".msh":
        return Kind.TERRAIN if types & _TERRAIN_ONLY else Kind.MODEL
    return kind


def content_kind(data: memoryview | bytes, label: str = "") -> Kind:
    """Tell by its content what an NRes file is; ``UNKNOWN`` where it is not one.

    Raises ConversionError: it is an NRes file with a broken directory.
    """
    return archive_kind(read_nres(data, label)) if is_nres(data) else Kind.UNKNOWN


def file_kind(archive: Archive) -> Kind:
    """Tell what an NRes file is: by content; by its name where a table is missing."""
    types = archive.type_ids
    kind = kind_by_name(types, archive.label)
    if kind is kind_of_types(types) or max(types, default=0) <= 0xFF:
        return kind
    # called a model, but its types are those of an archive's entries
    return Kind.ARCHIVE if any(is_nres(entry.start(4)) for entry in archive.entries) else kind


def entry_kind(entry: Entry, label: str) -> Kind:
    """Tell what an entry is, of which no more than the directory of a container is read; ``UNKNOWN``: no container.

    One that is called a model, and is nothing else, counts as one: reading it says what is wrong. Raises
    ConversionError: the container has a broken directory.
    """
    if not is_nres(entry.start(4)):
        return Kind.UNKNOWN
    kind = kind_by_name(entry_types(entry, label), entry.name)
    return Kind.MODEL if kind is Kind.ARCHIVE and entry.type_id == MODEL_TYPE else kind


def assembly_kind(name: str, head: memoryview | bytes) -> Kind | None:
    """Tell by a file's name, and its first four bytes or more, whether it is a unit or a mission; ``None``: neither."""
    if is_unit(head):
        return Kind.UNIT
    return Kind.MISSION if name.lower().endswith(".tma") and not is_nres(head) else None


def models_in(archive: Archive) -> list[int]:
    """Directory indices of the entries whose payload is a core model."""
    found = []
    for i, entry in enumerate(archive.entries):
        if is_nres(entry.start(4)):
            try:
                if kind_of_types(entry_types(entry, archive.label)) is Kind.MODEL:
                    found.append(i)
            except ConversionError as error:
                pass_on_unreadable(error)
                continue  # a broken entry: reading it by name reports the error
    return found


def kind_at(archive: Archive, index: int | None) -> Kind:
    """Tell which of ``SCENE_KINDS`` an entry is, or the file itself.

    Everything else counts as a model: reading it as one reports what is wrong.

    Raises ConversionError: the entry has a broken directory.
    """
    if index is None:
        kind = file_kind(archive)
    else:
        kind = entry_kind(archive.entries[index], archive.label)
    return kind if kind in SCENE_KINDS else Kind.MODEL


def find_model(archive: Archive, wanted: str | None) -> int | None:
    """Directory index of what a user means; ``None``: the file itself, which is not an archive.

    ``wanted``: an entry's name (case does not matter) or directory index; ``None``: the file itself, or the only model
    in it. Raises ConversionError: no such entry, or several models to choose from.
    """
    if wanted is None:
        if file_kind(archive) is not Kind.ARCHIVE:
            return None
        models = models_in(archive)
        if len(models) == 1:
            return models[0]
        names = [quoted(printable(archive.entries[i].name)) for i in models]
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        hint = f"choose one with --entry NAME: {shown}; or all with -o DIR"
        if not models:
            hint = "name the game's folder, or an archive with models; --unpack DIR takes entries of any kind"
            hint = "choose a texture with --entry NAME" if TEXM_TYPE in archive.type_ids else hint
        problem = f"archive holds {len(models)} models" if models else "archive holds no core model"
        raise ConversionError(problem, file=archive.label, hint=hint)
    index = entry_index(archive, wanted)
    if index is None:
        ordered = sorted(archive.entries, key=lambda entry: entry.type_id != MODEL_TYPE)
        raise no_such_entry(archive.label, wanted, [entry.name for entry in ordered])
    return index


def entry_index(archive: Archive, wanted: str) -> int | None:
    """Return the directory index of an entry by its name, in any case, or by that number; ``None``: there is none."""
    index = archive.find(wanted)
    if index is None and wanted.isdecimal() and int(wanted) < len(archive.entries):
        return int(wanted)
    return index


def no_such_entry(file: str, wanted: str, names: Sequence[str]) -> ConversionError:
    """Return the error for an entry that an archive does not have; its hint has the names most like it."""
    folded = wanted.casefold()
    near = [name for name in names if stem(name).casefold() == folded][:1]
    near = near or get_close_matches(wanted, names[:10_000], 3, cutoff=0.7)
    shown = " or ".join(quoted(printable(name)) for name in dict.fromkeys(near[:3]))
    hint = f"did you mean {shown}? " if shown else ""
    return ConversionError(
        "no such entry", file=file, value=wanted, hint=f"{hint}the entries are listed by msh-inspect {quoted(file)}"
    )
