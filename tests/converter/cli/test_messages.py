"""What a line for the user is: in words, of a bounded length, with what to do next."""

import os
import sys
from pathlib import Path

from msh_gltf.converter.cli import as_typed_there, is_dropped
from msh_gltf.converter.errors import LONGEST_LINE, ConversionError, quoted, shortened
from msh_gltf.converter.storage import walk_files


def test_a_value_and_a_line_are_bounded() -> None:
    error = ConversionError(
        "is wrong", file="a.glb", value="9" * 5_000_000, expected="x" * 10_000, hint="save it again"
    )
    assert len(str(error)) < LONGEST_LINE
    assert str(error).endswith("; save it again")
    assert shortened("ab" * 1000, 99) == f"{'ab' * 23}a ... b{'ab' * 23}"


def test_paths_in_hints_are_quoted_where_a_shell_splits_them() -> None:
    assert quoted("C:\\Games\\Игра") == "C:\\Games\\Игра"
    assert quoted("my game/static.rlb") == '"my game/static.rlb"'


def test_a_folder_of_1800_levels(tmp_path: Path) -> None:
    """The walk goes as deep as the system names paths, and reports the rest."""
    here, refused = os.getcwd(), list[OSError]()
    os.chdir(tmp_path)
    try:
        for _ in range(1800):
            os.mkdir("d")
            os.chdir("d")
        assert sum(1 for _ in walk_files(tmp_path, onerror=refused.append)) > 1700
    finally:  # what clears up after tests goes no deeper than Python does
        while Path.cwd() != tmp_path:
            os.chdir("..")
            os.rmdir("d")
        os.chdir(here)


def test_outputs_of_dropped_files_go_beside_them(tmp_path: Path) -> None:
    """tests/windows/test_dropped.py drops them; here is where each goes."""
    for name in ("a.msh", "b.rlb", "c.glb", "d.zip"):
        (tmp_path / name).touch()
    for name in ("GAME", "Parkan 1.0", "Parkan 1.0_gltf", "b_gltf", "x_gltf"):
        (tmp_path / name).mkdir()
    here = f"{tmp_path}{os.sep}"
    for command, names, added in (
        ("msh2gltf", ["a.msh"], ["-o", here]),
        ("msh2gltf", ["b.rlb"], ["-o", f"{here}b_gltf"]),
        ("msh2gltf", ["GAME"], ["-o", f"{here}GAME_gltf"]),
        ("msh2gltf", ["a.msh", "b.rlb"], ["-o", f"{here}a_gltf"]),
        ("gltf2msh", ["c.glb"], ["-o", here]),
        ("msh2gltf", ["Parkan 1.0"], ["-o", f"{here}Parkan 1.0_gltf"]),
        ("gltf2msh", ["GAME"], []),
        ("gltf2msh", ["Parkan 1.0_gltf"], ["--game", f"{here}Parkan 1.0", "--in-place"]),
        ("gltf2msh", ["b_gltf"], ["--game", f"{tmp_path}", "--in-place"]),
        ("gltf2msh", ["x_gltf"], []),
        ("msh-inspect", ["a.msh"], []),
    ):
        paths = [f"{here}{name}" for name in names]
        assert as_typed_there(command, paths) == [*paths, *added]
    assert as_typed_there("msh-mod", [f"{here}GAME"]) == ["status", f"{here}GAME"]
    assert as_typed_there("msh-mod", [f"{here}d.zip"]) == ["show", f"{here}d.zip"]
    assert not is_dropped([f"{here}a.msh"]) or sys.platform == "win32"
