"""Small fake games made of the bundled models: archives, loose files, and junk."""

import hashlib
import random
import re
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from msh_gltf.converter import MANIFEST
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import Entry, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import name_field, new_archive
from msh_gltf.converter.formats.rsli import METHODS
from msh_gltf.converter.game.history import History
from msh_gltf.converter.game.vault import Vault, find_root
from msh_gltf.converter.storage import VAULT
from tests.docs.materials import example_game
from tests.support.corpus import DATA
from tests.support.rsli import library
from tests.support.runs import run

#: Where temporary games lie: in memory, where the system has such a place; its fsync is free.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
#: TEST: entries that are nobody's format.
MESH, WEAR, OBJR, TEST = (int.from_bytes(code, "little") for code in (b"MESH", b"WEAR", b"OBJR", b"TEST"))

#: archive -> entry name -> bundled model. The rock without evidence lies among retail models.
MODELS = {
    "static.rlb": {
        "i_room_006.msh": "retail__static__i_room_006",
        "R_H_002.MSH": "retail__system__R_H_002",
        "s_rock_057.msh": "mixed__odd__s_rock_057",
        "MTCHECK.MSH": "retail__system__MTCHECK",
    },
    "SYSTEM.RLB": {
        "R_H_002.msh": "spec__system__R_H_002",
        "b_bun_000.msh": "spec__static__b_bun_000",
        "птица.msh": "spec__system__a_bird_007",
    },
}
LOOSE = "DATA/Loose/Дом.msh"


def entry(type_id: int, name: bytes, payload: bytes) -> Entry:
    return Entry(type_id, 3, 1, 0, name_field(name), 0, 0, payload)


def model(name: str) -> bytes:
    return (DATA / f"{name}.msh").read_bytes()


def archive(entries: list[Entry], *, forgotten: bytes = b"") -> bytes:
    """An archive; ``forgotten`` bytes lie before its directory and belong to no entry."""
    made = new_archive(entries, "x")
    directory = made.total_size - 64 * len(entries)
    return write_nres(
        replace(made, unindexed=[*made.unindexed, (directory, forgotten)], total_size=made.total_size + len(forgotten))
    )


#: An archive of which two entries share a name, with forgotten bytes.
SMALL = archive(
    [entry(TEST, name, name * 9) for name in (b"one", b"two", b"two", b"four")], forgotten=b"\1forgotten\xff"
)
#: What a small game keeps of the example: few models, quick commands.
FEW = ("turrets.rlb", "static.rlb", "Material.lib", "Textures.lib")


def make_game(root: Path) -> Path:
    """A game directory with every kind of file that a walk meets; returns it."""
    for path, models in MODELS.items():
        entries = []
        for name, source in models.items():
            entries.append(entry(MESH, name.encode("cp1251"), model(source)))
            wear = (DATA / f"{source}.wea").read_bytes()
            entries.append(entry(WEAR, f"{name[:-4]}.wea".encode("cp1251"), wear))
        write(root / path, archive(entries, forgotten=b"\x01forgotten data\xff"))
    write(root / LOOSE, model("retail__odd__l_mast_010"))
    write(root / "OBJECTS.RLB", archive([entry(OBJR, b"obj_000", b"12345")]))
    write(root / "empty.rlb", archive([]))
    write(root / "gamefont.rlb", (DATA / "gamefont.rlb").read_bytes())
    for name in ("Land.msh", "Land.map", "Land1.wea", "Land2.wea"):
        level = DATA / "maps/spec__AutoMAP_00"
        write(root / "DATA/MAPS/M1" / name, (level / name).read_bytes())
    write(root / "DATA/notes.msh", b"just text, called a model")
    write(root / "Video/intro.avi", bytes(range(256)) * 40)
    write(root / "zero.dat", b"")
    write(root / "short.bin", b"NRe")
    (root / "saves" / "none").mkdir(parents=True)
    return root


def example(path: Path) -> None:
    shutil.copytree(example_game(), path)


def small_game(path: Path) -> None:
    """A small archive, and a file that is none."""
    (path / "DATA").mkdir(parents=True)
    (path / "a.rlb").write_bytes(SMALL)
    (path / "DATA/plain.bin").write_bytes(b"a file that is no archive")


def libraries(path: Path) -> None:
    """Libraries with entries of every method, and of one that nobody knows."""
    chance = random.Random(12)
    contents = [b"a", b"ab" * 900, chance.randbytes(3000), chance.randbytes(40) * 300]
    entries = [(f"E{method:03X}_{n}", content, method) for method in METHODS for n, content in enumerate(contents)]
    path.mkdir()
    for name, overlay in (("sprites", None), ("overlaid", 16)):
        (path / f"{name}.lib").write_bytes(library([*entries, ("UNKNOWN", b"not read here", 0x1E0)], overlay))


@cache
def exported() -> Path:
    """The example game and its glTF, made once."""
    folder = Path(mkdtemp(prefix="msh-exported"))
    shutil.copytree(example_game(), folder / "game")
    assert run("msh2gltf", "game", "-o", "out", "-j", "1", "-q", cwd=folder).returncode == 0
    return folder


@cache
def two_outputs() -> Path:
    """A small game and two exports of it, made once."""
    folder = Path(mkdtemp(prefix="msh-sequences"))
    (folder / "game").mkdir()
    for name in FEW:
        shutil.copy(example_game() / name, folder / "game" / name)
    for out in ("out_a", "out_b"):
        assert run("msh2gltf", "game", "-o", out, "-q", "-j", "1", cwd=folder).returncode == 0
    shutil.copy(example_game() / "objects.rlb", folder / "game")
    return folder


def make_large_game(root: Path, copies: int) -> Path:
    """Many models in a few archives, for runs that take a while."""
    sources = sorted(p.stem for p in DATA.glob("*.msh"))
    for source in sources:
        entries = [entry(MESH, f"copy_{i:03}.msh".encode(), model(source)) for i in range(copies)]
        write(root / f"{source}.rlb", archive(entries))
    return root


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def original(path: Path) -> bytes:
    """Return what the vault keeps of a file of a game: as it was before it was first changed."""
    vault = Vault(find_root(path))
    file = path.relative_to(vault.root).as_posix()
    return vault.original(History(vault.records()).first(file))


def snapshot(root: Path) -> dict[str, str]:
    """Every file's digest, every directory and every link below one; what a vault has aside."""
    out = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if VAULT in path.relative_to(root).parts:
            continue
        if path.is_symlink():
            out[name] = f"-> {path.readlink()}"
        elif path.is_file():
            data = path.read_bytes()
            if path.name == MANIFEST:  # its id is random
                data = re.sub(rb'"id": "[0-9a-f]{16}"', b"", data)
            out[name] = hashlib.sha256(data).hexdigest()
        else:
            out[name] = "directory"
    return out


def files_of(root: Path) -> dict[str, bytes]:
    """Every file of a game, the vault aside."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and VAULT not in path.parts
    }


def content(data: bytes | None) -> dict[tuple[bytes, int], tuple[Any, ...]]:
    """What a file holds, whatever its layout: the entries of an archive with their attributes, or all of it."""
    if data is None:
        return {}
    try:
        entries = read_nres(data, "x").entries
    except ConversionError:
        return {(b"", 0): (data,)}
    seen: dict[bytes, int] = {}
    found = {}
    for one in entries:
        nth = seen[one.name_bytes] = seen.get(one.name_bytes, -1) + 1
        found[one.name_bytes, nth] = (bytes(one.payload), one.type_id, one.attr1, one.attr2, one.attr3)
    return found


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
