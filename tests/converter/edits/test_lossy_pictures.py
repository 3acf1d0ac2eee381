"""Pictures that an editor saved as JPEG or WebP: no texture is written again for that."""

import json
from pathlib import Path

import pytest
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.runs import call

EXAMPLES = Path(__file__).parents[3] / "examples"
SOURCE = EXAMPLES / "hangar.msh"


@pytest.fixture
def gltf(tmp_path: Path) -> Path:
    path = tmp_path / "hangar.gltf"
    assert call(cli.msh2gltf, SOURCE, "-o", path, "--game", EXAMPLES / "textures", "-q") == 0
    return path


def saved_as(gltf: Path, ending: str, only: str = "", **options: object) -> ImportResult:
    """The file with its pictures in another format, called as Blender calls them."""
    document = json.loads(gltf.read_text("utf-8"))
    for image in document["images"]:
        if only not in image["name"]:
            continue
        there = gltf.parent / image["uri"]
        new = there.with_suffix(ending)
        Image.open(there).convert("RGB").save(new, **options)
        image["uri"] = new.relative_to(gltf.parent).as_posix()
        image["name"] = image["name"].rpartition(".")[0]
    gltf.write_text(json.dumps(document), "utf-8")
    out = import_gltf(gltf)
    assert out.data == SOURCE.read_bytes()
    return out


@pytest.mark.parametrize("ending", [".jpg", ".webp"])
def test_a_lossy_format_is_reported_once(gltf: Path, ending: str) -> None:
    out = saved_as(gltf, ending, quality=75)
    assert (out.library, out.new_materials) == ([], [])
    (one,) = out.not_applied
    assert (one.where, one.what) == ("pictures", "5 pictures (first armour.0) cannot be compared")
    assert "set Images to Automatic" in one.instead


def test_one_of_them(gltf: Path) -> None:
    (one,) = saved_as(gltf, ".jpg", only="wall").not_applied
    assert one.what == "1 picture (first wall.0) cannot be compared"


def test_lossless_webp_is_the_same_picture(gltf: Path) -> None:
    assert saved_as(gltf, ".webp", lossless=True).unchanged


def test_a_new_picture_may_be_a_jpeg(gltf: Path) -> None:
    Image.new("RGB", (32, 32), (200, 10, 10)).save(gltf.with_name("rust.jpg"))
    document = json.loads(gltf.read_text("utf-8"))
    document["images"][0] |= {"name": "rust", "uri": "rust.jpg"}
    gltf.write_text(json.dumps(document), "utf-8")
    out = import_gltf(gltf)
    assert out.not_applied == []
    assert [one.picture.name for one in out.library if one.picture] == ["rust"]
