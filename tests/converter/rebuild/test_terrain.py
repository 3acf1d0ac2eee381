"""Edits of a terrain: they arrive, the rules hold, and nothing else changes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter import cli
from msh_gltf.converter.checks.terrain import check_terrain
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.terrain import read_terrain, write_terrain
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.gltf_edit import Editable
from tests.support.maps import LEVELS, every_level, level_called
from tests.support.runs import call, run
from tests.support.terrain_maker import make_terrain
from tests.support.terrain_twin import Tables, check

LEVEL = "spec__AutoMAP_00"
#: Tables that a new vertex gets a row in, and the numbers of one.
NEW_VERTEX = ((5, "<i2", 2), (18, "<i2", 2), (4, "i1", 4), (14, "<f4", 1))


class Edit:
    """A level's glTF as arrays: one position stream, and indices by level and primitive."""

    def __init__(self, level, folder: Path) -> None:
        self.path = folder / "Land.glb"
        source = level.folder / "Land.msh"
        assert call(cli.msh2gltf, source, "-o", self.path, "-q", "--force") == 0
        self.source = source.read_bytes()
        self.document = Editable(self.path)
        attributes = self.document.json["meshes"][0]["primitives"][0]["attributes"]
        self.attributes = attributes
        self.positions = self.document.arrays[attributes["POSITION"]]

    def primitives(self, mesh: int = 0) -> list[dict]:
        return self.document.json["meshes"][mesh]["primitives"]

    def index(self, primitive: dict) -> np.ndarray:
        return self.document.arrays[primitive["indices"]].reshape(-1, 3)

    def set_index(self, primitive: dict, triangles: np.ndarray) -> None:
        self.document.arrays[primitive["indices"]] = triangles.reshape(-1, 1).astype("<u2")

    def append(self, **streams: list) -> int:
        """A vertex like vertex 0 but for some streams; returns its number."""
        for name, accessor in self.attributes.items():
            array = self.document.arrays[accessor]
            row = np.array(streams.get(name, array[0]), array.dtype).reshape(1, -1)
            self.document.arrays[accessor] = np.concatenate([array, row])
        return len(self.document.arrays[self.attributes["POSITION"]]) - 1

    def back(self) -> ImportResult:
        self.document.save(self.path)
        return import_gltf(self.path)


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    return Edit(level_called(LEVEL), tmp_path)


def differing(before: bytes, after: bytes) -> set[int]:
    """Types of the tables that differ."""
    a, b = Tables(before), Tables(after)
    return {kind for kind in a.tables if a.tables[kind] != b.tables[kind]}


def inner_vertex(edit: Edit) -> int:
    """A vertex that many fine faces use, away from the squares' borders."""
    tables = Tables(edit.source)
    size = tables.hull()[:, 0].max() / tables.attributes[1][1]
    used = np.concatenate([edit.index(p).reshape(-1) for p in edit.primitives()])
    number = np.bincount(used, minlength=len(edit.positions))
    place = edit.positions[:, [0, 2]] / size % 1
    inside = ((np.abs(place) > 0.2) & (np.abs(place) < 0.8)).all(axis=1)
    return int(np.argmax(number * inside))


@every_level
def test_a_raised_vertex_touches_what_depends_on_it(level, tmp_path: Path) -> None:
    edit = Edit(level, tmp_path)
    vertex = inner_vertex(edit)
    edit.positions[vertex, 1] += 3
    back = edit.back()
    check(back.data)
    assert differing(edit.source, back.data) <= {2, 3, 21}
    before, after = Tables(edit.source), Tables(back.data)
    moved = np.flatnonzero((before.positions != after.positions).any(axis=1))
    assert moved.tolist() == [vertex]
    assert after.positions[vertex, 2] == edit.positions[vertex, 1]
    for i, (a, b) in enumerate(zip(before.faces, after.faces, strict=True)):
        if vertex in before.vertex[i]:
            assert a[:14] + a[27:] == b[:14] + b[27:]
        else:
            assert a == b
    again = tmp_path / "again.glb"
    (tmp_path / "Land.msh").write_bytes(back.data)
    assert call(cli.msh2gltf, tmp_path / "Land.msh", "-o", again, "-q") == 0
    shown = Editable(again)
    positions = shown.arrays[shown.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
    np.testing.assert_array_equal(positions, edit.positions)


@every_level
def test_random_edits_keep_every_rule(level, tmp_path: Path) -> None:
    """Heights, deletions, cuts and materials at once, three times over."""
    for seed in range(3):
        edit = Edit(level, tmp_path)
        chance = np.random.default_rng(seed)
        number = len(edit.positions)
        up = chance.random(number) < 0.05
        for primitive in edit.primitives(1):  # a corner that both levels use may lose its fine faces
            up[edit.index(primitive)] = False
        edit.positions[up, 1] += chance.normal(0, 2, int(up.sum())).astype("<f4")
        total = 0
        for primitive in edit.primitives():
            index = edit.index(primitive)
            keep = chance.random(len(index)) > 0.02
            cut = np.flatnonzero(keep & (chance.random(len(index)) < 0.02))
            fresh = []
            for row in cut.tolist():
                a, b, c = index[row].tolist()
                corners = edit.document.arrays[edit.attributes["POSITION"]][[a, b, c]]
                middle = corners.astype("f8").mean(axis=0)
                m = edit.append(POSITION=middle.tolist())
                fresh += [(a, b, m), (b, c, m), (c, a, m)]
            keep[cut] = False
            triangles = np.concatenate([index[keep], np.array(fresh).reshape(-1, 3)])
            edit.set_index(primitive, triangles)
            total += len(triangles)
        first = edit.primitives()[0]
        first["material"] = edit.primitives()[-1]["material"]
        back = edit.back()
        check(back.data)
        tables = Tables(back.data)
        assert sum(tables.runs[s[0]][1] for s in tables.squares) == total
        # rebuilding what was rebuilt changes nothing
        (tmp_path / "again").mkdir(exist_ok=True)
        (tmp_path / "again/Land.msh").write_bytes(back.data)
        again = tmp_path / "again/Land.glb"
        assert call(cli.msh2gltf, tmp_path / "again/Land.msh", "-o", again, "-q", "--force") == 0
        assert import_gltf(again).kept_all


def test_deleting_and_adding(edit: Edit) -> None:
    """One face becomes two: the words of the face they replace come along."""
    before = Tables(edit.source)
    vertex = inner_vertex(edit)
    primitive = next(p for p in edit.primitives() if vertex in edit.index(p))
    index = edit.index(primitive)
    row = int(np.flatnonzero((index == vertex).any(axis=1))[0])
    a, b, c = index[row].tolist()
    middle = (edit.positions[a].astype("f8") + edit.positions[b]) / 2
    shown = {"TEXCOORD_0": [0.5, -0.25], "TEXCOORD_1": [1.5, 2.0], "NORMAL": [0, 0, 0]}
    m = edit.append(POSITION=middle.tolist(), **shown)
    kept = np.delete(index, row, axis=0)
    edit.set_index(primitive, np.concatenate([kept, [(a, m, c), (m, b, c)]]))
    back = edit.back()
    check(back.data)
    after = Tables(back.data)
    assert len(after.faces) == len(before.faces) + 1
    assert differing(edit.source, back.data) == {2, 3, 4, 5, 11, 14, 18, 21}
    old = next(f for f, v in zip(before.faces, before.vertex, strict=True) if set(v) == {a, b, c})
    new = [f for f, v in zip(after.faces, after.vertex, strict=True) if len(before.positions) in v]
    assert len(new) == 2
    last = [np.frombuffer(after.tables[kind], form)[-n:].tolist() for kind, form, n in NEW_VERTEX]
    assert last == [[512, -256], [1536, 2048], [0, 0, 127, 0], [1.0]]
    for face in new:
        assert face[2:8] == old[2:8]  # surface word, materials, the word at +6
    # faces of other squares are the same but for the numbers of links
    assert json.dumps(back.report).count("rebuilt") == 1


def test_a_face_over_another(edit: Edit) -> None:
    """It replaces none, so its words are those of new ground."""
    before = Tables(edit.source)
    primitive = edit.primitives()[0]
    index = edit.index(primitive)
    raised = [edit.append(POSITION=(edit.positions[v] + [0, 9, 0]).tolist()) for v in index[-1].tolist()]
    edit.set_index(primitive, np.concatenate([index, [raised]]))
    back = edit.back()
    check(back.data)
    after = Tables(back.data)
    [face] = [f for f, v in zip(after.faces, after.vertex, strict=True) if min(v) >= len(before.positions)]
    assert (face[:8].hex(), face[27:].hex()) == ("0006100005ffffff", "00")


def test_a_new_pair_by_name(edit: Edit) -> None:
    """Two names of Land1.wea with a + between; case is nothing."""
    edit.document.json["materials"].append({"name": "lnd_03+LND_05"})
    edit.primitives()[0]["material"] = len(edit.document.json["materials"]) - 1
    count = len(edit.index(edit.primitives()[0]))
    back = edit.back()
    check(back.data)
    after = Tables(back.data)
    assert sum((f[4], f[5]) == (4, 6) for f in after.faces) >= count


def test_texture_coordinates_and_blend(edit: Edit) -> None:
    vertex = inner_vertex(edit)
    for name, table in (("TEXCOORD_0", 5), ("TEXCOORD_1", 18)):
        edit.document.arrays[edit.attributes[name]][vertex] += 0.25
        back = edit.back()
        check(back.data)
        assert differing(edit.source, back.data) == {table}
        edit.document.arrays[edit.attributes[name]][vertex] -= 0.25
    edit.document.arrays[edit.attributes["TEXCOORD_0"]][vertex] += 1000
    back = edit.back()
    assert "a stored one has 16 bits, -32 to 32" in [edit.why for edit in back.not_applied]
    edit.document.arrays[edit.attributes["TEXCOORD_0"]][vertex] -= 1000
    edit.document.arrays[edit.attributes["_MSH_BLEND"]][vertex] = 0.125
    back = edit.back()
    assert differing(edit.source, back.data) == {14}
    values = np.frombuffer(Tables(back.data).tables[14], "<f4")
    assert values[vertex] == 0.125
    assert str(back.changes[0]).startswith("fine level: blend changed on ")


def test_painted_ground_is_named(edit: Edit) -> None:
    colours = np.full((len(edit.positions), 4), 255, "u1")
    for primitive in edit.primitives():
        primitive["attributes"]["COLOR_0"] = edit.document.add(colours)
        edit.document.normalized[primitive["attributes"]["COLOR_0"]] = True
    assert edit.back().not_applied == []
    for primitive in edit.primitives():
        edit.document.arrays[primitive["attributes"]["COLOR_0"]][3] = [255, 0, 0, 255]
    assert [one.where for one in edit.back().not_applied] == ["vertex colours"]


def test_without_custom_attributes(edit: Edit) -> None:
    """As Blender's exporter writes it by default: no extras, no _MSH_BLEND."""
    for part in (*edit.document.json["materials"], *edit.document.json["nodes"]):
        part.pop("extras", None)
    for mesh in edit.document.json["meshes"]:
        mesh.pop("extras", None)
        for primitive in mesh["primitives"]:
            primitive["attributes"] = {k: v for k, v in primitive["attributes"].items() if k != "_MSH_BLEND"}
    back = edit.back()
    assert back.kept_all
    assert any("set Data > Mesh > Attributes" in text for text in back.warnings)
    edit.positions[inner_vertex(edit), 1] += 3
    back = edit.back()
    check(back.data)
    assert differing(edit.source, back.data) <= {2, 3, 21}


def test_a_moved_object(edit: Edit) -> None:
    """The object itself is lifted: every height follows."""
    for node in edit.document.json["nodes"]:
        node["translation"] = [0, 2, 0]
    back = edit.back()
    check(back.data)
    before, after = Tables(edit.source), Tables(back.data)
    moved = np.add(before.positions.astype("f8"), [0, 0, 2])
    np.testing.assert_array_equal(after.positions, moved.astype("<f4"))


def test_a_face_across_a_border(edit: Edit) -> None:
    vertex = inner_vertex(edit)
    edit.positions[vertex, 0] += 400
    with pytest.raises(ConversionError, match=r"a face crosses its square's border: a face|face \d"):
        edit.back()


def test_a_level_that_is_not_shown_stays(edit: Edit) -> None:
    """Without the coarse scene in the file the coarse faces stay, and follow their vertices."""
    document = edit.document.json
    document["scenes"] = document["scenes"][:1]
    edit.positions[:, 1] += 1
    back = edit.back()
    check(back.data)
    before, after = Tables(edit.source), Tables(back.data)
    assert [f[:14] for f in before.faces] == [f[:14] for f in after.faces]


def test_coarse_edits(edit: Edit) -> None:
    """A coarse face goes; another is made over the fine level's vertices."""
    primitive = edit.primitives(1)[0]
    index = edit.index(primitive)
    edit.set_index(primitive, index[1:])
    back = edit.back()
    check(back.data)
    before, after = Tables(edit.source), Tables(back.data)
    assert len(after.faces) == len(before.faces) - 1
    assert str(back.changes[0]).startswith("coarse level: ")
    fine = sum(before.runs[s[0]][1] for s in before.squares)
    assert [f[:26] for f in after.faces[:fine]] == [f[:26] for f in before.faces[:fine]]

    edit.set_index(primitive, index)
    assert edit.back().kept_all
    # coarse faces of their own vertices, where the fine level has none
    positions = edit.document.arrays[edit.attributes["POSITION"]]
    a, b, c = index[0].tolist()
    middle = np.float32(positions[[a, b, c]].astype("f8").mean(axis=0))
    m = edit.append(POSITION=middle.tolist())
    edit.set_index(primitive, np.concatenate([index[1:], [(a, b, m), (b, c, m), (c, a, m)]]))
    place = f"({middle[0]:g}, {-middle[2]:g}, {middle[1]:g})"
    with pytest.raises(ConversionError, match=f"that the fine level does not have: {re.escape(place)}"):
        edit.back()


def test_another_object_joins_the_fine_level(edit: Edit) -> None:
    """An artist's own object: its faces are new faces of the fine level."""
    document = edit.document.json
    vertex = inner_vertex(edit)
    place = edit.positions[vertex].astype("f8")
    corners = [edit.append(POSITION=(place + d).tolist()) for d in ((0, 9, 0), (0, 9, 2), (2, 9, 0))]
    index = edit.document.add(np.array(corners, "<u2").reshape(-1, 1))
    primitive = {"attributes": edit.attributes, "indices": index, "material": 0}
    document["meshes"].append({"name": "roof", "primitives": [primitive]})
    document["nodes"].append({"name": "roof", "mesh": len(document["meshes"]) - 1})
    document["scenes"][0]["nodes"].append(len(document["nodes"]) - 1)
    back = edit.back()
    check(back.data)
    before, after = Tables(edit.source), Tables(back.data)
    assert len(after.faces) == len(before.faces) + 1
    assert len(after.positions) == len(before.positions) + 3
    new = next(f for f, v in zip(after.faces, after.vertex, strict=True) if max(v) >= len(before.positions))
    flags = int.from_bytes(new[:4], "little")
    assert flags & ~4 == 0x100600
    assert new[6:8] == b"\xff\xff"
    assert new[27] == 0


def test_odd_links_stay_where_nothing_happened(edit: Edit, tmp_path: Path) -> None:
    """Stored links that no rule explains are changed near the edit only."""
    source = bytearray(edit.source)
    tables = Tables(edit.source)
    at = edit.source.index(tables.tables[21])
    vertex = inner_vertex(edit)
    far = next(
        i for i, v in enumerate(tables.vertex) if np.abs(tables.positions[v[0]] - tables.positions[vertex]).max() > 300
    )
    source[at + 28 * far + 14 : at + 28 * far + 20] = b"\xff\xff" * 3
    source[at + 28 * far + 26] = 0xBF  # and two upper bits that nobody knows
    beside = next(  # a face beside one that the edit changes
        other
        for face, links in enumerate(tables.link)
        if vertex in tables.vertex[face]
        for other in links
        if other != 0xFFFF and vertex not in tables.vertex[other]
    )
    source[at + 28 * beside + 14 : at + 28 * beside + 20] = b"\xff\xff" * 3
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/Land.msh").write_bytes(source)
    level = type("L", (), {"folder": tmp_path / "odd"})()
    odd = Edit(level, tmp_path)
    odd.positions[vertex, 1] += 3
    after = Tables(odd.back().data)
    assert after.faces[far] == bytes(source[at + 28 * far : at + 28 * far + 28])
    assert after.link[beside] == tables.link[beside]


def test_a_stored_order_of_drawing_stays_where_nothing_happened(edit: Edit, tmp_path: Path) -> None:
    """A slot whose faces are the same keeps the order that its file has, though another is usual."""
    tables = Tables(edit.source)
    start, count = tables.runs[tables.squares[0][0]]
    rows = np.frombuffer(tables.tables[11], "<u2").reshape(-1, 2).copy()
    rows[start : start + count, 0] = rows[start : start + count, 0][::-1]
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd/Land.msh").write_bytes(edit.source.replace(tables.tables[11], rows.tobytes()))
    odd = Edit(type("L", (), {"folder": tmp_path / "odd"})(), tmp_path)
    # a face at the other end of the level goes: all slots after it move
    away = [(odd.positions[odd.index(p)] @ (1, 0, -1)).min(axis=1) for p in odd.primitives()]
    last = max(range(len(away)), key=lambda i: away[i].max())
    primitive = odd.primitives()[last]
    odd.set_index(primitive, np.delete(odd.index(primitive), away[last].argmax(), axis=0))
    after = Tables(odd.back().data)
    assert len(after.faces) == len(tables.faces) - 1
    kept = np.frombuffer(after.tables[11], "<u2").reshape(-1, 2)
    assert after.runs[after.squares[0][0]] == (start, count)
    np.testing.assert_array_equal(kept[start : start + count], rows[start : start + count])


def test_report_and_inspection(edit: Edit, tmp_path: Path) -> None:
    edit.positions[inner_vertex(edit), 1] += 3
    edit.document.save(edit.path)
    report = tmp_path / "report.json"
    result = run("gltf2msh", edit.path, "-o", f"{tmp_path}/new/", "--report", report)
    assert result.returncode == 0, result.stderr
    assert "Land.msh: 1 change" in result.stdout
    facts = json.loads(report.read_text("utf-8"))
    assert facts["items"][0]["what"] == "square"
    assert len(LEVELS) >= 3


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    across=st.integers(1, 4),
    down=st.integers(1, 4),
    steps=st.integers(1, 4),
    blend=st.booleans(),
    x_first=st.booleans(),
)
def test_generated_terrains(
    seed: int, across: int, down: int, steps: int, blend: bool, x_first: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Terrains of any shape come back byte for byte, and keep the rules when they are edited."""
    folder = tmp_path_factory.mktemp("made")
    data = make_terrain(seed, across=across, down=down, steps=steps, blend=blend, x_first=x_first)
    (folder / "Land.msh").write_bytes(data)
    terrain = read_terrain(read_nres(data, "Land.msh"), "Land.msh")
    assert write_terrain(terrain) == data
    assert [f for f in check_terrain(terrain) if f.severity != "note"] == []
    edit = Edit(type("L", (), {"folder": folder})(), folder)
    back = edit.back()
    assert back.kept_all
    assert back.data == data
    chance = np.random.default_rng(seed)
    edit.positions[:, 1] += chance.normal(0, 1, len(edit.positions)).astype("<f4")
    back = edit.back()
    after = Tables(back.data)
    np.testing.assert_array_equal(after.positions[:, 2], edit.positions[:, 1])
    assert differing(data, back.data) <= {2, 3, 21}
    if x_first:
        check(back.data)
    edit = Edit(type("L", (), {"folder": folder})(), folder)
    primitive = edit.primitives()[0]
    index = edit.index(primitive)
    if len(index) > 1:
        edit.set_index(primitive, index[1:])
        back = edit.back()
        assert len(Tables(back.data).faces) == len(after.faces) - 1
        if x_first:
            check(back.data)
