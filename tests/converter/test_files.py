"""Folders whose listings are kept, on disks that count time in steps."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from msh_gltf.converter.files import in_any_case, names_in
from msh_gltf.converter.kinds.open_files import layout_of
from msh_gltf.converter.kinds.registry import Game

SECOND = 10**9
LISTS: dict[str, Callable[[Path, str], object]] = {
    "names_in": lambda folder, name: name.lower() in names_in(folder),
    "in_any_case": lambda folder, name: in_any_case(folder, [name.upper()]).is_file(),
    "layout_of": lambda folder, name: name in layout_of(folder).names,
    "Game.file": lambda folder, name: Game(folder).file(name),
}


class Disk:
    """A folder with a clock and a time of change of its own, as stat has them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.now = folder, 1_700_000_001 * SECOND
        self.changed = self.now
        real = os.stat

        def stat(path: Any, *args: Any, **kwargs: Any) -> Any:
            about = real(path, *args, **kwargs)
            if path != folder:
                return about
            facts = {name: getattr(about, name) for name in dir(about) if name.startswith("st_")}
            return SimpleNamespace(**{**facts, "st_mtime_ns": self.changed, "st_ctime_ns": self.changed})

        monkeypatch.setattr(os, "stat", stat)
        monkeypatch.setattr(time, "time_ns", lambda: self.now)

    def add(self, name: str) -> None:
        (self.folder / name).write_bytes(b"")
        self.changed = self.now // (2 * SECOND) * 2 * SECOND  # as FAT counts


@pytest.mark.parametrize("find", LISTS.values(), ids=LISTS)
def test_a_file_that_is_added_is_seen_on_fat(
    find: Callable[[Path, str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Added within a step of the disk's clock; and where the folder keeps no time, as of Windows on FAT, soon."""
    disk = Disk(tmp_path, monkeypatch)
    for number, tenths in enumerate((1, 5, 10, 19, 21, 29, 35, 90)):
        for name in (f"a{number}.wea", f"b{number}.wea"):
            assert not find(tmp_path, name)
            disk.add(name)
            assert find(tmp_path, name)
            disk.now += tenths * SECOND // 10
            assert find(tmp_path, name)
    disk.now += 9 * SECOND
    assert not find(tmp_path, "last.wea")
    (tmp_path / "last.wea").write_bytes(b"")
    disk.now += 2 * SECOND
    assert find(tmp_path, "last.wea")


def test_a_folder_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, real, listed = Disk(tmp_path, monkeypatch), os.listdir, list[Any]()
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or real(path))
    disk.now += 9 * SECOND
    for _ in range(100):
        names_in(tmp_path)
    assert listed == [tmp_path]
