"""msh -> glb -> real Blender (import, export, nothing touched) -> msh is byte-identical."""

from pathlib import Path

import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import blender
from tests.support.corpus import LIBS, SAMPLES, Sample
from tests.support.runs import first_difference, to_gltf

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = [*SAMPLES, *(Sample(path.stem, path, None, path) for path in sorted(EXAMPLES.glob("*.msh")))]


@pytest.fixture(scope="module")
def through_blender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every model imported and exported with the stock add-on, in one Blender."""
    folder = tmp_path_factory.mktemp("roundtrip")
    models = [
        # with pictures, and with a colour per row
        to_gltf(sample, folder / f"{number}.glb", *(["--textures", LIBS] if number % 2 else []))
        for number, sample in enumerate(MODELS)
    ]
    blender("roundtrip.py", folder, *models)
    return folder


@pytest.mark.parametrize("kind", ["plain", "extras"])
@pytest.mark.parametrize("sample", MODELS, ids=[s.id for s in MODELS])
def test_untouched_models_come_back(through_blender: Path, sample: Sample, kind: str) -> None:
    """With the exporter's defaults, and with custom properties and attributes on."""
    number = MODELS.index(sample)
    sidecar = through_blender / f"{number}.msh-sidecar"
    back = import_gltf(through_blender / kind / f"{number}.glb", sidecar)
    assert [str(change) for change in back.changes] == []
    assert [fact.line for fact in back.not_applied] == []
    assert back.unchanged
    assert first_difference(sample.source, back.data) is None
