"""Random pairs of mods by two authors, through the commands: ``python -m tests.converter.game.pairs N SEED``.

Each author edits a copy of a game and makes a mod; both mods are installed into a fresh copy, in either order.
What two mods have in common is told by second implementations of the formats (``parts``), row by row.
"""

import json
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

from msh_gltf.converter import cli
from msh_gltf.converter.game.mods import read_mod
from tests.converter.game.contents import files_of
from tests.converter.game.mod_rows import Parts, bare, game_parts, repeats
from tests.docs.materials import example_game
from tests.support import inside_game
from tests.support.corpus import CORPUS
from tests.support.mod_edits import KINDS, edited, quiet

NAMES = ("Башни", "Walls 2")
_INVALID = "would not be valid with both changes"
#: Files of games that nobody edits here, and that take long to copy.
_IGNORED = shutil.ignore_patterns("*.avi", "Video")


@cache
def prepared(name: str) -> Path:
    """A game and its export: one that is made, or one of the corpus."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="msh-pairs", dir=memory if memory.is_dir() else None))
    if name == "made":
        inside_game.make(folder / "game")
        for file in ("turrets.rlb", "Material.lib", "Textures.lib", "BuildDat.lst"):
            shutil.copy(example_game() / file, folder / "game" / file)
    else:
        shutil.copytree(Path(str(CORPUS)) / name / "game", folder / "game", ignore=_IGNORED)
    code, _, errors = quiet(cli.msh2gltf, folder / "game", "-o", folder / "out", "-q", "-j", "1")
    assert code in (0, 1), errors
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
    code, out, errors = quiet(cli.msh_inspect, root, "--check", "--json")
    assert code in (0, 1), errors
    found: Counter[tuple[str, str, str, str]] = Counter()
    for item in json.loads(out)["items"]:
        for one in item["findings"]:
            found[item["file"], str(item["entry"]), one["code"], str(one.get("table"))] += 1
    return found


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
        code, out, errors = quiet(cli.msh_mod, "make", self.game, self.mod, "--name", self.name)
        assert code == 0, errors
        made = read_mod(self.mod)
        for change in made.changes:
            assert f"{len(change.stored):,} byte" in out, out
        assert f"{self.mod.stat().st_size:,} byte" in out, out
        return True


@dataclass
class Pair:
    """Two mods of one game, and what became of them.

    Attributes:
        kind: ``disjoint``, ``overlap``, ``equal`` where both make the same, ``structure`` where
            rows were added or removed: it may be either.
        outcome: ``merged`` or ``refused``, and why.
        shared: the entries that both change.
    """

    kind: str
    outcome: str
    shared: list[str]
    done: list[list[str]]
    sizes: list[int]

    def __str__(self) -> str:
        sizes = " + ".join(map(str, self.sizes))
        return f"{self.kind:9} {self.outcome:7} {sizes:>14} {self.shared or ''} {self.done}"


def relation(base: Path, one: Path, other: Path) -> tuple[str, dict[str, str]]:
    """What two games have changed both, told by the formats' second implementation."""
    was = game_parts(files_of(base))
    mine, theirs = (changed(was, game_parts(files_of(root))) for root in (one, other))
    kinds: dict[str, str] = {}
    for entry in mine.keys() & theirs.keys():
        a, b = mine[entry], theirs[entry]
        if a == b:
            kinds[entry] = "equal"
        elif any(a[row] != b[row] for row in a.keys() & b.keys()):
            kinds[entry] = "overlap"
        elif any(None in (was[entry].get(row), new) for side in (a, b) for row, new in side.items()):
            kinds[entry] = "structure"
        else:
            kinds[entry] = "disjoint"
    found = set(kinds.values())
    return next((k for k in ("overlap", "structure", "equal") if k in found), "disjoint"), kinds


def changed(was: dict[str, Parts], now: dict[str, Parts]) -> dict[str, Parts]:
    """The rows of each entry that differ, with what they become."""
    out = {}
    for entry in was.keys() | now.keys():
        old, new = was.get(entry, {}), now.get(entry, {})
        rows = {row: new.get(row) for row in old.keys() | new.keys() if old.get(row) != new.get(row)}
        if rows:
            out[entry] = rows
    return out


def run_pair(seed: int, folder: Path) -> Pair | None:
    """Two authors and their mods, installed in either order; ``None`` where one did nothing."""
    chance = np.random.default_rng(seed)
    names = games()
    source = prepared(names[int(chance.integers(len(names)))])
    kinds = [[str(k) for k in chance.choice(sorted(KINDS), int(chance.integers(1, 4)))] for _ in NAMES]
    if same := chance.random() < 0.6:  # the same file, so that there is something to merge
        kinds[1][0] = kinds[0][0]
    targets, seeds = chance.integers(1 << 30, size=(2, 2)).tolist()
    authors = [Author(name, folder / f"author{i}") for i, name in enumerate(NAMES)]
    for i, author in enumerate(authors):
        if not author.work(source, kinds[i], targets[0 if same else i], seeds[i]):
            return None
    base = source / "game"
    kind, entries = relation(base, *(author.game for author in authors))
    for author in authors:
        holds_nothing(author.mod, base)
    results = [installed(base, folder / f"order{i}", pair) for i, pair in enumerate((authors, authors[::-1]))]
    outcomes = {outcome for outcome, _ in results}
    assert len(outcomes) == 1, results
    outcome = outcomes.pop()
    if outcome == "merged":
        assert results[0][1] == results[1][1], "the order shows"
        known = findings(base) | findings(authors[0].game) | findings(authors[1].game)
        assert not (more := findings(folder / "order0") - known), more
        assert kind != "overlap", entries
        undone(files_of(base), folder)
    elif kind in ("disjoint", "equal"):
        assert all(_INVALID in message for _, message in results), (entries, results)
    sizes = [author.mod.stat().st_size for author in authors]
    return Pair(kind, outcome, [f"{e}: {k}" for e, k in sorted(entries.items())], [a.done for a in authors], sizes)


def installed(base: Path, game: Path, authors: list[Author]) -> tuple[str, object]:
    """Install two mods: ``merged`` and the game, or ``refused`` and the message."""
    shutil.copytree(base, game)
    first, second = authors
    code, _, errors = quiet(cli.msh_mod, "install", first.mod, game)
    assert code == 0, errors
    alone = files_of(game)
    assert alone == files_of(first.game), "a mod does not make what its author has"
    kept = vault(game)
    code, _, errors = quiet(cli.msh_mod, "install", second.mod, game)
    if code == 0:
        return "merged", files_of(game)
    assert code == 2, errors
    (line,) = errors.splitlines()
    for author in authors:
        assert author.name in line, line
    where = [one for one in read_mod(second.mod).changes if one.file in line and one.slot.text in line]
    assert where, line
    assert files_of(game) == alone, "a refused mod has written"
    assert vault(game) == kept, "a refused mod has written into the vault"
    return "refused", line


def undone(original: dict[str, bytes], folder: Path) -> None:
    """Removing both, in either order, gives the game."""
    for i, names in enumerate((NAMES, NAMES[::-1])):
        for name in names:
            code, _, errors = quiet(cli.msh_mod, "remove", name, folder / f"order{i}")
            assert code == 0, errors
        assert files_of(folder / f"order{i}") == original


def holds_nothing(path: Path, game: Path) -> None:
    """By the contract's measure: applied to zeros, no stretch of an entry's base is there."""
    was = {name: rows[("whole", 0)] for name, rows in game_parts(files_of(game), whole=True).items()}
    for change in read_mod(path).changes:
        base = was.get(f"{change.file}::{change.slot.text}#{change.slot.nth}" if change.slot.name else change.file)
        if base is not None and change.before:
            assert not any(repeats(part, base) for part in bare(change.stored, base)), change.text


def run(count: int, seed: int, *, keep_on: bool = False) -> list[Pair]:
    """Run so many pairs; those of which one changes nothing do not count, nor those that fail."""
    pairs: list[Pair] = []
    while len(pairs) < count:
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            try:
                pair = run_pair(seed, Path(folder))
            except Exception:
                if not keep_on:
                    raise
                print(f"{seed:6} failed")
                traceback.print_exc()
                pair = None
        if pair is not None:
            pairs.append(pair)
            print(f"{seed:6} {pair}", flush=True)
        seed += 1
    return pairs


def main() -> None:
    started = perf_counter()
    pairs = run(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, keep_on=True)
    for (kind, outcome), count in sorted(Counter((p.kind, p.outcome) for p in pairs).items()):
        print(f"{kind} {outcome}: {count}")
    print(f"{len(pairs)} pairs, {perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
