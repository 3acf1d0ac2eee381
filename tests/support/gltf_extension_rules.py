"""Files for what glTF 2.0 demands of a reader of extensions; rows of ``gltf_rules``."""

import numpy as np

from tests.support.foreign import QUAD, Builder
from tests.support.gltf_rules import ROWS, animated, plain, primitive, row, textured

__all__ = ["ROWS"]


@row("required extension that is not known", "needs extensions that cannot be read: EXT_shape")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = b.json["extensionsRequired"] = ["EXT_shape"]


@row("extension that is not known", "extensions are not read, and what they say is ignored: EXT_shape")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = ["EXT_shape"]


@row("extension that `extensionsUsed` does not name", "and what they say is ignored: EXT_shape")
def _(b: Builder) -> None:
    plain(b)
    primitive(b)["extensions"] = {"EXT_shape": {}}


@row("`KHR_materials_variants`", "and what they say is ignored: KHR_materials_variants")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["extensionsUsed"] = ["KHR_materials_variants"]
    b.json["extensions"] = {"KHR_materials_variants": {"variants": [{"name": "red"}]}}
    primitive(b)["extensions"] = {"KHR_materials_variants": {"mappings": [{"material": 0, "variants": [0]}]}}


@row(
    "`EXT_texture_webp`, `EXT_texture_avif`, `KHR_texture_basisu`",
    "picture without a name is new; picture: cannot be read",
)
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["extensionsUsed"] = ["KHR_texture_basisu"]
    b.json["images"] = [{"uri": "data:image/ktx2;base64,q0tUWA=="}]
    b.json["textures"] = [{"extensions": {"KHR_texture_basisu": {"source": 0}}}]


@row("`KHR_texture_transform`")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = ["KHR_texture_transform"]
    transform = {"offset": [0.5, 0.25], "scale": [2, 0.5], "rotation": np.pi / 2}
    textured(b, {"index": 0, "extensions": {"KHR_texture_transform": transform}})


@row("`KHR_mesh_quantization`")
def _(b: Builder) -> None:
    plain(b, scale=[0.002] * 3)
    b.json["extensionsUsed"] = b.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    primitive(b)["attributes"]["POSITION"] = b.accessor((QUAD * 1000).astype(np.int16))


@row("`EXT_mesh_gpu_instancing`", "2 instances of its mesh became nodes")
def _(b: Builder) -> None:
    b.json["extensionsUsed"] = ["EXT_mesh_gpu_instancing"]
    moves = b.accessor(np.float32([[0, 0, 0], [5, 0, 0]]))
    plain(b, extensions={"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": moves}}})


@row("`KHR_node_visibility`", "is hidden and left out")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = ["KHR_node_visibility"]
    hidden = {"KHR_node_visibility": {"visible": False}}
    b.node(name="ghost", mesh=0, translation=[5, 0, 0], extensions=hidden)
    b.json["scenes"][0]["nodes"] = [0, 1]


@row("`KHR_animation_pointer`", "animates '/materials/0/alphaCutoff'")
def _(b: Builder) -> None:
    clip = animated(b)
    b.json["extensionsUsed"] = ["KHR_animation_pointer"]
    pointer = {"KHR_animation_pointer": {"pointer": "/materials/0/alphaCutoff"}}
    clip["channels"].append({"sampler": 0, "target": {"path": "pointer", "extensions": pointer}})


@row("`KHR_materials_*`", "KHR_materials_clearcoat")
def _(b: Builder) -> None:
    plain(b)
    textured(b, {"index": 0})
    b.json["materials"][0]["extensions"] = {"KHR_materials_clearcoat": {"clearcoatFactor": 1}}
    b.json["extensionsUsed"] = ["KHR_materials_clearcoat"]


@row("`KHR_meshopt_compression`, `EXT_meshopt_compression`", "npx @gltf-transform/cli copy")
def _(b: Builder) -> None:
    plain(b)
    b.json["extensionsUsed"] = b.json["extensionsRequired"] = ["EXT_meshopt_compression"]
