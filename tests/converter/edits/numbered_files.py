"""What an edit of a model does to the files that name its frames, nodes, points and triangles by number."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.formats.controller import node_references, read_controller
from msh_gltf.converter.formats.model_parts import read_footing, read_node_properties
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.converter.edits.animation import cut
from tests.support.assembly import registry
from tests.support.controller import State, action, channel, component, controller, walker
from tests.support.game import MESH, archive, entry, model
from tests.support.gltf_edit import Editable
from tests.support.points import CTPT, POINTS, cpt, rows
from tests.support.recorded import outcome
from tests.support.runs import call

#: 8 nodes, 26 frames, in which the root moves; nodes 6 and 7 are leaves.
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


#: The last two are of no triangle, and of no corner.
PLACES = [(0, 1), (3, 2), (10, 0), (9999, 0), (3, 7)]


def make_game(folder: Path) -> Path:
    """A robot with everything that names parts of it, and one whose controller is called otherwise."""
    root = folder / "game"
    root.mkdir()
    properties = b"".join(struct.pack("<If", row, 100.0 + row).ljust(76, b"\0") for row in range(NODES))
    rows = [
        (MESH, b"robot.msh", model(ROBOT)),
        (CTLD, b"ROBOT.CTL", made_controller()),
        (CTPT, b"robot.cpt", cpt(POINTS)),
        (BASE, b"robot.bas", footing(PLACES)),
        (NDPR, b"robot.ndp", struct.pack("<I", NODES) + properties),
        (MESH, b"other.msh", model(ROBOT)),
    ]
    (root / "bases.rlb").write_bytes(archive([entry(*row) for row in rows]))
    (root / "parts.rlb").write_bytes(archive([entry(CTLD, b"c_01.ctl", walker(20, node=7, points=1))]))
    robot, other = ("bases.rlb", "robot.msh"), [("bases.rlb", "other.msh"), ("PARTS.rlb", "c_01.ctl")]
    (root / "objects.rlb").write_bytes(registry({"robot": ("EXTO", [robot]), "other": ("EXTO", other)}))
    return root


def exported(folder: Path, name: str = "robot") -> Path:
    """The glTF of a robot of the game."""
    target = folder / f"{name}.glb"
    assert call(msh2gltf, make_game(folder) / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
    return target


def channels(document: Editable, node: int, path: str) -> list[dict]:
    """Samplers of a node."""
    animation = document.json["animations"][0]
    found = [c for c in animation["channels"] if c["target"] == {"node": node, "path": path}]
    return [animation["samplers"][c["sampler"]] for c in found]


def forget(document: Editable, *numbers: int) -> None:
    """Take nodes out of the tree, and their animation."""
    document.take_out(*numbers)
    animation = document.json["animations"][0]
    animation["channels"] = [c for c in animation["channels"] if c["target"]["node"] not in numbers]


def delete_6(document: Editable) -> None:
    """Delete node 6; what was below it goes to its parent."""
    nodes = document.json["nodes"]
    parent = next(node for node in nodes if 6 in node.get("children", []))
    below = [i for i in nodes[6].pop("children", []) if i == 7]
    forget(document, 6, *(i for i, node in enumerate(nodes) if node["name"].startswith(f"{nodes[6]['name']}.")))
    parent["children"] = [*parent.get("children", []), *below]


def another_frame(d: Editable) -> None:
    (sampler,) = channels(d, 0, "rotation")
    d.arrays[sampler["output"]][7] = [0.5, 0.5, 0.5, 0.5]


def root_moves_otherwise(d: Editable) -> None:
    (sampler,) = channels(d, 0, "translation")
    values = d.arrays[sampler["output"]]
    values[:] = 0
    values[:, 2] = -np.arange(FRAMES, dtype=np.float32) / 2
    root = len(d.json["nodes"])  # an editor may write it last
    d.json["nodes"].append(d.json["nodes"][0])
    d.json["nodes"][0] = {"name": "empty"}
    for scene in d.json["scenes"]:
        scene["nodes"] = [root if i == 0 else i for i in scene["nodes"]]
    for one in d.json["animations"][0]["channels"]:
        one["target"]["node"] = one["target"]["node"] or root


def without(d: Editable, *names: str) -> None:
    forget(d, *(i for i, node in enumerate(d.json["nodes"]) if node["name"] in names))


def new_root(d: Editable) -> None:
    """A new root above the old one, with a new node below it."""
    top = len(d.json["nodes"])
    d.json["nodes"] += [{"name": "top", "children": [0, top + 1]}, {"name": "arm", "translation": [1, 0, 0]}]
    for scene in d.json["scenes"]:
        scene["nodes"] = [top if i == 0 else i for i in scene["nodes"]]


def other_triangles(d: Editable) -> None:
    """The first one of a mesh is gone, the others come from the last to the first, and begin at another corner."""
    mesh = d.json["meshes"][0]["primitives"][0]
    triangles = d.arrays[mesh["indices"]].reshape(-1, 3)
    mesh["indices"] = d.add(np.roll(triangles[:0:-1], 1, axis=1).reshape(-1, 1).copy())


def much(d: Editable) -> None:
    """A node, a control point and frames 11..25 are gone, and the root moves otherwise."""
    cut(d, 11)
    (root,) = channels(d, 0, "translation")
    d.arrays[root["output"]][:] = np.arange(11, dtype=np.float32)[:, None] * [0, 0, -0.25]
    delete_6(d)
    without(d, "CameraCenter.point")


def much_no_extras(d: Editable) -> None:
    much(d)
    for node in d.json["nodes"]:
        node.pop("extras", None)


def called_as_a_point(d: Editable) -> None:
    """Without custom properties, and with a mesh."""
    point = d.node("CameraCenter.point")
    del point["extras"]
    point["mesh"] = 0


def new_points(d: Editable) -> None:
    words = {"kind": "point", "flags": 5, "node2": 3, "length": 2.0}
    d.put({"name": "AAA.point", "translation": [1, 2, 3], "extras": {"msh": words}}, 0)
    d.put({"name": "BBB.point"}, 2)


class Row(NamedTuple):
    """An edit; without a sidecar the controller is where it says."""

    edit: Callable[[Editable], object]
    alone: str = ""
    model: str = "robot"

    def found(self, folder: Path) -> str:
        """What comes of it, and what the files beside the model name now."""
        path = exported(folder, self.model)
        document = Editable(path)
        self.edit(document)
        if self.alone == "beside":
            path.with_name("robot.ctl").write_bytes(made_controller())
        game = str(folder / "game") if self.alone == "in the game" else None
        options = ImportOptions("retail", use_sidecar=False, game=game) if self.alone else None
        beside = None if self.alone else path.with_suffix(".msh-sidecar")
        edited = document.save(path.with_name("edited.glb"))
        return outcome(lambda: import_gltf(edited, beside, options), folder, named_beside)


def named_beside(back: ImportResult) -> list[str]:
    made = {one.ending: one.data for one in back.companions}
    lines = ["as it was: " + " ".join(one.ending for one in back.kept_companions)]
    if ".ctl" in made:
        ctl = read_controller(made[".ctl"], "x")
        named = [one.number for one in node_references(ctl)]
        lines.append(f"controller: names {named}, flags of channels {ctl.channels['flags'].tolist()}")
    if ".cpt" in made:
        lines.append("points: " + ", ".join(rows(made[".cpt"])))
    if ".bas" in made:
        bas = read_footing(made[".bas"], "x")
        lines.append(f"footing: triangles {bas.triangles.tolist()}, corners {bas.corners.tolist()}")
    if ".ndp" in made:
        of_nodes = read_node_properties(made[".ndp"], "x")
        lines.append(f"nodes: flags {of_nodes['flags'].tolist()}, hit points {of_nodes['hit_points'].tolist()}")
    return lines


CASES = {
    "nothing": Row(lambda d: None),
    "a shorter clip": Row(lambda d: cut(d, 11)),
    "another frame": Row(another_frame),
    "the root moves otherwise": Row(root_moves_otherwise),
    "named control points gone": Row(lambda d: without(d, "CameraCenter.point", "Свет.point", "gone.point")),
    "a part called as a named control point": Row(called_as_a_point),
    "new control points": Row(new_points),
    "a node gone": Row(delete_6),
    "a new node": Row(lambda d: d.put({"name": "arm", "translation": [1, 0, 0]}, 3)),
    "a new root above all": Row(new_root),
    "triangles gone, turned and in another order": Row(other_triangles),
    "much, controller nowhere": Row(much, "nowhere"),
    "much, controller beside": Row(much, "beside"),
    "much, controller in the game": Row(much, "in the game"),
    "much, controller in the game, no extras": Row(much_no_extras, "in the game"),
    "nothing, controller in the game": Row(lambda d: None, "in the game"),
    "another frame, controller in the game": Row(another_frame, "in the game"),
    "a node gone, controller of another name": Row(delete_6, model="other"),
}
