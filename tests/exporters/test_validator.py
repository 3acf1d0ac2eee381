"""The Khronos validator has no error and no warning for anything that is written, of every kind and form."""

from pathlib import Path

from msh_gltf.converter import cli
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import Assembly
from msh_gltf.exporters.gltf import export_assembly
from msh_gltf.exporters.gltf_file import glb_bytes
from tests.converter.judge.worlds import WORLDS
from tests.exporters.test_gltf_pictures import make_game, make_land
from tests.support.corpus import SAMPLES, sample_called
from tests.support.maps import level_called
from tests.support.runs import call, to_gltf
from tests.support.validator import issues


def models(folder: Path) -> list[Path]:
    animated = sample_called("spec__odd__B_PLANT_008")
    return [
        *(to_gltf(sample, folder / f"{i}.glb", "--paths") for i, sample in enumerate(SAMPLES)),
        to_gltf(animated, folder / "json.gltf"),
        to_gltf(animated, folder / "keys.glb", "--keys"),
        to_gltf(animated, folder / "fine.glb", "--subframes", 3, "--lod", 1),
        to_gltf(animated, folder / "visible.glb", "--parts", "visible"),
    ]


def levels(folder: Path) -> list[Path]:
    files = []
    for name in ("spec__AutoMAP_00", "mixed__MULTI02", "mixed__tut_1"):
        for source in ("Land.msh", "Land.map"):
            for suffix in ("glb", "gltf"):
                files.append(folder / name / f"{source}.{suffix}")
                assert call(cli.msh2gltf, level_called(name).folder / source, "-o", files[-1], "-q") == 0
    return files


def whole_game(folder: Path) -> list[Path]:
    """Pictures beside the files and inside them, lightmaps and grounds."""
    game = make_game(folder)
    land = make_land(game)
    assert call(cli.msh2gltf, game, "-o", folder / "out", "-q") == 0
    files = [*(folder / "out").rglob("*.glb")]
    for source in (game / "lit.msh", land):
        files.append(folder / f"{source.stem}.gltf")
        assert call(cli.msh2gltf, source, "--game", game, "-o", files[-1], "-q") == 0
    return files


def assemblies(folder: Path) -> list[Path]:
    """A mission and a unit, with every clip and with those of ranges; and nothing at all."""
    (folder / "empty.glb").write_bytes(glb_bytes(export_assembly(Assembly("a"), ExportOptions(), clips=True)))
    files = [folder / "empty.glb"]
    for name in ("mission", "unit"):
        source = WORLDS[name].make(folder)
        for clips in ("all", "states"):
            files.append(folder / f"{name}_{clips}.glb")
            assert call(cli.msh2gltf, source, "--clips", clips, "-o", files[-1], "-q") == 0
    return files


def test_the_validator_is_silent(tmp_path: Path) -> None:
    files = []
    for make in (models, levels, whole_game, assemblies):
        (tmp_path / make.__name__).mkdir()
        files += make(tmp_path / make.__name__)
    assert issues(files) == {}
