"""Extensions of glTF: which are read, which only change how a surface looks, which are refused."""

from __future__ import annotations

from ..converter.errors import ConversionError
from ..converter.formats.gltf import Json

DRACO = "KHR_draco_mesh_compression"
INSTANCING = "EXT_mesh_gpu_instancing"
VISIBILITY = "KHR_node_visibility"

#: Extensions that are read, or that say nothing about a model.
_READABLE = {
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_lights_punctual",
    "KHR_texture_basisu",
    "EXT_texture_webp",
    DRACO,
    INSTANCING,
    VISIBILITY,
}
#: How the names of those begin that change the appearance of a surface, not its shape.
_APPEARANCE = (
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "KHR_xmp",
    "EXT_materials_",
    "EXT_texture_",
    "EXT_lights_",
    "ADOBE_materials_",
    "MSFT_texture_",
    "MSFT_packing_",
)
_UNPACK = "clear Compression in Blender's glTF exporter, or unpack it: npx @gltf-transform/cli copy in.glb out.glb"
#: What to do about an extension that cannot be read.
UNPACK_HINTS = {"EXT_meshopt_compression": _UNPACK, "KHR_meshopt_compression": _UNPACK}


def check_required(root: Json, label: str) -> list[str]:
    """Refuse required extensions that change a shape and are not read.

    Args:
        root: the document.
        label: the file.

    Returns:
        Warnings of those that only change the appearance.

    Raises:
        ConversionError: the document needs what cannot be read.
    """
    unread = [str(name) for name in root.get("extensionsRequired", []) if name not in _READABLE]
    refused = [name for name in unread if not name.startswith(_APPEARANCE)]
    if refused:
        raise ConversionError(
            "needs extensions that cannot be read",
            file=label,
            value=", ".join(refused),
            hint=UNPACK_HINTS.get(refused[0], "export it without them"),
        )
    if not unread:
        return []
    return [f"only the appearance needs {', '.join(unread)}: the shape is read, the rest is not"]
