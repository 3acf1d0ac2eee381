"""Materials, textures and their libraries through the extension in real Blender."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.formats.material import read_material
from msh_gltf.converter.formats.nres import Entry, read_nres
from msh_gltf.converter.formats.wear import read_wear_names
from tests.blender.test_extension import Seen, see, zip_file
from tests.docs.materials import example_game
from tests.support.game import original
from tests.support.runs import call

__all__ = ["zip_file"]


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("materials", "libraries", "namesakes", "grouped"))


def entries_of(path: Path) -> Sequence[Entry]:
    return read_nres(path.read_bytes(), "x").entries


def test_materials_go_into_the_archive_and_back(seen: Seen) -> None:
    """Only the .wea differs after a new name, and nothing does after the old one came back."""
    facts, out = seen.facts["materials"], seen.out / "materials"
    before = read_nres(original(seen.out.parent / "reskinned.rlb"), "x")
    rows = {}
    for name in ("renamed", "undone", "added", "again", "removed"):
        assert not [row for row in facts[name]["warnings"] if "not applied" in row]
        now = read_nres((out / f"{name}.rlb").read_bytes(), "x")
        pairs = list(zip(before.entries, now.entries, strict=True))
        changed = {a.name for a, b in pairs if a.payload != b.payload}
        rows[name] = changed, read_wear_names(now.entries[now.find("e_tur_01.wea") or 0].payload)
    old = read_wear_names(before.entries[before.find("e_tur_01.wea") or 0].payload)
    new = ["rust" if name == "armour" else name for name in old]
    assert rows["renamed"] == ({"e_tur_01.wea"}, new)
    assert rows["undone"] == (set(), old)
    assert (out / "undone.rlb").read_bytes() == original(seen.out.parent / "reskinned.rlb")
    assert rows["added"] == ({"e_tur_01.msh", "e_tur_01.wea"}, [*old, "gold"])
    assert rows["again"] == ({"e_tur_01.msh", "e_tur_01.wea"}, [*old, "silver"])
    assert (out / "removed.rlb").read_bytes() == (out / "undone.rlb").read_bytes()


def test_materials_and_textures_go_into_the_libraries_and_back(seen: Seen) -> None:
    """Each edit changes the entries that it is about, and the next one starts from the game."""
    facts, out = seen.facts["libraries"], seen.out / "libraries"
    files = ("turrets.rlb", "Material.lib", "Textures.lib")

    def differing(name: str) -> dict[str, list[str]]:
        changed: dict[str, list[str]] = {}
        for file in files:
            old, new = (
                {e.name: (bytes(e.payload), e.attr1) for e in read_nres(path.read_bytes(), "x").entries}
                for path in (example_game() / file, out / name / file)
            )
            found = sorted(entry for entry in new if new[entry] != old.get(entry))
            if found:
                changed[file] = found
        return changed

    odd = "it has 100 x 60 pixels, and sides of a texture are powers of two; resize the picture"
    for name, fact in facts.items():
        lost = [row for row in fact["warnings"] if "not applied" in row]
        assert lost == ([f"not applied: material 'joint': picture joint.0 is repainted; {odd}"] * (name == "odd")), name
        assert not [row for row in fact["warnings"] if "--" in row or "gltf2msh" in row], name
    wall = {path.name for path in (out / "wall").iterdir()}
    entries = {"латунь.mat0", "BRASS.0"}
    assert wall == {"turret.msh", "turret.wea", *entries}
    assert original(out / "wall/BRASS.0") == b"mine"
    line = "BRASS.0 was another one, perhaps of another model; the game's history has it"
    assert line in facts["exported"]["warnings"]
    for name in ("same", "undone", "removed"):
        for file in files:
            assert (out / name / file).read_bytes() == (example_game() / file).read_bytes(), name
    assert differing("recoloured") == {"Material.lib": ["glow"]}
    assert differing("odd") == {"Material.lib": ["glow"]}
    assert differing("repainted") == {"Textures.lib": ["joint.0"]}
    assert differing("own") == {
        "turrets.rlb": ["e_tur_01.wea"],
        "Material.lib": ["joint_e_tur_01"],
        "Textures.lib": ["joint_2.0"],
    }
    assert differing("new") == {
        "turrets.rlb": ["e_tur_01.msh", "e_tur_01.wea"],
        "Material.lib": ["латунь"],
        "Textures.lib": ["BRASS.0"],
    }
    assert differing("reassigned") == {"turrets.rlb": ["e_tur_01.msh"]}
    assert call(cli.msh_inspect, "--check", out / "new", "--strict", "-q") == 0


def test_a_new_material_called_like_another_models_is_reported(seen: Seen) -> None:
    """The first model's second edit arrives; the second model's look is reported, not taken."""
    facts, out = seen.facts["namesakes"], seen.out / "namesakes"

    def diffuse(name: str) -> list[tuple[float, ...]]:
        entries = entries_of(out / f"{name}.lib")
        return [read_material(e, "x").diffuse for e in entries if e.name == "namesake"]

    reported = {name: [row for row in fact["warnings"] if "not applied" in row] for name, fact in facts.items()}
    assert (diffuse("e_tur_01.msh"), reported["e_tur_01.msh"]) == ([(1, 0, 0)], [])
    assert (diffuse("again"), reported["again"]) == ([(0, 1, 0)], [])
    assert diffuse("e_tur_02.msh") == [(0, 1, 0)]
    (line,) = reported["e_tur_02.msh"]
    assert "its colour #0000ff; the game has a material 'namesake', which is meant" in line


def test_materials_are_those_of_the_game(seen: Seen) -> None:
    """One for all batches of a look, without ``.001``; what the game cannot show is marked, and can be baked."""
    facts, out = seen.facts["grouped"], seen.out / "grouped"
    assert facts["materials"] == ["DEFAULT", "Metal_008", "MTL_009", "MTL_012"]
    assert sum(facts["batches"].values()) == 32
    lines = [line for line in facts["foreign"] if "not applied" in line]
    assert any("'Invert" in line and "Bake to Texture" in line for line in lines), lines
    assert any("Draw Mode" in line for line in lines)
    assert facts["marked"]
    assert not [line for line in [*facts["baked"]["warnings"], *facts["by_gltf"]] if "not applied" in line]
    name, size, least, alpha = facts["pixels"]
    assert (name, size, alpha, facts["again"]) == ("armour_baked", [64, 64], 0, 0)
    assert least > 0
    assert "armour_baked.0" in [entry.name for entry in entries_of(out / "Textures.lib")]
    # by the group's sockets, though Blender's glTF add-on does not know them
    assert [read_material(e, "x").diffuse for e in entries_of(out / "Material.lib") if e.name == "armour"] == [
        (1, 0, 0)
    ]
