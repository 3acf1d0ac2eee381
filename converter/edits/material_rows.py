"""Give the materials of a file their rows in the ``.wea``, and find what of it they change.

A name is a row: that of the ``.wea``, else one that was renamed, else a new one
(docs/reference/gltf.md, Import). Blender's ``.001`` does not count where the name before it is
known. What cannot be written is reported; faces whose material has no row lose it here, so that
stored triangles keep what they had.

A material of a terrain is a row of ``Land1.wea`` or a pair of rows, called ``first`` or ``first+second``
(docs/reference/terrain.md). A name that the ``.wea`` lacks renames a row if every material of that
row has it, else it is a new row. A new row has the microtexture of the row that it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import ConversionError, called, in_words
from ..findings import Report, Subject
from ..formats.names import known_name, without_number
from ..formats.nres import NAME_SIZE
from ..formats.terrain import NO_MATERIAL
from ..formats.wear import is_material_name
from ..scene.decode import TerrainScene
from ..scene.dialect import Dialect, last_row
from ..scene.scene import ImportedScene, Mesh, Scene
from .materials import NewMaterial, listed, origins_by_faces, row_title, rows_by_name, stated_row
from .nodes import Identified

#: Why a name is none of a material.
NO_NAME = f"a name in Material.lib is one line of 1 to {NAME_SIZE - 1} bytes of CP1251"


class Created(NamedTuple):
    """A material of the file whose name the ``.wea`` did not have.

    Attributes:
        origin: the stored material that it was; ``None``: none.
        stated: its extras say so. If not, its faces do, and it may be a new one all the same.
    """

    name: str
    origin: int | None
    stated: bool


@dataclass
class WearEdit:
    """What a file changes of a ``.wea``.

    Attributes:
        names: new names by row; rows beyond the last one are new.
        report: the same in words, told after the changes of the model.
        new_materials: names that it did not have, each with the name of the material that it
            stands in for, ``""`` = none.
        created: materials of the file with such a name.
    """

    names: dict[int, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    new_materials: list[tuple[str, str]] = field(default_factory=list)
    created: dict[int, Created] = field(default_factory=dict)


def settle_materials(
    identified: Identified, stored: Scene, wear: Sequence[str], *, dialect: Dialect, locked: str = ""
) -> WearEdit:
    """Give materials their rows, and find which of them are renamed or new. Raises ConversionError: more rows than a
    batch can name.

    Args:
        identified: the file's scene; its materials and primitives are changed in place.
        wear: material names by row; empty: there is no ``.wea``, and a new one must name them all.
    """
    return _ModelRows(identified, stored, wear, dialect, locked).run()


class _Settlement:
    #: What messages call the file, and what names its rows.
    FILE, USER = "", ""
    wear: Sequence[str]
    known: dict[str, int]
    out: WearEdit

    @staticmethod
    def _in_use(meshes: Iterable[Mesh]) -> list[int]:
        """The materials that faces have."""
        return sorted({p.material for m in meshes for p in m.primitives if p.index_count and p.material >= 0})

    def _name_of(self, row: int) -> str:
        return (self.wear[row] if row < len(self.wear) else "") or f"material_{row}"

    def _rename(self, row: int, name: str) -> None:
        what = f"{in_words(self._name_of(row))} became {in_words(name)}"
        self.out.report.changed(f"row {row} of {self.FILE}", what)
        self.out.names[row] = name

    def _add(self, row: int, name: str, last: int) -> None:
        if row > last:
            raise ConversionError(
                f"material {called(name)} needs a row that no {self.USER} can name",
                table="WEAR",
                value=row,
                expected=f"0..{last}",
                hint=f"use {listed(self.known)}",
            )
        self.out.report.changed(f"row {row} of {self.FILE}", f"{in_words(name)} is new")
        self.out.names[row] = name


class _ModelRows(_Settlement):
    """One run of :func:`settle_materials`.

    ``row`` has the row of each material that is settled, ``origin`` the stored material that
    another one was, ``exact`` those whose origin is certain.
    """

    FILE, USER = "the .wea", "batch"

    def __init__(
        self, identified: Identified, stored: Scene, wear: Sequence[str], dialect: Dialect, locked: str
    ) -> None:
        self.identified, self.stored, self.wear = identified, stored, wear
        self.dialect, self.locked = dialect, locked
        self.scene, self.out = identified.scene, WearEdit()
        self.known = rows_by_name(stored, wear)
        self.materials = self.scene.materials
        self.used = self._in_use(self.scene.meshes[part.mesh] for part in self.scene.parts)
        bare = [without_number(self.materials[i].name) for i in self.used]
        self.names = [
            known_name(m.name, lambda name: name in self.known or bare.count(name) > 1) for m in self.materials
        ]
        by_key = {material.key: k for k, material in enumerate(stored.materials)}
        self.origin = {i: by_key[material.key] for i, material in enumerate(self.materials) if material.key in by_key}
        self.exact, self.stated = set(self.origin), set(self.origin)
        self.row: dict[int, int] = {}

    def run(self) -> WearEdit:
        """Settle every material that faces have."""
        pending = [i for i in self.used if not self._has_row(i)]
        if any(self.materials[i].row < 0 for i in pending):
            lightmap = self.dialect is Dialect.RETAIL
            for i, (k, exact) in origins_by_faces(self.identified, self.stored, lightmap=lightmap).items():
                if i in pending and self.materials[i].row < 0:
                    self.origin[i] = k
                    self.exact |= {i} if exact else set()
        for i in list(pending):
            if why := self._why_not(i):
                self._report(i, why)
                pending.remove(i)
        renamed = self._renamed(pending)
        if pending and not self.wear and not self._all_named(renamed):
            for i in pending:
                self._report(i, "the model has no .wea, and the file does not name all its rows")
            pending, renamed = [], {}
        for row, group in renamed.items():
            self._rename_row(row, group)
        for i in pending:
            if i not in self.row:
                self._add_row(i)
        self._take_off(set(self.used) - self.row.keys())
        for i, row in self.row.items():
            if row in self.out.names:
                origin = self.origin.get(i)
                self.out.created[i] = Created(self.out.names[row], origin, i in self.stated)
        return self.out

    def _own_row(self, i: int) -> int | None:
        """The row that a material's extras, or its faces, say."""
        if i in self.origin:
            return self.stored.materials[self.origin[i]].row
        return self.materials[i].row if self.materials[i].row >= 0 else None

    def _has_row(self, i: int) -> bool:
        """Settle a material whose name is that of a row."""
        material, name, own = self.materials[i], self.names[i], self._own_row(i)
        if own is not None and name == self._name_of(own):
            self.row[i] = own
            return True
        row = self.known.get(name, stated_row(name))
        if row is None and own is None:
            row = {known.casefold(): k for known, k in self.known.items()}.get(name.casefold())
        if row is None:
            return False
        raw_row = material.w4 & 0xFF if self.dialect is Dialect.RETAIL else material.w2
        if own is not None and row == raw_row:
            row = own  # somebody edited the custom property
        elif own is not None or name not in {old.name for old in self.stored.materials}:
            self.materials[i] = material._replace(row=row)
        self.row[i] = row
        return True

    def _why_not(self, i: int) -> str:
        if self.locked:
            return self.locked
        if not is_material_name(self.names[i]):
            return NO_NAME
        return ""

    def _report(self, i: int, why: str) -> None:
        """Report a name that is not written; the material stays what it was, if anything."""
        own = self._own_row(i) if i in self.exact or self.materials[i].row >= 0 else None
        if own is not None:
            what, self.row[i] = f"is {in_words(self._name_of(own))} under another name", own
            if i in self.exact:
                self.materials[i] = self.stored.materials[self.origin[i]]
        else:
            what = "is not one of the model's"
            why += f": stored faces keep theirs, new ones have {row_title(0, self.wear)}"
        where = Subject("material", self.names[i])
        self.identified.report.skipped(where, what, why, f"use {listed(self.known)}")

    def _renamed(self, pending: list[int]) -> dict[int, list[int]]:
        """The rows whose materials all have one new name, and those materials."""
        groups: dict[int, list[int]] = {}
        staying = set(self.row.values())
        for i in pending:
            if (own := self._own_row(i)) is None:
                continue
            if i in self.exact:
                groups.setdefault(own, []).append(i)
            else:
                staying.add(own)
        return {
            row: group
            for row, group in groups.items()
            if row not in staying and len({self.names[i] for i in group}) == 1
        }

    def _all_named(self, renamed: dict[int, list[int]]) -> bool:
        """Whether a new ``.wea`` would name every row in use."""
        used = set(self.row.values()) | {material.row for material in self.stored.materials}
        return used <= renamed.keys()

    def _rename_row(self, row: int, group: list[int]) -> None:
        before, name = self._name_of(row), self.names[group[0]]
        self._rename(row, name)
        self._know(row, name, before)
        for i in group:
            self.materials[i] = self.stored.materials[self.origin[i]]._replace(name=name)
            self.row[i] = row

    def _add_row(self, i: int) -> None:
        name, origin = self.names[i], self.origin.get(i)
        old = None if origin is None else self.stored.materials[origin]
        row = self.known.get(name)
        if row is None:
            taken = [*self.out.names, *self.row.values(), *(m.row for m in self.stored.materials)]
            row = max(len(self.wear), max(taken, default=-1) + 1)
            self._add(row, name, last_row(self.dialect))
            self._know(row, name, "" if old is None else old.name)
        self.materials[i] = (old or self.materials[i])._replace(row=row, name=name)
        self.row[i] = row

    def _know(self, row: int, name: str, like: str) -> None:
        self.known.setdefault(name, row)
        self.out.new_materials.append((name, like))

    def _take_off(self, unknown: set[int]) -> None:
        for mesh in {part.mesh for part in self.scene.parts}:
            primitives = self.scene.meshes[mesh].primitives
            primitives[:] = [p._replace(material=-1) if p.material in unknown else p for p in primitives]


Rows = tuple[int, ...]


class _Renamed(NamedTuple):
    """A material of the file whose name is not that of its rows.

    Attributes:
        name: without Blender's ``.001`` where that is meant.
        names: of its first and second material.
        rows: that its custom properties state; empty: none.
    """

    name: str
    names: list[str]
    rows: Rows

    def origin(self, k: int) -> int | None:
        """The row that its first or second material was, ``None``: none."""
        return self.rows[k] if k < len(self.rows) else None


@dataclass
class TerrainWearEdit(WearEdit):
    """What a file changes of ``Land1.wea`` and ``Land2.wea``.

    Attributes:
        micro: names of microtextures by row, of the rows that are new.
        seconds: new materials that no material of the file shows alone.
        second_of: those of pairs whose first row stays, by name: what the pair shows otherwise is theirs.
    """

    micro: dict[int, str] = field(default_factory=dict)
    seconds: list[NewMaterial] = field(default_factory=list)
    second_of: dict[str, NewMaterial] = field(default_factory=dict)


def settle_terrain_materials(
    edited: ImportedScene, scene: TerrainScene, wear: Sequence[str], micro: Sequence[str], *, locked: str = ""
) -> TerrainWearEdit:
    """Give materials of other names their rows, and find which of those are renamed or new. Raises ConversionError:
    more rows than a face can name, or a name that no row can have on faces without another one.

    Args:
        edited: the file; ``material_extras`` get the rows, in place.
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``.
    """
    return _TerrainRows(edited, scene, wear, micro, locked).run()


class _TerrainRows(_Settlement):
    FILE, USER = "Land1.wea", "face"
    out: TerrainWearEdit

    def __init__(
        self, edited: ImportedScene, scene: TerrainScene, wear: Sequence[str], micro: Sequence[str], locked: str
    ) -> None:
        self.edited, self.wear, self.micro, self.locked = edited, wear, micro, locked
        self.stored = {_rows(pair.first, pair.second): k for k, pair in enumerate(scene.material_pairs)}
        self.first = scene.material_pairs[0].first if scene.material_pairs else 0
        self.names = {pair.name for pair in scene.material_pairs}
        self.known = {name.casefold(): row for row, name in reversed(list(enumerate(wear))) if name}
        self.out = TerrainWearEdit()
        self.used = self._in_use(edited.meshes[node.mesh] for node in edited.nodes if node.mesh >= 0)
        self.bare = [without_number(edited.materials[i].name) for i in self.used]

    def run(self) -> TerrainWearEdit:
        """Settle every material that faces have."""
        renamed = {i: found for i in self.used if (found := self._renamed(i)) is not None}
        for i in list(renamed):
            if why := self._why_not(renamed[i]):
                self._report(renamed.pop(i), why)
        self._rename_rows(renamed)
        for i, one in renamed.items():
            self._settle(i, one)
        return self.out

    def _stated(self, i: int) -> Rows:
        """The rows in a material's custom properties."""
        extras = self.edited.material_extras[i]
        if "first" not in extras:
            return ()
        return _rows(extras["first"], extras.get("second", NO_MATERIAL))

    def _renamed(self, i: int) -> _Renamed | None:
        """What a material's name says, where it is not that of its rows."""
        rows, name = self._stated(i), self.edited.materials[i].name
        if rows not in self.stored if rows else not name:
            return None  # somebody edited the custom properties, or nothing is said
        if rows:
            own = "+".join(map(self._name_of, rows))
            if own.casefold() == known_name(name.casefold(), own.casefold().__eq__):
                return None
        name = known_name(name, self._is_title)
        names = [part.strip() for part in name.split("+")]
        if not rows and (name in self.names or all(self._is_known(part) for part in names)):
            return None
        return _Renamed(name, names, rows)

    def _is_known(self, name: str) -> bool:
        return name.casefold() in self.known

    def _is_title(self, name: str) -> bool:
        """Whether the ``.wea`` knows a name, or that of a pair, or several materials have it but for ``.001``."""
        known = all(self._is_known(part.strip()) for part in name.split("+"))
        return known or name in self.names or self.bare.count(name) > 1

    def _why_not(self, one: _Renamed) -> str:
        unknown = [name for name in one.names if not self._is_known(name)]
        if len(one.names) > 2:
            return "faces have a first and a second material, and no third one"
        if not unknown and one.name in self.names:
            return "its custom properties state the rows of Land1.wea, which count"
        if not all(map(is_material_name, unknown)):
            return NO_NAME
        return self.locked if unknown else ""

    def _report(self, one: _Renamed, why: str) -> None:
        """Report a name that is not written; its faces keep their rows, if any.

        Raises ConversionError: they have none.
        """
        hint = "assign another material" + (f": {listed(self.known)}" if self.known else "")
        if not one.rows:
            problem = f"material {called(one.name)} is not in Land1.wea and cannot be added"
            raise ConversionError(problem, expected=why, hint=hint)
        before = "+".join(map(self._name_of, one.rows))
        self.edited.report.skipped(
            Subject("material", before, one.name), f"was renamed to {in_words(one.name)}", why, hint
        )

    def _rename_rows(self, renamed: dict[int, _Renamed]) -> None:
        """Rename the rows that all materials of the file call by one new name."""
        claims: dict[int, set[str]] = {}
        for row, name in self._claims(renamed):
            claims.setdefault(row, set()).add(name)
        for row, names in sorted(claims.items()):
            (name, *others) = sorted(names)
            if others or not name or self._is_known(name):
                continue
            self._rename(row, name)

    def _claims(self, renamed: dict[int, _Renamed]) -> Iterator[tuple[int, str]]:
        """Rows and what materials call them; ``""``: what they are called."""
        here = set()
        for i in self.used:
            rows = self._stated(i)
            here.add(rows)
            one = renamed.get(i)
            same = one is not None and len(one.names) == len(rows)
            for k, row in enumerate(rows):
                name = one.names[k] if one is not None and same else ""
                yield row, "" if name.casefold() == self._name_of(row).casefold() else name
        for rows in self.stored.keys() - here:
            yield from ((row, "") for row in rows)

    def _settle(self, i: int, one: _Renamed) -> None:
        """Give a material its rows, new ones where it needs them."""
        rows = [self._row(name, one, k) for k, name in enumerate(one.names)]
        first, second = (*rows, NO_MATERIAL)[:2]
        extras = self.edited.material_extras[i]
        self.edited.material_extras[i] = {**extras, "first": first, "second": second}
        new = next((row for row in (first, second) if row in self.out.names), None)
        if new is not None:  # what the material shows otherwise is of the first that is new
            self.out.created[i] = Created(self.out.names[new], self.stored.get(one.rows), bool(one.rows))
        if second in self.out.names:
            name, where, was = self.out.names[second], Subject("material", one.name), one.origin(1)
            made = NewMaterial(name, where, like="" if was is None else self._name_of(was))
            if new == second:
                self.out.second_of[name] = made
            else:
                self.out.seconds.append(made)

    def _row(self, name: str, one: _Renamed, k: int) -> int:
        """The row of a name, after the last one where there is none."""
        row = one.origin(k)
        if row is not None and self.out.names.get(row, self._name_of(row)) == name:
            return row
        new = {text.casefold(): at for at, text in self.out.names.items()}
        found = self.known.get(name.casefold(), new.get(name.casefold()))
        if found is not None:
            return found
        at = max([len(self.wear), *(row + 1 for row in self.out.names)])
        self._add(at, name, NO_MATERIAL - 1)
        like = self.first if row is None else row
        self.out.micro[at] = self.micro[like] if like < len(self.micro) else ""
        return at


def _rows(first: int, second: int) -> Rows:
    return (first,) if second == NO_MATERIAL else (first, second)
