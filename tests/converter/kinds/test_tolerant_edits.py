"""Edits of broken models and terrains, which tolerant conversion shows in part."""

from pathlib import Path

import pytest

from msh_gltf.converter.checks.recover import leave_out
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.support.gltf_edit import Editable
from tests.support.tolerant import LEFT_OUT, OF_GEOMETRY, OF_MODELS, convert, first_case, ids


def test_an_edit_of_a_broken_terrain_is_refused(tmp_path: Path) -> None:
    kind = next(k for k in LEFT_OUT if k.code == "terrain-face-vertex")
    convert(first_case(kind, tmp_path / "c"), tmp_path / "a.glb")
    edit = Editable(tmp_path / "a.glb")
    primitive = edit.primitives()[0]
    corner = edit.arrays[primitive["indices"]][0, 0]
    edit.arrays[primitive["attributes"]["POSITION"]][corner, 1] += 1
    edit.save(tmp_path / "a.glb")
    with pytest.raises(ConversionError, match="the edit meets tables that are broken"):
        import_gltf(tmp_path / "a.glb")


def renamed(edit: Editable) -> None:
    edit.json["nodes"][1]["name"] = "other"


def moved(edit: Editable) -> None:
    """The first corner of the last part, a little."""
    points = edit.arrays[edit.primitives()[-1]["attributes"]["POSITION"]]
    points[edit.arrays[edit.primitives()[-1]["indices"]][0, 0]] += 0.25


def turned(edit: Editable) -> None:
    """The first clip of a node, a little to the side."""
    clip = edit.json["animations"][0]
    channel = next(c for c in clip["channels"] if c["target"]["path"] == "translation")
    edit.arrays[clip["samplers"][channel["sampler"]]["output"]] += 0.5


#: What an edit may meet: it goes in unless it changes a broken table or one that rows point into.
EDITS = {
    renamed: {kind.code for kind in OF_MODELS} - {"table-stride"},
    moved: {"vertex-count", "node-parent", "node-cycle", "node-map", "node-fallback", "key-finite", "string-run"},
    turned: (OF_GEOMETRY - {"table-stride"})
    | {"vertex-count", "node-parent", "node-cycle", "slot-triangles", "triangle-link", "string-run"},
}


@pytest.mark.parametrize("kind", OF_MODELS, ids=ids(OF_MODELS))
@pytest.mark.parametrize("change", EDITS, ids=lambda change: change.__name__)
def test_edits(change, kind, tmp_path: Path) -> None:
    """An edit apart from what is broken goes in, and what is broken stays byte for byte."""
    data = first_case(kind, tmp_path / "c", "s_rock_009")
    convert(data, tmp_path / "a.glb")
    edit = Editable(tmp_path / "a.glb")
    if not (edit.json.get("animations") if change is turned else edit.primitives()):
        return  # all of it is left out
    change(edit)
    edit.save(tmp_path / "a.glb")
    if kind.code not in EDITS[change]:
        with pytest.raises(ConversionError, match="the edit meets tables that are broken") as said:
            import_gltf(tmp_path / "a.glb")
        assert "--no-sidecar" in str(said.value)
        return
    back = import_gltf(tmp_path / "a.glb")
    assert back.changes
    assert not back.kept_all
    assert "what is broken was kept as it is, as --tolerant left it out" in back.warnings
    before, after = (read_model(read_nres(data, "x"), "x"), read_model(read_nres(back.data, "x"), "x"))
    errors = [
        [(f.code, f.row, str(f.value)) for f in leave_out(m)[1] if f.severity == "error"] for m in (before, after)
    ]
    assert errors[0] == errors[1]
    again = convert(back.data, tmp_path / "b.glb")
    assert again.tolerant
    assert import_gltf(tmp_path / "b.glb").data == back.data
