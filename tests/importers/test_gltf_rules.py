"""What glTF 2.0 demands of a reader: a file for each row of the table in ``docs/reference/gltf.md``.

A row is *read* (a second reader shows the same), *refused* (in words) or *reported* (a line, and the
rest as the second reader shows it); nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import import_gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode, rest_pose
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.converter.scene.scene import Track, evaluate
from tests.support.foreign import TO_GAME, Builder
from tests.support.gltf_codes import CODES, FILES, invalid, valid
from tests.support.gltf_reader_rules import ROWS
from tests.support.runs import require
from tests.support.second_reader import SecondReader
from tests.support.validator import FOLDER, issues

PAGE = Path(__file__).parents[2] / "docs/reference/gltf.md"


def save(b: Builder, folder: Path) -> Path:
    short, raw = b.json.pop("short", False), b.json.pop("raw", None)
    path = b.save(folder)
    if raw is not None:
        data = raw(b.document(), b.data)
        for name, beside in b.json.pop("files", {}).items():
            (folder / name).write_bytes(beside)
        path = folder / ("raw.glb" if data[:4] == b"glTF" else "raw.gltf")
        path.write_bytes(data)
    if short:
        document = json.loads(path.read_text())
        document["buffers"][0]["byteLength"] += 4
        path.write_text(json.dumps(document))
    return path


def same_as_shown(path: Path, data: bytes, dialect: str) -> None:
    """The model's triangles, normals and texture coordinates are those of the second reader."""
    model = read_model(read_nres(data, "x"), "x")
    scene = decode(model, Dialect(dialect), "x")
    turn, shift = rest_pose(scene)
    rows = []
    for part in scene.parts:
        matrix = rotation_matrix(turn[part.node])
        for p in scene.meshes[part.mesh].primitives:
            index = scene.streams.indices[p.index_start : p.index_start + p.index_count].astype(int) + p.vertex_start
            corners = scene.streams.positions[index].astype(float) @ matrix.T + shift[part.node]
            normals = scene.streams.normals[index] @ matrix.T
            uv = np.zeros((len(index), 2)) if scene.streams.uv0 is None else scene.streams.uv0[index]
            rows.append(np.concatenate([corners @ TO_GAME, normals @ TO_GAME, uv], axis=1).reshape(-1, 3, 8))
    got = np.concatenate([np.zeros((0, 3, 8)), *rows])
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


@pytest.mark.parametrize("rule", ROWS)
def test_rules(rule: str, tmp_path: Path) -> None:
    words, build = ROWS[rule]
    b = Builder()
    build(b)
    path = save(b, tmp_path)
    if table()[rule] == "refused":
        with pytest.raises(ConversionError) as caught:
            import_gltf(path, options=ImportOptions(rigid_skin=True, fps=24))
        assert words in str(caught.value)
        return
    back = import_gltf(path, options=ImportOptions(rigid_skin=True, fps=24))
    assert not any("is not read" in w or "broken" in w for w in back.warnings)
    said = [*back.warnings, *(fact.line for fact in back.not_applied)]
    said += [fact.line for new in back.new_materials for fact in new.not_applied]
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
        back = import_gltf(path, options=ImportOptions(rigid_skin=True, fps=24))
    except ConversionError as error:
        assert outcome[code] == "refused"
        said = str(error).replace(str(path), "")
        assert not re.search(r"Traceback|Expecting|Error\b|cannot be read as glTF|object at 0x", said), said
        return
    lines = [*back.warnings, *(fact.line for fact in back.not_applied)]
    lines += [fact.line for new in back.new_materials for fact in new.not_applied]
    usual = import_gltf(invalid_files["valid"], options=ImportOptions(rigid_skin=True)).warnings
    assert outcome[code] == ("reported" if set(lines) - set(usual) else "read"), lines
