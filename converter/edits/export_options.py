"""Recognise options of Blender's glTF exporter that damage a whole model; refuse or report them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..formats.names import without_number
from ..numeric.arrays import row_ids
from ..numeric.axes import game_to_gltf
from ..numeric.quantize import encode_uv
from ..scene.scene import ImportedScene, Scene

F32 = NDArray[np.float32]
_NOISE = 1e-5


def refuse_draco(imported: ImportedScene, *, rebuilds: bool = True) -> None:
    """Refuse a file that is to be compared with a stored one, and whose vertices are rounded.

    Args:
        imported: the file.
        rebuilds: whether something could be made of the file alone.

    Raises:
        ConversionError: its meshes are compressed.
    """
    if imported.draco:
        raise ConversionError(
            "meshes are compressed with Draco, which moves every vertex",
            hint="clear Compression in Blender's glTF exporter, and export again"
            + (" (--no-sidecar makes a new model of the file as it is)" if rebuilds else ""),
        )


def report_left_out(imported: ImportedScene, stored: Scene) -> None:
    """Report that a file has no texture coordinates, or no normals, at all.

    Args:
        imported: the file; what is reported is added to it.
        stored: the sidecar's model.
    """
    if not len(imported.streams.positions):
        return
    if imported.streams.uv0 is None and stored.streams.uv0 is not None:
        imported.report.skipped(
            "texture coordinates",
            "are not in the file",
            "UVs is cleared in Blender's exporter, or all UV maps were deleted: stored faces keep theirs",
            "check UVs, and export again",
        )
    if not imported.has_normals:
        imported.report.warnings.append(
            "no normals in the file (Normals is cleared in Blender's exporter): every face is flat, "
            "as glTF demands, and may differ from the model's"
        )


def refuse_turned(imported: ImportedScene, positions: F32, uv0: NDArray[np.int16] | None) -> None:
    """Refuse a file whose vertices are the stored ones, turned by 90 degrees about X.

    Args:
        imported: the file.
        positions: (V, 3) stored vertices.
        uv0: (V, 2) their texture coordinates as stored, or ``None``.

    Raises:
        ConversionError: most vertices are stored ones when they are turned back, more than as they
            are.
    """
    streams = imported.streams
    words = None if streams.uv0 is None or uv0 is None else encode_uv(streams.uv0)[0]
    stored = _rows(positions, None if words is None else uv0)
    here, back = (_rows(p, words) for p in (streams.positions, game_to_gltf(streams.positions)))
    ids = row_ids(np.concatenate([stored, here, back]).view(np.uint64))
    known, rest = ids[: len(stored)], ids[len(stored) :]
    as_is, turned = (int(np.isin(part, known).sum()) for part in np.split(rest, [len(here)]))
    if turned > as_is and 2 * turned > len(here):
        raise _turned()


def refuse_turned_model(imported: ImportedScene, stored: Scene) -> None:
    """Refuse a file that was exported with Z up; by its vertices, or where its nodes stand.

    Args:
        imported: the file.
        stored: the sidecar's model.

    Raises:
        ConversionError: as :func:`refuse_turned`, or nodes stand in the stored places turned.
    """
    uv0 = stored.streams.uv0
    refuse_turned(imported, stored.streams.positions, None if uv0 is None else encode_uv(uv0)[0])
    places = {node.name: node.translation for node in stored.nodes}
    pairs = [
        (node.translation, places[name]) for node in imported.nodes if (name := without_number(node.name)) in places
    ]
    if not pairs:
        return
    now, before = (np.stack(side).astype(np.float64) for side in zip(*pairs, strict=True))
    noise = _NOISE * max(1.0, float(np.abs(before).max()))

    def standing(here: NDArray[np.float64]) -> int:
        return int((np.abs(here - before).max(axis=1) <= noise).sum())

    turned = standing(game_to_gltf(now))
    if turned > standing(now) and turned == len(pairs):
        raise _turned()


def _rows(positions: F32, words: NDArray[np.int16] | None) -> NDArray[np.int64]:
    """Vertices as rows of integers, (V, 3) or (V, 5)."""
    columns = [(np.ascontiguousarray(positions) + np.float32(0)).view(np.int32)]
    if words is not None:
        columns.append(words.astype(np.int32))
    return np.ascontiguousarray(np.concatenate(columns, axis=1).astype(np.int64))


def _turned() -> ConversionError:
    return ConversionError(
        "is turned by 90 degrees about X against the model of its sidecar",
        hint="set +Y Up (Transform) in Blender's glTF exporter, and export again (an OBJ: --up)",
    )
