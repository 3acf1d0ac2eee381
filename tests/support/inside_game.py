"""A mission whose models have all that a model can show: clips, points, lightmaps, colours."""

import atexit
import copy
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from msh_gltf.converter.formats.mission import read_mission
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.assembled_game import GROUND, ROBOT, ROCK, ROOM, GameParts
from tests.support.corpus import DATA
from tests.support.game import MESH, WEAR, archive, entry, model, write
from tests.support.gltf_edit import Editable
from tests.support.points import cpt
from tests.support.recorded import outcome
from tests.support.runs import convert

Node = dict[str, Any]
CTPT = int.from_bytes(b"CTPT", "little")
#: Object keys of scenery, and the models that they have.
SCENERY = {"s_lit": "retail__system__R_H_002", "s_painted": "spec__system__R_H_002"}
#: The control point of the rock: on node 0, its direction along x.
POINTS = cpt([("aim", 0, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0))])


def make(root: Path) -> Path:
    """Write the game below a directory; returns its mission.

    Objects 0 to 3 are those of ``GameParts``, 4 is a second rock, 5 is lit, 6 is painted. Nothing
    has the key ``s_spare``, whose model is that of the rock.
    """
    parts = GameParts()
    files = [(f"{key}{end}", key) for key in SCENERY for end in (".msh", ".wea")]
    rock = [("static.rlb", "rock.msh"), ("static.rlb", "rock.cpt")]
    parts.objects |= {"s_rock": ("STAT", rock), "e_gun_1": ("EXTO", rock)}
    parts.objects["s_spare"] = ("STAT", rock)
    for number, key in enumerate(["S_ROCK", *SCENERY]):
        rows = [("static.rlb", name) for name, own in files if own == key]
        parts.objects |= {key: ("STAT", rows)} if rows else {}
        place = (120.0 + 10 * number, 100.0, GROUND)
        parts.placed.append({"kind": 3, "path": key, "clan": 77, "place": place})
    mission = parts.write(root)
    wear = (DATA / f"{ROOM}.wea").read_bytes()
    rows = [
        (MESH, b"room.msh", model(ROOM)),
        (WEAR, b"room.wea", wear),
        (MESH, b"rock.msh", model(ROCK)),
        (CTPT, b"rock.cpt", POINTS),
    ]
    for key, source in SCENERY.items():
        rows.append((MESH, f"{key}.msh".encode(), model(source)))
        rows.append((WEAR, f"{key}.wea".encode(), (DATA / f"{source}.wea").read_bytes()))
    write(root / "static.rlb", archive([entry(*row) for row in rows]))
    return mission


@cache
def whole() -> Path:
    """The game, and as glTF: the mission, with its clips and with all components; the robot. Made once."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    root = Path(folder.name)
    mission = make(root / "GAME")
    convert(mission, root / "mission.glb")
    convert(mission, root / "clips.glb", clips=True)
    convert(mission, root / "all.glb", parts="all")
    convert(robot_of(mission), root / "robot.glb")
    return root


def opened(folder: Path, name: str = "mission", *, game: bool = False, parts: GameParts | None = None) -> "Inside":
    """A copy of one of the files, to be edited; ``game``: in a copy of the game, for what is looked up there;
    ``parts``: of another game, in it.
    """
    if parts is not None:
        mission = parts.write(folder / "GAME")
        convert(robot_of(mission) if name == "robot" else mission, folder / f"GAME/{name}.glb")
        return Inside(folder / f"GAME/{name}.glb")
    if game:
        shutil.copytree(whole() / "GAME", folder := folder / "GAME")
    for ending in (".glb", ".msh-sidecar"):
        shutil.copy(whole() / f"{name}{ending}", folder)
    return Inside(folder / f"{name}.glb")


def robot_of(mission: Path) -> Path:
    """The unit of the same game."""
    return mission.parents[2] / ROBOT.replace("\\", "/")


class Inside:
    """The glTF of a mission or unit, to be edited below its objects.

    Attributes:
        path: the file, its sidecar beside it.
        file: what it holds.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, Editable(path)
        self.nodes: list[Node] = self.file.json["nodes"]

    def extras(self, node: Node) -> dict[str, Any]:
        found: dict[str, Any] = node.get("extras", {}).get("msh", {})
        return found

    def of(self, kind: str, row: int = 0) -> Node:
        """The node of a kind, and of a row of the mission or unit."""
        wanted = {"kind": kind, "index": row}
        return next(node for node in self.nodes if wanted.items() <= self.extras(node).items())

    def object(self, row: int) -> Node:
        """The node of a placed object."""
        return self.of("object", row)

    def places(self, key: str) -> list[Node]:
        """The nodes that place the model of an object key."""
        return [node for node in self.nodes if key in (self.extras(node).get("key"), self.extras(node).get("path"))]

    def node(self, key: str, number: int, place: int = 0) -> Node:
        """A node of a placed model."""
        return self._below(key, place, "node", number)

    def point(self, key: str, place: int = 0) -> Node:
        """The first control point of a placed model."""
        return self._below(key, place, "point", 0)

    def _below(self, key: str, place: int, name: str, number: int) -> Node:
        waiting = [*self.places(key)[place]["children"]]
        while waiting:
            node = self.nodes[waiting.pop(0)]
            if self.extras(node).get(name) == number:
                return node
            if "kind" not in self.extras(node):
                waiting += node.get("children", [])
        raise AssertionError(f"{key} has no {name} {number}")

    def above(self, node: Node) -> Node:
        """The node that one is below."""
        number = self.nodes.index(node)
        return next(one for one in self.nodes if number in one.get("children", []))

    def remove(self, node: Node) -> int:
        """Take a node, and what is below it, out of the file; returns its number."""
        number = self.nodes.index(node)
        self.above(node)["children"].remove(number)
        return number

    def move(self, node: Node, above: Node) -> None:
        """Parent a node to another."""
        above.setdefault("children", []).append(self.remove(node))

    def add(self, node: Node, above: Node) -> Node:
        """Add a node below another."""
        above.setdefault("children", []).append(len(self.nodes))
        self.nodes.append(node)
        return node

    def copy(self, node: Node, above: Node | None = None, **changed: Any) -> Node:
        """Add a copy of a node, without what is below it: at the top, or below another node."""
        made = {key: value for key, value in copy.deepcopy(node).items() if key != "children"}
        made |= {"name": f"{node['name']}.001", **changed}
        self.file.put(made, None if above is None else self.nodes.index(above))
        return made

    def primitive(self, node: Node) -> dict[str, Any]:
        """The first primitive of a node's mesh."""
        found: dict[str, Any] = self.file.json["meshes"][node["mesh"]]["primitives"][0]
        return found

    def values(self, node: Node, name: str) -> Any:
        """An attribute of a node's first primitive. (n, k), changed in place."""
        return self.file.arrays[self.primitive(node)["attributes"][name]]

    def back(self, **options: Any) -> ImportResult:
        """What comes of the import."""
        return import_gltf(self.file.save(self.path), None, ImportOptions(**options))


class Placed(NamedTuple):
    """An edit of what is placed in one of the files.

    Attributes:
        edit: changes it.
        file: which one.
        game: whether it lies in its game when it is imported.
        options: of the import.
        parts: what another game is made of.
    """

    edit: Callable[[Inside], object]
    file: str = "mission"
    game: bool = True
    options: dict[str, Any] = {}  # noqa: RUF012
    parts: Callable[[], GameParts] | None = None

    def found(self, folder: Path) -> str:
        """What comes of it, the objects that are elsewhere or new, and the files that models are put into."""
        file = opened(folder, self.file, game=self.game, parts=self.parts and self.parts())
        self.edit(file)
        return outcome(lambda: file.back(**self.options), folder, lambda out: [*moved(file, out), *into(out)])


def moved(file: Inside, out: ImportResult) -> Iterator[str]:
    """Where the objects of a mission are that are new or elsewhere than before."""
    kept = read_sidecar(file.path.with_suffix(".msh-sidecar").read_bytes(), "")
    if kept.description.kind == "mission":
        stored, now = (
            [one.record["position"].astype(float).round(3).tolist() for one in read_mission(data, "").objects]
            for data in (kept.source, out.data)
        )
        yield from (f"{row} is at {place}" for row, place in enumerate(now) if place not in stored[row : row + 1])


def into(out: ImportResult) -> list[str]:
    return [f"into {one.path}" for one in out.placed]
