"""The commands as a user runs them: outputs, messages, exit codes."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msh_gltf.converter import cli
from tests.converter.formats.test_model import archive_of_models
from tests.support.corpus import DATA, sample_called
from tests.support.gltf_edit import Editable
from tests.support.gltf_view import GltfView
from tests.support.runs import SCRIPTS, call, run

ROBOT = sample_called("retail__odd__s_rock_009")


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_there_and_back_with_defaults(tmp_path: Path) -> None:
    model = shutil.copy(ROBOT.path, tmp_path / "робот.msh")
    out = run("msh2gltf", "робот.msh", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert out.stderr == ""
    assert out.stdout.splitlines() == [
        "робот.msh: 8 nodes, 19 parts, 204 triangles, 26 frames",
        "  dialect retail: header box: error 2.4e-08 against 0.67",
        f"  wrote робот.msh-sidecar ({(tmp_path / 'робот.msh-sidecar').stat().st_size:,} bytes)",
        f"  wrote робот.glb ({(tmp_path / 'робот.glb').stat().st_size:,} bytes)",
    ]
    again = run("msh2gltf", "робот.msh", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert "  робот.glb is there already, with the same bytes" in again.stdout.splitlines()
    other = run("gltf2msh", "робот.glb", "--no-sidecar", cwd=tmp_path)
    assert other.returncode == 2
    assert "робот.msh: output exists already; move it away, or name another place" in other.stderr
    back = run("gltf2msh", "робот.glb", "-o", "back/", cwd=tmp_path)
    assert back.returncode == 0, back.stderr
    assert "unchanged, restored byte for byte" in back.stdout
    assert (tmp_path / "back" / "робот.msh").read_bytes() == Path(model).read_bytes()


def test_gltf_with_buffer(tmp_path: Path) -> None:
    assert call(cli.msh2gltf, ROBOT.path, "-o", tmp_path / "my robot.gltf", "-q") == 0
    assert files(tmp_path) == ["my robot.bin", "my robot.gltf", "my robot.msh-sidecar"]
    data = json.loads((tmp_path / "my robot.gltf").read_text("utf-8"))
    assert data["buffers"][0]["uri"] == "my%20robot.bin"
    assert call(cli.gltf2msh, tmp_path / "my robot.gltf", "-o", tmp_path / "r.msh", "-q") == 0
    assert (tmp_path / "r.msh").read_bytes() == ROBOT.source


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    shutil.copy(ROBOT.path, tmp_path / "robot.msh")
    assert run("msh2gltf", "robot.msh", "-o", "new", cwd=tmp_path).returncode == 0
    assert files(tmp_path / "new") == ["robot.glb", "robot.msh-sidecar"]
    assert run("gltf2msh", "new/robot.glb", "-o", "back/again", cwd=tmp_path).returncode == 0
    assert (tmp_path / "back" / "again" / "robot.msh").read_bytes() == ROBOT.source
    dotted = run("msh2gltf", "robot.msh", "-o", "new.v2", cwd=tmp_path)
    assert dotted.returncode == 2
    assert "(new.v2/ is a new directory)" in dotted.stderr
    assert not (tmp_path / "new.v2").exists()
    assert run("msh2gltf", "robot.msh", "-o", "new.v2/", cwd=tmp_path).returncode == 0
    assert files(tmp_path / "new.v2") == ["robot.glb", "robot.msh-sidecar"]


def test_the_other_direction_names_the_command(tmp_path: Path) -> None:
    shutil.copy(ROBOT.path, tmp_path / "robot.msh")
    (tmp_path / "tower.obj").write_text("v 0 0 0\n")
    for name in ("a.glb", "b.gltf"):
        assert run("msh2gltf", "robot.msh", "-o", name, cwd=tmp_path).returncode == 0
    for name in ("a.glb", "b.gltf", "tower.obj"):
        out = run("msh2gltf", name, cwd=tmp_path)
        assert out.returncode == 2
        assert out.stderr == (f"msh2gltf: error: {name}: is glTF or OBJ; gltf2msh converts it\n")
    assert "gltf2msh" in run("msh2gltf", "a.glb", "b.gltf", "-o", "out", cwd=tmp_path).stderr
    out = run("gltf2msh", "robot.msh", cwd=tmp_path)
    assert out.returncode == 2
    assert out.stderr == ("gltf2msh: error: robot.msh: is a file of the game; msh2gltf converts it\n")
    for command in ("msh2gltf", "gltf2msh"):
        out = run(command, "a.msh-sidecar", cwd=tmp_path)
        assert out.returncode == 2
        assert "is a sidecar; gltf2msh reads it with the glTF beside it" in out.stderr
    # content decides: a model that is called like a glTF is converted
    shutil.copy(ROBOT.path, tmp_path / "model.glb")
    assert run("msh2gltf", "model.glb", "-o", "m/", cwd=tmp_path).returncode == 0


def test_standard_output(tmp_path: Path) -> None:
    result = subprocess.run(
        [SCRIPTS / "msh2gltf", ROBOT.path, "-o", "-"], cwd=tmp_path, capture_output=True, check=True
    )
    assert result.stderr == b""
    assert files(tmp_path) == []
    (tmp_path / "piped.glb").write_bytes(result.stdout)
    view = GltfView(tmp_path / "piped.glb")
    assert "sidecar" not in view.info

    assert call(cli.msh2gltf, ROBOT.path, "-o", tmp_path / "m.glb", "-q") == 0
    back = subprocess.run([SCRIPTS / "gltf2msh", tmp_path / "m.glb", "-o", "-"], capture_output=True, check=True)
    assert back.stdout == ROBOT.source


def test_archive_entry(tmp_path: Path) -> None:
    archive = archive_of_models(tmp_path, ["one.msh", "БАШНЯ.msh", "..\\CON.msh"])
    out = tmp_path / "out"
    assert call(cli.msh2gltf, archive, "--entry", "башня.msh", "-o", f"{out}/") == 2
    assert call(cli.msh2gltf, archive, "--entry", "БАШНЯ.MSH", "-o", f"{out}/") == 0
    assert call(cli.msh2gltf, archive, "--entry", 2, "-o", f"{out}/") == 0
    assert files(out) == ["%2E.%5CCON.glb", "%2E.%5CCON.msh-sidecar", "БАШНЯ.glb", "БАШНЯ.msh-sidecar"]
    assert GltfView(out / "БАШНЯ.glb").info["source"] == "БАШНЯ.msh"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names of any bytes")
def test_cp1251_file_names(tmp_path: Path) -> None:
    """Names as an old archive tool unpacks them: CP1251 bytes on a UTF-8 system."""
    name = os.fsdecode("робот".encode("cp1251"))
    shutil.copy(ROBOT.path, tmp_path / f"{name}.msh")
    for suffix in ("glb", "gltf"):
        target = tmp_path / "out" / f"{name}.{suffix}"
        assert call(cli.msh2gltf, tmp_path / f"{name}.msh", "-o", target, "--force") == 0
        assert GltfView(target).info["source"] == "робот.msh" if suffix == "glb" else True
        assert call(cli.gltf2msh, target, "-o", tmp_path / "b.msh", "--force") == 0
        assert (tmp_path / "b.msh").read_bytes() == ROBOT.source


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.msh"], "missing.msh: cannot be read (No such file or directory)"),
        (["."], "several models need a directory: -o OUT_DIR"),
        (["good.msh", "-j", "2"], "--jobs is for directories, archives and several inputs"),
        (["text.msh"], "text.msh, NRes header, byte 0x0: not an NRes file"),
        (["empty.msh"], "not an NRes file: an empty file"),
        (["cut.msh"], "cut.msh, NRes header, byte 0xc: total_size is not the file's length"),
        (["bad.msh"], "bad.msh, Res13 (batches), row 1, byte 0x316c: batch uses a vertex past the table: "),
        (["good.msh", "-o", "x.stl"], "a directory or a file ending in .glb, .gltf or .obj"),
        (["good.msh", "--frame", "3"], "--frame and --up are for -o NAME.obj"),
        (["good.msh", "--keys", "--subframes", "2"], "exclude each other"),
        (["good.msh", "--lod", "3"], "Invalid value for '--lod'"),
        (["good.msh", "--fps", "0"], "Invalid value for '--fps'"),
        (["good.msh", "--wrong"], "No such option"),
        ([], "Missing argument 'INPUT...'"),
        (["good.msh", "-o", "taken.glb"], "taken.glb: output exists already"),
        (["good.msh", "-o", "text.msh/x.glb"], "cannot be written"),
    ],
)
def test_refusals(arguments: list[str], said: str, tmp_path: Path) -> None:
    data = bytearray(ROBOT.source)
    (tmp_path / "good.msh").write_bytes(data)
    (tmp_path / "cut.msh").write_bytes(data[:-100])
    (tmp_path / "text.msh").write_text("hello")
    (tmp_path / "empty.msh").write_bytes(b"")
    (tmp_path / "taken.glb").write_text("mine")
    data[0x316C : 0x316C + 4] = b"\xff\xff\0\0"  # baseVertex of batch 1
    (tmp_path / "bad.msh").write_bytes(data)
    before = files(tmp_path)
    result = run("msh2gltf", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    if result.stderr.startswith("msh2gltf: error:"):
        assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert files(tmp_path) == before
    assert (tmp_path / "taken.glb").read_text() == "mine"


def test_way_back_refusals(tmp_path: Path) -> None:
    target = tmp_path / "m.glb"
    assert call(cli.msh2gltf, ROBOT.path, "-o", target, "-q") == 0
    sidecar = tmp_path / "m.msh-sidecar"
    kept = sidecar.read_bytes()

    def refused(*arguments: object) -> str:
        result = run("gltf2msh", *arguments, "-o", tmp_path / "out.msh")
        assert result.returncode == 2
        assert "Traceback" not in result.stderr
        assert not (tmp_path / "out.msh").exists()
        return result.stderr

    assert "exclude each other" in refused(target, "--no-sidecar", "--sidecar", sidecar)
    sidecar.rename(tmp_path / "elsewhere")
    said = refused(target)
    assert "its sidecar is missing" in said
    assert "m.msh-sidecar" in said
    assert "--sidecar PATH" in said
    other = sample_called("retail__odd__l_mast_010")
    assert call(cli.msh2gltf, other.path, "-o", tmp_path / "other.glb", "-q") == 0
    said = refused(target, "--sidecar", tmp_path / "other.msh-sidecar")
    assert "belongs to another model" in said
    for sample in (ROBOT, other):  # both digests are named
        assert hashlib.sha256(sample.source).hexdigest() in said
    sidecar.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    assert "damaged" in refused(target)
    sidecar.write_bytes(kept)
    said = refused(target, "--dialect", "spec")
    assert "--dialect spec does not change the dialect of a model with a sidecar" in said
    assert "the model was exported as retail; leave --dialect out to write retail" in said


def test_edit_and_report(tmp_path: Path) -> None:
    target = tmp_path / "m.glb"
    assert call(cli.msh2gltf, ROBOT.path, "-o", target, "-q") == 0
    document = Editable(target)
    document.node("BTCP_6")["translation"][0] += 1
    document.save(target)
    out, report = tmp_path / "out.msh", tmp_path / "report.json"
    result = run("gltf2msh", target, "-o", out, "--report", report)
    assert result.returncode == 0, result.stderr
    assert "1 change" in result.stdout
    assert "node 'BTCP_6': translation changed" in result.stdout
    assert "19 parts kept" in result.stdout
    facts = json.loads(report.read_text("utf-8"))
    assert facts["format"] == 1
    assert facts["changes"] == [{"where": "node 'BTCP_6'", "what": "translation changed"}]
    by_status = {row["name"]: row["status"] for row in facts["items"] if row["what"] == "node"}
    assert by_status.pop("BTCP_6") == "rebuilt"
    assert set(by_status.values()) == {"kept"}
    differ = run("msh-inspect", "--diff", ROBOT.path, out)
    assert differ.returncode == 1
    assert "Res8 (key pool): 1 of 54 rows differ (rows 52; position)" in differ.stdout
    same = run("msh-inspect", "--diff", out, out)
    assert (same.returncode, same.stdout) == (0, "no differences\n")
    assert run("msh-inspect", "--diff", out).returncode == 2
    assert json.loads(run("msh-inspect", "--diff", ROBOT.path, out, "--json").stdout)


def test_new_model(tmp_path: Path) -> None:
    """Without a sidecar everything is rebuilt, in the dialect that is asked for."""
    target = tmp_path / "m.glb"
    assert call(cli.msh2gltf, ROBOT.path, "-o", target, "-q", "--no-sidecar") == 0
    for dialect in ("spec", "retail"):
        out = tmp_path / f"{dialect}.msh"
        result = run("gltf2msh", target, "-o", out, "--dialect", dialect)
        assert result.returncode == 0, result.stderr
        assert f"rebuilt from the file alone, dialect {dialect}" in result.stdout
        facts = json.loads(run("msh-inspect", out, "--json").stdout)
        assert facts["dialect"]["dialect"] == dialect
        assert facts["counts"]["triangles"] == 204


def test_a_sidecar_of_another_conversion(tmp_path: Path) -> None:
    """Of the same model, but read in the other dialect: the difference is no edit."""
    for dialect in ("spec", "retail"):
        options = ("--dialect", dialect, "-q", "-o", tmp_path / dialect / "x.glb")
        assert run("msh2gltf", ROBOT.path, *options).returncode == 0
    other = tmp_path / "retail/x.msh-sidecar"
    result = run("gltf2msh", tmp_path / "spec/x.glb", "--sidecar", other, cwd=tmp_path)
    assert result.returncode == 2
    assert "sidecar is of another conversion of this model: digest " in result.stderr
    assert not list(tmp_path.glob("*.msh"))


def test_sidecar_name_stays_in_the_directory(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    assert call(cli.msh2gltf, ROBOT.path, "-o", folder / "m.glb", "-q") == 0
    (folder / "m.msh-sidecar").rename(tmp_path / "up.msh-sidecar")
    document = Editable(folder / "m.glb")
    document.json["scenes"][0]["extras"]["msh"]["sidecar"] = "../up.msh-sidecar"
    document.save(folder / "m.glb")
    assert call(cli.gltf2msh, folder / "m.glb", "-o", tmp_path / "o.msh") == 2
    assert not (tmp_path / "o.msh").exists()


# ------------------------------------------------------------------ msh-inspect and help


def test_inspect_archive(tmp_path: Path) -> None:
    archive = archive_of_models(tmp_path, ["one.msh", "БАШНЯ.msh", "note.txt"])
    shown = run("msh-inspect", archive).stdout
    assert "archive of 3 entries, 2 core models" in shown
    assert "--entry one.msh" in shown
    facts = json.loads(run("msh-inspect", archive, "--json").stdout)
    assert facts["models"] == [0, 1]
    assert facts["entries"][1]["name"] == "БАШНЯ.msh"
    assert json.loads(run("msh-inspect", archive, "--entry", "1", "--json").stdout)["legacy"]
    assert "GLYPH1" in run("msh-inspect", DATA / "gamefont.rlb").stdout  # an RsLi library


@pytest.mark.parametrize("command", ["msh2gltf", "gltf2msh", "msh-inspect"])
def test_help_starts_with_examples(command: str) -> None:
    out = run(command, "--help")
    assert out.returncode == 0
    assert out.stdout.index("Examples:") < out.stdout.index("Input:\n")
    assert run(command, "--version").stdout.startswith("msh-gltf, version ")


@pytest.mark.parametrize("command", ["msh2gltf", "gltf2msh", "msh-inspect"])
def test_help_imports_nothing_heavy(command: str) -> None:
    code = (
        "import sys; from msh_gltf.converter import cli\n"
        f"try: cli.{command.replace('-', '_')}(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'trimesh', 'pygltflib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_conversion_imports_nothing_it_does_not_need(tmp_path: Path) -> None:
    code = (
        "import sys; from msh_gltf.converter import cli\n"
        f"try: cli.msh2gltf([{str(ROBOT.path)!r}, '-o', {str(tmp_path / 'm.glb')!r}])\n"
        "except SystemExit: pass\n"
        "heavy = {'scipy', 'trimesh', 'pygltflib', 'rich'}\n"
        "own = 'msh_gltf.converter.'\n"
        "others = {own + name for name in ('edits', 'queries', 'kinds.landscape')}\n"
        "found = (heavy | others) & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert (tmp_path / "m.glb").exists()


def test_an_import_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """One model back, unedited; the large packages are there, and no command pays for them."""
    assert run("msh2gltf", ROBOT.path, "-o", tmp_path / "m.glb").returncode == 0
    code = (
        "import sys; from msh_gltf.converter import cli\n"
        f"try: cli.gltf2msh([{str(tmp_path / 'm.glb')!r}, '-q', '-o', {str(tmp_path / 'm.msh')!r}])\n"
        "except SystemExit: pass\n"
        "found = {'scipy', 'trimesh', 'pygltflib', 'rich', 'msh_gltf.api', 'msh_gltf.objects'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert (tmp_path / "m.msh").read_bytes() == ROBOT.source


def test_both_ways_without_the_large_packages(tmp_path: Path) -> None:
    """As in Blender, whose extension has none of the three."""
    code = (
        "import sys\n"
        "for name in ('scipy', 'trimesh', 'pygltflib'): sys.modules[name] = None\n"
        "import msh_gltf\n"
        f"model = msh_gltf.read_msh({str(ROBOT.path)!r})\n"
        "glb = msh_gltf.to_glb(model)\n"
        "assert msh_gltf.import_gltf(glb).unchanged\n"
        "new = msh_gltf.import_gltf(glb, options=msh_gltf.ImportOptions(use_sidecar=False))\n"
        "assert new.rebuilt\n"
        "for call in (msh_gltf.to_trimesh, msh_gltf.to_pygltflib):\n"
        "    try: call(model)\n"
        "    except msh_gltf.ConversionError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "a trimesh.Scene needs more packages; pip install trimesh",
        "glTF as objects needs more packages; pip install pygltflib",
    ]


def test_obj_and_back(tmp_path: Path) -> None:
    """At a frame of the clip, axis up as other tools want it; the sidecar keeps the rest."""
    target = tmp_path / "robot.obj"
    out = run("msh2gltf", ROBOT.path, "-o", target, "--frame", 6, "--up", "z")
    assert out.returncode == 0, out.stderr
    assert "an OBJ does not hold: hierarchy, animation, other stages and levels" in out.stderr
    assert files(tmp_path) == ["robot.msh-sidecar", "robot.mtl", "robot.obj"]
    assert "frame=6.0 up=z" in target.read_text("utf-8").splitlines()[0]
    back = run("gltf2msh", target, "-o", tmp_path / "back.msh")
    assert back.returncode == 0, back.stderr
    assert "unchanged, restored byte for byte" in back.stdout
    assert (tmp_path / "back.msh").read_bytes() == ROBOT.source
    again = run("msh2gltf", ROBOT.path, "-o", target, "--frame", 7)
    assert again.returncode == 2
    assert "output exists already" in again.stderr
    level = DATA / "maps/spec__AutoMAP_00/Land.msh"
    refused = run("msh2gltf", level, "-o", tmp_path / "land.obj")
    assert refused.returncode == 2
    assert "is a terrain: only models become OBJ" in refused.stderr
    wrong = run("gltf2msh", tmp_path / "robot.mtl", "--frame", 3)
    assert "--frame and --up are for OBJ files" in wrong.stderr


def test_a_new_model_from_an_obj(tmp_path: Path) -> None:
    (tmp_path / "box.obj").write_text("o box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n")
    back = run("gltf2msh", "box.obj", "--dialect", "retail", cwd=tmp_path)
    assert back.returncode == 0, back.stderr
    assert "box.msh: rebuilt from the file alone, dialect retail" in back.stdout
    shown = run("msh-inspect", "box.msh", "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["counts"]["triangles"] == 4


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (cli.msh2gltf, ("", "-o", "out")),
        (cli.msh2gltf, ("robot.msh", "-o", "")),
        (cli.gltf2msh, (".", "--game", "", "-o", "new")),
    ],
)
def test_an_empty_path_is_not_the_current_directory(
    command: Any,
    arguments: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As of a shell's variable that nobody set."""
    monkeypatch.chdir(tmp_path)
    assert call(command, *arguments) == 2
    assert "an empty path" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_workers_get_settings_that_the_user_did_not_make() -> None:
    names = ["OPENBLAS_NUM_THREADS", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"]
    show = f"import os; print(*map(os.environ.get, {names}))"
    command = f"click.Command('x', callback=lambda: exec({show!r}))"
    code = f"import click; from msh_gltf.converter import cli; cli._run({command}, [])"
    free = {name: value for name, value in os.environ.items() if name not in names}
    for own, wanted in ({}, "1 4194304 16777216"), ({names[2]: "0"}, "1 4194304 0"):
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=free | own, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == wanted, done.stderr
