"""glTF 2.0 to :class:`~converter.scene.scene.Imported` (``gltf-mapping`` page, The way back).

Nodes keep what the file says; which of them are nodes, parts or strangers is decided by
``converter.edits.identify_nodes``, which also knows the sidecar.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pygltflib
from numpy.typing import NDArray

from ..converter.errors import ConversionError
from ..converter.numeric.arrays import NONE16, cross_products
from ..converter.numeric.axes import gltf_to_game, rotation_to_game
from ..converter.numeric.pose import parents_first
from ..converter.numeric.quantize import normalise
from ..converter.scene.extras import (
    FileInfo,
    MaterialExtras,
    MeshExtras,
    NodeExtras,
    read_extras,
)
from ..converter.scene.scene import (
    Channel,
    Imported,
    Item,
    Material,
    Mesh,
    Primitive,
    Streams,
    Track,
)
from .gltf_file import GltfFile, Json, broken_gltf, open_gltf, typed
from .gltf_skin import bind_skins
from .gltf_values import require_finite, vector

_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_SCALE_NOISE = 1e-5
#: Meshes of lines that the exporters make, for looking.
_OWN_LINES = ("paths", "borders")
DEFAULT_FPS = 24.0


def read_gltf(
    path: Path,
    *,
    scene: str | None = None,
    all_scenes: bool = False,
    clip: str | None = None,
    fps: float | None = None,
    rigid_skin: bool = False,
    ignore_scale: bool = False,
) -> Imported:
    """Read a glTF file.

    Args:
        path: ``.glb`` or ``.gltf``.
        scene: name or number of the scene to read. Default: all of a file of ours (its other
            scenes are parts), else the default scene.
        all_scenes: the file is ours, even if an editor dropped its extras.
        clip: name or number of the animation; default the first.
        fps: frames per second; default as the file says, else 24.
        rigid_skin: bind each triangle of a skinned mesh to its dominant joint.
        ignore_scale: pass by animated scale.

    Raises:
        ConversionError: no glTF, broken, or with features that a model cannot have.
    """
    file = open_gltf(path)
    try:
        # numbers beyond their type become infinite or NaN here, and are refused at the end
        with broken_gltf(file.label), np.errstate(all="ignore"):
            out = _Reader(file, all_scenes, rigid_skin, ignore_scale).read(scene, clip, fps)
            require_finite(out, file.label)
    except ConversionError as error:
        if file.warnings and error.hint is None:  # a foreign buffer is the likely reason
            error.hint = file.warnings[0]
        raise
    return out


class _Reader:
    """Reads one document; holds what its steps share."""

    def __init__(
        self, file: GltfFile, all_scenes: bool, rigid_skin: bool, ignore_scale: bool
    ) -> None:
        self.file = file
        self.all_scenes = all_scenes
        self.rigid_skin = rigid_skin
        self.ignore_scale = ignore_scale
        self.warnings = file.warnings

    def read(self, scene: str | None, clip: str | None, fps: float | None) -> Imported:
        file = self.file
        default = int(file.root.get("scene") or 0)
        main = file.scenes[default] if file.scenes else pygltflib.Scene()
        info = read_extras(FileInfo, main.extras)
        parents = self._parents()
        chosen = self._chosen(scene, default, info)
        index_of = {node: i for i, node in enumerate(chosen)}
        out = Imported(main.name or "", info, warnings=self.warnings)
        out.items = [self._item(node, index_of.get(parents[node], -1)) for node in chosen]
        out.materials = [_material(material) for material in file.materials]
        out.material_extras = [read_extras(MaterialExtras, m.extras) for m in file.materials]
        used = {item.mesh for item in out.items if item.mesh >= 0}
        out.meshes, out.streams = self._meshes(used)
        for item in out.items:
            if item.mesh >= 0:
                shown = out.meshes[item.mesh].primitives
                file.claim(sum(64 * p.vertex_count + 8 * p.index_count for p in shown))
        bind_skins(file, out, index_of, self.rigid_skin)
        if fps is None:
            stated = [info, *(item.extras for item in out.items)]
            fps = next((float(e["fps"]) for e in stated if "fps" in e), DEFAULT_FPS)
        if fps <= 0:
            raise ConversionError("fps is not positive", file=file.label, value=fps)
        out.fps = fps
        main_clip = self._clip(clip)
        out.tracks = self._tracks(main_clip, index_of, fps)
        moved = {track.node for track in out.tracks}
        for other in file.animations if clip is None else []:
            if other is not main_clip:
                for track in self._tracks(other, index_of, fps):
                    if track.node not in moved:
                        moved.add(track.node)
                        out.other_tracks.append(track)
        return out

    # -------------------------------------------------------------- nodes

    def _parents(self) -> list[int]:
        parents = [-1] * len(self.file.nodes)
        for i, node in enumerate(self.file.nodes):
            for child in node.children or []:
                if parents[child] >= 0 or child == i:
                    raise ConversionError(
                        f"node {child} has two parents", file=self.file.label, value=f"{i}"
                    )
                parents[child] = i
        if len(parents_first([NONE16 if p < 0 else p for p in parents])) < len(parents):
            raise ConversionError("nodes form a loop", file=self.file.label)
        return parents

    def _chosen(self, scene: str | None, default: int, info: FileInfo) -> list[int]:
        """Nodes to read, in file order, without what a model has no place for."""
        file = self.file
        if scene is not None:
            numbers = [i for i, s in enumerate(file.scenes) if scene in (s.name, str(i))]
            if not numbers:
                names = ", ".join(f"{i} {s.name or ''}".strip() for i, s in enumerate(file.scenes))
                raise ConversionError(
                    "no such scene", file=file.label, value=scene, expected=names or "none"
                )
            roots = list(file.scenes[numbers[0]].nodes or [])
        elif not file.scenes:
            roots = [i for i, parent in enumerate(self._parents()) if parent < 0]
        else:
            marked = any(read_extras(NodeExtras, node.extras) for node in file.nodes)
            ours = self.all_scenes or bool(info) or marked
            filled = [s for s in file.scenes if s.nodes]
            several = ours or len(filled) == 1
            roots = [n for s in (filled if several else [file.scenes[default]]) for n in s.nodes]
            if not several and len(filled) > 1:
                self.warnings.append(
                    f"{len(filled)} scenes, only the default one is read (--scene chooses)"
                )
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += file.nodes[node].children or []
        return [i for i in sorted(found) if not self._passed_by(i)]

    def _passed_by(self, i: int) -> bool:
        """Cameras and lights without anything below them."""
        node = self.file.nodes[i]
        light = "KHR_lights_punctual" in (node.extensions or {})
        return (node.camera is not None or light) and node.mesh is None and not node.children

    def _item(self, i: int, parent: int) -> Item:
        node = self.file.nodes[i]
        mesh = -1
        if node.mesh is not None:
            mesh = int(node.mesh)
            _ = self.file.meshes[mesh]  # raises where there is none
        linear = None
        if node.matrix is not None:
            matrix = vector(node.matrix, 16).reshape(4, 4).T
            translation, linear = matrix[:3, 3], matrix[:3, :3]
            rotation = np.array([0, 0, 0, 1.0])
        else:
            translation = vector(node.translation or [0, 0, 0], 3)
            rotation = vector(node.rotation or [0, 0, 0, 1], 4)
            scale = vector(node.scale or [1, 1, 1], 3)
            if np.abs(scale - 1).max() > _SCALE_NOISE:
                linear = np.diag(scale)
        finite = all(np.isfinite(v).all() for v in (translation, rotation, linear) if v is not None)
        if not finite:
            raise ConversionError(
                f"node {node.name!r} has a transform that is not finite", file=self.file.label
            )
        turned = rotation_to_game(normalise(rotation, (0, 0, 0, 1)))
        if linear is not None:
            # the axis map from both sides: game = M glTF M^-1, and M is a rotation
            mapped = gltf_to_game(np.ascontiguousarray(linear.T)).T
            linear = gltf_to_game(np.ascontiguousarray(mapped))
            if node.matrix is None:
                from ..converter.numeric.pose import rotation_matrix

                linear = rotation_matrix(turned) @ linear
        return Item(
            node.name or "",
            parent,
            gltf_to_game(translation.astype(np.float32)),
            turned,
            linear,
            mesh,
            read_extras(NodeExtras, node.extras),
        )

    # -------------------------------------------------------------- meshes

    def _meshes(self, used: set[int]) -> tuple[list[Mesh], Streams]:
        """Every mesh, its vertices laid end to end in common streams."""
        meshes: list[Mesh] = []
        pieces: dict[str, list[NDArray[Any]]] = {}
        indices: list[NDArray[Any]] = []
        starts = [0, 0]
        wanted = {"POSITION"}
        for i in used:
            for p in self.file.meshes[i].primitives:
                wanted |= {k for k in p["attributes"] if k in _WIDTH}
        for number, mesh in enumerate(self.file.meshes):
            extras = read_extras(MeshExtras, mesh.extras)
            cell = extras.get("slot"), extras.get("lod"), extras.get("group")
            meshes.append(Mesh(mesh.name or "", [], *cell))
            for place, data in enumerate(mesh.primitives if number in used else []):
                read = self._primitive(number, place, data)
                if read is None:
                    continue
                attributes, index = read
                count = len(attributes["POSITION"])
                for name in wanted:
                    part = attributes.get(name)
                    pieces.setdefault(name, []).append(
                        part if part is not None else _absent(name, count)
                    )
                if "NORMAL" not in attributes:
                    pieces.setdefault("NORMAL", [])
                    if "NORMAL" in wanted:
                        pieces["NORMAL"].pop()
                    pieces["NORMAL"].append(_flat_normals(attributes["POSITION"], index))
                indices.append(index)
                material = -1 if data.get("material") is None else int(data["material"])
                primitive = Primitive(material, starts[0], count, starts[1], len(index))
                meshes[-1].primitives.append(primitive)
                starts[0] += count
                starts[1] += len(index)
        joined = {name: np.concatenate(parts) for name, parts in pieces.items() if parts}
        positions = joined.get("POSITION", np.empty((0, 3), np.float32))
        normals = joined.get("NORMAL")
        return meshes, Streams(
            gltf_to_game(positions.astype(np.float32)),
            np.concatenate(indices).astype("<u4") if indices else np.empty(0, "<u4"),
            None if normals is None else gltf_to_game(normals.astype(np.float32)),
            joined.get("TEXCOORD_0"),
            joined.get("TEXCOORD_1"),
            joined.get("COLOR_0"),
            joined["_MSH_BLEND"].reshape(-1) if "_MSH_BLEND" in joined else None,
        )

    def _primitive(
        self, number: int, place: int, data: Json
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any]] | None:
        """Attributes and triangle indices of a primitive; ``None`` for points and lines."""
        name = self.file.meshes[number].name
        mode = data.get("mode", _TRIANGLES)
        if mode < _TRIANGLES:
            kind = "points" if mode == 0 else "lines"
            if name.partition(".")[0] not in _OWN_LINES:
                self.warnings.append(f"mesh {name!r}: {kind} are passed by")
            return None
        if data.get("targets"):
            raise ConversionError(
                f"mesh {name!r} has morph targets",
                file=self.file.label,
                hint="a model of the game has none: apply the shape keys before you export",
            )
        packed = self.file.draco(data)
        if packed is not None:
            index = packed.pop("indices").reshape(-1)
            attributes = {k: v for k, v in packed.items() if k in _WIDTHS_OF}
        else:
            attributes = {
                k: self.file.array(v) for k, v in data["attributes"].items() if k in _WIDTH
            }
            if "indices" in data:
                index = self.file.array(data["indices"]).reshape(-1)
            else:
                index = np.arange(len(attributes["POSITION"]), dtype="<u4")
        for key in ("JOINTS_0", "WEIGHTS_0"):
            if key in data["attributes"] and key not in attributes:
                attributes[key] = self.file.array(data["attributes"][key])
        if index.dtype.kind != "u":
            raise TypeError(f"indices of mesh {name!r} are {index.dtype}")
        index = _as_triangles(index, mode)
        count = len(attributes["POSITION"])
        for key, values in attributes.items():
            if len(values) != count or values.shape[1] not in _WIDTHS_OF[key]:
                shape = " x ".join(map(str, values.shape))
                raise ValueError(f"{key} of mesh {name!r} is {shape}, for {count} vertices")
        self.file.claim(64 * count + 8 * len(index))
        if len(index) and int(index.max()) >= count:
            raise ConversionError(
                f"mesh {name!r} has an index past its vertices",
                file=self.file.label,
                value=int(index.max()),
                expected=f"below {count}",
            )
        for key, values in attributes.items():
            finite = np.isfinite(values)
            if np.count_nonzero(finite) < finite.size:
                bad = ~finite.all(axis=1)
                users = [node.name for node in self.file.nodes if node.mesh == number]
                raise ConversionError(
                    f"{key} is not finite in mesh {name!r} of node {users[0]!r}",
                    file=self.file.label,
                    table=f"primitive {place}",
                    row=int(np.argmax(bad)),
                )
        material = None
        if data.get("material") is not None:
            material = self.file.materials[int(data["material"])]
        if material is not None and "TEXCOORD_0" in attributes:
            attributes["TEXCOORD_0"] = _texture_transform(attributes, material)
        if "COLOR_0" in attributes:
            attributes["COLOR_0"] = _colours(attributes["COLOR_0"])
        return attributes, index

    # -------------------------------------------------------------- animation

    def _clip(self, clip: str | None) -> Any:
        animations = self.file.animations
        if clip is None:
            return animations[0] if animations else None
        for i, animation in enumerate(animations):
            if clip in (animation.name, str(i)):
                return animation
        names = ", ".join(f"{i} {a.name}" for i, a in enumerate(animations))
        raise ConversionError(
            "no such clip", file=self.file.label, value=clip, expected=names or "none"
        )

    def _tracks(self, clip: Any, index_of: dict[int, int], fps: float) -> list[Track]:
        """Translations and rotations of a clip, by item."""
        if clip is None:
            return []
        samplers = typed(pygltflib.AnimationSampler, clip.samplers)
        out: dict[int, Track] = {}
        for data in clip.channels:
            target, path = data["target"].get("node"), data["target"]["path"]
            if target not in index_of or path == "weights":
                continue
            name = self.file.nodes[target].name
            sampler = samplers[data["sampler"]]
            kind = sampler.interpolation or "LINEAR"
            seconds = self.file.array(sampler.input).reshape(-1).astype(np.float64)
            values = self.file.array(sampler.output).astype(np.float64)
            if len(values) != len(seconds) * (3 if kind == "CUBICSPLINE" else 1):
                raise ConversionError(
                    f"animation of node {name!r} has uneven keys",
                    file=self.file.label,
                    value=len(values),
                    expected=len(seconds),
                )
            if (np.diff(seconds) <= 0).any() or not np.isfinite(values).all():
                raise ConversionError(
                    f"animation of node {name!r} has keys that do not rise or are not finite",
                    file=self.file.label,
                )
            width = 4 if path == "rotation" else 3
            if values.shape[1:] != (width,):
                raise ValueError(f"{path} of node {name!r} is not of {width} numbers")
            if path == "scale":
                if not self.ignore_scale and np.abs(values - values[:1]).max() > 1e-4:
                    raise ConversionError(
                        f"node {name!r} has animated scale",
                        file=self.file.label,
                        hint="nodes of a model have none: --ignore-scale passes it by",
                    )
                continue
            track = out.setdefault(target, Track(index_of[target]))
            frames = _snap(seconds * fps)
            if kind == "CUBICSPLINE":
                # tangents are per second
                values.reshape(-1, 3, values.shape[1])[:, [0, 2]] /= fps
            if path == "translation":
                track.translation = Channel(frames, gltf_to_game(values), kind)
            else:
                if kind != "CUBICSPLINE":
                    values = normalise(values, (0, 0, 0, 1))
                track.rotation = Channel(frames, rotation_to_game(values), kind)
        return list(out.values())


#: How many numbers an attribute has (glTF 2.0, 3.7.2.1).
_WIDTHS_OF = {
    "POSITION": (3,),
    "NORMAL": (3,),
    "TEXCOORD_0": (2,),
    "TEXCOORD_1": (2,),
    "COLOR_0": (3, 4),
    "_MSH_BLEND": (1,),
    "JOINTS_0": (4,),
    "WEIGHTS_0": (4,),
}
_WIDTH = {
    "POSITION": 3,
    "NORMAL": 3,
    "TEXCOORD_0": 2,
    "TEXCOORD_1": 2,
    "COLOR_0": 4,
    "_MSH_BLEND": 1,
}


def _absent(name: str, count: int) -> NDArray[Any]:
    """What stands in for an attribute that only other primitives have."""
    if name == "COLOR_0":
        return np.full((count, 4), 255, np.uint8)
    return np.full((count, _WIDTH[name]), name == "_MSH_BLEND", np.float32)


def _as_triangles(index: NDArray[Any], mode: int) -> NDArray[Any]:
    """Indices of separate triangles of a list, strip or fan (glTF 2.0, 3.7.2.1)."""
    if mode == _TRIANGLES:
        return index[: len(index) - len(index) % 3]
    count = max(0, len(index) - 2)
    i = np.arange(count)
    if mode == _STRIP:
        corners = np.stack([i, i + 1 + i % 2, i + 2 - i % 2], axis=1)
    else:
        corners = np.stack([i + 1, i + 2, np.zeros_like(i)], axis=1)
    triangles: NDArray[Any] = index[corners.reshape(-1)]
    return triangles


def _flat_normals(positions: NDArray[Any], index: NDArray[Any]) -> NDArray[np.float32]:
    """Area-weighted vertex normals, glTF axes, for a primitive that brings none."""
    corners = positions[index.reshape(-1, 3)].astype(np.float64)
    cross = cross_products(corners)
    total = np.zeros((len(positions), 3))
    for corner in range(3):
        np.add.at(total, index.reshape(-1, 3)[:, corner], cross)
    return normalise(total, (0, 1, 0)).astype(np.float32)


def _texture_transform(attributes: dict[str, NDArray[Any]], material: Any) -> NDArray[Any]:
    """TEXCOORD_0 as the base colour texture sees it (KHR_texture_transform)."""
    info = (material.pbrMetallicRoughness or {}).get("baseColorTexture") or {}
    transform = (info.get("extensions") or {}).get("KHR_texture_transform")
    uv = attributes["TEXCOORD_0"]
    if transform is None:
        return uv
    number = transform.get("texCoord", info.get("texCoord", 0))
    uv = attributes.get(f"TEXCOORD_{number}", uv).astype(np.float64)
    scaled = uv * transform.get("scale", [1, 1])
    sine, cosine = np.sin(transform.get("rotation", 0.0)), np.cos(transform.get("rotation", 0.0))
    turned = np.stack(
        [cosine * scaled[:, 0] + sine * scaled[:, 1], cosine * scaled[:, 1] - sine * scaled[:, 0]],
        axis=1,
    )
    return np.asarray(turned + transform.get("offset", [0, 0]), np.float32)


def _colours(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return COLOR_0 of one primitive as (V, 4) RGBA bytes.

    Primitives of one file may differ in type: (V, 3) or (V, 4), floats or integers. Integers that
    are not marked as normalised, which glTF does not allow, are read as if they were.
    """
    if values.dtype.kind == "u":
        values = values / np.float32(np.iinfo(values.dtype).max)
    out = np.full((len(values), 4), 255, np.uint8)
    scaled = np.rint(values.astype(np.float64) * 255)
    out[:, : values.shape[1]] = np.clip(scaled, 0, 255).astype(np.uint8)
    return out


def _snap(frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Frames within 1e-3 of a whole one become it (``conventions`` page, Time)."""
    whole = np.rint(frames)
    return np.where(np.abs(frames - whole) <= 1e-3, whole, frames)


def _material(material: Any) -> Material:
    """A material by its extras; numbers are -1 where they are gone."""
    extras = read_extras(MaterialExtras, material.extras)
    return Material(
        material.name or "",
        extras.get("row", -1),
        extras.get("lightmap", -1),
        extras.get("batch_flags", -1),
        extras.get("w2", -1),
        extras.get("w4", -1),
        extras.get("w6", -1),
    )
