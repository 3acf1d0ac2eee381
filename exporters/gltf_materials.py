"""Materials of a glTF document: their colours, textures, and how they are drawn."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np

from ..converter.formats.gltf import TEXTURE_TRANSFORM, WHOLE, Json, TextureTransform, pixel_digest
from ..converter.formats.terrain import NO_MATERIAL
from ..converter.numeric.quantize import to_linear
from ..converter.scene.appearance import Appearance, MaterialAppearance, Picture
from ..converter.scene.decode import MaterialPair
from ..converter.scene.extras import MaterialExtras, to_extras
from ..converter.scene.scene import Material
from .gltf_file import Builder, png_bytes, row_colour

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

    def info(self, picture: Picture, rectangle: TextureTransform = WHOLE) -> Json:
        """Return how a material refers to a picture, or to a rectangle of it."""
        out: Json = {"index": self.texture(picture)}
        if rectangle != WHOLE:
            out["extensions"] = {TEXTURE_TRANSFORM: rectangle.json}
            self._file.use_extension(TEXTURE_TRANSFORM)
        return out

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
        light: its lightmap. glTF has no such thing; what Blender and viewers show through a second
            UV set is emission, so it takes the place of the texture there (decision 0019).
    """
    surface = out["pbrMetallicRoughness"]
    *colour, alpha = appearance.colour
    surface["baseColorFactor"] = [*to_linear(colour), round(alpha, 6)]
    own_texture: Json | None = None
    if picture is not None:
        rectangle = picture.transform(appearance.cell)
        own_texture = surface["baseColorTexture"] = pictures.info(picture, rectangle)
        picture = picture.part(appearance.cell)
        if rectangle != WHOLE:
            values["rectangle"] = " ".join(f"{value:.9g}" for value in rectangle[:4])
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
        elif own_texture is not None:  # its own light goes through the texture too
            out["emissiveTexture"] = own_texture
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


def material_object(material: Material, pictures: Pictures, lit: bool) -> Json:
    """Return a material as it appears (``docs/reference/gltf.md``), else with a colour per row.

    Args:
        lit: whether the model has lightmap coordinates.
    """
    values = MaterialExtras(row=material.row, lightmap=material.lightmap, batch_flags=material.batch_flags)
    values["w2"], values["w4"], values["w6"] = material.w2, material.w4, material.w6
    out: Json = {"name": material.name, "pbrMetallicRoughness": row_colour(material.row), "doubleSided": True}
    shown, picture = pictures.appearance.of(material.row)
    if shown is not None and shown.step != "missing":
        light = pictures.appearance.lightmaps.get(material.lightmap) if lit else None
        set_appearance(out, values, shown, picture, pictures=pictures, light=light)
        if light is not None:
            values["light"] = light.name
    return {**out, "extras": to_extras(values)}


def terrain_material(pair: MaterialPair, pictures: Pictures) -> Json:
    """Return the first material; where there is a second, both textures in one (decision 0019)."""
    values = MaterialExtras(first=pair.first, second=pair.second, microtexture=pair.micro)
    if pair.second != NO_MATERIAL:
        values["microtexture2"] = pair.micro2
    colour = row_colour(pair.first if pair.second == NO_MATERIAL else 31 * pair.first + pair.second + 7)
    out: Json = {"name": pair.name, "pbrMetallicRoughness": colour, "doubleSided": True}
    shown, picture = pictures.appearance.of(pair.first)
    if shown is not None and shown.step != "missing":
        both = pictures.appearance.mixed.get((pair.first, pair.second), picture)
        set_appearance(out, values, shown, both, pictures=pictures)
    out["extras"] = to_extras(values)
    return out
