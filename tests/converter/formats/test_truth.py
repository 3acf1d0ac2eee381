"""What is read of the game's files equals what was recorded of them: of bundled ones, and of whole games."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats import controller, material, terrain
from msh_gltf.converter.formats.controller import Controller, Reference
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.model_parts import read_footing
from msh_gltf.converter.formats.nres import Archive, is_nres, read_nres
from msh_gltf.converter.formats.texture import FORMATS, new_texm, read_texm, write_texm
from msh_gltf.converter.formats.wear import new_wear, read_wear, write_wear
from msh_gltf.converter.kinds.open_files import read_msh
from tests.support.corpus import CORPUS, DATA, LIBS, every_sample

equal = np.testing.assert_array_equal
#: The whole games that are there.
GAMES = [path.parents[1] for path in sorted(Path(CORPUS).glob("*/truth/manifest.json"))] if CORPUS else []
needs_games = pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")


def load(path: Path) -> Archive:
    return read_nres(read_file(path), path.name)


def truth_of_missions(name: str) -> Any:
    return json.loads((Path(CORPUS or "") / "missions/truth" / name).read_text("utf-8"))


def entries_of_missions(ending: str) -> list[tuple[str, str, Any]]:
    """Archive, name and payload of the entries of a game whose names end so."""
    found = []
    for path in sorted((Path(CORPUS or "") / "missions/game").glob("*")):
        if path.is_file() and is_nres(data := read_file(path)):
            entries = read_nres(data, path.name).entries
            found += [(path.name, e.name, e.payload) for e in entries if e.name.lower().endswith(ending)]
    return found


# ------------------------------------------------------------------ models and levels


@every_sample
def test_models(sample) -> None:
    model, truth, arrays = read_msh(sample.path, sample.entry), sample.truth, sample.arrays
    assert [e.type_id for e in model.archive.entries] == truth["order"]
    assert model.frame_count == truth["frame_count"]
    assert len(model.slots) == truth["counts"]["slots"]
    equal(model.positions, arrays["vertex_pos"])
    equal(model.normals, arrays["vertex_nrm"])
    equal(model.uv0, arrays["vertex_uv"])
    equal(model.batches["index_count"], arrays["batch_count"])
    assert model.header.tobytes() == arrays["header"].astype("<f4").tobytes()
    bounds = ("aabb_min", "aabb_max", "sphere_center", "sphere_radius")
    joined = np.concatenate([model.slots[k].reshape(len(model.slots), -1) for k in bounds], axis=1)
    equal(joined, arrays["slot_bounds"])
    equal(model.slots["area"], arrays["slot_area"])
    equal(model.slots["volume"], arrays["slot_volume"])
    if model.triangles is not None:
        equal(model.triangles["link"], arrays["desc_link"])
        equal(model.triangles["normal"], arrays["desc_normal"])
    if "graph_point" in arrays:
        assert model.graph is not None
        equal(model.graph.points["position"], arrays["graph_point"])
        equal(model.graph.points["node"], arrays["graph_node"])
    if not model.legacy:
        equal(model.nodes["slot_index"].reshape(-1, 15), [n["words"] for n in truth["nodes"]])


def test_load_order() -> None:
    """As msh-core (docs/reference/sources.md) has it, 4.1; the last two are not loaded."""
    assert list(TABLES) == [1, 2, 3, 4, 5, 10, 8, 19, 7, 13, 6, 15, 16, 18, 20, 9, 17]


def test_masks_of_buildings() -> None:
    """Typed from terrain-map-loading in another form: the low words and the tower bits."""
    low = {"Generator": 1, "Mine": 2, "Storage": 3, "Plant": 4, "Hangar": 6, "MainTeleport": 9}
    low |= {"Institute": 10, "Bunker_Small": 16, "Bunker_Medium": 17, "Bunker_Large": 18}
    low |= {"Tower_Medium": 20, "Tower_Large": 21}
    assert {name: 2**31 + 2**bit for name, bit in low.items()} == terrain.CATEGORIES


@needs_games
def test_buildings() -> None:
    for game in (game for game in GAMES if (game / "game/BuildDat.lst").is_file()):
        found, findings = terrain.read_build_dat((game / "game/BuildDat.lst").read_bytes(), "x", strict=True)
        truth = json.loads((game / "truth/manifest.json").read_text("utf-8"))["build_dat"]
        assert (found.categories, findings) == (truth, [])


# ------------------------------------------------------------------ libraries and lists of materials


@pytest.mark.parametrize("game", [None, *GAMES], ids=str)
def test_materials(game: Path | None) -> None:
    """Values as recorded; keys of tracks name phases, end later and later, and leave their last word 0."""
    path, truth = (
        (LIBS / "Material.lib", LIBS / "materials.json")
        if game is None
        else (game / "game/Material.lib", game / "truth/manifest.json")
    )
    archive, every = load(path), json.loads(truth.read_text("utf-8"))["materials"]
    assert len(every) == len(archive.entries)
    for name, facts in every.items():
        place = material.find_material(archive, name)
        assert place is not None
        assert place.step == "name"
        found = material.read_material(archive.entries[place.index], path.name)
        assert (found.name, found.kind, found.texture) == (name, facts["flags"], facts["texture"])
        assert (len(found.phases), found.trailing) == (facts["phases"], b"")
        for value, key in (("self_light", "ambient"), ("diffuse", "diffuse"), ("specular", "specular")):
            assert getattr(found, value) == tuple(byte / 255 for byte in facts[key])
        assert found.phases["emissive"][0, :3].tolist() == facts["emissive"]
        assert (found.alpha, found.cell) == (facts["alpha"] / 100, facts.get("cell", -1))
        assert (found.additive, found.translucent) == (facts["flags"] == 8, facts["flags"] in (4, 8))
        for track in found.tracks:
            assert (track.keys["phase"] < len(found.phases)).all()
            assert (np.diff(track.keys["end"].astype(int)) > 0).all()
            assert not track.keys["opaque4"].any()
            assert track.word == track.lerp_mask * 8 + track.mode


@pytest.mark.parametrize("game", [None, *GAMES], ids=str)
def test_textures(game: Path | None) -> None:
    """Pixels as recorded; header, levels and pages are all there is, and the words are as new textures get them."""
    folder, truth = (LIBS, LIBS / "textures.npz") if game is None else (game / "game", game / "truth/textures.npz")
    seen, formats, smallest = 0, set(), set()
    with np.load(truth) as recorded:
        for library in ("Textures.lib", "lightmap.lib"):
            for entry in load(folder / library).entries:
                texm = read_texm(entry.payload, entry.name)
                equal(texm.rgba(), recorded[f"{library}::{entry.name}"])
                assert texm.trailing == b""
                covered = np.zeros((texm.height, texm.width), bool)
                for left, top, width, height in texm.rectangles:
                    covered[top : top + height, left : left + width] = True
                assert covered.all() or not len(texm.pages)
                mips, whole = len(texm.levels), new_texm(texm.rgba(), 8888)
                made = whole if mips > 1 else new_texm(texm.rgba(), 8888, 1)
                for word in ("word16", "flags", "opaque24", "magic", "width", "height"):
                    assert made.header[word] == texm.header[word], word
                assert mips <= len(whole.levels)
                if texm.format in (888, 8888) and mips == 1:
                    again = write_texm(new_texm(texm.rgba(), texm.format, 1))
                    assert again == entry.payload[: len(again)]
                smallest.add(min(texm.levels[-1].shape))
                formats.add(texm.format)
                seen += 1
        assert seen == len(recorded.files)
    assert (formats, min(smallest)) == (set(FORMATS) - {88}, 1)


@pytest.mark.parametrize("game", [None, *GAMES], ids=str)
def test_new_lists_of_materials_have_the_form_of_the_games(game: Path | None) -> None:
    """Of bundled ones, and of those of whole games, loose or in an archive; all have rows with numbers in order."""
    lists = []
    for path in sorted((DATA if game is None else game / "game").rglob("*")):
        if path.suffix.lower() == ".wea":
            lists.append(path.read_bytes())
        elif game and path.is_file() and is_nres(data := read_file(path)):
            lists += [bytes(e.payload) for e in read_nres(data, path.name).entries if e.type_text == "WEAR"]
    assert lists
    for data in lists:
        wear, findings = read_wear(data, "x.wea")
        assert {finding.code for finding in findings} <= {"wear-id"}
        halves, ids = data.partition(b"LIGHTMAPS")[::2], [iter(range(1000)), iter(range(1000))]
        halves = [
            re.sub(rb"(?m)^\d+ ", lambda _, n=n: b"%d " % next(n), half) for half, n in zip(halves, ids, strict=True)
        ]
        made = new_wear(wear.materials, wear.lightmaps)
        assert write_wear(made) == (b"LIGHTMAPS" if wear.lightmaps else b"").join(halves)
        assert made.check() == []


# ------------------------------------------------------------------ what belongs to models


@needs_games
def test_footings() -> None:
    rings = {key.lower(): value for key, value in truth_of_missions("footings.json").items() if "::" in key}
    found = {
        f"{archive}::{name}".lower(): read_footing(data, name) for archive, name, data in entries_of_missions(".bas")
    }
    assert found.keys() == rings.keys()
    for key, known in rings.items():
        for one in ("inner", "outer"):
            assert np.allclose(getattr(found[key], one)[: len(known[one])], known[one], atol=1e-4)


def recorded(names: dict[str, list[str]]) -> list[Reference]:
    """References as the truth has them: ``state 0 contact 1``, ``channel 0``, ``group 1 action 0``."""
    tables = {"state": "states", "channel": "channels", "component": "components", "group": "actions"}
    places = [(int(number), *place.split()) for number, places in names.items() for place in places]
    return sorted(
        Reference(n, tables[what], int(row), int(within[1]) if within else 0) for n, what, row, *within in places
    )


def require_as_recorded(found: Controller, truth: dict[str, Any]) -> None:
    for row, (stored, state) in enumerate(zip(found.states, truth["states"], strict=True)):
        assert (found.is_anchor(row), stored["length"]) == (state["anchor"], state["ms"])
        assert (stored["pair_a"].tolist(), stored["pair_b"].tolist()) == (state["a"], state["b"])
        assert [[c["point"], c["flags"], c["group"]] for c in found.contacts[row]] == state["contacts"]
        speed = stored["velocity"][:, 1].tolist() if stored["boxes"] & 2 else None
        spin = stored["spin"][:, 2].tolist() if stored["boxes"] & 0x40 else None
        assert (speed, spin) == (state["vy"], state["spin"])
    assert [[one.first, one.last] for one in controller.ranges_of(found)] == truth["ranges"]
    for stored, each in zip(found.channels, truth["channels"], strict=True):
        assert [stored["node"], *stored["frames"]] == [each["node"], each["first"], each["last"]]
        assert (stored["point"], stored["second_point"]) == (each["point"], each["point2"])
    for row, (stored, each) in enumerate(zip(found.parts, truth["components"], strict=True)):
        assert [stored["part_class"], stored["node"]] == [each["class"], each["node"]]
        assert found.part_channels[row].tolist() == each["channels"]
        assert not each["label"] or found.part_name(row) == each["label"]
    actions = [(row, *a["arguments"].tolist()) for row, group in enumerate(found.groups) for a in group]
    assert actions == [(a["group"], *a["args"]) for a in truth["actions"]]
    assert sorted(controller.point_references(found)) == recorded(truth["points"])
    assert sorted(controller.node_references(found)) == recorded(truth["nodes"])


@needs_games
def test_controllers() -> None:
    truth = [one for one in truth_of_missions("controls.json").values() if isinstance(one, dict)]
    known = {(one["archive"].lower(), one["entry"].lower()): one for one in truth}
    found = entries_of_missions(".ctl")
    assert len(found) == len(known) > 10
    for archive, name, data in found:
        require_as_recorded(controller.read_controller(data, name), known[archive.lower(), name.lower()])
