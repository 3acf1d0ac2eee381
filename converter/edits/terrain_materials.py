"""Give the materials of an edited terrain their rows in ``Land1.wea``, and find what they change.

A material is a row or a pair of rows, called ``first`` or ``first+second``
(docs/reference/terrain.md). A name that the ``.wea`` lacks renames a row if every material of that
row has it, else it is a new row. A new row has the microtexture of the row that it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import ConversionError, printable
from ..formats.names import without_number
from ..formats.terrain import NO_MATERIAL
from ..formats.wear import is_material_name
from ..scene.level import TerrainScene
from ..scene.scene import ImportedScene
from .materials import NO_NAME, Created, WearEdit, beyond_rows, listed
from .new_materials import NewMaterial

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
    """

    micro: dict[int, str] = field(default_factory=dict)
    seconds: list[NewMaterial] = field(default_factory=list)


def settle_terrain_materials(
    edited: ImportedScene, scene: TerrainScene, wear: Sequence[str], micro: Sequence[str], *, locked: str = ""
) -> TerrainWearEdit:
    """Give materials of other names their rows, and find which of those are renamed or new.

    Args:
        edited: the file; ``material_extras`` get the rows, in place.
        scene: the stored terrain.
        wear, micro: names by row of ``Land1.wea`` and ``Land2.wea``.
        locked: why they cannot be changed, if so.

    Raises:
        ConversionError: more rows than a face can name, or a name that no row can have on faces
            without another one.
    """
    return _Settlement(edited, scene, wear, micro, locked).run()


class _Settlement:
    """One run of :func:`settle_terrain_materials`."""

    def __init__(
        self, edited: ImportedScene, scene: TerrainScene, wear: Sequence[str], micro: Sequence[str], locked: str
    ) -> None:
        self.edited, self.wear, self.micro, self.locked = edited, wear, micro, locked
        self.stored = {_rows(pair.first, pair.second): k for k, pair in enumerate(scene.material_pairs)}
        self.first = scene.material_pairs[0].first if scene.material_pairs else 0
        self.names = {pair.name for pair in scene.material_pairs}
        self.known = {name.casefold(): row for row, name in reversed(list(enumerate(wear))) if name}
        self.out = TerrainWearEdit()
        self.used = sorted(
            {
                primitive.material
                for node in edited.nodes
                if node.mesh >= 0
                for primitive in edited.meshes[node.mesh].primitives
                if primitive.index_count and primitive.material >= 0
            }
        )

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

    def _name_of(self, row: int) -> str:
        return (self.wear[row] if row < len(self.wear) else "") or f"material_{row}"

    def _renamed(self, i: int) -> _Renamed | None:
        """What a material's name says, where it is not that of its rows."""
        rows, name = self._stated(i), self.edited.materials[i].name
        if not name or (rows and rows not in self.stored):
            return None  # nameless, or somebody edited the custom properties
        if rows:
            own = "+".join(map(self._name_of, rows))
            if own.casefold() in (name.casefold(), without_number(name).casefold()):
                return None
        name = self._without_number(name)
        names = [part.strip() for part in name.split("+")]
        if not rows and (name in self.names or all(self._is_known(part) for part in names)):
            return None
        return _Renamed(name, names, rows)

    def _is_known(self, name: str) -> bool:
        return name.casefold() in self.known

    def _without_number(self, name: str) -> str:
        """The name without the ``.001`` of Blender, where the rest is known or used."""
        short = without_number(name)
        others = {self.edited.materials[i].name for i in self.used} | self.names
        known = all(self._is_known(part.strip()) for part in short.split("+"))
        return short if known or short in others else name

    def _why_not(self, one: _Renamed) -> str:
        """Why a name cannot be written, if so."""
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

        Raises:
            ConversionError: they have none.
        """
        if not one.rows:
            raise ConversionError(
                f"material {printable(one.name)!r} is not in Land1.wea and cannot be added",
                expected=why,
                hint=f"assign another material: {listed(self.known)}",
            )
        before = "+".join(map(self._name_of, one.rows))
        self.edited.report.skipped(
            f"material {printable(before)!r}",
            f"was renamed to {printable(one.name)!r}",
            why,
            f"assign another material: {listed(self.known)}",
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
            what = f"{printable(self._name_of(row))!r} became {printable(name)!r}"
            self.out.report.changed(f"row {row} of Land1.wea", what)
            self.out.names[row] = name

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
        if first in self.out.names:
            origin = self.stored.get(one.rows)
            self.out.created[i] = Created(self.out.names[first], origin, bool(one.rows))
        if second in self.out.names:
            was = one.origin(1)
            self.out.seconds.append(
                NewMaterial(
                    self.out.names[second],
                    f"material {printable(one.name)!r}",
                    like="" if was is None else self._name_of(was),
                )
            )

    def _row(self, name: str, one: _Renamed, k: int) -> int:
        """The row of a name, after the last one where there is none.

        Raises:
            ConversionError: no face could name it.
        """
        row = one.origin(k)
        if row is not None and self.out.names.get(row, self._name_of(row)) == name:
            return row
        new = {text.casefold(): at for at, text in self.out.names.items()}
        found = self.known.get(name.casefold(), new.get(name.casefold()))
        if found is not None:
            return found
        at = max([len(self.wear), *(row + 1 for row in self.out.names)])
        if at >= NO_MATERIAL:
            raise beyond_rows(name, at, NO_MATERIAL - 1, "face", self.known)
        self.out.report.changed(f"row {at} of Land1.wea", f"{printable(name)!r} is new")
        self.out.names[at] = name
        like = self.first if row is None else row
        self.out.micro[at] = self.micro[like] if like < len(self.micro) else ""
        return at


def _rows(first: int, second: int) -> Rows:
    return (first,) if second == NO_MATERIAL else (first, second)
