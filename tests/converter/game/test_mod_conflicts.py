"""What a mod's conflict says: which mod, and which edit or other mod."""

from pathlib import Path

import pytest

from msh_gltf.converter.errors import Conflict
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.mods import install, make_mod


def edited(root: Path, data: bytes) -> Path:
    """A game of one file, which an edit of this machine's owner changed."""
    root.mkdir()
    (root / "a.txt").write_bytes(b"as it was")
    with GameEdits(root, "edit", "blend:0123456789abcdef") as door:
        door.put("a.txt", data, lambda layer: False, item="tower.msh")
        door.commit()
    return root


def test_it_names_the_mod_and_the_edit(tmp_path: Path) -> None:
    """Not the id of a .blend or an output directory, which nobody knows."""
    mod = make_mod(edited(tmp_path / "theirs", b"by them"), "Towers")
    mine = edited(tmp_path / "mine", b"by me")
    with (
        GameEdits(mine, "install", mod.owner) as door,
        pytest.raises(Conflict, match=r"a\.txt.*Towers and your edit of tower\.msh both change it"),
    ):
        install(door, mod)
    assert (mine / "a.txt").read_bytes() == b"by me"
