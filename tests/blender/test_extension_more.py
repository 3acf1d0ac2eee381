"""The extension in Blender 5.0, further than ``test_extension.py``: undo, games, materials, maps, missions, levels.

What the steps of ``extension_*.py`` see stands in ``extension_more.txt``, which
``python -m tests.blender.test_extension_more`` writes again, for you to read what became different.
"""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from tests.blender.run_extension import Seen, write, zip_file
from tests.docs.materials import EXAMPLES
from tests.support.rebuilt import parse
from tests.support.recorded import Recorded
from tests.support.runs import call

__all__ = ["zip_file"]
RECORDED = Recorded(__file__, "extension_more.txt")
_NAMES = """corner cells levels beyond turned unkeyed stopped marked clips clips_inside panel_of_game moved_game on_save
    unsaved exported_over given_away ground two_grounds areals materials libraries namesakes grouped units
    missions assets placing adding things opened by_gltf carried fielded points undone other_models several
    new_models failing"""
STEPS = _NAMES.split()


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("extension"), zip_file, STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_what_a_step_sees_is_what_was_recorded(seen: Seen, step: str) -> None:
    seen.require(step, RECORDED)


def test_levels_made_here_are_those_of_the_command(seen: Seen) -> None:
    """What the command's are, other tests measure: near to their part, borders kept, no vertex of their own."""
    glb = seen.out / "levels.glb"
    assert call(cli.msh2gltf, EXAMPLES / "hangar.msh", "-o", glb, "--quiet") == 0
    made = triangles((seen.out / "levels/hangar.msh").read_bytes())
    assert made == triangles(import_gltf(glb, None, ImportOptions(lod_ratios=(0.5, 0.25))).data)


def triangles(data: bytes) -> dict[tuple[int, int, int], list[list[float]]]:
    """The corners of every cell's triangles."""
    scene = decode(parse(data), Dialect.RETAIL, "m")
    found: dict[tuple[int, int, int], list[list[float]]] = {}
    for part in scene.parts:
        corners = [
            scene.streams.positions[p.vertex_start + scene.streams.indices[p.index_start :][: p.index_count]]
            for p in scene.meshes[part.mesh].primitives
        ]
        rows = np.sort(np.concatenate(corners).reshape(-1, 3, 3), axis=1).reshape(-1, 9)
        found[part.node, part.lod, part.group] = sorted(rows.tolist())
    return found


if __name__ == "__main__":
    write(RECORDED, STEPS)
