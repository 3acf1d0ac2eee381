"""``--strict`` and ``--tolerant``: single models, whole games, real validator, real Blender."""

import json
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.game.manifest import read_manifest
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.checks.test_corruptions import checked
from tests.support.blender import blender, needs_blender
from tests.support.corpus import DATA
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import NAN, Nres
from tests.support.game import LOOSE, MESH, archive, entry, make_game, snapshot, write
from tests.support.runs import call, run
from tests.support.validator import issues

MODELS = ("model", "file", "terrain", "areal map")
LEFT_OUT = [kind for kind in CATALOGUE if kind.format in MODELS and all_rules()[kind.code].drops]


def broken(name: str) -> bytes:
    """A model with a slot, a parent and a vertex that are broken."""
    box = Nres.read((DATA / f"{name}.msh").read_bytes())
    box.table(2).set(0, 4, "H", 60000)
    box.table(1).set(1, 2, "H", 60000)
    box.table(3).set(7, 0, "f", NAN)
    return box.write()


# ------------------------------------------------------------------ strict


@pytest.mark.parametrize("kind", [k for k in CATALOGUE if k.format in MODELS], ids=lambda kind: kind.name)
def test_strict_is_what_the_strict_check_says(kind, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    case = next(iter(kind.make(tmp_path / "cases")))
    wrong = [f for one in checked(case.path) for f in one.findings if f.rule.fails("strict")]
    out = tmp_path / "out.glb"
    code = call(cli.msh2gltf, case.path, "-o", out, "--no-textures", "-q", "--strict")
    said = capfd.readouterr().err
    assert code == (2 if wrong else 0), (wrong, said)
    assert out.exists() == (not wrong)
    if wrong:
        assert said.startswith("msh2gltf: error: ")
        assert said.count("\n") == 1
        read = all_rules()[wrong[0].code].severity != "error" or all_rules()[wrong[0].code].drops
        if read:  # else the reader itself stops
            assert f"--strict refuses {wrong[0].code}, {wrong[0].severity}" in said


def test_modes_exclude_each_other() -> None:
    result = run("msh2gltf", "x.msh", "--strict", "--tolerant")
    assert result.returncode == 2
    assert "--strict and --tolerant exclude each other" in result.stderr


def test_strict_entry_of_an_archive(tmp_path: Path) -> None:
    box = Nres.read((DATA / "spec__static__b_bun_000.msh").read_bytes())
    box.table(2).set(0, 44, "f", 0.0)  # a sphere of no size: a warning
    good = (DATA / "spec__static__b_bun_000.msh").read_bytes()
    path = tmp_path / "a.rlb"
    path.write_bytes(archive([entry(MESH, b"bad.msh", box.write()), entry(MESH, b"ok.msh", good)]))
    result = run("msh2gltf", path, "-o", tmp_path / "out", "--strict")
    assert result.returncode == 1
    assert "a.rlb, entry bad.msh, Res2 (slots), row 0" in result.stdout
    assert "--strict refuses slot-sphere, warning" in result.stdout.replace("\n", " ")
    assert (tmp_path / "out/a.rlb/ok.glb").is_file() or (tmp_path / "out/ok.glb").is_file()


# ------------------------------------------------------------------ whole games


def test_a_game_with_broken_models(tmp_path: Path) -> None:
    """What a default run refuses is converted, all else is the same, byte for byte."""
    game = make_game(tmp_path / "game")
    write(game / LOOSE, broken("retail__odd__l_mast_010"))
    land = Nres.read((game / "DATA/MAPS/M1/Land.msh").read_bytes())
    land.table(21).set(3, 8, "H", 0xFFFF)
    write(game / "DATA/MAPS/M1/Land.msh", land.write())
    plain, tolerant = tmp_path / "plain", tmp_path / "tolerant"
    assert call(cli.msh2gltf, game, "-o", plain, "-q") == 1
    report = tmp_path / "report.json"
    assert call(cli.msh2gltf, game, "-o", tolerant, "-q", "--tolerant", "--report", report) == 0
    before, after = snapshot(plain), snapshot(tolerant)
    added = {f"DATA/{name}.{suffix}" for name in ("Loose/Дом", "MAPS/M1/Land") for suffix in ("glb", "msh-sidecar")}
    assert {name for name in after if Path(name).suffix} - before.keys() == added
    assert {k: v for k, v in before.items() if k in after and k != "manifest.json"}.items() <= (after.items())

    facts = json.loads(report.read_text("utf-8"))
    (row,) = [row for row in facts["items"] if row["id"] == LOOSE]
    assert [text.partition(":")[0] for text in row["warnings"]] == [
        f"left out {all_rules()[code].drops}".partition(":")[0]
        + ("" if ":" in all_rules()[code].drops else f" ({code})")
        for code in ("vertex-finite", "node-parent", "slot-batches")
    ]
    manifest = read_manifest(tolerant)
    assert manifest is not None
    findings = manifest.records["DATA/Loose/Дом.glb"].findings
    errors = {f["code"]: f["left_out"] for f in findings if f["severity"] == "error"}
    assert errors == {c: all_rules()[c].drops for c in ("vertex-finite", "node-parent", "slot-batches")}

    assert call(cli.msh2gltf, game, "-o", tolerant, "-q", "--tolerant", "--report", report) == 0
    assert json.loads(report.read_text("utf-8"))["counts"] == {"unchanged": 10}
    # the mode is part of the key: without it the broken ones are refused again
    assert call(cli.msh2gltf, game, "-o", tolerant, "-q", "--report", report) == 1
    assert json.loads(report.read_text("utf-8"))["counts"] == {"converted": 8, "failed": 2}

    new = tmp_path / "new"
    assert call(cli.gltf2msh, tolerant, "--game", game, "-o", new, "-q") == 0
    assert snapshot(new) == snapshot(game)


def test_there_and_back(tmp_path: Path) -> None:
    write(tmp_path / "game/broken.msh", broken("retail__odd__s_rock_009"))
    write(tmp_path / "game/good.msh", (DATA / "retail__odd__s_rock_009.msh").read_bytes())
    result = run("msh-inspect", "--roundtrip", tmp_path / "game")
    assert result.returncode == 1
    assert "failed    broken.msh: " in result.stdout
    result = run("msh-inspect", "--roundtrip", tmp_path / "game", "--tolerant")
    assert result.returncode == 0
    assert result.stdout.splitlines() == ["identical broken.msh", "identical good.msh", "2 of 2 models: byte-identical"]


# ------------------------------------------------------------------ other programs


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, bytes]]:
    """Two samples of each kind that tolerant conversion can read, and their bytes."""
    folder = tmp_path_factory.mktemp("converted")
    out = []
    for number, kind in enumerate(LEFT_OUT):
        for case, _ in zip(kind.make(folder / str(number)), range(2), strict=False):
            target = folder / f"{number}_{case.sample}.glb"
            code = call(cli.msh2gltf, case.path, "-o", target, "-q", "--tolerant", "--no-textures")
            assert code == 0, kind.name
            out.append((target, case.path.read_bytes()))
    return out


def test_validator_is_silent(converted: list[tuple[Path, bytes]]) -> None:
    assert issues([path for path, _ in converted]) == {}


@needs_blender
def test_broken_models_come_back_through_blender(converted: list[tuple[Path, bytes]], tmp_path: Path) -> None:
    """Imported and exported with the stock add-on, nothing touched: the broken bytes; one sample of each kind."""
    one = {path.name.partition("_")[0]: (path, data) for path, data in reversed(converted)}.values()
    blender("roundtrip.py", tmp_path, *[path for path, _ in one])
    for path, data in one:
        for kind in ("plain", "extras"):
            back = import_gltf(tmp_path / kind / path.name, path.with_suffix(".msh-sidecar"))
            assert back.data == data, (path.name, kind, [str(c) for c in back.changes])
