"""Edits of triangles, their vertices and materials."""

import numpy as np

from tests.support.random_edits.base import Edited, Json, NotHere, edit, name_of, of_primitive, owner_name, vector


@of_primitive
def move_vertices(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    points = d.own(primitive, "POSITION")
    pick = chance.random(len(points)) < chance.choice([0.1, 0.5, 1.0])
    pick[0] = True
    points[pick] += vector(chance, 0.1 * d.size).astype(np.float32)


@of_primitive
def delete_triangles(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    index = d.arrays[primitive["indices"]].reshape(-1, 3)
    keep = chance.random(len(index)) < 0.7
    keep[0] = False
    if not keep.any():
        raise NotHere
    primitive["indices"] = d.add(index[keep].reshape(-1, 1))


@of_primitive
def add_triangles(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    """Over the primitive's vertices."""
    index = d.arrays[primitive["indices"]].reshape(-1, 3)
    count = len(d.arrays[primitive["attributes"]["POSITION"]])
    if count < 3:
        raise NotHere
    new = np.stack([chance.choice(count, 3, replace=False) for _ in range(3)]).astype(index.dtype)
    primitive["indices"] = d.add(np.concatenate([index, new]).reshape(-1, 1))


@of_primitive
def flip_triangles(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    index = d.arrays[primitive["indices"]].reshape(-1, 3).copy()
    index[: 1 + len(index) // 3] = index[: 1 + len(index) // 3, ::-1]
    primitive["indices"] = d.add(index.reshape(-1, 1))


@of_primitive
def change_normals(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    normals = d.own(primitive, "NORMAL")
    pick = chance.random(len(normals)) < 0.5
    pick[0] = True
    normals[pick] = vector(chance, 1).astype(np.float32)


@of_primitive
def change_uv(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    uv = d.own(primitive, "TEXCOORD_0")
    uv[chance.random(len(uv)) < 0.5] += chance.uniform(-1, 1, 2).astype(np.float32)


@of_primitive
def move_uv_far(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    """Whole turns away: it looks the same."""
    d.own(primitive, "TEXCOORD_0")[:] += np.float32(chance.choice([-100, 40, 1000]))


@of_primitive
def stretch_uv_far(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    """More turns on one triangle than words can hold."""
    d.own(primitive, "TEXCOORD_0")[:] *= np.float32(200)


@of_primitive
def change_lightmap_uv(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    d.own(primitive, "TEXCOORD_1")[:] = chance.uniform(0, 1, 2).astype(np.float32)


@of_primitive
def change_colours(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    colours = d.own(primitive, "COLOR_0")
    colours[:, :3] = chance.integers(0, 200, 3)


@edit
def split_vertices(d: Edited, chance: np.random.Generator) -> list[str]:
    """Every triangle has corners of its own; nothing is changed by it."""
    _, primitive = d.some_primitive(chance)
    index = d.arrays[primitive["indices"]].reshape(-1).astype(int)
    for name, accessor in primitive["attributes"].items():
        fresh = d.add(d.arrays[accessor][index])
        d.normalized[fresh] = d.normalized[accessor]
        primitive["attributes"][name] = fresh
    primitive["indices"] = d.add(np.arange(len(index), dtype=np.uint32)[:, None])
    return []


@of_primitive
def assign_material(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    primitive["material"] = int(chance.integers(len(d.json["materials"])))


@edit
def assign_new_material(d: Edited, chance: np.random.Generator) -> list[str]:
    i, primitive = d.some_primitive(chance)
    d.json["materials"].append({"name": "R_RED"})
    primitive["material"] = len(d.json["materials"]) - 1
    return [name_of(d, i), owner_name(d, i), "R_RED"]


@of_primitive
def remove_material(d: Edited, primitive: Json, chance: np.random.Generator) -> None:
    del primitive["material"]


@edit
def rename_material(d: Edited, chance: np.random.Generator) -> list[str]:
    material = d.json["materials"][int(chance.integers(len(d.json["materials"])))]
    before = material["name"]
    material["name"] = "R_BLUE"
    return [before, "R_BLUE"]


@edit
def recolour_material(d: Edited, chance: np.random.Generator) -> list[str]:
    material = d.json["materials"][int(chance.integers(len(d.json["materials"])))]
    shown = material.setdefault("pbrMetallicRoughness", {})
    shown["baseColorFactor"] = [0.9, 0.1, 0.2, 1.0]
    return [material["name"]]
