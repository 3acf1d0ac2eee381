"""Look at the result of an import as the user looks at the file, and report what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..checks.recover import checked_model
from ..edits.frame_rate import Timing
from ..edits.nodes import POSE_NOISE, ROTATION_NOISE, model_size
from ..edits.poses import placed_elsewhere
from ..errors import plural, printable
from ..findings import Mode, Report
from ..formats.model import MshModel, read_model
from ..formats.nres import read_nres
from ..scene.decode import decode, points_in
from ..scene.dialect import Dialect
from ..scene.scene import GeneratedLevel, ImportedScene, Scene
from .compare import Comparison
from .difference import Difference, still_elsewhere
from .explain import tell
from .levels import take_levels
from .looks import WrittenLooks, looks_of_file
from .models import FileOfModel, frames_of, shown_by_scene
from .points import differences_of_points
from .shown import world_poses

#: How far a node may be away between frames, of the model's size.
_BETWEEN = 1e-3
_EVENLY = ("the game moves evenly from one frame to the next", "make keys where it should be, on whole frames")


@dataclass(frozen=True, kw_only=True)
class WrittenModel:
    """A model as it would be written.

    Attributes:
        name: its file name.
        dialect: the dialect it is written in.
        wear: material names by row.
        mode: how it is read.
        stored_keys: the clip of the file was exported as the stored keys.
        points: its ``.cpt``, empty without one; ``None``: not known.
        levels: what is stated of levels of detail that the import made.
        looks: what its materials look like; ``None``: not known.
        copied: names in ``wear`` that the import made (``--own-materials``), each with the one that the file has.
    """

    name: str
    data: bytes
    dialect: str
    wear: Sequence[str]
    mode: Mode = "default"
    stored_keys: bool = False
    points: bytes | None = None
    copied: Mapping[str, str] = field(default_factory=dict)
    levels: Sequence[GeneratedLevel] = ()
    looks: WrittenLooks | None = None

    def model(self) -> MshModel:
        """Read it."""
        tolerant = self.mode == "tolerant"
        archive = read_nres(self.data, self.name, longer=tolerant)
        return checked_model(read_model(archive, self.name, cut=tolerant), self.mode)[0]

    def scene(self, model: MshModel | None = None) -> Scene:
        """Read and decode it; ``model``: as it was read already."""
        read = self.model() if model is None else model
        return decode(read, Dialect(self.dialect), self.name, wear=self.wear, stored_keys=self.stored_keys)


def differences_of_model(
    seen: ImportedScene,
    stored: Scene | None,
    written: WrittenModel,
    *,
    timing: Timing | None,
    clip: str | None,
    cell: tuple[int, int],
    absent: bool,
    held: int = 1,
) -> list[Difference]:
    """Return what a written model shows otherwise than the file.

    Args:
        seen: the file as it was read.
        stored: the sidecar's model, if there is one.
        timing: what the times of the clip were taken for.
        clip: name or number of the clip that is read.
        cell: that of the meshes of nodes.
        absent: whether cells that the file does not have were never in it.
        held: frames that the clip has at least: stored keys do not show a hold at the end.
    """
    if written.looks is not None:
        seen = written.looks.in_rectangles(seen)
    model = written.model()
    scene = written.scene(model)
    if scene.legacy:
        return []
    file = FileOfModel(seen, stored, timing, clip, cell, held, Dialect(written.dialect))
    if not seen.clips and stored is not None and scene.tracks:
        file.keep_clip(stored)
    count = min(file.frame_count, frames_of(scene))
    frames = file.frames(count)
    result = shown_by_scene(scene, frames)
    result.lacks |= {"name"} if model.node_names is None else set()
    result.lacks |= {"label"} if model.strings is None or scene.dialect is not Dialect.RETAIL else set()
    result.known = {name.casefold() for name in written.wear}
    for name, of in written.copied.items():
        for names in result.materials:
            names |= {of.casefold()} if name.casefold() in names else set()
    shown = file.shown(frames)
    if written.looks is not None:
        shown.looks, result.looks = (
            looks_of_file(seen.surfaces, of_obj="up" in seen.info),
            written.looks.of(scene.materials),
        )
    found = take_levels(result, written.levels)
    comparison = Comparison(shown, result, absent)
    found += comparison.run()
    found += _at_rest(file, scene, comparison.partner)
    found += _between(file, scene, comparison, count)
    if written.points is not None:
        node_of = {i: comparison.partner[k] for i, k in file.place.items() if k in comparison.partner}
        found += differences_of_points(seen.nodes, node_of, scene, points_in(scene, written.points)[0])
    return found


def _at_rest(file: FileOfModel, written: Scene, partner: Mapping[int, int]) -> list[Difference]:
    """Nodes that a clip moves, and that stand by themselves where neither it nor the game ever puts them."""
    noises = 2 * POSE_NOISE * model_size(written), 4 * ROTATION_NOISE
    found = []
    for track in file.tracks:
        item, k = file.items[track.node], partner.get(file.place.get(track.node, -1))
        if k is None:
            continue
        before = file.exported(track.node)  # who moves keys may leave the node where it was
        how = placed_elsewhere(track, item, written.nodes[k], noises)
        if how and (before is None or placed_elsewhere(track, item, before, noises)):
            found.append(still_elsewhere(item.name, how))
    if len(found) > 1 and not file.given.info:  # rigs of foreign files rest elsewhere
        others = plural(len(found) - 1, "other")
        found = [replace(found[0], where=f"{found[0].where} and {others}")]
    return found


def _between(file: FileOfModel, written: Scene, comparison: Comparison, count: int) -> list[Difference]:
    """How far nodes are from where the file shows them between frames at most: one difference for the clip."""
    frames = file.halves(count)
    if not len(frames) or not comparison.partner:
        return []
    items = {k: i for i, k in file.place.items()}
    mine, theirs = ([items[i] for i in comparison.partner], [*comparison.partner.values()])
    ends = np.concatenate([frames, frames - 0.5, frames + 0.5])
    a = world_poses(file.items, file.tracks, ends)[mine]
    b = world_poses(written.nodes, written.tracks, ends)[theirs]
    apart = np.linalg.norm(a[..., :3, 3] - b[..., :3, 3], axis=-1).reshape(len(mine), 3, -1)
    away = apart[:, 0] - apart[:, 1:].max(axis=1)  # what whole frames show is told of them
    if not len(away) or (most := float(away.max())) <= _BETWEEN * comparison.result.size:
        return []
    node, at = np.unravel_index(int(away.argmax()), away.shape)
    name = next((n for n in (*comparison.file.clip, written.name) if n), "")
    what = f"is up to {most:.3g} away between frames (node {printable(file.items[mine[node]].name)!r}, {frames[at]:g})"
    names = frozenset({name.casefold(), "clip", "animation"} - {""})
    where = f"animation {printable(name)!r}"
    return [Difference(where, "clip", what, names, most, moving=True, reason=_EVENLY)]


def judge_motion(
    report: Report, seen: ImportedScene, stored: Scene, written: Scene, timing: Timing, cell: tuple[int, int]
) -> None:
    """Add a line for a model in a unit whose nodes are elsewhere between frames; its import tells of whole ones.

    Args:
        seen: the nodes below its placement, and what of the clip moves them.
        written: what its import made, decoded.
        stored, timing, cell: as of :func:`differences_of_model`.
    """
    file = FileOfModel(seen, stored, timing, None, cell, dialect=written.dialect)
    count = min(file.frame_count, frames_of(written))
    if len(file.halves(count)):
        frames = file.frames(count)
        comparison = Comparison(file.shown(frames), shown_by_scene(written, frames), file_only=True)
        comparison.pair_nodes()
        tell(report, _between(file, written, comparison, count))


def judge_model(report: Report, *args: object, **more: object) -> None:
    """Add lines to a report for what nothing in it explains; arguments as of :func:`differences_of_model`."""
    tell(report, differences_of_model(*args, **more))  # type: ignore[arg-type]
