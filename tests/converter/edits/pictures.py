"""Pictures of an edited file are compared by their pixels, and written where a texture can have them."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from tests.support.corpus import LIBS
from tests.support.gltf_edit import Editable
from tests.support.recorded import EXAMPLES, Case

ROBOT = "retail__system__R_H_002"
#: Edits of libraries are reported.
UNWRITTEN = {"libraries": False}


def encoded(pixels: np.ndarray, form: str = "PNG", **options: object) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    return out.getvalue()


def pixels_of(data: bytes) -> np.ndarray:
    with Image.open(BytesIO(data)) as image:
        return np.asarray(image.convert("RGBA")).copy()


def rounded_and_packed(d: Editable) -> None:
    """Measured with Blender: 3e-8 of a factor; other tools write other PNG files."""
    for material in d.json["materials"]:
        factor = material["pbrMetallicRoughness"]["baseColorFactor"]
        factor[:3] = [value + 1e-4 for value in factor[:3]]
    for i, data in d.pictures.items():
        d.pictures[i] = encoded(pixels_of(data), compress_level=1)


def used_material(d: Editable) -> dict[str, Any]:
    """A material that has a picture, and a face."""
    materials = [d.json["materials"][p["material"]] for p in d.primitives()]
    return next(m for m in materials if "baseColorTexture" in m["pbrMetallicRoughness"])


def one_bit(d: Editable) -> None:
    index = used_material(d)["pbrMetallicRoughness"]["baseColorTexture"]["index"]
    pixels = pixels_of(d.pictures[index])
    pixels[0, 0, 0] ^= 1
    d.pictures[index] = encoded(pixels)


def recoloured(d: Editable) -> None:
    used_material(d)["pbrMetallicRoughness"]["baseColorFactor"] = [0.0, 0.0, 1.0, 1.0]


def blank(d: Editable, width: int, height: int) -> None:
    d.pictures = dict.fromkeys(d.pictures, encoded(np.full((height, width, 4), 255, np.uint8)))


def no_pictures(d: Editable) -> None:
    """As Blender exports with Images set to None: grey, without textures."""
    for name in ("images", "textures", "samplers"):
        del d.json[name]
    for material in d.json["materials"]:
        if material["pbrMetallicRoughness"].pop("baseColorTexture", None):
            material["pbrMetallicRoughness"]["baseColorFactor"] = [0.8, 0.8, 0.8, 1]
        material.pop("emissiveTexture", None)


def saved_as(form: str, only: str = "", **options: object) -> Callable[[Editable], None]:
    """The pictures in another format, called as Blender calls them."""

    def edit(d: Editable) -> None:
        for i, image in enumerate(d.json["images"]):
            if only in image["name"]:
                d.pictures[i] = encoded(pixels_of(d.pictures[i])[..., :3], form, **options)
                image |= {"mimeType": f"image/{form.lower()}", "name": image["name"].rpartition(".")[0]}

    return edit


def new_jpeg(d: Editable) -> None:
    d.pictures[0] = encoded(np.full((32, 32, 3), 128, np.uint8), "JPEG")
    d.json["images"][0] |= {"name": "rust", "mimeType": "image/jpeg"}


LIBRARY, OWN = ("--textures", LIBS), ("--game", EXAMPLES / "textures")
CASES = {
    "rounded, and packed again": Case(rounded_and_packed, ROBOT, LIBRARY, options=UNWRITTEN),
    "one bit": Case(one_bit, ROBOT, LIBRARY, options=UNWRITTEN),
    # a texture of another size has powers of two; the other edits arrive
    **{
        f"a colour, and pictures of {size}": Case(lambda d, size=size: (recoloured(d), blank(d, *size)), ROBOT, LIBRARY)
        for size in ((100, 60), (128, 32))
    },
    **{
        f"pictures that begin with {data!r}": Case(
            lambda d, data=data: d.pictures.update(dict.fromkeys(d.pictures, data)), ROBOT, LIBRARY, options=UNWRITTEN
        )
        for data in (b"\x89PNG", b"GIF89a")
    },
    "a sidecar without looks": Case(recoloured, ROBOT, LIBRARY, options=UNWRITTEN, sidecar={"shown": []}),
    "no pictures": Case(no_pictures, ROBOT, LIBRARY, options=UNWRITTEN),
    "saved as JPEG": Case(saved_as("JPEG", quality=75), "hangar", OWN),
    "one saved as JPEG": Case(saved_as("JPEG", only="wall"), "hangar", OWN),
    "saved as WebP": Case(saved_as("WEBP", quality=75), "hangar", OWN),
    "saved as WebP without loss": Case(saved_as("WEBP", lossless=True), "hangar", OWN),
    "a new JPEG": Case(new_jpeg, "hangar", OWN),
}
