"""Controllers of models, found and shown, and every controller of a corpus against its recorded truth.

Edits of what they play are in ``../edits/controllers.py``, of what they name in ``../edits/numbered_files.py``.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.checks.companions import Facts
from msh_gltf.converter.cli import msh2gltf
from msh_gltf.converter.edits.controller import numbered
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.controller import (
    CONTROLLER_TYPE,
    Controller,
    node_references,
    point_references,
    ranges_of,
    read_controller,
    write_controller,
)
from msh_gltf.converter.formats.nres import is_nres, read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.appearance import facts_of_model
from msh_gltf.converter.kinds.registry import game_of
from msh_gltf.converter.scene.companions import add_clips, spliced
from msh_gltf.converter.scene.extras import FileInfo
from msh_gltf.converter.scene.scene import Channel, Clip, ImportedScene, evaluate
from msh_gltf.converter.storage import walk_files
from tests.converter.edits.controllers import FRAMES, make_game
from tests.support.controller import walker
from tests.support.gltf_edit import Editable
from tests.support.runs import call


def test_a_controller_is_found_beside_its_model_or_by_the_registry(tmp_path: Path) -> None:
    game = make_game(tmp_path)
    kept = {}
    for name in ("robot", "other"):
        target = tmp_path / f"{name}.glb"
        assert call(msh2gltf, game / "bases.rlb", "--entry", f"{name}.msh", "-o", target, "-q") == 0
        extras = Editable(target).json["scenes"][0]["extras"]["msh"]
        assert extras["states"].splitlines()[0] == "0;1;0-0;0-0;50;-2;2"
        assert len(extras["states"].splitlines()) == 4
        kept[name] = extras["ranges"], read_sidecar(target.with_suffix(".msh-sidecar").read_bytes(), "").description
    assert [numbered("state", n) for n in ([0, 1, 3, 0], [4, 5], [5])] == ["states 0-1, 3", "states 4-5", "state 5"]
    assert kept["robot"][0].startswith("0-8;")
    assert kept["robot"][0].endswith(";5")
    assert kept["robot"][1].companions[".ctl"] == walker(FRAMES, node=3)
    assert kept["other"][0].startswith("0-4;")
    assert kept["other"][1].companions["PARTS.rlb::c_01.ctl"] == walker(5, node=1)


def test_frames_in_the_name_of_a_range_are_no_number_of_blender() -> None:
    file = ImportedScene("m", FileInfo(range_clips="0-8.125"))
    add_clips(file, [Clip("m"), Clip("0-8.125")])
    assert ([one.span for one in file.ranges], file.report.warnings) == ([(0, 8.125)], [])


def test_the_model_of_a_controller_is_found_too(tmp_path: Path) -> None:
    game = make_game(tmp_path)
    found = game_of(game / "parts.rlb")
    path = game / "parts.rlb"
    facts = facts_of_model(read_nres(read_file(path), ""), path, 0, found)
    robot = facts_of_model(read_nres(read_file(game / "bases.rlb"), ""), game / "bases.rlb", 1, None)
    assert robot == Facts(facts.nodes, facts.frames, 4)
    assert facts.points is None


def test_outside_a_range_a_curve_stays_on_whole_frames() -> None:
    whole = Channel(np.array([0.0, 10.0]), np.array([[0.0], [10.0]]))
    part = Channel(np.array([0.0, 1.0]), np.array([[50.0], [60.0]]))
    found = spliced(whole, part, 2, 4, 10)
    np.testing.assert_allclose(evaluate(found, [0, 1, 2, 3, 4, 5, 10]).ravel(), [0, 1, 50, 60, 60, 5, 10])
    assert found.frames.tolist() == [0, 1, 2, 3, 4, 5, 10]


# ------------------------------------------------------------------ a corpus

CORPUS = os.environ.get("MSH_GLTF_CORPUS")
GAME = Path(CORPUS or "") / "missions" / "game"
needs_corpus = pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")


def truths() -> dict[str, dict[str, Any]]:
    if not CORPUS:
        return {}
    found = json.loads((GAME.parent / "truth" / "controls.json").read_text("utf-8"))
    return {name: truth for name, truth in found.items() if isinstance(truth, dict)}


#: Controllers that play something or name something.
TRUTHS = truths()
NAMING = [name for name, truth in TRUTHS.items() if truth["states"]]


def named_in_game(archive: str) -> Path:
    return next(path for path in GAME.iterdir() if path.name.lower() == archive.lower())


def controller_of(truth: dict[str, Any]) -> tuple[Controller, bytes]:
    archive = read_nres(read_file(named_in_game(truth["archive"])), "")
    index = archive.find(truth["entry"])
    data = bytes(archive.entries[index].payload)
    return read_controller(data, truth["entry"]), data


@needs_corpus
def test_every_controller_comes_back_byte_for_byte() -> None:
    count = 0
    for folder, _, names in walk_files(Path(CORPUS or "")):
        for path in (folder / name for name in names):
            if not is_nres(data := read_file(path)):
                continue
            for entry in read_nres(data, str(path), longer=True).entries:
                if entry.type_id == CONTROLLER_TYPE:
                    assert write_controller(read_controller(entry.payload, entry.name)) == bytes(entry.payload)
                    count += 1
    assert count >= len(TRUTHS) > 0


@pytest.mark.parametrize("name", TRUTHS)
def test_a_controller_is_what_the_truth_says(name: str) -> None:
    truth = TRUTHS[name]
    controller, _ = controller_of(truth)
    for row, state in enumerate(truth["states"]):
        own = controller.states[row]
        assert controller.is_anchor(row) == state["anchor"]
        assert own["pair_a"].tolist() == state["a"]
        assert own["pair_b"].tolist() == state["b"]
        assert own["length"] == state["ms"]
        bounded = bool(own["boxes"] & 0x2)
        assert (own["velocity"][:, 1].tolist() if bounded else None) == state["vy"]
        assert [[int(x) for x in list(one)[:3]] for one in controller.contacts[row]] == state["contacts"]
    assert len(controller.states) == len(truth["states"])
    assert [[found.first, found.last] for found in ranges_of(controller)] == truth["ranges"]
    for given, field in (("node", "node"), ("point", "point"), ("point2", "second_point")):
        assert controller.channels[field].tolist() == [one[given] for one in truth["channels"]]
    assert controller.channels["frames"].tolist() == [[one["first"], one["last"]] for one in truth["channels"]]
    assert controller.parts["node"].tolist() == [one["node"] for one in truth["components"]]
    assert [controller.label(row) for row in range(len(controller.parts))] == [
        one["label"] for one in truth["components"]
    ]
    by_kind = (("nodes", node_references(controller)), ("points", point_references(controller)))
    for kind, found in by_kind:
        said = {number: sorted({*texts}) for number, texts in truth[kind].items()}
        mine: dict[str, set[str]] = {}
        for one in found:
            within = {"states": f" contact {one.within}", "actions": f" action {one.within}"}.get(one.table, "")
            word = {"states": "state", "channels": "channel", "components": "component", "actions": "group"}[one.table]
            mine.setdefault(str(one.number), set()).add(f"{word} {one.row}{within}")
        assert {number: sorted(texts) for number, texts in mine.items()} == said
