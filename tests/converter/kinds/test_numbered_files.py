"""What an edit of a model does to the files that name its frames, nodes, points and triangles by number."""

import struct
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.cli import gltf2msh, msh2gltf
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.controller import node_references, read_controller
from msh_gltf.converter.formats.model_parts import read_footing, read_node_properties, read_points
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.assembly import registry
from tests.support.controller import State, action, channel, component, controller, walker
from tests.support.game import MESH, archive, entry, model
from tests.support.gltf_edit import Editable
from tests.support.points import CTPT, POINTS, cpt
from tests.support.rebuilt import parse
from tests.support.runs import call

#: 8 nodes, 26 frames; nodes 6 and 7 are leaves.
ROBOT, NODES, FRAMES = "retail__odd__s_rock_009", 8, 26
CTLD, BASE, NDPR = (int.from_bytes(code, "little") for code in (b"CTLD", b"BASE", b"NDPR"))


def made_controller() -> bytes:
    """Stands, walks 5..13, runs 13..25; contacts are points 1 and 2."""
    states = [
        State((5, 5), True, 50, (-2, 2)),
        State((5, 9), speed=(2, 8)),
        State((9, 13), speed=(2, 8)),
        State((13, 13), True, 50, (-2, 2)),
        State((13, 25), speed=(6, 14)),
        State((25, 25), True, 50),
    ]
    free = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    groups = [[action(7, 7), action(4, 2, 2, 1)], [action(27, 6)]]
    parts = [component(7, 1, [0], b"Turret"), component(6, 27)]
    return controller(states, [1, 2], free, [channel(7, (0, 25), 2), channel(6, (3, 3))], parts, groups)


def footing(places: list[tuple[int, int]]) -> bytes:
    """A ``.bas`` whose outline is taken from these triangles and corners."""
    n = len(places)
    rings = [struct.pack("<2i", 1, n) + bytes(12 * (n + 1)), struct.pack("<2i", 1, 0) + bytes(12)]
    columns = b"".join(struct.pack(f"<{n}i", *column) for column in zip(*places, strict=True))
    return rings[0] + columns + rings[1]


PLACES = [(0, 1), (3, 2), (10, 0)]


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """The glTF of a robot with everything that names parts of it, all entries of an archive."""
    root = tmp_path / "game"
    root.mkdir()
    properties = b"".join(struct.pack("<If", row, 100.0 + row).ljust(76, b"\0") for row in range(NODES))
    rows = [
        (MESH, b"robot.msh", model(ROBOT)),
        (CTLD, b"robot.ctl", made_controller()),
        (CTPT, b"robot.cpt", cpt(POINTS)),
        (BASE, b"robot.bas", footing(PLACES)),
        (NDPR, b"robot.ndp", struct.pack("<I", NODES) + properties),
        (MESH, b"other.msh", model(ROBOT)),
        (CTLD, b"shared.ctl", walker(20, node=7, points=1)),
    ]
    (root / "bases.rlb").write_bytes(archive([entry(*row) for row in rows]))
    keys = {"other": ("EXTO", [("bases.rlb", "other.msh"), ("bases.rlb", "shared.ctl")])}
    (root / "objects.rlb").write_bytes(registry(keys))
    for name in ("robot", "other"):
        target = tmp_path / f"{name}.glb"
        assert call(msh2gltf, root / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
    return tmp_path / "robot.glb"


def edited(path: Path, document: Editable) -> ImportResult:
    return import_gltf(document.save(path.with_name("edited.glb")), path.with_suffix(".msh-sidecar"))


def companions(result: ImportResult) -> dict[str, bytes]:
    return {one.ending: one.data for one in result.companions}


def channels(document: Editable, node: int, path: str) -> list[dict]:
    """Samplers of a node."""
    animation = document.json["animations"][0]
    found = [c for c in animation["channels"] if c["target"] == {"node": node, "path": path}]
    return [animation["samplers"][c["sampler"]] for c in found]


def forget(document: Editable, number: int) -> None:
    """Take a node out of the tree, and its animation."""
    for node in [*document.json["nodes"], *document.json["scenes"]]:
        for key in ("children", "nodes"):
            if number in node.get(key, []):
                node[key].remove(number)
                if not node[key]:
                    del node[key]
    animation = document.json["animations"][0]
    animation["channels"] = [c for c in animation["channels"] if c["target"]["node"] != number]


def delete_6(document: Editable) -> None:
    """Delete node 6; what was below it goes to its parent."""
    parent = next(node for node in document.json["nodes"] if 6 in node.get("children", []))
    below = [i for i in document.json["nodes"][6].pop("children", []) if i == 7]
    forget(document, 6)
    parent["children"] = [*parent.get("children", []), *below]
    names = [node["name"] for node in document.json["nodes"]]
    for i, name in enumerate(names):
        if name.startswith(f"{names[6]}."):
            forget(document, i)


def test_what_is_not_touched_stays(robot: Path) -> None:
    result = import_gltf(robot)
    assert result.unchanged
    assert not result.companions
    assert not result.warnings
    assert {one.ending for one in result.kept_companions} >= {".ctl", ".ndp", ".cpt"}


def test_a_shorter_clip_names_states_and_channels_that_freeze(robot: Path) -> None:
    document = Editable(robot)
    for sampler in document.json["animations"][0]["samplers"]:
        for key in ("input", "output"):
            sampler[key] = document.add(document.arrays[sampler[key]][:11])
    result = edited(robot, document)
    (line,) = [one for one in result.warnings if "clip ends" in one]
    assert line == (
        "robot.ctl: clip ends at frame 10, it ended at 25: later frames of states 2-5, channel 0 show the last pose"
    )
    assert not [one for one in result.warnings if "changed" in one]


def test_frames_that_change_name_the_ranges_that_play_them(robot: Path) -> None:
    document = Editable(robot)
    (sampler,) = channels(document, 0, "rotation")
    values = document.arrays[sampler["output"]]
    values[7] = [0.5, 0.5, 0.5, 0.5]
    result = edited(robot, document)
    (line,) = [one for one in result.warnings if "robot.ctl" in one]
    assert line == "robot.ctl: frame 7 changed, played by state 1, channel 0 (range 5-13)"


def test_a_root_that_moves_otherwise_states_the_stride_before_and_after(robot: Path) -> None:
    document = Editable(robot)
    (sampler,) = channels(document, 0, "translation")
    values = document.arrays[sampler["output"]]
    values[:] = 0
    values[:, 2] = -np.arange(FRAMES, dtype=np.float32) / 2
    root = len(document.json["nodes"])  # an editor may write it last
    document.json["nodes"].append(document.json["nodes"][0])
    document.json["nodes"][0] = {"name": "empty"}
    for scene in document.json["scenes"]:
        scene["nodes"] = [root if i == 0 else i for i in scene["nodes"]]
    for one in document.json["animations"][0]["channels"]:
        one["target"]["node"] = one["target"]["node"] or root
    result = edited(robot, document)
    (line,) = [one for one in result.warnings if "stride" in one]
    assert line == (
        "robot.ctl: the root moves otherwise, which sets the unit's speed: "
        "range 5..13 in 1.31 s at 5 m/s became 5..13 in 0.8 s at 5 m/s (stride 6.526 became 4); "
        "range 13..25 in 1.09 s at 10 m/s became 13..25 in 0.6 s at 10 m/s (stride 10.89 became 6)"
    )


def test_a_deleted_control_point_that_is_named_keeps_its_place(robot: Path) -> None:
    document = Editable(robot)
    of_name = {node["name"]: i for i, node in enumerate(document.json["nodes"])}
    forget(document, of_name["CameraCenter.point"])
    forget(document, of_name["Свет.point"])
    forget(document, of_name["gone.point"])
    result = edited(robot, document)
    assert {one.where: one.why for one in result.not_applied} == {
        "control point 0 'CameraCenter.point'": "robot.ctl names points after it by their rows, which would move up",
        "control point 2 'Свет.point'": "robot.ctl names it: states 0-5 contact 1, channel 0, group 0 action 1",
    }
    points = read_points(companions(result)[".cpt"], "x")
    assert [points.name(row) for row in range(3)] == [POINTS[row][0] for row in range(3)]
    assert len(points.records) == 3  # the last one, which nothing names, is deleted


def test_new_control_points_come_last(robot: Path) -> None:
    document = Editable(robot)
    document.json["nodes"][0].setdefault("children", []).append(len(document.json["nodes"]))
    document.json["nodes"].append({"name": "AAA.point"})
    points = read_points(companions(edited(robot, document))[".cpt"], "x")
    assert [points.name(row) for row in range(5)] == [*(point[0] for point in POINTS), "AAA"]


def test_numbers_follow_the_nodes_and_deleted_ones_are_named(robot: Path) -> None:
    document = Editable(robot)
    delete_6(document)
    result = edited(robot, document)
    parent = parse(model(ROBOT)).parents[6]
    (line,) = [one for one in result.warnings if "is gone" in one]
    assert "robot.ctl: node 6 " in line
    assert f"which channel 1, component 1, group 1 action 0 named: now node {parent} is named" in line
    made = companions(result)
    numbers = [found.number for found in node_references(read_controller(made[".ctl"], "x"))]
    assert numbers == [6, parent, 6, parent, 6, parent]
    assert read_controller(made[".ctl"], "x").channels["flags"].tolist() == [1, 1 | 4]
    assert read_node_properties(made[".ndp"], "x")["flags"].tolist() == [0, 1, 2, 3, 4, 5, 7]
    assert any(str(change) == "robot.ctl: follows the numbers of its model's nodes" for change in result.changes)


def test_a_new_node_has_the_properties_of_its_parent(robot: Path) -> None:
    document = Editable(robot)
    document.json["nodes"][3].setdefault("children", []).append(len(document.json["nodes"]))
    document.json["nodes"].append({"name": "arm", "translation": [1, 0, 0]})
    result = edited(robot, document)
    records = read_node_properties(companions(result)[".ndp"], "x")
    assert records["hit_points"].tolist() == [*(100.0 + row for row in range(8)), 103.0]
    name = document.json["nodes"][3]["name"]
    assert f"robot.ndp: node 'arm': has the hit points of its parent {name!r}" in map(str, result.changes)


@pytest.mark.parametrize("where", ["nowhere", "beside", "in the game", "in the game, no extras"])
def test_without_a_sidecar_what_a_controller_names_is_compared_or_said_to_be_unknown(robot: Path, where: str) -> None:
    """A node, a control point and frames 11..25 are gone, and the root moves otherwise."""
    document = Editable(robot)
    for sampler in document.json["animations"][0]["samplers"]:
        for key in ("input", "output"):
            sampler[key] = document.add(document.arrays[sampler[key]][:11])
    (root,) = channels(document, 0, "translation")
    document.arrays[root["output"]][:] = np.arange(11, dtype=np.float32)[:, None] * [0, 0, -0.25]
    delete_6(document)
    forget(document, next(i for i, node in enumerate(document.json["nodes"]) if node["name"] == "CameraCenter.point"))
    if "no extras" in where:
        for node in document.json["nodes"]:
            node.pop("extras", None)
    path = document.save(robot.with_name("alone.glb"))
    if where == "beside":
        robot.with_name("robot.ctl").write_bytes(made_controller())
    game = str(robot.parent / "game") if "in the game" in where else None
    options = ImportOptions("retail", use_sidecar=False, game=game)
    warnings = import_gltf(path, None, options).warnings
    lines = [line for line in warnings if ".ctl" in line]
    if where == "nowhere":
        assert lines == [
            "a controller of 6 states plays this model, and no robot.ctl was found: what it names of nodes, control "
            "points and frames was not compared (put it beside the file, or name the game with --game); frames after "
            "the clip's last, 10, are named by states 2-5"
        ]
        return
    late, gone, moved, points, root_moves = lines if where == "beside" else [lines[i] for i in (-3, 0, 1, 2, -1)]
    assert late.endswith(
        "clip ends at frame 10, it ended at 25: later frames of states 2-5, channel 0 show the last pose"
    )
    assert gone == "robot.ctl names what the model has not: node 6 (channel 1, component 1, group 1 action 0)"
    assert moved.endswith("node 7 is now 6 (channel 0, component 0, group 0 action 0)")
    assert "control point 1 is now 0" in points
    assert "2 is now 1" in points
    same = "range 5..13 in 0.25 s at 5 m/s took 1.31 s"
    if where != "beside":
        same = "range 5..13 in 1.31 s at 5 m/s became 5..13 in 0.25 s at 5 m/s (stride 6.526 became 1.25)"
    assert same in root_moves


def test_without_a_sidecar_a_changed_frame_is_seen_by_the_games_own_model(robot: Path) -> None:
    options, own = ImportOptions(use_sidecar=False, game=str(robot.parent / "game")), Editable(robot)
    assert [line for line in import_gltf(robot, None, options).warnings if ".ctl" in line] == []
    (sampler,) = channels(own, 0, "rotation")
    own.arrays[sampler["output"]][7] = [0.5, 0.5, 0.5, 0.5]
    (line,) = [x for x in import_gltf(own.save(robot.with_name("f.glb")), None, options).warnings if ".ctl" in x]
    assert "frame 7 changed, played by state 1, channel 0 (range 5-13)" in line


def test_a_controller_of_another_name_is_not_changed(robot: Path) -> None:
    other = robot.with_name("other.glb")
    document = Editable(other)
    delete_6(document)
    result = import_gltf(document.save(other.with_name("e.glb")), other.with_suffix(".msh-sidecar"))
    assert ".ctl" not in companions(result)
    (line,) = [one for one in result.warnings if "shared.ctl" in one]
    assert (
        "bases.rlb::shared.ctl is not the model's own and stays; nodes have other numbers: channel 0: 7 is now 6"
        in line
    )


def test_triangles_of_a_footing_follow_a_rebuild(robot: Path) -> None:
    """A triangle that is as it was keeps being named, wherever it is now; one that is gone is named."""
    before = parse(model(ROBOT))
    document = Editable(robot)
    mesh = document.json["meshes"][0]["primitives"][0]
    indices = document.arrays[mesh["indices"]].reshape(-1, 3)
    mesh["indices"] = document.add(np.roll(indices[1:], 1, axis=1).reshape(-1, 1)[::-1].copy().reshape(-1, 1))
    mesh["indices"] = document.add(indices[1:].reshape(-1, 1))
    result = edited(robot, document)
    after = parse(result.data)
    made = read_footing(companions(result).get(".bas", footing(PLACES)), "x")

    def corner(table, triangle: int, number: int) -> list[float]:
        batches = table.batches
        at = 3 * triangle + number
        row = next(b for b in batches if b["index_start"] <= at < b["index_start"] + b["index_count"])
        return table.positions[int(table.indices[at]) + int(row["base_vertex"])].tolist()

    lost = [one for one in result.warnings if "robot.bas" in one]
    kept = 0
    for (triangle, number), now, turned in zip(PLACES, made.triangles.tolist(), made.corners.tolist(), strict=True):
        if f"triangle {triangle} " in "".join(lost):
            continue
        assert corner(before, triangle, number) == corner(after, now, turned)
        kept += 1
    assert kept + len(lost) >= len(PLACES) - 1
    assert kept < len(PLACES) or not lost


def test_the_command_writes_them_back_into_the_archive(robot: Path, capfd: pytest.CaptureFixture) -> None:
    document = Editable(robot)
    delete_6(document)
    document.save(robot)
    out = robot.with_name("new.msh")
    assert call(gltf2msh, robot, "-o", out) == 0
    assert "robot.ctl: node 6 " in capfd.readouterr().err
    written = {path.suffix for path in out.parent.glob("new.*")}
    assert written >= {".msh", ".ctl", ".ndp"}
    assert read_nres(read_file(out), "").type_ids
