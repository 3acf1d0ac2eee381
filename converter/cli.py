"""The commands: ``msh2gltf``, ``gltf2msh``, ``msh-inspect``.

Everything heavy is imported where it is used, so that ``--help`` and a single model start
quickly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from converter import __version__
from converter.errors import ConversionError

if TYPE_CHECKING:
    from rich.console import Console

    from converter.convert import Returned
    from converter.validate import Finding

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FILE = click.Path(path_type=Path)
_STDOUT = "-"


def _run(command: click.Command, arguments: Sequence[str] | None) -> None:
    """Run a command and exit: 0, 2 for what the user can mend, 130 when interrupted."""
    name = command.name or ""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        command.main(arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{name}: interrupted, nothing was written", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except ConversionError as error:
        click.echo(f"{name}: error: {error}", err=True)
        sys.exit(EXIT_USAGE)
    except BrokenPipeError:
        # the reader of our output went away: say nothing, and keep Python from saying it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_USAGE)
    except Exception as error:
        if os.environ.get("MSH_GLTF_TRACEBACK"):
            raise
        click.echo(
            f"{name}: internal error, please report it: {type(error).__name__}: {error} "
            "(MSH_GLTF_TRACEBACK=1 shows where)",
            err=True,
        )
        sys.exit(EXIT_USAGE)


def msh2gltf(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh2gltf``."""
    _run(_msh2gltf, arguments)


def gltf2msh(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``gltf2msh``."""
    _run(_gltf2msh, arguments)


def msh_inspect(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh-inspect``."""
    _run(_msh_inspect, arguments)


# ------------------------------------------------------------------ shared options


def _options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


_dialect_option = click.option(
    "--dialect",
    type=click.Choice(["auto", "spec", "retail"]),
    default="auto",
    show_default=True,
    help="How to read the fields that readers of the game disagree on; auto decides from the "
    "file and says why.",
)
_entry_option = click.option(
    "--entry", metavar="NAME", help="The model inside an archive, by entry name or number."
)
_output_options = _options(
    click.option("--force", is_flag=True, help="Replace outputs that exist."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
    click.option("-v", "--verbose", is_flag=True, help="Say more: evidence, findings, notes."),
)
_version_option = click.version_option(__version__, "-V", "--version", prog_name="msh-gltf")


# ------------------------------------------------------------------ msh2gltf


@click.command(
    name="msh2gltf",
    context_settings=_SETTINGS,
    help="""Turn a core model of Parkan: Iron Strategy into glTF 2.0.

\b
Examples:
  msh2gltf robot.msh                              robot.glb here, with its sidecar
  msh2gltf static.rlb --entry r_h_01.msh -o out/  one model of an archive
  msh2gltf robot.msh -o robot.gltf                JSON and robot.bin
  msh2gltf robot.msh -o - | viewer                a .glb on standard output, no sidecar

INPUT is a .msh file or an archive (.rlb, .lib). The sidecar (.msh-sidecar) holds what glTF
cannot; keep it beside the glTF, and gltf2msh gives back the same bytes.
""",
)
@click.argument("source", metavar="INPUT", type=_FILE)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="A .glb or .gltf file, a directory, or - for standard output.  [default: NAME.glb here]",
)
@_entry_option
@_dialect_option
@click.option(
    "--fps",
    type=click.FloatRange(0, min_open=True),
    default=24.0,
    show_default=True,
    help="Frames per second of the clip; Blender's importer works at 24.",
)
@click.option(
    "--lod",
    type=click.IntRange(0, 2),
    default=0,
    show_default=True,
    help="Level of detail that the default scene shows.",
)
@click.option(
    "--group",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    help="Group that the default scene shows.",
)
@click.option(
    "--parts",
    type=click.Choice(["all", "visible"]),
    default="all",
    show_default=True,
    help="Every part, or only those of the default scene.",
)
@click.option(
    "--subframes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="K",
    help="Samples per frame of the clip.",
)
@click.option("--keys", is_flag=True, help="Export the stored keys instead of samples.")
@click.option("--vertex-ids", is_flag=True, help="Add _MSH_VID, the vertex index + 1.")
@click.option("--paths", is_flag=True, help="Show the interior path graph as lines.")
@click.option("--no-sidecar", is_flag=True, help="Write no sidecar: the way back is a rebuild.")
@_output_options
@_version_option
def _msh2gltf(
    source: Path,
    output: str | None,
    entry: str | None,
    dialect: str,
    fps: float,
    lod: int,
    group: int,
    parts: str,
    subframes: int,
    keys: bool,
    vertex_ids: bool,
    paths: bool,
    no_sidecar: bool,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if keys and subframes != 1:
        raise click.UsageError("--keys and --subframes exclude each other")
    from converter.convert import ExportOptions, buffer_path, gltf_files, load, safe_stem
    from converter.files import refuse_existing, write_outputs
    from converter.sidecar import sidecar_path

    options = ExportOptions(
        dialect, fps, lod, group, parts == "visible", subframes, keys, vertex_ids, paths
    )
    if output not in (None, _STDOUT):  # say so before any work
        _output_path(output, "model.glb", (".glb", ".gltf"))
    loaded = load(source, entry, options)
    _show_findings(loaded.findings, source, quiet, verbose)
    if output == _STDOUT:
        files = gltf_files(loaded, Path("model.glb"), options, sidecar=False)
        _write_stdout(files[-1][1])
        return
    target = _output_path(output, f"{safe_stem(loaded.name)}.glb", (".glb", ".gltf"))
    outputs = [target, *([] if no_sidecar else [sidecar_path(target)])]
    if target.suffix.lower() == ".gltf":
        outputs.append(buffer_path(target))
    refuse_existing(outputs, force)
    files = gltf_files(loaded, target, options, sidecar=not no_sidecar)
    write_outputs(files, force)
    if quiet:
        return
    scene, decision = loaded.scene, loaded.decision
    triangles = sum(scene.triangle_count(part.mesh) for part in scene.parts)
    clip = f", {scene.frame_count} frames" if scene.tracks else ""
    click.echo(
        f"{loaded.name}: {len(scene.nodes)} nodes, {len(scene.parts)} parts, "
        f"{triangles:,} triangles{clip}"
    )
    click.echo(f"  dialect {decision.dialect.value}: {decision.reason}")
    if verbose:
        click.echo(
            f"  evidence: header box error {decision.box_error or 'unknown'}, identity keys "
            f"{decision.identity_keys or 'not looked at'}, batch words say {decision.batch_words}"
        )
    for path, content in files:
        click.echo(f"  wrote {path} ({len(content):,} bytes)")


def _show_findings(findings: list[Finding], source: Path, quiet: bool, verbose: bool) -> None:
    for finding in findings:
        if not quiet and (verbose or finding.severity == "warning"):
            click.echo(f"{finding.severity}: {source}: {finding}", err=True)


def _write_stdout(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _output_path(output: str | None, default_name: str, suffixes: tuple[str, ...]) -> Path:
    """Where to write: a file, or a default name inside a directory."""
    if output is None:
        return Path(default_name)
    path = Path(output)
    if path.is_dir() or output.endswith(("/", os.sep)):
        return path / default_name
    if path.suffix.lower() not in suffixes:
        raise click.UsageError(
            f"-o {output}: expected a directory or a file ending in {' or '.join(suffixes)}"
        )
    return path


# ------------------------------------------------------------------ gltf2msh


@click.command(
    name="gltf2msh",
    context_settings=_SETTINGS,
    help="""Turn a glTF file into a core model of Parkan: Iron Strategy.

\b
Examples:
  gltf2msh robot.glb                    robot.msh here, from robot.glb and its sidecar
  gltf2msh robot.glb -o game/robot.msh --report changes.json
  gltf2msh tower.glb --dialect retail   a new model, from any glTF file
  gltf2msh robot.glb --sidecar kept/robot.msh-sidecar

What the glTF shows is compared with the sidecar: what was not changed comes back byte for byte,
what was changed is rebuilt as the engine expects it. Without a sidecar everything is rebuilt.
""",
)
@click.argument("source", metavar="INPUT", type=_FILE)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="A .msh file, a directory, or - for standard output.  [default: NAME.msh here]",
)
@click.option(
    "--sidecar",
    "sidecar_file",
    metavar="PATH",
    type=_FILE,
    help="The sidecar.  [default: named in the glTF, else beside it]",
)
@click.option("--no-sidecar", is_flag=True, help="Ignore the sidecar and rebuild everything.")
@click.option(
    "--dialect",
    type=click.Choice(["auto", "spec", "retail"]),
    default="auto",
    show_default=True,
    help="What to write; auto takes the sidecar's, the file's, else spec.",
)
@click.option("--scene", metavar="NAME", help="Read this scene only, by name or number.")
@click.option("--clip", metavar="NAME", help="The animation to take.  [default: the first]")
@click.option(
    "--fps",
    type=click.FloatRange(0, min_open=True),
    help="Frames per second of the clip.  [default: as the file says, else 24]",
)
@click.option("--no-reduce", is_flag=True, help="Keep a key per frame.")
@click.option("--rigid-skin", is_flag=True, help="Bind each triangle of a skin to one joint.")
@click.option("--ignore-scale", is_flag=True, help="Pass by animated scale.")
@click.option(
    "--generate-lods",
    metavar="A,B",
    help="Make LOD 1 and 2 with these shares of the triangles, e.g. 0.5,0.25.",
)
@click.option(
    "--weld",
    type=click.FloatRange(0, min_open=True),
    metavar="EPS",
    help="Snap positions to multiples of EPS, so that near vertices become one (not with a "
    "sidecar).",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Read what was written again and compare it with the input.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=_FILE,
    help="Write what was kept, rebuilt, new and deleted as JSON.",
)
@_output_options
@_version_option
def _gltf2msh(
    source: Path,
    output: str | None,
    sidecar_file: Path | None,
    no_sidecar: bool,
    dialect: str,
    scene: str | None,
    clip: str | None,
    fps: float | None,
    no_reduce: bool,
    rigid_skin: bool,
    ignore_scale: bool,
    generate_lods: str | None,
    weld: float | None,
    verify: bool,
    report: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if no_sidecar and sidecar_file is not None:
        raise click.UsageError("--sidecar and --no-sidecar exclude each other")
    from converter.convert import ImportOptions, safe_stem, to_model
    from converter.files import refuse_existing, write_outputs

    if output not in (None, _STDOUT):  # say so before any work
        _output_path(output, "model.msh", (".msh",))
    options = ImportOptions(
        dialect, scene, clip, fps, rigid_skin, ignore_scale, not no_reduce, verify,
        not no_sidecar, _shares(generate_lods), weld or 0.0,
    )  # fmt: skip
    back = to_model(source, sidecar_file, options)
    target = None
    if output != _STDOUT:
        target = _output_path(output, f"{safe_stem(back.name)}.msh", (".msh",))
    files = [(path, data) for path, data in ((target, back.data),) if path is not None]
    if report is not None:
        files.append((report, _report_bytes(back)))
    refuse_existing([path for path, _ in files], force)
    if not quiet:
        for warning in back.warnings:
            click.echo(f"warning: {source}: {warning}", err=True)
    write_outputs(files, force)
    if target is None:
        _write_stdout(back.data)
        return
    if quiet:
        return
    if back.kept_all:
        click.echo(f"{back.name}: unchanged, restored byte for byte")
    elif back.rebuilt:
        click.echo(f"{back.name}: rebuilt from the file alone, dialect {back.dialect}")
    else:
        click.echo(f"{back.name}: {len(back.changes)} changes")
        shown = back.changes if verbose else back.changes[:10]
        for change in shown:
            click.echo(f"  {change}")
        if len(shown) < len(back.changes):
            click.echo(f"  and {len(back.changes) - len(shown)} more (--verbose lists them)")
    if back.report:
        _show_report(back.report, verbose)
    for path, data in files:
        click.echo(f"  wrote {path} ({len(data):,} bytes)")


def _shares(text: str | None) -> tuple[float, ...]:
    """The shares of ``--generate-lods``."""
    if text is None:
        return ()
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if not 1 <= len(shares) <= 2 or not all(0 < share < 1 for share in shares):
        raise click.UsageError("--generate-lods takes one or two shares between 0 and 1")
    return shares


def _report_bytes(back: Returned) -> bytes:
    import json

    facts = {
        "format": 1,
        "model": back.name,
        "dialect": back.dialect,
        "unchanged": back.kept_all,
        "changes": [{"where": c.where, "what": c.what} for c in back.changes],
        "items": back.report,
        "warnings": back.warnings,
    }
    return json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n"


def _show_report(report: list[dict[str, str]], verbose: bool) -> None:
    """A table of what became of nodes and parts; kept ones only when asked."""
    from rich import box
    from rich.table import Table

    counts: dict[str, int] = {}
    for row in report:
        key = f"{row['what']}s {row['status']}"
        counts[key] = counts.get(key, 0) + 1
    click.echo("  " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    rows = [row for row in report if verbose or row["status"] != "kept"]
    if not verbose and len(rows) > 20:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("what", "name", "status", "reason"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(row[k] for k in ("what", "name", "status", "reason")))
    if rows:
        _console().print(table, markup=False)


# ------------------------------------------------------------------ msh-inspect


@click.command(
    name="msh-inspect",
    context_settings=_SETTINGS,
    help="""Show what is in a model or an archive.

\b
Examples:
  msh-inspect robot.msh
  msh-inspect static.rlb                     the entries of an archive
  msh-inspect static.rlb --entry r_h_01.msh  one model of it
  msh-inspect robot.msh --json | jq .counts
  msh-inspect --diff old.msh new.msh         what differs, table by table
""",
)
@click.argument("source", metavar="FILE", type=_FILE)
@click.argument("other", metavar="[FILE]", type=_FILE, required=False)
@click.option("--diff", is_flag=True, help="Compare two models, row by row; exit 1 if they differ.")
@_entry_option
@_dialect_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@_version_option
def _msh_inspect(
    source: Path, other: Path | None, diff: bool, entry: str | None, dialect: str, as_json: bool
) -> None:
    if diff != (other is not None):
        raise click.UsageError("--diff takes two files, everything else takes one")
    if other is not None:
        _diff(source, other, entry, as_json)
        return
    from converter import overview
    from converter.convert import ExportOptions, load
    from importers.msh import archive_kind, models_in
    from importers.nres import map_file, read_nres

    archive = read_nres(map_file(source), str(source))
    if entry is None and (kind := archive_kind(archive)) != "model":
        entries, models = overview.list_entries(archive), models_in(archive)
        if as_json:
            _print_json({"kind": kind, "models": models, "entries": entries})
        else:
            overview.show_archive(_console(), str(source), entries, models)
        return
    loaded = load(source, entry, ExportOptions(dialect=dialect))
    facts = overview.describe(loaded.model, loaded.decision, loaded.scene, loaded.findings)
    if as_json:
        _print_json({"kind": "model", **facts})
    else:
        overview.show_model(_console(), facts)


def _diff(source: Path, other: Path, entry: str | None, as_json: bool) -> None:
    from converter.diff import diff_models, lines
    from importers.msh import read_msh

    differences = diff_models(read_msh(source, entry), read_msh(other, entry))
    if as_json:
        _print_json({"differences": differences})
    else:
        for line in lines(differences) or ["no differences"]:
            click.echo(line)
    if differences:
        sys.exit(1)


def _console() -> Console:
    from rich.console import Console

    # a pipe has no width: leave room for a table's row
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def _print_json(data: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(data, ensure_ascii=False, indent=1))
