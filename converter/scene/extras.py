"""The schema of ``extras.msh``: what this project adds to the objects of a glTF file.

A class for each kind of object, a key for each value, with its type, range, meaning and readers;
the tables of ``docs/reference/gltf.md`` are made from them. Values are numbers and strings only:
Blender turns larger integers and lists with nulls into text, and loses keys of more than 63 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import isfinite
from typing import Annotated, Any, NamedTuple, TypedDict, TypeVar, get_args, get_type_hints

from ..errors import ConversionError
from ..formats.tables import GROUP_COUNT, LOD_COUNT

#: The one key of an object's ``extras`` under which all of this lies.
NAMESPACE = "msh"
#: Kinds of files by ``kind`` of scene 0.
_MODEL, _TERRAIN, _AREALS, _UNIT, _MISSION = "model", "terrain", "areal_map", "unit", "mission"
_PLACED = f"{_UNIT} {_MISSION}"
_PARTS, _GROUND = f"{_MODEL} {_PLACED}", f"{_TERRAIN} {_MISSION}"
_LEVELS, _ALL = f"{_MODEL} {_TERRAIN} {_PLACED}", f"{_MODEL} {_TERRAIN} {_AREALS} {_PLACED}"
_LOD, _GROUP, _WORD, _DWORD = LOD_COUNT - 1, GROUP_COUNT - 1, 0xFFFF, 0xFFFFFFFF
_LOW, _HIGH = -(2**31), 2**31


class Key(NamedTuple):
    """What is known of a key besides its name and type.

    Attributes:
        meaning: what its value says.
        files: the kinds of files that have it, separated by spaces.
        readers: packages that use it, separated by spaces; ``viewer`` is the gallery's JavaScript.
            Empty: it is for people and other tools.
        most: the largest value of an integer that readers rely on, the smallest being -1, "none".
            ``None``: not checked.
    """

    meaning: str
    files: str
    readers: str = ""
    most: int | None = None


class SourceExtras(TypedDict, total=False):
    """Keys of scene 0 that ``kinds`` gives: where the file comes from."""

    dialect: Annotated[str, Key("`spec` or `retail`", _MODEL, "kinds")]
    dialect_reason: Annotated[str, Key("how the dialect was found", _MODEL)]
    states: Annotated[str, Key("states of the controller, a line each (4)", _MODEL, "kinds")]
    ranges: Annotated[str, Key("frames that the controller plays in a row, a line each (4)", _MODEL, "edits")]
    range_clips: Annotated[
        str, Key("names of the animations that show a range of a clip, a line each", _PARTS, "scene")
    ]
    source: Annotated[str, Key("file name of the source", _ALL, "kinds")]
    digest: Annotated[str, Key("SHA-256 of the source", _ALL, "kinds")]
    pair: Annotated[str, Key("digest of what glTF and sidecar rest on", _ALL, "kinds")]
    sidecar: Annotated[str, Key("file name of the sidecar, if there is one", _ALL, "kinds")]


class SceneExtras(SourceExtras, total=False):
    """Keys of scene 0."""

    format: Annotated[int, Key("version of this schema, 1", _ALL)]
    kind: Annotated[str, Key("`model`, `terrain`, `areal_map`, `unit` or `mission`", _ALL, "kinds viewer")]
    fps: Annotated[float, Key("frames per second", _PARTS, "importers")]
    frame_count: Annotated[int, Key("length of the clip in frames", _PARTS, "edits game", _DWORD)]
    lod: Annotated[int, Key("row that is shown: the damage stage (`retail`)", _PARTS, "kinds viewer", _LOD)]
    group: Annotated[int, Key("column that is shown: the level of detail (`retail`)", _PARTS, "kinds viewer", _GROUP)]
    legacy: Annotated[int, Key("1 for a model of the old layout", _MODEL, "kinds")]
    cells_x: Annotated[int, Key("cells of the grid along x", _AREALS)]
    cells_y: Annotated[int, Key("cells of the grid along y", _AREALS)]
    map: Annotated[str, Key("path of the level, as in the file", _MISSION, "edits")]
    clans: Annotated[str, Key("names of the clans, a line each", _MISSION, "edits")]


class FileInfo(SceneExtras, total=False):
    """What a file states of itself: extras of scene 0, or the header line of an OBJ.

    Only an OBJ has ``up`` (its axis, ``y`` or ``z``), ``frame`` (of its pose) and ``lost`` (what of
    the model it does not hold).
    """

    up: str
    frame: float
    lost: str


_ClassKey = TypedDict(  # ``class`` is a word of Python
    "_ClassKey", {"class": Annotated[int, Key("class of the component", _PLACED, "edits")]}, total=False
)


class NodeExtras(_ClassKey, total=False):
    """Keys of a node."""

    node: Annotated[int, Key("row of the node, or of the node of a part", _PARTS, "edits game viewer", _WORD)]
    flags: Annotated[int, Key("flags of the node, or of the control point", _PARTS, "edits viewer", _DWORD)]
    label: Annotated[
        str, Key("socket label of the node (`retail`), unless empty; name of the component", _PARTS, "edits")
    ]
    fps: Annotated[float, Key("as of scene 0, on animated nodes (1)", _PARTS, "importers")]
    frame_count: Annotated[int, Key("as of scene 0, on animated nodes (1)", _PARTS, "edits", _DWORD)]
    lod: Annotated[int, Key("row of a part: its damage stage (`retail`)", _PARTS, "edits viewer", _LOD)]
    group: Annotated[int, Key("column of a part: its level of detail (`retail`)", _PARTS, "edits viewer", _GROUP)]
    tri_flags: Annotated[int, Key("flags of all triangles of its part, unless 0 (3)", _PARTS, "importers")]
    kind: Annotated[
        str,
        Key(
            "`point`: control point; `paths`, `borders`, `route`: lines; `unit`, `component`, "
            "`object`, `zone`, `lode`: what it is",
            _ALL,
            "scene edits",
        ),
    ]
    point: Annotated[int, Key("row of the control point", _PARTS, "scene")]
    direction: Annotated[str, Key("of the control point: three numbers as text, the game's axes", _PARTS)]
    index: Annotated[int, Key("row of the control point, component, object, route, zone or lode", _PARTS, "edits")]
    length: Annotated[float, Key("length of the control point's direction", _PARTS, "edits")]
    node2: Annotated[int, Key("second node of the control point", _PARTS, "edits")]
    level: Annotated[int, Key("0 fine, 1 coarse", _GROUND, "edits", _WORD)]
    class_id: Annotated[int, Key("class of the areals", _AREALS, "edits")]
    type: Annotated[int, Key("class word of the unit; type of the lode", _PLACED, "edits")]
    key: Annotated[str, Key("object key of the component", _PLACED, "edits")]
    attach: Annotated[int, Key("node or slot that the component is on, -1 = none", _PLACED, "edits")]
    object_kind: Annotated[int, Key("0 building, 1 unit, 2 vegetation, 3 rock", _MISSION, "edits", _DWORD)]
    path: Annotated[str, Key("`.dat` or object key of the object", _MISSION, "edits")]
    clan: Annotated[int, Key("row of the clan; any word on scenery without one", _MISSION, "edits", _DWORD)]
    logical_id: Annotated[int, Key("number of the object, -1 = none", _MISSION, "edits")]
    start: Annotated[int, Key("start flag of the object", _MISSION, "edits")]
    host: Annotated[int, Key("`logical_id` of the building that it starts in", _MISSION, "edits")]
    vertex: Annotated[int, Key("point of that building's path graph", _MISSION, "edits")]
    hosted: Annotated[int, Key("1: it stands at that point", _MISSION)]
    states: Annotated[str, Key("states of the controller of the model that it places (4)", _PLACED)]
    ranges: Annotated[str, Key("frames that this controller plays in a row (4)", _PLACED)]
    properties: Annotated[dict[str, float | int | str], Key("properties of the object by name", _MISSION, "edits")]
    route: Annotated[int, Key("number of the route", _MISSION, "edits")]
    inner: Annotated[float, Key("inner radius of the zone", _MISSION, "edits")]
    amount: Annotated[float, Key("amount of the lode", _MISSION, "edits")]
    found: Annotated[int, Key("whether the lode is found", _MISSION, "edits")]


class MeshExtras(TypedDict, total=False):
    """Keys of a mesh."""

    slot: Annotated[int, Key("row of the slot", _PARTS, "importers", _WORD)]
    lod: Annotated[int, Key("row of the slot's first use", _PARTS, "importers", _LOD)]
    group: Annotated[int, Key("column of the slot's first use", _PARTS, "importers", _GROUP)]
    level: Annotated[int, Key("0 fine, 1 coarse", _GROUND)]


class MaterialExtras(TypedDict, total=False):
    """Keys of a material."""

    row: Annotated[int, Key("row in the WEAR", _PARTS, "importers", _WORD)]
    lightmap: Annotated[int, Key("row of the lightmap, 255 = none", _PARTS, "importers", _WORD)]
    batch_flags: Annotated[int, Key("flags of its batches", _PARTS, "importers", _DWORD)]
    w2: Annotated[int, Key("word of its batches at +2", _PARTS, "importers", _WORD)]
    w4: Annotated[int, Key("word of its batches at +4", _PARTS, "importers", _WORD)]
    w6: Annotated[int, Key("word of its batches at +6", _PARTS, "importers", _WORD)]
    first: Annotated[int, Key("row in `Land1.wea`", _GROUND, "edits", _WORD)]
    second: Annotated[int, Key("the other row, 255 = none", _GROUND, "edits", _WORD)]
    tri_flags: Annotated[int, Key("flags of the triangles that have it (3)", _PARTS, "importers")]
    microtexture: Annotated[str, Key("name of the first row's microtexture", _GROUND, "kinds")]
    microtexture2: Annotated[str, Key("name of the second row's microtexture", _GROUND, "kinds")]
    material: Annotated[str, Key("entry of `Material.lib` (2)", _LEVELS, "edits")]
    phases: Annotated[int, Key("number of its phases; the first is shown (2)", _LEVELS)]
    additive: Annotated[int, Key("1 if it is added to what is behind it (2)", _LEVELS, "viewer")]
    animation: Annotated[str, Key("all phases as JSON, if there are several (2)", _LEVELS)]
    cell: Annotated[int, Key("rectangle of the texture's `Page`, if any (2)", _LEVELS)]
    rectangle: Annotated[str, Key("offset and scale of that rectangle (`KHR_texture_transform`) (2)", _LEVELS, "kinds")]
    light: Annotated[str, Key("name of the lightmap, if it is shown (2)", _PARTS)]
    class_id: Annotated[int, Key("class of the areals", _AREALS, "edits")]


class BufferExtras(TypedDict, total=False):
    """Keys of the buffer of a ``.gltf``."""

    digest: Annotated[str, Key("SHA-256 of the buffer", _ALL, "importers")]


#: Kinds of glTF objects, by the name of their list in a document.
OBJECTS = {
    "scenes": SceneExtras,
    "nodes": NodeExtras,
    "meshes": MeshExtras,
    "materials": MaterialExtras,
    "buffers": BufferExtras,
}
_E = TypeVar("_E", FileInfo, NodeExtras, MeshExtras, MaterialExtras)


def schema(kind: type) -> Iterator[tuple[str, type, Key]]:
    """Yield name, type and description of every key of a class of this module."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        yield name, *get_args(hint)


def to_extras(values: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return a glTF object's ``extras`` with values of the schema.

    Integers beyond int32 become hexadecimal text, since they would not survive Blender.
    """
    return {
        NAMESPACE: {
            key: f"{value:#x}" if isinstance(value, int) and not _LOW <= value < _HIGH else value
            for key, value in values.items()
        }
    }


def raw_extras(extras: object) -> dict[str, Any]:
    """Return what lies under ``extras.msh``, unchecked; empty if there is nothing."""
    values = extras.get(NAMESPACE) if isinstance(extras, dict) else None
    return values if isinstance(values, dict) else {}


def read_extras(kind: type[_E], extras: object) -> _E:
    """Return the ``extras.msh`` of a glTF object, its integers as such; unknown keys stay.

    Whatever the kind of object, a key that is checked on one of them is checked.

    Args:
        kind: the class of this module that its keys belong to.
        extras: the object's ``extras``: any JSON.

    Raises ConversionError: a value is not of its key's type, or out of range.
    """
    values = raw_extras(extras)
    limits, plain, floats, texts = _checks()
    numbers = {key: _number(values[key]) for key in limits.keys() & values.keys()}
    for key, number in numbers.items():
        if number is None or not -1 <= number <= limits[key]:
            raise _not_valid(key, values[key], f"an integer from -1 to {limits[key]}")
    for key in floats & values.keys():
        if not isinstance(values[key], int | float) or not isfinite(values[key]):
            raise _not_valid(key, values[key], "a number")
    for key in texts & values.keys():
        if not isinstance(values[key], str):
            raise _not_valid(key, values[key], "a text")
    for key in (plain & values.keys()) - _OF_READERS:
        if values[key] is None or isinstance(values[key], list | dict):
            raise _not_valid(key, values[key], "an integer")
    if values.get("dialect", "spec") not in ("spec", "retail"):
        raise _not_valid("dialect", values["dialect"], "spec or retail")
    return kind(**{**values, **numbers})


#: Integers of which their readers say what another value does: a copy has no ``index``, flags are not applied.
_OF_READERS = frozenset({"index", "tri_flags"})


def _not_valid(key: str, value: object, expected: str) -> ConversionError:
    problem = f"custom property {key} of extras.{NAMESPACE} is not valid"
    hint = "give it back its value, or remove the property"
    return ConversionError(problem, value=value, expected=expected, hint=hint)


def typed_extras(extras: object) -> dict[str, Any]:
    """Return what stands beside ``extras.msh`` of a node under a key of the schema, unchecked."""
    own = extras if isinstance(extras, dict) else {}
    return {key: value for key, value in own.items() if key in _node_keys()}


@cache
def _node_keys() -> frozenset[str]:
    return frozenset(name for name, _, _ in schema(NodeExtras))


@cache
def _checks() -> tuple[dict[str, int], frozenset[str], frozenset[str], frozenset[str]]:
    """The range of every integer that readers rely on, the other integers, every float, and every text."""
    keys = [row for kind in OBJECTS.values() for row in schema(kind)]
    numbers = {name: key.most for name, _, key in keys if key.most is not None}
    plain, floats, texts = (frozenset(name for name, form, _ in keys if form is f) for f in (int, float, str))
    return numbers, plain, floats, texts


def _number(value: object) -> int | None:
    """An integer that may have become hexadecimal text or a float on its way."""
    try:
        return int(value, 16) if isinstance(value, str) else int(value) if isinstance(value, int | float) else None
    except (ValueError, OverflowError):
        return None
