"""What a file or a result shows, flattened to the same arrays: looks of materials, things, triangles in world space.

Both sides are made of it: the file as it was read, the result from the bytes that would be written. Game axes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..edits.materials import NewMaterial, cell_of
from ..edits.triangles import known_channels
from ..findings import Kind
from ..formats.gltf import WHOLE, FilePicture, ShownPicture, Surface, TextureTransform, is_image, same_picture
from ..formats.material import MATERIALS, TEXTURES, LibraryEdit, LibraryEntry, MaterialKind, first_phase, with_values
from ..formats.names import decode_text, without_number
from ..numeric.arrays import F32, F64, I64, U8, Bools
from ..numeric.pose import parents_first
from ..numeric.quantize import to_bytes
from ..scene.dialect import Dialect
from ..scene.scene import ImportedNode, ImportedScene, Material, Mesh, Node, Streams

Names = tuple[str, ...]

#: Frames at which triangles are compared: the first, the last, and eight between.
MOST_FRAMES = 10
#: Nodes times frames at which poses are compared.
MOST_POSES = 1 << 18
#: How far a stored rotation may turn away: radians, of four words of 16 bits and of key reduction.
TURN = 4.8e-4
#: How far key reduction may move a node: of the model's size.
MOVE = 3e-5


@dataclass(frozen=True)
class Look:
    """What a material shows, as far as the game stores it; ``None`` is not known, and compares with all.

    Attributes:
        colour, light: sRGB bytes.
        alpha: per cent; of an opaque one it says nothing.
        opaque: whether nothing shines through.
        picture: of a file the picture; of a result what it was exported as, or the digest of its pixels; ``""``: none.
        lit: the same of what its light goes through; ``None``: it has no light, too.
    """

    colour: tuple[int, ...] | None = None
    light: tuple[int, ...] | None = None
    alpha: int | None = None
    opaque: bool | None = None
    picture: FilePicture | ShownPicture | str | None = None
    lit: FilePicture | ShownPicture | str | None = None

    def other_than(self, result: Look) -> list[str]:
        """Return what a result shows otherwise than a file, in words."""
        out = []
        for name in ("colour", "light"):
            mine, theirs = getattr(self, name), getattr(result, name)
            if None not in (mine, theirs) and mine != theirs:
                out.append(f"{name} #{bytes(mine).hex()} in the file, and #{bytes(theirs).hex()} in the game")
        if self.opaque is not None and result.opaque is not None and self.opaque != result.opaque:
            out.append("is opaque in the file alone" if self.opaque else "is opaque in the game alone")
        elif not self.opaque and None not in (self.alpha, result.alpha) and self.alpha != result.alpha:
            out.append(f"alpha {self.alpha}% in the file, and {result.alpha}% in the game")
        if not _same(self.picture, result.picture):
            out.append("another picture in the game")
        elif not _same(self.lit, result.lit):
            how = "through another picture" if self.lit else "in one colour"
            there = "and through its picture in the game" if result.lit else "and through no picture in the game"
            out.append(f"shines {how} in the file, {there}")
        return out

    def shone(self, before: Look) -> Look:
        """Return a look of the game's after edits: a light of its own goes through the picture."""
        if self.light is None or not any(self.light):
            return replace(self, lit=None)
        return replace(self, lit=self.picture) if before.lit in (None, "", before.picture) else self


def _common(looks: Sequence[Look]) -> Look:
    values = [{getattr(look, one.name) for look in looks} for one in fields(Look)]
    return Look(*(next(iter(some)) if len(some) == 1 else None for some in values))


def _same(mine: FilePicture | ShownPicture | str | None, theirs: FilePicture | ShownPicture | str | None) -> bool:
    if mine is None or theirs is None or mine == theirs:
        return True
    if not isinstance(mine, FilePicture) or not theirs:
        return False
    return same_picture(mine, theirs) if isinstance(theirs, ShownPicture) else mine.pixels() == theirs


def looks_of_file(surfaces: Sequence[Surface[FilePicture]], *, of_obj: bool = False) -> list[Look]:
    """Return the looks of the materials of a file; an OBJ does not say what light goes through."""
    return [replace(_look(surface), lit=None) if of_obj else _look(surface) for surface in surfaces]


def named(names: Sequence[str]) -> list[Material]:
    """Return materials of which the names alone are known."""
    return [Material(name, *[-1] * 6) for name in names]


def _look(surface: Surface[FilePicture] | Surface[ShownPicture]) -> Look:
    return Look(
        to_bytes(surface.colour[:3]),
        to_bytes(surface.emission),
        round(100 * min(1.0, max(0.0, surface.colour[3]))),
        surface.alpha_mode == "OPAQUE",
        surface.picture or "",
        (surface.light or "") if any(to_bytes(surface.emission)) else None,
    )


@dataclass(frozen=True)
class WrittenLooks:
    """What decides the looks of a written model.

    Attributes:
        stored: materials of the model that was exported.
        shown: what they showed; empty: not recorded.
        edits: entries of the game's libraries that change.
        new: materials that are made.
        entries: what of the game's libraries the stored materials showed.
    """

    stored: Sequence[Material] = ()
    shown: Sequence[Surface[ShownPicture]] = ()
    edits: Sequence[LibraryEdit] = ()
    new: Sequence[NewMaterial] = ()
    entries: Sequence[LibraryEntry] = ()

    def in_rectangles(self, seen: ImportedScene) -> ImportedScene:
        """Return a file with coordinates that show in the game's rectangles what its texture transforms show.

        One without any transform is as programs write it that leave them out.
        """
        uv = seen.streams.uv0
        if uv is None or all(one.transform == WHOLE for one in seen.surfaces):
            return seen
        uv = uv.astype(np.float32)
        for i, surface in enumerate(seen.surfaces):
            before = self._rectangle(seen.materials[i].name, surface)
            if before is None or surface.transform.near(before):
                continue
            moved = np.zeros(len(uv), np.bool_)
            for p in (p for mesh in seen.meshes for p in mesh.primitives if p.material == i):
                moved[p.vertex_start : p.vertex_start + p.vertex_count] = True
            uv[moved] = before.undo(surface.transform.apply(uv[moved]))
        return replace(seen, streams=replace(seen.streams, uv0=uv))

    def _rectangle(self, name: str, surface: Surface[FilePicture]) -> TextureTransform | None:
        """What the game shows of a material's texture; ``None``: not known, or that is what was edited."""
        known = zip(self.stored, self.shown, strict=False)
        found = [shown for one, shown in known if one.name.casefold() == without_number(name).casefold()]
        if len({one.transform for one in found}) != 1 or surface.picture is None:
            return None
        picture = found[0].picture
        same = picture is None or is_image(surface.picture.name, picture.name) or same_picture(surface.picture, picture)
        cell = cell_of(surface.transform, picture, self.entries)
        made = [one.values.get("cell") for one in self.edits] + [one.values.get("cell") for one in self.new]
        if not same or (cell is not None and bytes([cell]) in made):
            return None
        return found[0].transform

    def of(self, materials: Sequence[Material]) -> list[Look]:
        """Return the looks of the materials of the result, by their names in the ``.wea``."""
        by_key = dict[Hashable, list[int]]()
        for k, one in enumerate(self.stored[: len(self.shown)]):
            name = one.name.casefold()
            by_key.setdefault((name, *one.key[1:]), []).append(k)
            by_key.setdefault(name, []).append(k)
        made = {one.name.casefold(): one for one in self.new}
        out = []
        for material in materials:
            name = material.name.casefold()
            rows = by_key.get((name, *material.key[1:]), by_key.get(name, []))
            new = made.get(name, made.get(name.partition("+")[0]))  # of two grounds, the first shows its colour
            if new is not None:
                out.append(self._of_new(new) if new.certain else Look())
            else:
                out.append(_common([self._edited(self.shown[k]) for k in rows]))
        return out

    def _edited(self, surface: Surface[ShownPicture]) -> Look:
        edits = {edit.entry.key: edit for edit in self.edits}
        look = before = _look(surface)
        if (edit := edits.get((MATERIALS, surface.definition.lower()))) is not None:
            data = with_values(edit.entry.data, edit.values)
            look = self._with(look, edit.values, lambda name: first_phase(data, name))
            if edit.picture is not None:
                look = replace(look, picture=edit.picture.digest)
        picture = look.picture
        if isinstance(picture, ShownPicture) and (edit := edits.get((TEXTURES, picture.name.lower()))) is not None:
            look = replace(look, picture=edit.values["pixels"].decode())
        return look.shone(before)

    def _of_new(self, one: NewMaterial) -> Look:
        of = {s.definition.casefold(): s for s in self.shown if s.definition}
        base = Look() if one.base is None or one.base.name.casefold() not in of else _look(of[one.base.name.casefold()])
        look = self._with(base, one.values, one.values.__getitem__)
        return (look if one.picture is None else replace(look, picture=one.picture.digest)).shone(base)

    def _with(self, look: Look, values: Mapping[str, bytes], stored: Callable[[str], bytes]) -> Look:
        """A look with those fields of an entry that change, as ``stored`` has them."""
        made: dict[str, Any] = {name: tuple(stored(name)) for name in ("colour", "light") if name in values}
        if "alpha" in values:
            made["alpha"] = stored("alpha")[0]
        if "kind" in values:
            made["opaque"] = values["kind"][0] == MaterialKind.OPAQUE
        if "texture" in values:
            name = decode_text(stored("texture").partition(b"\0")[0]).casefold()
            pictures = {s.picture.name.casefold(): s.picture for s in self.shown if s.picture is not None}
            made["picture"] = pictures.get(name) if name else ""
        return replace(look, **made)


class Link(NamedTuple):
    """The name of an item and, as a chain that items share, those of what is above it."""

    name: str
    above: Link | None


def linked(items: Sequence[ImportedNode | Node]) -> list[Link]:
    """Return the chain of names of each item: memory for each item, however deep it lies."""
    out: dict[int, Link] = {}
    for i in parents_first([item.parent for item in items], -1):
        out[i] = Link(items[i].name, out.get(items[i].parent))
    return [out[i] for i in range(len(items))]


@dataclass
class Thing:
    """Something that has a place: a node, a part, a point, an instance.

    Attributes:
        above: the thing above it, -1 = none.
        world: (T, 4, 4) float64, from the thing to the world, at T frames.
        facts: what else is known of it by name, ``None`` where the side does not say.
        names: any of these in a line of the report names the thing: its own, and perhaps those of what is above it.
        own: how many of them are its own.
        above_names: the names of what is above it, where ``names`` does not have them.
        turn: (T,) how far its pose may be turned by rounding, radians; 0 where it is exact.
        move: (T,) how far its place may be.
        moving: whether a clip moves it, or something above it.
    """

    name: str
    above: int
    world: F64
    facts: dict[str, object] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    turn: float = 0.0
    move: F64 | float = 0.0
    moving: bool = False
    own: int = 1
    above_names: tuple[Link | None, ...] = ()

    def named_by(self, kind: Kind) -> tuple[str, ...]:
        """Return the names that explain a kind of difference: what is above a thing takes it along, no more."""
        return self.all_names() if kind in ("node", "place", "turn", "triangles") else self.names[: self.own]

    def all_names(self) -> tuple[str, ...]:
        """Return its names and those of what is above it."""
        names = [*self.names]
        for link in self.above_names:
            while link is not None:
                names.append(link.name)
                link = link.above
        return tuple(names)


@dataclass
class Triangles:
    """N triangles of one cell.

    Attributes:
        local: (N, 3, 3) float64, in the frame of their thing.
        owner: (N,) index in :attr:`Shown.things`.
        material: (N,) index in :attr:`Shown.materials`, -1 = none.
        normals: (N, 3, 3) float64 in the frame of their thing, or ``None``.
        uv0, uv1: (N, 3, 2) float32, or ``None``.
        colours: (N, 3, 4) uint8, or ``None``.
        known: (N, 4) which channels of the colour mean something.
        flags: (N,) ``tri_flags``, -1 = not stated, or ``None``.
    """

    local: F64
    owner: I64
    material: I64
    normals: F64 | None = None
    uv0: F32 | None = None
    uv1: F32 | None = None
    colours: U8 | None = None
    known: Bools | None = None
    flags: I64 | None = None

    def __len__(self) -> int:
        return len(self.owner)

    def posed(self, worlds: F64) -> F64:
        """Return the corners in the world. (..., n, 4, 4) of all things -> (..., N, 3, 3)."""
        matrices = worlds[..., self.owner, :, :]
        return np.asarray(self.local @ matrices[..., :3, :3].swapaxes(-1, -2) + matrices[..., None, :3, 3])

    def posed_normals(self, back: F64) -> F64 | None:
        """Return the normals in the world, not unit. (n, 3, 3), from the world to all things -> (N, 3, 3)."""
        return None if self.normals is None else np.asarray(self.normals @ back[self.owner])

    def select(self, chosen: Bools | I64) -> Triangles:
        """Return some of them."""
        arrays = [getattr(self, one.name) for one in fields(self)]
        return Triangles(*(None if array is None else array[chosen] for array in arrays))  # type: ignore[arg-type]


@dataclass
class Shown:
    """What one side shows.

    Attributes:
        things: all that has a place.
        cells: triangles by cell: level of detail and group.
        materials: names by index, each in the ways that mean the same.
        facts_of_materials: what else is known of each.
        looks: what each looks like; empty: not known.
        known: the names of all rows of the ``.wea``.
        rows: the row of each in the ``.wea``, -1 = not stated; of a pair of grounds both as one number.
        rows_count: of a result: whether rows that a file states count, whatever its names are.
        frames: (T,) the frames of :attr:`Thing.world`.
        frame_count: length of the clip; 1 without one.
        clip: its names.
        dialect: of the result, for the names of cells; ``None``: these have no names.
        lacks: kinds of differences that a result has no table for.
    """

    things: list[Thing] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    cells: dict[tuple[int, int], Triangles] = field(default_factory=dict)
    materials: list[set[str]] = field(default_factory=list)
    facts_of_materials: list[dict[str, int | str]] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    rows: list[int] = field(default_factory=list)
    rows_count: bool = False
    frames: F64 = field(default_factory=lambda: np.zeros(1))
    frame_count: int = 1
    clip: tuple[str, ...] = ()
    dialect: Dialect | None = None
    lacks: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.facts_of_materials, self.rows = [{} for _ in self.materials], [-1 for _ in self.materials]

    @cached_property
    def size(self) -> float:
        """The largest coordinate of all things, which are there by then."""
        places = [np.abs(thing.world[:, :3, 3]).max() for thing in self.things]
        return float(max([1e-6, *places]))

    def worlds(self, at: Sequence[int]) -> F64:
        """Return where all things are at some of the frames. (t, n, 4, 4)."""
        places = [thing.world[at] for thing in self.things]
        return np.array(places).reshape(len(places), len(at), 4, 4).swapaxes(0, 1)

    @cached_property
    def first(self) -> F64:
        """Where all things, which are there by then, are in the first frame. (n, 4, 4)."""
        return np.asarray(self.worlds([0])[0])

    @cached_property
    def back(self) -> F64:
        """What takes directions of the world to all things in the first frame. (n, 3, 3)."""
        linear = self.first[:, :3, :3].copy()
        linear[np.abs(np.linalg.det(linear)) < 1e-30] = np.eye(3)
        return np.asarray(np.linalg.inv(linear))

    @cached_property
    def moves(self) -> Bools:
        """Which things are not in one place at all frames. (n,)."""
        return np.array([(thing.world != thing.world[:1]).any() for thing in self.things], np.bool_)

    def names_of(self, things: Sequence[int]) -> set[str]:
        """Return the names of some things and of what is above them."""
        names, links = set[str](), list[Link | None]()
        for i in things:
            names.update(self.things[i].names)
            links += self.things[i].above_names
        known = set[int]()
        for link in links:
            while link is not None and id(link) not in known:
                known.add(id(link))
                names.add(link.name)
                link = link.above
        return names

    @cached_property
    def parts(self) -> dict[int, list[Thing]]:
        """What stands below each node and is not a node, by the node's index."""
        out: dict[int, list[Thing]] = {}
        for thing in self.things[len(self.nodes) :]:
            out.setdefault(thing.above, []).append(thing)
        return out


def some_of(count: int, most: int = MOST_FRAMES) -> I64:
    """Return the first and the last of so many, and some between. (n,)."""
    some = np.round(np.linspace(0, max(count - 1, 0), min(most, max(count, 1)))).astype(np.int64)
    return some[np.diff(some, prepend=-1) > 0]  # np.unique imports NumPy's masked arrays first


def triangles_of(streams: Streams, mesh: Mesh, owner: int, linear: F64 | None = None) -> Triangles:
    """Return the triangles of a mesh of a thing. ``linear``: (3, 3), what its world has beyond a rotation: a mirror
    turns triangles round.
    """
    primitives = [p for p in mesh.primitives if p.index_count]
    counts = [p.index_count // 3 for p in primitives]
    vertex = streams.corners(primitives)
    if linear is not None and np.linalg.det(linear) < 0:
        vertex = vertex[:, [0, 2, 1]]
    material = np.repeat(np.array([p.material for p in primitives], np.int64), counts)
    colours = None if streams.colours is None else streams.colours[vertex]
    return Triangles(
        streams.positions[vertex].astype(np.float64),
        np.full(len(vertex), owner),
        material,
        None if streams.normals is None else streams.normals[vertex].astype(np.float64),
        None if streams.uv0 is None else streams.uv0[vertex],
        None if streams.uv1 is None else streams.uv1[vertex],
        colours,
        None if colours is None else known_channels(colours, counts),
    )


def joined(lists: Sequence[Triangles]) -> Triangles:
    """Join triangles of one side: all have the same streams."""

    def column(name: str) -> NDArray[np.generic] | None:
        arrays = [getattr(one, name) for one in lists]
        return None if arrays[0] is None else np.concatenate(arrays)

    return Triangles(*(column(one.name) for one in fields(Triangles)))  # type: ignore[arg-type]


def shown_at_once(seen: ImportedScene, world: F64, cells: Sequence[tuple[int, int]], names: Sequence[Names]) -> Shown:
    """Return what a file without nodes of its own shows: the triangles of each item, as they lie in the world.

    (n, 4, 4) places of its items, the cell of each, and what reports call it.
    """
    out = Shown(materials=[ways(material.name) for material in seen.materials])
    lists: dict[tuple[int, int], list[Triangles]] = {}
    for i, item in enumerate(seen.nodes):
        if item.mesh < 0 or not seen.meshes[item.mesh].drawn:
            continue
        found = triangles_of(seen.streams, seen.meshes[item.mesh], len(out.things), world[i, :3, :3])
        lists.setdefault(cells[i], []).append(found)
        out.things.append(Thing(item.name, -1, world[i][None], {}, names[i], own=len(names[i])))
    out.cells = {cell: joined(found) for cell, found in lists.items()}
    return out


def ways(name: str) -> set[str]:
    """Return the names that mean the same: as it is, and without what the exporter and then editors append."""
    bare, without = (re.sub(r"(#\d+)+$", "", one) for one in (name, without_number(name)))
    return {bare.casefold(), without_number(bare).casefold(), without.casefold()}
