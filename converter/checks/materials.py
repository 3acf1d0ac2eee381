"""Materials and textures that can be read (MAT0, Texm), and names that the game's libraries lack."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ..errors import plural, printable
from ..findings import Bad, Finding
from ..formats.material import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_KEY_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PHASE_DTYPE,
    Material,
    MaterialKind,
    Track,
)
from ..formats.names import fold_upper
from ..formats.texture import PAGE_DTYPE, PAGE_MAGIC, PALETTE_SIZE, TEXM_HEADER_DTYPE, Texm
from ..numeric.arrays import I64, Records, field_offset
from . import Rules, why

_MATERIAL, _TEXTURE = "MAT0", "Texm"
_MOST_TRACKS = 20
_WITH_MIPS = 32


rule = Rules("WEAR, MAT0", "docs/reference/material.md#from-a-name-to-a-material")


@rule("look-missing", "warning", "What a WEAR names is in Material.lib, and its textures in Textures.lib.")
@why("The game shows DEFAULT, else the first material.", fix="Correct the name, or add the material.")
def look_missing(problem: str) -> Iterator[Bad]:
    """Yield a name that was looked up and not found."""
    yield Bad(problem)


@look_missing.also
def check_row_names(title: str, names: Sequence[str], known: Collection[bytes]) -> Iterator[Bad]:
    """Yield the rows of a WEAR whose names are not in a library.

    Args:
        title: ``material`` or ``lightmap``.
        names: by row, empty where there is none.
        known: names of the library's entries, in upper case.
    """
    rows = [row for row, name in enumerate(names) if name and fold_upper(name.encode("cp1251", "replace")) not in known]
    if rows:
        problem, value = (
            f"row {rows[0]} names a {title} that the game's library does not have",
            printable(names[rows[0]]),
        )
        yield Bad(problem, f"WEAR ({title}s)", None, value, None, len(rows), np.array(rows, np.int64))


@look_missing.also
def check_phase_textures(material: Material, known: Collection[bytes]) -> Iterator[Bad]:
    """Yield the phases of a material whose textures are not in a library, as of :func:`check_row_names`."""
    for row, raw in enumerate(material.phases["texture"]):
        name = raw.tobytes().partition(b"\0")[0]
        if name and fold_upper(name) not in known:
            value = printable(name.decode("cp1251", "replace"))
            yield Bad("texture is not in the game's library", "MAT0 (phases)", row, value)


rule = Rules("MAT0", "docs/reference/material.md")


def check_material(material: Material) -> list[Finding]:
    """Return the findings about a material; rows of keys count those of one track."""
    findings = [*material_kind(material), *material_alpha(material), *material_many(material)]
    at = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * len(material.phases)
    for number, track in enumerate(material.tracks):
        at += MATERIAL_TRACK_DTYPE.itemsize
        table, keys = (
            f"{_MATERIAL} (keys of track {number})",
            at + MATERIAL_KEY_DTYPE.itemsize * np.arange(len(track.keys)),
        )
        findings += [
            *material_key_phase(track, table, keys, len(material.phases)),
            *material_key_word(track, table, keys),
        ]
        at += track.keys.nbytes
    return [*findings, *material_tail(material, at)]


@rule("material-kind", "note", "The kind (attr1) is 0, 2, 4, 5 or 8.")
@why("How another one is drawn is not known.", fix="Nothing to do.")
def material_kind(material: Material) -> Iterator[Bad]:
    if material.kind not in list(MaterialKind):
        problem = "kind (attr1) is unknown"
        yield Bad(problem, _MATERIAL, None, material.kind, ", ".join(str(int(kind)) for kind in MaterialKind))


@rule("material-alpha", "note", "The ambient alpha is 100 or less.", "#phase")
@why("It is per cent; more is drawn as 100.", fix="Nothing to do.")
def material_alpha(material: Material) -> Iterator[Bad]:
    alpha = material.phases["ambient"][:, 3]
    start = MATERIAL_HEADER_DTYPE.itemsize + field_offset(PHASE_DTYPE, "ambient") + 3
    place = f"{_MATERIAL} (phases)", start + PHASE_DTYPE.itemsize * np.arange(len(alpha))
    yield Bad("alpha is above 100 per cent", place, alpha > 100, alpha, "at most 100")


@rule("material-key-phase", "warning", "A track's keys name phases of the material.", "#track")
@why("The game would read past the phases.", fix="Correct the key.")
def material_key_phase(track: Track, table: str, at: I64, phases: int) -> Iterator[Bad]:
    phase, place = track.keys["phase"], (table, at + field_offset(MATERIAL_KEY_DTYPE, "phase"))
    yield Bad("key names a phase that does not exist", place, phase >= phases, phase, f"below {phases}")


@rule("material-key-word", "note", "The last word of a track's key is 0.", "#track")
@why("It is kept.", fix="Nothing to do.")
def material_key_word(track: Track, table: str, at: I64) -> Iterator[Bad]:
    word, place = track.keys["opaque4"], (table, at + field_offset(MATERIAL_KEY_DTYPE, "opaque4"))
    yield Bad("key's last word is not 0", place, word != 0, word, "0")


@rule("material-many", "warning", "A material has fewer than 20 tracks.")
@why("No material of the game has more; whether the game reads them is not known.", fix="Remove tracks.")
def material_many(material: Material) -> Iterator[Bad]:
    if len(material.tracks) >= _MOST_TRACKS:
        count, expected = len(material.tracks), f"below {_MOST_TRACKS}"
        yield Bad("more tracks than the game's materials have", _MATERIAL, None, count, expected)


@rule("material-tail", "warning", "Nothing follows the tracks.")
@why("It is never read; perhaps a count is too small.", fix="Correct the count.")
def material_tail(material: Material, at: int) -> Iterator[Bad]:
    if material.trailing:
        yield Bad(
            "bytes after the tracks are kept", (_MATERIAL, at), None, plural(len(material.trailing), "byte"), "none"
        )


rule = Rules("Texm", "docs/reference/texture.md")


def check_texm(texture: Texm) -> list[Finding]:
    """Return the findings about a texture."""
    end = TEXM_HEADER_DTYPE.itemsize + sum(level.nbytes for level in texture.levels)
    end += 4 * PALETTE_SIZE if texture.palette is not None else 0
    findings = [*texm_word16(texture)]
    if texture.rects is not None:
        end += len(PAGE_MAGIC) + 4
        findings += texm_rect(texture, texture.rects, end)
        end += texture.rects.nbytes
    return [*findings, *_trailing(texture, end)]


@rule("texm-word16", "note", "The word at +16 is 32 with more than one level, else 0.")
@why("Its effect is not known.", fix="Nothing to do.")
def texm_word16(texture: Texm) -> Iterator[Bad]:
    word, levels = int(texture.header["word16"][0]), len(texture.levels)
    wanted = _WITH_MIPS if levels > 1 else 0
    if word != wanted:
        place = _TEXTURE, field_offset(TEXM_HEADER_DTYPE, "word16")
        yield Bad(f"word +16 does not fit {levels} levels", place, None, word, wanted)


def _trailing(texture: Texm, end: int) -> Iterator[Finding]:
    if texture.trailing:
        cut_off = texture.trailing.startswith(PAGE_MAGIC) and texture.rects is None
        yield from (texm_page if cut_off else texm_tail)(texture, end)


@rule("texm-page", "warning", "A Page chunk is whole.", "#page")
@why("Its rectangles are not found.", fix="Correct its count.")
def texm_page(texture: Texm, end: int) -> Iterator[Bad]:
    value, expected = plural(len(texture.trailing), "byte"), f"a count and {PAGE_DTYPE.itemsize} bytes each"
    yield Bad("Page chunk is cut off", (_TEXTURE, end), None, value, expected)


@rule("texm-tail", "warning", "Nothing but a Page chunk follows the levels.")
@why("It is never read; perhaps levels or a size are wrong.", fix="Nothing to do; it is kept.")
def texm_tail(texture: Texm, end: int) -> Iterator[Bad]:
    value = plural(len(texture.trailing), "byte")
    yield Bad("bytes after the levels are kept", (_TEXTURE, end), None, value, "none")


@rule("texm-rect", "warning", "A Page's rectangles lie inside the picture.", "#page")
@why("Something outside the picture is shown.", fix="Correct the rectangle.")
def texm_rect(texture: Texm, rects: Records, start: int) -> Iterator[Bad]:
    right, bottom = (rects[a].astype(np.int64) + rects[b] for a, b in (("x", "width"), ("y", "height")))
    bad, expected = (right > texture.width) | (bottom > texture.height), f"inside {texture.width} x {texture.height}"
    place = f"{_TEXTURE} (Page)", start + PAGE_DTYPE.itemsize * np.arange(len(rects))
    yield Bad("rectangle leaves the picture", place, bad, rects, expected)
