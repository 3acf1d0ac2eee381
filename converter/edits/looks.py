"""Compare what materials show with what they showed when they were exported; give a model materials of its own.

Colours and pictures are the game's, in ``Material.lib`` and ``Textures.lib``: what these can hold
becomes edits of their entries, each other difference is reported. Measured with Blender 4.2, 5.0
and 5.2: an untouched material comes back with the same pictures, byte for byte, and numbers within
3e-8; a stored colour has steps of 8e-5 and more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import ConversionError, in_words, printable
from ..findings import Report, Subject
from ..formats.gltf import FilePicture, ShownPicture, Surface, is_image, pixel_digest, same_picture
from ..formats.material import (
    MATERIALS,
    TEXTURES,
    LibraryEdit,
    LibraryEntry,
    MaterialKind,
    NewPicture,
    entry_key,
    first_phase,
)
from ..formats.names import decode_text, encode_name, stem
from ..formats.nres import NAME_SIZE
from ..formats.sidecar import Description
from ..numeric.quantize import to_bytes, to_linear
from ..scene.scene import ImportedScene
from .material_rows import Created, WearEdit
from .materials import (
    LIGHT_FOLLOWS,
    NO_SUCH_VALUE,
    NewMaterial,
    cell_of,
    new_material,
    picture_of,
    unchosen,
    unreadable,
    without_loss,
)

#: Of numbers that no entry stores.
_NOISE = 1e-3
#: Of a sidecar that does not record what materials showed: 0.1 made such, and so does an OBJ.
UNRECORDED = (
    "colours and pictures of materials are not compared: the sidecar does not record them (convert the model again)"
)
#: What no material of the game has, and its name for people.
_FOREIGN = {"metallic": "metallic", "roughness": "roughness", "double_sided": "back faces", "others": "extensions"}
_NO_LIBRARY = (
    "the game's Material.lib was not found when the model was converted, and every row has a colour of its own",
    "convert the model again with --game or --textures",
)
_NO_NAME = (
    "no .wea names its row, so the game has no material for it",
    "give all materials of the model that are called so other names: they become those of its rows",
)
_LIGHT_FROM_ELSEWHERE = (
    "what shines there is the lightmap or the way it is blended, not the material's own light",
    "edit lightmap.lib (docs/materials.md)",
)
_PICTURE_KEPT = (
    "materials keep their picture, and so does what else uses it",
    "paint over the picture, or assign another one (docs/materials.md)",
)
#: What an edit of a pair of grounds is about.
OF_TWO = " (of {}, the {} of the two)"
_Reason = tuple[str, str]


@dataclass
class SurfaceEdits:
    """What came of a comparison.

    Attributes:
        library: what changes in the game's libraries, by material of the file; several may be
            about one entry.
        new: materials that the model did not name, or the game did not have.
        origins: per material of the file that changes something the stored one that it was.
    """

    library: dict[int, list[LibraryEdit]] = field(default_factory=dict)
    new: list[NewMaterial] = field(default_factory=list)
    origins: dict[int, int] = field(default_factory=dict)
    report: Report = field(default_factory=Report)

    @property
    def edits(self) -> list[LibraryEdit]:
        """All of ``library``, in the order of the materials."""
        return [edit for i in sorted(self.library) for edit in self.library[i]]


def compare_surfaces(
    given: ImportedScene,
    about: Description,
    names: Sequence[str],
    choices: Sequence[set[int]],
    *,
    used: set[int],
    created: Mapping[int, Created] | None = None,
    rows: Sequence[str],
) -> SurfaceEdits:
    """Return every difference of the materials of a file; warn where nothing is known of what they showed.

    Args:
        about: what the stored materials showed.
        names, choices: per material of the file its name, and which stored ones it may be.
        used: those that faces have, and that are to be compared.
        created: materials of the file whose names the ``.wea`` did not have.
        rows: per stored material its name in the ``.wea``; empty: it has none.
    """
    created, edited, shown = created or {}, given.surfaces, about.shown
    used = used & set(range(len(edited)))
    if used and not shown:
        given.report.warnings.append(UNRECORDED)
    choices = [
        {origin} if (origin := created[i].origin if i in created else None) is not None else group
        for i, group in enumerate(choices)
    ]
    todo = sorted(used)
    old = {i: [k for k in sorted(choices[i]) if k < len(shown)] for i in todo}
    had = {i for i in todo if any(shown[k].picture or shown[k].light for k in old[i])}
    out = SurfaceEdits()
    left_out = had and not any(surface.picture or surface.light for surface in edited)
    if left_out:
        # Blender writes other colours, too, for materials whose pictures it leaves out
        todo = [i for i in todo if i not in had]
        out.report.skipped(
            "pictures",
            "are not in the file",
            "what these materials show cannot be compared without them",
            "export it with its pictures (in Blender: Images > Automatic)",
        )
    edited, problem = without_loss(edited, shown, old)
    out.report.not_applied += problem
    known = _Known.of(about.library, shown, {p.name for i in todo if (p := edited[i].picture)})
    several = _of_several(created, rows)
    for i in todo:
        fresh = created.get(i)
        if fresh is not None and not old[i] and fresh.origin is not None:
            out.new.append(_copy(fresh, shown, known, rows))
            continue
        # without extras, a material that shows another picture is not the one that its faces had
        if fresh is not None and (
            not old[i]
            or fresh.name.casefold() in several
            or (not fresh.stated and _differ(edited[i].picture, shown[old[i][0]].picture))
        ):
            where = Subject("material", names[i])
            out.new.append(new_material(fresh.name, where, edited[i], known.pictures))
            continue
        found = []
        for k in old[i]:
            row = rows[k] if k < len(rows) else names[i]
            name = fresh.name if fresh else "" if shown[k].own else row
            how = {"fresh": fresh is not None and not fresh.stated, "has_name": bool(fresh or row or shown[k].own)}
            one = _Comparison(names[i], edited[i], shown[k], known=known, created=name, **how)
            found.append((one.count, k, one))
        if found:
            _, k, best = min(found, key=lambda one: one[:2])
            best.tell(out.report)
            if best.edits:
                out.library[i], out.origins[i] = best.edits, k
            if fresh is not None or best.values:
                out.new.append(best.new_material(rows[k] if k < len(rows) else ""))
    out.new += [_copy(one, shown, known, rows) for i, one in created.items() if i not in todo]
    return out


def _copy(created: Created, shown: Sequence[Surface[ShownPicture]], known: _Known, rows: Sequence[str]) -> NewMaterial:
    """Return a material of which nothing is known but its name, and what it was."""
    where = Subject("material", created.name)
    if created.origin is None or created.origin >= len(rows):
        return NewMaterial(created.name, where)
    k = created.origin
    base = known.definition(shown[k]) if k < len(shown) else None
    return NewMaterial(created.name, where, like=rows[k], base=base, certain=True)


def _of_several(created: Mapping[int, Created], rows: Sequence[str]) -> set[str]:
    """Names of materials that no extras explain, on faces that had several: they are new."""
    origins: dict[str, set[str]] = {}
    for one in created.values():
        if not one.stated:
            k = len(rows) if one.origin is None else one.origin
            name = rows[k] if k < len(rows) else ""
            origins.setdefault(one.name.casefold(), set()).add(name)
    return {name for name, group in origins.items() if len(group) > 1}


@dataclass(frozen=True)
class _Known:
    """What was exported.

    Attributes:
        pictures: textures by the digest of their pixels.
        names: of the pictures that the file shows.
    """

    entries: dict[tuple[str, str], LibraryEntry]
    pictures: dict[str, LibraryEntry]
    names: set[str]

    @classmethod
    def of(cls, entries: Sequence[LibraryEntry], shown: Sequence[Surface[ShownPicture]], names: set[str]) -> _Known:
        """Look up the textures that stored materials showed."""
        known = {entry.key: entry for entry in entries}
        pictures = {
            one.picture.pixels: known[key]
            for one in shown
            if one.picture and (key := entry_key(TEXTURES, one.picture.name)) in known
        }
        return cls(known, pictures, {name.lower() for name in names})

    def definition(self, shown: Surface[ShownPicture]) -> LibraryEntry | None:
        """Return the entry of ``Material.lib`` that a stored material showed."""
        return self.entries.get(entry_key(MATERIALS, shown.definition))

    def repaints(self, new: FilePicture, old: ShownPicture) -> bool:
        """Whether a picture is a stored one painted over, not a copy that Blender made of it.

        Of ``wall.0`` and its copy ``wall.0.001`` Blender makes ``wall`` and ``wall.0``.
        """
        short = old.name.lower().rpartition(".")[0]
        copy = new.name.lower() == old.name.lower() and short in self.names - {""}
        return is_image(new.name, old.name) and not copy

    def ground(self, new: FilePicture, old: ShownPicture) -> LibraryEntry | None:
        """Return the texture that was painted over, of two that a stored picture shows, mixed."""
        names = old.name.split("+") if "+" in old.name else []
        found = (self.entries.get(entry_key(TEXTURES, name)) for name in names if is_image(new.name, name))
        return next((one for one in found if one is not None), None)


class _Comparison:
    """One material of a file and a stored one that it may be.

    ``created`` is the name of a new material that the differences belong to, ``fresh`` says that no
    extras explain it. Without ``has_name`` there is no material of the game that could change.
    """

    def __init__(
        self,
        name: str,
        edited: Surface[FilePicture],
        shown: Surface[ShownPicture],
        *,
        known: _Known,
        created: str,
        fresh: bool,
        has_name: bool,
    ) -> None:
        self.where = Subject("material", name)
        self.edits: list[LibraryEdit] = []
        self.values: dict[str, bytes] = {}
        self._created, self._fresh, self._what = created, fresh, list[str]()
        self._picture_made: NewPicture | None = None
        self._new, self._old, self._known = edited, shown, known
        self._rest: dict[_Reason, list[str]] = {}
        self._material = known.definition(shown)
        self._has_name = has_name
        self._compare_colours()
        for field_name, title in _FOREIGN.items():
            self._compare_foreign(field_name, title)
        self._compare_mode()
        if _differ(edited.picture, shown.picture):
            self._picture(edited.picture, shown.picture)
        else:
            self._cell(edited, shown)
        if _differ(edited.light, shown.light):
            self._light(edited.light, shown.light)
        elif edited.light is not None:
            follows = edited.picture is not None and shown.light == shown.picture
            if not edited.light_transform.near(edited.transform if follows else shown.light_transform):
                reason = LIGHT_FOLLOWS if follows else _LIGHT_FROM_ELSEWHERE
                self._reject("texture transform of the emission is another", reason)

    @property
    def count(self) -> int:
        """How many differences there are."""
        return len(self.edits) + len(self._what) + sum(map(len, self._rest.values()))

    def new_material(self, before: str) -> NewMaterial:
        """Return the material that has what differs; ``before``: the name that it had."""
        like = self._old.definition or before
        return NewMaterial(
            self._created,
            self.where,
            ", ".join(self._what),
            like=like,
            base=self._material,
            values=self.values,
            picture=self._picture_made,
            certain=True,
        )

    def tell(self, report: Report) -> None:
        """Report the differences that no library can hold, those of one reason in one."""
        for (why, instead), what in self._rest.items():
            report.skipped(self.where, ", ".join(what), why, instead)

    def _reject(self, what: str, reason: _Reason) -> None:
        self._rest.setdefault(reason, []).append(what)

    def _edit_material(self, what: str, name: str, value: bytes, picture: NewPicture | None = None) -> None:
        if self._created:
            self._what.append(what)
            self.values[name] = value
            self._picture_made = picture or self._picture_made
        elif self._material is None or not self._has_name:
            self._reject(what, _NO_LIBRARY if self._has_name else _NO_NAME)
        else:
            if f"{self._old.definition.lower()}+" in self.where.lower():  # two grounds, mixed
                what += OF_TWO.format(printable(self._material.name), "first")
            values = {name: value}
            edit = LibraryEdit(self._material, self.where, what, values, picture=picture)
            self.edits.append(edit)

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
        if self._fresh and name != "others" and (name == "double_sided" or unchosen(self._new)):
            return  # nobody chose it
        same = abs(new - old) <= _NOISE if isinstance(new, float) else new == old
        if not same:
            self._reject(f"{title} {_text(old)} became {_text(new)}", NO_SUCH_VALUE)

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
        if new is None:
            if self._created:
                self._edit_material("picture is gone", "texture", b"")
            else:
                self._reject("picture is gone", _PICTURE_KEPT)
            return
        key = entry_key(TEXTURES, old.name) if old else None
        entry = self._known.entries.get(key) if key else None
        other = self._known.pictures.get(new.pixels())
        before = f"picture {printable(old.name)} became" if old else "picture is"
        if other is not None and other.key != key:
            what = f"{before} {printable(other.name)}"
            self._edit_material(what, "texture", encode_name(other.name))
        elif old is not None and entry is None and (ground := self._known.ground(new, old)) is not None:
            self._edit_texture(ground, new)
        elif old is not None and entry is None:
            why = "it shows several textures, mixed" if "+" in old.name else _NO_LIBRARY[0]
            self._reject("picture is another", (why, _PICTURE_KEPT[1]))
        elif old is not None and entry is not None and self._known.repaints(new, old):
            self._edit_texture(entry, new)
        else:
            made, left = picture_of(new, self.where)
            for one in left:
                self._reject(one.what, (one.why, one.instead))
            if made is not None:
                what = f"{before} {printable(new.name)}, a new one"
                self._edit_material(what, "picture", made.digest.encode(), made)

    def _cell(self, new: Surface[FilePicture], old: Surface[ShownPicture]) -> None:
        """Compare the rectangle of the picture; other transforms are in the coordinates (``kinds.dispatch``)."""
        if new.transform.near(old.transform):
            return
        cell = cell_of(new.transform, old.picture, self._known.entries.values())
        if cell is not None:
            self._edit_material(f"shows rectangle {cell} of its picture", "cell", bytes([cell]))

    def _edit_texture(self, entry: LibraryEntry, new: FilePicture) -> None:
        try:
            rgba = new.rgba()
        except ConversionError as error:
            self._reject(f"picture {printable(entry.name)} is another", unreadable(error))
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
        reason = LIGHT_FOLLOWS if follows else _LIGHT_FROM_ELSEWHERE
        self._reject(f"emission picture is {what}", reason)


def _differ(new: FilePicture | None, old: ShownPicture | None) -> bool:
    if new is None or old is None:
        return (new is None) != (old is None)
    return not same_picture(new, old)


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


def own_materials(found: SurfaceEdits, wear: WearEdit, about: Description, rows: Sequence[int]) -> None:
    """Turn edits of the game's entries into new materials, and name these in the ``.wea``.

    Materials of one row that contradict each other stay edits, which are then reported. ``rows``: per stored material
    its row.
    """
    names, known = about.materials, {entry.key: entry for entry in about.library}
    groups: dict[int, list[int]] = {}
    for i, k in found.origins.items():
        if rows[k] < len(names) and rows[k] not in wear.names:
            groups.setdefault(rows[k], []).append(i)
    for row, group in groups.items():
        edits = [edit for i in group for edit in found.library[i]]
        base = known.get(entry_key(MATERIALS, about.shown[found.origins[group[0]]].definition))
        if base is None or not _agree(edits):
            continue
        values: dict[str, bytes] = {}
        picture = None
        for edit in edits:
            if edit.entry.library == TEXTURES:
                assert edit.rgba is not None
                digest = edit.values["pixels"]
                picture = NewPicture(edit.entry.name, digest.decode(), edit.rgba)
                values["picture"] = digest
            else:
                picture = edit.picture or picture
                values |= edit.values
        name = own_name(names[row], stem(about.source))
        what = ", ".join(dict.fromkeys(edit.what for edit in edits))
        where = edits[0].where
        found.new.append(NewMaterial(name, where, what, base.name, base, values, picture, certain=True))
        wear.names[row] = name
        wear.new_materials.append((name, names[row]))
        text = f"{in_words(names[row])} became {in_words(name)}, a copy for this model"
        wear.report.changed(f"row {row} of the .wea", text)
        for i in group:
            del found.library[i]


def own_name(name: str, model: str) -> str:
    """Return the name of a model's own copy of a material, as long as an entry's may be."""
    tail = encode_name(f"_{model}")[: NAME_SIZE // 2]
    return decode_text(encode_name(name)[: NAME_SIZE - 1 - len(tail)] + tail)


def _agree(edits: Sequence[LibraryEdit]) -> bool:
    values: dict[tuple[tuple[str, str], str], bytes] = {}
    pairs = ((edit.entry.key, name, value) for edit in edits for name, value in edit.values.items())
    return all(values.setdefault((key, name), value) == value for key, name, value in pairs)
