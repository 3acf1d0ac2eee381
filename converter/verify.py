"""What was written, read again and compared with the file it came from (``--verify``).

Geometry in quantised space, in the frame of each node; the poses of the nodes at every frame; links
and windows of what was rebuilt. A difference beyond quantisation is an error before the output
appears.
"""

from __future__ import annotations

import numpy as np

from converter import dialect as dialects
from converter.decode import decode
from converter.dialect import Dialect
from converter.errors import ConversionError, printable
from converter.identify import Identified
from converter.match import match, soup_of
from converter.merge import poses_at, same_rotations
from converter.model import MshModel
from converter.pose import rotation
from converter.sampler import sample
from converter.scene import Node
from converter.validate import check_links, require_sound

#: Half a word per component, twice: the key's own rounding and key reduction's tolerance.
_ROTATION = 1.2e-4
_POSITION = 3e-5


def verify(
    model: MshModel,
    identified: Identified,
    rows: dict[int, int],
    dialect: Dialect,
    before: MshModel | None = None,
) -> None:
    """Compare a model that was written with the scene it was made of.

    Args:
        model: read again from the bytes.
        identified: the file's scene.
        rows: node of the file -> row in Res1.
        dialect: the model's.
        before: the stored model; what was not strict there need not be strict here.

    Raises:
        ConversionError: unsound, or it shows something else.
    """
    require_sound(model)
    known = set() if before is None else {finding.code for finding in check_links(before)}
    for finding in check_links(model):
        if finding.code not in known:
            raise ConversionError(f"verification failed: {finding}")
    scene = decode(model, dialect, "written")
    if model.legacy:
        return
    lightmap = dialect is Dialect.RETAIL
    written = {(p.node, p.lod, p.group): p for p in scene.parts}
    given = identified.scene
    for part in given.parts:
        cell = (rows[part.node], part.lod, part.group)
        soup = soup_of(given, part, lightmap=lightmap)
        if not len(soup):
            continue
        where = f"part {printable(given.nodes[part.node].name)!r} lod {part.lod} group {part.group}"
        raw = soup.positions + np.float32(0)
        flat = (raw == raw[:, [2, 0, 1]]).all(axis=-1).any(axis=1)
        if cell not in written:
            if flat.all():
                continue
            raise ConversionError(f"verification failed: {where} is not in what was written")
        result = match(soup, soup_of(scene, written[cell], lightmap=lightmap), ())
        missing = (result.old_of < 0) & ~flat
        if missing.any() or result.lost.size:
            raise ConversionError(
                f"verification failed: {where} came out with other triangles",
                value=f"{int(missing.sum())} missing, {len(result.lost)} too many",
            )
        if result.normals_differ.any():
            raise ConversionError(
                f"verification failed: {where} came out with other normals",
                value=f"{int(result.normals_differ.sum())} triangles",
            )
    _poses(model, identified, rows, dialect)


def _poses(model: MshModel, identified: Identified, rows: dict[int, int], dialect: Dialect) -> None:
    given = identified.scene
    tracks = dialects.tracks(model, dialect)
    by_node = {track.node: track for track in given.tracks}
    size = max(identified.size, *(float(np.abs(n.translation).max()) for n in given.nodes), 1e-6)
    if given.streams.positions.size:
        size = max(size, float(np.abs(given.streams.positions).max()))
    for i, node in enumerate(given.nodes):
        track = by_node.get(i)
        # between frames the clip of the file may curve: whole frames are what was asked for
        frames = np.arange(float(given.frame_count if track else 1))
        translations, rotations = poses_at(track, node, frames)
        if tracks is None:
            continue
        got = sample(tracks, [rows[i]], frames)
        moved = np.abs(got.position[0] - translations).max(axis=1)
        bad = (moved > _POSITION * size) | ~same_rotations(
            rotation(got.quaternion[0]), rotations, _ROTATION
        )
        if bad.any():
            raise ConversionError(
                f"verification failed: pose of node {_name(node)} came out different",
                value=f"frame {frames[int(np.argmax(bad))]:g}",
            )


def _name(node: Node) -> str:
    return repr(printable(node.name))
