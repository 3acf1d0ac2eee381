"""Files that do not fit one another: a terrain and its lists, a list and the libraries."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from tests.support.corruption.base import DATA, Made, Nres, kinds
from tests.support.corruption.terrain import levels


def write_level(folder: Path, sample: Made, change: Callable[[Path], None]) -> Path:
    """A whole level's directory, in lower case."""
    for path in (DATA / "maps" / sample.id).iterdir():
        if path.suffix.lower() in (".msh", ".map", ".wea"):
            shutil.copyfile(path, folder / path.name.lower())
    change(folder)
    return folder


of_level = kinds("level", lambda: levels("Land.msh"), write_level)


# fmt: off
of_level("level-wear", "second-list-is-no-list", lambda folder: (folder / "land2.wea").write_bytes(b"not a list"))
of_level("level-wear-parallel", "second-list-shorter",
    lambda folder: (folder / "land2.wea").write_bytes(b"1\r\n0 ONLY\r\n"))
# fmt: on


@of_level("level-material")
def face_material_past_the_list(folder: Path) -> None:
    path = folder / "land.msh"
    box = Nres.read(path.read_bytes())
    box.table(21).set(0, 4, "B", 200)
    path.write_bytes(box.write())


def write_looks(folder: Path, sample: Made, change: Callable[[Path], None]) -> Path:
    """The bundled libraries with a list beside them."""
    for path in (DATA / "libs").glob("*.lib"):
        shutil.copyfile(path, folder / path.name)
    (folder / "good.wea").write_bytes(b"1\r\n0 DEFAULT\r\n")
    change(folder)
    return folder


of_looks = kinds("looks", lambda: [Made("libs", b"")], write_looks)


@of_looks("look-missing")
def material_unknown(folder: Path) -> None:
    (folder / "good.wea").write_bytes(b"1\r\n0 NO_SUCH_THING\r\n")


@of_looks("look-missing")
def lightmap_unknown(folder: Path) -> None:
    (folder / "good.wea").write_bytes(b"1\r\n0 DEFAULT\r\n\r\nLIGHTMAPS\r\n1\r\n0 NO_SUCH\r\n")


@of_looks("look-missing")
def texture_unknown(folder: Path) -> None:
    path = folder / "Material.lib"
    box = Nres.read(path.read_bytes())
    struct.pack_into("<16s", box.entries[0].data, 14 + 18, b"NO_SUCH.0")
    path.write_bytes(box.write())
