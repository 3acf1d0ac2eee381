"""What the asset library of a game has: every model and unit, each look once."""

from pathlib import Path

from msh_gltf.converter.kinds.placed_models import game_assets
from msh_gltf.converter.options import ExportOptions
from tests.support.assembled_game import BASE, ROBOT, GameParts
from tests.support.corpus import DATA
from tests.support.game import write


def test_every_model_and_unit_is_there_once(tmp_path: Path) -> None:
    GameParts().write(tmp_path)
    write(tmp_path / "DATA/Дом.msh", (DATA / "retail__static__i_room_006.msh").read_bytes())
    write(tmp_path / "broken.rlb", b"NRes" + bytes(12))
    write(tmp_path / "UNITS/broken.dat", b"\xf1\xf0\0\0" + bytes(50))
    found = game_assets(tmp_path, ExportOptions(points=False))
    seen = {asset.name: (asset.catalog, asset.extras.get("path")) for asset in found.assets}
    assert seen == {
        # two keys lead to the room, and one of scenery is taken before others
        "static/u_robot": ("models/static.rlb", "u_robot"),
        "static/s_rock": ("models/static.rlb", "s_rock"),
        "files/Дом": ("models/files", None),
        "robot": ("units", ROBOT),
        "BUILDS/base": ("units/BUILDS", BASE),
    }
    assert len(found.assembly.models) == 3
    named = {placement.name for placement in found.assembly.placements}
    assert {asset.node for asset in found.assets} <= named
    assert any("broken.rlb" in text for text in found.left_out)
    assert any("broken.dat" in text for text in found.left_out)
