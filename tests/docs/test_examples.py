"""The example game, and the scripts that the tutorials use."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.docs.materials import EXAMPLES, call_example, example_game
from tests.support.game import snapshot
from tests.support.runs import python


def test_the_game_is_the_same_every_time(tmp_path: Path) -> None:
    call_example("make_game.py", "make_game", tmp_path / "GAME")
    assert snapshot(tmp_path / "GAME") == snapshot(example_game())


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    """It may be somebody's real game."""
    (tmp_path / "static.rlb").write_bytes(b"the real one")
    with pytest.raises(SystemExit, match="is not empty"):
        call_example("make_game.py", "make_game", tmp_path)
    assert snapshot(tmp_path).keys() == {"static.rlb"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("wall", "armour", "BRICK.0"), "has a material armour already"),
        (("no_such", "BRICK", "BRICK.0"), "has no material no_such"),
        (("wall", "BRICK", "a_name_of_more_than_16_letters.0"), "texture name"),
    ],
)
def test_a_material_that_cannot_be(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    library = tmp_path / "Material.lib"
    library.write_bytes((example_game() / "Material.lib").read_bytes())
    before = snapshot(tmp_path)
    done = python(EXAMPLES / "new_material.py", library, *arguments)
    assert (done.returncode, said in done.stderr) == (1, True), done.stderr
    assert snapshot(tmp_path) == before


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code cells, in order, in the folder that it says."""
    monkeypatch.chdir(EXAMPLES)
    before = snapshot(EXAMPLES)
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text("utf-8"))["cells"]
    values: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), values)
    assert values["thumbnails"]._repr_html_().count("<iframe srcdoc=") == 3
    assert str(values["moved"].changes[0]).startswith("node 'Base_TM': ")
    assert [str(change) for change in values["edited"].changes] == [
        "node 'crate': is new",
        "part 'Base_TM' stage 0 level 0: 24 triangles became 20",
        "part 'crate' stage 0 level 0: is new",
    ]
    assert snapshot(EXAMPLES) == before
