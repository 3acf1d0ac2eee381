"""Parts that the file never had, and parts of an animated node: what comes of each edit is in ``place_parts.txt``.

``python -m tests.converter.edits.test_place_parts`` writes it again. Where edits of whole objects put parts is
``tests/converter/kinds/test_every_difference.py``.
"""

from pathlib import Path

import pytest

from tests.support.gltf_edit import Editable
from tests.support.gltf_shown import Shown
from tests.support.recorded import Case, Recorded

FOUND = Recorded(__file__, "place_parts.txt")


def other_frame(document: Editable) -> None:
    """Blender exports the transform of the current frame, which may be any: a part of the node goes with frame 0."""
    node = document.node("shin_l")
    node["translation"] = [x + 0.5 for x in node.get("translation", [0, 0, 0])]
    node["rotation"] = [0.6, 0, 0, 0.8]


def part_moved(document: Editable) -> None:
    other_frame(document)
    document.node("shin_l.level1")["translation"][0] += 2


def part_with_its_node(document: Editable) -> None:
    other_frame(document)
    part, node = document.node("shin_l.level1"), document.json["nodes"].index(document.node("shin_l"))
    for path in ("translation", "rotation", "scale"):
        part.pop(path, None)
    part["matrix"] = Shown(document).poses(own=True)[node].T.reshape(-1).tolist()


VISIBLE = ("--parts", "visible")
CASES = {
    "node scaled whose parts are not there": Case(
        lambda d: d.node("leaf1").update(scale=[2.0, 2.0, 2.0]), "tree", VISIBLE
    ),
    "node moved whose parts are not there": Case(
        lambda d: d.node("leaf1").update(translation=[1.0, 2.0, 3.0]), "tree", VISIBLE
    ),
    "node at another frame, its part moved": Case(part_moved),
    "node at another frame, its part with it": Case(part_with_its_node),
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_of_an_edit(name: str, tmp_path: Path) -> None:
    FOUND.require(name, CASES[name].found(tmp_path))


if __name__ == "__main__":
    FOUND.write_each(CASES, lambda name, folder: CASES[name].found(folder))
