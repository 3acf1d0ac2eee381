"""Give the materials of a file their rows in the ``.wea``, and find what of it they change.

A name is a row: that of the ``.wea``, else one that was renamed, else a new one
(docs/reference/gltf.md, Import). Blender's ``.001`` does not count where the name before it is
known. What cannot be written is reported; faces whose material has no row lose it here, so that
stored triangles keep what they had. Faces without a material and colours without a table are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ConversionError, plural, printable
from ..findings import Report
from ..formats.names import without_number
from ..formats.nres import NAME_SIZE
from ..formats.terrain import LEVELS
from ..formats.wear import is_material_name
from ..scene.dialect import Dialect, last_row
from ..scene.scene import ImportedScene, Material, Part, Scene
from .nodes import Identified
from .triangles import match, triangle_list

if TYPE_CHECKING:
    from .terrain import TerrainPlan


#: How many names a message lists.
_LISTED = 8


def report_faces_without_material(identified: Identified, stored: Scene, wear: Sequence[str]) -> None:
    """Report faces that have no material in the file; before ``material_rows.settle_materials``."""
    scene = identified.scene
    bare = [(part, _bare_faces(scene, part)) for part in scene.parts]
    bare = [(part, count) for part, count in bare if count]
    if bare and not scene.materials and stored.materials:
        _report_left_out(identified.report, f"stored faces keep theirs, new ones have {row_title(0, wear)}")
        return
    cells = {(part.node, part.lod, part.group) for part in stored.parts}
    for part, count in bare:
        old = identified.stored_of.get(part.node)
        is_new = (old, part.lod, part.group) not in cells
        becomes = f"these have {row_title(0, wear)}" if is_new else "stored ones keep theirs"
        _report_bare(identified, part, count, becomes, f"assign {listed(dict(rows_by_name(stored, wear)))}")


def report_new_faces_without_material(identified: Identified, wear: Sequence[str]) -> None:
    """Report parts of a new model that have faces without a material, and the row they have."""
    scene = identified.scene
    for part in scene.parts:
        if count := _bare_faces(scene, part):
            becomes = f"these have {row_title(0, wear)}"
            _report_bare(identified, part, count, becomes, "assign one named as in Material.lib")


def _report_bare(identified: Identified, part: Part, count: int, becomes: str, instead: str) -> None:
    identified.report.skipped(
        f"part {printable(identified.scene.nodes[part.node].name)!r} lod {part.lod} group {part.group}",
        f"has {plural(count, 'triangle')} without a material",
        f"every triangle of a model has one: {becomes}",
        instead,
    )


def report_colours_without_table(given: ImportedScene) -> None:
    """Report vertex colours of a model that has no table for them; white ones show nothing."""
    colours = given.streams.colours
    windows = (p for mesh in given.meshes for p in mesh.primitives)
    if colours is not None and any(
        (colours[p.vertex_start : p.vertex_start + p.vertex_count] != np.uint8(255)).any() for p in windows
    ):
        given.report.skipped(
            "vertex colours",
            "are in the file",
            "the model has no table for them",
            "use the colour or the picture of a material",
        )


def report_terrain_faces_without_material(plan: TerrainPlan) -> None:
    """Report stored faces of a terrain that have no material in the file."""
    keep = "stored faces keep theirs"
    for level, found in sorted(plan.levels.items()):
        if count := int((found.edited.triangles.material[found.new] < 0).sum()):
            if not plan.materials:
                _report_left_out(plan.report, keep)
                return
            plan.report.skipped(
                f"{LEVELS[level]} level",
                f"has {plural(count, 'triangle')} without a material",
                f"every face of a terrain has one: {keep}",
                "assign one of the terrain's materials",
            )


def _report_left_out(report: Report, keep: str) -> None:
    report.skipped(
        "materials",
        "are not in the file",
        f"Materials is set to No export or Placeholder in Blender's glTF exporter: {keep}",
        "set Materials to Export, and export again",
    )


def listed(names: Sequence[str] | dict[str, int]) -> str:
    """Return the names that may be used, as far as a line can hold them."""
    shown = [printable(name) for name in names]
    more = f" or {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ("one of " if len(shown) > 1 else "") + ", ".join(shown[:_LISTED]) + more


def rows_by_name(stored: Scene, wear: Sequence[str]) -> list[tuple[str, int]]:
    """Return names and their rows; those that the model uses win."""
    rows = [(name, row) for row, name in reversed(list(enumerate(wear))) if name]
    used = [(m.name, m.row) for m in reversed(stored.materials)]
    return list(reversed(list(dict([*rows, *used]).items())))


def stated_row(name: str) -> int | None:
    """Return the row in ``material_7``, as the exporter calls a row without a name."""
    number = name.removeprefix("material_")
    return int(number) if number != name and number.isdecimal() and len(number) <= 5 else None


def _bare_faces(scene: Scene, part: Part) -> int:
    return sum(p.index_count // 3 for p in scene.meshes[part.mesh].primitives if p.material < 0)


def row_title(row: int, wear: Sequence[str]) -> str:
    """Return what messages call a row."""
    name = wear[row] if row < len(wear) else ""
    return f"row {row}" + (f" ({printable(name)})" if name else "")


#: Why a name is none of a material.
NO_NAME = f"a name in Material.lib is one line of 1 to {NAME_SIZE - 1} bytes of CP1251"


class Created(NamedTuple):
    """A material of the file whose name the ``.wea`` did not have.

    Attributes:
        name: that name.
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
    """Give materials their rows, and find which of them are renamed or new.

    Args:
        identified: the file's scene; its materials and primitives are changed in place.
        stored: the sidecar's model.
        wear: material names by row; empty: there is no ``.wea``, and a new one must name them all.
        dialect: of the model.
        locked: why the ``.wea`` cannot be changed, if so.

    Raises:
        ConversionError: more rows than a batch can name.
    """
    return _Settlement(identified, stored, wear, dialect, locked).run()


def beyond_rows(name: str, row: int, last: int, user: str, known: dict[str, int]) -> ConversionError:
    """Return the error for a material that needs a row after the last one.

    Args:
        name: its name.
        row: the row.
        last: the last one that the format can name.
        user: what names rows, ``batch`` or ``face``.
        known: names that have a row.
    """
    return ConversionError(
        f"material {printable(name)!r} needs a row that no {user} can name",
        table="WEAR",
        value=row,
        expected=f"0..{last}",
        hint=f"use {listed(known)}",
    )


class _Settlement:
    """One run of :func:`settle_materials`.

    ``row`` has the row of each material that is settled, ``origin`` the stored material that
    another one was, ``exact`` those whose origin is certain.
    """

    def __init__(
        self, identified: Identified, stored: Scene, wear: Sequence[str], dialect: Dialect, locked: str
    ) -> None:
        self.identified, self.stored, self.wear = identified, stored, wear
        self.dialect, self.locked = dialect, locked
        self.scene, self.out = identified.scene, WearEdit()
        self.known = dict(rows_by_name(stored, wear))
        self.materials = self.scene.materials
        self.used = sorted(
            {
                primitive.material
                for part in self.scene.parts
                for primitive in self.scene.meshes[part.mesh].primitives
                if primitive.index_count and primitive.material >= 0
            }
        )
        self.names = self._names()
        by_key = {material.key: k for k, material in enumerate(stored.materials)}
        self.origin = {i: by_key[material.key] for i, material in enumerate(self.materials) if material.key in by_key}
        self.exact, self.stated = set(self.origin), set(self.origin)
        self.row: dict[int, int] = {}

    def run(self) -> WearEdit:
        """Settle every material that faces have."""
        pending = [i for i in self.used if not self._has_row(i)]
        if pending:
            self._find_origins([i for i in pending if self.materials[i].row < 0])
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

    def _names(self) -> list[str]:
        """The materials' names without the ``.001`` of Blender, where the rest is known."""
        bare = [without_number(material.name) for material in self.materials]
        used = [bare[i] for i in self.used]
        return [
            short
            if material.name not in self.known and (short in self.known or used.count(short) > 1)
            else material.name
            for material, short in zip(self.materials, bare, strict=True)
        ]

    def _own_row(self, i: int) -> int | None:
        """The row that a material's extras, or its faces, say."""
        if i in self.origin:
            return self.stored.materials[self.origin[i]].row
        return self.materials[i].row if self.materials[i].row >= 0 else None

    def _name_of(self, row: int) -> str:
        name = self.wear[row] if row < len(self.wear) else ""
        return name or f"material_{row}"

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
        if own is not None and row == self._raw_row(material):
            row = own  # somebody edited the custom property
        elif own is not None or name not in {old.name for old in self.stored.materials}:
            self.materials[i] = material._replace(row=row)
        self.row[i] = row
        return True

    def _raw_row(self, material: Material) -> int:
        """The row in the batch words of a material's extras."""
        return material.w4 & 0xFF if self.dialect is Dialect.RETAIL else material.w2

    def _find_origins(self, materials: list[int]) -> None:
        """Find the stored materials of the faces of those that have no extras."""
        if not materials:
            return
        lightmap = self.dialect is Dialect.RETAIL
        votes = np.zeros((len(self.materials) + 1, len(self.stored.materials)), np.int64)
        cells = self._cells()
        for part in self.scene.parts:
            old_part = cells.get(self._cell(part))
            if old_part is None:
                continue
            new = triangle_list(self.scene, part, lightmap=lightmap)
            old = triangle_list(self.stored, old_part, lightmap=lightmap)
            found = match(new, old, [])
            hit = found.old_of >= 0
            np.add.at(votes, (new.material[hit], old.material[found.old_of[hit]]), 1)
        absent = self._absent_rows()
        for i in materials:
            if not votes[i].any():
                continue
            k = int(votes[i].argmax())
            self.origin[i] = k
            whole = votes[i, k] == votes[i].sum() == votes[:, k].sum()
            if whole and self.stored.materials[k].row not in absent:
                self.exact.add(i)

    def _cells(self) -> dict[tuple[int | None, int, int], Part]:
        return {(part.node, part.lod, part.group): part for part in self.stored.parts}

    def _cell(self, part: Part) -> tuple[int | None, int, int]:
        return self.identified.stored_of.get(part.node), part.lod, part.group

    def _absent_rows(self) -> set[int]:
        """Rows of stored parts that the file does not show."""
        here = {self._cell(part) for part in self.scene.parts}
        absent = [part for cell, part in self._cells().items() if cell not in here]
        return {
            self.stored.materials[primitive.material].row
            for part in absent
            for primitive in self.stored.meshes[part.mesh].primitives
        }

    def _why_not(self, i: int) -> str:
        """Why a name cannot be written, if so."""
        if self.locked:
            return self.locked
        if not is_material_name(self.names[i]):
            return NO_NAME
        return ""

    def _report(self, i: int, why: str) -> None:
        """Report a name that is not written; the material stays what it was, if anything."""
        own = self._own_row(i) if i in self.exact or self.materials[i].row >= 0 else None
        if own is not None:
            what, self.row[i] = f"is {printable(self._name_of(own))!r} under another name", own
            if i in self.exact:
                self.materials[i] = self.stored.materials[self.origin[i]]
        else:
            what = "is not one of the model's"
            why += f": stored faces keep theirs, new ones have {row_title(0, self.wear)}"
        where = f"material {printable(self.names[i])!r}"
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
        what = f"{printable(before)!r} became {printable(name)!r}"
        self.out.report.changed(f"row {row} of the .wea", what)
        self._name(row, name, before)
        for i in group:
            self.materials[i] = self.stored.materials[self.origin[i]]._replace(name=name)
            self.row[i] = row

    def _add_row(self, i: int) -> None:
        """Give a material a row of its name, after the last one where there is none.

        Raises:
            ConversionError: no batch could name it.
        """
        name, origin = self.names[i], self.origin.get(i)
        old = None if origin is None else self.stored.materials[origin]
        row = self.known.get(name)
        if row is None:
            taken = [*self.out.names, *self.row.values(), *(m.row for m in self.stored.materials)]
            row = max(len(self.wear), max(taken, default=-1) + 1)
            if row > (last := last_row(self.dialect)):
                raise beyond_rows(name, row, last, "batch", self.known)
            self.out.report.changed(f"row {row} of the .wea", f"{printable(name)!r} is new")
            self._name(row, name, "" if old is None else old.name)
        self.materials[i] = (old or self.materials[i])._replace(row=row, name=name)
        self.row[i] = row

    def _name(self, row: int, name: str, like: str) -> None:
        self.out.names[row] = name
        self.known.setdefault(name, row)
        self.out.new_materials.append((name, like))

    def _take_off(self, unknown: set[int]) -> None:
        """Take materials without a row off their faces."""
        for mesh in {part.mesh for part in self.scene.parts}:
            primitives = self.scene.meshes[mesh].primitives
            primitives[:] = [p._replace(material=-1) if p.material in unknown else p for p in primitives]
