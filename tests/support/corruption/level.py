"""Files that do not fit one another: a terrain and its lists, a list and the libraries."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support.corruption.base import DATA, Made, Nres, kinds, pack
from tests.support.corruption.terrain import levels


def write_level(folder: Path, sample: Made, change: Callable[[Path], None]) -> Path:
    """A whole level's directory, in lower case."""
    for path in (DATA / "maps" / sample.id).iterdir():
        if path.suffix.lower() in (".msh", ".map", ".wea"):
            shutil.copyfile(path, folder / path.name.lower())
    change(folder)
    return folder


of_level = kinds("level", lambda: levels("Land.msh"), write_level)


def in_file(name: str, change: Callable[[Nres], object]) -> Callable[[Path], None]:
    """What changes a file of a folder."""

    def act(folder: Path) -> None:
        box = Nres.read((folder / name).read_bytes())
        change(box)
        (folder / name).write_bytes(box.write())

    return act


def has(name: str, text: bytes) -> Callable[[Path], object]:
    """What writes a file into a folder."""
    return lambda folder: (folder / name).write_bytes(text)


# fmt: off
of_level("level-wear", "second-list-is-no-list", has("land2.wea", b"not a list"))
of_level("level-wear-parallel", "second-list-shorter", has("land2.wea", b"1\r\n0 ONLY\r\n"))
of_level("level-material", "face-material-past-the-list",
    in_file("land.msh", lambda box: box.table(21).set(0, 4, "B", 200)))
# fmt: on


def write_looks(folder: Path, sample: Made, change: Callable[[Path], None]) -> Path:
    """The bundled libraries with a list beside them."""
    for path in (DATA / "libs").glob("*.lib"):
        shutil.copyfile(path, folder / path.name)
    (folder / "good.wea").write_bytes(b"1\r\n0 DEFAULT\r\n")
    change(folder)
    return folder


of_looks = kinds("looks", lambda: [Made("libs", b"")], write_looks)


# fmt: off
of_looks("look-missing", "material-unknown", has("good.wea", b"1\r\n0 NO_SUCH_THING\r\n"))
of_looks("look-missing", "lightmap-unknown",
    has("good.wea", b"1\r\n0 DEFAULT\r\n\r\nLIGHTMAPS\r\n1\r\n0 NO_SUCH\r\n"))
of_looks("look-missing", "texture-unknown",
    in_file("Material.lib", lambda box: pack("<16s", box.entries[0].data, 14 + 18, b"NO_SUCH.0")))
# fmt: on
