"""What glTF 2.0 demands of a reader: a file for each row of the table in ``docs/reference/gltf.md``.

A row is *read* (a second reader shows the same), *refused* (in words) or *reported* (a line, and the
rest as the second reader shows it); nothing else. Then what trimesh and DracoPy write, and broken documents.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import trimesh
from trimesh.exchange.gltf import export_gltf

from msh_gltf import import_gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Track, evaluate
from msh_gltf.importers.gltf_file import _draco_counts
from tests.support.foreign import QUAD, TO_GAME, Builder, world
from tests.support.gltf_codes import CODES, FILES, invalid, valid
from tests.support.gltf_edit import PATHS_ELSEWHERE
from tests.support.gltf_rules import ROWS, built, primitive
from tests.support.runs import require
from tests.support.second_reader import SecondReader
from tests.support.validator import FOLDER, issues

PAGE = Path(__file__).parents[2] / "docs/reference/gltf.md"
OPTIONS = ImportOptions(rigid_skin=True, fps=24)


def same_as_shown(path: Path, data: bytes, dialect: str) -> None:
    """The model's triangles, normals and texture coordinates are those of the second reader."""
    model = read_model(read_nres(data, "x"), "x")
    got = world(decode(model, Dialect(dialect), "x"))
    got = np.concatenate([got[..., :3] @ TO_GAME, got[..., 3:6] @ TO_GAME, got[..., 6:]], axis=2)
    shown, directions, uv = SecondReader(path).triangles()
    wanted = np.concatenate([shown, directions, uv], axis=2)
    assert len(got) == len(wanted)
    for triangle in wanted:
        rolled = [np.roll(triangle, -k, axis=0) for k in range(3)]
        apart = [[np.abs(each[:, :3] - other[:, :3]).max() for other in rolled] for each in got]
        i, k = np.unravel_index(np.argmin(apart), (len(got), 3))
        assert apart[i][k] < 2e-3
        np.testing.assert_allclose(got[i][:, 3:6], rolled[k][:, 3:6], atol=0.02)
        known = ~np.isnan(rolled[k][:, 6:])
        np.testing.assert_allclose(got[i][:, 6:][known], rolled[k][:, 6:][known], atol=2e-3)
        got = np.delete(got, i, axis=0)


def same_motion(path: Path, data: bytes, dialect: str) -> None:
    """The model's animated nodes are at each frame where the second reader has them."""
    scene = decode(read_model(read_nres(data, "x"), "x"), Dialect(dialect), "x")
    for frame in range(scene.frame_count):
        for name, wanted in SecondReader(path).moved(frame / 24).items():
            i = [node.name for node in scene.nodes].index(name)
            track = next((track for track in scene.tracks if track.node == i), Track(i))
            moves, turns = (
                [] if one is None else evaluate(one, [frame]) for one in (track.translation, track.rotation)
            )
            move, turn = [*moves, scene.nodes[i].translation][0], [*turns, scene.nodes[i].rotation][0]
            np.testing.assert_allclose(move @ TO_GAME, wanted[:3, 3], rtol=1e-6, atol=1e-5)
            np.testing.assert_allclose(TO_GAME.T @ rotation_matrix(turn) @ TO_GAME, wanted[:3, :3], atol=2e-4)


def reported(back: ImportResult) -> list[str]:
    new = [fact.line for one in back.new_materials for fact in one.not_applied]
    return [*back.warnings, *(fact.line for fact in back.not_applied), *new]


@pytest.mark.parametrize("rule", ROWS)
def test_rules(rule: str, tmp_path: Path) -> None:
    words, path = ROWS[rule][0], built(rule).save(tmp_path)
    if table()[rule] == "refused":
        with pytest.raises(ConversionError) as caught:
            import_gltf(path, options=OPTIONS)
        assert words in str(caught.value)
        return
    back = import_gltf(path, options=OPTIONS)
    assert not any("is not read" in w or "broken" in w for w in back.warnings)
    said = reported(back)
    assert table()[rule] == ("reported" if words else "read")
    assert not words or any(words in line for line in said), said
    same_as_shown(tmp_path / "in.gltf", back.data, back.dialect)
    same_motion(tmp_path / "in.gltf", back.data, back.dialect)


def page() -> str:
    """The section of the page."""
    _, _, rest = PAGE.read_text("utf-8").partition("## What glTF demands")
    return rest.partition("\n## ")[0]


def table() -> dict[str, str]:
    """The outcome of each row of the page."""
    cells = re.findall(r"^\| (.+?) \| ([\dC.]*) \| (read|refused|reported)\b.*\|$", page(), re.M)
    return {rule: outcome for rule, _, outcome in cells}


def test_the_page_has_the_rows_and_no_other() -> None:
    assert set(table()) == set(ROWS)


@pytest.fixture(scope="module")
def invalid_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file for each error code of the Khronos validator, and one without an error."""
    folder, out = tmp_path_factory.mktemp("invalid"), {}
    out["valid"] = valid().save(folder)
    for code in [*CODES, *FILES]:
        data = invalid(code)
        out[code] = folder / (code + (".glb" if data[:4].lower() == b"gltf" else ".gltf"))
        out[code].write_bytes(data)
    return out


def test_the_khronos_validator_finds_each_of_its_errors_in_a_file(invalid_files: dict[str, Path]) -> None:
    issues_page = FOLDER / "node_modules/gltf-validator/ISSUES.md"
    require(issues_page.is_file(), "no glTF validator")
    codes = set(re.findall(r"^\|(\w+)\|.*\|Error\|$", issues_page.read_text("utf-8"), re.M))
    assert codes == CODES.keys() | FILES.keys() | {"INVALID_GL_VALUE"}  # of glTF 1.0
    found = issues(list(invalid_files.values()))
    said = {code: {one["code"] for one in found.get(str(path), [])} for code, path in invalid_files.items()}
    assert not said.pop("valid")
    assert {code for code, own in said.items() if code not in own} == {"GLB_INVALID_MAGIC"}  # then it is JSON


@pytest.mark.parametrize("code", [*CODES, *FILES])
def test_an_invalid_file_is_refused_in_words_or_read_as_the_page_says(
    code: str, invalid_files: dict[str, Path]
) -> None:
    stated = re.findall(r"^- \*\*(refused|reported|read)\*\*.*?: (.*?)\.?$", page().replace("\n  ", " "), re.M)
    outcome = {name: kind for kind, names in stated for name in re.findall(r"`(\w+)`", names)}
    assert outcome.keys() == CODES.keys() | FILES.keys()
    path = invalid_files[code]
    try:
        back = import_gltf(path, options=OPTIONS)
    except ConversionError as error:
        assert outcome[code] == "refused"
        said = str(error).replace(str(path), "")
        assert not re.search(r"Traceback|Expecting|Error\b|cannot be read as glTF|object at 0x", said), said
        return
    usual = import_gltf(invalid_files["valid"], options=OPTIONS).warnings
    assert outcome[code] == ("reported" if set(reported(back)) - set(usual) else "read"), reported(back)


# ------------------------------------------------------------------ files of other programs


def scenes_of_trimesh() -> dict[str, trimesh.Scene]:
    turn = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.1, 0.2, 0.3])
    nested, scaled, mirrored = trimesh.Scene(), trimesh.Scene(), trimesh.Scene()
    nested.add_geometry(trimesh.creation.box(), node_name="body")
    nested.add_geometry(trimesh.creation.cone(1, 2), node_name="head", parent_node_name="body", transform=turn)
    scaled.add_geometry(trimesh.creation.icosphere(1), transform=turn @ np.diag([2, 0.5, 1, 1]))
    mirrored.add_geometry(trimesh.creation.annulus(1, 2, 1), transform=np.diag([-1, 1, 1, 1]))
    coloured = trimesh.creation.box([1, 2, 3])
    coloured.visual.vertex_colors = np.arange(32).reshape(8, 4) * 7
    loose = trimesh.Scene(trimesh.creation.random_soup(50))
    smooth = trimesh.creation.capsule(2, 0.5, count=[8, 8])
    assert len(smooth.vertex_normals)  # then they are in the file
    made = {"nested": nested, "scaled": scaled, "mirrored": mirrored, "coloured": trimesh.Scene(coloured)}
    return made | {"triangles": loose, "smooth": trimesh.Scene(smooth)}


@pytest.mark.parametrize("name", scenes_of_trimesh())
def test_scenes_of_trimesh(name: str, tmp_path: Path) -> None:
    path = tmp_path / "in.gltf"
    path.write_bytes(export_gltf(scenes_of_trimesh()[name], embed_buffers=True)["model.gltf"])
    back = import_gltf(path)
    same_as_shown(path, back.data, back.dialect)


def test_draco(tmp_path: Path) -> None:
    dracopy = pytest.importorskip("DracoPy", reason="DracoPy is not installed")
    faces, ball = np.array([[0, 1, 2], [1, 3, 2]], np.uint32), trimesh.creation.icosphere(3)
    for ordered in (True, False):  # one after another, and edge by edge; numbers of several bytes
        packed = dracopy.encode(ball.vertices, faces=ball.faces, quantization_bits=14, preserve_order=ordered)
        assert _draco_counts(packed) == (len(ball.faces), len(ball.vertices)) == (1280, 642)
        packed = dracopy.encode(QUAD, faces=faces, quantization_bits=14, preserve_order=ordered)
        assert _draco_counts(packed) == (2, 4)
        b = Builder()
        b.node(mesh=b.mesh())
        whole = b.save(tmp_path).rename(tmp_path / "whole.gltf")
        about = {"bufferView": b.view(packed), "attributes": {"POSITION": 0}}
        primitive(b)["extensions"] = {"KHR_draco_mesh_compression": about}
        b.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
        back = import_gltf(b.save(tmp_path))
        same_as_shown(whole, back.data, back.dialect)


@pytest.mark.parametrize("uri", PATHS_ELSEWHERE)
def test_paths_to_other_machines_are_refused_before_anything_looks_there(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = Builder()
    b.node(mesh=b.mesh())
    path = b.save(tmp_path)
    path.write_text(json.dumps(b.document() | {"buffers": [{"byteLength": len(b.data), "uri": uri}]}))

    def looked(self: Path, strict: bool = False) -> Path:
        raise AssertionError(f"{self} was resolved")

    monkeypatch.setattr(Path, "resolve", looked)
    with pytest.raises(ConversionError, match="lies outside the file's directory"):
        import_gltf(path, options=ImportOptions(use_sidecar=False))
