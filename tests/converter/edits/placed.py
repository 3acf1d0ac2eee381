"""Moving or deleting what shows an object of a mission edits the object; components of units are edited as such."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.assembled_game import ROBOT
from tests.support.gltf_view import trs
from tests.support.inside_game import Inside, Node, Placed

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


def root_of(file: Inside, root: str) -> Node:
    row, number = ROOTS[root]
    node = file.object(row)
    while file.extras(node).get("kind") == "object" or (number == 0 and file.extras(node).get("kind") == "component"):
        node = file.nodes[node["children"][0]]
    return node


def place(node: Node, local: Any) -> None:
    """Give a node a place. (4, 4)."""
    for key in ("translation", "rotation", "scale"):
        node.pop(key, None)
    node["matrix"] = local.T.reshape(-1).tolist()


def root_edited(f: Inside, root: str, edit: Node, own: Node) -> None:
    """An edit of a root is one of its object, whether the object's own node is edited, too, or not."""
    place(f.object(ROOTS[root][0]), trs(f.object(ROOTS[root][0])) @ trs(own))
    place(root_of(f, root), trs(edit) @ trs(root_of(f, root)))


def below_another(f: Inside) -> None:
    """What an editor parents to a building is not moved by an edit that is not of its parent."""
    base, rock = f.object(0), f.object(3)
    number = f.nodes.index(rock)
    f.file.take_out(number)
    base["children"].append(number)
    place(rock, np.linalg.inv(trs(base)) @ trs(rock))
    root_of(f, "a building")["translation"] = MOVED


def copied(f: Inside) -> None:
    """A copy whose root is moved is a new object there."""
    waiting = [(f.object(2), f.copy(f.object(2)))]
    root = True
    for node, new in waiting:
        for child in node.get("children", []):
            moved = {"translation": MOVED} if root else {}
            waiting.append((f.nodes[child], f.copy(f.nodes[child], new, **moved)))
            root = False


def another_path(f: Inside, root_moves: bool = False) -> None:
    """The file still shows the building; or nothing, which does not delete it."""
    f.extras(f.object(0))["path"] = ROBOT
    if root_moves:
        root_of(f, "the mesh of a building")["translation"] = MOVED
    else:
        f.object(0).pop("children")


def let_go(f: Inside) -> None:
    """As Blender leaves the children when an object alone is deleted."""
    root = root_of(f, "the mesh of a building")
    f.remove(root)
    f.file.json["scenes"][0]["nodes"] += root["children"]


def no_roots(f: Inside) -> None:
    for row in range(7):
        f.object(row).pop("children")


def guest(f: Inside, own: bool, **edit: Any) -> None:
    node = f.object(1)
    (node if own else f.nodes[node["children"][0]]).update(edit)


def with_its_building(f: Inside, **edit: Any) -> None:
    """A guest that goes with its building is not an edit of its own."""
    for node in (f.object(0), f.object(1)):
        place(node, trs({"translation": MOVED, **edit}) @ trs(node))


def exchange(f: Inside, **edit: Any) -> None:
    f.extras(f.of("component", 1))["key"] = "s_lit"
    f.of("component", 1).update(edit)


def root_moves(f: Inside, key: str, **edit: Any) -> None:
    """A file without its clips, which would move roots.

    The game puts the first node of a mounted model on the socket, wherever that node says that it is.
    """
    f.file.json.pop("animations", None)
    place(f.node(key, 0), trs(edit) @ trs(f.node(key, 0)))


def words(f: Inside) -> dict[str, Any]:
    """The custom properties of the gun."""
    return f.extras(f.of("component", 1))


T, R, S = {"translation": MOVED}, {"rotation": TURNED}, {"scale": (2.0, 2.0, 2.0)}
BOTH = {"translation": (5.0, 1.0, 7.0), "rotation": (0, 0.28, 0, 0.96)}
#: Of a root, and of its object's own node.
OF_ROOTS: dict[str, tuple[Node, Node]] = {
    "moved": (T, {}),
    "scaled": (T | S, {}),
    "turned in a moved object": (R, BOTH),
}
OF_A_UNIT: dict[str, Callable[[Inside], object]] = {
    "exchanged, in other letters": lambda f: words(f).update(key="S_LIT"),
    "on another socket": lambda f: f.move(f.of("component", 1), f.node("u_robot", 8)),
    "attach": lambda f: words(f).update(attach=11),
    "a copied gun": lambda f: f.copy(f.of("component", 1), f.node("u_robot", 8)),
    "an asset": lambda f: f.add({"name": "s_lit"}, f.node("u_robot", 8)),
    "an unknown key": lambda f: words(f).update(key="e_gun_9"),
    "a class that does not fit the socket": lambda f: words(f).update({"class": 1}),
    "on nothing": lambda f: f.file.json["scenes"][0]["nodes"].append(f.remove(f.of("component", 1))),
    "without its chassis": lambda f: f.of("component", 0).update(extras={"msh": {"kind": "other"}}),
    "typed: words of a component": lambda f: f.of("component", 1)["extras"].update(
        {"key": "s_rock", "label": "Камень", "class": 2}
    ),
    **{
        f"{key} {value}": lambda f, key=key, value=value: words(f).update({key: value})
        for key, value in (("class", 9), ("class", "x"), ("attach", "x"), ("label", "守" * 3))
    },
}
CASES = {
    **{name: Placed(edit, "robot") for name, edit in OF_A_UNIT.items()},
    **{
        f"a key of {length} bytes": Placed(lambda f, n=length: words(f).update(key="k" * n), "robot", game=False)
        for length in (31, 32)
    },
    **{
        f"{root} {how}": Placed(lambda f, root=root, edits=edits: root_edited(f, root, *edits))
        for root in ROOTS
        for how, edits in OF_ROOTS.items()
    },
    **{f"{root} deleted": Placed(lambda f, root=root: f.remove(root_of(f, root))) for root in ROOTS},
    "tilted": Placed(lambda f: root_of(f, "a robot").update(rotation=(0.6, 0.0, 0.0, 0.8))),
    "mirrored": Placed(lambda f: root_of(f, "a robot").update(scale=(1.0, -1.0, 1.0))),
    "scaled": Placed(lambda f: root_of(f, "a robot").update(S)),
    "scaled to nothing": Placed(lambda f: root_of(f, "a robot").update(scale=(0.0, 0.0, 0.0))),
    "an object below another": Placed(below_another),
    "a copy": Placed(copied),
    # the clip says where it is: moving it beside that is an edit of its model
    "animated": Placed(lambda f: root_of(f, "the mesh of a rock").update(T), "clips"),
    "another path, moved": Placed(lambda f: another_path(f, root_moves=True)),
    "another path, shows nothing": Placed(another_path),
    "children let go": Placed(let_go),
    "all roots missing": Placed(no_roots),
    "all roots missing, as asked": Placed(no_roots, options={"allow_delete": True}),
    "a guest turned": Placed(lambda f: guest(f, False, **R)),
    "a guest's own node turned": Placed(lambda f: guest(f, True, **R)),
    "a guest scaled": Placed(lambda f: guest(f, False, **S)),
    "a guest's own node scaled": Placed(lambda f: guest(f, True, **S)),
    "a guest with its building": Placed(with_its_building),
    "a guest with its building, turned": Placed(lambda f: with_its_building(f, **R)),
    "the chassis moved": Placed(lambda f: f.of("component", 0).update(T), "robot"),
    "the chassis turned": Placed(lambda f: f.of("component", 0).update(R), "robot"),
    "the root of the chassis moved": Placed(lambda f: root_moves(f, "u_robot", **T), "robot"),
    "an internal part moved": Placed(lambda f: f.of("component", 2).update(T), "robot"),
    "an exchanged gun": Placed(exchange, "robot"),
    "an exchanged gun moved": Placed(lambda f: exchange(f, **T), "robot"),
    "a socket scaled": Placed(lambda f: f.above(f.of("component", 1)).update(S), "robot"),
    "a component below no object": Placed(lambda f: f.copy(root_of(f, "a building"))),
    "a control point below no object": Placed(lambda f: f.copy(f.point("S_ROCK"))),
    **{
        f"a root {how} on its socket, {name}": Placed(lambda f, e=edit: root_moves(f, "e_gun_1", **e), name)
        for name in ("robot", "mission")
        for how, edit in {"moved": T, "turned": R, "scaled": S, "moved and scaled": T | S}.items()
    },
}
