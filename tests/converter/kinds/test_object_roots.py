"""Moving or deleting what shows an object of a mission is an edit of the object.

What comes of each other edit stands in ``object_roots.txt``; ``python -m tests.converter.kinds.test_object_roots``
writes it again, for you to read what became different.
"""

import copy
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
from tests.support.assembled_game import ROBOT
from tests.support.gltf_view import trs
from tests.support.inside_game import Inside, Node, opened
from tests.support.recorded import Recorded, judged_as_stored, outcome

FOUND = Recorded(__file__, "object_roots.txt")
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


def root_edited(f: Inside, root: str, edit: Node, own: Node) -> None:
    """An edit of a root is one of its object, whether the object's own node is edited, too, or not."""
    place(object_of(f, ROOTS[root][0]), trs(object_of(f, ROOTS[root][0])) @ trs(own))
    place(root_of(f, root), trs(edit) @ trs(root_of(f, root)))


def below_another(f: Inside) -> None:
    """What an editor parents to a building is not moved by an edit that is not of its parent."""
    base, rock = object_of(f, 0), object_of(f, 3)
    number = f.nodes.index(rock)
    f.file.json["scenes"][0]["nodes"].remove(number)
    base["children"].append(number)
    place(rock, np.linalg.inv(trs(base)) @ trs(rock))
    root_of(f, "a building")["translation"] = MOVED


def at_the_top(f: Inside, node: Node, name: str) -> Node:
    """Add a copy of a node, without what is below it."""
    new = copy.deepcopy({key: value for key, value in node.items() if key != "children"}) | {"name": name}
    f.file.json["scenes"][0]["nodes"].append(len(f.nodes))
    f.nodes.append(new)
    return new


def copied(f: Inside) -> None:
    """A copy whose root is moved is a new object there."""
    waiting = [(object_of(f, 2), at_the_top(f, object_of(f, 2), "Guard.001"))]
    root = True
    for node, new in waiting:
        for child in node.get("children", []):
            one = copy.deepcopy({key: value for key, value in f.nodes[child].items() if key != "children"})
            one |= {"name": f"{one['name']}.001", **({"translation": MOVED} if root else {})}
            waiting.append((f.nodes[child], f.add(one, new)))
            root = False


def another_path(f: Inside, root_moves: bool = False) -> None:
    """The file still shows the building; or nothing, which does not delete it."""
    f.extras(object_of(f, 0))["path"] = ROBOT
    if root_moves:
        root_of(f, "the mesh of a building")["translation"] = MOVED
    else:
        object_of(f, 0).pop("children")


def let_go(f: Inside) -> None:
    """As Blender leaves the children when an object alone is deleted."""
    root = root_of(f, "the mesh of a building")
    f.remove(root)
    f.file.json["scenes"][0]["nodes"] += root["children"]


def no_roots(f: Inside) -> None:
    for row in range(7):
        object_of(f, row).pop("children")


def guest(f: Inside, own: bool, **edit: Any) -> None:
    node = object_of(f, 1)
    (node if own else f.nodes[node["children"][0]]).update(edit)


def with_its_building(f: Inside, **edit: Any) -> None:
    """A guest that goes with its building is no edit of its own."""
    for node in (object_of(f, 0), object_of(f, 1)):
        place(node, trs({"translation": MOVED, **edit}) @ trs(node))


def part(f: Inside, row: int) -> Node:
    found = [n for n in f.nodes if f.extras(n).get("kind") == "component"]
    return next(n for n in found if f.extras(n)["index"] == row)


def exchange(f: Inside, **edit: Any) -> None:
    f.extras(part(f, 1))["key"] = "s_lit"
    part(f, 1).update(edit)


def root_moves(f: Inside, key: str, **edit: Any) -> None:
    """A file without its clips, which would move roots.

    The game puts the first node of a mounted model on the socket, wherever that node says that it is.
    """
    f.file.json.pop("animations", None)
    place(f.node(key, 0), trs(edit) @ trs(f.node(key, 0)))


T, R, S = {"translation": MOVED}, {"rotation": TURNED}, {"scale": (2.0, 2.0, 2.0)}
BOTH = {"translation": (5.0, 1.0, 7.0), "rotation": (0, 0.28, 0, 0.96)}
#: Of a root, and of its object's own node.
OF_ROOTS: dict[str, tuple[Node, Node]] = {
    "moved": (T, {}),
    "scaled": (T | S, {}),
    "turned in a moved object": (R, BOTH),
}
#: An edit of the mission, of the unit, or of the mission with clips.
CASES: dict[str, tuple[str, Edit]] = {
    **{
        f"{root} {how}": ("mission", lambda f, root=root, edits=edits: root_edited(f, root, *edits))
        for root in ROOTS
        for how, edits in OF_ROOTS.items()
    },
    **{f"{root} deleted": ("mission", lambda f, root=root: f.remove(root_of(f, root))) for root in ROOTS},
    "tilted": ("mission", lambda f: root_of(f, "a robot").update(rotation=(0.6, 0.0, 0.0, 0.8))),
    "mirrored": ("mission", lambda f: root_of(f, "a robot").update(scale=(1.0, -1.0, 1.0))),
    "scaled": ("mission", lambda f: root_of(f, "a robot").update(S)),
    "scaled to nothing": ("mission", lambda f: root_of(f, "a robot").update(scale=(0.0, 0.0, 0.0))),
    "an object below another": ("mission", below_another),
    "a copy": ("mission", copied),
    # the clip says where it is: moving it beside that is an edit of its model
    "animated": ("clips", lambda f: root_of(f, "the mesh of a rock").update(T)),
    "another path, moved": ("mission", lambda f: another_path(f, root_moves=True)),
    "another path, shows nothing": ("mission", another_path),
    "children let go": ("mission", let_go),
    "all roots missing": ("mission", no_roots),
    "all roots missing, as asked": ("mission", no_roots),
    "a guest turned": ("mission", lambda f: guest(f, False, **R)),
    "a guest's own node turned": ("mission", lambda f: guest(f, True, **R)),
    "a guest scaled": ("mission", lambda f: guest(f, False, **S)),
    "a guest's own node scaled": ("mission", lambda f: guest(f, True, **S)),
    "a guest with its building": ("mission", with_its_building),
    "a guest with its building, turned": ("mission", lambda f: with_its_building(f, **R)),
    "the chassis moved": ("robot", lambda f: part(f, 0).update(T)),
    "the chassis turned": ("robot", lambda f: part(f, 0).update(R)),
    "the root of the chassis moved": ("robot", lambda f: root_moves(f, "u_robot", **T)),
    "an internal part moved": ("robot", lambda f: part(f, 2).update(T)),
    "an exchanged gun": ("robot", exchange),
    "an exchanged gun moved": ("robot", lambda f: exchange(f, **T)),
    "a socket scaled": ("robot", lambda f: f.above(part(f, 1)).update(S)),
    "a component below no object": ("mission", lambda f: at_the_top(f, root_of(f, "a building"), "fr_base.001")),
    "a control point below no object": ("mission", lambda f: at_the_top(f, f.point("S_ROCK"), "aim.001")),
    **{
        f"a root {how} on its socket, {name}": (name, lambda f, e=edit: root_moves(f, "e_gun_1", **e))
        for name in ("robot", "mission")
        for how, edit in {"moved": T, "turned": R, "scaled": S, "moved and scaled": T | S}.items()
    },
}


def found(name: str, folder: Path) -> str:
    """What comes of an edit, and where the mission's objects are that are elsewhere or new."""
    stem, edit = CASES[name]
    file = opened(folder, stem, game=True)
    before = mission_of(file.back()).objects if stem != "robot" else ()
    edit(file)
    with judged_as_stored() as unlike:
        out = import_gltf(file.file.save(file.path), None, ImportOptions(allow_delete="as asked" in name))
    places = [one.record["position"].astype(float).round(3).tolist() for one in before]
    now = [one.record["position"].astype(float).round(3).tolist() for one in mission_of(out).objects] if before else []
    moved = [f"{row} is at {place}" for row, place in enumerate(now) if place not in places[row : row + 1]]
    return "; ".join([outcome(lambda: out, folder, unlike), *moved])


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    FOUND.require(name, found(name, tmp_path))


@pytest.mark.parametrize("name", ["all", "robot"])
@pytest.mark.parametrize("deleted", [False, True])
def test_no_edit_of_a_node_is_silent(tmp_path: Path, name: str, deleted: bool) -> None:
    """Every node of the file by itself; of models only the roots, as they are compared alike."""
    count = len(opened(tmp_path, name).nodes)
    silent = []
    for number in range(count):
        file = opened(tmp_path, name)
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


if __name__ == "__main__":
    FOUND.write_each(CASES, found)
