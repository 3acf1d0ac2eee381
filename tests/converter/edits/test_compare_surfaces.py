"""What materials show is compared with what they showed; colours and pictures are not read back."""

import base64
import json
import struct
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from msh_gltf import import_gltf
from msh_gltf.converter.formats.material import MATERIALS, TEXTURES
from msh_gltf.converter.formats.sidecar import read_sidecar, sidecar_path, write_sidecar
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import LIBS, sample_called
from tests.support.gltf_edit import Editable
from tests.support.runs import to_gltf

#: Edits of libraries are reported.
UNWRITTEN = ImportOptions(libraries=False)
WALKER = sample_called("retail__system__R_H_002")
Json = dict[str, Any]


def textured(path: Path) -> Editable:
    """A model with its textures as data URIs."""
    to_gltf(WALKER, path, "--textures", LIBS)
    data = path.read_bytes()
    (size,) = struct.unpack_from("<I", data, 12)
    buffer = data[28 + size :]
    document = Editable(path)
    before = json.loads(data[20 : 20 + size])
    for image in document.json["images"]:
        view = before["bufferViews"][image.pop("bufferView")]
        start = view["byteOffset"]
        set_image(image, buffer[start : start + view["byteLength"]])
    return document


def set_image(image: Json, data: bytes) -> None:
    image["uri"] = "data:image/png;base64," + base64.b64encode(data).decode()


def pixels_of(image: Json) -> np.ndarray:
    data = base64.b64decode(image["uri"].partition(",")[2])
    return np.asarray(Image.open(BytesIO(data)).convert("RGBA")).copy()


def as_png(pixels: np.ndarray) -> bytes:
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG", compress_level=1)
    return out.getvalue()


def used_material(document: Editable) -> Json:
    """A material that has a picture, and a face."""
    materials = document.json["materials"]
    numbers = [p["material"] for p in document.primitives()]
    found = [materials[i] for i in numbers]
    return next(m for m in found if "baseColorTexture" in m["pbrMetallicRoughness"])


def reported(document: Editable, path: Path) -> list[str]:
    back = import_gltf(document.save(path), options=UNWRITTEN)
    assert back.data == WALKER.source
    assert back.unchanged == (not back.not_applied)
    assert back.warnings == []
    return [f"{fact.where} {fact.what}" for fact in back.not_applied]


def recolour(m: Json) -> None:
    m["pbrMetallicRoughness"]["baseColorFactor"] = [0.25, 0.5, 0.75, 1]


def glow(m: Json) -> None:
    m["emissiveFactor"] = [0.25, 0.5, 0.75]


def clear(m: Json) -> None:
    m["alphaMode"] = "MASK"


def polish(m: Json) -> None:
    m["pbrMetallicRoughness"] |= {"metallicFactor": 1, "roughnessFactor": 0.25}


def unlit(m: Json) -> None:
    m["extensions"] = {"KHR_materials_unlit": {}}


def strip(m: Json) -> None:
    del m["pbrMetallicRoughness"]["baseColorTexture"]


def test_what_editors_round_and_pack_again_is_not(tmp_path: Path) -> None:
    """Measured with Blender: 3e-8 of a factor; other tools write other PNG files."""
    path = tmp_path / "m.glb"
    document = textured(path)
    for material in document.json["materials"]:
        factor = material["pbrMetallicRoughness"]["baseColorFactor"]
        factor[:3] = [value + 1e-4 for value in factor[:3]]
    for image in document.json["images"]:
        set_image(image, as_png(pixels_of(image)))
    assert reported(document, path) == []


def test_another_picture_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.glb"
    document = textured(path)
    index = used_material(document)["pbrMetallicRoughness"]["baseColorTexture"]["index"]
    image = document.json["images"][index]
    pixels = pixels_of(image)
    pixels[0, 0, 0] ^= 1
    set_image(image, as_png(pixels))
    lines = reported(document, path)
    assert lines
    assert all(line.endswith(" is repainted") for line in lines)


def test_a_picture_of_a_size_that_no_texture_has_leaves_the_other_edits(tmp_path: Path) -> None:
    """A texture of another size has powers of two."""
    path = tmp_path / "m.glb"
    document = textured(path)
    used_material(document)["pbrMetallicRoughness"]["baseColorFactor"] = [0.0, 0.0, 1.0, 1.0]
    for height, width, refused in ((60, 100, True), (32, 128, False)):
        for image in document.json["images"]:
            set_image(image, as_png(np.full((height, width, 4), 255, np.uint8)))
        result = import_gltf(document.save(path))
        assert {edit.entry.library for edit in result.library} == ({MATERIALS} if refused else {MATERIALS, TEXTURES})
        assert any(fact.why.startswith("it has 100 x 60 pixels") for fact in result.not_applied) == refused


@pytest.mark.parametrize("data", [b"", b"\x89PNG", b"GIF89a"])
def test_a_picture_that_cannot_be_read_is_another(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.glb"
    document = textured(path)
    for image in document.json["images"]:
        set_image(image, data)
    assert reported(document, path)


def test_pictures_beside_are_compared_by_their_pixels(tmp_path: Path) -> None:
    path = to_gltf(WALKER, tmp_path / "m.gltf", "--textures", LIBS)
    assert import_gltf(path).unchanged
    document = json.loads(path.read_text("utf-8"))
    assert all("uri" in image for image in document["images"])
    picture = tmp_path / document["images"][0]["uri"]
    before = picture.read_bytes()
    picture.write_bytes(as_png(np.asarray(Image.open(picture).convert("RGBA"))))
    assert picture.read_bytes() != before
    assert import_gltf(path).unchanged
    picture.write_bytes(as_png(np.full((8, 64, 4), 255, np.uint8)))
    name = document["images"][0]["name"]
    assert {fact.what for fact in import_gltf(path, options=UNWRITTEN).not_applied} == {f"picture {name} is repainted"}
    outside = tmp_path / "run" / "m.gltf"
    outside.parent.mkdir()
    for image in document["images"]:
        image["uri"] = "../" + image["uri"]
    for file in (path.with_suffix(".bin"), sidecar_path(path)):
        file.rename(outside.parent / file.name)
    outside.write_text(json.dumps(document), "utf-8")
    kept = read_sidecar(sidecar_path(outside).read_bytes(), "x")
    about = kept.description
    shown = [
        one._replace(
            picture=one.picture and one.picture._replace(uri=f"../{one.picture.uri}"),
            light=one.light and one.light._replace(uri=f"../{one.light.uri}"),
        )
        for one in about.shown
    ]
    moved = replace(kept, description=replace(about, shown=shown))
    sidecar_path(outside).write_bytes(write_sidecar(moved))
    assert import_gltf(outside).unchanged  # an item of its run


def test_sidecars_without_the_record_compare_nothing_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "m.glb"
    document = textured(path)
    recolour(used_material(document))
    kept = read_sidecar(sidecar_path(path).read_bytes(), "x")
    old = replace(kept, description=replace(kept.description, shown=[]))
    sidecar_path(path).write_bytes(write_sidecar(old))
    back = import_gltf(document.save(path), options=UNWRITTEN)
    assert back.unchanged
    (warning,) = back.warnings
    assert warning.startswith("colours and pictures of materials are not compared")


def test_a_file_without_any_picture_is_one_line(tmp_path: Path) -> None:
    """As Blender exports with Images set to None: grey, without textures."""
    path = tmp_path / "m.glb"
    document = textured(path)
    for name in ("images", "textures", "samplers"):
        del document.json[name]
    for material in document.json["materials"]:
        if material["pbrMetallicRoughness"].pop("baseColorTexture", None):
            material["pbrMetallicRoughness"]["baseColorFactor"] = [0.8, 0.8, 0.8, 1]
        material.pop("emissiveTexture", None)
    assert reported(document, path) == ["pictures are not in the file"]
