"""Levels of detail and damage stages arrive where an edited file shows them, or a line names them.

What two files show is compared by ``tests.support.part_places``, which knows nothing of the
importer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.kinds.dispatch import import_gltf, load_file
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ExportOptions, ImportOptions
from tests.support.corpus import SAMPLES
from tests.support.gltf_edit import Editable
from tests.support.part_places import EDITS, Cell, Places, displaced, is_animated

EXAMPLES = Path(__file__).parents[3] / "examples"
MODELS = [s.path for s in SAMPLES if s.entry is None and not s.truth["legacy"]]
MODELS += sorted(EXAMPLES.glob("*.msh"))
#: Stored quaternions have 16 bits, and nodes hang below one another; of the model's size.
PLACE = 4e-4
#: A line about so many parts that it does not name them all.
SEVERAL = re.compile(r"and \d+ others? (?:follow|stand)")
WALKER, TREE = EXAMPLES / "walker.msh", EXAMPLES / "tree.msh"


def export(model: Path, target: Path, dialect: str = "auto") -> Path:
    options = ExportOptions(dialect=dialect)
    for path, data in load_file(model, None, options).files(target, options):
        path.write_bytes(data)
    return target


def imported(folder: Path, document: Editable, **options: object) -> tuple[ImportResult, dict[Cell, float]]:
    """What came of an edited file, and the parts that the next export shows elsewhere."""
    document.save(folder / "edited.glb")
    given = ImportOptions(libraries=False, **options)
    back = import_gltf(folder / "edited.glb", folder / "first.msh-sidecar", given)
    (folder / "second.msh").write_bytes(back.data)
    again = Editable(export(folder / "second.msh", folder / "second.glb", back.dialect))
    away = displaced(document, again)
    return back, {cell: distance for cell, distance in away.items() if distance > PLACE}


def lines(back: ImportResult) -> list[str]:
    """What the report says of what it does not show where it was."""
    rows = [f"{row['name']}: {row['reason']}" for row in back.report]
    followed = [line for line in rows if "to follow its node" in line]
    warnings = [line for line in back.warnings if "the normal is made up" not in line]
    return [*warnings, *map(str, back.not_applied), *followed]


def rows_with_parts(places: Places) -> list[int]:
    return sorted(
        {c[0] for c in places.cells.values() if c[0] in places.rows}
        & {row for row in places.rows if places.parts_of(row)}
    )


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_no_part_is_displaced_in_silence(model: Path, kind: str, tmp_path: Path) -> None:
    first = export(model, tmp_path / "first.glb")
    places = Places(Editable(first))
    rows = rows_with_parts(places)
    # each model with one of them, each kind of edit with all
    turn = (MODELS.index(model) + list(EDITS).index(kind)) % 3
    row, options = ((rows[0], {}), (rows[-1], {}), (rows[0], {"use_sidecar": False}))[turn]
    document = Editable(first)
    EDITS[kind](document, row)
    back, away = imported(tmp_path, document, **options)
    said = " ".join(lines(back))
    several = [m for m in SEVERAL.findall(said) if options]  # rows name each with a sidecar
    silent = {c for c in away if places.items[places.rows[c[0]]]["name"] not in said}
    assert not silent or several, (row, options, away, back.changes, said)


@pytest.mark.parametrize(
    "kind",
    [
        "scale_all",
        "move_node_and_parts_apart",
        "move_a_part",
        "turn_a_part",
        "scale_a_part",
        "apply_transforms",
        "apply_transforms_of_a_part",
        "set_origin",
    ],
)
@pytest.mark.parametrize("model", MODELS[::3], ids=lambda path: path.stem)
def test_what_is_shown_arrives_without_a_warning(model: Path, kind: str, tmp_path: Path) -> None:
    first = export(model, tmp_path / "first.glb")
    places = Places(Editable(first))
    for row in rows_with_parts(places):
        node = places.items[places.rows[row]]
        if "mesh" not in node or (kind == "apply_transforms" and is_animated(places, row)):
            continue
        if kind == "move_node_and_parts_apart" and node.get("children"):
            continue  # the parts of those follow
        document = Editable(first)
        EDITS[kind](document, row)
        back, away = imported(tmp_path, document)
        assert (away, lines(back)) == ({}, []), row
        break


# ------------------------------------------------------------------ one by one


def walker(
    folder: Path, edit: Callable[[Editable], None], model: Path = WALKER, **options: object
) -> tuple[ImportResult, dict[Cell, float]]:
    document = Editable(export(model, folder / "first.glb"))
    edit(document)
    return imported(folder, document, **options)


def test_a_part_stays_where_the_origin_of_its_node_is_moved(tmp_path: Path) -> None:
    back, away = walker(tmp_path, lambda d: EDITS["set_origin"](d, row_of(d, "gun")))
    assert (away, back.warnings, back.not_applied) == ({}, [], [])
    (change,) = (str(change) for change in back.changes if "level 1" in str(change))
    assert change.endswith("to stay where the file shows it, as the origin of its node was moved")


def test_a_part_stays_where_the_mesh_of_its_node_is_replaced(tmp_path: Path) -> None:
    """By one of another size, whose object is scaled: nothing says that the part is meant, too."""

    def edit(document: Editable) -> None:
        gun = document.node("gun")
        EDITS["set_origin"](document, row_of(document, "gun"))
        mesh = document.json["meshes"][gun["mesh"]]
        for primitive in mesh["primitives"]:
            positions = primitive["attributes"]["POSITION"]
            document.arrays[positions] = np.float32(40) * document.arrays[positions] ** 3
        gun["scale"] = [0.01, 0.01, 0.01]

    back, away = walker(tmp_path, edit)
    assert (away, back.warnings, back.not_applied) == ({}, [], [])


def test_a_part_of_an_animated_node_goes_where_it_is_at_the_first_frame(tmp_path: Path) -> None:
    """Blender exports the transform of the current frame, which may be any."""

    def edit(document: Editable) -> None:
        node = document.node("shin_l")
        node["translation"] = [x + 0.5 for x in node.get("translation", [0, 0, 0])]
        node["rotation"] = [0.6, 0, 0, 0.8]
        part = document.node("shin_l.level1")
        part["translation"][0] += 2

    back, away = walker(tmp_path, edit)
    assert away == {}
    assert [one.where for one in back.not_applied] == ["node 'shin_l'"]
    assert [str(change).partition(":")[0] for change in back.changes] == ["part 'shin_l' stage 0 level 1"]


def test_parts_that_the_file_never_had_are_named_when_their_node_is_scaled(tmp_path: Path) -> None:
    options = ExportOptions(parts="visible")
    first = tmp_path / "first.glb"
    for path, data in load_file(TREE, None, options).files(first, options):
        path.write_bytes(data)
    document = Editable(first)
    document.node("leaf1")["scale"] = [2.0, 2.0, 2.0]
    document.save(first)
    (line,) = import_gltf(first, None, ImportOptions(libraries=False)).not_applied
    assert str(line) == (
        "part 'leaf1' stage 0 level 1 and 1 other: keeps its vertices, though its node was scaled or "
        "its origin was moved; the file does not have it; export every part, without --parts "
        "visible, and edit that file"
    )
    del document.node("leaf1")["scale"]
    document.node("leaf1")["translation"] = [1.0, 2.0, 3.0]
    document.save(first)
    assert import_gltf(first, None, ImportOptions(libraries=False)).not_applied == []


def test_without_a_sidecar_parts_stand_where_they_are_shown(tmp_path: Path) -> None:
    def edit(document: Editable) -> None:
        document.node("gun")["translation"] = [1.0, 2.0, 3.0]

    back, away = walker(tmp_path, edit, use_sidecar=False)
    assert away == {}
    assert any(line.startswith("part 'gun.level1' stands elsewhere") for line in back.warnings)


def test_an_applied_transform_of_a_part_is_not_one_at_the_origin(tmp_path: Path) -> None:
    back, away = walker(tmp_path, lambda d: EDITS["apply_transforms_of_a_part"](d, row_of(d, "gun")))
    assert (away, back.warnings) == ({}, [])


def row_of(document: Editable, name: str) -> int:
    row: int = document.node(name)["extras"]["msh"]["node"]
    return row
