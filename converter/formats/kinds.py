"""The kinds of input that the converter tells apart, and how a container is recognised."""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum

from .archive import Archive
from .tables import AREAL_MAP_TYPE, CORE_MODEL_TYPES, TERRAIN_TYPES, StreamType, TerrainStream


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
#: A mission is recognised by its name, in any case.
MISSION_FILE = "data.tma"
#: Type of a core model's entry in an archive.
MODEL_TYPE = int.from_bytes(b"MESH", "little")
#: Tables that only a terrain has.
_TERRAIN_ONLY = {TerrainStream.DRAW_ORDER, TerrainStream.FACES}
#: What becomes glTF and has a sidecar.
SCENE_KINDS = (Kind.MODEL, Kind.TERRAIN, Kind.AREAL_MAP, Kind.UNIT, Kind.MISSION)
#: Those of them that place models of a game, and are not NRes files.
ASSEMBLY_KINDS = (Kind.UNIT, Kind.MISSION)


def archive_kind(archive: Archive) -> Kind:
    """Tell by its type ids what an NRes file is (``docs/reference/nres.md``, last paragraph)."""
    return kind_of_types(archive.type_ids)


def kind_of_types(types: Set[int]) -> Kind:
    """Tell the same by the type ids themselves."""
    if types >= CORE_MODEL_TYPES:
        return Kind.MODEL
    if types >= TERRAIN_TYPES and StreamType.INDICES not in types:
        return Kind.TERRAIN
    if AREAL_MAP_TYPE in types and max(types) <= 0xFF:
        return Kind.AREAL_MAP
    return Kind.ARCHIVE


def kind_by_name(types: Set[int], name: str) -> Kind:
    """Tell what a container is that lacks a table of what its name says: reading it says which.

    Args:
        types: the type ids of its entries.
        name: of the file or entry.
    """
    kind = kind_of_types(types)
    ending = name[-4:].lower()
    if kind is Kind.ARCHIVE and ending == ".map" and types and max(types) <= 0xFF:
        return Kind.AREAL_MAP
    if kind is Kind.ARCHIVE and ending == ".msh":
        return Kind.TERRAIN if types & _TERRAIN_ONLY else Kind.MODEL
    return kind
