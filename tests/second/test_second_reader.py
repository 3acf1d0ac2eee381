"""The second reader: the bundled files are sound, and it sees what is planted."""

import re
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
from tests.second.model import model_problems
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


#: What no corruption of the catalogue breaks.
UNBROKEN = {"controller-group", "unit-name"}


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


def test_each_of_its_codes_is_seen_in_a_corruption() -> None:
    """Of the catalogue, on record there."""
    modules = [
        path for path in Path(__file__).parent.glob("*.py") if path.stem in ("container", "level", "model", "placed")
    ]
    codes = {code for path in modules for code in re.findall(r'"([a-z]+-[a-z-]+)"', path.read_text("utf-8"))}
    findings = Path(__file__).parents[1] / "converter/checks/findings.txt"
    seen = re.findall(r"\| a second reader: ([^|]+) \|", findings.read_text("utf-8"))
    assert codes - UNBROKEN == {code for line in seen for code in line.split(", ")}


@pytest.mark.plants_faults
def test_what_an_import_breaks_is_found() -> None:
    """A problem of what was read is no problem of what is written; another one is."""
    broken = bytearray(WALKER)
    struct.pack_into("<H", broken, Container(WALKER).tables()[13].offset + 14, 0)
    note = partial(plugin.judge, "read_nres", model_problems)
    plugin.forget()
    note(WALKER)
    assert not plugin.found
    note(bytes(broken))
    assert plugin.found == ["model_problems: {'batch-window': 1}"]
    plugin.forget()
    plugin._read["read_nres"] = {bytes(broken): None}
    note(bytes(broken))
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
