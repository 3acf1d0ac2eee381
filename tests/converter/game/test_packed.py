"""Models for the gallery, all but their drawing: each in one piece, what is counted of it, where it is seen from."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.gallery import GalleryTask, pack, show_item
from msh_gltf.converter.game.manifest import read_manifest
from msh_gltf.converter.game.thumbnails import SIZE, camera_place
from msh_gltf.exporters.gltf_file import Document, glb_bytes
from tests.support.gallery import WALKER, Camera, corners, make_gallery_game
from tests.support.gltf_edit import PATHS_ELSEWHERE
from tests.support.gltf_view import GltfView
from tests.support.runs import call


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packed")
    only = ("--include", "static.rlb::i_room*", "--embed-textures")
    assert call(cli.msh2gltf, make_gallery_game(out / "game"), "-o", out / "out", "-q", *only) == 0
    return out / "out"


@pytest.fixture
def room(exported: Path, tmp_path: Path) -> Path:
    """A textured model of a game, with all inside."""
    return shutil.copytree(exported, tmp_path / "out") / "static.rlb/i_room_006.glb"


def pictures(view: GltfView) -> list[bytes]:
    views = [view["bufferViews"][image["bufferView"]] for image in view["images"]]
    return [view.buffer[v["byteOffset"] : v["byteOffset"] + v["byteLength"]] for v in views]


def taken_out(path: Path, uris: list[str]) -> dict[str, Any]:
    """Write the model again with its pictures in files of their own; returns the document."""
    view = GltfView(path)
    data = json.loads(json.dumps(view.json))
    for image, uri in zip(data["images"], uris, strict=True):
        del image["bufferView"], image["mimeType"]
        image["uri"] = uri
    del data["buffers"]
    path.write_bytes(glb_bytes(Document(data, view.buffer)))
    return data


def same_model(a: GltfView, b: GltfView) -> None:
    for i in range(len(a["accessors"])):
        assert np.array_equal(a.array(i), b.array(i))
    assert a["nodes"] == b["nodes"]
    assert a["meshes"] == b["meshes"]
    assert pictures(a) == pictures(b)


def test_shared_pictures_come_in(room: Path, tmp_path: Path) -> None:
    """Relative URIs with escapes, from a folder beside the model's; a file that has all inside stays as it is."""
    assert pack(room, tmp_path / "out").glb == room.read_bytes()
    before = tmp_path / "before.glb"
    before.write_bytes(room.read_bytes())
    known = pictures(GltfView(before))
    assert len(known) > 1
    folder = tmp_path / "out/textures"
    folder.mkdir()
    uris = [f"../textures/%D0%A1%D1%82%D0%B5%D0%BD%D0%B0%20{i}.png" for i in range(len(known))]
    for i, data in enumerate(known):
        (folder / f"Стена {i}.png").write_bytes(data)
    taken_out(room, uris)
    whole = tmp_path / "whole.glb"
    whole.write_bytes(pack(room, tmp_path / "out").glb)
    same_model(GltfView(before), GltfView(whole))
    assert b"uri" not in whole.read_bytes()[:60_000].split(b"BIN\0")[0]
    assert all(image["mimeType"] == "image/png" for image in GltfView(whole)["images"])


def test_gltf_with_its_buffer_beside_it(tmp_path: Path) -> None:
    """What Blender may have made of a .glb."""
    assert call(cli.msh2gltf, WALKER, "-o", tmp_path / "w.gltf", "-q") == 0
    assert call(cli.msh2gltf, WALKER, "-o", tmp_path / "w.glb", "-q", "--force") == 0
    data = json.loads((tmp_path / "w.gltf").read_text("utf-8"))
    data["buffers"].insert(0, {"uri": "data:;base64,AAECAwQFBg==", "byteLength": 7})
    for view in data["bufferViews"]:
        view["buffer"] = 1
    (tmp_path / "w.gltf").write_text(json.dumps(data), "utf-8")
    whole = tmp_path / "whole.glb"
    made = pack(tmp_path / "w.gltf", tmp_path)
    whole.write_bytes(made.glb)
    same_model(GltfView(tmp_path / "w.glb"), GltfView(whole))
    assert (made.nodes, made.triangles, made.frames, made.empty) == (11, 192, 25, False)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        *((uri, "picture lies outside the output directory") for uri in ("../../secret.png", *PATHS_ELSEWHERE)),
        ("%2e%2e/%2e%2e/secret.png", "picture lies outside the output directory"),
        ("none.png", "cannot be read"),
        ("i_room_006.msh-sidecar", "picture is neither PNG nor JPEG"),
    ],
)
def test_pictures_that_are_refused(
    uri: str, said: str, room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of other machines before anything looks there."""
    (tmp_path / "secret.png").write_bytes(b"\x89PNG secret")
    taken_out(room, [uri] * len(GltfView(room)["images"]))
    if uri in PATHS_ELSEWHERE:
        monkeypatch.setattr(Path, "resolve", lambda path, strict=False: pytest.fail(f"{path} was resolved"))
    with pytest.raises(ConversionError, match=said):
        pack(room, tmp_path / "out")


def test_what_the_page_lists(tmp_path: Path) -> None:
    """Nodes, triangles and frames against a second reader of the glTF; the script holds the model."""
    game, out = make_gallery_game(tmp_path / "game"), tmp_path / "out"
    assert call(cli.msh2gltf, game, "-o", out, "-q", "--only", "models") == 0
    manifest = read_manifest(out)
    assert manifest is not None
    for record in manifest.in_order():
        if record.kind == "texture":
            continue
        done = show_item(GalleryTask(str(out), record, draw=False))
        assert (done.status, done.warnings) == ("unchanged", [])
        about, view = done.result, GltfView(out / record.target)
        own = [n for n in view["nodes"] if "lod" not in n.get("extras", {}).get("msh", {"lod": 0})]
        assert about["nodes"] == len(own) or view.info.get("legacy")
        assert about["triangles"] == len(corners(view)) // 3
        assert about["frames"] == view.info["frame_count"]
        places = (about["file"], f"{about['target']}.glb", about["name"], about["picture"])
        assert places == (record.target, record.target, record.name, False)
        source, _, entry = record.id.partition("::")
        assert about["archive"] == (source if entry else source.rpartition("/")[0])
        assert about["digest"] in (out / "gallery/models" / f"{about['target']}.js").read_text("ascii")


def test_a_scene_of_another_program(room: Path, tmp_path: Path) -> None:
    """Without custom properties it has nodes and one frame; without meshes nothing is drawn."""
    data = json.loads(json.dumps(GltfView(room).json))
    del data["scenes"][0]["extras"]
    for node in data["nodes"]:
        node.pop("extras", None)
    for drop in (False, True):
        for node in data["nodes"] if drop else ():
            node.pop("mesh", None)
        room.write_bytes(glb_bytes(Document(data, GltfView(room).buffer)))
        packed = pack(room, tmp_path / "out")
        shown = len({*data["scenes"][0]["nodes"]} | {i for n in data["nodes"] for i in n.get("children", ())})
        assert (packed.frames, packed.empty, packed.triangles > 0) == (1, drop, not drop)
        assert packed.nodes <= shown


@pytest.mark.parametrize("seed", range(4))
def test_the_camera_stands_where_all_is_seen(seed: int) -> None:
    """As a reference camera does."""
    points = np.random.default_rng(seed).normal(2.0, 3.0, (40, 3)) * (1, 1 + 9 * (seed & 1), 1 + 9 * (seed & 2))
    camera = Camera(points, *SIZE)
    focus, position = camera_place(points)
    assert np.allclose(focus, camera.middle @ camera.turn)
    assert np.allclose(position, (camera.middle + np.array([0, 0, camera.distance])) @ camera.turn)
