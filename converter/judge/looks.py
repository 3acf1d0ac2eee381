"""What materials look like: in an edited file, and in the game with the entries that would be written."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from ..edits.materials import NewMaterial
from ..edits.transforms import cell_of
from ..formats.gltf import WHOLE, FilePicture, ShownPicture, Surface, TextureTransform, is_image, same_picture
from ..formats.library import MATERIALS, TEXTURES, LibraryEdit, LibraryEntry, entry_key, first_phase, with_values
from ..formats.material import MaterialKind
from ..formats.names import decode_text, without_number
from ..numeric.quantize import to_bytes
from ..scene.scene import ImportedScene, Material


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
            through = "through its picture" if result.lit else "through no picture"
            out.append(f"shines {how} in the file, and {through} in the game")
        return out

    def shone(self, before: Look) -> Look:
        """Return a look of the game's after edits: a light of its own goes through the picture."""
        if self.light is None or not any(self.light):
            return replace(self, lit=None)
        return replace(self, lit=self.picture) if before.lit in (None, "", before.picture) else self


def _common(looks: Sequence[Look]) -> Look:
    """What several materials of one name show alike."""
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
    looks = [_look(surface) for surface in surfaces]
    return [replace(look, lit=None) for look in looks] if of_obj else looks


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
    new: Sequence[NewMaterial] = field(default=())
    entries: Sequence[LibraryEntry] = field(default=())

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
            rows = [
                np.arange(p.vertex_start, p.vertex_start + p.vertex_count)
                for mesh in seen.meshes
                for p in mesh.primitives
                if p.material == i
            ]
            at = np.unique(np.concatenate([np.empty(0, np.int64), *rows]))
            uv[at] = before.undo(surface.transform.apply(uv[at]))
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
        """The look of a material that was exported, with its entry and its texture as they will be."""
        edits = {edit.entry.key: edit for edit in self.edits}
        look = before = _look(surface)
        if (edit := edits.get(entry_key(MATERIALS, surface.definition))) is not None:
            data = with_values(edit.entry.data, edit.values)
            look = self._with(look, edit.values, lambda name: first_phase(data, name))
            if edit.picture is not None:
                look = replace(look, picture=edit.picture.digest)
        picture = look.picture
        if isinstance(picture, ShownPicture) and (edit := edits.get(entry_key(TEXTURES, picture.name))) is not None:
            look = replace(look, picture=edit.values["pixels"].decode())
        return look.shone(before)

    def _of_new(self, one: NewMaterial) -> Look:
        """The look of a material that is made; what a copy has of another one stays unknown."""
        of = {s.definition.casefold(): s for s in self.shown if s.definition}
        base = Look() if one.base is None or one.base.name.casefold() not in of else _look(of[one.base.name.casefold()])
        look = self._with(base, one.values, one.values.__getitem__)
        return (look if one.picture is None else replace(look, picture=one.picture.digest)).shone(base)

    def _with(self, look: Look, values: Mapping[str, bytes], stored: Callable[[str], bytes]) -> Look:
        """A look with those fields of an entry that change, as ``stored`` has them."""
        if "colour" in values:
            look = replace(look, colour=tuple(stored("colour")))
        if "light" in values:
            look = replace(look, light=tuple(stored("light")))
        if "alpha" in values:
            look = replace(look, alpha=stored("alpha")[0])
        if "kind" in values:
            look = replace(look, opaque=values["kind"][0] == MaterialKind.OPAQUE)
        if "texture" in values:
            name = decode_text(stored("texture").partition(b"\0")[0]).casefold()
            pictures = {s.picture.name.casefold(): s.picture for s in self.shown if s.picture is not None}
            look = replace(look, picture=pictures.get(name) if name else "")
        return look
