"""The appearance of materials in glTF (``docs/materials.md``)."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from ..converter.formats.gltf import Json
from ..converter.formats.surface import pixel_digest
from ..converter.numeric.colours import to_linear
from ..converter.scene.appearance import Appearance, MaterialAppearance, Picture
from ..converter.scene.extras import MaterialExtras
from .gltf_file import Builder
from .png import png_bytes

#: Light goes through the lightmap by its own UV set.
_LIGHTMAP_UV = 1


class Pictures:
    """The textures of a document, each once; their images are in its buffer or beside it."""

    def __init__(self, file: Builder, appearance: Appearance) -> None:
        self.appearance = appearance
        self._file = file
        self._textures: dict[Picture, int] = {}

    def of(self, appearance: Appearance) -> Pictures:
        """Return the textures of the same document for another model."""
        out = Pictures(self._file, appearance)
        out._textures = self._textures
        return out

    def texture(self, picture: Picture) -> int:
        """Return the index of a picture's texture; adds it where it is new."""
        number = self._textures.get(picture)
        if number is None:
            number = self._textures[picture] = self._file.add_texture(*self._image(picture))
        return number

    def _image(self, picture: Picture) -> tuple[Json, str]:
        """An image, and the digest of its pixels."""
        if self.appearance.up is not None and picture.path:
            uri = quote(f"{self.appearance.up}{picture.path}", errors="surrogateescape")
            return {"name": picture.name, "uri": uri}, picture.pixels
        pixels = picture.rgba()  # decoded once for both
        view = self._file.add_buffer_view(np.frombuffer(png_bytes(pixels), np.uint8))
        image = {"name": picture.name, "mimeType": "image/png", "bufferView": view}
        return image, pixel_digest(pixels)


def set_appearance(
    out: Json,
    values: MaterialExtras,
    appearance: MaterialAppearance,
    picture: Picture | None,
    *,
    pictures: Pictures,
    light: Picture | None = None,
) -> None:
    """Give a glTF material the appearance that it has in the game.

    Args:
        out: the material; it has ``pbrMetallicRoughness``. Changed in place.
        values: its extras. Changed in place.
        appearance: what its WEAR row leads to.
        picture: its texture.
        pictures: the document's textures.
        light: its lightmap. glTF has no such thing; what Blender and viewers show through a second
            UV set is emission, so it takes the place of the texture there (decision 0019).
    """
    surface = out["pbrMetallicRoughness"]
    *colour, alpha = appearance.colour
    surface["baseColorFactor"] = [*to_linear(colour), round(alpha, 6)]
    if picture is not None:
        surface["baseColorTexture"] = {"index": pictures.texture(picture)}
    cutout = appearance.translucent and not appearance.additive and appearance.colour[3] == 1.0
    if cutout and picture is not None and picture.cutout:
        out["alphaMode"] = "MASK"  # a silhouette: no half-clear texel to blend
    elif appearance.translucent:
        out["alphaMode"] = "BLEND"
    own = appearance.self_light
    if not any(own) and (light is not None or appearance.additive):
        # light from elsewhere comes back in the surface's own colour
        own = _mean_colour(appearance, None if appearance.additive else picture)
    if any(own):
        out["emissiveFactor"] = to_linear(own)
        if light is not None:
            out["emissiveTexture"] = {"index": pictures.texture(light), "texCoord": _LIGHTMAP_UV}
        elif picture is not None:  # its own light goes through the texture too
            out["emissiveTexture"] = {"index": pictures.texture(picture)}
    values["material"], values["phases"] = appearance.material, appearance.phases
    if appearance.additive:
        values["additive"] = 1
    if appearance.animation:
        values["animation"] = appearance.animation
    if appearance.cell >= 0:
        values["cell"] = appearance.cell


def _mean_colour(appearance: MaterialAppearance, picture: Picture | None) -> tuple[float, float, float]:
    """The colour of a surface as a whole: its diffuse colour, times the texture's mean."""
    red, green, blue = picture.mean if picture is not None else (1.0, 1.0, 1.0)
    return appearance.colour[0] * red, appearance.colour[1] * green, appearance.colour[2] * blue
