"""``gltf2msh``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import (
    FILE,
    SETTINGS,
    STDOUT,
    Command,
    batch_options,
    console,
    given_options,
    output_options,
    output_path,
    refuse_batch_options,
    refuse_other_direction,
    say,
    version_option,
    write_stdout,
)

if TYPE_CHECKING:
    from ..pipeline.import_result import ImportResult
    from ..pipeline.options import ImportOptions


_FOR_PICTURES = ("texm", "mips", "into")


@click.command(
    cls=Command,
    name="gltf2msh",
    context_settings=SETTINGS,
    help="""Turn glTF files into models of Parkan: Iron Strategy.

\b
Examples:
  gltf2msh robot.glb                       robot.msh here, from robot.glb and its sidecar
  gltf2msh robot.glb -o new/               new/robot.msh
  gltf2msh robot.glb -o game/robot.msh --report changes.json
  gltf2msh tower.glb --dialect retail      a new model, from any glTF file (or an .obj), and
                                           tower.wea, which names its materials
  gltf2msh robot.glb --sidecar kept/robot.msh-sidecar
  gltf2msh out/ --game GAME -o NEW_GAME    what msh2gltf GAME -o out/ made, back into a copy
  gltf2msh out/ --game GAME --in-place     or into the game itself, with a .bak of what changes
  gltf2msh wall.png --texm 565             a texture, wall.0
  gltf2msh wall.png --into Textures.lib    into the library, with a .bak of it

What the glTF shows is compared with the sidecar: what was not changed comes back byte for byte,
what was changed is rebuilt as the engine expects it. Without a sidecar everything is rebuilt.
Of an archive only the entries that changed are replaced. Exit codes: 0 all done, 1 some failed,
2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("source", metavar="INPUT", type=FILE)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="A .msh (or .map) file, a directory (made if need be), or - for standard output.  "
    "[default: NAME.msh here]",
)
@click.option(
    "--sidecar",
    "sidecar_file",
    metavar="PATH",
    type=FILE,
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
@click.option("--frame", type=float, metavar="T", help="Pose of an OBJ.  [default: as it says]")
@click.option(
    "--up", type=click.Choice(["y", "z"]), help="Axis of an OBJ that points up.  [default: y]"
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
    "--require-all",
    is_flag=True,
    help="Write nothing, and exit with 1, where a difference cannot be applied.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=FILE,
    help="Write what was kept, rebuilt, new and deleted as JSON.",
)
@click.option(
    "--game",
    metavar="DIR",
    type=FILE,
    help="The game's directory, for a directory of glTF; it is read, not written.",
)
@click.option(
    "--in-place",
    is_flag=True,
    help="Change the game itself; what is changed is copied to NAME.bak first.",
)
@click.option(
    "--add", is_flag=True, help="Make new entries of new glTF files in an archive's folder."
)
@click.option(
    "--texm",
    type=click.Choice(["8888", "888", "565", "4444"]),
    help="Format of a picture's texture.  [default: 888, or 8888 where it has alpha]",
)
@click.option(
    "--mips",
    type=click.IntRange(min=1),
    metavar="N",
    help="Levels of a picture's texture.  [default: as many as there can be]",
)
@click.option("--into", type=FILE, metavar="LIB", help="Put a picture's texture into this library.")
@batch_options
@output_options
@version_option
@click.pass_context
def command(
    context: click.Context,
    source: Path,
    output: str | None,
    sidecar_file: Path | None,
    no_sidecar: bool,
    dialect: str,
    scene: str | None,
    clip: str | None,
    fps: float | None,
    frame: float | None,
    up: str | None,
    no_reduce: bool,
    rigid_skin: bool,
    ignore_scale: bool,
    generate_lods: str | None,
    weld: float | None,
    verify: bool,
    require_all: bool,
    report: Path | None,
    game: Path | None,
    in_place: bool,
    add: bool,
    texm: str | None,
    mips: int | None,
    into: Path | None,
    jobs: int | None,
    fail_fast: bool,
    dask: str | None,
    dry_run: bool,
    log_file: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if no_sidecar and sidecar_file is not None:
        raise click.UsageError("--sidecar and --no-sidecar exclude each other")
    refuse_other_direction([source], to_gltf=False)
    picture = source.suffix.lower() == ".png" and not source.is_dir()
    for name, option in given_options(context).items():
        if picture and name not in (*_FOR_PICTURES, "source", "output", "force", "quiet"):
            raise click.UsageError(f"{option} is for models, not for pictures")
        if not picture and name in _FOR_PICTURES:
            raise click.UsageError(f"{option} is for pictures (.png)")
    if picture:
        from .textures import import_picture

        format = None if texm is None else int(texm)
        import_picture(
            source, output, into=into, format=format, levels=mips, force=force, quiet=quiet
        )
        return
    if source.is_dir() and dask is None:
        from ..batch.workers import start_server

        start_server("msh_gltf.converter.batch.import_item")
    from ..pipeline.options import ImportOptions

    options = ImportOptions(
        dialect,
        scene,
        clip=clip,
        fps=fps,
        rigid_skin=rigid_skin,
        ignore_scale=ignore_scale,
        reduce=not no_reduce,
        verify=verify,
        use_sidecar=not no_sidecar,
        lod_ratios=_shares(generate_lods),
        weld=weld or 0.0,
    )
    if source.is_dir():
        from .batch import Settings, import_many

        if sidecar_file is not None:
            raise click.UsageError("--sidecar is for one file; a directory's lie beside its glTF")
        import_many(
            source,
            output,
            game=game,
            in_place=in_place,
            add=add,
            require_all=require_all,
            options=options,
            settings=Settings.of(context),
        )
        return
    refuse_batch_options(
        context,
        only=("game", "in_place", "add", "jobs", "fail_fast", "dask", "dry_run", "log_file"),
    )
    pose = frame, up
    if pose != (None, None) and source.suffix.lower() != ".obj":
        raise click.UsageError("--frame and --up are for OBJ files")
    _import_one(
        source,
        output,
        sidecar_file=sidecar_file,
        options=options,
        pose=pose,
        require_all=require_all,
        report=report,
        force=force,
        quiet=quiet,
        verbose=verbose,
    )


def _import_one(
    source: Path,
    output: str | None,
    *,
    sidecar_file: Path | None,
    options: ImportOptions,
    pose: tuple[float | None, str | None],
    require_all: bool,
    report: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from ..pipeline.companions import companions_beside, wear_beside
    from ..pipeline.dispatch import import_gltf
    from ..pipeline.import_result import unapplied
    from ..storage import refuse_existing, write_outputs

    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.msh", (".msh", ".map"))
    if source.suffix.lower() == ".obj":
        from ..pipeline.obj import import_obj

        frame, up = pose
        result = import_obj(source, sidecar_file, options, up=up, frame=frame)
    else:
        result = import_gltf(source, sidecar_file, options)
    target = None
    if output != STDOUT:
        target = output_path(output, _file_name(result.name), (".msh", ".map"))
    files = [] if target is None else [(target, result.data)]
    if target is not None and result.wear is not None:
        wear, messages = wear_beside(target, result.wear, force)
        result.warnings += messages
        files += wear
    if target is not None:
        files += companions_beside(target, result.companions)
    if report is not None:
        files.append((report, _report_bytes(result)))
    refuse_existing([path for path, _ in files], force)
    if not quiet:
        for warning in result.warnings:
            say(f"warning: {source}: {warning}", error=True)
    for difference in result.not_applied:
        say(difference.line, error=True)
    if require_all and result.not_applied:
        say(f"gltf2msh: {unapplied(result.not_applied).at(file=str(source))}", error=True)
        sys.exit(1)
    write_outputs(files, force)
    if target is None:
        write_stdout(result.data)
        return
    if quiet:
        return
    say(f"{result.name}: {result.verdict}")
    shown = result.changes if verbose else result.changes[:10]
    for change in shown:
        say(f"  {change}")
    if len(shown) < len(result.changes):
        say(f"  and {len(result.changes) - len(shown)} more (--verbose lists them)")
    if result.report:
        _show_report(result.report, verbose)
    for path, data in files:
        say(f"  wrote {path} ({len(data):,} bytes)")


def _file_name(name: str) -> str:
    """What a model's file is called: ``Land.map`` stays, everything else ends in ``.msh``."""
    from ..formats.names import escape, file_stem

    return escape(name) if name.lower().endswith(".map") else f"{file_stem(name)}.msh"


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


def _report_bytes(result: ImportResult) -> bytes:
    import json
    from dataclasses import asdict

    facts: dict[str, object] = {
        "format": 1,
        "model": result.name,
        "dialect": result.dialect,
        "unchanged": result.unchanged,
        "changes": [asdict(change) for change in result.changes],
        "not_applied": [asdict(difference) for difference in result.not_applied],
        "items": result.report,
        "warnings": result.warnings,
    }
    if result.wear is not None:
        facts["wear"] = result.wear
    return json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n"


def _show_report(report: list[dict[str, str]], verbose: bool) -> None:
    """A table of what became of nodes and parts; kept ones only when asked."""
    from rich import box
    from rich.table import Table

    counts: dict[str, int] = {}
    for row in report:
        key = f"{row['what']}s {row['status']}"
        counts[key] = counts.get(key, 0) + 1
    say("  " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    rows = [row for row in report if verbose or row["status"] != "kept"]
    if not verbose and len(rows) > 20:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("what", "name", "status", "reason"):
        table.add_column(column)
    for row in rows:
        table.add_row(*(row[k] for k in ("what", "name", "status", "reason")))
    if rows:
        console().print(table, markup=False)
