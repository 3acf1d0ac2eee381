"""Invariants of materials and textures that can be read (``evidence`` page, Text and materials)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..findings import Finding, more
from ..formats.material import Material, MaterialKind
from ..formats.tables import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PAGE_DTYPE,
    PHASE_DTYPE,
    TEXM_HEADER_DTYPE,
)
from ..formats.texture import PAGE_MAGIC, PALETTE_SIZE, Texm

MAT0, TEXM = "MAT0", "Texm"
_WITH_MIPS = 32


def check_material(material: Material) -> list[Finding]:
    """Findings about a material; rows of keys count those of one track."""
    return list(_material(material))


def _material(material: Material) -> Iterator[Finding]:
    if material.kind not in list(MaterialKind):
        yield Finding(
            "material-kind", "kind (attr1) is unknown", MAT0, value=material.kind,
            expected=", ".join(str(int(kind)) for kind in MaterialKind),
        )  # fmt: skip
    alpha = material.phases["ambient"][:, 3]
    rows = np.flatnonzero(alpha > 100)
    if rows.size:
        row = int(rows[0])
        yield Finding(
            "material-alpha", more("alpha is above 100 per cent", rows.size), f"{MAT0} (phases)",
            row, MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * row + 3,
            int(alpha[row]), "at most 100", rows, rows.size,
        )  # fmt: skip
    at = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * len(material.phases)
    for number, track in enumerate(material.tracks):
        at += MATERIAL_TRACK_DTYPE.itemsize
        for code, problem, field, bad, expected in (
            ("material-key-phase", "key names no phase", "phase",
             track.keys["phase"] >= len(material.phases), f"below {len(material.phases)}"),
            ("material-key-word", "key's last word is not 0", "opaque4",
             track.keys["opaque4"] != 0, "0"),
        ):  # fmt: skip
            rows = np.flatnonzero(bad)
            if rows.size:
                row = int(rows[0])
                fields = track.keys.dtype.fields
                assert fields is not None
                yield Finding(
                    code, more(problem, rows.size), f"{MAT0} (keys of track {number})", row,
                    at + track.keys.dtype.itemsize * row + fields[field][1],
                    int(track.keys[field][row]), expected, rows, rows.size,
                )  # fmt: skip
        at += track.keys.nbytes
    if material.trailing:
        yield Finding(
            "material-tail", "bytes behind the tracks are kept", MAT0, None, at,
            f"{len(material.trailing)} bytes", "none",
        )  # fmt: skip


def check_texm(texture: Texm) -> list[Finding]:
    """Findings about a texture."""
    return list(_texm(texture))


def _texm(texture: Texm) -> Iterator[Finding]:
    word, levels = int(texture.header["word16"][0]), len(texture.levels)
    wanted = _WITH_MIPS if levels > 1 else 0
    if word != wanted:
        yield Finding(
            "texm-word16", f"word +16 does not fit {levels} levels", TEXM, None, 16, word, wanted
        )
    end = TEXM_HEADER_DTYPE.itemsize + sum(level.nbytes for level in texture.levels)
    end += 4 * PALETTE_SIZE if texture.palette is not None else 0
    if texture.rects is not None:
        end += len(PAGE_MAGIC) + 4 + texture.rects.nbytes
        rects = texture.rects
        right, bottom = (
            rects[a].astype(np.int64) + rects[b] for a, b in (("x", "width"), ("y", "height"))
        )
        rows = np.flatnonzero((right > texture.width) | (bottom > texture.height))
        if rows.size:
            row = int(rows[0])
            yield Finding(
                "texm-rect", more("rectangle reaches out of the picture", rows.size),
                f"{TEXM} (Page)", row, end - rects.nbytes + rects.dtype.itemsize * row,
                rects[row].tolist(), f"inside {texture.width} x {texture.height}", rows, rows.size,
            )  # fmt: skip
    if texture.trailing:
        page = texture.trailing.startswith(PAGE_MAGIC)
        cut = page and texture.rects is None
        yield Finding(
            "texm-page" if cut else "texm-tail",
            "Page chunk is cut off" if cut else "bytes behind the levels are kept",
            TEXM, None, end, f"{len(texture.trailing)} bytes",
            f"a count and {PAGE_DTYPE.itemsize} bytes each" if cut else "none",
        )  # fmt: skip
