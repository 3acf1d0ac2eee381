"""Faces without a material, and names that cannot be written: reported, never row 0."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from msh_gltf import ImportResult, import_gltf
from msh_gltf.converter.formats.model import StreamType, read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar, sidecar_path, write_sidecar
from tests.support.corpus import sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import to_gltf

WALKER = sample_called("retail__system__R_H_002")


def without_wear(path: Path) -> None:
    """Make the sidecar one of version 0.1, which kept no bytes of it."""
    kept = read_sidecar(sidecar_path(path).read_bytes(), "x")
    old = replace(kept, description=replace(kept.description, companions={}))
    sidecar_path(path).write_bytes(write_sidecar(old))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return to_gltf(WALKER, tmp_path / "m.glb", "--no-textures")


def back_from(document: Editable, path: Path) -> ImportResult:
    return import_gltf(document.save(path))


def lines(back: ImportResult) -> list[str]:
    return [fact.line for fact in back.not_applied]


def test_a_new_material_is_reported_and_names_are_listed(path: Path) -> None:
    without_wear(path)
    document = Editable(path)
    known = document.json["materials"][0]["name"]
    document.json["materials"].append({"name": "red"})
    document.primitives()[0]["material"] = len(document.json["materials"]) - 1
    back = back_from(document, path)
    line = lines(back)[0]
    assert line.startswith("not applied: material 'red': is ")
    assert known in line.partition("use ")[2]
    assert not back.unchanged
    assert back.data == WALKER.source


@pytest.mark.parametrize("extras", [False, True])
def test_a_renamed_material_is_reported(path: Path, extras: bool) -> None:
    without_wear(path)
    document = Editable(path)
    if not extras:
        drop_extras(document)
    used = document.primitives()[0]["material"]
    before = document.json["materials"][used]["name"]
    document.json["materials"][used]["name"] = "rust"
    back = back_from(document, path)
    (line,) = lines(back)
    assert line.startswith(f"not applied: material 'rust': is '{before}' under another name; ")
    assert back.data == WALKER.source


def test_new_triangles_of_an_unknown_material_have_the_usual_one_of_their_part(path: Path) -> None:
    without_wear(path)
    document = Editable(path)
    mesh = document.json["meshes"][document.json["nodes"][0]["mesh"]]
    (primitive, *_) = mesh["primitives"]
    mesh["primitives"] = [primitive]
    words = stored_words(import_gltf(document.save(path)))
    attributes = dict(primitive["attributes"])
    moved = document.arrays[attributes["POSITION"]] + np.float32(0.25)
    attributes["POSITION"] = document.add(moved)
    document.json["materials"].append({"name": "red"})
    number = len(document.json["materials"]) - 1
    mesh["primitives"].append({**primitive, "attributes": attributes, "material": number})
    back = back_from(document, path)
    assert [fact.where for fact in back.not_applied] == ["material 'red'"]
    assert stored_words(back) == words


def stored_words(back: ImportResult) -> set[tuple[int, ...]]:
    """The batch words of the first slot in use."""
    model = read_model(read_nres(back.data, "x"), "x")
    slot = model.slots[int(model.nodes["slot_index"][0, 0, 0])]
    first, count = int(slot["batch_start"]), int(slot["batch_count"])
    rows = model.streams[StreamType.BATCHES][first : first + count]
    return {tuple(int(row[f"word{n}"]) for n in (0, 2, 4, 6)) for row in rows}


def test_a_row_of_the_wea_that_no_face_had_can_be_assigned(path: Path) -> None:
    kept = read_sidecar(sidecar_path(path).read_bytes(), "x")
    names = [*kept.description.materials]
    about = replace(kept.description, materials=[*names, "SPARE"])
    sidecar_path(path).write_bytes(write_sidecar(replace(kept, description=about)))
    document = Editable(path)
    for scene in document.json["scenes"]:
        scene.pop("extras", None)  # the pair of the sidecar as it was
    document.json["materials"].append({"name": "SPARE.001"})
    document.primitives()[0]["material"] = len(document.json["materials"]) - 1
    back = back_from(document, path)
    assert (lines(back), len(back.changes)) == ([], 1)
    model = read_model(read_nres(back.data, "x"), "x")
    assert len(names) in {int(word) & 0xFF for word in model.batches["word4"]}
