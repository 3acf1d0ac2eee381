"""Find out what every node of a file is: a node of the stored model, a part of one, or new; hidden ones are left out.

By ``extras.msh``, else by name (a Blender ``.001`` is stripped only if the bare name is known),
else new (docs/reference/gltf.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import called, printable
from ..findings import Kind, Subject
from ..formats.names import without_number
from ..scene.companions import is_point
from ..scene.dialect import Dialect, part_key, part_name, read_part_name
from ..scene.scene import ImportedNode, ImportedScene, Mesh, Part, Scene, Track, nodes_above


class StoredMeshes:
    """Find the stored mesh that a mesh of a file was, by its extras or its name."""

    def __init__(self, stored: Scene) -> None:
        self._by_slot = {mesh.slot: i for i, mesh in enumerate(stored.meshes)}
        self._by_name = {name: part.mesh for part in reversed(stored.parts) for name in _mesh_names(stored, part)}
        self._by_name |= {mesh.name: i for i, mesh in enumerate(stored.meshes)}

    def of(self, mesh: Mesh) -> int | None:
        """Return the index of the stored mesh, if it is one."""
        if mesh.slot is not None:
            return self._by_slot.get(mesh.slot)
        return self._by_name.get(mesh.name, self._by_name.get(without_number(mesh.name)))


#: Blender before 5.0 cuts names at 63 bytes.
_LONG_NAME = 60
#: What the exporter appends to a name that another node has.
_UNIQUE = re.compile(r"(#\d+)*$")
#: A part's node (its row, the name of a new one), LOD and group.
PartKey = tuple[int | str, int, int]


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

    def __init__(self, imported: ImportedScene, stored: Scene | None, noise: float, dialect: Dialect) -> None:
        self.imported, self.items, self.stored = imported, imported.nodes, stored
        self.noise = noise
        self.dialect = dialect
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
        stated = [i for i in open_items if {"node", "lod", "group"} <= self.items[i].extras.keys()]
        apart = set(stated)
        open_items = [i for i in open_items if i not in apart]
        open_items = [i for i in open_items if not self._by_extras(i, named=True)]
        open_items = [i for i in open_items if not self._by_extras(i, named=False)]
        open_items = [i for i in open_items if not self._by_name(i, self.items[i].name)]
        bare = without_number
        open_items = [i for i in open_items if not self._by_name(i, bare(self.items[i].name))]
        if self.stored is not None:
            open_items = self._renamed(self.stored, open_items)
        open_items += self._stated_parts(stated)
        self._by_part_name(sorted(open_items))
        return self.roles

    def _take(self, i: int, key: object, role: Role) -> bool:
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
        index = self.index_of.get(number) if self.stored is not None else number
        if index is None:
            return False
        if named and self.stored is not None and name != self.stored.nodes[index].name:
            return False
        return self._take(i, ("node", index), Role(stored=index, name=name))

    def _stated_parts(self, items: list[int]) -> list[int]:
        """Take the items whose extras say that they are parts; return those that are copies."""
        cells = {i: self._cells(i) for i in items}
        numbered = {i for i in items if self.items[i].name != without_number(self.items[i].name)}
        left = []
        was = {i: self._exported(self.items[i]) for i in items}
        # what stays goes first, what was exported for its cell before what was not; copies, which have a number, last
        order = sorted(items, key=lambda i: (i in numbered, len(set(cells[i])), cells[i][0] not in was[i], i))
        for i in order:
            stated, wanted = cells[i]
            if self._take_part(i, wanted):
                continue
            if wanted != stated and self._take_part(i, stated):
                self._report(i, f"is called like {self._part(wanted)}", "there is one already")
            else:
                if (was[i] and stated not in was[i]) or (i not in numbered and _part_match(self.items[i].name)):
                    self._report(i, f"is {self._part(stated)} by its custom properties", "there is one already")
                left.append(i)
        return left

    def _cells(self, i: int) -> tuple[PartKey, PartKey]:
        """The cell that an item's extras say, and the one that it is in now.

        Extras and name may differ: the one that was exported is merely unchanged, so the other
        counts.
        """
        item = self.items[i]
        owner = item.extras["node"]
        stated: PartKey = owner, item.extras["lod"], item.extras["group"]
        bare, exported = without_number(item.name), self._part(stated)
        forms = exported, part_key(self._owner_name(owner), *stated[1:])
        match = _part_match(item.name) or _part_match(bare)
        was = self._exported(item)
        named = None if match is None else (self._owner(match[0]), *match[1:])
        if named is not None and named[0] is None and self.stored is None and was:
            named = owner, named[1], named[2]  # it is called after its node, which has another name now
        cut = any(form.startswith(bare) for form in forms) and len(bare.encode()) >= _LONG_NAME
        if _UNIQUE.sub("", bare) in forms or cut or named == stated or not bare:
            return stated, stated
        if named is None or named[0] is None:
            if owner in self.owner_names:
                self._report(i, f"was {exported}", "parts have no names of their own")
            return stated, stated
        if named in was and stated not in was:
            return stated, stated
        if self.stored is None:
            title, wins = Subject("part", item.name), "name" if was else "custom properties"
            self.imported.report.warnings.append(
                f"{title} has custom properties of {exported}: it goes where its {wins} say{'s' if was else ''}"
            )
            if not was:  # nothing shows that somebody renamed it
                return stated, stated
        if self.stored is not None and was and stated not in was:
            text = f"is {exported} by its custom properties, and was neither"
            self._report(i, text, "either may be meant")
            return stated, stated
        return stated, (named[0], named[1], named[2])

    def _exported(self, item: ImportedNode) -> list[PartKey]:
        """The cells that an item's mesh was exported for, as far as it says."""
        if item.mesh < 0:
            return []
        mesh = self.imported.meshes[item.mesh]
        if self.stored is None:
            known = mesh.lod is not None and mesh.group is not None
            return [(item.extras["node"], mesh.lod or 0, mesh.group or 0)] if known else []
        was = self._stored_meshes.of(mesh)
        return [] if was is None else self._stored_cells.get(was, [])

    @cached_property
    def _stored_meshes(self) -> StoredMeshes:
        assert self.stored is not None
        return StoredMeshes(self.stored)

    @cached_property
    def _stored_cells(self) -> dict[int, list[PartKey]]:
        assert self.stored is not None
        out: dict[int, list[PartKey]] = {}
        for part in self.stored.parts:
            out.setdefault(part.mesh, []).append(part.cell)
        return out

    @cached_property
    def _cells_of_stored(self) -> set[PartKey]:
        parts = [] if self.stored is None else self.stored.parts
        return {part.cell for part in parts}

    def _owner(self, name: str) -> int | str | None:
        """The node that the name of a part begins with: its row, the name of a new one."""
        return self._owners.get(name, self.named.get(name))

    @cached_property
    def _owners(self) -> dict[str, int | str]:
        """Owners of parts by the names of the nodes in the file."""
        out: dict[str, int | str] = {}
        for item, role in zip(self.items, self.roles, strict=True):
            stored = None if role is None else role.stored
            out.setdefault(item.name, item.name if stored is None else stored)
        return out

    def _take_part(self, i: int, cell: PartKey) -> bool:
        owner, lod, group = cell
        return self._take(i, ("part", *cell), Role(owner=owner, lod=lod, group=group))

    def _part(self, cell: PartKey) -> str:
        """What the exporter calls a part."""
        return part_name(self._owner_name(cell[0]), *cell[1:], self.dialect)

    def _owner_name(self, owner: int | str) -> str:
        return self.owner_names.get(owner, str(owner)) if isinstance(owner, int) else owner

    def _report(self, i: int, what: str, why: str) -> None:
        form = "NODE.lodL.groupG" if self.dialect is Dialect.SPEC else "NODE.stageN.levelN"
        self.imported.report.skipped(
            Subject("part", self.items[i].name), what, why, f"name it {form} after the cell where it should be"
        )

    def _by_name(self, i: int, name: str) -> bool:
        if "node" in self.items[i].extras:
            return False  # a copy of a stored node: it is new
        index = self.named.get(name)
        return index is not None and self._take(i, ("node", index), Role(stored=index, name=name))

    def _renamed(self, stored: Scene, open_items: list[int]) -> list[int]:
        """Find nodes that came back under another name and without extras.

        By the name of their mesh, which Blender keeps, else by standing where a missing node stood.
        Returns the items still open.
        """
        free = {k for k in range(len(stored.nodes)) if ("node", k) not in self.taken}
        mesh_names = {
            name: part.node for part in stored.parts if part.node in free for name in _mesh_names(stored, part)
        }
        below: dict[int, list[int]] = {}
        for k in sorted(free):
            below.setdefault(stored.nodes[k].parent, []).append(k)
        places = {k: np.array([stored.nodes[n].translation for n in below[k]]) for k in below}
        left = []
        for i in open_items:
            item = self.items[i]
            row = None
            if "node" not in item.extras and _part_match(item.name) is None:
                mesh = self.imported.meshes[item.mesh].name if item.mesh >= 0 else ""
                row = mesh_names.get(mesh, mesh_names.get(without_number(mesh)))
                if row is None and item.mesh < 0:
                    above = self.roles[item.parent] if item.parent >= 0 else None
                    parent = -1 if above is None or above.stored is None else above.stored
                    apart = np.abs(places.get(parent, np.zeros((0, 3))) - item.translation)
                    standing = np.flatnonzero((apart <= self.noise).all(axis=1))
                    row = below[parent][standing[0]] if len(standing) == 1 else None
            role = Role(stored=row, name=item.name)
            if row is None or not self._take(i, ("node", row), role):
                left.append(i)
        return left

    def _by_part_name(self, open_items: list[int]) -> None:
        """Take names such as ``tree.lod1`` for parts; all that is left is new nodes."""
        for i in open_items:
            name = self.items[i].name
            match = _part_match(name) or _part_match(without_number(name))
            owner = self._owner(match[0]) if match and self.items[i].mesh >= 0 else None
            if match and owner is not None and self._take_part(i, (owner, *match[1:])):
                self._report_row(i)
                continue
            # of a foreign "tree.lod0" beside "tree.lod1", the node is "tree"
            if not (match and match[1:] == (0, 0) and self._take(i, ("node", match[0]), Role(name=match[0]))):
                self.roles[i] = Role(name=name)
        new = {r.name for r in self.roles if r is not None and not r.is_part}
        for i in open_items:
            match = _part_match(self.items[i].name)
            node = self.roles[i]
            if match and node is not None and not node.is_part and match[0] in new - {node.name}:
                self.roles[i] = Role(owner=match[0], lod=match[1], group=match[2])
                self._report_row(i)

    def _report_row(self, i: int) -> None:
        """Say what a row is in the game, where the name of a new part calls it a level of detail."""
        role = self.roles[i]
        if role is None or (role.owner, role.lod, role.group) in self._cells_of_stored:
            return
        name = without_number(self.items[i].name)
        found = read_part_name(name)
        if self.dialect is Dialect.RETAIL and found is not None and found.by_row and found.lod:
            self.imported.report.warnings.append(
                f"part {called(name)}: row {found.lod} is damage stage {found.lod} in the game; a level of detail "
                f"is called {printable(found.node)}.level{found.lod}"
            )


def owner_items(items: Sequence[ImportedNode], roles: Sequence[Role | None]) -> dict[int | str, int]:
    """Return the item that is the owner of parts, by what roles call it: its row, else its name in the file."""
    out: dict[int | str, int] = {}
    nodes = [(i, role) for i, role in enumerate(roles) if role is not None and not role.is_part]
    for i, role in nodes:
        out.setdefault(items[i].name if role.stored is None else role.stored, i)
    for i, role in nodes:
        out.setdefault(role.name, i)
    return out


def _mesh_names(stored: Scene, part: Part) -> tuple[str, str]:
    """What the mesh of a part is called, and was by versions that called all cells by row and column."""
    return part_key(stored.nodes[part.node].name, part.lod, part.group), stored.meshes[part.mesh].name


def _part_match(name: str) -> tuple[str, int, int] | None:
    found = read_part_name(name)
    return None if found is None else (found.node, found.lod, found.group)


def _is_decoration(imported: ImportedScene, item: ImportedNode) -> bool:
    """The path graph that we show on request, and objects of lines or points alone."""
    if item.extras.get("kind") == "paths":
        return True
    drawn = item.mesh >= 0 and imported.meshes[item.mesh].drawn
    return item.mesh >= 0 and not drawn and item.name.startswith("paths")


def hidden_items(
    items: Sequence[ImportedNode], is_stored: Callable[[ImportedNode], bool]
) -> tuple[list[int], list[int]]:
    """Return the hidden items that stay, as they are stored or have such below them, and those that are left out."""
    hidden = [i for i, item in enumerate(items) if item.hidden]
    kept = set[int]()
    for i in (i for i in hidden if is_stored(items[i])):
        kept |= {i, *nodes_above(items, i)}
    return [i for i in hidden if i in kept], [i for i in hidden if i not in kept]


def leave_out_hidden(imported: ImportedScene, is_stored: Callable[[ImportedNode], bool]) -> None:
    """Leave out hidden items that are new; stored ones stay, and are reported. ``is_stored``: whether an item is in the
    sidecar's file.
    """
    staying, gone = hidden_items(imported.nodes, is_stored)
    if staying:
        _report_hidden(imported, staying, ("is hidden", "are hidden"), "delete it, or show it")
    if gone:
        _report_hidden(
            imported, gone, ("is hidden and left out", "are hidden and left out"), "show it and export again"
        )
        keep_nodes(imported, {*range(len(imported.nodes))} - {*gone})


def keep_nodes(imported: ImportedScene, kept: Collection[int]) -> None:
    """Leave all other nodes out of a file, with their tracks; what is below them becomes a root."""
    row_of = {old: new for new, old in enumerate(sorted(kept))}
    imported.nodes = [imported.nodes[i] for i in sorted(kept)]
    for item in imported.nodes:
        item.parent = row_of.get(item.parent, -1)
    imported.tracks = _moved(imported.tracks, row_of)
    for clip in [*imported.clips, *imported.ranges]:
        clip.tracks = _moved(clip.tracks, row_of)


def _report_hidden(imported: ImportedScene, rows: list[int], what: tuple[str, str], instead: str) -> None:
    kinds: tuple[Kind, ...] = ("node", "place", "turn", "triangles")
    where = Subject.of([Subject("node", imported.nodes[i].name) for i in rows], 1)
    imported.report.skipped(where, what[len(rows) > 1], "the game has no hidden nodes", instead, *kinds)


def _moved(tracks: list[Track], row_of: dict[int, int]) -> list[Track]:
    return [replace(t, node=row_of[t.node]) for t in tracks if t.node in row_of]


def stored_in(stored: Scene) -> Callable[[ImportedNode], bool]:
    """Return whether an item is a node or a part of a stored model: by its extras, or its name."""
    names = {node.name for node in stored.nodes} | {mesh.name for mesh in stored.meshes}

    def known(item: ImportedNode) -> bool:
        return "node" in item.extras or bool({item.name, without_number(item.name)} & names)

    return known
