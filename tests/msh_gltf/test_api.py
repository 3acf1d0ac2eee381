"""The API: which names there are, and that its functions do what the commands do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msh_gltf
from msh_gltf.converter import cli
from msh_gltf.converter.formats.model import StreamType
from tests.docs.materials import EXAMPLES, example_game
from tests.support.corpus import DATA
from tests.support.game import make_game, snapshot
from tests.support.runs import call

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


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'read_mhs'"):
        _ = msh_gltf.read_mhs
    with pytest.raises(ImportError, match="read_mhs"):
        exec("from msh_gltf import read_mhs")


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_importing_the_package_imports_nothing_heavy() -> None:
    done = python("-c", "import sys, msh_gltf; dir(msh_gltf); print(*sys.modules)")
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "scipy", "click", "pygltflib", "trimesh", "rich", "PIL"}
    assert "msh_gltf.api" not in done.stdout.split()


def test_the_api_page_has_every_name_in_order() -> None:
    page = (SOURCE.parents[1] / "docs/api/index.md").read_text("utf-8")
    listed = re.findall(r"\[`(\w+)`\]\[", page[page.index("## The names") :])
    assert [*listed, "__version__"] == msh_gltf.__all__


# ------------------------------------------------------------------ one model


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


def test_a_model_whose_tables_were_replaced_is_exported_as_it_is(tmp_path: Path) -> None:
    model = msh_gltf.read_msh(EXAMPLES / "walker.msh")
    model.streams[StreamType.POSITIONS] = model.positions * np.float32(2)
    msh_gltf.export_gltf(model, tmp_path / "m.glb")
    result = msh_gltf.import_gltf(tmp_path / "m.glb")
    assert result.kept_all
    msh_gltf.write_msh(model, tmp_path / "m.msh")
    assert (tmp_path / "m.msh").read_bytes() == result.data
    again = msh_gltf.read_msh(tmp_path / "m.msh")
    np.testing.assert_array_equal(again.positions, model.positions)


def test_nothing_is_replaced_unless_forced(tmp_path: Path) -> None:
    model = msh_gltf.read_msh(EXAMPLES / "walker.msh")
    msh_gltf.export_gltf(model, tmp_path / "m.glb")
    before = snapshot(tmp_path)
    with pytest.raises(msh_gltf.ConversionError, match="exists already"):
        msh_gltf.export_gltf(model, tmp_path / "m.glb", options=msh_gltf.ExportOptions(fps=30))
    assert snapshot(tmp_path) == before
    msh_gltf.export_gltf(model, tmp_path / "m.glb", sidecar=False, force=True)
    msh_gltf.write_msh(model, tmp_path / "m.msh")
    msh_gltf.write_msh(model, tmp_path / "m.msh")  # the same bytes: nothing to replace
    (tmp_path / "m.msh").write_bytes(b"mine")
    with pytest.raises(msh_gltf.ConversionError, match="exists already"):
        msh_gltf.write_msh(model, tmp_path / "m.msh")


@pytest.mark.parametrize("name", ["m.obj", "m", "m.msh"])
def test_a_file_that_glTF_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    model = msh_gltf.read_msh(EXAMPLES / "walker.msh")
    with pytest.raises(msh_gltf.ConversionError, match=r"a file ending in \.glb or \.gltf"):
        msh_gltf.export_gltf(model, tmp_path / name)
    with pytest.raises(msh_gltf.ConversionError, match=r"a file ending in \.msh or \.map"):
        msh_gltf.write_msh(model, tmp_path / "m.glb")
    assert snapshot(tmp_path) == {}


def test_a_model_that_was_rebuilt_gets_its_wear(tmp_path: Path) -> None:
    model = msh_gltf.read_msh(EXAMPLES / "tree.msh")
    msh_gltf.export_gltf(model, tmp_path / "tree.glb", sidecar=False)
    options = msh_gltf.ImportOptions(use_sidecar=False)
    result = msh_gltf.import_gltf(str(tmp_path / "tree.glb"), options=options)
    written = msh_gltf.write_msh(result, tmp_path / "new.msh")
    assert [path.name for path in written] == ["new.msh", "new.wea"]
    (warning,) = result.warnings
    assert "rebuilt without the sidecar" in warning
    (tmp_path / "new.msh").unlink()
    (tmp_path / "new.wea").write_text("1\n0 other\n")
    assert [p.name for p in msh_gltf.write_msh(result, tmp_path / "new.msh")] == ["new.msh"]
    assert "new.wea is there already" in result.warnings[1]


def test_what_cannot_be_read_is_a_conversion_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing.msh"
    for function in (
        msh_gltf.read_msh,
        msh_gltf.read_terrain,
        msh_gltf.read_areal_map,
        msh_gltf.open_archive,
        msh_gltf.read_models,
        msh_gltf.import_gltf,
        msh_gltf.check,
        lambda path: msh_gltf.convert_directory(path, tmp_path / "out"),
        lambda path: msh_gltf.restore_directory(path, tmp_path, tmp_path / "out"),
    ):
        with pytest.raises(msh_gltf.ConversionError):
            function(missing)
    with pytest.raises(msh_gltf.ConversionError, match="not a terrain"):
        msh_gltf.read_terrain(EXAMPLES / "walker.msh")


# ------------------------------------------------------------------ many models


def test_models_of_a_directory_in_order(game: Path) -> None:
    errors: list[msh_gltf.ConversionError] = []
    models = list(msh_gltf.read_models(game, on_error=errors.append))
    assert [model.name for model in models] == [
        "Дом.msh",
        "R_H_002.msh",
        "b_bun_000.msh",
        "птица.msh",
        "i_room_006.msh",
        "R_H_002.MSH",
        "s_rock_057.msh",
        "MTCHECK.MSH",
    ]
    assert [(error.file, error.problem) for error in errors] == []
    one = msh_gltf.read_models(game / "static.rlb", include=["*::r_h_*"])
    assert [(model.entry, Path(model.archive.label)) for model in one] == [("R_H_002.MSH", game / "static.rlb")]


def test_a_broken_model_is_raised_or_reported(tmp_path: Path) -> None:
    (tmp_path / "a.msh").write_bytes((EXAMPLES / "tree.msh").read_bytes()[:-1])
    (tmp_path / "b.msh").write_bytes((EXAMPLES / "tree.msh").read_bytes())
    with pytest.raises(msh_gltf.ConversionError, match=r"^a\.msh: NRes header"):
        list(msh_gltf.read_models(tmp_path))
    errors: list[msh_gltf.ConversionError] = []
    models = msh_gltf.read_models(tmp_path, on_error=errors.append)
    assert [model.name for model in models] == ["b.msh"]
    assert len(errors) == 1


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


def test_the_way_back_goes_to_one_place() -> None:
    for places in ({}, {"out": "new", "in_place": True}):
        with pytest.raises(ValueError, match="either out or in_place"):
            msh_gltf.restore_directory("glTF", "game", **places)


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """A worker would run an unguarded script again."""
    script = "import msh_gltf\nprint(msh_gltf.convert_directory('examples', 'out').counts)\n"
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/tree.msh").write_bytes((EXAMPLES / "tree.msh").read_bytes())
    (tmp_path / "script.py").write_text(script)
    done = python("script.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("{'converted': 1}\n", "")


@pytest.mark.parametrize("jobs", [0, 1])
def test_an_interrupted_run_raises(jobs: int, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        msh_gltf.convert_directory(EXAMPLES, tmp_path / "out", jobs=jobs, on_item=interrupt)


# ------------------------------------------------------------------ checks


def test_findings_are_those_of_the_command(game: Path, tmp_path: Path) -> None:
    (found,) = msh_gltf.check(str(EXAMPLES / "walker.msh"))
    assert (found.id, found.kind, found.findings) == ("walker.msh", "core model", [])
    found_in_game = {checked.id: checked for checked in msh_gltf.check(game)}
    assert found_in_game["static.rlb::R_H_002.MSH"].kind == "core model"
    assert found_in_game["DATA/MAPS/M1/Land.msh"].kind == "terrain"
    text = tmp_path / "text.msh"
    text.write_bytes(b"just text")
    (unknown,) = msh_gltf.check(text)
    assert [finding.code for finding in unknown.findings] == ["nres-magic"]


def test_a_game_tells_which_materials_exist(tmp_path: Path) -> None:
    for name in ("tree.msh", "tree.wea"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    assert [f.code for c in msh_gltf.check(tmp_path / "tree.wea") for f in c.findings] == []
    (tmp_path / "tree.wea").write_text("1\r\n0 no_such\r\n", newline="")
    (found,) = msh_gltf.check(tmp_path / "tree.wea", game=EXAMPLES / "textures")
    assert "look-missing" in [finding.code for finding in found.findings]


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


def test_a_command_runs_by_its_name(tmp_path: Path) -> None:
    source = EXAMPLES / "tree.msh"
    done = python("-m", "msh_gltf", "msh2gltf", str(source), "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "tree.glb").is_file()
    unknown = python("-m", "msh_gltf", "msh2glb")
    assert unknown.returncode == 2
    assert unknown.stderr.startswith("msh_gltf: error: no such command: 'msh2glb'")
