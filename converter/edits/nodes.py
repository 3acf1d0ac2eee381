"""Make a scene of a file's nodes, whose roles are known (:mod:`converter.edits.node_roles`): transforms, parts, flags.

Scale and shear, which MSH nodes do not have, go into the vertices below. Hidden nodes are left out before: a model
has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..errors import ConversionError, called, printable
from ..findings import Report, Subject
from ..formats.model import NODE_COCKPIT
from ..formats.names import decode_text, encode_name, known_name
from ..formats.tables import NAME_DTYPE
from ..numeric.arrays import F32, F64
from ..numeric.pose import affine, multiply, parents_first, quaternion_of, rotate, rotation_in, rotation_matrix
from ..scene.decode import rest_pose
from ..scene.dialect import Dialect, part_name
from ..scene.scene import ImportedNode, ImportedScene, Node, Part, Scene, nodes_above
from .node_roles import NodeRoles, Role, StoredMeshes, owner_items

#: Poses drift by this much of the model's size on their way through Blender (measured: 4e-7).
POSE_NOISE = 2e-6
ROTATION_NOISE = 1e-6
#: The same of nodes below others that are turned: matrices round more.
PLACED_TURN_NOISE = 1e-5
#: Bytes of a name in Res9, without its NUL.
NAME_ROOM = NAME_DTYPE.itemsize - 1
#: Rows of the node table: their numbers are 16 bits, 0xFFFF being none.
MOST_NODES = 0xFFFF


@dataclass
class Identified:
    """A scene whose nodes are identified.

    Attributes:
        scene: nodes in file order; parts carry what to apply to their vertices.
        world: (n, 4, 4), from items to the model, by their own transforms.
        node_of: item of the file -> node.
        part_items: items of the file that are parts of nodes.
        part_of: index of a part in the scene -> its item, of parts that are objects of their own.
        exported: indices of those that were exported as parts of their nodes.
        reasons: index of a part -> how it was placed, where its object was left and its node not.
        shifted: nodes that were moved or scaled without the parts that the file does not have.
        frames: item -> (4, 4), from the frame that it stands in to the rigid one of the node above;
            only for items that are scaled themselves, or do not stand directly in a rigid frame.
        baked: node -> (3, 3), what its item's frame has beyond a rotation (scale, shear, mirror);
            nodes without such are not in it.
        stored_of: node -> index in the sidecar's scene; new nodes are not in it.
        shown: the cell that the default scene shows.
        turn_noise: how far rotations drift.
    """

    scene: Scene
    imported: ImportedScene
    world: F64
    node_of: dict[int, int] = field(default_factory=dict)
    part_items: set[int] = field(default_factory=set)
    part_of: dict[int, int] = field(default_factory=dict)
    exported: set[int] = field(default_factory=set)
    reasons: dict[int, str] = field(default_factory=dict)
    shifted: set[int] = field(default_factory=set)
    frames: dict[int, F64] = field(default_factory=dict)
    baked: dict[int, F64] = field(default_factory=dict)
    stored_of: dict[int, int] = field(default_factory=dict)
    shown: tuple[int, int] = (0, 0)
    size: float = 1.0
    turn_noise: float = ROTATION_NOISE

    @cached_property
    def item_of(self) -> dict[int, int]:
        """Node -> item of the file."""
        return {node: item for item, node in self.node_of.items()}

    @cached_property
    def now_of(self) -> dict[int, int]:
        """Index in the sidecar's scene -> node; deleted ones are not in it."""
        return {stored: node for node, stored in self.stored_of.items()}

    @cached_property
    def fitted(self) -> dict[int, bytes]:
        """Node -> the bytes of its name in the game, where the game cannot hold the name of the file."""
        raw = {i: encode_name(node.name).partition(b"\0")[0] for i, node in enumerate(self.scene.nodes)}
        bad = {i for i in raw if len(raw[i]) > NAME_ROOM or decode_text(raw[i]) != self.scene.nodes[i].name}
        taken = {raw[i] for i in raw if i not in bad}
        return {i: _fitting(raw[i], taken) for i in sorted(bad)}

    @property
    def report(self) -> Report:
        """What the import says."""
        return self.imported.report


def _fitting(name: bytes, taken: set[bytes]) -> bytes:
    """Return the beginning of a name that no other node has, and take it."""
    out, number = name[:NAME_ROOM], 1
    while out in taken:
        number += 1
        out = name[: NAME_ROOM - len(f"~{number}")] + f"~{number}".encode()
    taken.add(out)
    return out


def identify(
    imported: ImportedScene, stored: Scene | None, shown: tuple[int, int] = (0, 0), dialect: Dialect = Dialect.SPEC
) -> Identified:
    """Identify the nodes of a file; its clip is put on them by ``edits.clips``, and parts
    that are objects of their own into their frames by ``edits.poses``.

    Raises ConversionError: more nodes than a model has rows for, or a transform that rigid nodes cannot have.

    Args:
        shown: the cell that the default scene shows.
        dialect: of a model that is made without a stored one.
    """
    size, placed = model_size(stored) if stored else 1.0, imported.placed
    dialect = dialect if stored is None else stored.dialect
    roles = NodeRoles(imported, stored, POSE_NOISE * size, dialect).run()
    count = sum(role is not None and not role.is_part for role in roles)
    if count > MOST_NODES:
        raise ConversionError(
            "too many nodes",
            value=f"{count:,}",
            expected=f"at most {MOST_NODES:,} in a model",
            hint="join objects before the export",
        )
    scene = Scene(imported.name, imported.streams, meshes=imported.meshes, dialect=dialect)
    scene.materials = imported.materials
    _flag_primitives(imported)
    out = Identified(scene, imported, world_matrices(imported.nodes), shown=shown, size=size)
    order = parents_first([item.parent for item in imported.nodes], root=-1)
    builder = _Builder(out, stored, roles)
    builder.add_nodes(order)
    if stored is None:
        out.size = model_size(scene)
    if placed is not None:
        out.size, out.turn_noise = max(out.size, placed.reach), PLACED_TURN_NOISE
    builder.add_parts()
    builder.report_flags()
    out.part_items = {i for i, role in enumerate(roles) if role is not None and role.is_part}
    return out


def _flag_primitives(imported: ImportedScene) -> None:
    flags = [-1 if value is None else value for value in imported.material_flags]
    if flags:
        for mesh in imported.meshes:
            mesh.primitives[:] = [
                p._replace(tri_flags=flags[p.material]) if p.material >= 0 else p for p in mesh.primitives
            ]


def model_size(scene: Scene) -> float:
    """Return the largest coordinate of a model's nodes, which pose tolerances are relative to."""
    if not scene.nodes:
        return 1.0
    world_t = rest_pose(scene)[1]
    local = max(float(np.abs(node.translation).max()) for node in scene.nodes)
    moved = [np.abs(t.translation.values).max() for t in scene.tracks if t.translation]
    return max(float(np.abs(world_t).max()), local, *map(float, moved), 1e-6)


def world_matrices(items: list[ImportedNode]) -> F64:
    """Return (n, 4, 4) matrices from item to model, with scale, shear and mirrors."""
    world = np.tile(np.eye(4), (len(items), 1, 1))
    for i in parents_first([item.parent for item in items], root=-1):
        local = local_matrix(items[i])
        world[i] = local if items[i].parent < 0 else world[items[i].parent] @ local
    return world


def all_above(nodes: Sequence[ImportedNode], items: Iterable[int]) -> set[int]:
    """Return all nodes that some nodes are below."""
    out: set[int] = set()
    for item in items:
        while (item := nodes[item].parent) >= 0 and item not in out:
            out.add(item)
    return out


def local_matrix(item: ImportedNode) -> F64:
    """Return the (4, 4) matrix from an item to the frame above it."""
    return affine(rotation_matrix(item.rotation) if item.linear is None else item.linear, item.translation)


class _Builder:
    def __init__(self, out: Identified, stored: Scene | None, roles: list[Role | None]) -> None:
        self.out, self.stored, self.roles = out, stored, roles
        self.imported = out.imported

    def add_nodes(self, order: list[int]) -> None:
        """Fill the scene's nodes with their frames, and the parts that are nodes themselves."""
        items, out, world = self.imported.nodes, self.out, self.out.world
        chosen = [i for i, role in enumerate(self.roles) if role is not None and not role.is_part]
        out.node_of = node_of = {item: node for node, item in enumerate(chosen)}
        bake: dict[int, F64 | None] = {}  # item -> what its vertices need, None = nothing
        rigid: dict[int, tuple[F64, F64]] = {}
        made: dict[int, Node] = {}
        for i in order:
            if i not in node_of:
                continue
            item = items[i]
            above = next((k for k in nodes_above(items, i) if k in node_of), -1)
            if above == item.parent and item.linear is None and bake.get(above) is None:
                turned, moved = item.rotation, item.translation
                bake[i] = None
                up_r, up_t = rigid.get(above, (np.array([1.0, 0, 0, 0]), np.zeros(3)))
                rigid[i] = multiply(up_r, turned), up_t + rotate(up_r, moved.astype(np.float64))
            else:
                turned, moved, bake[i], rigid[i] = rigid_part(item.name, world[i], rigid.get(above))
                frame = world[item.parent] if item.parent >= 0 else None
                out.frames[i] = frame_in(frame, rigid.get(above))
            made[i] = self._node(i)
            made[i].parent = node_of.get(above, -1)
            made[i].rotation, made[i].translation = turned, moved
        out.scene.nodes = [made[i] for i in chosen]
        for i in chosen:
            role = self.roles[i]
            if self.stored is not None and role is not None and role.stored is not None:
                out.stored_of[node_of[i]] = role.stored
            if items[i].mesh >= 0 and self.imported.meshes[items[i].mesh].drawn:
                matrix = None if (shape := bake[i]) is None else affine(shape, 0.0)
                cell = (-1 if role is None or role.stored is None else role.stored, *out.shown)
                flags = self._flags(i, cell)
                out.scene.parts.append(Part(node_of[i], *out.shown, items[i].mesh, matrix, flags))
        self._report_nameless(chosen)
        out.baked = {node_of[i]: shape for i, shape in bake.items() if shape is not None}

    def _report_nameless(self, chosen: list[int]) -> None:
        nodes, out = self.out.scene.nodes, self.out
        lost = [nodes[n].name for n, i in enumerate(chosen) if n in out.stored_of and not self.imported.nodes[i].name]
        if lost := [name for name in lost if name]:
            self.imported.report.skipped(
                Subject.of([Subject("node", name) for name in lost]),
                "has no name in the file" if len(lost) == 1 else "have no name in the file",
                "a node without a name keeps the one that it had",
                "give it the name that it is to have",
                "name",
            )

    def _node(self, i: int) -> Node:
        """The node of an item, not placed yet."""
        item, role, stored = self.imported.nodes[i], self.roles[i], self.stored
        assert role is not None
        old = stored.nodes[role.stored] if stored is not None and role.stored is not None else None
        name = role.name or item.name
        if old is not None:
            name = known_name(name, old.name.__eq__)
        extras = item.extras
        if stored is None and role.stored is not None:
            # what the exporter made up: a number after a repeated name, a name for the nameless
            name = re.sub(rf"(#{role.stored})+$", "", name)
            name = "" if name == f"node_{role.stored}" else name
        elif not name and old is None:
            name = f"node_{self.out.node_of[i]}"
        flags, label = extras.get("flags"), extras.get("label")
        if label is None:
            label = "" if old is None or "node" in extras else old.label
        return Node(
            name=name or (old.name if old is not None else ""),
            index=role.stored,
            parent=-1,
            rotation=item.rotation,
            translation=item.translation,
            flags=flags,
            label=label,
            cockpit=old.cockpit if old is not None else bool((flags or 0) & NODE_COCKPIT),
        )

    def _flags(self, i: int, cell: tuple[int, int, int]) -> int | None:
        """The flags that an item states for its triangles: a property of its own counts, unless it
        says what was exported for the cell and ``extras.msh`` says otherwise."""
        item, was = self.imported.nodes[i], self._exported_flags.get(cell)
        own, exported = item.tri_flags
        flags = exported if own is None or (own == was and exported is not None) else own
        drawn = self.imported.meshes[item.mesh].primitives if item.mesh >= 0 else []
        of_materials = {p.tri_flags for p in drawn if p.index_count}
        if flags not in (None, was) and of_materials and not of_materials & {-1, flags}:
            self.imported.report.skipped(
                Subject("node", item.name),
                f"has tri_flags {flags}",
                f"its materials state {', '.join(map(str, sorted(of_materials)))}, which counts",
                "put them on the materials, or remove tri_flags there",
                "fact",
            )
        return flags

    @cached_property
    def _exported_flags(self) -> dict[tuple[int, int, int], int | None]:
        if self.stored is None:
            return {}
        meshes = self.stored.meshes
        return {p.cell: meshes[p.mesh].common_flags for p in self.stored.parts}

    def add_parts(self) -> None:
        """Fill in the parts that are objects of their own; ``place_parts`` places them."""
        scene, items, stored = self.out.scene, self.imported.nodes, self.stored
        owners = owner_items(items, self.roles)
        meshes = None if stored is None else StoredMeshes(stored)
        old = [] if stored is None else stored.parts
        cells, shown = {p.cell for p in old}, {(p.node, p.mesh) for p in old}
        for i, role in enumerate(self.roles):
            if role is None or role.owner is None or items[i].mesh < 0:
                continue
            if not self.imported.meshes[items[i].mesh].drawn:
                continue
            node = self.out.node_of.get(owners.get(role.owner, -1))
            if node is None:
                known = stored is not None and role.owner in range(len(stored.nodes))
                self._report_part(
                    i,
                    "is left of a node that is missing" if known else "is new",
                    "a part goes with its node, which is not in the file",
                    "delete it, too, or name it after a node that is in the file",
                )
                continue
            if self._joins(i, node, role):
                continue
            index, k = len(scene.parts), self.out.stored_of.get(node)
            self.out.part_of[index] = i
            mesh = None if meshes is None else meshes.of(self.imported.meshes[items[i].mesh])
            if (k, role.lod, role.group) in cells or (k, mesh) in shown:
                self.out.exported.add(index)
                # a copy of a node, called as a cell of it, lies beside it: where it is
                if (k, role.lod, role.group) in cells or self._apart(i, node):
                    self._report_parent(i, role, node)
            flags = self._flags(i, (-1 if k is None else k, role.lod, role.group))
            scene.parts.append(Part(node, role.lod, role.group, items[i].mesh, None, flags))

    def _joins(self, i: int, node: int, role: Role) -> bool:
        """Join a part to the mesh that its node shows in the same cell; one that stands elsewhere is reported."""
        scene, items = self.out.scene, self.imported.nodes
        here = (p for p in enumerate(scene.parts) if p[1][:3] == (node, role.lod, role.group))
        found = next(here, None)
        if found is None:
            return False
        index, part = found
        if part.matrix is None and not self._apart(i, node):
            first, second = scene.meshes[part.mesh], scene.meshes[items[i].mesh]
            joined = [*first.primitives, *second.primitives]
            scene.meshes.append(replace(first, name="", primitives=joined, slot=None, tri_flags=None))
            scene.parts[index] = part._replace(mesh=len(scene.meshes) - 1)
        else:
            self._report_part(
                i,
                "is left out",
                "its node shows another mesh in this cell, and does not stand where it is",
                "join the two objects, or move one of them to another cell",
            )
        return True

    def _apart(self, i: int, node: int) -> bool:
        owner = self.out.item_of[node]
        apart = np.abs(self.out.world[i] - self.out.world[owner]).max()
        return bool(apart > POSE_NOISE * max(1.0, float(np.abs(self.out.world[owner]).max())))

    def _report_parent(self, i: int, role: Role, node: int) -> None:
        if (above := self._node_above(i)) not in (None, node):
            name = printable(self.out.scene.nodes[above].name) if above is not None else ""
            self._report_part(
                i,
                f"is below node {called(name)}",
                "a part belongs to the node that it is called after",
                f"name it {part_name(name, role.lod, role.group, self.out.scene.dialect)}, or clear its parent",
            )

    def report_flags(self) -> None:
        """Report flags of triangles on objects without triangles."""
        for item in self.imported.nodes:
            if item.tri_flags.own and (item.mesh < 0 or not self.imported.meshes[item.mesh].drawn):
                self.imported.report.skipped(
                    Subject("node", item.name),
                    "has tri_flags",
                    "it has no triangles",
                    "put them on the object that has the mesh",
                    "fact",
                )

    def _report_part(self, i: int, what: str, why: str, instead: str) -> None:
        where = Subject("part", self.imported.nodes[i].name)
        self.imported.report.skipped(where, what, why, instead)

    def _node_above(self, i: int) -> int | None:
        node_of = self.out.node_of
        return next((node_of[k] for k in nodes_above(self.imported.nodes, i) if k in node_of), None)


#: Rotation ``[w, x, y, z]`` and translation.
Rigid = tuple[F64, F64]
#: The volume of a unit cube that counts as none.
_FLAT = 1e-12


def rigid_part(name: str, world: F64, above: Rigid | None) -> tuple[F64, F32, F64 | None, Rigid]:
    """Split the placement of a node into a rigid one and the rest, for its vertices. Raises ConversionError: scaled to
    nothing, or flattened.

    Args:
        world: (4, 4), node to model, with scale, shear and mirrors.
        above: the rigid placement of the node above in the model.

    Returns:
        (4,) rotation and (3,) translation relative to the node above; (3, 3) for the vertices, or
        ``None`` where they stay as they are; the rigid placement in the model.
    """
    linear = world[:3, :3]
    if abs(np.linalg.det(linear)) < _FLAT:
        sizes = np.linalg.norm(linear, axis=0)
        problem = (
            f"node {called(name)} is flattened" if sizes.min() > _FLAT else f"node {called(name)} is scaled to nothing"
        )
        shown = " x ".join(f"{one:.3g}" for one in sizes)
        raise ConversionError(problem, value=shown, hint="give every axis a scale, or delete it")
    turn = rotation_in(linear)
    rest = turn.T @ linear
    world_r = quaternion_of(turn)
    up_r, up_t = above if above is not None else (np.array([1.0, 0, 0, 0]), np.zeros(3))
    inverse = up_r * [1, -1, -1, -1]
    local_r = multiply(inverse, world_r)
    local_t = rotate(inverse, world[:3, 3] - up_t).astype(np.float32)
    bake = None if np.abs(rest - np.eye(3)).max() < 1e-6 else rest
    return local_r, local_t, bake, (world_r, world[:3, 3].copy())


def frame_in(world: F64 | None, above: Rigid | None) -> F64:
    """Return the (4, 4) matrix from one frame of the model to a rigid one.

    Args:
        world: (4, 4), from the frame to the model, ``None`` = the model's own.
        above: the rigid frame, ``None`` = the model's own.
    """
    into = np.eye(4) if above is None else affine(rotation_matrix(above[0]), above[1])
    return np.linalg.inv(into) @ (np.eye(4) if world is None else world)
