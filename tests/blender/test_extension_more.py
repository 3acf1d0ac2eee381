"""The extension in Blender 5.0, further than ``test_extension.py``: undo, games, materials, maps, missions, levels.

What the steps of ``extension_*.py`` see stands in ``extension_more.txt``, which
``python -m tests.blender.test_extension_more`` writes again, for you to read what became different.
"""

from pathlib import Path

import pytest

from tests.blender.run_extension import Seen, write, zip_file
from tests.support.recorded import Recorded

__all__ = ["zip_file"]
RECORDED = Recorded(__file__, "extension_more.txt")
_NAMES = """cells levels stopped marked clips clips_inside panel_of_game moved_game on_save
    unsaved exported_over given_away ground two_grounds areals materials libraries namesakes grouped units
    missions assets placing adding opened by_gltf carried fielded points undone other_models several
    new_models failing"""
STEPS = _NAMES.split()


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("extension"), zip_file, STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_what_a_step_sees_is_what_was_recorded(seen: Seen, step: str) -> None:
    seen.require(step, RECORDED)


if __name__ == "__main__":
    write(RECORDED, STEPS)
