"""Random sequences of commands on a game, judged by a copy of it.

A small game, two output directories, another program that patches it, a second copy that mods go
to; commands that are killed on the way. ``python -m tests.converter.game`` runs many of them.
"""

import shutil
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from PIL import Image

from msh_gltf.converter import cli
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import replace_entry
from msh_gltf.converter.game.undo import status
from tests.converter.game.stopping import Killed, stopped_at
from tests.support import verbs
from tests.support.game import MEMORY, files_of, two_outputs
from tests.support.runs import call

MODELS = ("turrets.rlb/e_tur_01", "turrets.rlb/e_tur_02", "static.rlb/s_tree_01")
OUTS = ("out_a", "out_b")
kills = st.none() | st.integers(0, 90)
edits = st.sampled_from(["is moved", "is coloured", "is put back", "is copied", "is gone"])


@cache
def prepared_mod() -> bytes:
    """A mod that moves a tree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(two_outputs(), folder, dirs_exist_ok=True)
        verbs.move(folder / "out_a" / f"{MODELS[2]}.glb", 7)
        place = ("--game", folder / "game", "--in-place", "-q", "-j", "1")
        assert call(cli.gltf2msh, folder / "out_a", *place) == 0
        assert call(cli.msh_mod, "make", folder / "game", folder / "mod.zip", "--name", "Tree") == 0
        return (folder / "mod.zip").read_bytes()


class Commands(RuleBasedStateMachine):
    """A game and everything that users do with it."""

    @initialize()
    def make(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        shutil.copytree(two_outputs(), self.folder, dirs_exist_ok=True)
        self.game = self.folder / "game"
        self.original = files_of(self.game)
        shutil.copytree(self.game, self.folder / "second")
        self.foreign: dict[tuple[str, int], bytes] = {}
        self.patched: set[str] = set()
        self.before: dict[str, bytes] | None = None
        #: Output directories that somebody edited: the others bring nothing, and take nothing back.
        self.touched: set[str] = set()

    def teardown(self) -> None:
        if hasattr(self, "before"):
            self.everything_can_be_restored()
            shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------ helpers

    def run(self, command, *arguments: object, kill: int | None = None) -> int | None:  # type: ignore[no-untyped-def]
        """A command's exit code; ``None``: it was killed."""
        before = files_of(self.game)
        try:
            with stopped_at(kill):
                code = call(command, *arguments)
        except Killed:
            self.before = None
            return None
        assert code in (0, 1, 2)
        after = files_of(self.game)
        self.before = before if after != before else None
        return code

    def end_what_was_killed(self) -> None:
        """The first command completes a killed run or takes it back: no part of what is compared next."""
        assert call(cli.msh_mod, "undo", self.game, "999") != 0

    # ------------------------------------------------------------------ what users do

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), number=st.integers(0, 9), how=edits)
    def edit(self, out: str, model: str, number: int, how: str) -> None:
        path = self.folder / out / f"{model}.glb"
        if how == "is put back":
            shutil.copy(two_outputs() / out / f"{model}.glb", path)
        elif not path.is_file():
            return
        self.touched.add(out)  # also where it is as it was: the game may have been exported again
        match how:
            case "is moved":
                verbs.move(path, number)
            case "is coloured":
                verbs.colour(path, str(number))
            case "is copied":
                shutil.copy(path, path.with_name("added.glb"))
            case "is gone":
                path.unlink()

    @rule(
        out=st.sampled_from(OUTS),
        options=st.sampled_from(
            [[], ["--force"], ["--only", "models"], ["--include", "*e_tur_01*"], ["--include", "*e_tur_01*", "--force"]]
        ),
    )
    def export(self, out: str, options: list[str]) -> None:
        done = self.run(cli.msh2gltf, self.game, "-o", self.folder / out, "-q", "-j", "1", *options)
        if done == 0 and options == ["--force"] and not list((self.folder / out).rglob("added.glb")):
            self.touched.discard(out)  # it shows the game as it is

    @rule(
        out=st.sampled_from(OUTS),
        kill=kills,
        options=st.sampled_from(
            [[], [], ["--force"], ["--add"], ["--require-all"], ["--own-materials"], ["--dry-run"]]
        ),
    )
    def in_place(self, out: str, kill: int | None, options: list[str]) -> None:
        place = ("--game", self.game, "--in-place", "-q", "-j", "1")
        if out not in self.touched:
            self.end_what_was_killed()
        before = files_of(self.game)
        self.run(cli.gltf2msh, self.folder / out, *place, *options, kill=kill)
        if out not in self.touched:
            assert files_of(self.game) == before

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), number=st.integers(0, 9), how=edits, kill=kills)
    def edit_and_put(self, out: str, model: str, number: int, how: str, kill: int | None) -> None:
        self.edit(out, model, number, how)
        self.in_place(out, kill, [])

    @rule(out=st.sampled_from(OUTS))
    def new_game(self, out: str) -> None:
        new = self.folder / "new"
        options = ("--game", self.game, "-o", new, "-q", "-j", "1")
        if call(cli.gltf2msh, self.folder / out, *options) == 0 and not self.patched:
            assert not (new / ".msh-gltf/originals").is_dir() or files_of(new) != self.original
            assert call(cli.msh_mod, "restore", new) in (0, 2)
            assert files_of(new) == self.original
            assert all(path.parent.name in (".msh-gltf", "originals", "changes") for path in new.rglob(".msh-gltf/*/*"))
        shutil.rmtree(new, ignore_errors=True)

    @rule(grey=st.integers(0, 255), kill=kills)
    def into(self, grey: int, kill: int | None) -> None:
        picture = self.folder / "WALL.png"
        Image.new("RGBA", (8, 8), (grey, 0, 0, 255)).save(picture)
        self.run(cli.gltf2msh, picture, "--into", self.game / "Textures.lib", kill=kill)
        picture.unlink()

    @rule(number=st.none() | st.integers(1, 6), kill=kills)
    def undo(self, number: int | None, kill: int | None) -> None:
        before = self.before
        done = self.run(cli.msh_mod, "undo", self.game, *([] if number is None else [number]), kill=kill)
        if done == 0 and before is not None and number is None and not self.patched:
            assert files_of(self.game) == before
        self.before = None  # another undo takes an earlier edit back, not this

    @rule(kill=kills)
    def restore(self, kill: int | None) -> None:
        if self.run(cli.msh_mod, "restore", self.game, kill=kill) == 0:
            self.assert_original()

    @rule()
    def share(self) -> None:
        """A mod gives another copy of the game what this one has."""
        if files_of(self.game) == self.original:
            return
        mod, second = self.folder / "mod.zip", self.folder / "second"
        names = ["M"]
        if any(change.owner == "mod:Tree" for change in status(self.game).changes):  # it is not in the mod
            names = ["M", "Tree"]
            mod.write_bytes(prepared_mod())
            assert call(cli.msh_mod, "install", mod, second) == 0
        code = call(cli.msh_mod, "make", self.game, mod, "--name", "M", "--force")
        if code or self.patched:
            names.remove("M")
        else:
            assert call(cli.msh_mod, "install", mod, second) == 0
            assert files_of(self.game) == files_of(second)
        for name in names:
            assert call(cli.msh_mod, "remove", name, second) == 0
        assert files_of(second) == self.original
        mod.unlink(missing_ok=True)

    @rule(out=st.sampled_from(OUTS))
    def mod(self, out: str) -> None:
        """A mod comes and goes; output directories that were not edited leave it alone."""
        mod = self.folder / "mod.zip"
        mod.write_bytes(prepared_mod())
        self.end_what_was_killed()
        if self.run(cli.msh_mod, "install", mod, self.game) == 0:
            with_it = files_of(self.game)
            without = self.before
            self.in_place(out, None, [])
            if files_of(self.game) == with_it and without is not None and not self.patched:
                assert self.run(cli.msh_mod, "remove", "Tree", self.game) == 0
                assert files_of(self.game) == without
        mod.unlink()

    # ------------------------------------------------------------------ what others do

    @rule(file=st.sampled_from(["turrets.rlb", "Textures.lib"]), value=st.binary(min_size=8))
    def patch(self, file: str, value: bytes) -> None:
        """Another program changes the last entry."""
        path = self.game / file
        archive = read_nres(path.read_bytes(), file)
        index = 1 if file == "turrets.rlb" else len(read_nres(self.original[file], "").entries) - 1
        path.write_bytes(write_nres(replace_entry(archive, index, value)))
        self.foreign[file, index] = value
        self.patched.add(file)
        self.before = None

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def nothing_else_is_written(self) -> None:
        if hasattr(self, "folder"):
            names = {path.name for path in self.folder.iterdir()}
            assert names <= {"game", "second", "mod.zip", *OUTS}
            for out in OUTS:
                assert not list((self.folder / out).rglob("originals"))

    def assert_original(self) -> None:
        for name, data in files_of(self.game).items():
            if name not in self.patched:
                assert data == self.original[name], name
                continue
            entries = read_nres(data, name).entries
            for index, one in enumerate(read_nres(self.original[name], name).entries):
                wanted = self.foreign.get((name, index), bytes(one.payload))
                assert bytes(entries[index].payload) == wanted, (name, index)

    def everything_can_be_restored(self) -> None:
        assert call(cli.msh_mod, "restore", self.game) == 0
        self.assert_original()
        kept = {(one.file, one.digest) for one in status(self.game).kept}
        for name in self.patched:
            if any(file == name for file, _ in kept):
                first = next(o for o in status(self.game).kept if o.file == name)
                code = call(cli.msh_mod, "restore", self.game, name, "--to", first.digest[:16])
                assert code == 0
