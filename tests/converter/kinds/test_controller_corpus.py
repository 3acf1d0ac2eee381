"""Every controller of a corpus against its recorded truth; ``test_numbered_files`` has what edits break of one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

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
from msh_gltf.converter.storage import walk_files

CORPUS = os.environ.get("MSH_GLTF_CORPUS")
GAME = Path(CORPUS or "") / "missions" / "game"
pytestmark = pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")


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
