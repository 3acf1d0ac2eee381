"""What two sides show differently, and why the game cannot show it, where that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import printable
from ..findings import Kind
from .shown import ways

#: What a result may have no table for (``Shown.lacks``): why, and what to do.
LACKS = {
    "name": ("the model has no table of node names (Res9)", "rebuild it with --no-sidecar, which writes one"),
    "label": ("the model has no table of labels (Res10)", "remove the custom property label, or rename the node"),
    "tri_flags": ("the model has no Res7, which holds them", "rebuild the model with --no-sidecar"),
    "vertex colours": ("the file of the game has no table for them", "use the colour or the picture of a material"),
}
#: How far stored coordinates go, by kind, and what to do.
MOST = {"texture coordinates": 32, "lightmap coordinates": 64}
TOO_FAR = ("a stored one has 16 bits, -32 to 32", "repeat the texture less often on these faces, or cut them")
_KEYS_ALONE = ("the keys alone say where an animated node stands", "move its keys")


@dataclass(frozen=True)
class Difference:
    """What the two sides show differently.

    Attributes:
        where: the thing, as reports call it.
        kind: what of it.
        what: in the file and in the result, for the user.
        names: any of them in a line of the report names the thing.
        amount: how much: a distance beyond what rounding may move it, or a number of triangles.
        moving: whether it is about where something is that a clip moves.
        cell: that of a part, as reports call it.
        reason: why the result cannot show it, and what to do, where that is known.
    """

    where: str
    kind: Kind
    what: str
    names: frozenset[str]
    amount: float = 0.0
    moving: bool = False
    cell: str = ""
    reason: tuple[str, str] | None = None


#: A file without any material.
NO_MATERIALS = Difference(
    "materials",
    "materials",
    "are not in the file",
    frozenset({"materials"}),
    reason=(
        "Materials is set to No export or Placeholder in Blender's glTF exporter: what was exported keeps its own",
        "set Materials to Export, and export again",
    ),
)

#: Vertex colours that are nowhere in the game.
COLOURS_LOST = Difference(
    "vertex colours", "vertex colours", "are in the file", frozenset({"vertex colours"}), reason=LACKS["vertex colours"]
)


def still_elsewhere(name: str, how: Sequence[str]) -> Difference:
    """Return that a node which a clip moves stands elsewhere by itself; ``how``: moved, turned."""
    what = f"is {' and '.join(how)}, but its animation is not"
    names = frozenset(one.casefold() for one in (name, *ways(name)) if one)
    return Difference(f"node {printable(name)!r}", "place", what, names, reason=_KEYS_ALONE)
