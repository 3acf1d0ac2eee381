"""Terrains and areal maps through real Blender, untouched; edits of them are trials (``test_trials.py``)."""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import blender
from tests.support.maps import LEVELS
from tests.support.runs import call, first_difference

UNNUMBERED = "areal map: is kept, whatever was edited"


@pytest.mark.parametrize("fps", [24, 30])
def test_untouched_maps_come_back(fps: int, tmp_path: Path) -> None:
    """With the exporter's defaults, and with custom properties and attributes on."""
    models = []
    for number, level in enumerate(LEVELS):
        for name in ("Land.msh", "Land.map"):
            models.append(tmp_path / f"{number}{name}.glb")
            assert call(cli.msh2gltf, level.folder / name, "-o", models[-1], "-q") == 0
    blender("roundtrip.py", tmp_path, *models, f"--fps={fps}")
    for kind in ("plain", "extras"):
        for number, level in enumerate(LEVELS):
            for name in ("Land.msh", "Land.map"):
                made = tmp_path / kind / f"{number}{name}.glb"
                back = import_gltf(made, tmp_path / f"{number}{name}.msh-sidecar")
                reported = [*map(str, (*back.changes, *back.not_applied)), *back.warnings]
                if kind == "plain":  # Blender left out what numbers the areals, and how two grounds blend
                    reported = [text for text in reported if not text.startswith("how the two grounds of a face blend")]
                if name == "Land.map" and kind == "plain":
                    assert [text.partition(";")[0] for text in reported] == [UNNUMBERED]
                else:
                    assert reported == [], (level.id, name, kind)
                source = (level.folder / name).read_bytes()
                assert first_difference(source, back.data) is None
