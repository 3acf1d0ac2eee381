"""Run steps of ``extension.py`` in Blender, and compare what they saw with what was recorded."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from blender_extension import build
from msh_gltf.converter.storage import VAULT
from tests.docs.materials import EXAMPLES, example_game
from tests.support.assembled_game import GameParts
from tests.support.blender import with_extension
from tests.support.controller import walker
from tests.support.corpus import DATA, LIBS
from tests.support.game import MESH, archive, entry, make_game, original
from tests.support.points import CTPT, POINTS, cpt
from tests.support.recorded import Recorded

LEVEL = DATA / "maps/spec__AutoMAP_00"
WALKER = EXAMPLES / "walker.msh"
MODELS = (
    *sorted(EXAMPLES.glob("*.msh")),
    *(DATA / f"{name}.msh" for name in ("retail__static__i_room_006", "spec__system__a_bird_007")),
    *(DATA / f"{name}.msh" for name in ("spec__system__R_H_002", "mixed__odd__l_mast_058", "retail__system__MTCHECK")),
)


def make_files(base: Path) -> Path:
    """Make all files that steps use: models, archives, levels, and three games."""
    make_game(base / "game")
    shutil.copytree(example_game(), base / "example")
    GameParts().write(base / "assembled")
    for name in ("models", "with_materials", "bare", "level", "points", "marked", "alone"):
        (base / name).mkdir()
    room = DATA / "retail__static__i_room_006"
    beside = [path.with_suffix(".wea") for path in MODELS]
    copies = [(path, f"models/{path.name}") for path in (*MODELS, *filter(Path.is_file, beside))]
    copies += [(LIBS / name, f"with_materials/{name}") for name in ("Material.lib", "Textures.lib")]
    copies += [
        (room.with_suffix(suffix), f"{folder}/room{suffix}")
        for folder in ("with_materials", "bare")
        for suffix in (".msh", ".wea")
    ]
    copies += [(LEVEL / name, f"level/{name}") for name in ("Land.msh", "Land.map", "Land1.wea", "Land2.wea")]
    copies += [(WALKER, "marked/walker.msh"), (base / "assembled/UNITS/robot.dat", "alone/робот.dat")]
    for source, target in copies:
        shutil.copy(source, base / target)
    points_archive(base / "points/points.rlb")
    (base / "marked/walker.ctl").write_bytes(walker(9, node=1))
    data = WALKER.read_bytes()
    (base / "broken.msh").write_bytes(data[:16] + bytes(1984) + data[2000:])
    return base


def points_archive(path: Path) -> Path:
    """A model with control points and one without, with forgotten bytes before the directory."""
    robot = DATA / "retail__system__R_H_002.msh"
    entries = [
        entry(MESH, b"robot.msh", robot.read_bytes()),
        entry(CTPT, b"robot.cpt", cpt(POINTS)),
        entry(MESH, b"bare.msh", robot.read_bytes()),
    ]
    path.write_bytes(archive(entries, forgotten=b"\x01forgotten\xff"))
    return path


class Seen:
    """What Blender made of the files, in a folder per step, and what each step saw."""

    def __init__(self, base: Path, zip_file: Path, steps: Iterable[str]) -> None:
        self.files, self.out = make_files(base / "files"), base / "out"
        self.out.mkdir()
        with_extension(base, "extension.py", zip_file, self.files, self.out, *steps)

    def lines(self, step: str) -> Iterator[tuple[str, str]]:
        for name, text in json.loads((self.out / f"{step}.json").read_text("utf-8")):
            assert name != "failed", f"{step}: {text}"
            yield f"{step}: {name}", text

    def require(self, step: str, recorded: Recorded) -> None:
        """What the step saw is what was recorded, and the originals of what it put into a game are kept."""
        lines = dict(self.lines(step))
        for name, text in lines.items():
            recorded.require(name, text)
        assert [name for name in recorded.known if name.startswith(f"{step}: ")] == [*lines]
        for vault in (self.out / step).rglob(VAULT):
            for path in (path for path in vault.parent.rglob("*") if vault.is_dir() and path.is_file()):
                before = self.files / path.relative_to(self.out / step)
                if before.is_file() and before.read_bytes() != path.read_bytes():
                    assert original(path) == before.read_bytes(), path


def write(recorded: Recorded, steps: Iterable[str]) -> None:
    """Record what the steps see."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Seen(Path(folder), build.build(Path(folder) / "zip"), steps)
        recorded.write([line for step in steps for line in seen.lines(step)])


@pytest.fixture(scope="session")
def zip_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build.build(tmp_path_factory.mktemp("dist"))
    except build.BuildError as error:
        pytest.skip(f"no extension: {error}")
