"""Put a new material into Material.lib: a copy of one that is there, with another texture.

    python examples/new_material.py MOD/Material.lib wall BRICK BRICK.0

copies the material ``wall`` as ``BRICK``, which shows the texture ``BRICK.0``. The library as it
was before the first change is kept in ``MOD/.msh-gltf``; ``msh-mod undo MOD`` takes it back. Names
are compared as the game does, whatever their case.
"""

from __future__ import annotations

import sys
from pathlib import Path

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.material import (
    MATERIAL_TYPE,
    MATERIAL_VERSION,
    new_material,
    read_material,
    write_material,
)
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import add_entry
from msh_gltf.converter.game.games import Games


def main(arguments: list[str]) -> None:
    if len(arguments) != 4:
        raise SystemExit(__doc__)
    path, like, name, texture = Path(arguments[0]), *arguments[1:]
    library = read_nres(path.read_bytes(), str(path))
    old = library.find(like)
    if old is None or library.find(name) is not None:
        what = f"no material {like}" if old is None else f"a material {name} already"
        raise SystemExit(f"{path} has {what}")
    entry = library.entries[old]
    made = new_material(read_material(entry, str(path)), name, texture)
    attributes = (made.kind, MATERIAL_VERSION, entry.attr3)
    raw = name.encode("cp1251")
    library = add_entry(library, raw, MATERIAL_TYPE, write_material(made), attributes)
    with Games(f"new_material.py {name}", "new_material.py") as games:
        games.put(path, write_nres(library), name)
        games.commit()
    print(f"{path}: added {name}, like {like}, with texture {texture}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ConversionError as error:
        raise SystemExit(str(error)) from None
