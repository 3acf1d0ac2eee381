"""The API: which names there are, and that its functions do what the commands do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import msh_gltf
from msh_gltf.converter import cli
from tests.docs.materials import EXAMPLES, example_game
from tests.support.corpus import DATA
from tests.support.game import make_game, snapshot
from tests.support.runs import call, python

SOURCE = Path(msh_gltf.__file__)
LEVEL = DATA / "maps/spec__AutoMAP_00"


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game directory; nobody writes into it."""
    return make_game(tmp_path_factory.mktemp("api") / "GAME")


# ------------------------------------------------------------------ names


def imports_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of every relative import below ``if TYPE_CHECKING``."""
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for node in block.body:
                if isinstance(node, ast.ImportFrom):
                    yield from ((node.module or "", alias.name) for alias in node.names)


def test_type_checkers_see_what_python_finds() -> None:
    found = {(m, name) for m, names in msh_gltf._DEFINED_IN.items() for name in names.split()}
    assert found == set(imports_of(ast.parse(SOURCE.read_text("utf-8"))))
    assert sorted(msh_gltf.__all__) == sorted([*(name for _, name in found), "__version__"])


def test_every_name_is_what_its_module_defines() -> None:
    for name in msh_gltf.__all__:
        value = getattr(msh_gltf, name)
        assert value is getattr(msh_gltf, name)
        if name != "__version__":
            assert value.__module__.startswith("msh_gltf.")
            assert value.__doc__, name
    assert set(msh_gltf.__all__) <= set(dir(msh_gltf))


@pytest.mark.parametrize(
    ("code", "may"),
    [
        ("import msh_gltf; dir(msh_gltf)", set()),
        ("import msh_gltf.objects", {"numpy", "PIL"}),
        (
            "import msh_gltf; g = msh_gltf.to_glb(msh_gltf.read_msh('walker.msh')); msh_gltf.import_gltf(g)",
            {"numpy", "PIL"},
        ),
    ],
)
def test_only_what_is_needed_is_imported(code: str, may: set[str]) -> None:
    done = python("-c", f"{code}\nimport sys; print(*sys.modules)", cwd=EXAMPLES)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "msh_gltf" in loaded
    assert not loaded & {"converter", "importers", "exporters"}, "no module has a second name"
    assert loaded & {"numpy", "scipy", "click", "pygltflib", "trimesh", "rich", "PIL"} <= may
    assert may or "msh_gltf.api" not in done.stdout.split()


def test_the_api_page_has_every_name_in_order() -> None:
    page = (SOURCE.parents[1] / "docs/api/index.md").read_text("utf-8")
    listed = re.findall(r"\[`(\w+)`\]\[", page[page.index("## The names") :])
    assert [*listed, "__version__"] == msh_gltf.__all__


# ------------------------------------------------------------------ as the commands do


def exported(folder: Path, source: Path, name: str, *options: object) -> dict[str, object]:
    """What ``msh2gltf`` writes."""
    assert call(cli.msh2gltf, source, "-o", folder / name, "-q", *options) == 0
    return snapshot(folder)


@pytest.mark.parametrize(
    ("place", "entry", "name", "options"),
    [
        ("walker.msh", None, "walker.glb", {}),
        ("walker.msh", None, "walker.gltf", {}),
        ("walker.msh", None, "m.glb", {"textures": (str(EXAMPLES / "textures"),)}),
        ("static.rlb", "i_room_006.msh", "m.glb", {}),
        ("static.rlb", "MTCHECK.msh", "m.glb", {}),
        ("static.rlb", "R_H_002.MSH", "m.glb", {}),
    ],
)
def test_an_export_is_that_of_the_command(
    place: str, entry: str | None, name: str, options: dict[str, Any], game: Path, tmp_path: Path
) -> None:
    """With what lies beside a model, or where the options say."""
    source = (EXAMPLES if entry is None else game) / place
    chosen = msh_gltf.ExportOptions(**options)
    result = msh_gltf.export_gltf(msh_gltf.read_msh(source, entry), str(tmp_path / "api" / name), options=chosen)
    words = [*(("--entry", entry) if entry else ()), *(("--textures", *options["textures"]) if options else ())]
    assert snapshot(tmp_path / "api") == exported(tmp_path / "command", source, name, *words)
    assert result.files[-1] == tmp_path / "api" / name
    assert entry or result.findings == []


@pytest.mark.parametrize("name", ["Land.msh", "Land.map"])
def test_maps_are_exported_and_come_back(name: str, tmp_path: Path) -> None:
    read = msh_gltf.read_terrain if name == "Land.msh" else msh_gltf.read_areal_map
    content = read(LEVEL / name)
    msh_gltf.export_gltf(content, tmp_path / "api/m.glb")
    assert snapshot(tmp_path / "api") == exported(tmp_path / "command", LEVEL / name, "m.glb")
    assert msh_gltf.to_glb(content)[:4] == b"glTF"
    for back in (content, msh_gltf.import_gltf(tmp_path / "api/m.glb")):
        (path,) = msh_gltf.write_msh(back, tmp_path / name, force=True)
        assert path.read_bytes() == (LEVEL / name).read_bytes()


@pytest.mark.parametrize("jobs", [0, 2])
def test_a_directory_is_converted_as_by_the_commands(jobs: int, tmp_path: Path) -> None:
    game, new = example_game(), tmp_path / "new"
    counts = []
    run = msh_gltf.convert_directory(
        str(game), tmp_path / "api", jobs=jobs, on_item=lambda *item: counts.append(item[1:])
    )
    assert call(cli.msh2gltf, game, "-o", tmp_path / "command", "-j", 2, "-q") == 0
    assert snapshot(tmp_path / "api") == snapshot(tmp_path / "command")
    assert (run.failures, run.counts) == ([], {"converted": run.total})
    assert counts[-1][0] == counts[-1][1] == len(counts)
    back = msh_gltf.restore_directory(tmp_path / "api", game, new, jobs=jobs)
    assert back.counts == {"unchanged": run.total}
    assert snapshot(new) == snapshot(game)


@pytest.mark.parametrize("jobs", [0, 1])
def test_an_interrupted_run_raises(jobs: int, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        msh_gltf.convert_directory(EXAMPLES, tmp_path / "out", jobs=jobs, on_item=interrupt)


# ------------------------------------------------------------------ python -m msh_gltf


def test_the_commands_are_listed(tmp_path: Path) -> None:
    for arguments in ((), ("--help",)):
        done = python("-m", "msh_gltf", *arguments, cwd=tmp_path)
        lines = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, "")
        assert lines[0].startswith(f"msh-gltf, version {msh_gltf.__version__}")
        listed = [line.split()[0] for line in lines if line.startswith("  ")]
        assert listed == ["msh2gltf", "gltf2msh", "msh-inspect", "msh-mod"]
    assert python("-m", "msh_gltf", "--version").stdout.strip().endswith(msh_gltf.__version__)
    unknown = python("-m", "msh_gltf", "msh2glb")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("msh_gltf: error: no such command: 'msh2glb'")
