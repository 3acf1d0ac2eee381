"""Edits of a model that are not applied, and what an exporter leaves out: each is named, and nothing else is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.formats.wear import read_wear_names
from tests.converter.edits.materials import assign
from tests.support.corpus import DATA, LIBS, SAMPLES, sample_called
from tests.support.gltf_edit import Editable, reverse_nodes
from tests.support.recorded import Case

#: Models with lightmaps, with a path graph, and of 24-byte nodes.
ROBOT, ROOM, LEGACY = "retail__system__R_H_002", "retail__static__i_room_006", "retail__system__MTCHECK"
ROCK = "retail__odd__s_rock_009"
BUNDLED = [sample.id for sample in SAMPLES if sample.path.parent == DATA and not sample.truth["legacy"]]
MODELS = [sample for sample in SAMPLES if "MTCHECK" not in sample.id]
Json = dict[str, Any]


def turned(values: np.ndarray) -> np.ndarray:
    """Game axes instead of those of glTF."""
    out = values.copy()
    out[..., 1], out[..., 2] = -values[..., 2], values[..., 1]
    return out


def without(d: Editable, attribute: str, meshes: int | None = None) -> None:
    """Take an attribute from all meshes, or from the first ones."""
    drawn = [mesh for mesh in d.json["meshes"] if mesh["primitives"][0].get("mode", 4) == 4]
    for primitive in (p for mesh in drawn[:meshes] for p in mesh["primitives"]):
        primitive["attributes"].pop(attribute, None)


def nodes_alone_z_up(d: Editable) -> None:
    """Where the meshes are symmetric, only the places of the nodes tell."""
    for node in d.json["nodes"]:
        for path in {"translation", "rotation"} & node.keys():
            node[path] = turned(np.array(node[path])).tolist()
    for clip in d.json.get("animations", []):
        for accessor in {sampler["output"] for sampler in clip["samplers"]}:
            d.arrays[accessor] = turned(d.arrays[accessor])


def z_up(d: Editable) -> None:
    """What Blender writes with +Y Up off: its own coordinates."""
    nodes_alone_z_up(d)
    streams = [stream for p in d.primitives() for stream in p["attributes"].items()]
    for accessor in {accessor for name, accessor in streams if name in ("POSITION", "NORMAL")}:
        d.arrays[accessor] = turned(d.arrays[accessor])


def without_normals(d: Editable, edited: str) -> None:
    """Faces whose corners were moved are flat; those of which only texture coordinates changed keep their normals."""
    without(d, "NORMAL")
    d.arrays[d.primitives()[0]["attributes"][edited]][0] += 0.25


def far_texture(d: Editable) -> None:
    """One face of a part is far away in its texture; the others keep their words."""
    primitive = d.primitives()[0]
    index, attributes = d.arrays[primitive["indices"]].copy(), primitive["attributes"]
    corners = index[3:6, 0].copy()
    index[3:6, 0] = len(d.arrays[attributes["POSITION"]]) + np.arange(3)
    for name, accessor in attributes.items():
        array = d.arrays[accessor]
        more = array[corners] + (np.float32([500, 0]) if name == "TEXCOORD_0" else array.dtype.type(0))
        attributes[name] = d.add(np.concatenate([array, more]))
    primitive["indices"] = d.add(index)


def normals_turned(d: Editable, degrees: float) -> None:
    """Blender turns normals by up to 0.36 degrees; a step of a stored one is 0.45."""
    for primitive in d.primitives():
        normals = d.arrays[primitive["attributes"]["NORMAL"]].astype(np.float64)
        side = np.cross(normals, [0.3, 0.5, 0.8])
        normals += np.tan(np.radians(degrees)) * side / np.linalg.norm(side, axis=1, keepdims=True)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        primitive["attributes"]["NORMAL"] = d.add(normals.astype(np.float32))


def foot(d: Editable, **values: Any) -> None:
    """Values of a node; without a value it goes."""
    node = d.node("foot_m3o2")
    for key, value in values.items():
        node[key] = value
        if value is None:
            del node[key]


def draco(d: Editable) -> None:
    """Compressed as Blender does it, which moves every vertex."""
    packer = pytest.importorskip("DracoPy", reason="DracoPy is not installed")
    primitive = d.primitives()[0]
    points, faces = primitive["attributes"]["POSITION"], d.arrays[primitive["indices"]].reshape(-1, 3)
    packed = packer.encode(d.arrays[points], faces=faces.astype(np.uint32), quantization_bits=14)
    view = d.add(np.frombuffer(packed, np.uint8)[:, None])  # one view for each accessor
    extension = {"bufferView": view, "attributes": {"POSITION": 0}}
    primitive |= {"attributes": {"POSITION": points}, "extensions": {"KHR_draco_mesh_compression": extension}}


def portals(d: Editable, *, numbered: bool) -> None:
    """Where they lead is said by number; without extras of the nodes nobody knows whether it is the same node."""
    reverse_nodes(d)
    for node in () if numbered else d.json["nodes"]:
        node.pop("extras", None)


def by_row_and_column(d: Editable, *, extras: bool) -> None:
    """Older versions called cells so in both dialects; without extras the names alone say which part is which."""
    nodes, by_row = d.json["nodes"], {}
    for node in nodes:
        about = node["extras"]["msh"]
        if "lod" in about:
            by_row[node["name"]] = f"{nodes[about['node']]['name']}.lod{about['lod']}.group{about['group']}"
    for node in nodes:
        node["name"] = by_row.get(node["name"], node["name"])
    for mesh in d.json["meshes"]:
        mesh["name"] = by_row.get(mesh["name"], f"{mesh['name']}.lod0.group0")
    for thing in () if extras else [*nodes, *d.json["meshes"]]:
        del thing["extras"]


def renamed_in_an_older_export(d: Editable) -> None:
    """The mesh says which node it was."""
    gun = d.node("gun")
    mesh = d.json["meshes"][gun["mesh"]]
    mesh["name"], gun["name"] = "gun.lod0.group0", "cannon"
    del mesh["extras"], gun["extras"]


def like_a_point(d: Editable) -> None:
    """A node of the model that is called like a control point: it stays one."""
    next(n for n in d.json["nodes"] if "mesh" not in n)["name"] = "socket.point"


def flattened(d: Editable) -> None:
    for node in d.json["nodes"]:
        node.pop("children", None)
    d.json["scenes"][0]["nodes"] = [*range(len(d.json["nodes"]))]


def part_on_purpose(d: Editable) -> None:
    accessor = d.primitives()[0]["attributes"]["POSITION"]
    d.arrays[accessor] = turned(d.arrays[accessor])


def no_materials(d: Editable) -> None:
    del d.json["materials"]
    for primitive in d.primitives():
        primitive.pop("material", None)


def renamed(d: Editable) -> None:
    d.json["materials"][d.primitives()[0]["material"]]["name"] = "rust"


def new_faces(d: Editable) -> None:
    """They have the usual material of their part where theirs is not known."""
    mesh = d.json["meshes"][d.json["nodes"][0]["mesh"]]
    primitive = mesh["primitives"][0]
    moved = d.add(d.arrays[primitive["attributes"]["POSITION"]] + np.float32(0.25))
    attributes = primitive["attributes"] | {"POSITION": moved}
    mesh["primitives"].append(primitive | {"attributes": attributes})
    assign(d, "red", len(mesh["primitives"]) - 1)


def looks(edit: Callable[[Json], object]) -> Callable[[Editable], None]:
    """An edit of all materials of one name, which has a picture where any has: without extras any of them would do."""

    def edit_all(d: Editable) -> None:
        used = [d.json["materials"][p["material"]] for p in d.primitives()]
        used.sort(key=lambda m: "baseColorTexture" not in m["pbrMetallicRoughness"])
        for material in d.json["materials"]:
            if material["name"] == used[0]["name"]:
                edit(material)

    return edit_all


def row_of_its_own(d: Editable) -> None:
    """One of two materials of a row is called otherwise."""
    first, *others = (d.json["materials"][p["material"]] for p in d.primitives())
    row = first["extras"]["msh"]["row"]
    next(m for m in others if m["extras"]["msh"]["row"] == row and m is not first)["name"] = "rust"


def after_its_node(d: Editable) -> None:
    """Who renames a node need not rename its parts; one that is moved to another cell by its name moves."""
    part = d.node("Wheel_c_m1o1.level1")
    part["name"] = "Wheel_c_m1o1.stage2.level1"
    d.json["nodes"][part["extras"]["msh"]["node"]]["name"] = "another"


LOOKS: dict[str, Callable[[Json], object]] = {
    "colour": lambda m: m["pbrMetallicRoughness"].update(baseColorFactor=[0.25, 0.5, 0.75, 1]),
    "emission": lambda m: m.update(emissiveFactor=[0.25, 0.5, 0.75]),
    "alpha mode": lambda m: m.update(alphaMode="MASK"),
    "back faces": lambda m: m.update(doubleSided=False),
    "metal": lambda m: m["pbrMetallicRoughness"].update(metallicFactor=1, roughnessFactor=0.25),
    "unlit": lambda m: m.update(extensions={"KHR_materials_unlit": {}}),
}
#: What the sidecars of version 0.1 kept of a .wea: nothing.
OLD: dict[str, Any] = {"companions": {}}
SPARE = [*read_wear_names(sample_called(ROBOT).path.with_suffix(".wea").read_bytes()), "SPARE"]
PLAIN, PICTURES, UNWRITTEN = ("--no-textures",), ("--textures", LIBS), {"libraries": False}
#: Names that the game cannot have.
NAMES = {"日本": "not CP1251", "Ж" * 60: "too long", "a\0b": "with a NUL", "": "empty", None: "none"}
CASES = {
    **{f"normals turned by {by}": Case(lambda d, by=by: normals_turned(d, by), ROCK) for by in (0.05, 0.4, 0.6)},
    # Blender drops triangles without area; what is put back must not lie where the part was
    **{
        f"{name} mirrored": Case(
            lambda d, name=name: d.node(name).update(scale=[-1, -1, -1]), "spec__odd__Gen_stat_011"
        )
        for name in ("mast_c_m2o1", "Base_TM", "roof_m4o2")
    },
    "a rotation of the other sign": Case(
        lambda d: foot(d, rotation=[-c for c in d.node("foot_m3o2")["rotation"]]), ROCK
    ),
    **{f"a name, {what}": Case(lambda d, name=name: foot(d, name=name), ROCK) for name, what in NAMES.items()},
    "a label, not CP1251": Case(lambda d: d.json["nodes"][1]["extras"]["msh"].update(label="日本"), ROBOT),
    **{
        f"cells by row and column{', no extras' * (not kept)}": Case(
            lambda d, kept=kept: by_row_and_column(d, extras=kept)
        )
        for kept in (True, False)
    },
    "renamed in an older export": Case(renamed_in_an_older_export),
    # parts are called by row and column, which nobody does who means a level of detail
    "spec taken for retail, alone, no extras": Case(
        lambda d: None, "spec__odd__B_PLANT_008", alone=True, extras=False, options={"dialect": "retail"}
    ),
    "called like a point": Case(like_a_point, ROBOT),
    "called like a point, alone": Case(like_a_point, ROBOT, alone=True),
    "legacy, a vertex moved": Case(lambda d: without_normals(d, "POSITION"), LEGACY),
    **{
        f"portals{', no numbers' * (not numbered)}, alone": Case(
            lambda d, n=numbered: portals(d, numbered=n), ROOM, alone=True, options={"dialect": "retail"}
        )
        for numbered in (True, False)
    },
    **{f"{name}, new levels": Case(lambda d: None, name, options={"lod_ratios": (0.5, 0.25)}) for name in BUNDLED},
    "new levels beside stored ones, alone": Case(
        lambda d: None, "mixed__odd__s_rock_057", alone=True, options={"lod_ratios": (0.5,)}
    ),
    # turned by 90 degrees, which is refused whatever the model
    **{
        f"{sample.id}, z up{', no extras' * (not extras)}": Case(z_up, sample.id, extras=extras)
        for sample in SAMPLES
        if sample.path.parent == DATA and sample.id != LEGACY
        for extras in (True, False)
    },
    "Draco": Case(draco, ROCK, ("--no-textures",)),
    "z up, nodes alone": Case(nodes_alone_z_up, ROBOT),
    "flattened": Case(flattened, ROBOT),
    "a part turned on purpose": Case(part_on_purpose, ROBOT),
    "no texture coordinates": Case(lambda d: without(d, "TEXCOORD_0"), ROBOT),
    "no lightmap coordinates": Case(lambda d: without(d, "TEXCOORD_1"), ROBOT),
    "no lightmap coordinates in 2 meshes": Case(lambda d: without(d, "TEXCOORD_1", 2), ROBOT),
    "no normals": Case(lambda d: without(d, "NORMAL"), ROBOT),
    **{
        f"no normals in {count} meshes{', alone' * alone}": Case(
            lambda d, count=count: without(d, "NORMAL", count), ROOM, alone=alone
        )
        for count in (1, 5, 6)
        for alone in (False, True)
    },
    **{
        f"no normals, {name} edited": Case(lambda d, name=name: without_normals(d, name), ROBOT)
        for name in ("POSITION", "TEXCOORD_0")
    },
    "a face far away in its texture": Case(far_texture, ROOM),
    "a new material, version 0.1": Case(lambda d: assign(d, "red"), ROBOT, PLAIN, sidecar=OLD),
    "a material renamed, version 0.1": Case(lambda d: (renamed(d), assign(d, "gold", 1)), ROBOT, PLAIN, sidecar=OLD),
    "a material renamed, version 0.1, no extras": Case(renamed, ROBOT, PLAIN, extras=False, sidecar=OLD),
    "new faces of a new material, version 0.1": Case(new_faces, ROBOT, PLAIN, sidecar=OLD),
    "a row that no face had": Case(
        lambda d: (d.json["scenes"][0].pop("extras"), assign(d, "SPARE.001")),
        ROBOT,
        PLAIN,
        sidecar={"materials": SPARE},
    ),
    "faces without a material": Case(lambda d: d.primitives()[0].pop("material"), ROBOT, PLAIN),
    "no materials": Case(no_materials, ROBOT, PLAIN),
    **{
        f"{name}{', no extras' * bare}": Case(
            looks(edit), ROBOT, PICTURES, extras=not bare, options={"libraries": False}
        )
        for name, edit in (LOOKS | {"no picture": lambda m: m["pbrMetallicRoughness"].pop("baseColorTexture")}).items()
        for bare in (False, True)
    },
    **{f"{name}, alone": Case(looks(edit), ROBOT, PLAIN, alone=True) for name, edit in LOOKS.items()},
    "legacy nodes, alone": Case(lambda d: None, LEGACY, alone=True),
    "a path graph": Case(lambda d: None, ROOM, ("--paths",)),
    "a path graph, alone": Case(lambda d: None, ROOM, ("--paths",), alone=True),
    "a name on a row, alone": Case(row_of_its_own, ROBOT, alone=True),
    "a part is called after its node, alone": Case(after_its_node, ROBOT, alone=True),
}
