"""``.ctl``: every byte back, what it names of its model, its ranges; the corpus as recorded."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.controller import (
    CONTROLLER_TYPE,
    Controller,
    Reference,
    node_references,
    point_references,
    ranges_of,
    read_controller,
    state_offsets,
    with_nodes,
    write_controller,
)
from msh_gltf.converter.formats.nres import is_nres, read_nres
from tests.support.controller import State, controller, walker
from tests.support.corpus import CORPUS


def test_a_controller_comes_back_whatever_is_in_it() -> None:
    random = np.random.default_rng(3)
    for data in (controller(), controller(contacts=[1, 2]), walker(), walker(40, node=3, points=5)):
        for _ in range(20):
            noise = bytearray(data)
            for at in random.integers(20, 128, 30).tolist():
                noise[at] = int(random.integers(256))
            found = read_controller(bytes(noise), "x.ctl")
            assert write_controller(found) == noise


def test_where_states_lie() -> None:
    """Behind the header of 128 bytes, 156 each, and 16 for each of their two contacts."""
    found = read_controller(walker(), "x.ctl")
    assert state_offsets(found).tolist() == [128 + (156 + 2 * 16) * row for row in range(4)]


def test_what_is_cut_or_longer_is_refused_with_its_place() -> None:
    data = walker()
    for cut in (data[:-1], data + b"\0", data[:100], b"", data[: len(data) // 2]):
        with pytest.raises(ConversionError, match=r"x\.ctl") as caught:
            read_controller(cut, "x.ctl")
        assert caught.value.code == "controller-size"
    for at in range(0, 20, 4):
        for value in (-1, 0x7FFFFFFF, 200):
            broken = bytearray(data)
            struct.pack_into("<i", broken, at, value)
            with pytest.raises(ConversionError):
                read_controller(bytes(broken), "x.ctl")


def test_nodes_and_points_that_it_names() -> None:
    found = read_controller(walker(node=4, points=3), "x.ctl")
    nodes = [Reference(4, "channels", 0), Reference(4, "components", 0), Reference(0, "components", 1)]
    nodes += [Reference(4, "actions", 0, 0), Reference(4, "actions", 1, 1)]
    assert node_references(found) == nodes
    contacts = [Reference(point, "states", row, point) for row in range(4) for point in range(3)]
    actions = [Reference(2, "actions", 0, 1)] * 3 + [Reference(2, "actions", 1, 0)]
    assert point_references(found) == [*contacts, Reference(2, "channels", 0), *actions]
    moved = with_nodes(found, {4: 7, 0: 1})
    assert {one.number for one in node_references(moved)} == {7, 1}
    assert point_references(moved) == [*contacts, Reference(2, "channels", 0), *actions]
    assert write_controller(with_nodes(moved, {7: 4, 1: 0})) == write_controller(found)


def test_ranges_are_chains_from_anchor_to_anchor() -> None:
    states = [
        State((2, 2), True),
        State((2, 5), speed=(2, 8)),
        State((5, 13), speed=(2, 10)),
        State((13, 13), True),
        State((13, 4)),  # goes nowhere
        State((2, 20), speed=(-6, -2)),
        State((20, 20), True),
    ]
    found = read_controller(controller(states, free=[(0, 1), (1, 2), (2, 3), (3, 4), (0, 5), (5, 6)]), "x")
    shown = [(one.first, one.last, one.states, one.speed) for one in ranges_of(found)]
    assert shown == [(2, 13, (0, 1, 2, 3), 5), (2, 20, (0, 5, 6), -4)]


def test_many_states_that_all_lead_to_each_other_take_no_time() -> None:
    """Paths are not enumerated: 105 states as the hero has, and every transition is free."""
    states = [State((0, 1), row < 3) for row in range(105)]
    free = [(a, b) for a in range(105) for b in range(105)]
    assert len(ranges_of(read_controller(controller(states, free=free), "x"))) == 1


# ------------------------------------------------------------------ the corpus

_TABLES = {"state": "states", "channel": "channels", "component": "components", "group": "actions"}


def recorded(names: dict[str, list[str]]) -> list[Reference]:
    """References as the truth has them: ``state 0 contact 1``, ``channel 0``, ``group 1 action 0``."""
    out = []
    for number, places in names.items():
        for place in places:
            what, row, *within = place.split()
            out.append(Reference(int(number), _TABLES[what], int(row), int(within[1]) if within else 0))
    return sorted(out)


def fits(found: Controller, truth: dict) -> None:
    """What was read is what was recorded."""
    for row, state in enumerate(truth["states"]):
        stored = found.states[row]
        assert (found.is_anchor(row), stored["length"]) == (state["anchor"], state["ms"])
        assert (stored["pair_a"].tolist(), stored["pair_b"].tolist()) == (state["a"], state["b"])
        assert [[c["point"], c["flags"], c["group"]] for c in found.contacts[row]] == state["contacts"]
        speed = stored["velocity"][:, 1].tolist() if stored["boxes"] & 2 else None
        spin = stored["spin"][:, 2].tolist() if stored["boxes"] & 0x40 else None
        assert (speed, spin) == (state["vy"], state["spin"])
    assert len(found.states) == len(truth["states"])
    assert [[one.first, one.last] for one in ranges_of(found)] == truth["ranges"]
    for row, each in enumerate(truth["channels"]):
        stored = found.channels[row]
        assert [stored["node"], *stored["frames"]] == [each["node"], each["first"], each["last"]]
        assert (stored["point"], stored["second_point"]) == (each["point"], each["point2"])
    for row, each in enumerate(truth["components"]):
        stored = found.parts[row]
        assert [stored["part_class"], stored["node"]] == [each["class"], each["node"]]
        assert found.part_channels[row].tolist() == each["channels"]
        assert not each["label"] or found.part_name(row) == each["label"]
    actions = [(row, *a["arguments"].tolist()) for row, group in enumerate(found.groups) for a in group]
    assert actions == [(a["group"], *a["args"]) for a in truth["actions"]]
    assert sorted(point_references(found)) == recorded(truth["points"])
    assert sorted(node_references(found)) == recorded(truth["nodes"])


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_controllers_of_the_corpus_come_back_and_say_what_was_recorded() -> None:
    root = Path(CORPUS or "") / "missions"
    truth = json.loads((root / "truth/controls.json").read_text("utf-8"))
    known = {(one["archive"].lower(), one["entry"].lower()): one for one in truth.values() if isinstance(one, dict)}
    done = 0
    for path in sorted((root / "game").glob("*")):
        if not path.is_file() or not is_nres(data := read_file(path)):
            continue
        for entry in read_nres(data, path.name).entries:
            if entry.name.lower().endswith(".ctl"):
                assert entry.type_id == CONTROLLER_TYPE
                found = read_controller(entry.payload, entry.name)
                assert write_controller(found) == entry.payload
                fits(found, known[path.name.lower(), entry.name.lower()])
                done += 1
    assert done == len(known) > 10
