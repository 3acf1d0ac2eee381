"""Which node of a glTF file is which: MSH nodes, parts, new ones (``gltf-mapping``, The way back).

By ``extras.msh``, else by name (a Blender ``.001`` is stripped only if the bare name is known),
else new. Scale and shear, which MSH nodes do not have, go into the vertices below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..formats.names import without_number
from ..formats.tables import NODE_COCKPIT
from ..numeric.arrays import NONE16
from ..numeric.pose import multiply, parents_first, rotate, rotation_matrix
from ..scene.decode import rest_pose
from ..scene.points import is_point
from ..scene.scene import Imported, Item, Node, Part, Scene
from .rigid_transforms import frame_in, rigid_part, rigid_track

F64 = NDArray[np.float64]

_PART_NAME = re.compile(r"(?P<node>.*)\.lod(?P<lod>[0-2])(?:\.group(?P<group>[0-4]))?(?:#\d+)*")
#: Poses drift by this much of the model's size on their way through Blender (measured: 4e-7).
POSE_NOISE = 2e-6
ROTATION_NOISE = 1e-6


@dataclass
class _Role:
    """What an item is: a node (``stored``: index in the sidecar's scene), or a part of one."""

    stored: int | None = None
    owner: int | str | None = None
    lod: int = 0
    group: int = 0
    name: str = ""

    @property
    def is_part(self) -> bool:
        return self.owner is not None


@dataclass
class Identified:
    """A scene whose nodes are told apart.

    Attributes:
        scene: nodes in file order; parts carry what to apply to their vertices.
        imported: the file.
        node_of: item of the file -> node.
        baked: node -> (3, 3), what its item's frame has beyond a rotation (scale, shear, mirror);
            nodes without such are not in it.
        stored_of: node -> index in the sidecar's scene; new nodes are not in it.
        shown: the cell that the default scene shows.
        size: extent of the model, for tolerances.
    """

    scene: Scene
    imported: Imported
    node_of: dict[int, int] = field(default_factory=dict)
    baked: dict[int, F64] = field(default_factory=dict)
    stored_of: dict[int, int] = field(default_factory=dict)
    shown: tuple[int, int] = (0, 0)
    size: float = 1.0


def identify(
    imported: Imported, stored: Scene | None, shown: tuple[int, int] = (0, 0)
) -> Identified:
    """Tell the nodes of a file apart.

    Args:
        imported: the file.
        stored: the sidecar's model, if there is one.
        shown: the cell that the default scene shows.

    Raises:
        ConversionError: a transform that rigid nodes cannot have.
    """
    roles = _roles(imported, stored)
    scene = Scene(imported.name, imported.streams, meshes=imported.meshes)
    scene.materials = imported.materials
    out = Identified(scene, imported, shown=shown, size=model_size(stored) if stored else 1.0)
    order = parents_first([NONE16 if i.parent < 0 else i.parent for i in imported.items])
    world = _world_matrices(imported.items, order)
    frames = _nodes(imported, roles, order, world, out, stored)
    node_of = out.node_of
    if stored is None:
        out.size = model_size(scene)
    _parts(imported, roles, world, node_of, out, stored)
    for track in imported.tracks:
        item, role = imported.items[track.node], roles[track.node]
        if role is None:
            continue
        if role.is_part:
            imported.warnings.append(f"animation of part {item.name!r} is passed by")
        elif track.node in node_of:
            frame = frames.get(track.node)
            scene.tracks.append(
                replace(track, node=node_of[track.node])
                if frame is None
                else rigid_track(item, track, frame, node_of[track.node])
            )
    ends = [c.frames[-1] for t in scene.tracks for c in (t.rotation, t.translation) if c]
    scene.frame_count = int(np.floor(max(ends, default=0) + 1e-4)) + 1
    return out


def model_size(scene: Scene) -> float:
    """How far the nodes of a model reach: what pose tolerances are relative to."""
    if not scene.nodes:
        return 1.0
    world_t = rest_pose(scene)[1]
    local = max(float(np.abs(node.translation).max()) for node in scene.nodes)
    moved = [np.abs(t.translation.values).max() for t in scene.tracks if t.translation]
    return max(float(np.abs(world_t).max()), local, *map(float, moved), 1e-6)


# ------------------------------------------------------------------ roles


def _roles(imported: Imported, stored: Scene | None) -> list[_Role | None]:
    """The role of every item; ``None`` for what is passed by."""
    items = imported.items
    roles: list[_Role | None] = [None] * len(items)
    taken: set[object] = set()
    stored_nodes = {} if stored is None else {n.index: i for i, n in enumerate(stored.nodes)}
    stored_names = {} if stored is None else {n.name: i for i, n in enumerate(stored.nodes)}
    open_items = [
        i
        for i, item in enumerate(items)
        if not _is_decoration(imported, item) and not is_point(item, stored_names)
    ]
    # extras number the owner of a part, names name it: a cell is claimed once, however it is told
    owner_names = {
        item.extras["node"]: item.name
        for item in items
        if "node" in item.extras and "lod" not in item.extras
    }
    if stored is not None:
        owner_names = {n.index: n.name for n in stored.nodes if n.index is not None}

    def claim(i: int, key: object, role: _Role) -> bool:
        if key in taken:
            return False
        taken.add(key)
        roles[i] = role
        return True

    def by_extras(i: int, *, named: bool) -> bool:
        extras = items[i].extras
        if "node" not in extras:
            return False
        number = extras["node"]
        if "lod" in extras and "group" in extras:
            lod, group = extras["lod"], extras["group"]
            expected = _part_match(items[i].name)
            if named and (expected is None or items[i].name != without_number(items[i].name)):
                return False
            role = _Role(owner=number, lod=lod, group=group, name=items[i].name)
            return claim(i, ("part", owner_names.get(number, number), lod, group), role)
        index = stored_nodes.get(number) if stored is not None else number
        if index is None:
            return False
        if named and stored is not None and items[i].name != stored.nodes[index].name:
            return False
        return claim(i, ("node", index), _Role(stored=index, name=items[i].name))

    def by_name(i: int, name: str) -> bool:
        if items[i].extras:
            return False  # a copy of something that was ours: it is new
        index = stored_names.get(name)
        return index is not None and claim(i, ("node", index), _Role(stored=index, name=name))

    open_items = [i for i in open_items if not by_extras(i, named=True)]
    open_items = [i for i in open_items if not by_extras(i, named=False)]
    open_items = [i for i in open_items if not by_name(i, items[i].name)]
    open_items = [i for i in open_items if not by_name(i, without_number(items[i].name))]
    if stored is not None:
        open_items = _renamed(imported, stored, open_items, roles, taken)
    known = set(stored_names) | {items[i].name for i in range(len(items))}
    for i in open_items:
        match = _part_match(items[i].name) or _part_match(without_number(items[i].name))
        if match and items[i].mesh >= 0 and match[0] in known:
            owner, lod, group = match
            if claim(i, ("part", owner, lod, group), _Role(owner=owner, lod=lod, group=group)):
                continue
        if match and match[1:] == (0, 0) and ("node", match[0]) not in taken:
            # a foreign "tree.lod0" beside "tree.lod1": the node is "tree"
            taken.add(("node", match[0]))
            roles[i] = _Role(name=match[0])
            continue
        roles[i] = _Role(name=items[i].name)
    founded = {r.name for r in roles if r is not None and not r.is_part}
    for i in open_items:
        role, match = roles[i], _part_match(items[i].name)
        if role is not None and not role.is_part and match and match[0] in founded - {role.name}:
            roles[i] = _Role(owner=match[0], lod=match[1], group=match[2])
    return roles


def _renamed(
    imported: Imported,
    stored: Scene,
    open_items: list[int],
    roles: list[_Role | None],
    taken: set[object],
) -> list[int]:
    """Nodes that came back under another name and without extras: by the name of their mesh, which
    Blender keeps, else by standing where a missing node stood. Returns the items still open."""
    free = [k for k in range(len(stored.nodes)) if ("node", k) not in taken]
    noise = POSE_NOISE * model_size(stored)
    mesh_names = {
        stored.meshes[part.mesh].name: part.node for part in stored.parts if part.node in free
    }
    left = []
    for i in open_items:
        item = imported.items[i]
        found = None
        if not item.extras and _part_match(item.name) is None:
            mesh = imported.meshes[item.mesh].name if item.mesh >= 0 else ""
            found = mesh_names.get(mesh, mesh_names.get(without_number(mesh)))
            if found is None and item.mesh < 0:
                above = roles[item.parent] if item.parent >= 0 else None
                parent = -1 if above is None or above.stored is None else above.stored
                standing = [
                    k
                    for k in free
                    if stored.nodes[k].parent == parent
                    and np.abs(stored.nodes[k].translation - item.translation).max() <= noise
                ]
                found = standing[0] if len(standing) == 1 else None
        if found is None or ("node", found) in taken:
            left.append(i)
        else:
            taken.add(("node", found))
            roles[i] = _Role(stored=found, name=item.name)
    return left


def _part_match(name: str) -> tuple[str, int, int] | None:
    match = _PART_NAME.fullmatch(name)
    return (match["node"], int(match["lod"]), int(match["group"] or 0)) if match else None


def _is_decoration(imported: Imported, item: Item) -> bool:
    """The path graph that we show on request, and objects of lines or points alone."""
    if item.extras.get("kind") == "paths":
        return True
    drawn = item.mesh >= 0 and imported.meshes[item.mesh].drawn
    return item.mesh >= 0 and not drawn and item.name.startswith("paths")


# ------------------------------------------------------------------ poses


def _world_matrices(items: list[Item], order: list[int]) -> F64:
    """4x4 matrices from item to model, scale included."""
    world = np.tile(np.eye(4), (len(items), 1, 1))
    for i in order:
        item = items[i]
        local = np.eye(4)
        local[:3, :3] = rotation_matrix(item.rotation) if item.linear is None else item.linear
        local[:3, 3] = item.translation
        world[i] = local if item.parent < 0 else world[item.parent] @ local
    return world


def _nodes(
    imported: Imported,
    roles: list[_Role | None],
    order: list[int],
    world: F64,
    out: Identified,
    stored: Scene | None,
) -> dict[int, F64]:
    """Fill the scene's nodes.

    Returns:
        item -> (4, 4), from the frame that it stands in to the rigid one of the node above; only
        for items that are scaled themselves, or do not stand directly in a rigid frame.
    """
    items, scene = imported.items, out.scene
    chosen = [i for i, role in enumerate(roles) if role is not None and not role.is_part]
    out.node_of = node_of = {item: node for node, item in enumerate(chosen)}
    bake: dict[int, F64 | None] = {}  # item -> what its vertices need, None = nothing
    rigid: dict[int, tuple[F64, F64]] = {}
    frames: dict[int, F64] = {}
    made: dict[int, Node] = {}
    for i in order:
        if i not in node_of:
            continue
        item, role = items[i], roles[i]
        assert role is not None
        above = item.parent
        while above >= 0 and above not in node_of:
            above = items[above].parent
        direct = above == item.parent
        plain = direct and item.linear is None and bake.get(above) is None
        if plain:
            turned, moved = item.rotation, item.translation
            bake[i] = None
            up_r, up_t = rigid.get(above, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
            rigid[i] = multiply(up_r, turned), up_t + rotate(up_r, moved.astype(np.float64))
        else:
            turned, moved, bake[i], rigid[i] = rigid_part(item.name, world[i], rigid.get(above))
            frames[i] = frame_in(world[item.parent] if item.parent >= 0 else None, rigid.get(above))
        parent = node_of.get(above, -1)
        made[i] = _node(item, role, parent, turned, moved, stored, node_of[i])
    out.scene.nodes = [made[i] for i in chosen]
    for i in chosen:
        role = roles[i]
        if stored is not None and role is not None and role.stored is not None:
            out.stored_of[node_of[i]] = role.stored
        if items[i].mesh >= 0 and imported.meshes[items[i].mesh].drawn:
            matrix = None
            if (shape := bake[i]) is not None:
                matrix = np.eye(4)
                matrix[:3, :3] = shape
            scene.parts.append(Part(node_of[i], *out.shown, items[i].mesh, matrix))
    out.baked = {node_of[i]: shape for i, shape in bake.items() if shape is not None}
    return frames


def _node(
    item: Item,
    role: _Role,
    parent: int,
    turned: F64,
    moved: NDArray[np.float32],
    stored: Scene | None,
    i: int,
) -> Node:
    old = stored.nodes[role.stored] if stored is not None and role.stored is not None else None
    name = role.name or item.name
    if old is not None and without_number(name) == old.name:
        name = old.name
    extras = item.extras
    if stored is None and role.stored is not None:
        # what the exporter made up: a number behind a name met before, a name for the nameless
        name = re.sub(rf"(#{role.stored})+$", "", name)
        name = "" if name == f"node_{role.stored}" else name
    elif not name and old is None:
        name = f"node_{i}"
    # a copy of a node carries its extras too: it is new, and its flags are not its own
    own = role.stored is not None or "node" not in extras
    flags = extras.get("flags") if own else None
    label = extras.get("label") if own else None
    if label is None:
        label = "" if old is None or extras else old.label
    return Node(
        name=name or (old.name if old is not None else ""),
        index=role.stored,
        parent=parent,
        rotation=turned,
        translation=moved,
        flags=flags,
        label=label,
        cockpit=old.cockpit if old is not None else bool((flags or 0) & NODE_COCKPIT),
    )


# ------------------------------------------------------------------ parts and tracks


def _parts(
    imported: Imported,
    roles: list[_Role | None],
    world: F64,
    node_of: dict[int, int],
    out: Identified,
    stored: Scene | None,
) -> None:
    """Parts that are objects of their own: into the frame of the node they belong to."""
    scene = out.scene
    by_name = {node.name: i for i, node in reversed(list(enumerate(scene.nodes)))}
    stored_names = {} if stored is None else {n.name: i for i, n in enumerate(stored.nodes)}
    by_stored = {k: i for i, k in out.stored_of.items()}
    by_number = {n.index: i for i, n in enumerate(scene.nodes) if n.index is not None}
    stored_rest = None if stored is None else rest_pose(stored) if stored.nodes else None
    own_rest = rest_pose(scene) if scene.nodes else None
    stored_cells = set() if stored is None else {(p.node, p.lod, p.group) for p in stored.parts}
    at_origin: list[str] = []
    for i, role in enumerate(roles):
        if role is None or role.owner is None or imported.items[i].mesh < 0:
            continue
        if not imported.meshes[imported.items[i].mesh].drawn:
            continue
        if isinstance(role.owner, str):
            node = by_name.get(role.owner)
            if node is None and role.owner in stored_names:
                node = by_stored.get(stored_names[role.owner])
        else:
            node = by_stored.get(role.owner) if stored is not None else by_number.get(role.owner)
        if node is None:
            imported.warnings.append(
                f"part {imported.items[i].name!r} belongs to no node and is passed by"
            )
            continue
        k = out.stored_of.get(node)
        if stored_rest is not None and k is not None and (k, role.lod, role.group) in stored_cells:
            frame_r, frame_t = stored_rest[0][k], stored_rest[1][k]
            if (world[i] == np.eye(4)).all() and np.abs(frame_t).max() > POSE_NOISE * out.size:
                at_origin.append(imported.items[i].name)
        else:
            assert own_rest is not None
            frame_r, frame_t = own_rest[0][node], own_rest[1][node]
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = rotation_matrix(frame_r), frame_t
        matrix: F64 | None = np.linalg.inv(frame) @ world[i]
        assert matrix is not None
        if np.abs(matrix[:3, :3] - np.eye(3)).max() <= 4 * ROTATION_NOISE and np.abs(
            matrix[:3, 3]
        ).max() <= 2 * POSE_NOISE * max(out.size, 1e-6):
            matrix = None
        scene.parts.append(Part(node, role.lod, role.group, imported.items[i].mesh, matrix))
    if at_origin:
        # Blender does not evaluate collections that are switched off; measured with 4.5 and 5.0
        more = f" and {len(at_origin) - 1} more" if len(at_origin) > 1 else ""
        imported.warnings.append(
            f"part {at_origin[0]!r}{more} came to the origin: so Blender exports what is switched "
            "off in a .blend that was opened again (switch its collections on, and export again)"
        )
