"""Looks as glTF materials and images (``gltf-mapping`` page, Materials)."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from ..converter.scene.appearance import Appearance, MaterialAppearance, Picture
from ..converter.scene.extras import MaterialExtras
from .gltf_file import Builder, Json
from .png import png_bytes

#: Textures repeat (glTF 2.0, sampler).
_REPEAT = 10497
#: Light goes through the lightmap by its own UV set.
_LIGHTMAP_UV = 1


class Pictures:
    """The images of a document, each once; inside its buffer or beside it."""

    def __init__(self, file: Builder, dress: Appearance) -> None:
        self.dress = dress
        self._file = file
        self._numbers: dict[Picture, int] = {}

    def texture(self, picture: Picture) -> int:
        """The number of a picture's glTF texture."""
        return self._numbers.setdefault(picture, len(self._numbers))

    def document(self) -> Json:
        """``images``, ``samplers`` and ``textures``, where there are any."""
        if not self._numbers:
            return {}
        return {
            "images": [self._image(picture) for picture in self._numbers],
            "samplers": [{"wrapS": _REPEAT, "wrapT": _REPEAT}],
            "textures": [{"source": i, "sampler": 0} for i in range(len(self._numbers))],
        }

    def _image(self, picture: Picture) -> Json:
        if self.dress.up is not None and picture.path:
            uri = quote(f"{self.dress.up}{picture.path}", errors="surrogateescape")
            return {"name": picture.name, "uri": uri}
        data = np.frombuffer(png_bytes(picture.rgba()), np.uint8)
        view = self._file.view(data)
        return {"name": picture.name, "mimeType": "image/png", "bufferView": view}


def set_appearance(
    out: Json,
    values: MaterialExtras,
    pictures: Pictures,
    look: MaterialAppearance,
    picture: Picture | None,
    light: Picture | None = None,
) -> None:
    """Make a glTF material look as the game shows it.

    Args:
        out: the material; it has ``pbrMetallicRoughness``. Changed in place.
        values: its extras. Changed in place.
        pictures: the document's images.
        look: what its WEAR row leads to.
        picture: its texture.
        light: its lightmap. glTF has no such thing; what Blender and viewers show through a second
            UV set is emission, so it takes the place of the texture there (decision 0019).
    """
    surface = out["pbrMetallicRoughness"]
    surface["baseColorFactor"] = [round(value, 6) for value in look.colour]
    if picture is not None:
        surface["baseColorTexture"] = {"index": pictures.texture(picture)}
    cutout = look.translucent and not look.additive and look.colour[3] == 1.0
    if cutout and picture is not None and picture.cutout:
        out["alphaMode"] = "MASK"  # a silhouette: no half-clear texel to blend
    elif look.translucent:
        out["alphaMode"] = "BLEND"
    own = look.self_light
    if not any(own) and (light is not None or look.additive):
        # light from elsewhere comes back in the surface's own colour
        own = _seen(look, None if look.additive else picture)
    if any(own):
        out["emissiveFactor"] = [round(value, 6) for value in own]
        if light is not None:
            out["emissiveTexture"] = {"index": pictures.texture(light), "texCoord": _LIGHTMAP_UV}
        elif picture is not None:  # its own light goes through the texture too
            out["emissiveTexture"] = {"index": pictures.texture(picture)}
    values["material"], values["phases"] = look.material, look.phases
    if look.additive:
        values["additive"] = 1
    if look.animation:
        values["animation"] = look.animation
    if look.cell >= 0:
        values["cell"] = look.cell


def _seen(look: MaterialAppearance, picture: Picture | None) -> tuple[float, float, float]:
    """The colour of a surface as a whole: its diffuse colour, times the texture's mean."""
    red, green, blue = picture.mean if picture is not None else (1.0, 1.0, 1.0)
    return look.colour[0] * red, look.colour[1] * green, look.colour[2] * blue
