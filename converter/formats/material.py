"""Materials (``MAT0`` entries of ``Material.lib``), every byte kept; edits of them and of other entries of libraries.

Source: docs/reference/material.md. The order of the parts (header, all phases, all
tracks, each followed by its keys) is derived from the files: it accounts for every byte of
every entry, and the keys' entries are rows of the phases.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ConversionError, called, plural, printable
from ..findings import Rules
from ..numeric.arrays import U8, Records, field_offset
from .names import field_text
from .nres import Archive, Entry

MATERIAL_HEADER_DTYPE = np.dtype(
    [
        ("phase_count", "<u2"),  # +0
        ("track_count", "<u2"),  # +2
        ("surface", "u1"),  # +4   surface id
        ("opaque5", "u1"),  # +5
        ("opaque6", "<f4"),  # +6
        ("opaque10", "<u4"),  # +10
    ]
)
assert MATERIAL_HEADER_DTYPE.itemsize == 14

PHASE_DTYPE = np.dtype(
    [
        ("ambient", "u1", (4,)),  # +0   rgb is the self-light; +3 the alpha drawn, per cent
        ("diffuse", "u1", (4,)),  # +4   rgba
        ("specular", "u1", (4,)),  # +8   rgba
        ("emissive", "u1", (4,)),  # +12  rgba, never read by the game
        ("power", "u1"),  # +16
        ("cell", "i1"),  # +17  rectangle of the texture's Page, -1 = the whole texture
        ("texture", "u1", (16,)),  # +18  NUL-padded; no NUL where all 16 bytes are used
    ]
)
assert PHASE_DTYPE.itemsize == 34

MATERIAL_TRACK_DTYPE = np.dtype(
    [
        ("word", "<u4"),  # +0   mode in bits 0-2, lerp mask above
        ("key_count", "<u2"),  # +4
    ]
)
assert MATERIAL_TRACK_DTYPE.itemsize == 6

MATERIAL_KEY_DTYPE = np.dtype(
    [
        ("phase", "<u2"),  # +0   the entry: row of the phases
        ("end", "<u2"),  # +2   milliseconds
        ("opaque4", "<u2"),  # +4   0
    ]
)
assert MATERIAL_KEY_DTYPE.itemsize == 6

_rule = Rules("MAT0", "docs/reference/material.md")

#: Type of a material's directory entry: ``MAT0``.
MATERIAL_TYPE = int.from_bytes(b"MAT0", "little")
#: The version of the header that is understood: the directory's ``attr2``.
MATERIAL_VERSION = 6
#: The material that stands for an unknown name.
DEFAULT_MATERIAL = "DEFAULT"

MATERIAL_VERSION_RULE = _rule("material-version", "error", "A material's version (attr2) is 6.")(
    why="Other versions have other headers.", fix="Take the entry from the game again."
)
MATERIAL_HEADER = _rule("material-header", "error", "A material has a header of 14 bytes.", "#header")(
    why="The counts are not there.", fix="The entry was cut: take it from a backup."
)
MATERIAL_PHASES = _rule(
    "material-phases", "error", "A material has a phase, and all of them fit the entry.", "#header"
)(why="The game would read past the entry.", fix="Correct the count.")
MATERIAL_TRACKS = _rule("material-tracks", "error", "Tracks fit the entry.")(
    why="The game would read past the entry.", fix="Correct the count."
)
MATERIAL_KEYS = _rule("material-keys", "error", "A track's keys fit the entry.")(
    why="The game would read past the entry.", fix="Correct the count."
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
        return field_text(self.phases["texture"][0])

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
        texture: an entry of ``Textures.lib``, ``""`` = none; the whole of it, whatever rectangle
            the other one shows.
        diffuse: red, green, blue, 0..1.
        alpha: 0..1.
        self_light: red, green, blue, 0..1.
        kind: a :class:`MaterialKind`.

    Raises ConversionError: a texture's name that does not fit, or a number outside 0..1.
    """
    phases = like.phases.copy()

    def steps(field: str, values: Sequence[float], top: int) -> list[int]:
        if not all(0 <= value <= 1 for value in values):
            raise ConversionError(
                f"{field} of material {called(name)} does not fit", value=list(values), expected="0..1"
            )
        return [round(value * top) for value in values]

    if texture is not None:
        try:
            raw = texture.encode("cp1251")
        except UnicodeEncodeError:
            raw = b"\0"
        room = phases.dtype["texture"].itemsize
        if len(raw) > room or b"\0" in raw:
            problem = f"texture name of material {called(name)} does not fit"
            raise ConversionError(problem, value=printable(texture), expected=f"at most {room} bytes of CP1251")
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
    """Where a material's name leads: a directory index, and which step of the rule found it."""

    index: int
    step: Literal["name", "DEFAULT", "first"]


def find_material(archive: Archive, name: str | bytes) -> FoundMaterial | None:
    """The entry that the game takes for a material's name, whose case does not matter: that name, else ``DEFAULT``,
    else entry 0 (docs/reference/material.md); ``None``: the archive is empty.
    """
    if (found := archive.find(name)) is not None:
        return FoundMaterial(found, "name")
    if (found := archive.find(DEFAULT_MATERIAL)) is not None:
        return FoundMaterial(found, "DEFAULT")
    return FoundMaterial(0, "first") if archive.entries else None


def read_material(entry: Entry, label: str) -> Material:
    """Read a material; its records are views of the entry's payload.

    Raises ConversionError: not a material, a version that is not 6, no phase, or counts that do not fit the bytes.
    """
    data = memoryview(entry.payload)
    fail = partial(ConversionError, file=label, entry=printable(entry.name), table="MAT0")
    if entry.type_id != MATERIAL_TYPE:
        raise fail("not a material", value=printable(entry.type_text), expected="type MAT0")
    if entry.attr2 != MATERIAL_VERSION:
        raise fail(
            "unknown version (attr2)", value=entry.attr2, expected=MATERIAL_VERSION, code=MATERIAL_VERSION_RULE.code
        )
    at = MATERIAL_HEADER_DTYPE.itemsize
    if len(data) < at:
        problem, value = "too short for its header", plural(len(data), "byte")
        raise fail(problem, offset=0, value=value, expected=f"at least {at}", code=MATERIAL_HEADER.code)
    header = np.frombuffer(data[:at], MATERIAL_HEADER_DTYPE)
    phase_count = int(header["phase_count"][0])
    room = (len(data) - at) // PHASE_DTYPE.itemsize
    if not 0 < phase_count <= room:
        raise fail(
            "phases do not fit the entry", offset=0, value=phase_count, expected=f"1..{room}", code=MATERIAL_PHASES.code
        )
    end = at + phase_count * PHASE_DTYPE.itemsize
    phases = np.frombuffer(data[at:end], PHASE_DTYPE)
    tracks, end = _read_tracks(data, end, int(header["track_count"][0]), fail)
    return Material(entry.name, entry.attr1, header, phases, tracks, bytes(data[end:]))


def _read_tracks(
    data: memoryview, at: int, count: int, fail: Callable[..., ConversionError]
) -> tuple[list[Track], int]:
    """The tracks at an offset, each followed by its keys, and where they end."""
    tracks = []
    for row in range(count):
        end = at + MATERIAL_TRACK_DTYPE.itemsize
        if end > len(data):
            raise fail(
                "tracks do not fit the entry",
                row=row,
                offset=field_offset(MATERIAL_HEADER_DTYPE, "track_count"),
                value=count,
                expected=f"at most {row}",
                code=MATERIAL_TRACKS.code,
            )
        head = np.frombuffer(data[at:end], MATERIAL_TRACK_DTYPE)[0]
        word, keys = int(head["word"]), int(head["key_count"])
        room = (len(data) - end) // MATERIAL_KEY_DTYPE.itemsize
        if keys > room:
            raise fail(
                "keys do not fit the entry",
                row=row,
                offset=at + field_offset(MATERIAL_TRACK_DTYPE, "key_count"),
                value=keys,
                expected=f"at most {room}",
                code=MATERIAL_KEYS.code,
            )
        at, end = end, end + keys * MATERIAL_KEY_DTYPE.itemsize
        tracks.append(Track(word, np.frombuffer(data[at:end], MATERIAL_KEY_DTYPE)))
        at = end
    return tracks, at


def write_material(material: Material) -> bytes:
    """The payload of a material: the bytes it was read from, where nothing was edited.

    The header's counts are those of the phases and tracks.
    """
    header = material.header.copy()
    header["phase_count"] = len(material.phases)
    header["track_count"] = len(material.tracks)
    parts = [header.tobytes(), material.phases.tobytes()]
    for track in material.tracks:
        head = np.zeros(1, MATERIAL_TRACK_DTYPE)
        head["word"], head["key_count"] = track.word, len(track.keys)
        parts += [head.tobytes(), track.keys.tobytes()]
    return b"".join([*parts, material.trailing])


#: The game's libraries; their case does not matter.
MATERIALS, TEXTURES, LIGHTMAPS = "Material.lib", "Textures.lib", "lightmap.lib"


#: Bytes of the first phase by what an edit calls them: offset and number.
_FIELDS = {
    "light": (field_offset(PHASE_DTYPE, "ambient"), 3),
    "alpha": (field_offset(PHASE_DTYPE, "ambient") + 3, 1),
    "colour": (field_offset(PHASE_DTYPE, "diffuse"), 3),
    "cell": (field_offset(PHASE_DTYPE, "cell"), 1),
    "texture": (field_offset(PHASE_DTYPE, "texture"), 16),
}


#: Bytes of a texture's name in a material.
TEXTURE_NAME_ROOM = PHASE_DTYPE["texture"].itemsize


#: The whole of a texture.
_NO_CELL = b"\xff"


class LibraryEntry(NamedTuple):
    """An entry of a library as it was exported.

    Attributes:
        kind: the directory's attr1.
        digest: SHA-256 of the payload, hex.
        data: the payload; of a texture without its pixels, see :func:`~converter.formats.sidecar.blank_texture`.
    """

    library: str
    name: str
    kind: int
    digest: str
    data: bytes

    @property
    def key(self) -> tuple[str, str]:
        """What tells entries apart."""
        return entry_key(self.library, self.name)

    def row(self) -> list[object]:
        """Return it as JSON values."""
        return [*self[:-1], b64encode(self.data).decode()]


def entry_key(library: str, name: str) -> tuple[str, str]:
    """Return what tells entries apart; case does not matter."""
    return library, name.lower()


def read_entry_row(row: list[Any]) -> LibraryEntry:
    """Return an entry of its JSON values. Raises LookupError, TypeError, ValueError: they are not one."""
    library, name, kind, digest, data = row
    return LibraryEntry(str(library), str(name), int(kind), str(digest), b64decode(data, validate=True))


@dataclass(frozen=True)
class NewPicture:
    """A picture that the game does not have and that becomes a texture.

    Attributes:
        name: the image's name; its texture is called like it.
        digest: of its pixels.
        rgba: its pixels, (height, width, 4) uint8, top row first.
    """

    name: str
    digest: str
    rgba: U8 = field(compare=False, repr=False)


@dataclass(frozen=True)
class LibraryEdit:
    """What a file changes of an entry of a library.

    Attributes:
        entry: the entry as it was exported.
        where: what shows it, as ``material 'steel'``.
        what: the difference, in words.
        values: the new values by field: of a material bytes of its first phase (``colour``,
            ``light``, ``alpha``, ``texture``) or its draw mode (``kind``); of a texture the digest
            of its ``pixels``.
        rgba: the new pixels of a texture, (height, width, 4) uint8, top row first.
        picture: what a material shows and the game does not have; ``values`` have its digest as
            ``picture``, until its texture has a name.
    """

    entry: LibraryEntry
    where: str
    what: str
    values: Mapping[str, bytes]
    rgba: U8 | None = field(default=None, compare=False, repr=False)
    picture: NewPicture | None = None

    @property
    def kind(self) -> int | None:
        """The new draw mode; ``None``: it does not change."""
        return self.values["kind"][0] if "kind" in self.values else None


def first_phase(data: bytes | memoryview, name: str) -> bytes:
    """Return a field of a material's first phase; ``name`` as in :class:`LibraryEdit`."""
    start, size = _FIELDS[name]
    start += MATERIAL_HEADER_DTYPE.itemsize
    return bytes(data[start : start + size])


def with_values(data: bytes | memoryview, values: Mapping[str, bytes], phases: int = 1) -> bytes:
    """Return a valid material with other values, as of :class:`LibraryEdit`, in so many phases from the first; every
    other byte stays.
    """
    out = bytearray(data)
    values = {"cell": _NO_CELL, **values} if "texture" in values else values
    for name in values.keys() & _FIELDS.keys():
        first, size = _FIELDS[name]
        first += MATERIAL_HEADER_DTYPE.itemsize
        for start in range(first, first + phases * PHASE_DTYPE.itemsize, PHASE_DTYPE.itemsize):
            out[start : start + size] = values[name].ljust(size, b"\0")
    return bytes(out)
