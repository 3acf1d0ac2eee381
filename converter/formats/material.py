"""Materials (``MAT0`` entries of ``Material.lib``) as data, every byte kept.

Source: docs/reference/material.md. The order of the parts (header, all phases, all
tracks, each followed by its keys) is derived from the files: it accounts for every byte of
every entry, and the keys' entries are rows of the phases.

Reading an entry is ``importers.material``, writing it ``exporters.material``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import Literal

import numpy as np

from ..errors import ConversionError, printable
from ..findings import Rule
from ..numeric.arrays import Records
from .archive import Archive, decode_text

_rule = partial(Rule, "MAT0", source="docs/reference/material.md")

#: Type of a material's directory entry: ``MAT0``.
MATERIAL_TYPE = int.from_bytes(b"MAT0", "little")
#: The version of the header that is understood: the directory's ``attr2``.
MATERIAL_VERSION = 6
#: The material that stands for an unknown name.
DEFAULT_MATERIAL = "DEFAULT"

# What importers.material refuses.
MATERIAL_VERSION_RULE = _rule(
    "material-version",
    "error",
    "A material's version (attr2) is 6.",
    why="Other versions have other headers.",
    fix="Take the entry from the game again.",
)
MATERIAL_HEADER = _rule(
    "material-header",
    "error",
    "A material has a header of 14 bytes.",
    source="docs/reference/material.md#header",
    why="The counts are not there.",
    fix="The entry was cut: take it from a backup.",
)
MATERIAL_PHASES = _rule(
    "material-phases",
    "error",
    "A material has a phase, and all of them fit the entry.",
    source="docs/reference/material.md#header",
    why="The game would read past the entry.",
    fix="Correct the count.",
)
MATERIAL_TRACKS = _rule(
    "material-tracks",
    "error",
    "Tracks fit the entry.",
    why="The game would read past the entry.",
    fix="Correct the count.",
)
MATERIAL_KEYS = _rule(
    "material-keys",
    "error",
    "A track's keys fit the entry.",
    why="The game would read past the entry.",
    fix="Correct the count.",
)


class MaterialKind(IntEnum):
    """How a material is drawn: the directory's ``attr1``. Other values occur and are kept."""

    OPAQUE = 0
    LIT_SKIN = 2  # the texture's alpha is ignored
    ALPHA_BLEND = 4
    KIND_5 = 5  # meaning unknown
    ADDITIVE = 8


@dataclass(frozen=True)
class Track:
    """What animates some of a material's values.

    Attributes:
        word: mode and lerp mask.
        keys: ``MATERIAL_KEY_DTYPE``: row of the phases, end in milliseconds.
    """

    word: int
    keys: Records

    @property
    def mode(self) -> int:
        """Bits 0-2: how it goes on at its end."""
        return self.word & 7

    @property
    def lerp_mask(self) -> int:
        """The bits above: which values are blended between phases."""
        return self.word >> 3


@dataclass(frozen=True)
class Material:
    """One material. The properties speak of the first phase.

    Attributes:
        name: the entry's name.
        kind: a :class:`MaterialKind`, or another number.
        header: one ``MATERIAL_HEADER_DTYPE`` record.
        phases: ``PHASE_DTYPE``, at least one.
        tracks: the animation, mostly none.
        trailing: what follows the tracks; empty in the game's files.
    """

    name: str
    kind: int
    header: Records
    phases: Records
    tracks: Sequence[Track] = ()
    trailing: bytes = b""

    @property
    def surface(self) -> int:
        """The surface id."""
        return int(self.header["surface"][0])

    @property
    def texture(self) -> str:
        """The texture's entry name in ``Textures.lib``, ``""`` = none. Case does not matter."""
        return decode_text(self.phases["texture"][0].tobytes().partition(b"\0")[0])

    @property
    def cell(self) -> int:
        """Rectangle of the texture's ``Page``, -1 = the whole texture."""
        return int(self.phases["cell"][0])

    @property
    def diffuse(self) -> tuple[float, float, float]:
        """Red, green, blue, 0..1."""
        return self._rgb("diffuse")

    @property
    def specular(self) -> tuple[float, float, float]:
        """Red, green, blue, 0..1."""
        return self._rgb("specular")

    @property
    def self_light(self) -> tuple[float, float, float]:
        """Red, green, blue, 0..1: the *ambient* colour; the emissive bytes are never read."""
        return self._rgb("ambient")

    @property
    def alpha(self) -> float:
        """The alpha drawn, 0..1: the ambient alpha, which is per cent (more than 100 is 1)."""
        return min(1.0, int(self.phases["ambient"][0, 3]) / 100)

    @property
    def additive(self) -> bool:
        """Whether it is added to the background."""
        return self.kind == MaterialKind.ADDITIVE

    @property
    def translucent(self) -> bool:
        """Whether the background shows through: alpha blend, or additive."""
        return self.kind in (MaterialKind.ALPHA_BLEND, MaterialKind.ADDITIVE)

    def _rgb(self, field: str) -> tuple[float, float, float]:
        red, green, blue = (value / 255 for value in self.phases[field][0, :3].tolist())
        return red, green, blue


def new_material(
    like: Material,
    name: str,
    texture: str | None = None,
    *,
    diffuse: tuple[float, float, float] | None = None,
    alpha: float | None = None,
    self_light: tuple[float, float, float] | None = None,
    kind: int | None = None,
) -> Material:
    """Return a copy of a material with other values, in every phase.

    The header's unknown words and the tracks are taken over: how the game reads others
    is unknown. Colours become the nearest of 256 steps.

    Args:
        like: a material of the game, best one that is used on such things.
        name: the new entry's name.
        texture: an entry of ``Textures.lib``, ``""`` = none; the whole of it, whatever rectangle
            the other one shows.
        diffuse: red, green, blue, 0..1.
        alpha: 0..1.
        self_light: red, green, blue, 0..1.
        kind: a :class:`MaterialKind`.

    Raises:
        ConversionError: a texture's name that does not fit, or a number outside 0..1.
    """
    phases = like.phases.copy()

    def steps(field: str, values: Sequence[float], top: int) -> list[int]:
        if not all(0 <= value <= 1 for value in values):
            raise ConversionError(
                f"{field} of material {printable(name)!r} does not fit", value=list(values), expected="0..1"
            )
        return [round(value * top) for value in values]

    if texture is not None:
        try:
            raw = texture.encode("cp1251")
        except UnicodeEncodeError:
            raw = b"\0"
        room = phases.dtype["texture"].itemsize
        if len(raw) > room or b"\0" in raw:
            raise ConversionError(
                f"texture name of material {printable(name)!r} does not fit",
                value=printable(texture),
                expected=f"at most {room} bytes of CP1251",
            )
        phases["texture"] = np.frombuffer(raw.ljust(room, b"\0"), np.uint8)
        phases["cell"] = -1
    if diffuse is not None:
        phases["diffuse"][:, :3] = steps("diffuse", diffuse, 255)
    if self_light is not None:
        phases["ambient"][:, :3] = steps("self_light", self_light, 255)
    if alpha is not None:
        phases["ambient"][:, 3] = steps("alpha", [alpha], 100)
    return replace(like, name=name, kind=like.kind if kind is None else kind, phases=phases)


@dataclass(frozen=True)
class FoundMaterial:
    """Where a material's name leads.

    Attributes:
        index: directory index.
        step: which step of the rule found it: its name, ``DEFAULT``, or the first entry.
    """

    index: int
    step: Literal["name", "DEFAULT", "first"]


def find_material(archive: Archive, name: str | bytes) -> FoundMaterial | None:
    """The entry that the game takes for a material's name: that name, else ``DEFAULT``, else
    entry 0 (docs/reference/material.md); ``None``: the archive is empty.

    Args:
        archive: ``Material.lib``.
        name: a name from a WEAR; case does not matter.
    """
    found = archive.find(name)
    if found is not None:
        return FoundMaterial(found, "name")
    found = archive.find(DEFAULT_MATERIAL)
    if found is not None:
        return FoundMaterial(found, "DEFAULT")
    return FoundMaterial(0, "first") if archive.entries else None
