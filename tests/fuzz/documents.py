"""Small glTF documents that together use every feature that is read."""

from typing import Any

import numpy as np

from tests.support.foreign import QUAD, Builder, Json
from tests.support.gltf_codes import valid
from tests.support.gltf_rules import built

#: Rows of the table of what glTF demands, by their rule.
RULES = (
    "`LINEAR`, `STEP`, `CUBICSPLINE`; the first and the last key hold",
    "all sets of joints and weights",
    "sparse accessors",
    "`byteStride`, `byteOffset`",
    "accessor without a buffer view: zeros",
    "triangle strip",
    "triangle fan",
    "points and lines",
    "normalised integers",
    "`COLOR_0`",
    "texture coordinates of the base colour texture",
    "rotations as normalised integers",
    "channels of `scale`",
    "several animations",
    "hierarchy, TRS, scale, mirrors",
    "`matrix`",
    "several scenes",
    "cameras and lights",
    "`KHR_texture_transform`",
    "`KHR_mesh_quantization`",
    "`KHR_node_visibility`",
    "`EXT_mesh_gpu_instancing`",
)


def documents() -> list[tuple[Json, bytes]]:
    """``(document, buffer)`` each: a skinned mesh with a texture and a clip, what rules are about, a packed mesh."""
    made = [valid(), *map(built, RULES)]
    own: dict[str, Any] = {"row": 1, "lightmap": -1, "batch_flags": "0x8", "w2": 0, "w4": 1.0, "w6": 65535}
    made[0].json["materials"][0]["extras"] = {"msh": own}
    made[0].json["meshes"][0]["extras"] = {"msh": {"slot": 0, "lod": 0, "group": 0}}
    made[1].json["nodes"][0]["extras"] = {"msh": {"node": 0, "flags": 0}}
    stated = {"fps": 24, "lod": 0, "group": 0, "dialect": "retail", "source": "a.msh"}
    made[1].json["scenes"][0]["extras"] = {"msh": stated}
    return [*((b.json | {"buffers": [{"byteLength": len(b.data)}]}, b.data) for b in made), *_draco()]


def _draco() -> list[tuple[Json, bytes]]:
    """A packed mesh, where the extra is installed."""
    try:
        import DracoPy
    except ImportError:
        return []
    b = Builder()
    packed = {
        "bufferView": b.view(DracoPy.encode(QUAD, np.uint32([[0, 1, 2], [1, 3, 2]]))),
        "attributes": {"POSITION": 0},
    }
    b.json["accessors"] = [
        {"componentType": 5126, "count": 4, "type": "VEC3"},
        {"componentType": 5123, "count": 6, "type": "SCALAR"},
    ]
    primitive = {"attributes": {"POSITION": 0}, "indices": 1, "extensions": {"KHR_draco_mesh_compression": packed}}
    b.json["meshes"] = [{"name": "d", "primitives": [primitive]}]
    b.json |= {"extensionsRequired": ["KHR_draco_mesh_compression"], "buffers": [{"byteLength": len(b.data)}]}
    b.node(name="d", mesh=0)
    return [(b.json, b.data)]
