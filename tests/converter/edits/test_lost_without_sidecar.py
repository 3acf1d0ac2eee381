"""A rebuild without the sidecar says what it loses and what it makes up."""

from __future__ import annotations

from pathlib import Path

import pytest

from msh_gltf import ConversionError, ImportResult, import_gltf
from msh_gltf.converter.kinds.obj import import_obj
from msh_gltf.converter.options import ImportOptions
from tests.importers.test_foreign import Builder
from tests.support.corpus import sample_called
from tests.support.runs import to_gltf

WALKER = sample_called("retail__system__R_H_002")
ALONE = ImportOptions(use_sidecar=False)


def alone(path: Path) -> ImportResult:
    return import_gltf(path, options=ALONE)


@pytest.mark.parametrize("other", ["WALL.001", "wall"])
@pytest.mark.parametrize("same", [True, False])
def test_one_name_for_two_looks_is_reported(same: bool, other: str, tmp_path: Path) -> None:
    """The game finds materials in any case."""
    b = Builder()
    looks = [{"baseColorFactor": [1, 0, 0, 1]}, {"baseColorFactor": [int(same), 0, 0, 1]}]
    b.json["materials"] = [
        {"name": name, "pbrMetallicRoughness": look} for name, look in zip(("WALL", other), looks, strict=True)
    ]
    for i in range(2):
        b.node(name=f"n{i}", mesh=b.mesh(material=i))
    b.json["scenes"][0]["nodes"] = [0, 1]
    back = import_gltf(b.save(tmp_path))
    said = [fact.line for fact in back.not_applied]
    assert back.wear == ["WALL"]
    assert len(said) == (not same)
    assert all(f"{other!r}: has the name of 'WALL', and another look" in line for line in said)


@pytest.mark.parametrize("plain", [True, False])
def test_a_look_without_a_name_is_reported(plain: bool, tmp_path: Path) -> None:
    """Its row is DEFAULT; a material that shows nothing is as good as that."""
    b = Builder()
    colour = [1, 1, 1, 1] if plain else [1, 0, 0, 1]
    b.json["materials"] = [{"pbrMetallicRoughness": {"baseColorFactor": colour}}]
    b.node(name="n", mesh=b.mesh(material=0))
    back = import_gltf(b.save(tmp_path))
    assert back.wear == ["DEFAULT"]
    assert [fact.where for fact in back.not_applied] == ([] if plain else ["material 0"])


def test_an_obj_of_other_names_is_refused_with_those_that_are_expected(tmp_path: Path) -> None:
    path = to_gltf(WALKER, tmp_path / "m.obj")
    text = path.read_text("utf-8")
    names = [line[2:] for line in text.splitlines() if line.startswith("o ")]
    path.write_text(text.replace("\no ", "\no other_"), "utf-8")
    with pytest.raises(ConversionError, match="no object is named after a node") as caught:
        import_obj(path)
    assert names[0] in str(caught.value)
    path.write_text(text.replace(f"o {names[0]}\n", "o other\n"), "utf-8")
    (warning,) = [w for w in import_obj(path).warnings if "a new node" in w]
    assert warning.startswith("object 'other' ")
