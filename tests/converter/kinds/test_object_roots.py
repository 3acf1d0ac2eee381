"""Moving or deleting what shows an object of a mission is an edit of the object."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.mission import Mission, read_mission
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.assembled_game import BASE, ROBOT
from tests.support.gltf_view import trs
from tests.support.inside_game import Inside, Node, convert, make, robot_of

#: How a root is found: the row of its object, and the number of its node, -1 = the component.
ROOTS = {
    "a building": (0, -1),
    "the mesh of a building": (0, 0),
    "a robot": (2, -1),
    "the mesh of a robot": (2, 0),
    "the mesh of a rock": (3, 0),
    "the mesh of a house": (5, 0),
}
MOVED, TURNED = (3.0, -0.5, 2.0), (0.0, 0.6, 0.0, 0.8)
Edit = Callable[[Inside], Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mission and a unit as glTF, and the mission with all components."""
    folder = tmp_path_factory.mktemp("roots")
    mission = make(folder / "GAME")
    convert(mission, folder / "mission.glb")
    convert(mission, folder / "all.glb", parts="all")
    convert(mission, folder / "clips.glb", clips=True)
    convert(robot_of(mission), folder / "robot.glb")
    return folder


@pytest.fixture
def file(made: Path, tmp_path: Path) -> Inside:
    return opened(made, tmp_path)


@pytest.fixture
def other(made: Path, tmp_path: Path) -> Inside:
    """The same again."""
    folder = tmp_path / "other"
    folder.mkdir()
    return opened(made, folder)


def opened(made: Path, folder: Path, name: str = "mission") -> Inside:
    for ending in (".glb", ".msh-sidecar"):
        shutil.copy(made / f"{name}{ending}", folder)
    return Inside(folder / f"{name}.glb")


def object_of(file: Inside, row: int) -> Node:
    kinds = [(file.extras(n).get("kind"), file.extras(n).get("index")) for n in file.nodes]
    return file.nodes[kinds.index(("object", row))]


def root_of(file: Inside, root: str) -> Node:
    row, number = ROOTS[root]
    node = object_of(file, row)
    while file.extras(node).get("kind") == "object" or (number == 0 and file.extras(node).get("kind") == "component"):
        node = file.nodes[node["children"][0]]
    return node


def place(node: Node, local: Any) -> None:
    """Give a node a place. (4, 4)."""
    for key in ("translation", "rotation", "scale"):
        node.pop(key, None)
    node["matrix"] = local.T.reshape(-1).tolist()


def delete(file: Inside, node: Node) -> None:
    number = file.nodes.index(node)
    for one in (*file.nodes, *file.file.json["scenes"]):
        key = "children" if "children" in one else "nodes"
        one[key] = [child for child in one.get(key, []) if child != number]


def lines(out: ImportResult) -> list[str]:
    return [str(one) for one in (*out.changes, *out.not_applied)]


def mission_of(out: ImportResult) -> Mission:
    return read_mission(out.data, "data.tma")


def require_same(one: ImportResult, other: ImportResult) -> None:
    """Two imports report the same and write the same, but for float32 in their files."""
    assert lines(one) == lines(other)
    pairs = zip(mission_of(one).objects, mission_of(other).objects, strict=True)
    for a, b in pairs:
        for name in ("position", "turns", "scale"):
            np.testing.assert_allclose(a.record[name], b.record[name], rtol=2e-7, atol=2e-6)
        a.record["position"], a.record["turns"] = b.record["position"], b.record["turns"]
        a.record["scale"] = b.record["scale"]
        assert a.record.tobytes() == b.record.tobytes()


@pytest.mark.parametrize(
    ("edit", "own"),
    [
        ({"translation": MOVED}, {}),
        ({"translation": MOVED, "scale": (2.0, 2.0, 2.0)}, {}),
        ({"rotation": TURNED}, {"translation": (5.0, 1.0, 7.0), "rotation": (0, 0.28, 0, 0.96)}),
    ],
)
@pytest.mark.parametrize("root", ROOTS)
def test_an_edit_of_a_root_is_that_of_its_object(file: Inside, other: Inside, root: str, edit: Node, own: Node) -> None:
    """Whether the object's own node is moved, too, or not."""
    row, _ = ROOTS[root]
    move, there = trs(edit), trs(object_of(file, row)) @ trs(own)
    place(object_of(file, row), there)
    place(root_of(file, root), move @ trs(root_of(file, root)))
    by_root = file.back()
    place(object_of(other, row), there @ move)
    by_object = other.back()
    assert by_root.changes
    assert all("is scaled" in one.what for one in by_root.not_applied)
    require_same(by_root, by_object)


@pytest.mark.parametrize("root", ROOTS)
def test_deleting_a_root_is_deleting_its_object(file: Inside, other: Inside, root: str) -> None:
    file.remove(root_of(file, root))
    by_root = file.back()
    delete(other, object_of(other, ROOTS[root][0]))
    by_object = other.back()
    assert "is deleted" in lines(by_root)[0]
    assert by_root.data == by_object.data
    assert lines(by_root) == lines(by_object)


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ({"rotation": (0.6, 0.0, 0.0, 0.8)}, "is tilted"),
        ({"scale": (1.0, -1.0, 1.0)}, "is mirrored, sheared or scaled to nothing"),
        ({"scale": (2.0, 2.0, 2.0)}, "is scaled"),
    ],
)
def test_what_a_mission_cannot_hold_is_reported(file: Inside, edit: Node, what: str) -> None:
    root_of(file, "a robot").update(edit)
    out = file.back()
    assert out.kept_all
    assert [(one.where, one.what) for one in out.not_applied] == [("object 'Guard'", what)]


def test_a_root_that_is_scaled_to_nothing_is_reported(file: Inside) -> None:
    root_of(file, "a robot")["scale"] = (0.0, 0.0, 0.0)
    out = file.back()
    assert out.kept_all
    assert "node 'u_robot#2': is moved, turned or scaled" in str(out.not_applied[0])


def test_an_object_below_another_stays_where_it_is(file: Inside) -> None:
    """What an editor parents to a building is not moved by an edit that is not of its parent."""
    base, rock = object_of(file, 0), object_of(file, 3)
    number = file.nodes.index(rock)
    file.file.json["scenes"][0]["nodes"].remove(number)
    base["children"].append(number)
    place(rock, np.linalg.inv(trs(base)) @ trs(rock))
    root_of(file, "a building")["translation"] = MOVED
    assert lines(file.back()) == ["object 'Base': moved"]


def test_a_copy_whose_root_is_moved_is_a_new_object_there(file: Inside) -> None:
    waiting = [copy.deepcopy(object_of(file, 2))]
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(waiting[0])
    for node in waiting:
        below = [copy.deepcopy(file.nodes[child]) for child in node.pop("children", [])]
        node["name"] += ".001"
        waiting += [file.add(one, node) for one in below]
    waiting[1]["translation"] = MOVED
    out = file.back()
    assert [str(one) for one in out.changes] == [f"object 'Guard.001': is new, {ROBOT}"]
    assert out.not_applied == []
    before, now = (mission_of(out).objects[row].record["position"] for row in (2, -1))
    x, y, z = (np.linalg.inv(trs({})) @ (*MOVED, 1.0))[:3]
    np.testing.assert_allclose(now - before, (x, -z, y), atol=1e-5)


def test_a_root_that_is_animated_is_not_the_object(made: Path, tmp_path: Path) -> None:
    """The clip says where it is: moving it beside that is an edit of its model."""
    file = opened(made, tmp_path, "clips")
    root_of(file, "the mesh of a rock")["translation"] = MOVED
    out = file.back()
    assert out.kept_all
    assert "is moved, but its animation is not" in lines(out)[0]


def test_another_path_and_a_root_that_is_moved(file: Inside) -> None:
    """The file still shows the building."""
    file.extras(object_of(file, 0))["path"] = ROBOT
    root_of(file, "the mesh of a building")["translation"] = MOVED
    out = file.back()
    assert lines(out) == [f"object 'Base': {BASE} became {ROBOT.lower()}", "object 'Base': moved"]


def test_an_object_of_another_path_may_show_nothing(file: Inside) -> None:
    """Deleting what it showed before does not delete it."""
    file.extras(object_of(file, 0))["path"] = ROBOT
    object_of(file, 0).pop("children")
    assert lines(file.back()) == [f"object 'Base': {BASE} became {ROBOT.lower()}"]


def test_children_that_a_deleted_root_let_go_keep_the_object(file: Inside) -> None:
    """As Blender leaves them when an object alone is deleted."""
    root = root_of(file, "the mesh of a building")
    file.remove(root)
    file.file.json["scenes"][0]["nodes"] += root["children"]
    out = file.back()
    assert out.kept_all
    where = {one.where: one for one in out.not_applied}
    assert where["node 'fr_base'"].instead == "delete the object's own node and all below it"
    assert any(one.what == "is new" for one in out.not_applied)


def test_all_roots_missing_delete_no_object_unless_allowed(file: Inside) -> None:
    for row in range(7):
        object_of(file, row).pop("children")
    out = file.back()
    assert out.kept_all
    assert [(one.where, one.what) for one in out.not_applied] == [("objects", "all 7 are missing")]
    out = import_gltf(file.path, None, ImportOptions(allow_delete=True))
    assert not mission_of(out).objects


@pytest.mark.parametrize("edit", [{"rotation": TURNED}, {"scale": (2.0, 2.0, 2.0)}])
@pytest.mark.parametrize("own", [False, True])
def test_a_turned_guest_is_reported(file: Inside, edit: Node, own: bool) -> None:
    guest = object_of(file, 1)
    node = guest if own else file.nodes[guest["children"][0]]
    node.update(edit)
    out = file.back()
    assert [one.what for one in out.not_applied] == ["is moved or turned"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_guest_that_goes_with_its_building_is_no_edit_of_its_own(file: Inside, turned: bool) -> None:
    base, guest = object_of(file, 0), object_of(file, 1)
    move = trs({"translation": MOVED, "rotation": TURNED if turned else (0, 0, 0, 1)})
    for node in (base, guest):
        place(node, move @ trs(node))
    what = "moved, turned" if turned else "moved"
    assert lines(file.back()) == [f"object 'Base': {what}"]


UNIT_EDITS: dict[str, tuple[Edit, str, str]] = {
    "the chassis moved": (lambda f: _part(f, 0).update(translation=MOVED), "u_robot", "a unit has no place"),
    "the chassis turned": (lambda f: _part(f, 0).update(rotation=TURNED), "u_robot", "a unit has no place"),
    "an internal part moved": (
        lambda f: _part(f, 2).update(translation=MOVED),
        "i_comp",
        "only a part on a socket has a place",
    ),
    "an exchanged gun moved": (lambda f: _exchange(f), "e_gun_1", "is moved on its socket"),
    "a socket scaled": (lambda f: f.above(_part(f, 1)).update(scale=(2, 2, 2)), "e_gun_1", "is scaled by a node"),
}


def _part(file: Inside, row: int) -> Node:
    found = [n for n in file.nodes if file.extras(n).get("kind") == "component"]
    return next(n for n in found if file.extras(n)["index"] == row)


def _exchange(file: Inside) -> None:
    file.extras(_part(file, 1))["key"] = "s_lit"
    _part(file, 1)["translation"] = MOVED


@pytest.mark.parametrize("name", UNIT_EDITS)
def test_a_moved_part_of_a_unit_is_reported(made: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(made / "GAME", tmp_path / "GAME")
    file = opened(made, tmp_path / "GAME", "robot")
    edit, where, what = UNIT_EDITS[name]
    edit(file)
    found = [str(one) for one in file.back().not_applied]
    assert [one for one in found if f"node '{where}'" in one and what in one], found


def test_an_exchanged_gun_that_was_not_moved_is_no_further_edit(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "GAME", tmp_path / "GAME")
    file = opened(made, tmp_path / "GAME", "robot")
    file.extras(_part(file, 1))["key"] = "s_lit"
    assert lines(file.back()) == ["component 1 'e_gun_1': became 's_lit'"]


def test_components_below_no_object_are_reported(file: Inside) -> None:
    extra = copy.deepcopy(root_of(file, "a building"))
    extra.pop("children")
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(extra | {"name": "fr_base.001"})
    out = file.back()
    assert out.kept_all
    assert "node 'fr_base.001': is below no object" in str(out.not_applied[0])


def test_control_points_below_no_object_are_reported(file: Inside) -> None:
    extra = copy.deepcopy(file.point("S_ROCK"))
    file.file.json["scenes"][0]["nodes"].append(len(file.nodes))
    file.nodes.append(extra | {"name": "aim.001"})
    out = file.back()
    assert [(one.where, one.what) for one in out.not_applied] == [("node 'aim.001'", "is new")]


@pytest.mark.parametrize("name", ["all", "robot"])
@pytest.mark.parametrize("deleted", [False, True])
def test_no_edit_of_a_node_is_silent(made: Path, tmp_path: Path, name: str, deleted: bool) -> None:
    """Every node of the file by itself; of models only the roots, as they are compared alike."""
    count = len(opened(made, tmp_path, name).nodes)
    silent = []
    for number in range(count):
        file = opened(made, tmp_path, name)
        node = file.nodes[number]
        if file.extras(node).get("node", 0) > 0:
            continue
        if deleted:
            delete(file, node)
        else:
            before = node.get("translation", (0.0, 0.0, 0.0))
            node["translation"] = np.add(before, MOVED).tolist()
        try:
            out = file.back()
        except ConversionError:
            continue  # a unit without its chassis
        if out.unchanged or not lines(out):
            silent.append(node["name"])
    assert silent == []


def still(made: Path, folder: Path, name: str) -> Inside:
    """A file without its clips, which would move roots."""
    file = opened(made, folder, name)
    file.file.json.pop("animations", None)
    return file


@pytest.mark.parametrize("how", [{"translation": MOVED}, {"rotation": TURNED}])
@pytest.mark.parametrize("name", ["robot", "mission"])
def test_a_root_that_is_moved_on_its_socket_is_no_edit_of_its_model(
    made: Path, tmp_path: Path, name: str, how: Node
) -> None:
    """The game puts the first node of a mounted model on the socket, wherever that node says that it is."""
    file = still(made, tmp_path, name)
    root = file.node("e_gun_1", 0)
    place(root, trs(how) @ trs(root))
    out = file.back()
    assert out.kept_all, lines(out)
    assert not out.placed
    socket = file.above(file.places("e_gun_1")[0])["name"]
    (one,) = out.not_applied
    assert (one.where, one.what) == (f"node '{root['name']}'", "is moved on its socket")
    assert one.why == f"it is mounted on the socket '{socket}' of 'room.msh'"
    assert one.instead.startswith("move the socket's node in that model")


def test_a_root_that_is_moved_and_scaled_on_its_socket_is_scaled_only(made: Path, tmp_path: Path) -> None:
    results = []
    for folder, edit in (("a", {"scale": (2.0, 2.0, 2.0)}), ("b", {"scale": (2.0, 2.0, 2.0), "translation": MOVED})):
        (tmp_path / folder).mkdir()
        file = still(made, tmp_path / folder, "robot")
        file.node("e_gun_1", 0).update(edit)
        results.append(file.back())
    scaled, both = results
    assert [one.result.data for one in scaled.placed] == [one.result.data for one in both.placed]
    assert len(both.placed) == 1
    assert [one.what for one in both.not_applied if one not in scaled.not_applied] == ["is moved on its socket"]


def test_a_root_of_the_chassis_of_a_unit_has_no_place(made: Path, tmp_path: Path) -> None:
    file = still(made, tmp_path, "robot")
    root = file.node("u_robot", 0)
    place(root, trs({"translation": MOVED}) @ trs(root))
    out = file.back()
    assert out.kept_all, lines(out)
    assert not out.placed
    (one,) = out.not_applied
    assert (one.where, one.why) == (f"node '{root['name']}'", "a unit has no place: missions say where it is")
