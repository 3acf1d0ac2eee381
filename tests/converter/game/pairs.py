"""Random pairs of mods by two authors, through the commands: ``python -m tests.converter.game.pairs N SEED``.

Each author edits a copy of a game and makes a mod; both mods are installed into a fresh copy, in either order. Files of
glTF are edited as the judge of the tests edits them (``converter/judge``), each as its author makes it: in the output
directory, then the commands.
"""

import json
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from time import perf_counter
from typing import Any

import numpy as np
from PIL import Image

from msh_gltf.converter.formats.material import MATERIAL_TYPE
from msh_gltf.converter.formats.nres import Archive, is_nres, read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.game.edits import GameEdits
from msh_gltf.converter.game.mods import read_mod
from tests.converter.judge.grounds import Areals, Terrain
from tests.converter.judge.world import World, one_of
from tests.converter.judge.worlds import Mission, Unit
from tests.docs.materials import example_game
from tests.support import inside_game
from tests.support.corpus import CORPUS
from tests.support.game import MEMORY, content, files_of
from tests.support.game_edits import bare, repeats
from tests.support.random_edits import EDITS, Edited, NotHere
from tests.support.recorded import digest
from tests.support.runs import run

NAMES = ("Башни", "Walls 2")
_INVALID = "would not be valid with both changes"
#: Files of games that nobody edits here, and that take long to copy.
_IGNORED = shutil.ignore_patterns("*.avi", "Video")
#: Edits that keep the number of rows, of the kinds that mods are made of.
SMALL = ("move node", "turn node", "move vertices", "change uv", "move key", "rename node", "assign material")
#: Where files of an output directory are, and how they are opened and edited.
GLTF: dict[str, tuple[str, Callable[[Path], Any], Mapping[str, Callable[..., object]]]] = {
    "model": ("*.[Rr][Ll][Bb]/*.glb", Edited, EDITS),
    "small edit of a model": ("*.[Rr][Ll][Bb]/*.glb", Edited, {name: EDITS[name] for name in SMALL}),
    "colour": ("*.[Rr][Ll][Bb]/*.glb", World.of_file, {"change colour": World.change_colour}),
    "mission": ("MISSIONS/**/data.glb", Mission.of_file, Mission.edits),
    "unit": ("UNITS/**/*.glb", Unit.of_file, Unit.edits),
    "ground": ("DATA/**/[Ll][Aa][Nn][Dd].glb", Terrain.of_file, Terrain.edits),
    "areals": ("DATA/**/*.[Mm][Aa][Pp].glb", Areals.of_file, Areals.edits),
}
Chance = np.random.Generator


# ------------------------------------------------------------------ edits of other files


def new_model(folder: Path, target: Chance, chance: Chance) -> None:
    path = one_of(target, sorted((folder / "out").glob("*.[Rr][Ll][Bb]/*.glb")))
    shutil.copy(path, path.with_name(f"added_{chance.integers(3)}.glb"))


def painted_texture(folder: Path, target: Chance, chance: Chance) -> None:
    path = one_of(target, sorted((folder / "out").glob("textures/*.png")))
    picture = np.array(Image.open(path).convert("RGBA"))
    height, width = (int(chance.integers(1, max(2, side // 3))) for side in picture.shape[:2])
    top, left = (int(chance.integers(side - own)) for side, own in zip(picture.shape, (height, width), strict=False))
    picture[top : top + height, left : left + width, :3] = chance.integers(0, 256, (height, width, 3))
    Image.fromarray(picture).save(path)


def picture_into_the_library(folder: Path, target: Chance, chance: Chance) -> None:
    """A texture that is there, or a new one."""
    path = folder / f"wall{chance.integers(4)}.png"
    Image.fromarray(chance.integers(0, 256, (8, 8, 3)).astype(np.uint8)).save(path)
    if run("gltf2msh", path, "--into", folder / "game/Textures.lib").returncode:
        raise NotHere


def entry_bytes(folder: Path, target: Chance, chance: Chance) -> None:
    """What a script does: a byte of a material, or of an entry of a format that nobody knows."""
    rows: list[tuple[Path, Archive, int, int]] = []
    for path in sorted((folder / "game").glob("*.*")):
        if path.is_file() and is_nres(data := path.read_bytes()) and "object" not in path.name.lower():
            for i, entry in enumerate((archive := read_nres(data, path.name)).entries):
                is_material = entry.type_id == MATERIAL_TYPE and len(entry.payload) >= 40
                known = entry.start(4) in (b"NRes", b"Texm") or entry.name.lower().endswith((".wea", ".cpt"))
                if is_material or (entry.payload and not known and entry.type_id != MATERIAL_TYPE):
                    rows.append((path, archive, i, 24 if is_material else 0))
    path, archive, index, start = one_of(target, rows)
    data = bytearray(archive.entries[index].payload)
    data[int(chance.integers(start, 40 if start else len(data)))] ^= int(chance.integers(1, 64))
    with GameEdits(folder / "game", "a script", f"script:{folder.name}") as door:
        made = write_nres(replace_entry(archive, index, bytes(data)))
        door.put(path.name, made, lambda layer: False, item=path.name)
        door.commit()


OTHERS = (new_model, painted_texture, picture_into_the_library, entry_bytes)
KINDS = sorted([*GLTF, *(one.__name__ for one in OTHERS)])


def edited(folder: Path, kinds: Sequence[str], target: Chance, chance: Chance) -> list[str]:
    """Edit the files of an author, and put them into the game; what has no place, or is refused, is left out.

    Args:
        folder: the author's; its game may still be as it was.
        kinds: of ``KINDS``.
        target: which files.
        chance: what is done to them.

    Returns:
        What was done.
    """
    done = []
    for kind in kinds:
        try:
            if kind in GLTF:
                where, opened, edits = GLTF[kind]
                document = opened(path := one_of(target, sorted((folder / "out").glob(where))))
                edits[name := one_of(chance, sorted(edits))](document, chance)
                getattr(document, "file", document).save(path)
            else:
                next(one for one in OTHERS if one.__name__ == (name := kind))(folder, target, chance)
        except (NotHere, StopIteration, KeyError, IndexError, ValueError):
            continue
        done.append(name.replace("_", " "))
    place = (folder / "out", "--game", folder / "game", "--in-place", "-q", "-j", "1")
    if run("gltf2msh", *place, "--add").returncode:
        run("gltf2msh", *place)
    return done


# ------------------------------------------------------------------ games and mods


@cache
def prepared(name: str) -> Path:
    """A game and its export: one that is made, or one of the corpus."""
    folder = Path(tempfile.mkdtemp(prefix="msh-pairs", dir=MEMORY))
    if name == "made":
        inside_game.make(folder / "game")
        for file in ("turrets.rlb", "Material.lib", "Textures.lib", "BuildDat.lst"):
            shutil.copy(example_game() / file, folder / "game" / file)
    else:
        shutil.copytree(Path(str(CORPUS)) / name / "game", folder / "game", ignore=_IGNORED)
    done = run("msh2gltf", folder / "game", "-o", folder / "out", "-q", "-j", "1")
    assert done.returncode in (0, 1), done.stderr
    return folder


def games() -> list[str]:
    """The games that there are: the made one weighs as much as all others."""
    names = sorted(path.parent.name for path in Path(CORPUS).glob("*/game")) if CORPUS else []
    return ["made"] * max(1, len(names)) + names


def vault(root: Path) -> dict[str, bytes]:
    """Every file of a game's vault but the note of who is at work."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted((root / ".msh-gltf").rglob("*"))
        if path.is_file() and path.name not in ("writer", "lock")
    }


def findings(root: Path) -> Counter[tuple[str, str, str, str]]:
    """What ``msh-inspect --check`` finds, by file, entry, rule and table."""
    done = run("msh-inspect", root, "--check", "--json")
    assert done.returncode in (0, 1), done.stderr
    found: Counter[tuple[str, str, str, str]] = Counter()
    for item in json.loads(done.stdout)["items"]:
        for one in item["findings"]:
            found[item["file"], str(item["entry"]), one["code"], str(one.get("table"))] += 1
    return found


def mod(*words: object) -> CompletedProcess[str]:
    """``msh-mod``, which has to do what it is told."""
    done = run("msh-mod", *words)
    assert done.returncode == 0, done.stderr
    return done


@dataclass
class Author:
    """Somebody with a copy of the game."""

    name: str
    folder: Path
    done: list[str] = field(default_factory=list)

    @property
    def game(self) -> Path:
        return self.folder / "game"

    @property
    def mod(self) -> Path:
        return self.folder / "the.zip"

    def work(self, source: Path, kinds: list[str], target: int, seed: int) -> bool:
        """Edit and make a mod; whether anything differs."""
        shutil.copytree(source, self.folder)
        self.done = edited(self.folder, kinds, np.random.default_rng(target), np.random.default_rng(seed))
        if files_of(self.game) == files_of(source / "game"):
            return False
        said = mod("make", self.game, self.mod, "--name", self.name).stdout
        for size in (self.mod.stat().st_size, *(len(change.stored) for change in read_mod(self.mod).changes)):
            assert f"{size:,} byte" in said, said
        return True


def run_pair(seed: int, folder: Path, names: list[str]) -> str:
    """Two authors and their mods, installed in either order: what came of it, or nothing where one did nothing."""
    chance = np.random.default_rng(seed)
    source = prepared(names[int(chance.integers(len(names)))])
    kinds = [[str(k) for k in chance.choice(KINDS, int(chance.integers(1, 4)))] for _ in NAMES]
    if same := chance.random() < 0.6:  # the same file, so that there is something to merge
        kinds[1][0] = kinds[0][0]
    targets, seeds = chance.integers(1 << 30, size=(2, 2)).tolist()
    authors = [Author(name, folder / f"author{i}") for i, name in enumerate(NAMES)]
    for i, author in enumerate(authors):
        if not author.work(source, kinds[i], targets[0 if same else i], seeds[i]):
            return ""
    base = source / "game"
    for author in authors:
        holds_nothing(author.mod, base)
    results = [installed(base, folder / f"order{i}", pair) for i, pair in enumerate((authors, authors[::-1]))]
    (outcome,) = {outcome for outcome, _ in results}
    mine, theirs = ({(one.file, one.slot.text) for one in read_mod(author.mod).changes} for author in authors)
    if outcome == "merged":
        assert results[0][1] == results[1][1], "the order shows"
        known = findings(base) | findings(authors[0].game) | findings(authors[1].game)
        assert not (more := findings(folder / "order0") - known), more
        outcome += f" {digest(sorted(files_of(folder / 'order0').items()))}"
        undone(files_of(base), folder)
    elif not mine & theirs:
        assert all(_INVALID in str(message) for _, message in results), results
    edits = " and ".join(", ".join(author.done) for author in authors)
    return f"{outcome}: {edits}; both change {sorted(mine & theirs)}"


def installed(base: Path, game: Path, authors: list[Author]) -> tuple[str, object]:
    """Install two mods: ``merged`` and the game, or ``refused`` and the message."""
    shutil.copytree(base, game)
    first, second = authors
    mod("install", first.mod, game)
    alone, kept = files_of(game), vault(game)
    assert alone == files_of(first.game), "a mod does not make what its author has"
    done = run("msh-mod", "install", second.mod, game)
    if done.returncode == 0:
        return "merged", files_of(game)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    for author in authors:
        assert author.name in line, line
    where = [one for one in read_mod(second.mod).changes if one.file in line and one.slot.text in line]
    assert where, line
    assert (files_of(game), vault(game)) == (alone, kept), "a refused mod has written"
    return "refused", line


def undone(original: dict[str, bytes], folder: Path) -> None:
    """Removing both, in either order, gives the game."""
    for i, names in enumerate((NAMES, NAMES[::-1])):
        for name in names:
            mod("remove", name, folder / f"order{i}")
        assert files_of(folder / f"order{i}") == original


def holds_nothing(path: Path, game: Path) -> None:
    """By the contract's measure: applied to zeros, no stretch of an entry's base is there."""
    for change in read_mod(path).changes:
        file = game / change.file
        was = content(file.read_bytes() if file.exists() else None)
        base = was.get((change.slot.name, change.slot.nth))
        if base is not None and change.before:
            assert not any(repeats(part, base[0]) for part in bare(change.stored, base[0])), change.text


def outcomes(count: int, seed: int, names: list[str], *, keep_on: bool = False) -> dict[str, str]:
    """So many pairs in those games by their seeds; not counted: those of which one changes nothing, or that fail."""
    found: dict[str, str] = {}
    while len(found) < count:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            try:
                if text := run_pair(seed, Path(folder), names):
                    found[str(seed)] = text
            except Exception:
                if not keep_on:
                    raise
                print(f"{seed:6} failed")
                traceback.print_exc()
        seed += 1
    return found


def main() -> None:
    started = perf_counter()
    found = outcomes(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, games(), keep_on=True)
    print(*(f"{seed:>6} {text}" for seed, text in found.items()), sep="\n")
    print(f"{len(found)} pairs, {perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
