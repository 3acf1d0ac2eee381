"""The game's file -> glTF -> real Blender (import, export, nothing touched) -> the game's file is byte-identical.

With the exporter's defaults, and with custom properties and attributes on.
"""

from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.blender import KINDS, round_trip
from tests.support.corpus import LIBS, SAMPLES, Sample, sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import GltfView
from tests.support.maps import LEVELS
from tests.support.runs import call, first_difference, to_gltf

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = [*SAMPLES, *(Sample(path.stem, path, None, path) for path in sorted(EXAMPLES.glob("*.msh")))]
MAPS = {f"{level.id}{name}": level.folder / name for level in LEVELS for name in ("Land.msh", "Land.map")}
COLOURED = sample_called("spec__system__R_H_002")
#: What the exporter's defaults leave out of a map: what numbers the areals, and how two grounds blend.
BARE = ("areal map: is kept, whatever was edited", "how the two grounds of a face blend is not in the file")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file through Blender: ``KIND/NAME.glb``, and maps at another frame rate: ``30/KIND/NAME.glb``."""
    folder = tmp_path_factory.mktemp("roundtrip")
    for number, sample in enumerate(MODELS):
        # with pictures, and with a colour per row
        to_gltf(sample, folder / f"{sample.id}.glb", *(["--textures", LIBS] if number % 2 else []))
    for name, path in MAPS.items():
        assert call(cli.msh2gltf, path, "-o", folder / f"{name}.glb", "-q") == 0
    for translucent in range(3):
        document = Editable(to_gltf(COLOURED, folder / f"colours{translucent}.glb"))
        for material in document.json["materials"][translucent::3]:
            material["alphaMode"] = "BLEND"
        document.save(folder / f"colours{translucent}.glb")
    sources = sorted(folder.glob("*.glb"))
    round_trip(folder, *sources)
    round_trip(folder / "30", *(path for path in sources if path.stem in MAPS), rate=30)
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sample", MODELS, ids=[s.id for s in MODELS])
def test_untouched_models_come_back(folder: Path, sample: Sample, kind: str) -> None:
    back = import_gltf(folder / kind / f"{sample.id}.glb", folder / f"{sample.id}.msh-sidecar")
    assert [*map(str, back.changes), *(fact.line for fact in back.not_applied)] == []
    assert back.unchanged
    assert first_difference(sample.source, back.data) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MAPS)
def test_untouched_maps_come_back(folder: Path, name: str, kind: str) -> None:
    for place in (folder, folder / "30"):
        back = import_gltf(place / kind / f"{name}.glb", folder / f"{name}.msh-sidecar")
        reported = [*map(str, (*back.changes, *back.not_applied)), *back.warnings]
        if kind == "plain":
            assert all(text.startswith(BARE) for text in reported), reported
            assert len(reported) == 1 or name.endswith("Land.msh")
        else:
            assert reported == []
        assert first_difference(MAPS[name].read_bytes(), back.data) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("translucent", range(3))
def test_colours_come_back_whatever_the_materials_do_with_alpha(folder: Path, translucent: int, kind: str) -> None:
    """Every third material is translucent: Blender uses the colours' alpha there, and writes VEC4, elsewhere VEC3."""
    path = folder / kind / f"colours{translucent}.glb"
    view = GltfView(path)
    colours = [p["attributes"]["COLOR_0"] for mesh in view["meshes"] for p in mesh["primitives"]]
    assert {view["accessors"][colour]["type"] for colour in colours} == {"VEC3", "VEC4"}
    back = import_gltf(path, folder / f"colours{translucent}.msh-sidecar")
    assert [*map(str, back.changes)] == []
    assert first_difference(COLOURED.source, back.data) is None
