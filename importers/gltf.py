"""glTF 2.0 to :class:`~converter.scene.scene.ImportedScene` (docs/reference/gltf.md#import).

Nodes keep what the file has, their animation curves and the flags of triangles that they state; which of
them are nodes, parts or foreign is decided by ``converter.edits.nodes``, which also knows the sidecar.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..converter.errors import ConversionError, called, few, in_words, plural, printable
from ..converter.findings import Report, Subject
from ..converter.numeric.arrays import F64, NONE16
from ..converter.numeric.pose import (
    gltf_to_game,
    parents_first,
    quaternion_of,
    rotation_in,
    rotation_matrix,
    rotation_to_game,
)
from ..converter.numeric.quantize import normalise
from ..converter.scene.companions import add_clips
from ..converter.scene.extras import NAMESPACE, FileInfo, MaterialExtras, NodeExtras, read_extras, typed_extras
from ..converter.scene.scene import (
    Channel,
    Clip,
    ImportedNode,
    ImportedScene,
    StatedFlags,
    Track,
    curves_of,
    require_in_range,
)
from .gltf_file import (
    BROKEN_HINT,
    OBJECT_SIZE,
    GltfFile,
    GltfInMemory,
    broken_gltf,
    hidden_nodes,
    open_gltf,
    report_flat,
    report_idle,
    typed,
)
from .gltf_mesh import Weights, bind_skins, join_pieces, read_meshes
from .gltf_schema import INSTANCING, POINTER, GltfObject
from .materials import read_material, read_surfaces


def read_gltf(
    path: Path,
    in_memory: GltfInMemory | GltfFile | None = None,
    *,
    scene: str | None = None,
    all_scenes: bool = False,
    rigid_skin: bool = False,
) -> ImportedScene:
    """Read a glTF file, in game axes.

    Args:
        path: ``.glb`` or ``.gltf``; what messages call a document in memory.
        scene: name or number of the scene to read. Default: all of a file of ours (its other
            scenes are parts), else the default scene.
        all_scenes: the file is ours, even if an editor dropped its extras.
        rigid_skin: bind each triangle of a skinned mesh to its dominant joint.

    Raises ConversionError: not glTF, broken, or with features that a model cannot have.
    """
    file = in_memory if isinstance(in_memory, GltfFile) else open_gltf(path, in_memory)
    try:
        # numbers beyond their type become infinite or NaN here, and are refused at the end
        with broken_gltf(file.label), np.errstate(all="ignore"):
            parents = _parents(file)
            out, index_of, weights = _read_scene(file, parents, _chosen(file, parents, scene, all_scenes))
            bind_skins(file, out, index_of, weights, rigid_skin)
            out.fps = _fps(out, file.label)
            add_clips(out, read_clips(file, index_of, _placed_nodes(file, parents)))
            join_pieces(out)
            require_finite(out, file.label)
    except ConversionError as error:
        error.at(file=file.label)
        if file.foreign and error.hint in (None, BROKEN_HINT):  # the likely reason
            error.hint = file.foreign[0]
        raise
    return out


def _read_scene(file: GltfFile, parents: list[int], chosen: list[int]) -> tuple[ImportedScene, dict[int, int], Weights]:
    """Read all but skins and clips; returns also the item of each node, and the weights of skins."""
    main = _default_scene(file)
    index_of = {node: i for i, node in enumerate(chosen)}
    hidden = hidden_nodes(file.nodes)
    info = {} if main is None else read_extras(FileInfo, main.extras)
    out = ImportedScene((main and main.name) or "", info, report=file.report)
    out.nodes = [read_node(file, node, index_of.get(parents[node], -1)) for node in chosen]
    for node, i in index_of.items():
        item = out.nodes[i]
        item.hidden = node in hidden
        item.tri_flags = read_flags(file.nodes[node].extras, Subject("node", item.name), out.report)
    report_idle(file, index_of, out.report)
    add_instances(file, out, index_of)
    out.materials = [read_material(material) for material in file.materials]
    out.surfaces = read_surfaces(file)
    out.material_extras = [read_extras(MaterialExtras, m.extras) for m in file.materials]
    for material in file.materials:
        where = Subject("material", material.name)
        flags = read_flags(material.extras, where, out.report)
        out.material_flags.append(flags.exported if flags.own is None else flags.own)
    out.meshes, out.streams, weights = read_meshes(file, {i.mesh for i in out.nodes if i.mesh >= 0})
    out.draco = file.draco_used
    drawn = [primitive for mesh in file.meshes for primitive in mesh.primitives]
    out.has_normals = not drawn or any("NORMAL" in one.get("attributes", {}) for one in drawn)
    if out.has_normals:
        report_flat(file, out.report)
    for item in out.nodes:
        if item.mesh >= 0:
            shown = out.meshes[item.mesh].primitives
            file.claim(sum(64 * p.vertex_count + 8 * p.index_count for p in shown))
    return out, index_of, weights


def _placed_nodes(file: GltfFile, parents: list[int]) -> set[int]:
    """Nodes of any scene; what was deleted may still be in the file, and in no scene."""
    placed = {node for scene in file.scenes for node in scene.nodes or []}
    for node in parents_first(parents, root=-1):
        if parents[node] in placed:
            placed.add(node)
    return placed


def _fps(out: ImportedScene, label: str) -> float | None:
    """Frames per second as the file states."""
    stated = [out.info, *(item.extras for item in out.nodes)]
    fps = next((float(e["fps"]) for e in stated if "fps" in e), None)
    if fps is not None and not 0 < fps < np.inf:
        raise ConversionError("fps is not positive", file=label, value=fps)
    return fps


def _default_scene(file: GltfFile) -> GltfObject | None:
    return file.scenes[file.root.get("scene", 0)] if file.scenes else None


def _parents(file: GltfFile) -> list[int]:
    """The parent of every node, -1 = none."""
    parents = [-1] * len(file.nodes)
    for i, node in enumerate(file.nodes):
        for child in node.children or []:
            if parents[child] >= 0:
                both = f"{file.node_title(parents[child])} and {file.node_title(i)}"
                raise ConversionError(f"{file.node_title(child)} has two parents", file=file.label, value=both)
            parents[child] = i
    if len(parents_first(parents, root=-1)) < len(parents):
        raise ConversionError("nodes form a loop", file=file.label)
    return parents


def _chosen(file: GltfFile, parents: list[int], scene: str | None, all_scenes: bool) -> list[int]:
    """Nodes to read, in file order, without what a model has no place for."""
    found: set[int] = set()
    waiting = _roots(file, parents, scene, all_scenes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += file.nodes[node].children or []
    return [i for i in sorted(found) if not _is_skipped(file.nodes[i])]


def _roots(file: GltfFile, parents: list[int], scene: str | None, all_scenes: bool) -> list[int]:
    """The roots of the chosen scene, or of all scenes of a file that this project made."""
    if scene is not None:
        numbers = [i for i, s in enumerate(file.scenes) if scene in (s.name, str(i))]
        if not numbers:
            names = ", ".join(f"{i} {s.name or ''}".strip() for i, s in enumerate(file.scenes))
            hint = "choose one of these"
            raise ConversionError("no such scene", file=file.label, value=scene, expected=names or "none", hint=hint)
        return list(file.scenes[numbers[0]].nodes or [])
    main = _default_scene(file)
    if main is None:
        return [i for i, parent in enumerate(parents) if parent < 0]
    marked = bool(read_extras(FileInfo, main.extras)) or any(
        read_extras(NodeExtras, node.extras) for node in file.nodes
    )
    filled = [s for s in file.scenes if s.nodes]
    if all_scenes or marked or len(filled) == 1:
        return [node for s in filled for node in s.nodes or []]
    if len(filled) > 1:
        file.report.warnings.append(f"{len(filled)} scenes, only the default one is read (--scene chooses)")
    return list(main.nodes or [])


def _is_skipped(node: GltfObject) -> bool:
    """Cameras and lights without anything below them."""
    light = "KHR_lights_punctual" in (node.extensions or {})
    return (node.camera is not None or light) and node.mesh is None and not node.children


_SCALE_NOISE = 1e-5
_ATTRIBUTES = {"TRANSLATION": [0.0, 0, 0], "ROTATION": [0.0, 0, 0, 1], "SCALE": [1.0, 1, 1]}


def read_node(file: GltfFile, i: int, parent: int) -> ImportedNode:
    """Return a node as an item; ``parent``: the node above, -1 = root.

    Raises ConversionError: a transform that is not finite.
    """
    node = file.nodes[i]
    out = _placed(file, node.name or "", parent, node.translation, node.rotation, node.scale)
    if node.matrix is not None:
        matrix = np.array(node.matrix, np.float64).reshape(4, 4).T
        out = _placed(file, out.name, parent, matrix[:3, 3])
        out.linear = linear = _to_game(matrix[:3, :3])
        _require_finite(file, out)
        turn = rotation_in(linear)
        out.rotation, rigid = quaternion_of(turn), np.abs(linear - turn).max() <= _SCALE_NOISE
        out.linear = None if rigid else linear
    out.mesh, out.extras = -1 if node.mesh is None else node.mesh, read_extras(NodeExtras, node.extras)
    out.typed = typed_extras(node.extras)
    if out.extras.get("kind") != "point" and not 0 <= out.extras.get("flags", 0) <= NONE16:
        problem = f"{file.node_title(i)} has flags beyond 16 bits"
        raise ConversionError(problem, file=file.label, value=out.extras["flags"])
    return out


def _placed(file: GltfFile, name: str, parent: int, *given: Sequence[float] | NDArray[Any] | None) -> ImportedNode:
    """An item at a place in glTF axes: translation, rotation, scale; what is missing or ``None`` is the identity."""
    places = zip_longest(_ATTRIBUTES.values(), given)
    moved, turned, scaled = (np.array(usual if one is None else one, np.float64) for usual, one in places)
    spun = _rotation(turned, file.report, name)
    linear = None
    if not np.abs(scaled - 1).max() <= _SCALE_NOISE:
        linear = rotation_matrix(spun) @ _to_game(np.diag(scaled))
    place = gltf_to_game(moved.astype(np.float32))
    out = ImportedNode(name, parent, translation=place, rotation=spun, linear=linear, mesh=-1, extras=NodeExtras())
    _require_finite(file, out, turned)
    return out


def _rotation(turned: F64, report: Report, name: str) -> F64:
    """Unit quaternions in the game's axes, (..., 4); one of length 0 is no rotation, and a warning says so."""
    if zero := int(np.count_nonzero(~np.any(turned, axis=-1))):
        report.warnings.append(f"{plural(zero, 'rotation')} of node {called(name)} of length 0: read as no rotation")
    return rotation_to_game(normalise(turned, (0, 0, 0, 1)))


def _to_game(linear: F64) -> F64:
    """A (3, 3) matrix in game axes: M glTF M^-1, and the axis map M is a rotation."""
    mapped = gltf_to_game(np.ascontiguousarray(linear.T)).T
    return gltf_to_game(np.ascontiguousarray(mapped))


def _require_finite(file: GltfFile, item: ImportedNode, *more: F64) -> None:
    values = (item.translation, item.rotation, item.linear, *more)
    if not all(np.isfinite(v).all() for v in values if v is not None):
        raise ConversionError(f"node {called(item.name)} has a transform that is not finite", file=file.label)


def add_instances(file: GltfFile, out: ImportedScene, index_of: dict[int, int]) -> None:
    """Give every instance of a node's mesh an item of its own below the node.

    Args:
        out: its items; changed in place.
        index_of: glTF node -> item.

    Raises ConversionError: more instances than the size of the file allows.
    """
    for node, i in index_of.items():
        extension = (file.nodes[node].extensions or {}).get(INSTANCING)
        item = out.nodes[i]
        if extension is None or item.mesh < 0 or file.nodes[node].skin is not None:
            continue
        attributes = extension.get("attributes") or {}
        given = {k: _values(file, attributes[k], width=len(v)) for k, v in _ATTRIBUTES.items() if k in attributes}
        count = min(map(len, given.values()), default=0)
        if any(len(values) != count for values in given.values()) or not count:
            problem = f"instances of node {called(item.name)} have no attributes of one length"
            value = ", ".join(f"{printable(k)}: {len(values)}" for k, values in given.items()) or None
            raise ConversionError(problem, file=file.label, value=value, expected=", ".join(_ATTRIBUTES))
        file.claim(OBJECT_SIZE * count)
        places = [given.get(k, np.tile(v, (count, 1))) for k, v in _ATTRIBUTES.items()]
        for k, (moved, turned, scaled) in enumerate(zip(*places, strict=True)):
            copy = _placed(file, f"{item.name}.{k}", i, moved, turned, scaled)
            copy.mesh, copy.hidden = item.mesh, item.hidden
            out.nodes.append(copy)
        item.mesh = -1
        out.report.warnings.append(
            f"node {called(item.name)}: {plural(count, 'instance')} of its mesh became nodes "
            f"of their own ({INSTANCING})"
        )


def _values(file: GltfFile, accessor: int, *, width: int) -> F64:
    """An attribute of instances, (n, width)."""
    values = file.array(accessor)
    if values.shape[1] != width:
        problem = "an attribute of instances has elements of another width"
        raise ConversionError(problem, file=file.label, value=values.shape[1], expected=width)
    file.claim(8 * values.size)
    return values.astype(np.float64)


#: The custom property; the exporter writes it under ``extras.msh``, people as one of its own.
_KEY = "tri_flags"


def read_flags(extras: object, where: str, report: Report) -> StatedFlags:
    """Return the flags that an object states; what is not a number of 16 bits is reported.

    Args:
        extras: the object's ``extras``: any JSON.
    """
    own = extras if isinstance(extras, dict) else {}
    exported = own.get(NAMESPACE)
    found: list[int | None] = []
    for values in (own, exported if isinstance(exported, dict) else {}):
        value = values.get(_KEY)
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
        if 0 <= number <= NONE16 and number == int(number):
            found.append(int(number))
            continue
        found.append(None)
        if value is not None:
            report.skipped(
                where,
                f"has {_KEY} {in_words(value)}",
                f"the flags of a triangle are an integer from 0 to {NONE16}",
                "write the sum of the flags, as 2 for a floor to walk on",
                "fact",
            )
    return StatedFlags(*found)


#: Seconds that the first key may be before 0: times are float32.
_TIME_NOISE = 1e-5
_MAX_SCALE_CHANGE = 1e-4
_ONLY_NODES = "only nodes of a model are animated"
_TWO_CURVES = "in Blender's Nonlinear Animation editor, delete one of this object's strips, or unlink its action"
_PATHS = ("translation", "rotation", "scale")


def read_clips(file: GltfFile, index_of: dict[int, int], placed: set[int]) -> list[Clip]:
    """Return every animation of a document; times are seconds. Raises ConversionError: curves that are broken.

    Args:
        index_of: node -> item.
        placed: nodes that are in a scene; no other can be missed.
    """
    return [_clip(file, animation, index_of, placed) for animation in file.animations]


def _clip(file: GltfFile, animation: GltfObject, index_of: dict[int, int], placed: set[int]) -> Clip:
    """Translations and rotations of one animation, by item, and what else it has."""
    file.claim(OBJECT_SIZE * len(animation.samplers))
    samplers = typed(animation.samplers)
    clip = Clip(animation.name or "")
    where = Subject("animation", clip.name)
    tracks: dict[int, Track] = {}
    read: dict[tuple[int, str], tuple[str, F64, F64]] = {}
    outside: list[str] = []
    morphed: list[str] = []
    pointers: list[str] = []
    twice: list[str] = []
    homeless = 0
    for channel in animation.channels:
        target, path = channel["target"].get("node"), channel["target"]["path"]
        if target is None:
            if pointer := channel["target"].get("extensions", {}).get(POINTER):
                pointers.append(pointer["pointer"])
            else:
                homeless += 1
            continue
        name = file.nodes[target].name or ""
        if path == "weights":
            morphed.append(name or f"node {target}")
            continue
        if target not in index_of:
            outside += [name or f"node {target}"] if target in placed else []
            continue
        if path not in _PATHS:
            pointers.append(path)
            continue
        sampler = samplers[channel["sampler"]]
        kind = sampler.interpolation or "LINEAR"
        seconds, values = _keys(file, sampler, kind, file.node_title(target))
        width = 4 if path == "rotation" else 3
        if values.shape[1:] != (width,):
            problem = f"{path} of {file.node_title(target)} has values of another width"
            raise ConversionError(problem, file=file.label, value=values.shape[1], expected=width)
        twice += [file.node_title(target)] if (target, path) in read else []
        first = read.setdefault((target, path), (kind, seconds, values))
        if first[0] != kind or not (np.array_equal(first[1], seconds) and np.array_equal(first[2], values)):
            title = f"{where} has two curves for the {path} of {file.node_title(target)}"
            raise ConversionError(title, file=file.label, hint=_TWO_CURVES)
        if path == "scale":
            values = values[1::3] if kind == "CUBICSPLINE" else values
            _read_scale(clip, where, name, values, file.nodes[target].scale)
            continue
        track = tracks.setdefault(target, Track(index_of[target]))
        if path == "translation":
            track.translation = Channel(seconds, gltf_to_game(values), kind)
        else:
            turned = _rotation(values, clip.report, name) if kind != "CUBICSPLINE" else rotation_to_game(values)
            track.rotation = Channel(seconds, turned, kind)
    clip.tracks = list(tracks.values())
    for names, what, why, instead in (
        (outside, "moves {}, not in the model", _ONLY_NODES, "export them with the scene, if they belong to it"),
        (morphed, "changes shape keys of {}", "a model has none", "animate nodes instead"),
        (pointers, "animates {}", _ONLY_NODES, "animate nodes instead"),
    ):
        if names:
            clip.report.skipped(
                where, what.format(few([in_words(name) for name in dict.fromkeys(names)], 1)), why, instead
            )
    if twice:
        clip.report.warnings.append(
            f"{where} has curves of {twice[0]} twice: so Blender exports two strips that show one action, and "
            f"other nodes may get the motion of this one; {_TWO_CURVES}"
        )
    if homeless:
        what = f"has {plural(homeless, 'channel')} without a node"
        clip.report.skipped(where, what, "nothing says what moves", "give the channel a node, or delete it")
    return clip


def _read_scale(clip: Clip, where: str, name: str, values: F64, own: list[float] | None) -> None:
    """Note a scale that is animated, or a constant one that is not the node's own."""
    if not np.abs(values - values[:1]).max() <= _MAX_SCALE_CHANGE:
        clip.scaled.append(name)
    elif not np.abs(values[0] - (own or [1, 1, 1])).max() <= _MAX_SCALE_CHANGE:
        shown = " ".join(f"{value:.6g}" for value in values[0].tolist())
        clip.report.skipped(
            Subject("animation", name, text=f"{where} of node {called(name)}"),
            f"its scale {shown} is not the node's",
            "scale is taken from the node, for its vertices",
            "give the node that scale, and remove the animation's",
            "place",
            "turn",
            "triangles",
        )


def _keys(file: GltfFile, sampler: GltfObject, kind: str, title: str) -> tuple[F64, F64]:
    """Times of a sampler, (T,) seconds, and its values, (T, n) or (3T, n)."""
    times, where = file.array(sampler.input), f"animation of {title}"
    if times.shape[1] != 1 or times.dtype.kind != "f":
        raise ConversionError(f"{where}: key times are not float32 numbers", file=file.label)
    seconds = times.reshape(-1).astype(np.float64)
    values = file.array(sampler.output).astype(np.float64)
    wanted = len(seconds) * (3 if kind == "CUBICSPLINE" else 1)
    if len(values) != wanted:
        raise ConversionError(
            f"{where} has not as many values as key times", file=file.label, value=len(values), expected=wanted
        )
    if seconds[0] < -_TIME_NOISE:
        problem, hint = f"{where}: key times are negative", "move the keys to frame 0 or later before you export"
        raise ConversionError(problem, file=file.label, value=f"{seconds[0]:g} s", expected="0 s or later", hint=hint)
    if (np.diff(seconds) <= 0).any() or not np.isfinite(values).all():
        raise ConversionError(f"{where}: key times are not increasing, or values not finite", file=file.label)
    return seconds, values


def require_finite(read: ImportedScene, label: str) -> None:
    """Refuse a file whose numbers no model can have.

    Raises ConversionError: a number that is not finite, or that became so as float32; or out of range.
    """
    streams = read.streams
    require_in_range("a position", streams.positions, label)
    for item in read.nodes:
        for part in (item.translation, item.rotation, item.linear):
            if part is not None:
                require_in_range(f"the transform of node {called(item.name)}", part, label)
    for i, _, channel in curves_of(track for clip in read.clips for track in clip.tracks):
        node = f"the animation of node {called(read.nodes[i].name)}"
        require_in_range(f"a time of {node}", channel.frames, label)
        require_in_range(f"a value of {node}", channel.values, label)
    names = "a normal", "a texture coordinate", "a lightmap coordinate", "a blend", "a number of an areal"
    arrays = streams.normals, streams.uv0, streams.uv1, streams.blend, streams.areal, streams.logic
    for what, values in zip((*names, "a logic flag"), arrays, strict=True):
        if values is not None and not np.isfinite(values).all():
            raise ConversionError(f"{what} is not finite", file=label, expected="a float32")
