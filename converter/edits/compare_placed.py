"""Compare a model that a unit or mission places with the file of that model.

What a file changes below a placed object is compared as in a file of the model alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ConversionError
from ..findings import Change, NotApplied, Report
from ..formats.control_points import ControlPoint, ControlPoints
from ..formats.names import without_number
from ..numeric.pose import F64
from ..options import ImportOptions
from ..scene.scene import Channel, Clip, ImportedNode, ImportedScene, Scene, Track
from .clips import choose_clip
from .frame_rate import DEFAULT_FPS
from .materials import report_faces_without_material
from .model import compare_structure
from .nodes import POSE_NOISE, Identified, identify
from .placed_nodes import TURN_NOISE, new_title
from .points import compare_points
from .poses import compare_poses, place_parts, same_rotations

#: What a held value may drift by, and what times of keys round, seconds.
_HELD, _MOMENT = 1e-4, 1e-4


@dataclass(frozen=True, eq=False)
class ShownModel:
    """A model that a unit or mission shows, as its sidecar has it.

    Attributes:
        file: what its file is called.
        scene: of its parts those that are shown; its tracks, if clips are shown.
        cell: level of detail and group that are shown.
        wear: material names by row.
        lightmap: whether Res18 holds lightmap coordinates.
        has_labels: whether it has a table of labels.
        points: its control points.
        shown_points: those that are shown.
        of_game: it is not of the sidecar but of the game; points are not compared.
    """

    file: str
    scene: Scene
    cell: tuple[int, int]
    wear: list[str]
    lightmap: bool
    has_labels: bool
    points: ControlPoints
    shown_points: list[ControlPoint]
    of_game: bool = False


#: Whatever is missing is a difference.
_DELETE = ImportOptions(allow_delete=True)


class PlacedComparison:
    """Compares the placed models of one file; parts of equal copies once.

    Args:
        given: the file.
        world: (n, 4, 4) places of its nodes.
        fps: frames per second of its clip; default by evidence.
    """

    def __init__(self, given: ImportedScene, world: F64, fps: float | None = None) -> None:
        self.given, self.world = given, world
        self.options = ImportOptions(fps=fps, ignore_scale=True)
        self.fps = fps or given.info.get("fps") or given.fps or DEFAULT_FPS
        self.tracks: dict[int, list[tuple[int, Track]]] = defaultdict(list)
        for number, clip in enumerate(given.clips):
            for track in clip.tracks:
                self.tracks[track.node].append((number, track))
        self._materials: dict[int, list[set[int]]] = {}
        self._known: dict[tuple[object, ...], list[Change | NotApplied]] = {}

    def differences(self, root: int, items: Sequence[int], model: ShownModel) -> list[NotApplied]:
        """Return what a file changes of a model at one place.

        Args:
            root: the node that places the model.
            items: the nodes below it that are not of another placed object.
            model: what it places.
        """
        # editors compute the place of a node from its place in the world
        here = float(np.abs(self.world[[root, *items], :3, 3]).max())
        own = self._own_scene(items, model, here)
        try:
            return self._compare(own, model, here)
        except ConversionError as error:
            return [elsewhere("", str(error))]

    def _compare(self, own: ImportedScene, model: ShownModel, here: float) -> list[NotApplied]:
        identified = identify(own, model.scene, model.cell)
        identified.size, identified.turn_noise = max(identified.size, here), TURN_NOISE
        refused, own.report = own.report, Report()
        choose_clip(identified, model.scene, self.options)
        # how to export clips is said where it matters; one warning about all clips is enough
        clips = own.report.not_applied if self.given.clips else []
        poses = compare_poses(identified, model.scene)
        place_parts(identified, model.scene, poses.nodes)
        found = self._structure(identified, model)
        names = {node.name for node in model.scene.nodes}
        points = compare_points(identified, model.points, model.shown_points, names, _DELETE)
        found += [*poses.report.changes, *points.report.changes]
        found += [*refused.not_applied, *poses.report.not_applied, *points.report.not_applied]
        return [*(elsewhere(one.where, one.what) for one in found), *clips]

    def _structure(self, identified: Identified, model: ShownModel) -> list[Change | NotApplied]:
        """The differences of nodes and parts, whatever their poses."""
        key = (id(model), *map(_signature, identified.imported.nodes))
        if key not in self._known:
            if id(model) not in self._materials:
                self._materials[id(model)] = _same_materials(self.given, model.scene)
            told = identified.imported.report = Report()
            compare_structure(
                identified,
                model.scene,
                self._materials[id(model)],
                lightmap=model.lightmap,
                has_names=True,
                has_labels=model.has_labels,
                only_shown=True,
                options=_DELETE,
            )
            report_faces_without_material(identified, model.scene, model.wear)
            self._known[key] = [*told.changes, *told.not_applied]
        return [*self._known[key]]

    def _own_scene(self, items: Sequence[int], model: ShownModel, here: float) -> ImportedScene:
        """The nodes of one place as a file of the model alone would have them.

        ``here`` is the largest coordinate of the place.
        """
        row_of = {item: row for row, item in enumerate(items)}
        names = self._own_names(items, model)
        nodes = [
            replace(
                self.given.nodes[item],
                name=names.get(item, self.given.nodes[item].name),
                parent=row_of.get(self.given.nodes[item].parent, -1),
            )
            for item in items
        ]
        end = (model.scene.frame_count - 1) / self.fps if model.scene.tracks else np.inf
        clips: dict[int, Clip] = {}
        for item in items:
            for number, track in self.tracks[item]:
                clip = clips.setdefault(number, Clip(self.given.clips[number].name))
                clip.tracks.append(_without_tail(replace(track, node=row_of[item]), end, here))
        return replace(
            self.given, nodes=nodes, clips=[clips[number] for number in sorted(clips)], tracks=[], report=Report()
        )

    def _own_names(self, items: Iterable[int], model: ShownModel) -> dict[int, str]:
        """The stored names of nodes whose names differ only by what made them unique.

        Of several nodes with one number, only the one that is where it was has the name.
        """
        stored: dict[tuple[bool, object], tuple[str, NDArray[np.floating]]] = {
            (False, node.index): (node.name, node.translation) for node in model.scene.nodes
        }
        for point in model.shown_points:
            stored[True, point.row] = point.name, np.array(point.position)
        best: dict[tuple[bool, object], tuple[float, int]] = {}
        labels: dict[int, str] = {}
        for item in items:
            node = self.given.nodes[item]
            is_point = node.extras.get("kind") == "point"
            key = is_point, node.extras.get("point" if is_point else "node")
            if key not in stored:
                continue
            name, place = stored[key]
            away = float(np.abs(node.translation - place).max())
            if new_title(node.name, name) is None:
                labels[item] = name
            if key not in best or away < best[key][0]:
                best[key] = away, item
        chosen = {item for _, item in best.values()}
        return {item: label for item, label in labels.items() if item in chosen}


def _signature(item: ImportedNode) -> tuple[object, ...]:
    """All of a node but its place."""
    linear = None if item.linear is None else np.round(item.linear, 4).tobytes()
    return item.name, item.parent, item.mesh, repr(item.extras), item.tri_flags, linear


def elsewhere(where: str, what: str) -> NotApplied:
    """Return the difference of what belongs to another file."""
    return NotApplied(
        where=where,
        what=what,
        why="units and missions place models and do not change them",
        instead="convert that file by itself and edit it there",
    )


def _same_materials(given: ImportedScene, stored: Scene) -> list[set[int]]:
    """Per material of a file the stored ones that it may be: by its key and its name.

    In a unit or mission, the materials of different models have the same keys.
    """
    by_name: Mapping[str, set[int]] = defaultdict(set)
    for row, material in enumerate(stored.materials):
        by_name[material.name].add(row)
    out = []
    for material in given.materials:
        named = by_name.get(material.name) or by_name.get(without_number(material.name), set())
        keyed = {row for row in named if stored.materials[row].key == material.key}
        out.append(named if -1 in material.key else keyed)
    return out


def _without_tail(track: Track, end: float, here: float) -> Track:
    """A track without the keys after the end of its model's clip that only hold its last value.

    In a unit, the clips of all models are one animation, which an editor exports to its end.
    """
    noise = max(_HELD, 2 * POSE_NOISE * here)
    return replace(track, rotation=_held(track.rotation, end, _HELD), translation=_held(track.translation, end, noise))


def _held(channel: Channel | None, end: float, noise: float) -> Channel | None:
    if channel is None or channel.interpolation == "CUBICSPLINE" or channel.frames[-1] <= end:
        return channel
    last = int(np.searchsorted(channel.frames, end - _MOMENT))
    frames, values = channel.frames[: last + 1].copy(), channel.values[: last + 1]
    if not _holds(channel.values[last:], noise):
        return channel
    if last > 0 and _holds(values[-2:], noise):
        frames[-1] = max(end, frames[-2] + _MOMENT)
    return replace(channel, frames=frames, values=values)


def _holds(values: F64, noise: float) -> bool:
    """Whether a curve has its first value throughout. (T, 3) or (T, 4)."""
    if values.shape[1] == 4:
        return bool(same_rotations(values, values[0], noise).all())
    return bool(np.abs(values - values[0]).max() <= noise)
