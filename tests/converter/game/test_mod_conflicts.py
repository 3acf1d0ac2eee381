"""What a mod's conflict says: which mod, and which edit or other mod."""

from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import Conflict
from msh_gltf.converter.formats.model import BATCH_DTYPE
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.mods import install, make_mod
from msh_gltf.converter.game.split import split
from tests.support.assembled_game import GameParts
from tests.support.corpus import DATA
from tests.support.game import MESH, WEAR, archive, entry, model

BUNKER = "spec__static__b_bun_000"


def edited(root: Path, data: bytes, file: str = "a.txt", base: bytes = b"as it was") -> Path:
    """A game of one file, which an edit of this machine's owner changed."""
    root.mkdir()
    (root / file).write_bytes(base)
    with GameEdits(root, "edit", "blend:0123456789abcdef") as door:
        door.put(file, data, lambda layer: False, item="tower.msh")
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


def library(material: int = 0, row: str = "9 EXTRA", u: int = 0) -> bytes:
    """A model and its list of materials. ``material``: of a batch. ``row``: the last. ``u``: added to a coordinate."""
    tables = split("model", model(BUNKER)).tables
    batches = np.frombuffer(tables["13.0"].data, BATCH_DTYPE).copy()
    batches["word2"][0] = material
    uv = np.frombuffer(tables["5.0"].data, "<i2").copy()
    uv[0] += u
    changed = {"13.0": batches.tobytes(), "5.0": uv.tobytes()}
    rows = [*(DATA / f"{BUNKER}.wea").read_text("ascii").split("\n")[1:5], *([row] if row else [])]
    wear = "".join(f"{line.strip()}\r\n" for line in (str(len(rows)), *rows)).encode()
    made = split("model", model(BUNKER)).join(changed, {})
    return archive([entry(MESH, b"b.msh", made), entry(WEAR, b"b.wea", wear)])


def mission(**ids: int) -> bytes:
    parts = GameParts()
    for one in parts.placed:
        one["id"] = ids.get(one.get("name", ""), one.get("id", 0))
    return parts.mission


@pytest.mark.parametrize(
    ("file", "base", "theirs", "mine", "said"),
    [
        ("static.rlb", library(), library(4), library(row="", u=1), r"b\.msh: would not be valid with both .* Towers"),
        ("data.tma", mission(), mission(Base=300), mission(Guard=300), r"data\.tma: would not be valid .* tower\.msh"),
    ],
)
def test_what_only_both_changes_break_is_refused(
    tmp_path: Path, file: str, base: bytes, theirs: bytes, mine: bytes, said: str
) -> None:
    """Where each of them alone is valid: the row that one of them takes away is the other's material."""
    mod = make_mod(edited(tmp_path / "theirs", theirs, file, base), "Towers")
    root = edited(tmp_path / "mine", mine, file, base)
    with GameEdits(root, "install", mod.owner) as door, pytest.raises(Conflict, match=said):
        install(door, mod)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / file).write_bytes(base)
    with GameEdits(plain, "install", mod.owner) as door:
        install(door, mod)
