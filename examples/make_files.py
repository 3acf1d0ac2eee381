"""Make the single files that the guides start with, by their names.

python examples/make_files.py robot.msh tower.glb tower.obj WALL.png broken.msh
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from make_models import hangar

from msh_gltf.converter.formats.model import StreamType
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.tables import HEADER_DTYPE, SLOT_DTYPE

HERE = Path(__file__).parent


def robot(path: Path) -> None:
    """The walker, with what its materials are called."""
    for suffix in (".msh", ".wea"):
        shutil.copy(HERE / f"walker{suffix}", path.with_suffix(suffix))


def broken(path: Path) -> None:
    """The walker; its slot 3 has more batches than there are."""
    data = bytearray((HERE / "walker.msh").read_bytes())
    slots = read_nres(bytes(data), "walker.msh").first_of_type(StreamType.SLOTS)
    row = slots.data_offset + HEADER_DTYPE.itemsize + 3 * SLOT_DTYPE.itemsize
    data[row + 6 : row + 8] = (60000).to_bytes(2, "little")
    path.write_bytes(data)


def tower(path: Path) -> None:
    """A new model, from a tool that knows nothing of the game."""
    with tempfile.TemporaryDirectory() as folder:
        hangar().save(Path(folder))
        shutil.copy(Path(folder) / "hangar.glb", path)


def tower_obj(path: Path) -> None:
    """A model that another tool wrote as OBJ: four triangles."""
    path.write_text("o tower\nv 0 0 0\nv 1 0 0\nv 0 0 -1\nv 0 2 0\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")


def wall(path: Path) -> None:
    """A picture of 64 x 64."""
    from PIL import Image

    Image.new("RGB", (64, 64), (150, 90, 60)).save(path)


FILES: dict[str, Callable[[Path], object]] = {
    "robot.msh": robot,
    "broken.msh": broken,
    "tower.glb": tower,
    "tower.obj": tower_obj,
    "WALL.png": wall,
}


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]]
    if not paths or any(path.name not in FILES for path in paths):
        raise SystemExit(__doc__)
    for path in paths:
        FILES[path.name](path)
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
