"""The product's judge and that of the tests agree on random edits; ``python -m tests.converter.judge`` draws more.

What came of the first ones stands in ``trials.txt``; ``python -m tests.converter.judge.test_agreement`` writes it
again, for you to read what became different.
"""

import json
from pathlib import Path

import pytest

from msh_gltf import ImportOptions
from msh_gltf.converter.judge.difference import JUDGED
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.judge.agreement import IGNORED, TRIALS, verdict
from tests.converter.kinds.test_every_difference import MODELS, outcomes
from tests.support.recorded import Recorded

#: What comes of each trial.
REPORTS = Recorded(__file__, "trials.txt")
#: How many of each kind.
COUNTS = dict.fromkeys(TRIALS, 24) | {"model": 100, "sparse model": 72}
DRAWN = [(what, number) for what in TRIALS for number in range(COUNTS[what])]
#: And those on which they once did not agree: the node behind a portal; nodes without names, which have other rows
#: after an edit, and so other names; what moves is hidden, and left out.
DRAWN += [("model", number) for number in (5100400, 5700111, 6100333)]


@pytest.mark.parametrize(("what", "number"), DRAWN)
def test_two_judges_agree(what: str, number: int) -> None:
    found = verdict(what, number)
    assert found.agrees, found
    REPORTS.require(f"{what} {number}", found.summary)


@pytest.mark.parametrize("what", ["model", *IGNORED])
def test_some_edits_of_trials_are_ignored(what: str) -> None:
    assert any(JUDGED in text for name, text in REPORTS.known.items() if name.rpartition(" ")[0] == what)


#: Trials by model, kinds, seed and way, whose edits once were named though they arrive, and why.
ARRIVE = (
    # nodes without names are called after their rows, which move up where one is deleted
    "mixed__odd__l_mast_058; delete node but not its children, duplicate tree; 579491963; sidecar",
    # three frames of six: at twice their rate, the clip would have its stored length
    "spec__system__a_bird_007; shorten clip; 3538099110; no extras",
    # the report says how far parts are that follow their node, but for the rounding of its keys
    "spec__odd__B_PLANT_008; offset animation; 1439477007; sidecar",
    # two nodes of one name are those that stand nearest
    "mixed__odd__Gen_stat_059; new empty, new empty; 1293557474; sidecar",
    "mixed__odd__l_mast_058; instances, delete node, delete triangles; 1025274152; alone",
    # a mirrored part lies over itself in places
    "retail__odd__s_rock_009; rename material, move part into the first cell, mirror node; 1615202524; no extras",
    # a curve is left that moves nothing: the model has no clip then
    "hangar; offset animation, delete channel, remove material; 1824079552; no extras",
    # keys that were moved move the node at rest, too, whose own scale was edited
    "hangar; turn node, scale node, offset animation; 2057299569; no extras",
    # flags of an object of which all materials state others
    "mixed__odd__Gen_stat_059; set tri flags of a material, set tri flags of an object; 1894401268; sidecar",
    "walker; rename node too long, offset animation; 3586549113; no extras",
    # lines call a part after its node as the file calls it now
    "spec__static__b_bun_000; delete a whole cell, rename node beyond cp1251, rename node; 2722556849; no extras",
    # a hidden node with a stored one below it stays, too
    "spec__static__b_bun_000; rename node beyond cp1251, hide node, put all into the first scene; "
    "2900815304; no extras",
    "mixed__odd__l_mast_058; recolour material, instances, scale node; 456916951; sidecar",
    # a model without a table of names, where a long one has no place
    "mixed__odd__l_mast_058; rename node too long, animate node, new object; 1448878732; no extras",
    # without a sidecar, a portal names a node by the row that the file states
    "mixed__odd__l_mast_058; delete triangles, scale part object, reparent node; 3949676527; alone",
    # a copy stands where a node that moves starts from
    "hangar; animate node, duplicate tree, make node a root; 4008160369; no extras",
)


@pytest.mark.parametrize("trial", ARRIVE)
def test_what_arrives_is_not_named(trial: str) -> None:
    model, kinds, seed, mode = trial.split("; ")
    path = next(path for path in MODELS if path.stem == model)
    assert outcomes(path, kinds.split(", "), int(seed), mode)[:2] == ([], [])


@pytest.mark.parametrize("name", ["B", ""])
def test_nodes_of_one_name_and_place_are_told_apart_by_their_parents(name: str, tmp_path: Path) -> None:
    nodes = [{"name": "A", "children": [1]}, {"name": name, "children": [2]}, {"name": name}, {"name": name}]
    path = tmp_path / "x.gltf"
    path.write_text(
        json.dumps({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 3]}], "nodes": nodes})
    )
    assert import_gltf(path, None, ImportOptions(dialect="retail")).not_applied == []


if __name__ == "__main__":
    REPORTS.write((f"{what} {number}", verdict(what, number).summary) for what, number in DRAWN)
