"""The sidecar: what glTF cannot hold, so that what was not edited comes back byte for byte.

One file, ``<stem>.msh-sidecar``: a fixed header, a JSON description, and the source model's bytes
as they were (entry order, attributes, raw names, gaps, unknown entries, every table). Those of a
unit or mission are followed by the sidecars of the models and the terrain that it shows. Nothing in
it is executed, and sizes are checked against the file before anything is allocated.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import ConversionError, Malformed, plural, reason_of, with_article
from ..files import read_file, read_json
from ..findings import Mode
from ..options import ImportOptions
from .gltf import ShownPicture, Surface, read_surface
from .kinds import SCENE_KINDS, Kind
from .material import LibraryEntry, read_entry_row
from .model_parts import ControlPoint
from .tables import GROUP_COUNT, LOD_COUNT
from .texture import FORMATS, INDEXED, PALETTE_SIZE, TEXM_HEADER_DTYPE, level_shapes

SUFFIX = ".msh-sidecar"
_MAGIC = b"MSHSIDE\x1a"
_VERSION = 1
_HEADER_DTYPE = np.dtype(
    [
        ("magic", "V8"),  # +0
        ("version", "<u4"),  # +8
        ("description_size", "<u4"),  # +12
        ("source_size", "<u8"),  # +16  with what is attached
        ("digest", "V32"),  # +24  SHA-256 of all that follows
    ]
)
assert _HEADER_DTYPE.itemsize == 56
#: Fields that a description only has where they are not empty, as sidecars of 0.1 lack them.
_LATER = ("points", "shown", "library", "tolerant", "visible_only", "companions", "inside", "attached", "shown_in_obj")


@dataclass(frozen=True)
class Description:
    """How the glTF beside the sidecar was made.

    Attributes:
        source: the model's file or entry name.
        source_sha256: SHA-256 of the model's bytes, hex.
        dialect, dialect_reason: how the ambiguous fields were read, and why.
        clip: ``samples`` or ``keys``.
        lod, group: the cell that the default scene shows.
        converter: version of the converter that wrote it.
        materials: material names by row, as in the glTF.
        kind: one of ``SCENE_KINDS``; only models have a dialect.
        micro: microtexture names by row, of terrains.
        points: the control points that the glTF shows.
        shown: what the materials of the glTF show; empty: not recorded.
        shown_in_obj: those are materials of an OBJ.
        library: entries of the game's libraries that they show.
        tolerant: the source is broken, and the glTF shows what ``converter.checks.recover`` leaves
            of it.
        visible_only: the glTF shows nothing but the default scene. Sidecars of 0.1 do not say.
        companions: files of the model's name as they were, by ending (``.cpt``).
        inside: what the glTF of a unit or mission shows besides its records
            (``converter.scene.assembly``).
        attached: sizes of the sidecars that follow the source.
    """

    source: str
    source_sha256: str
    dialect: str
    dialect_reason: str
    clip: str
    lod: int
    group: int
    converter: str
    materials: list[str]
    kind: Kind = Kind.MODEL
    micro: list[str] = field(default_factory=list)
    points: list[ControlPoint] = field(default_factory=list)
    shown: list[Surface[ShownPicture]] = field(default_factory=list)
    library: list[LibraryEntry] = field(default_factory=list)
    tolerant: bool = False
    visible_only: bool = False
    companions: dict[str, bytes] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)
    attached: list[int] = field(default_factory=list)
    shown_in_obj: bool = False

    @classmethod
    def without_dialect(cls, source: str, kind: Kind, **facts: Any) -> Description:
        """Return the description of a file that is no model, without the digest; other facts by their names."""
        none: dict[str, Any] = {"dialect": "", "dialect_reason": "", "clip": "", "lod": 0, "group": 0, "materials": []}
        return cls(source, "", kind=kind, converter=__version__, **(none | facts))

    @property
    def mode(self) -> Mode:
        """How the source is read again."""
        return "tolerant" if self.tolerant else "default"

    @property
    def pair(self) -> str:
        """Digest of what the glTF beside a sidecar depends on. The glTF states it too, so that a
        glTF of another run is detected. The converter's version and its reasons do not count; nor
        does what is shown: the glTF states the cell itself, and sidecars of 0.1 do not say more."""
        passed = {"source", "converter", "dialect_reason", "lod", "group"}
        passed |= {"visible_only", "companions", "shown", "library", "inside"}
        passed |= {"attached", "shown_in_obj"}
        facts = {name: value for name, value in vars(self).items() if name not in passed}
        facts["points"] = _shown(self.points)
        return sha256(json.dumps(facts, sort_keys=True).encode())

    @property
    def pair_of_obj(self) -> str:
        """The same for an OBJ, which has neither clip nor control points: any glTF of the model has
        the same sidecar."""
        return replace(self, clip="", points=[]).pair


@dataclass(frozen=True)
class Sidecar:
    """A description and the source's bytes; ``attached``: the models and the terrain that a unit or mission shows."""

    description: Description
    source: memoryview | bytes
    attached: list[Sidecar] = field(default_factory=list)


def sha256(data: memoryview | bytes) -> str:
    """SHA-256 as hex text."""
    return hashlib.sha256(data).hexdigest()


def write_sidecar(sidecar: Sidecar) -> bytes:
    """The bytes of a sidecar file."""
    attached = [write_sidecar(one) for one in sidecar.attached]
    fields = {**vars(sidecar.description), "attached": [len(data) for data in attached]}
    fields["points"] = _shown(fields["points"])
    fields["companions"] = {ending: b64encode(data).decode() for ending, data in fields["companions"].items()}
    fields["shown"] = [surface.row() for surface in fields["shown"]]
    fields["library"] = [entry.row() for entry in fields["library"]]
    for name in _LATER:
        if not fields[name]:
            del fields[name]  # as in sidecars of the first version
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True).encode()
    digest = hashlib.sha256(text)
    for data in (sidecar.source, *attached):
        digest.update(data)
    sizes = (len(text), len(sidecar.source) + sum(map(len, attached)))
    header = np.array((_MAGIC, _VERSION, *sizes, digest.digest()), _HEADER_DTYPE)
    return b"".join([header.tobytes(), text, sidecar.source, *attached])


def read_sidecar(data: memoryview | bytes, label: str, *, whole: bool = True) -> Sidecar:
    """Read a sidecar file; the source is a view of ``data``. ``whole``: it is a file, which others may be attached to.

    Raises ConversionError: not a sidecar, a newer version, or damaged.
    """
    view = memoryview(data)

    def fail(problem: str, value: object = None, expected: object = None) -> ConversionError:
        return ConversionError(problem, file=label, value=value, expected=expected)

    size = _HEADER_DTYPE.itemsize
    if bytes(view[:8]) != _MAGIC or len(view) < size:
        raise fail("is not an msh-gltf sidecar")
    header = np.frombuffer(view[:size], _HEADER_DTYPE)[0]
    if int(header["version"]) != _VERSION:
        raise fail("sidecar version is not known", int(header["version"]), _VERSION)
    text_size, source_size = int(header["description_size"]), int(header["source_size"])
    if size + text_size + source_size != len(view):
        raise fail("sidecar is cut or padded", plural(len(view), "byte"), size + text_size + source_size)
    if hashlib.sha256(view[size:]).digest() != header["digest"].tobytes():
        raise fail("sidecar is damaged: its digest does not fit its content")
    rest = view[size + text_size :]
    try:
        fields = read_json(bytes(view[size : size + text_size]))
        if "kind" in fields:
            fields["kind"] = Kind(fields["kind"])
        fields["points"] = [_point(*point) for point in fields.get("points", [])]
        fields["companions"] = {
            str(ending): b64decode(text, validate=True) for ending, text in fields.get("companions", {}).items()
        }
        fields["shown"] = [read_surface(row) for row in fields.get("shown", [])]
        fields["library"] = [read_entry_row(row) for row in fields.get("library", [])]
        # sidecars of the first version lack what has a default
        description = Description(**{key: fields[key] for key in Description.__annotations__ if key in fields})
        _require_types(description)
        if description.kind not in SCENE_KINDS:
            raise Malformed(f"its kind is {description.kind}")
        if description.kind is Kind.MODEL and description.dialect not in ("spec", "retail"):
            raise Malformed(f"its dialect is {description.dialect}")
        if not (0 <= description.lod < LOD_COUNT and 0 <= description.group < GROUP_COUNT):
            raise Malformed(f"it shows lod {description.lod}, group {description.group}")
        sizes = description.attached
        if sizes and not (whole and min(sizes) >= 0 and sum(sizes) <= len(rest)):
            raise Malformed("the sidecars that it holds have other sizes")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise fail("sidecar's description cannot be read", reason_of(error)) from None
    ends = [*accumulate(sizes, initial=len(rest) - sum(sizes))]
    source = rest[: ends[0]]
    if sha256(source) != description.source_sha256:
        raise fail("sidecar's source does not fit its digest", sha256(source))
    attached = [read_sidecar(rest[a:b], label, whole=False) for a, b in pairwise(ends)]
    return Sidecar(description, source, attached)


def _require_types(description: Description) -> None:
    """Check that a description's fields have their declared types."""
    for name, kind in Description.__annotations__.items():
        value = getattr(description, name)
        if kind == "dict[str, bytes]":
            continue  # decoded above
        if kind == "dict[str, str]":
            value = [*value.values()] if isinstance(value, dict) else None
            kind = "list[str]"
        values = value if kind.startswith("list") else [value]
        expected = {
            "int": int,
            "bool": bool,
            "Kind": Kind,
            "list[ControlPoint]": ControlPoint,
            "list[Surface[ShownPicture]]": Surface,
            "list[LibraryEntry]": LibraryEntry,
            "list[int]": int,
        }.get(kind, str)
        if not isinstance(values, list) or not all(type(v) is expected for v in values):
            raise Malformed(f"{name} is of another type than it should be")


def _shown(points: list[ControlPoint]) -> list[tuple[object, ...]]:
    """Points without the words that no glTF of the first version had."""
    return [point[:5] for point in points]


def _point(name: str, row: int, node: int, position: list[float], direction: list[float]) -> ControlPoint:
    x, y, z = map(float, position)
    across, along, up = map(float, direction)
    point = ControlPoint(str(name), int(row), int(node), (x, y, z), (across, along, up))
    if not np.isfinite([*point.position, *point.direction]).all():
        raise Malformed(f"point {point.name} is not finite")
    return point


#: Of a texture that is made again from its header: 4096 x 4096.
_MOST_PIXELS = 1 << 24


def texture_head(data: bytes | memoryview) -> bytes:
    """Return a valid texture's bytes without its pixels: header, palette, what follows the levels."""
    start, pixels = _pixel_range(data)
    return bytes(data[:start]) + bytes(data[start + pixels :])


def blank_texture(head: bytes) -> bytes:
    """Return a texture of :func:`texture_head` whose stored pixels are all 0.

    Raises ConversionError: it is not the head of a texture, or the texture would be too large.
    """
    start, pixels = _pixel_range(head)
    return head[:start] + bytes(pixels) + head[start:]


def _pixel_range(data: bytes | memoryview) -> tuple[int, int]:
    """Where the levels start, and how many bytes they have."""
    start = TEXM_HEADER_DTYPE.itemsize
    if len(data) < start:
        raise ConversionError("is not the head of a texture", value=plural(len(data), "byte"))
    header = np.frombuffer(data[:start], TEXM_HEADER_DTYPE)[0]
    width, height, mips, form = (int(header[k]) for k in ("width", "height", "mips", "format"))
    if form not in FORMATS or width * height > _MOST_PIXELS or mips > 32:
        raise ConversionError("is not the head of a texture", value=f"{width} x {height}, format {form}")
    count = sum(rows * across for rows, across in level_shapes(width, height, mips))
    start += 4 * PALETTE_SIZE if form == INDEXED else 0
    return start, count * FORMATS[form][0].itemsize


class SidecarName(str):
    """The name of a sidecar in the extras of an object in memory, with the bytes of the file.

    It is a text as any other, so that what is written of the object names the file; copies of the
    object keep the bytes.
    """

    data: bytes = b""


def named_sidecar(name: str, data: bytes) -> SidecarName:
    """Return the name of a sidecar with its bytes."""
    out = SidecarName(name)
    out.data = data
    return out


def sidecar_path(gltf: Path) -> Path:
    """Where the sidecar of a glTF file lies."""
    return gltf.with_name(gltf.stem + SUFFIX)


def _find(
    gltf: Path, given: Path | bytes | None, info: Mapping[str, object], alone: bool
) -> tuple[Path | None, bytes | None]:
    """Find the sidecar of a file: its path, and its bytes where they are in memory."""
    named, beside = info.get("sidecar"), sidecar_path(gltf)
    if isinstance(given, Path):
        return given, None
    if given is not None:
        return beside, given
    if isinstance(named, SidecarName):
        return Path(named), named.data
    candidates = [] if alone else [beside]
    # only a plain file name: nothing inside a file leads out of its directory
    if not alone and isinstance(named, str) and named and not set(named) & set("/\\:\0"):
        candidates.insert(0, gltf.parent / named)
    for candidate in candidates:
        if candidate.is_file():
            return candidate, None
    if not isinstance(named, str):
        return None, None
    hint = "put it back beside the file, or give it with --sidecar PATH"
    if info.get("kind", "model") == Kind.MODEL.in_extras:  # others are not written without it
        hint += ", or rebuild everything with --no-sidecar"
    expected = named if alone else str(candidates[0])
    raise ConversionError("its sidecar is missing", file=str(gltf), expected=expected, hint=hint)


def sidecar_of(
    gltf: Path,
    given: Path | bytes | None,
    info: Mapping[str, object],
    options: ImportOptions,
    *,
    alone: bool = False,
    of_obj: bool = False,
) -> tuple[Path, Sidecar] | None:
    """Find and read the sidecar of a file: as given, as the file names it, or by its stem. Raises ConversionError: the
    one that the file names is missing, it is damaged, or belongs to another file.

    Args:
        info: what the file says of its source (``extras.msh`` of the scene).
        options: whether there is to be one; its dialect must be the sidecar's.
        alone: the document is in memory, and nothing lies beside it.
        of_obj: refuse terrains and areal maps, too.

    Returns:
        What messages call it, and what it holds; ``None``: the file has none, as a foreign one.
    """
    found, data = _find(gltf, given, info, alone) if options.use_sidecar else (None, None)
    if found is None:
        return None
    kept = read_sidecar(read_file(found) if data is None else data, str(found))
    about = kept.description
    if of_obj and about.kind is not Kind.MODEL:
        raise ConversionError(
            f"sidecar is of {with_article(about.kind)}, which has no OBJ", file=str(found), value=about.source
        )
    digest = info.get("digest")
    if digest is not None and digest != about.source_sha256:
        raise ConversionError(
            "sidecar belongs to another model",
            file=str(found),
            value=f"it holds {about.source} with digest {about.source_sha256}",
            expected=f"{info.get('source', 'the model')} with digest {digest}",
            hint="use the sidecar that was written with this glTF",
        )
    pair = info.get("pair")
    if pair is not None and pair not in (about.pair, about.pair_of_obj):
        raise ConversionError(
            "sidecar is of another conversion of this model",
            file=str(found),
            value=f"digest {about.pair}",
            expected=f"{pair}, as {gltf.name} says",
            hint="convert the model again into another directory, with the options of the glTF; if "
            "a command was interrupted, repeat it",
        )
    if about.kind is Kind.MODEL and options.dialect not in ("auto", about.dialect):
        raise ConversionError(
            f"--dialect {options.dialect} does not change the dialect of a model with a sidecar",
            file=str(found),
            value=f"the model was exported as {about.dialect}",
            hint=f"leave --dialect out to write {about.dialect}; export the model again with msh2gltf "
            f"--dialect {options.dialect} if it was read wrongly, or make a new one with --no-sidecar",
        )
    return found, kept
