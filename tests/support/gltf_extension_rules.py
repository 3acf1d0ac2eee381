"""Files for what glTF 2.0 demands of a reader of extensions; rows of ``gltf_rules``."""

import numpy as np

from tests.support.foreign import QUAD, Builder
from tests.support.gltf_rules import ROWS, animated, bare, plain, primitive, row, table, textured

__all__ = ["ROWS"]


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


# fmt: off
table(
    (plain, "required extension that is not known", "needs extensions that cannot be read: EXT_shape",
     lambda b: b.json.update(extensionsUsed=["EXT_shape"], extensionsRequired=["EXT_shape"])),
    (plain, "extension that is not known", "extensions are not read, and what they say is ignored: EXT_shape",
     lambda b: b.json.update(extensionsUsed=["EXT_shape"])),
    (plain, "extension that `extensionsUsed` does not name", "and what they say is ignored: EXT_shape",
     lambda b: primitive(b).update(extensions={"EXT_shape": {}})),
    (plain, "`KHR_texture_transform`", "",
     lambda b: (b.json.update(extensionsUsed=["KHR_texture_transform"]), textured(b, {"index": 0,
      "extensions": {"KHR_texture_transform": {"offset": [0.5, 0.25], "scale": [2, 0.5], "rotation": np.pi / 2}}}))),
    (bare, "`KHR_mesh_quantization`", "",
     lambda b: (plain(b, scale=[0.002] * 3), b.json.update(extensionsUsed=["KHR_mesh_quantization"],
      extensionsRequired=["KHR_mesh_quantization"]),
      primitive(b)["attributes"].update(POSITION=b.accessor((QUAD * 1000).astype(np.int16))))),
    (bare, "`EXT_mesh_gpu_instancing`", "2 instances of its mesh became nodes",
     lambda b: (b.json.update(extensionsUsed=["EXT_mesh_gpu_instancing"]), plain(b,
      extensions={"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": b.accessor(np.float32([[0, 0, 0], [5, 0,
      0]]))}}}))),
    (plain, "`KHR_node_visibility`", "is hidden and left out",
     lambda b: (b.json.update(extensionsUsed=["KHR_node_visibility"]), b.node(name="ghost", mesh=0, translation=[5,
      0, 0], extensions={"KHR_node_visibility": {"visible": False}}), b.json["scenes"][0].update(nodes=[0, 1]))),
    (bare, "`KHR_animation_pointer`", "animates '/materials/0/alphaCutoff'",
     lambda b: (b.json.update(extensionsUsed=["KHR_animation_pointer"]),
      animated(b)["channels"].append({"sampler": 0, "target": {"path": "pointer",
      "extensions": {"KHR_animation_pointer": {"pointer": "/materials/0/alphaCutoff"}}}}))),
    (plain, "`KHR_materials_*`", "KHR_materials_clearcoat",
     lambda b: (textured(b, {"index": 0}),
      b.json["materials"][0].update(extensions={"KHR_materials_clearcoat": {"clearcoatFactor": 1}}),
      b.json.update(extensionsUsed=["KHR_materials_clearcoat"]))),
    (plain, "`KHR_meshopt_compression`, `EXT_meshopt_compression`", "npx @gltf-transform/cli copy",
     lambda b: b.json.update(extensionsUsed=["EXT_meshopt_compression"],
      extensionsRequired=["EXT_meshopt_compression"])),
)
# fmt: on
