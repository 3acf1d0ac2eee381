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
from tests.converter.game.contents import files_of
from tests.converter.game.stopping import Killed, stopped_at
from tests.docs.materials import example_game
from tests.support.gltf_edit import Editable
from tests.support.runs import call

#: What the game keeps of the example: few models, quick commands.
FILES = ("turrets.rlb", "static.rlb", "Material.lib", "Textures.lib")
MODELS = ("turrets.rlb/e_tur_01", "turrets.rlb/e_tur_02", "static.rlb/s_tree_01")
OUTS = ("out_a", "out_b")
kills = st.none() | st.integers(0, 90)


@cache
def prepared() -> Path:
    """A game and its export, made once."""
    folder = Path(tempfile.mkdtemp(prefix="msh-sequences"))
    whole = example_game()
    (folder / "game").mkdir()
    for name in FILES:
        shutil.copy(whole / name, folder / "game" / name)
    for out in OUTS:
        assert call(cli.msh2gltf, folder / "game", "-o", folder / out, "-q", "-j", "1") == 0
    return folder


@cache
def prepared_mod() -> bytes:
    """A mod that moves a tree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(prepared(), folder, dirs_exist_ok=True)
        move(folder / "out_a" / f"{MODELS[2]}.glb", 7.0)
        place = ("--game", folder / "game", "--in-place", "-q", "-j", "1")
        assert call(cli.gltf2msh, folder / "out_a", *place) == 0
        assert call(cli.msh_mod, "make", folder / "game", folder / "mod.zip", "--name", "Tree") == 0
        return (folder / "mod.zip").read_bytes()


def move(path: Path, x: float) -> None:
    """Edit a model as an artist does."""
    document = Editable(path)
    document.json["nodes"][0]["translation"] = [x, 0.5, 0.25]
    document.save(path)


def as_it_was(path: Path, before: Path) -> None:
    """Edit a model back to what another one shows."""
    document, was = Editable(path), Editable(before)
    for node, old in zip(document.json["nodes"], was.json["nodes"], strict=True):
        node.pop("translation", None)
        if "translation" in old:
            node["translation"] = old["translation"]
    for material, old in zip(document.json["materials"], was.json["materials"], strict=True):
        material["pbrMetallicRoughness"] = old["pbrMetallicRoughness"]
    document.save(path)


class Commands(RuleBasedStateMachine):
    """A game and everything that users do with it."""

    @initialize()
    def make(self) -> None:
        memory = Path("/dev/shm")  # its fsync is free
        self.folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        shutil.copytree(prepared(), self.folder, dirs_exist_ok=True)
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

    def entry(self, file: str, index: int) -> bytes:
        return bytes(read_nres((self.game / file).read_bytes(), file).entries[index].payload)

    # ------------------------------------------------------------------ what users do

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), x=st.integers(1, 9))
    def edit_model(self, out: str, model: str, x: int) -> None:
        path = self.folder / out / f"{model}.glb"
        if path.is_file():
            self.touched.add(out)
            move(path, float(x))

    @rule(out=st.sampled_from(OUTS), grey=st.integers(0, 255))
    def paint(self, out: str, grey: int) -> None:
        path = self.folder / out / "textures/armour.0.png"
        if path.is_file():
            self.touched.add(out)
            picture = Image.open(path).convert("RGBA")
            picture.putpixel((0, 0), (grey, 0, 0, 255))
            picture.save(path)

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), red=st.integers(0, 9))
    def recolour(self, out: str, model: str, red: int) -> None:
        path = self.folder / out / f"{model}.glb"
        if path.is_file():
            self.touched.add(out)
            document = Editable(path)
            for material in document.json.get("materials", ())[:1]:
                material["pbrMetallicRoughness"]["baseColorFactor"] = [red / 10, 0.5, 0.5, 1.0]
            document.save(path)

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS))
    def put_gltf_back(self, out: str, model: str) -> None:
        self.touched.add(out)  # the game may have been exported again
        shutil.copy(prepared() / out / f"{model}.glb", self.folder / out / f"{model}.glb")

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS))
    def delete_gltf(self, out: str, model: str) -> None:
        self.touched.add(out)
        (self.folder / out / f"{model}.glb").unlink(missing_ok=True)

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS))
    def new_gltf(self, out: str, model: str) -> None:
        path = self.folder / out / f"{model}.glb"
        if path.is_file():
            self.touched.add(out)
            shutil.copy(path, path.with_name("added.glb"))

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

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), x=st.integers(1, 9), kill=kills)
    def edit_and_put(self, out: str, model: str, x: int, kill: int | None) -> None:
        self.edit_model(out, model, x)
        self.in_place(out, kill, [])

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), red=st.integers(0, 9))
    def recolour_and_put(self, out: str, model: str, red: int) -> None:
        self.recolour(out, model, red)
        self.in_place(out, None, [])

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS))
    def put_back_as_it_was(self, out: str, model: str) -> None:
        self.put_gltf_back(out, model)
        self.in_place(out, None, [])

    @rule(out=st.sampled_from(OUTS))
    def again_changes_nothing(self, out: str) -> None:
        place = ("--game", self.game, "--in-place", "-q", "-j", "1")
        if self.run(cli.gltf2msh, self.folder / out, *place) == 0:
            done = files_of(self.game)
            assert self.run(cli.gltf2msh, self.folder / out, *place) == 0
            assert files_of(self.game) == done

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), number=st.integers(1, 9), is_red=st.booleans())
    def gone_changes_nothing(self, out: str, model: str, number: int, is_red: bool) -> None:
        """Of a glTF that is gone nobody knows what it shows: what it brought stays, also into libraries."""
        path, place = self.folder / out / f"{model}.glb", ("--game", self.game, "--in-place", "-q", "-j", "1")
        (self.recolour if is_red else self.edit_model)(out, model, number)
        if not path.is_file() or self.run(cli.gltf2msh, self.folder / out, *place, "--require-all") != 0:
            return  # where two glTF files disagree, none is applied: without one of them the other is
        aside, done = path.rename(self.folder / "mod.zip"), files_of(self.game)
        self.run(cli.gltf2msh, self.folder / out, *place)
        assert files_of(self.game) == done
        aside.rename(path)

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

    @rule(kill=kills)
    def undo(self, kill: int | None) -> None:
        before = self.before
        done = self.run(cli.msh_mod, "undo", self.game, kill=kill)
        if done == 0 and before is not None and not self.patched:
            assert files_of(self.game) == before
        self.before = None  # another undo takes an earlier edit back, not this

    @rule(number=st.integers(1, 6))
    def undo_number(self, number: int) -> None:
        self.run(cli.msh_mod, "undo", self.game, str(number))
        self.before = None  # the next undo takes an edit back, not this

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

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS), x=st.integers(1, 9))
    def export_again(self, out: str, model: str, x: int) -> None:
        """What an export shows is not taken back by it."""
        self.edit_and_put(out, model, x, None)
        self.export(out, ["--force"])
        self.in_place(out, None, [])

    @rule(out=st.sampled_from(OUTS), x=st.integers(1, 9))
    def partial_export(self, out: str, x: int) -> None:
        """An export of another model, and a move, do not forget what the output directory brought."""
        model, glb = MODELS[0], self.folder / out / f"{MODELS[0]}.glb"
        place = (self.folder / out, "--game", self.game, "--in-place", "-q", "-j", "1")
        export = (self.game, "-o", self.folder / out, "-q", "-j", "1", "--include", "*e_tur_02*", "--force")
        self.put_gltf_back(out, model)
        if self.run(cli.gltf2msh, *place) != 0:
            return
        was = self.entry("turrets.rlb", 0)
        move(glb, x + 20.0)
        if self.run(cli.gltf2msh, *place) != 0 or (edited := self.entry("turrets.rlb", 0)) == was:
            return
        if self.run(cli.msh2gltf, *export) != 0:
            return
        assert self.run(cli.gltf2msh, *place) == 0
        assert self.entry("turrets.rlb", 0) == edited
        self.put_gltf_back(out, model)
        moved = (self.folder / out).rename(self.folder / "moved")
        if self.run(cli.gltf2msh, moved, *place[1:]) == 0:
            assert self.entry("turrets.rlb", 0) == was
        moved.rename(self.folder / out)
        self.before = None

    @rule(out=st.sampled_from(OUTS), model=st.sampled_from(MODELS[:2]), red=st.integers(0, 9))
    def shown_and_taken_back(self, out: str, model: str, red: int) -> None:
        """What an export shows and an edit takes back is not in force; the output can be edited on."""
        place = (self.folder / out, "--game", self.game, "--in-place", "-q", "-j", "1")
        export = (self.game, "-o", self.folder / out, "-q", "-j", "1", "--force")
        for edit in (self.recolour, lambda out, model, red: self.edit_model(out, model, float(red))):
            self.restore(None)
            self.put_gltf_back(out, model)
            if self.patched or not (self.folder / out / f"{model}.glb").is_file():
                return
            if call(cli.msh2gltf, *export) != 0 or call(cli.gltf2msh, *place) != 0:
                return
            edit(out, model, red)
            assert call(cli.gltf2msh, *place) == 0
            assert call(cli.msh2gltf, *export) == 0
            as_it_was(self.folder / out / f"{model}.glb", prepared() / out / f"{model}.glb")
            assert call(cli.gltf2msh, *place) == 0
            self.before = None
            assert files_of(self.game) == self.original
            assert status(self.game).changes == []
            edit(out, model, (red + 1) % 10)
            assert call(cli.gltf2msh, *place) == 0

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
