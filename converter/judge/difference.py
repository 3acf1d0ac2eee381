"""What two sides show differently, why the game cannot show it, and lines for what no line of a report explains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..errors import called, in_words, plural, printable
from ..findings import Explained, Explains, Kind, NotApplied, Report
from ..scene.dialect import part_key, read_part_name
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
    return Difference(f"node {called(name)}", "place", what, names, reason=_KEYS_ALONE)


#: Lines that a report gets at most.
MOST_LINES = 20
#: The reason of each line of the judge.
JUDGED = "no line of this report says why"
_INSTEAD = "make the edit in another way; what is not meant, undo"
_LOOKS: tuple[Kind, ...] = ("materials", "flags of materials", "look")
_MOTION: tuple[Kind, ...] = ("clip", "place", "turn")
_MESH: tuple[Kind, ...] = ("normals", "texture coordinates", "lightmap coordinates", "vertex colours")
#: What a line is about that begins so, unless it says it; others are about all of their object.
_FIRST_WORDS: dict[str, tuple[Kind, ...]] = {
    "animation": _MOTION,
    "animations": _MOTION,
    "material": _LOOKS,
    "materials": _LOOKS,
    "node": ("node", "name", "fact", "place", "turn", "triangles"),
    "part": ("place", "turn", "triangles", *_MESH, "materials", "flags of materials"),
    "picture": _LOOKS,
    "pictures": _LOOKS,
}
_CELL = re.compile(r"lod \d+ group \d+|stage \d+ (view|level \d+)")


def explanation(difference: Difference, report: Report) -> str | None:
    """Return what explains a difference: a line of the report that is about its thing, kind and amount."""
    for one in report.concerned:
        if _called(one.name) & difference.names and _fits(one, one.kinds, difference):
            return f"a warning about {in_words(one.name)}"
    for line in report.not_applied:
        kinds = line.explains.kinds or _FIRST_WORDS.get(line.where.partition(" ")[0])
        if _fits(line.explains, kinds, difference) and _is_about(line, difference):
            return str(line)
    return None


@lru_cache(maxsize=4096)
def _called(name: str) -> set[str]:
    """A name, and of a part what tells it from all others: objects state their cell in the terms of either dialect."""
    part = read_part_name(name)
    return {name.casefold()} | ({part_key(part.node, part.lod, part.group).casefold()} if part is not None else set())


def _fits(one: Explains, kinds: Sequence[Kind] | None, difference: Difference) -> bool:
    return (not kinds or difference.kind in kinds) and difference.amount <= one.most


def _is_about(line: NotApplied, difference: Difference) -> bool:
    if line.where.startswith("animation") and difference.moving:
        return True
    cell = _CELL.search(line.where)
    if cell is not None and difference.cell not in ("", cell.group()):
        return False
    names = {printable(name) or called(name) for name in difference.names}
    text = f"{line.where} {line.what} {line.why}"  # not what to do instead: that names other things, too
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\.?\w)", text, re.IGNORECASE) for name in names)


def tell(report: Report, differences: Sequence[Difference]) -> None:
    """Add a line for each difference that nothing explains, the largest first; note what explains the others."""
    why = [explanation(one, report) for one in differences]
    report.judged = [Explained(f"{d.where} {d.what}", line or "") for d, line in zip(differences, why, strict=True)]
    report.judged += [Explained("", str(one)) for one in report.not_applied if str(one) not in why]
    left = [one for one, line in zip(differences, why, strict=True) if line is None]
    left.sort(key=lambda one: -one.amount)
    lines: dict[tuple[str, tuple[str, str]], list[Difference]] = {}
    for one in left:
        lines.setdefault((one.where, one.reason or (JUDGED, _INSTEAD)), []).append(one)
    shown = [*lines.items()]
    if len(shown) > MOST_LINES:
        shown = shown[: MOST_LINES - 1]
    for (where, reason), found in shown:
        what = ", ".join(dict.fromkeys(one.what for one in found))
        report.skipped(where, what, *reason)
    if len(lines) > len(shown):
        rest = plural(len(lines) - len(shown), "other place")
        report.skipped(rest, "show something else in the game than in the file", JUDGED, _INSTEAD)
