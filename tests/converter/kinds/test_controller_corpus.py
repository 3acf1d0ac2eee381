"""Every controller of a corpus against its recorded truth, and what each kind of edit breaks of it.

Edits are made in the glTF of the model alone and in that of a unit that has it; both name the same references.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.cli import msh2gltf
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
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.storage import walk_files
from tests.support.gltf_edit import Editable
from tests.support.runs import call

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


# ------------------------------------------------------------------ edits


class Place:
    """A model in a glTF: alone, or below a node of a unit.

    Attributes:
        document: the glTF.
        first: the number of its first node.
        count: of its nodes and control points.
    """

    def __init__(self, path: Path, key: str | None) -> None:
        self.path, self.document = path, Editable(path)
        nodes = self.document.json["nodes"]
        self.first, self.count = 0, len(nodes)
        if key is not None:
            own = next(i for i, node in enumerate(nodes) if _extras(node).get("key", "").lower() == key.lower())
            self.first = own + 1
            after = (i for i in range(own + 1, len(nodes)) if _extras(nodes[i]).get("kind") == "component")
            self.count = next(after, len(nodes)) - self.first

    def numbers(self) -> range:
        return range(self.first, self.first + self.count)

    def item(self, **extras: object) -> int | None:
        """The node with these extras."""
        nodes = self.document.json["nodes"]
        found = (i for i in self.numbers() if extras.items() <= _extras(nodes[i]).items() and _is_whole(nodes[i]))
        return next(found, None)

    def samplers(self) -> list[dict[str, int]]:
        return [
            animation["samplers"][channel["sampler"]]
            for animation in self.document.json.get("animations", [])
            for channel in animation["channels"]
            if channel["target"]["node"] in self.numbers()
        ]

    def forget(self, number: int) -> None:
        for node in [*self.document.json["nodes"], *self.document.json["scenes"]]:
            for key in ("children", "nodes"):
                node[key] = [child for child in node.get(key, []) if child != number]
                if not node[key]:
                    del node[key]
        for animation in self.document.json.get("animations", []):
            animation["channels"] = [one for one in animation["channels"] if one["target"]["node"] != number]
        if not all(animation["channels"] for animation in self.document.json.get("animations", [])):
            del self.document.json["animations"]

    def imported(self) -> ImportResult:
        edited = self.document.save(self.path.with_name("edited.glb"))
        return import_gltf(edited, self.path.with_suffix(".msh-sidecar"))


def _extras(node: dict[str, Any]) -> dict[str, Any]:
    return node.get("extras", {}).get("msh", {})


def _is_whole(node: dict[str, Any]) -> bool:
    """Whether a node is no part of another cell."""
    return "lod" not in _extras(node)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Path, str | None]]]:
    """The glTF of each controller's model, and of a unit that has it with the object key there."""
    folder = tmp_path_factory.mktemp("controllers")
    out: dict[str, list[tuple[Path, str | None]]] = {}
    for name in NAMING:
        truth = TRUTHS[name]
        path = folder / f"{name}.glb"
        model_archive = named_in_game(f"{name.partition('__')[0]}.rlb")
        assert call(msh2gltf, model_archive, "--entry", truth["model"], "-o", path, "-q") == 0
        out[name] = [(path, None)]
    for path in sorted((GAME.parent / "truth" / "units").glob("*.json")):
        unit = json.loads(path.read_text("utf-8"))
        for component in unit["components"]:
            name = component.get("model_id")
            if component["shown"] and len(out.get(name, ["", ""])) == 1:
                target = folder / f"{name}.unit.glb"
                assert call(msh2gltf, GAME / unit["file"], "-o", target, "-q") == 0
                out[name].append((target, component["key"]))
    return out


def places(exported: dict[str, list[tuple[Path, str | None]]], name: str) -> Iterator[Place]:
    return (Place(path, key) for path, key in exported[name])


def named(text: str) -> set[str]:
    """The references in a message: ``states 0-2, 5 contact 1`` are four of them."""
    found = set()
    one = r"(state|channel|component|group)s? ([\d, -]*\d)((?: (?:contact|action) \d+)?)"
    for word, runs, rest in re.findall(one, text):
        for run in re.findall(r"\d+(?:-\d+)?", runs):
            first, _, last = run.partition("-")
            found |= {f"{word} {row}{rest}" for row in range(int(first), int(last or first) + 1)}
    return found


def line(result: ImportResult, *parts: str) -> str:
    (found,) = [one for one in result.warnings if all(part in one for part in parts)]
    return found


@pytest.mark.parametrize("name", NAMING)
def test_a_shorter_clip_names_what_freezes(name: str, exported: dict[str, list[tuple[Path, str | None]]]) -> None:
    truth = TRUTHS[name]
    frames = [*(state["a"] + state["b"] for state in truth["states"])]
    ends = [[one["first"], one["last"]] for one in truth["channels"]]
    last = max(map(max, [*frames, *ends]))
    if last < 2:
        pytest.skip("plays no frame after the second")
    end = int(np.ceil(last / 2))
    late = {f"state {row}" for row, own in enumerate(frames) if max(own) > end}
    late |= {f"channel {row}" for row, own in enumerate(ends) if max(own) > end}
    for place in places(exported, name):
        cut: dict[int, int] = {}
        for sampler in place.samplers():
            for key in ("input", "output"):
                old = sampler[key]
                cut.setdefault(old, place.document.add(place.document.arrays[old][: end + 1]))
                sampler[key] = cut[old]
        assert named(line(place.imported(), "clip ends at frame").partition(":")[2].partition(": ")[2]) == late


@pytest.mark.parametrize("name", NAMING)
def test_a_changed_frame_names_what_plays_it(name: str, exported: dict[str, list[tuple[Path, str | None]]]) -> None:
    truth, frame = TRUTHS[name], 2
    pairs = [[state["a"], state["b"]] for state in truth["states"]]
    playing = {f"state {i}" for i, two in enumerate(pairs) if any(min(x) - 1 < frame < max(x) + 1 for x in two)}
    ends = [sorted((one["first"], one["last"])) for one in truth["channels"]]
    playing |= {f"channel {i}" for i, (first, last) in enumerate(ends) if first - 1 < frame < last + 1}
    for place in places(exported, name):
        moved = next((one for one in place.samplers() if place.document.arrays[one["output"]].shape[1] == 3), None)
        if moved is None or len(place.document.arrays[moved["output"]]) <= frame:
            pytest.skip("has no such frame")
        values = place.document.arrays[moved["output"]].copy()
        values[frame, 0] += 0.5
        moved["output"] = place.document.add(values)
        found = [one for one in place.imported().warnings if f"frame {frame} was changed" in one]
        assert set().union(*map(named, found)) == playing
        for first, last in truth["ranges"]:
            assert (f"{first:g}-{last:g}" in "".join(found)) == (first - 1 < frame < last + 1)


@pytest.mark.parametrize("name", NAMING)
def test_a_deleted_point_keeps_its_place_and_says_why(
    name: str, exported: dict[str, list[tuple[Path, str | None]]]
) -> None:
    for point, references in TRUTHS[name]["points"].items():
        for place in places(exported, name):
            item = place.item(kind="point", point=int(point))
            if item is None:
                continue  # it is on no node of the model, and not shown
            place.forget(item)
            result = place.imported()
            (lost,) = [one for one in result.not_applied if "control point" in one.where]
            assert f"control point {point} " in lost.where
            assert named(lost.why.partition(": ")[2]) == {*references}
            assert not result.changes


@pytest.mark.parametrize("name", NAMING)
def test_a_deleted_node_names_what_it_leaves(name: str, exported: dict[str, list[tuple[Path, str | None]]]) -> None:
    done = 0
    for node, references in TRUTHS[name]["nodes"].items():
        for place in places(exported, name):
            nodes, item = place.document.json["nodes"], place.item(node=int(node))
            assert item is not None
            kinds = {_extras(nodes[child]).get("kind") for child in nodes[item].get("children", [])}
            if node == "0" or kinds - {"point"}:
                continue
            for i in place.numbers():
                if _extras(nodes[i]).get("node") == int(node):
                    place.forget(i)
            said = line(place.imported(), f"node {node} ", " is gone, ")
            assert named(said.partition(" is gone")[2].partition(" named")[0]) == {*references}
            done += 1
    if not done:
        pytest.skip("names no leaf")
