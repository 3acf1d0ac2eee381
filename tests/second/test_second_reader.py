"""The second reader: the bundled files are sound, and it sees what is planted."""

import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trimesh
from PIL import Image

from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.second import plugin
from tests.second.container import Container, archive_problems
from tests.second.level import areal_problems, terrain_problems
from tests.second.model import Model, model_problems
from tests.second.placed import controller_problems, mission_problems, unit_problems
from tests.support import controller as made
from tests.support import inside_game
from tests.support.assembly import full_mission, unit
from tests.support.corpus import DATA, LIBS, sample_called
from tests.support.gltf_edit import Editable, reverse_nodes
from tests.support.maps import level_called
from tests.support.runs import run

WALKER = sample_called("spec__static__b_bun_000").path.read_bytes()
LEVEL = level_called("spec__AutoMAP_00").folder
LAND, MAP = (LEVEL / "Land.msh").read_bytes(), (LEVEL / "Land.map").read_bytes()
LIBRARY = (LIBS / "Material.lib").read_bytes()
CONTROL = made.controller(channels=[made.channel(0)], components=[made.component(0, channels=[0])])
UNIT = unit([("r_h_02", 0, -1, 1), ("g_las_00", 4, 0)])
MISSION = full_mission()
#: What the generator made odd on purpose.
ODD = {"slot-box", "anim-words", "batch-tiles", "areal-area"}


def plant(data: bytes, table: int | None, at: int, form: str, *values: float | bytes) -> bytes:
    """The file with numbers of a table (``None``: of the file) replaced."""
    out = bytearray(data)
    start = 0 if table is None else Container(data).tables()[table].offset
    struct.pack_into("<" + form, out, start + at, *values)
    return bytes(out)


def entry_word(data: bytes, table: int, at: int, value: int) -> bytes:
    """The file with one word of a table's directory record replaced."""
    kinds = [e.kind for e in Container(data).entries]
    return plant(data, None, len(data) - 64 * (len(kinds) - kinds.index(table)) + at, "I", value)


def linked(triangle: int) -> tuple[int, int]:
    """A triangle that has a neighbour, and the edge."""
    rows = Model(WALKER).triangles
    return next((t, k) for t in range(triangle, len(rows)) for k in range(3) if rows[t][1 + k] != 0xFFFF)


T, K = linked(5)
CORNER = Model(WALKER).of_slot(Model(WALKER).slots[0])[0][1][0]
FACE = struct.unpack_from("<3H", Container(LAND).tables()[21].data, 14)
FACE_POINT = struct.unpack_from("<H", Container(LAND).tables()[21].data, 8)[0]
EDGE = next(k for k in range(3) if FACE[k] != 0xFFFF)
MOVING = next(i for i, node in enumerate(Model(WALKER).nodes) if node[2] != 0xFFFF)
MOVES = Model(WALKER).nodes[MOVING]

FAULTS: list[tuple[str, Callable[[bytes], dict[str, int]], bytes]] = [
    ("nres-header", model_problems, WALKER + b"\0"),
    ("nres-order", model_problems, plant(WALKER, None, len(WALKER) - 4, "I", 0)),
    ("table-attributes", model_problems, entry_word(WALKER, 3, 4, 1)),
    ("core-parent", model_problems, plant(WALKER, 1, 38 + 2, "H", 7)),
    ("core-cell", model_problems, plant(WALKER, 1, 8, "H", 9999)),
    ("anim-run", model_problems, plant(WALKER, 1, 6, "H", 60000)),
    ("anim-times", model_problems, plant(WALKER, 8, 24 * MOVES[3] + 12, "f", 0.0)),
    ("anim-words", model_problems, plant(WALKER, 19, 2 * MOVES[2] + 2, "H", MOVES[3])),
    ("anim-frames", model_problems, entry_word(WALKER, 19, 8, 1)),
    ("batch-tiles", model_problems, plant(WALKER, 13, 20 + 10, "I", 0)),
    ("batch-window", model_problems, plant(WALKER, 13, 14, "H", 0)),
    ("batch-range", model_problems, plant(WALKER, 13, 16, "I", 60000)),
    ("slot-range", model_problems, plant(WALKER, 2, 140 + 6, "H", 60000)),
    ("slot-triangles", model_problems, plant(WALKER, 2, 140 + 68, "H", 0)),
    ("slot-box", model_problems, plant(WALKER, 2, 140 + 8, "f", -99.0)),
    ("slot-sphere", model_problems, plant(WALKER, 2, 140 + 44, "f", 0.01)),
    ("header-corners", model_problems, plant(WALKER, 2, 0, "f", 99.0)),
    ("header-box", model_problems, plant(WALKER, 8, 0, "f", 900.0)),
    ("core-link", model_problems, plant(WALKER, 7, 16 * T + 2 + 2 * K, "H", T)),
    ("core-selector", model_problems, plant(WALKER, 7, 16 * T + 2 + 2 * K, "H", 0xFFFF)),
    ("core-normal", model_problems, plant(WALKER, 7, 16 * T + 8, "h", 11)),
    ("core-edge", model_problems, plant(WALKER, 3, 12 * CORNER, "f", 8.0)),
    ("names-end", model_problems, plant(WALKER, 9, 0, "32s", b"n" * 32)),
    ("strings-end", model_problems, plant(WALKER, 10, 0, "I", 90000)),
    ("not-finite", model_problems, plant(WALKER, 3, 0, "f", float("nan"))),
    ("terrain-vertex", terrain_problems, plant(LAND, 21, 8, "H", 65000)),
    ("terrain-link", terrain_problems, plant(LAND, 21, 14 + 2 * EDGE, "H", 0)),
    ("terrain-runs", terrain_problems, plant(LAND, 2, 140 + 68, "H", 3)),
    ("terrain-order", terrain_problems, plant(LAND, 11, 0, "H", 9)),
    ("terrain-groups", terrain_problems, plant(LAND, 11, 2, "B", 0x48)),
    ("terrain-second-material", terrain_problems, plant(LAND, 21, 0, "I", 0x604)),
    ("terrain-normal", terrain_problems, plant(LAND, 21, 20, "h", 32000)),
    ("terrain-box", terrain_problems, plant(LAND, 2, 140 + 8, "f", -4.0)),
    ("areal-normal", areal_problems, plant(MAP, 12, 20, "f", 3.0)),
    ("areal-area", areal_problems, plant(MAP, 12, 16, "f", 1e9)),
    ("areal-end", areal_problems, plant(MAP, 12, 48, "I", 90000)),
    ("terrain-flags", terrain_problems, plant(LAND, 21, 0, "H", 0)),
    ("terrain-unlinked", terrain_problems, plant(LAND, 21, 14, "3H", *[0xFFFF] * 3)),
    ("terrain-sphere", terrain_problems, plant(LAND, 2, 140 + 44, "f", 0.01)),
    ("terrain-square-faces", terrain_problems, plant(LAND, 3, 12 * FACE_POINT, "f", 9e5)),
    ("terrain-hull", terrain_problems, plant(LAND, 2, 8, "f", -900.0)),
    ("nres-sorted", archive_problems, plant(LIBRARY, None, len(LIBRARY) - 64 + 20, "B", 1)),
    ("nres-overlap", archive_problems, plant(LIBRARY, None, len(LIBRARY) - 8, "I", 16)),
    ("unit-tree", unit_problems, plant(UNIT, None, 8 + 108, "i", 5)),
    ("unit-size", unit_problems, UNIT[:-1]),
    ("mission-end", mission_problems, MISSION + b"\0"),
    ("controller-end", controller_problems, CONTROL[:-4]),
    ("controller-channel", controller_problems, made.controller(components=[made.component(0, channels=[4])])),
]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.msh")), ids=lambda p: p.stem)
def test_bundled_models_are_sound(path: Path) -> None:
    assert set(model_problems(path.read_bytes())) <= ODD


@pytest.mark.parametrize(
    ("check", "data"),
    [
        (terrain_problems, LAND),
        (areal_problems, MAP),
        (archive_problems, LIBRARY),
        (unit_problems, UNIT),
        (mission_problems, MISSION),
        (controller_problems, CONTROL),
    ],
)
def test_bundled_files_are_sound(check: Callable[[bytes], dict[str, int]], data: bytes) -> None:
    assert set(check(data)) <= ODD


@pytest.mark.parametrize(("code", "check", "data"), FAULTS, ids=[fault[0] for fault in FAULTS])
@pytest.mark.plants_faults
def test_a_planted_fault_is_seen(code: str, check: Callable[[bytes], dict[str, int]], data: bytes) -> None:
    """By the plugin, too, where what was read did not have it."""
    (reader,) = (reader for reader, _, own in plugin.KINDS.values() if own is check)
    plugin.judge(reader, check, data)
    assert f"'{code}': " in plugin.found[0]


@pytest.mark.plants_faults
def test_what_an_import_breaks_is_found() -> None:
    """A problem of what was read is no problem of what is written; another one is."""
    broken = plant(WALKER, 13, 14, "H", 0)
    note = partial(plugin.judge, "read_nres", model_problems)
    plugin.forget()
    note(WALKER)
    assert not plugin.found
    note(broken)
    assert plugin.found == ["model_problems: {'batch-window': 1}"]
    plugin.forget()
    plugin._read["read_nres"] = {broken: None}
    note(broken)
    assert not plugin.found


def _moved(document: Editable) -> None:
    """Move a point of each mesh, and whatever says that it is a part of a unit or an object of a mission."""
    for mesh in document.json.get("meshes", []):
        document.arrays[mesh["primitives"][0]["attributes"]["POSITION"]][0, 1] += 1
    for node in document.json["nodes"]:
        said = node.get("extras", {}).get("msh", {})
        if "attach" in said:
            said["attach"] = 1
        elif "path" in said and "translation" in node:
            node["translation"][0] += 1
    reverse_nodes(document)


@pytest.mark.plants_faults
def test_imports_of_every_kind_pass_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seven kinds of files that it reads are written by what it is put before."""
    mission = inside_game.make(tmp_path / "game")
    shutil.copytree(LEVEL, tmp_path / "level")
    model = tmp_path / "walker.msh"
    model.write_bytes(WALKER)
    model.with_suffix(".ctl").write_bytes(made.walker())
    seen: set[Any] = set()
    monkeypatch.setattr(plugin, "judge", lambda reader, check, data: seen.add(check))
    levels = [tmp_path / "level" / name for name in ("Land.msh", "Land.map")]
    for source in (mission, inside_game.robot_of(mission), model, *levels):
        target = tmp_path / f"{source.name}.glb"
        inside_game.convert(source, target)
        document = Editable(target)
        _moved(document)
        assert import_gltf(document.save(target), None, ImportOptions()).changes
    library, picture = tmp_path / "Textures.lib", tmp_path / "wall.png"
    library.write_bytes((LIBS / "Textures.lib").read_bytes())
    Image.new("RGB", (4, 4), "red").save(picture)
    assert run("gltf2msh", picture, "--into", library).returncode == 0
    assert seen == {check for _, _, check in plugin.KINDS.values()}


@pytest.mark.plants_faults
def test_an_import_passes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writers are wrapped where the product finds them."""
    import msh_gltf
    from msh_gltf.converter.rebuild import slots

    right = slots.slot_bounds

    def wrong(positions: Any) -> Any:
        return {**right(positions), "aabb_min": 0.0}

    monkeypatch.setattr(slots, "slot_bounds", wrong)
    box = trimesh.creation.box()
    msh_gltf.import_gltf(box.export(file_type="glb"))
    assert any("slot-box" in line for line in plugin.found)
