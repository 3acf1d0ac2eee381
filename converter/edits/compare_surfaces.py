"""Compare what materials show with what they showed when they were exported.

Colours and pictures are the game's, in ``Material.lib`` and ``Textures.lib``: a file cannot change
them, so each difference is reported. Measured with Blender 4.2, 5.0 and 5.2: an untouched material
comes back with the same pictures, byte for byte, and numbers within 3e-8.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import printable
from ..formats.names import without_number
from ..formats.surface import FilePicture, ShownPicture, Surface
from ..scene.differences import NotApplied
from ..scene.scene import Material

#: A quarter of the smallest step of a stored colour, 1/255.
_NOISE = 1e-3
#: Of a sidecar that does not record what materials showed: 0.1 made such, and so does an OBJ.
UNRECORDED = (
    "colours and pictures of materials are not compared: the sidecar does not record them (convert "
    "the model again)"
)
#: Attributes that are compared as they are, and their names for people.
_PLAIN = {"alpha_mode": "alpha mode", "double_sided": "back faces", "others": "extensions"}
_FACTORS = {
    "colour": "colour", "emission": "emission", "metallic": "metallic", "roughness": "roughness"
}  # fmt: skip


def compare_surfaces(
    names: Sequence[str],
    edited: Sequence[Surface[FilePicture]],
    shown: Sequence[Surface[ShownPicture]],
    choices: Sequence[set[int]],
    *,
    used: set[int],
) -> list[NotApplied]:
    """Return every difference of the materials of a file.

    Args:
        names: of the file's materials.
        edited: what they show.
        shown: what the stored materials showed.
        choices: per material of the file the stored ones that it may be.
        used: materials of the file that faces have.
    """
    rows = sorted(used & set(range(len(edited))))
    old = {i: [shown[k] for k in choices[i] if k < len(shown)] for i in rows}
    had = {i for i in rows if any(one.picture or one.light for one in old[i])}
    out = []
    if had and not any(edited[i].picture or edited[i].light for i in rows):
        # Blender writes other colours, too, for materials whose pictures it leaves out
        rows = [i for i in rows if i not in had]
        out.append(
            NotApplied(
                where="pictures",
                what="are not in the file",
                why="Images is set to None, or Materials to Viewport, in Blender's glTF exporter, "
                "or Blender did not find them when it opened the file",
                instead="set Images to Automatic and Materials to Export, and export again",
            )
        )
    for i in rows:
        found = [differences(edited[i], one) for one in old[i]]
        what = min(found, key=len, default=[])
        if what:
            out.append(
                NotApplied(
                    where=f"material {printable(names[i])!r}",
                    what=", ".join(what),
                    why="colours and pictures of materials are not read back",
                    instead="edit the game's Material.lib and Textures.lib (docs/looks.md)",
                )
            )
    return out


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


def differences(edited: Surface[FilePicture], shown: Surface[ShownPicture]) -> list[str]:
    """Return what differs, in words."""
    out = []
    for name, title in _FACTORS.items():
        new, old = _values(edited, name), _values(shown, name)
        if not all(abs(a - b) <= _NOISE for a, b in zip(new, old, strict=True)):
            out.append(f"{title} {_text(old)} became {_text(new)}")
    for name, title in _PLAIN.items():
        new, old = getattr(edited, name), getattr(shown, name)
        if new != old:
            out.append(f"{title} {_text(old)} became {_text(new)}")
    for new_picture, old_picture, title in (
        (edited.picture, shown.picture, "picture"),
        (edited.light, shown.light, "emission picture"),
    ):
        if (new_picture is None) != (old_picture is None):
            out.append(f"{title} is {'gone' if new_picture is None else 'new'}")
        elif new_picture and old_picture and not _same(new_picture, old_picture):
            out.append(f"{title} is another")
    return out


def _values(surface: Surface[FilePicture] | Surface[ShownPicture], name: str) -> tuple[float, ...]:
    """A factor's numbers; alpha only where it is used."""
    value = getattr(surface, name)
    if name == "colour" and surface.alpha_mode == "OPAQUE":
        value = (*value[:3], 1.0)
    return value if isinstance(value, tuple) else (value,)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        texts = [f"{v:.3g}" if isinstance(v, float) else printable(str(v)) for v in value]
        return " ".join(texts) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return printable(str(value))


def _same(new: FilePicture, old: ShownPicture) -> bool:
    """Whether a picture is the one that was exported: the same file, else the same pixels."""
    if old.uri and new.uri == old.uri:
        return True  # a file that models share
    return bool(old.digest and new.digest() == old.digest) or new.pixels() == old.pixels
