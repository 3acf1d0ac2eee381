"""The Khronos validator has no error and no warning for anything that is written, of every kind and form."""

from pathlib import Path

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import AssembledModel, Assembly, Marker, Placement, Pose, root_pose, turned
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import decide
from msh_gltf.converter.scene.extras import NodeExtras
from msh_gltf.exporters.gltf import export_assembly
from msh_gltf.exporters.gltf_file import glb_bytes
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
    """A room, a rock on one of its nodes, the same again elsewhere, and markers; and nothing at all."""
    parts = []
    for name in ("retail__static__i_room_006", "retail__odd__s_rock_009"):
        sample = sample_called(name)
        model = read_msh(sample.path, None)
        wear = sample.path.with_suffix(".wea").read_text("cp1251").splitlines()[1:]
        parts.append(AssembledModel(decode(model, decide(model).dialect, name, wear=wear)))
    placed = []
    for pose in (Pose(), Pose(np.array([5.0, -7.0, 2.0]), turned([0, 0, 0.7]))):
        placed.append(Placement("hall", NodeExtras(kind="component", index=0), model=0, pose=pose))
        inverse = root_pose(parts[1].scene).inverse()
        placed.append(Placement("gun", NodeExtras(kind="component", index=1), len(placed) - 1, 2, 1, pose=inverse))
    full = Assembly("a", parts, placed)
    corners = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 1]], np.float32)
    full.markers = {"routes": [Marker("r", NodeExtras(kind="route"), outline=corners)], "none": []}
    for name, assembly in {"full": full, "empty": Assembly("a")}.items():
        (folder / f"{name}.glb").write_bytes(glb_bytes(export_assembly(assembly, ExportOptions(), clips=True)))
    return [folder / "full.glb", folder / "empty.glb"]


def test_the_validator_is_silent(tmp_path: Path) -> None:
    files = []
    for make in (models, levels, whole_game, assemblies):
        (tmp_path / make.__name__).mkdir()
        files += make(tmp_path / make.__name__)
    assert issues(files) == {}
