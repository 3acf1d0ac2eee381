"""Compare what materials show with what they showed when they were exported.

Colours and pictures are the game's, in ``Material.lib`` and ``Textures.lib``: what these can hold
becomes edits of their entries, each other difference is reported. Measured with Blender 4.2, 5.0
and 5.2: an untouched material comes back with the same pictures, byte for byte, and numbers within
3e-8; a stored colour has steps of 8e-5 and more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ConversionError, printable
from ..formats.archive import encode_name
from ..formats.library import (
    MATERIALS,
    TEXTURES,
    LibraryEdit,
    LibraryEntry,
    entry_key,
    first_phase,
)
from ..formats.material import MaterialKind
from ..formats.names import without_number
from ..formats.surface import FilePicture, ShownPicture, Surface, pixel_digest
from ..numeric.colours import to_bytes, to_linear
from ..scene.differences import NotApplied
from ..scene.scene import Material

#: Of numbers that no entry stores.
_NOISE = 1e-3
#: Of a sidecar that does not record what materials showed: 0.1 made such, and so does an OBJ.
UNRECORDED = (
    "colours and pictures of materials are not compared: the sidecar does not record them (convert "
    "the model again)"
)
#: What no material of the game has, and its name for people.
_FOREIGN = {
    "metallic": "metallic", "roughness": "roughness", "double_sided": "back faces",
    "others": "extensions",
}  # fmt: skip
_NO_SUCH = (
    "materials of the game have no such value",
    "use the colour, alpha, emission or picture",
)
_NO_LIBRARY = (
    "the game's Material.lib was not found when the model was converted, and every row has a "
    "colour of its own",
    "convert the model again with --game or --textures",
)
_ANOTHER_NAME = (
    "the game has no material of this name, and shows {}",
    "rename it to a material of the game (docs/looks.md)",
)
_LIGHT_FROM_ELSEWHERE = (
    "what shines there is the lightmap or the way it is blended, not the material's own light",
    "edit lightmap.lib (docs/looks.md)",
)
_LIGHT_FOLLOWS = (
    "a material's own light goes through its picture",
    "use the same picture for both",
)
_PICTURE_KEPT = (
    "materials keep their picture, and so does what else uses it",
    "paint over the picture, or edit the game's Material.lib (docs/looks.md)",
)
_Reason = tuple[str, str]


@dataclass
class SurfaceEdits:
    """What came of a comparison.

    Attributes:
        library: what changes in the game's libraries; several may be about one entry.
        not_applied: every other difference.
    """

    library: list[LibraryEdit] = field(default_factory=list)
    not_applied: list[NotApplied] = field(default_factory=list)


def compare_surfaces(
    names: Sequence[str],
    edited: Sequence[Surface[FilePicture]],
    shown: Sequence[Surface[ShownPicture]],
    choices: Sequence[set[int]],
    *,
    used: set[int],
    entries: Sequence[LibraryEntry] = (),
) -> SurfaceEdits:
    """Return every difference of the materials of a file.

    Args:
        names: of the file's materials.
        edited: what they show.
        shown: what the stored materials showed.
        choices: per material of the file the stored ones that it may be.
        used: materials of the file that faces have.
        entries: what of the game's libraries the stored materials showed.
    """
    rows = sorted(used & set(range(len(edited))))
    old = {i: [shown[k] for k in sorted(choices[i]) if k < len(shown)] for i in rows}
    had = {i for i in rows if any(one.picture or one.light for one in old[i])}
    out = SurfaceEdits()
    if had and not any(edited[i].picture or edited[i].light for i in rows):
        # Blender writes other colours, too, for materials whose pictures it leaves out
        rows = [i for i in rows if i not in had]
        out.not_applied.append(
            NotApplied(
                where="pictures",
                what="are not in the file",
                why="Images is set to None in Blender's glTF exporter, so that what these "
                "materials show cannot be compared",
                instead="set Images to Automatic, and export again",
            )
        )
    known = {entry.key: entry for entry in entries}
    pictures = {
        one.picture.pixels: known[key]
        for one in shown
        if one.picture and (key := entry_key(TEXTURES, one.picture.name)) in known
    }
    for i in rows:
        found = [_Comparison(names[i], edited[i], one, known, pictures) for one in old[i]]
        if found:
            best = min(found, key=lambda one: one.count)
            out.library += best.edits
            out.not_applied += best.not_applied()
    return out


class _Comparison:
    """One material of a file and a stored one that it may be."""

    def __init__(
        self,
        name: str,
        edited: Surface[FilePicture],
        shown: Surface[ShownPicture],
        entries: dict[tuple[str, str], LibraryEntry],
        pictures: dict[str, LibraryEntry],
    ) -> None:
        self.where = f"material {printable(name)!r}"
        self.edits: list[LibraryEdit] = []
        self._new, self._old = edited, shown
        self._entries, self._pictures = entries, pictures
        self._rest: dict[_Reason, list[str]] = {}
        self._material = entries.get(entry_key(MATERIALS, shown.definition))
        self._compare_colours()
        for field_name, title in _FOREIGN.items():
            self._compare_foreign(field_name, title)
        self._compare_mode()
        if _differ(edited.picture, shown.picture):
            self._picture(edited.picture, shown.picture)
        if _differ(edited.light, shown.light):
            self._light(edited.light, shown.light)

    @property
    def count(self) -> int:
        """How many differences there are."""
        return len(self.edits) + sum(map(len, self._rest.values()))

    def not_applied(self) -> list[NotApplied]:
        """Return the differences that no library can hold, those of one reason in one."""
        return [
            NotApplied(where=self.where, what=", ".join(what), why=why, instead=instead)
            for (why, instead), what in self._rest.items()
        ]

    def _reject(self, what: str, reason: _Reason) -> None:
        self._rest.setdefault(reason, []).append(what)

    def _edit_material(self, what: str, name: str, value: bytes, *, note: str = "") -> None:
        if self._material is None:
            self._reject(what, _NO_LIBRARY)
        elif not self._old.own:
            why, instead = _ANOTHER_NAME
            self._reject(what, (why.format(printable(self._material.name)), instead))
        else:
            self.edits.append(LibraryEdit(self._material, self.where, what + note, {name: value}))

    def _compare_colours(self) -> None:
        new, old = self._new, self._old
        colours = [("colour", new.colour[:3], old.colour[:3], "colour")]
        colours.append(("emission", new.emission, old.emission, "light"))
        for title, now, before, name in colours:
            if to_bytes(now) == to_bytes(before):
                continue
            what = f"{title} {_text(before)} became {_text(now)}"
            if name == "light" and self._material is not None:
                own = [v / 255 for v in first_phase(self._material.data, "light")]
                if to_bytes(to_linear(own)) != to_bytes(before):
                    self._reject(what, _LIGHT_FROM_ELSEWHERE)
                    continue
            self._edit_material(what, name, bytes(to_bytes(now)))
        if new.alpha_mode != "OPAQUE":
            alpha, before_alpha = _per_cent(new), _per_cent(old)
            if alpha != before_alpha:
                what = f"alpha {before_alpha}% became {alpha}%"
                self._edit_material(what, "alpha", bytes([alpha]))

    def _compare_foreign(self, name: str, title: str) -> None:
        new, old = getattr(self._new, name), getattr(self._old, name)
        same = abs(new - old) <= _NOISE if isinstance(new, float) else new == old
        if not same:
            self._reject(f"{title} {_text(old)} became {_text(new)}", _NO_SUCH)

    def _compare_mode(self) -> None:
        new, old = self._new.alpha_mode, self._old.alpha_mode
        if new == old:
            return
        what = f"alpha mode {printable(old)} became {printable(new)}"
        blends = self._material is not None and old != "OPAQUE"
        if new not in ("OPAQUE", "MASK", "BLEND") or (blends and new != "OPAQUE"):
            self._reject(what, ("the game tests and blends alpha in one mode", "keep BLEND"))
            return
        kind = MaterialKind.OPAQUE if new == "OPAQUE" else MaterialKind.ALPHA_BLEND
        self._edit_material(what, "kind", bytes([kind]))

    def _picture(self, new: FilePicture | None, old: ShownPicture | None) -> None:
        if new is None or old is None:
            self._reject(f"picture is {'gone' if new is None else 'new'}", _PICTURE_KEPT)
            return
        entry = self._entries.get(entry_key(TEXTURES, old.name))
        other = self._pictures.get(new.pixels())
        if other is not None and other.key != entry_key(TEXTURES, old.name):
            what = f"picture {printable(old.name)} became {printable(other.name)}"
            self._edit_material(what, "texture", encode_name(other.name))
        elif entry is None:
            why = "it shows several textures, mixed" if "+" in old.name else _NO_LIBRARY[0]
            self._reject("picture is another", (why, _PICTURE_KEPT[1]))
        elif not is_image(new.name, old.name):
            what = f"picture {printable(old.name)} became {printable(new.name)}"
            self._reject(what, _PICTURE_KEPT)
        else:
            self._edit_texture(entry, new)

    def _edit_texture(self, entry: LibraryEntry, new: FilePicture) -> None:
        try:
            rgba = new.rgba()
        except ConversionError as error:
            self._reject(
                f"picture {printable(entry.name)} is another",
                (str(error), "export it again as a PNG of 8 bits a channel"),
            )
            return
        what = f"picture {printable(entry.name)} is repainted"
        values = {"pixels": pixel_digest(rgba).encode()}
        self.edits.append(LibraryEdit(entry, self.where, what, values, rgba))

    def _light(self, new: FilePicture | None, old: ShownPicture | None) -> None:
        """The emission's picture: it follows the other one, or is a lightmap."""
        follows = old is None or (self._old.picture is not None and old == self._old.picture)
        if follows and new is None and not any(to_bytes(self._new.emission)):
            return  # gone with the light
        picture = self._new.picture
        if follows and new and picture and new.pixels() and new.pixels() == picture.pixels():
            return
        what = "gone" if new is None else "new" if old is None else "another"
        reason = _LIGHT_FOLLOWS if follows else _LIGHT_FROM_ELSEWHERE
        self._reject(f"emission picture is {what}", reason)


def one_name_two_looks(
    materials: Sequence[Material], surfaces: Sequence[Surface[FilePicture]]
) -> list[NotApplied]:
    """Report materials of a new model that share a name, and so a row, but not what they show.

    Blender's ``.001`` does not count as part of a name.

    Args:
        materials: the file's.
        surfaces: what they show; empty: not known.
    """
    first: dict[str, int] = {}
    out = []
    for i, material in enumerate(materials[: len(surfaces)]):
        bare = without_number(material.name)
        if not bare or material.row >= 0:
            continue
        k = first.setdefault(bare, i)
        if _look(surfaces[k]) != _look(surfaces[i]):
            out.append(
                NotApplied(
                    where=f"material {printable(material.name)!r}",
                    what=f"has the name of {printable(materials[k].name)!r}, and another look",
                    why=f"both are one row of the .wea, {printable(bare)!r}",
                    instead="give it a name of its own, as in Material.lib",
                )
            )
    return out


def _look(surface: Surface[FilePicture]) -> tuple[object, ...]:
    """What tells materials of one file apart: its colour and its pictures."""
    pictures = (surface.picture, surface.light)
    return (surface.colour, surface.emission, *(p and (p.digest() or p.uri) for p in pictures))


def _differ(new: FilePicture | None, old: ShownPicture | None) -> bool:
    if new is None or old is None:
        return (new is None) != (old is None)
    return not _same(new, old)


def is_image(name: str, stored: str) -> bool:
    """Return whether an image's name is a stored one; Blender drops what follows its last dot."""
    return name.lower() in (stored.lower(), stored.lower().rpartition(".")[0])


def _per_cent(surface: Surface[FilePicture] | Surface[ShownPicture]) -> int:
    return round(100 * min(1.0, max(0.0, surface.colour[3])))


def _text(value: object) -> str:
    if isinstance(value, tuple):
        texts = [f"{v:.3g}" if isinstance(v, float) else printable(str(v)) for v in value]
        return " ".join(texts) or "none"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, bool):
        return "on" if value else "off"
    return printable(str(value))


def _same(new: FilePicture, old: ShownPicture) -> bool:
    """Whether a picture is the one that was exported: the same file, else the same pixels."""
    if old.uri and new.uri == old.uri and not new.digest():
        return True  # it lies outside the file's folder, an item of its run
    return bool(old.digest and new.digest() == old.digest) or new.pixels() == old.pixels
