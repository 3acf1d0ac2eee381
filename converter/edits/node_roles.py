"""Find out what every node of a file is: a node of the stored model, a part of one, or new.

By ``extras.msh``, else by name (a Blender ``.001`` is stripped only if the bare name is known),
else new (docs/reference/gltf.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..formats.names import without_number
from ..scene.points import is_point
from ..scene.scene import ImportedNode, ImportedScene, Scene

_PART_NAME = re.compile(r"(?P<node>.*)\.lod(?P<lod>[0-2])(?:\.group(?P<group>[0-4]))?(?:#\d+)*")


@dataclass
class Role:
    """What an item is: a node (``stored``: index in the sidecar's scene), or a part of one."""

    stored: int | None = None
    owner: int | str | None = None
    lod: int = 0
    group: int = 0
    name: str = ""

    @property
    def is_part(self) -> bool:
        """Whether it is a part of a node."""
        return self.owner is not None


class NodeRoles:
    """Find the role of every item; ``None`` for what is skipped."""

    def __init__(self, imported: ImportedScene, stored: Scene | None, noise: float) -> None:
        self.imported, self.items, self.stored = imported, imported.nodes, stored
        self.noise = noise
        self.roles: list[Role | None] = [None] * len(self.items)
        self.taken: set[object] = set()
        nodes = [] if stored is None else stored.nodes
        self.index_of = {n.index: i for i, n in enumerate(nodes)}
        self.named = {n.name: i for i, n in enumerate(nodes)}
        # extras number the owner of a part, names name it: each cell is taken once either way
        self.owner_names = {n.index: n.name for n in nodes if n.index is not None}
        if stored is None:
            self.owner_names = {
                item.extras["node"]: item.name
                for item in self.items
                if "node" in item.extras and "lod" not in item.extras
            }

    def run(self) -> list[Role | None]:
        """Return the role of every item."""
        open_items = [
            i
            for i, item in enumerate(self.items)
            if not _is_decoration(self.imported, item) and not is_point(item, self.named)
        ]
        open_items = [i for i in open_items if not self._by_extras(i, named=True)]
        open_items = [i for i in open_items if not self._by_extras(i, named=False)]
        open_items = [i for i in open_items if not self._by_name(i, self.items[i].name)]
        bare = without_number
        open_items = [i for i in open_items if not self._by_name(i, bare(self.items[i].name))]
        if self.stored is not None:
            open_items = self._renamed(self.stored, open_items)
        self._by_part_name(open_items)
        return self.roles

    def _take(self, i: int, key: object, role: Role) -> bool:
        """Give an item a role unless another item has it."""
        if key in self.taken:
            return False
        self.taken.add(key)
        self.roles[i] = role
        return True

    def _by_extras(self, i: int, *, named: bool) -> bool:
        """Take the role that the extras state; ``named``: only where the name agrees."""
        name, extras = self.items[i].name, self.items[i].extras
        if "node" not in extras:
            return False
        number = extras["node"]
        if "lod" in extras and "group" in extras:
            lod, group = extras["lod"], extras["group"]
            if named and (_part_match(name) is None or name != without_number(name)):
                return False
            role = Role(owner=number, lod=lod, group=group, name=name)
            return self._take(i, ("part", self.owner_names.get(number, number), lod, group), role)
        index = self.index_of.get(number) if self.stored is not None else number
        if index is None:
            return False
        if named and self.stored is not None and name != self.stored.nodes[index].name:
            return False
        return self._take(i, ("node", index), Role(stored=index, name=name))

    def _by_name(self, i: int, name: str) -> bool:
        if self.items[i].extras:
            return False  # a copy of a stored node: it is new
        index = self.named.get(name)
        return index is not None and self._take(i, ("node", index), Role(stored=index, name=name))

    def _renamed(self, stored: Scene, open_items: list[int]) -> list[int]:
        """Find nodes that came back under another name and without extras.

        By the name of their mesh, which Blender keeps, else by standing where a missing node stood.
        Returns the items still open.
        """
        free = [k for k in range(len(stored.nodes)) if ("node", k) not in self.taken]
        mesh_names = {
            stored.meshes[part.mesh].name: part.node for part in stored.parts if part.node in free
        }
        left = []
        for i in open_items:
            item = self.items[i]
            found = None
            if not item.extras and _part_match(item.name) is None:
                mesh = self.imported.meshes[item.mesh].name if item.mesh >= 0 else ""
                found = mesh_names.get(mesh, mesh_names.get(without_number(mesh)))
                if found is None and item.mesh < 0:
                    above = self.roles[item.parent] if item.parent >= 0 else None
                    parent = -1 if above is None or above.stored is None else above.stored
                    standing = [
                        k
                        for k in free
                        if stored.nodes[k].parent == parent
                        and np.abs(stored.nodes[k].translation - item.translation).max()
                        <= self.noise
                    ]
                    found = standing[0] if len(standing) == 1 else None
            role = Role(stored=found, name=item.name)
            if found is None or not self._take(i, ("node", found), role):
                left.append(i)
        return left

    def _by_part_name(self, open_items: list[int]) -> None:
        """Take names such as ``tree.lod1`` for parts; all that is left is new nodes."""
        known = set(self.named) | {item.name for item in self.items}
        for i in open_items:
            name = self.items[i].name
            match = _part_match(name) or _part_match(without_number(name))
            if match and self.items[i].mesh >= 0 and match[0] in known:
                owner, lod, group = match
                role = Role(owner=owner, lod=lod, group=group)
                if self._take(i, ("part", owner, lod, group), role):
                    continue
            # of a foreign "tree.lod0" beside "tree.lod1", the node is "tree"
            if not (
                match
                and match[1:] == (0, 0)
                and self._take(i, ("node", match[0]), Role(name=match[0]))
            ):
                self.roles[i] = Role(name=name)
        new = {r.name for r in self.roles if r is not None and not r.is_part}
        for i in open_items:
            match = _part_match(self.items[i].name)
            node = self.roles[i]
            if match and node is not None and not node.is_part and match[0] in new - {node.name}:
                self.roles[i] = Role(owner=match[0], lod=match[1], group=match[2])


def _part_match(name: str) -> tuple[str, int, int] | None:
    match = _PART_NAME.fullmatch(name)
    return (match["node"], int(match["lod"]), int(match["group"] or 0)) if match else None


def _is_decoration(imported: ImportedScene, item: ImportedNode) -> bool:
    """The path graph that we show on request, and objects of lines or points alone."""
    if item.extras.get("kind") == "paths":
        return True
    drawn = item.mesh >= 0 and imported.meshes[item.mesh].drawn
    return item.mesh >= 0 and not drawn and item.name.startswith("paths")
