"""Models that are placed together as glTF: what is shared, where everything stands."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.pose import rotation_matrix
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.scene.assembly import AssembledModel, Assembly, Marker, Placement, Pose, root_pose, turned
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import decide
from msh_gltf.converter.scene.extras import NodeExtras
from msh_gltf.exporters.gltf import export_assembly
from msh_gltf.exporters.gltf_file import glb_bytes
from tests.support.corpus import DATA
from tests.support.gltf_view import GltfView
from tests.support.validator import issues

#: Animated, with geometry-less nodes.
ROOM, ROCK = "retail__static__i_room_006", "retail__odd__s_rock_009"


def assembled(name: str) -> AssembledModel:
    model = read_msh(DATA / f"{name}.msh", None)
    wear = (DATA / f"{name}.wea").read_text("cp1251").splitlines()[1:]
    return AssembledModel(decode(model, decide(model).dialect, name, wear=wear))


@pytest.fixture(scope="module")
def models() -> list[AssembledModel]:
    return [assembled(ROOM), assembled(ROCK)]


def mounted(models: list[AssembledModel], socket: int) -> list[Placement]:
    """A room, and a rock on one of its nodes; then the same again elsewhere."""
    place = Pose(np.array([5.0, -7.0, 2.0]), turned([0, 0, 0.7]))
    out = []
    for pose in (Pose(), place):
        row = len(out)
        inverse = root_pose(models[1].scene).inverse()
        out += [
            Placement("hall", NodeExtras(kind="component", index=0), model=0, pose=pose),
            Placement("gun", NodeExtras(kind="component", index=1), row, socket, 1, pose=inverse),
        ]
    return out


def written(assembly: Assembly, path: Path, *, fps: float = 24.0, clips: bool = True) -> GltfView:
    path.write_bytes(glb_bytes(export_assembly(assembly, ExportOptions(fps=fps), clips=clips)))
    return GltfView(path)


def named(view: GltfView, name: str) -> int:
    return next(i for i, node in enumerate(view["nodes"]) if node["name"] == name)


def matrix(translation: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = rotation_matrix(rotation), translation
    return out


def test_turns_are_applied_about_x_then_y_then_z() -> None:
    x, y, z = 0.3, -0.5, 1.2
    c, s = np.cos, np.sin
    about_x = np.array([[1, 0, 0], [0, c(x), -s(x)], [0, s(x), c(x)]])
    about_y = np.array([[c(y), 0, s(y)], [0, 1, 0], [-s(y), 0, c(y)]])
    about_z = np.array([[c(z), -s(z), 0], [s(z), c(z), 0], [0, 0, 1]])
    np.testing.assert_allclose(rotation_matrix(turned([x, y, z])), about_z @ about_y @ about_x, atol=1e-12)


def test_the_validator_is_silent(models: list[AssembledModel], tmp_path: Path) -> None:
    corners = np.array([[0, 0, 0], [4, 0, 0], [4, 4, 1]], np.float32)
    full = Assembly("a", models, mounted(models, 2))
    full.markers = {"routes": [Marker("r", NodeExtras(kind="route"), outline=corners)], "none": []}
    files = []
    for name, assembly in {"full": full, "empty": Assembly("a")}.items():
        files.append(tmp_path / f"{name}.glb")
        written(assembly, files[-1])
    assert issues(files) == {}
