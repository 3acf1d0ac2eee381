"""The extension in real Blender: installed from its zip, used as a modder does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blender_extension import build
from msh_gltf.converter import cli
from msh_gltf.converter.formats.model import MshModel, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.differences import diff_models
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from tests.converter.game.test_import_run import same_but_for
from tests.docs.materials import example_game
from tests.support.assembled_game import GameParts
from tests.support.blender import BLENDER
from tests.support.controller import walker
from tests.support.corpus import DATA, LIBS
from tests.support.game import MESH, archive, entry, make_game, original, snapshot
from tests.support.points import CTPT, POINTS, cpt
from tests.support.runs import call, first_difference

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
WALKER = EXAMPLES / "walker.msh"
BIRD = "птица.msh"
STEPS = (
    "namespace",
    "untouched",
    "textured",
    "reopened",
    "copied",
    "moved",
    "edited",
    "two_models",
    "archive",
    "turret",
    "new_model",
    "errors",
    "same_names",
    "panel",
    "dialogs",
    "dropped",
    "switched_off",
)
UNTOUCHED = {
    "walker": WALKER,
    "hangar": EXAMPLES / "hangar.msh",
    "retail": DATA / "retail__static__i_room_006.msh",
    "spec": DATA / "spec__system__a_bird_007.msh",
    "coloured": DATA / "spec__system__R_H_002.msh",
    "mixed": DATA / "mixed__odd__l_mast_058.msh",
    "outlier": DATA / "retail__system__MTCHECK.msh",
}
LEVEL = DATA / "maps/spec__AutoMAP_00"


class Seen:
    """What Blender made of everything."""

    def __init__(self, out: Path, facts: dict[str, Any], game: Path, before: Path) -> None:
        self.out, self.facts, self.game, self.before = out, facts, game, before

    def same(self, step: str, name: str, source: Path) -> None:
        difference = first_difference(source.read_bytes(), (self.out / step / name).read_bytes())
        assert difference is None, (step, name, difference)


@pytest.fixture(scope="module")
def zip_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build.build(tmp_path_factory.mktemp("dist"))
    except build.BuildError as error:
        pytest.skip(f"no extension: {error}")


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), STEPS)


def see(zip_file: Path, base: Path, steps: tuple[str, ...]) -> Seen:
    """Run steps of ``extension.py``."""
    out, game = base / "out", make_game(base / "game")
    shutil.copytree(game, base / "before")
    (base / "with_materials").mkdir()
    for name in ("Material.lib", "Textures.lib"):
        shutil.copy(LIBS / name, base / "with_materials" / name)
    for folder in ("with_materials", "bare"):
        (base / folder).mkdir(exist_ok=True)
        for suffix in (".msh", ".wea"):
            source = UNTOUCHED["retail"].with_suffix(suffix)
            shutil.copy(source, base / folder / f"room{suffix}")
    for name in ("turrets.rlb", "Material.lib", "Textures.lib"):
        shutil.copy(example_game() / name, base / name)
    shutil.copy(base / "turrets.rlb", base / "reskinned.rlb")
    (base / "painted").mkdir()
    for name in ("turrets.rlb", "Material.lib", "Textures.lib"):
        shutil.copy(example_game() / name, base / "painted" / name)
    shutil.copytree(example_game(), base / "example")
    shutil.copy(LEVEL / "Land.map", base / "Land.map")
    shutil.copy(points_archive(base / "points.rlb"), base / "points_before.rlb")
    (base / "marked").mkdir()
    shutil.copy(WALKER, base / "marked/walker.msh")
    (base / "marked/walker.ctl").write_bytes(walker(9, node=1))
    broken = bytearray(WALKER.read_bytes())
    broken[16:2000] = bytes(1984)
    (base / "broken.msh").write_bytes(broken)
    mission = GameParts().write(base / "assembled")
    (base / "alone").mkdir()
    shutil.copy(base / "assembled/UNITS/robot.dat", base / "alone/робот.dat")
    files: dict[str, Any] = {name: str(path) for name, path in UNTOUCHED.items()}
    files |= {
        "untouched": list(UNTOUCHED),
        "textured": str(base / "with_materials/room.msh"),
        "without_libraries": str(base / "bare/room.msh"),
        "game": str(base / "with_materials"),
        "archive": str(game / "SYSTEM.RLB"),
        "turrets": str(base / "turrets.rlb"),
        "painted": str(base / "painted/turrets.rlb"),
        "reskinned": str(base / "reskinned.rlb"),
        "scripts": str(EXAMPLES / "blender"),
        "land": str(LEVEL / "Land.msh"),
        "areals": str(LEVEL / "Land.map"),
        "example_land": str(base / "example/DATA/MAPS/Tut_1/Land.msh"),
        "with_points": str(base / "points.rlb"),
        "marked": str(base / "marked/walker.msh"),
        "areals_copy": str(base / "Land.map"),
        "assembled": str(base / "assembled"),
        "mission": str(mission),
        "unit": str(base / "assembled/UNITS/robot.dat"),
        "unit_outside": str(base / "alone/робот.dat"),
        "broken": str(base / "broken.msh"),
        "no_models": str(game / "OBJECTS.RLB"),
        "text": str(game / "DATA/notes.msh"),
        "directory": str(game),
    }
    (base / "files.json").write_text(json.dumps(files), "utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["BLENDER_USER_RESOURCES"] = str(base / "user")
    script = [BLENDER, HERE / "extension.py", zip_file, out, base / "files.json", *steps]
    result = subprocess.run(script, cwd=base, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-1500:] + result.stderr[-2500:]
    assert "Traceback" not in result.stdout + result.stderr
    facts = json.loads((out / "facts.json").read_text("utf-8"))
    return Seen(out, facts, game, base / "before")


def points_archive(path: Path) -> Path:
    """A model with control points and one without, with forgotten bytes before the directory."""
    robot = DATA / "retail__system__R_H_002.msh"
    entries = [
        entry(MESH, b"robot.msh", robot.read_bytes()),
        entry(CTPT, b"robot.cpt", cpt(POINTS)),
        entry(MESH, b"bare.msh", robot.read_bytes()),
    ]
    path.write_bytes(archive(entries, forgotten=b"\x01forgotten\xff"))
    return path


def parse(path: Path) -> MshModel:
    return read_model(read_nres(path.read_bytes(), "x"), "x")


def tables(old: Path, new: Path) -> set[str]:
    """The tables that differ."""
    return {item["table"].partition(" ")[0] for item in diff_models(parse(old), parse(new))}


def by_command(glb: Path, source: Path, *entry: object) -> bytes:
    """What ``gltf2msh`` makes of a Blender export, with the sidecar of ``msh2gltf``."""
    made = glb.with_name(f"command_{glb.stem}.glb")
    assert call(cli.msh2gltf, source, "-o", made, "-q", *entry) == 0
    sidecar = made.with_suffix(".msh-sidecar")
    target = made.with_suffix(".msh")
    assert call(cli.gltf2msh, glb, "--sidecar", sidecar, "-o", target, "-q") == 0
    return target.read_bytes()


# ------------------------------------------------------------------ the package


def test_blender_finds_the_manifest_valid(zip_file: Path, tmp_path: Path) -> None:
    """Blender's own validator, with its list of tags; it does say no to another tag."""
    where = "import bpy, sys; sys.stdout.write(bpy.utils.system_resource('SCRIPTS'))"
    out = subprocess.run([BLENDER, "-c", where], capture_output=True, text=True, check=True).stdout
    scripts = Path(out.splitlines()[-1])
    tags = scripts / "modules/_bpy_internal/extensions/tags.py"
    tool = scripts / "addons_core/bl_pkg/cli/blender_ext.py"

    def validate(path: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BLENDER, tool, "validate", path, "--valid-tags", tags], capture_output=True, text=True, check=False
        )

    done = validate(zip_file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success" in done.stdout
    with zipfile.ZipFile(zip_file) as file:
        file.extractall(tmp_path)
    manifest = tmp_path / build.MANIFEST
    manifest.write_text(manifest.read_text("utf-8").replace("Game Engine", "Games"), "utf-8")
    assert validate(tmp_path).returncode != 0


def test_our_names_are_not_taken(seen: Seen) -> None:
    facts = seen.facts["namespace"]
    assert facts["ours"] == []
    assert facts["decoys"] == ["msh_gltf", "converter", "importers", "exporters"]
    assert facts["used"] == ["bl_ext.user_default.msh_gltf.converter"]
    own = [BLENDER, "-c", "import numpy; print(numpy.__version__)"]
    done = subprocess.run(own, capture_output=True, text=True, check=True)
    assert facts["numpy"] == done.stdout.strip()


# ------------------------------------------------------------------ untouched


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched_is_byte_identical(seen: Seen, name: str) -> None:
    facts = seen.facts["untouched"][name]
    assert facts["report"]["outcome"] == "unchanged, restored byte for byte"
    seen.same("untouched", f"{name}.msh", UNTOUCHED[name])


def test_what_is_in_the_scene(seen: Seen) -> None:
    facts = seen.facts["untouched"]["walker"]
    assert facts["fps"] == 24
    assert facts["frames"] == [0, 24, 0]
    assert facts["scene"] == "walker"
    assert facts["scenes"] == ["walker"]
    assert facts["collections"] == {"walker": False}
    assert facts["parents"]["Base_TM.level2"] == "Base_TM"
    assert facts["parents"]["gun.level1"] == "gun"
    assert facts["parents"]["Base_TM"] is None
    parts = [name for name in facts["parents"] if ".stage" in name or ".level" in name]
    assert facts["hidden"] == sorted(parts)
    assert facts["state"] == ["walker.msh", "model", "retail", -1]
    assert seen.facts["untouched"]["spec"]["state"][2] == "spec"
    assert seen.facts["untouched"]["retail"]["state"][2] == "retail"


def test_textures(seen: Seen) -> None:
    facts = seen.facts["textured"]
    assert len(facts["images"]) >= 2
    assert all(packed for _, _, packed in facts["images"].values())
    assert set(facts["used"]) == set(facts["images"])
    for step in ("report", "with_materials"):
        assert facts[step]["outcome"] == "unchanged, restored byte for byte"
    seen.same("textured", "bare.msh", UNTOUCHED["retail"])
    seen.same("textured", "with_materials.msh", UNTOUCHED["retail"])
    assert facts["by_preferences"] == len(facts["images"])
    assert facts["no_folder"].startswith("Error: ")
    assert "the game's folder is not there" in facts["no_folder"]


def test_a_reopened_blend(seen: Seen) -> None:
    """What is switched off stays off, and nothing of it moved."""
    facts = seen.facts["reopened"]
    assert facts["outcome"] == "unchanged, restored byte for byte"
    seen.same("reopened", "same.msh", WALKER)
    assert facts["hidden"] == ["Base_TM.level1", "turret"]
    assert facts["view_layers"] == 1
    changed = [row for row in facts["moved"]["rows"] if row[2] != "kept"]
    assert [row[1] for row in changed] == ["Base_TM.level1"]


def test_a_reopened_blend_by_hand(seen: Seen, tmp_path: Path) -> None:
    """Without the extension, parts that are hidden stay where they are; what is switched off moves."""
    assert call(cli.msh2gltf, WALKER, "-o", tmp_path / "walker.glb", "-q") == 0
    back = import_gltf(seen.out / "reopened/by_hand.glb", tmp_path / "walker.msh-sidecar")
    assert [change.where for change in back.changes] == ["part 'Base_TM' stage 0 level 1"]


def test_a_scene_that_was_copied(seen: Seen) -> None:
    """Into another file, and inside it: the sidecar comes along."""
    facts = seen.facts["copied"]
    assert facts["name"] == "walker.001"
    assert facts["appended"]["outcome"] == facts["copy"]["outcome"]
    seen.same("copied", "appended.msh", WALKER)
    seen.same("copied", "copy.msh", WALKER)


def test_the_turret_of_the_tutorial(seen: Seen) -> None:
    """What its page says of the way without commands."""
    facts = seen.facts["turret"]
    assert "gun.level1" in facts["objects"]
    rebuilt = [row[1] for row in facts["report"]["rows"] if row[2] != "kept"]
    assert rebuilt == ["gun", "gun.level1"]
    archive = seen.out.parent / "turrets.rlb"
    before = (example_game() / "turrets.rlb").read_bytes()
    assert original(archive) == before
    old, new = read_nres(before, "x"), read_nres(archive.read_bytes(), "x")
    changed = [a.name for a, b in zip(old.entries, new.entries, strict=True) if a.payload != b.payload]
    assert changed == ["e_tur_01.msh"]


def test_moving_an_object(seen: Seen) -> None:
    """The object's key and nothing else; the same as by the command, but for what glTF rounds."""
    made = seen.out / "moved/moved.msh"
    assert tables(WALKER, made) == {"Res8"}
    other = read_model(read_nres(by_command(seen.out / "moved/moved.glb", WALKER), "x"), "x")
    assert np.allclose(parse(made).keys["position"], other.keys["position"], atol=1e-6)
    changed = [row for row in seen.facts["moved"]["rows"] if row[2] != "kept"]
    assert changed == [["node", "gun", "rebuilt", "translation changed"]]
    assert len(seen.facts["moved"]["rows"]) == 11 + 20
    assert seen.facts["moved"]["outcome"] == "1 change"


def test_edit_mode_frame_rate_and_modifiers(seen: Seen) -> None:
    facts = seen.facts["edited"]
    made = seen.out / "edited/edited.msh"
    changed = {row[1] for row in facts["rows"] if row[2] != "kept"}
    # what is in a collection that is switched off has its modifiers too; no animation changed
    assert changed == {"foot_l", "gun", "gun.level1"}
    old, new = parse(WALKER), parse(made)
    assert len(new.indices) == len(old.indices) + (24 + 12) * 3
    assert (new.keys == old.keys).all()
    assert facts["mode"] == "EDIT"
    assert facts["fps"] == 60


def test_two_models_do_not_mix(seen: Seen) -> None:
    facts = seen.facts["two_models"]
    assert facts["scenes"] == sorted(["walker", "walker.001", "retail__static__i_room_006"])
    assert facts["gun"] == "gun.001"
    seen.same("two_models", "first.msh", WALKER)
    seen.same("two_models", "third.msh", UNTOUCHED["retail"])
    changed = [row for row in facts["second"]["rows"] if row[2] != "kept"]
    assert changed == [["node", "gun", "rebuilt", "translation changed"]]
    seen.same("two_models", "second.msh", seen.out / "moved/moved.msh")


def test_into_the_archive(seen: Seen) -> None:
    facts = seen.facts["archive"]
    assert facts["none"].startswith("Error: ")
    assert "SYSTEM.RLB: archive holds 3 models (expected one of R_H_002.msh" in facts["none"]
    assert facts["state"] == ["SYSTEM.RLB: R_H_002.msh", 0]
    assert [name for _, name, _ in facts["entries"]] == ["R_H_002.msh", "b_bun_000.msh", BIRD]
    assert facts["same"]["outcome"] == "unchanged, restored byte for byte"
    assert not facts["history_of_nothing"]

    new, old = seen.game / "SYSTEM.RLB", seen.before / "SYSTEM.RLB"
    index = int(facts["entries"][2][0])
    same_but_for(old, new, index)
    assert original(Path(new)) == old.read_bytes()
    entry = bytes(read_nres(new.read_bytes(), "x").entries[index].payload)
    assert entry == by_command(seen.out / "archive/bird.glb", old, "--entry", BIRD)
    assert facts["changed"]["rows"]
    before, after = snapshot(seen.before), snapshot(seen.game)
    assert {k for k in after if after[k] != before.get(k)} == {"SYSTEM.RLB"}
    assert f"entry {BIRD}: has changed since it was converted" in facts["another"]


def test_a_new_model(seen: Seen) -> None:
    facts = seen.facts["new_model"]
    assert (seen.out / "new_model/new.wea").read_bytes() == b"1\r\n0 DEFAULT\r\n"
    assert facts["outcome"] == "rebuilt from the scene alone, dialect retail"
    made = seen.out / "new_model/new.msh"
    back = import_gltf(seen.out / "new_model/new.glb", None, ImportOptions("retail"))
    assert made.read_bytes() == back.data
    assert parse(made).node_names == [b"box"]
    assert facts["rebuilt"]["outcome"] == "rebuilt from the scene alone, dialect retail"
    rebuilt = parse(seen.out / "new_model/rebuilt.msh")
    assert rebuilt.node_names == parse(WALKER).node_names


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "broken.msh"),
        ("no_models", "OBJECTS.RLB: archive holds no core model"),
        ("text", "notes.msh, NRes header, byte 0x0: not an NRes file"),
        ("directory", "is a directory"),
        ("gone", "gone.msh: cannot be read (No such file or directory)"),
        ("entry", "nobody"),
        ("empty", "is empty"),
        ("edited_sidecar", "the sidecar text 'walker.msh-sidecar' was edited; undo that"),
        ("bomb", "the sidecar text 'bomb.msh-sidecar' unpacks to far more than it holds"),
        ("no_sidecar", "the sidecar of scene 'walker' is missing from this .blend; import"),
        ("other_sidecar", "scene 'walker': sidecar belongs to another model"),
        ("shape_keys", "scene 'retail__static__i_room_006'"),
        ("no_place", "x.msh: cannot be written ("),
    ],
)
def test_errors_are_one_line(seen: Seen, name: str, said: str) -> None:
    text = seen.facts["errors"][name]
    assert text.startswith("Error: ")
    assert said in text
    assert len(text.splitlines()) == 1
    assert "internal error" not in text
    assert "Traceback" not in text


def test_a_sidecar_that_unpacks_to_a_gigabyte_takes_little_memory(seen: Seen) -> None:
    assert seen.facts["errors"]["bomb_mib"] < 160


def test_errors_leave_nothing_behind(seen: Seen) -> None:
    assert seen.facts["errors"]["left_over"] == [1, 0, 0]
    assert list((seen.out / "errors").iterdir()) == []


def test_without_scipy_the_error_says_what_to_do(seen: Seen) -> None:
    facts = seen.facts["same_names"]
    assert [row[2] for row in facts["alone"]["rows"] if row[2] != "kept"] == []
    assert "called like several of the model's: use one of those, or" in facts["error"]
    assert [row[2] for row in facts["fixed"]["rows"] if row[2] != "kept"] == ["rebuilt"]


# ------------------------------------------------------------------ Blender's side


def test_panel(seen: Seen) -> None:
    facts = seen.facts["panel"]
    assert "label text=Not an imported model" in facts["unknown"]
    assert facts["silent"] == []
    assert "label text=walker.msh icon=FILE_3D" in facts["model"]
    assert any("export_scene.msh_put_back" in line for line in facts["model"])
    assert any("not at 24 fps" in line for line in facts["model"])
    assert "label text=1 change" in facts["report"]
    assert "label text=1 rebuilt, 30 kept" in facts["report"]
    assert "label text=translation changed icon=NONE" in facts["report"]
    assert any(line.endswith("icon=ERROR") for line in facts["report"])
    assert facts["rows"] == 31
    assert facts["labels"] == ["label text=node gun icon=MODIFIER", "label text=rebuilt"]
    assert facts["preferences"] == "prop"
    assert [line.split()[1] for line in facts["menus"]] == ["import_scene.msh", "export_scene.msh"]
    assert facts["handler"] == [".msh;.rlb;.lib;.map;.dat;.tma", "import_scene.msh"]


def test_dialogs(seen: Seen) -> None:
    facts = seen.facts["dialogs"]
    assert facts["file"] == ["walker.msh", "Land.map"]
    assert facts["extension"] == ["other.msh", "other.map"]
    question = f"invoke_confirm Write Land.map in {LEVEL}?"
    assert facts["calls"] == ["fileselect_add"] * 3 + ["invoke_search_popup", question]
    assert facts["picked"] == [["INVOKE_DEFAULT", ["dialect", "filepath", "textures"]]]
    assert facts["done"] == ["FINISHED"]
    assert facts["unnamed"] == ["Error: no file is named"] * 2


def test_drag_and_drop(seen: Seen) -> None:
    facts = seen.facts["dropped"]
    assert facts["done"] == ["FINISHED"]
    assert facts["scenes"] == ["hangar", "walker"]
    assert "gone.msh: cannot be read" in facts["one_of_two"]
    assert facts["the_other"] == ["tree"]


def test_switched_off_and_on(seen: Seen) -> None:
    assert seen.facts["switched_off"]["gone"]
    seen.same("switched_off", "same.msh", WALKER)
