"""``msh2gltf``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import (
    FILE,
    SETTINGS,
    STDOUT,
    Command,
    batch_options,
    dialect_option,
    entry_option,
    mode_options,
    output_options,
    output_path,
    refuse_batch_options,
    refuse_other_direction,
    say,
    version_option,
    write_stdout,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..findings import Finding
    from ..pipeline.gltf_output import Files
    from ..pipeline.loaded import Loaded
    from ..pipeline.options import ExportOptions

#: What a single model may become.
SUFFIXES = (".glb", ".gltf", ".obj")


@click.command(
    cls=Command,
    name="msh2gltf",
    context_settings=SETTINGS,
    help="""Turn models of Parkan: Iron Strategy into glTF 2.0.

\b
Examples:
  msh2gltf robot.msh                              robot.glb here, with its sidecar
  msh2gltf robot.msh -o new/                      new/robot.glb
  msh2gltf robot.msh -o robot.gltf                JSON and robot.bin
  msh2gltf robot.msh -o - | viewer                a .glb on standard output, no sidecar
  msh2gltf robot.msh -o robot.obj --frame 12      OBJ, as it stands at a frame
  msh2gltf static.rlb --entry r_h_01.msh -o out/  one model of an archive
  msh2gltf static.rlb -o out/                     every model of an archive
  msh2gltf GAME -o out/                           every model below a directory
  msh2gltf GAME -o out/ --include '*.rlb::t_*'    some of them
  msh2gltf GAME -o out/ --thumbnails              and a page that shows them: out/index.html
  msh2gltf GAME --list                            what is there, as path::entry
  msh2gltf Textures.lib --entry WALL.0 -o wall.png   a texture
  msh2gltf broken.msh --tolerant                  all of it that is not broken

INPUT is a .msh file, an archive (.rlb, .lib) or a directory; each is recognised by content. The
sidecar (.msh-sidecar) holds what glTF cannot; keep it beside the glTF, and gltf2msh gives back
the same bytes. Directories and archives go to out/ARCHIVE/ENTRY.glb, with out/manifest.json,
which says what came from where; the same command again converts only what changed. Exit codes:
0 all done, 1 some failed, 2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("sources", metavar="INPUT...", nargs=-1, required=True, type=FILE)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="A .glb, .gltf or .obj file, a directory (made if need be), or - for standard output.  "
    "[default: NAME.glb here]",
)
@entry_option
@dialect_option
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
@click.option(
    "--frame", type=float, metavar="T", help="Pose of an OBJ, in frames.  [default: 0, at rest]"
)
@click.option(
    "--up", type=click.Choice(["y", "z"]), help="Axis of an OBJ that points up.  [default: y]"
)
@click.option("--keys", is_flag=True, help="Export the stored keys instead of samples.")
@click.option("--vertex-ids", is_flag=True, help="Add _MSH_VID, the vertex index + 1.")
@click.option("--paths", is_flag=True, help="Show the interior path graph as lines.")
@click.option(
    "--points/--no-points",
    default=True,
    show_default=True,
    help="Show the control points (.cpt) as empties.",
)
@click.option(
    "--game",
    type=FILE,
    metavar="DIR",
    help="Look here for Material.lib and Textures.lib.  [default: beside the model]",
)
@click.option(
    "--textures",
    type=FILE,
    metavar="DIR",
    multiple=True,
    help="Look here first; may be repeated.",
)
@click.option(
    "--embed-textures",
    is_flag=True,
    help="Put textures into the glTF, not into textures/ beside it.  [default: into a single .glb]",
)
@click.option("--no-textures", is_flag=True, help="Show a plain colour per material.")
@click.option(
    "--lightmaps",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Show lightmaps, as light that comes from the surface.",
)
@click.option(
    "--thumbnails",
    is_flag=True,
    help="Draw every model, and make OUT_DIR/index.html: a page to look through them.",
)
@click.option("--no-sidecar", is_flag=True, help="Write no sidecar: the way back is a rebuild.")
@click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Only models whose path::entry (or path) this fits; may be repeated.",
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="None of these; may be repeated.")
@click.option("--list", "list_only", is_flag=True, help="List the models and stop.")
@mode_options
@batch_options
@click.option(
    "--report",
    type=FILE,
    metavar="FILE",
    help="Write what became of every model as JSON.",
)
@output_options
@version_option
@click.pass_context
def command(
    context: click.Context,
    sources: tuple[Path, ...],
    output: str | None,
    entry: str | None,
    dialect: str,
    fps: float,
    lod: int,
    group: int,
    parts: str,
    subframes: int,
    frame: float | None,
    up: str | None,
    keys: bool,
    vertex_ids: bool,
    paths: bool,
    points: bool,
    game: Path | None,
    textures: tuple[Path, ...],
    embed_textures: bool,
    no_textures: bool,
    lightmaps: str,
    thumbnails: bool,
    no_sidecar: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    list_only: bool,
    strict: bool,
    tolerant: bool,
    jobs: int | None,
    fail_fast: bool,
    dask: str | None,
    dry_run: bool,
    log_file: Path | None,
    report: Path | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if keys and subframes != 1:
        raise click.UsageError("--keys and --subframes exclude each other")
    if strict and tolerant:
        raise click.UsageError("--strict and --tolerant exclude each other")
    refuse_other_direction(sources, to_gltf=True)
    many = _is_many(sources, entry, output, list_only or dry_run)
    if many and not list_only and dask is None:
        from ..batch.workers import start_server

        start_server("msh_gltf.converter.batch.export_item")
    from ..pipeline.options import ExportOptions

    to_obj = output is not None and output.lower().endswith(".obj")
    if (frame is not None or up is not None) and not to_obj:
        raise click.UsageError("--frame and --up are for -o NAME.obj")
    if embed_textures and no_textures:
        raise click.UsageError("--embed-textures and --no-textures exclude each other")
    folders = [*textures, *([game] if game is not None else [])]
    for folder in folders:
        if not folder.is_dir():
            raise click.UsageError(f"{folder}: expected a directory with the game's libraries")
    single_gltf = output is not None and output.lower().endswith(".gltf")
    options = ExportOptions(
        dialect,
        fps,
        lod=lod,
        group=group,
        visible_only=parts == "visible",
        subframes=subframes,
        stored_keys=keys,
        vertex_ids=vertex_ids,
        paths=paths,
        points=points,
        textures=tuple(str(folder.absolute()) for folder in folders),
        find_textures=not no_textures,
        embed=embed_textures or not (many or single_gltf),
        lightmaps=lightmaps == "on",
        mode="strict" if strict else "tolerant" if tolerant else "default",
    )
    if many:
        from .batch import Settings, export_many

        if entry is not None:
            raise click.UsageError("--entry takes one archive; --include chooses among many")
        export_many(
            sources,
            output,
            options=options,
            include=include,
            exclude=exclude,
            list_only=list_only,
            no_sidecar=no_sidecar,
            thumbnails=thumbnails,
            settings=Settings.of(context),
        )
        return
    refuse_batch_options(
        context,
        only=(
            "include", "exclude", "list_only", "jobs", "fail_fast", "dask", "dry_run", "log_file",
            "report", "thumbnails",
        ),
    )  # fmt: skip
    pose = (frame or 0.0, up or "y") if to_obj else None
    _export_one(
        sources[0],
        output,
        entry=entry,
        options=options,
        pose=pose,
        sidecar=not no_sidecar,
        force=force,
        quiet=quiet,
        verbose=verbose,
    )


def _is_many(
    sources: tuple[Path, ...], entry: str | None, output: str | None, plan_only: bool
) -> bool:
    """Whether a run goes into a directory with a manifest: all but one model to one file."""
    if len(sources) > 1 or sources[0].is_dir():
        return True
    to_file = output is None or output == STDOUT or output.lower().endswith(SUFFIXES)
    if entry is not None or (to_file and not plan_only):
        return False
    from ...importers.nres import open_nres
    from ..errors import ConversionError
    from ..formats.archive import NRES_MAGIC_RULE
    from ..formats.kinds import Kind, archive_kind

    try:
        return archive_kind(open_nres(sources[0], str(sources[0]))) is Kind.ARCHIVE
    except ConversionError as error:
        if error.code == NRES_MAGIC_RULE.code:  # reading it as a model says what it is
            return False
        raise


def _export_one(
    source: Path,
    output: str | None,
    *,
    entry: str | None,
    options: ExportOptions,
    pose: tuple[float, str] | None,
    sidecar: bool,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    from ..formats.names import file_stem
    from ..formats.sidecar import sidecar_path
    from ..pipeline.export_model import LoadedModel
    from ..pipeline.gltf_output import buffer_path
    from ..pipeline.texture import texture_at
    from ..storage import refuse_existing, write_outputs

    if (texture := texture_at(source, entry)) is not None:
        from .textures import export_texture

        export_texture(texture, output, force, quiet)
        return
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.glb", SUFFIXES)
    loaded, make_files = _load(source, entry, options, pose)
    _show_findings(loaded.findings, source, quiet, verbose)
    if output == STDOUT:
        write_stdout(make_files(Path("model.glb"), False)[-1][1])
        return
    target = output_path(output, f"{file_stem(loaded.name)}.glb", SUFFIXES)
    outputs = [target, *([sidecar_path(target)] if sidecar else [])]
    if target.suffix.lower() == ".gltf":
        outputs.append(buffer_path(target))
    refuse_existing(outputs, force)
    files = make_files(target, sidecar)
    write_outputs(files, force)
    if pose is not None and not quiet and isinstance(loaded, LoadedModel):
        from ..pipeline.obj import not_in_obj

        if lost := not_in_obj(loaded.scene, options.lod, options.group):
            message = f"an OBJ does not hold: {', '.join(lost)} (keep the sidecar)"
            say(f"warning: {source}: {message}", error=True)
    if quiet:
        return
    say(f"{loaded.name}: {loaded.summary}")
    if isinstance(loaded, LoadedModel):
        decision = loaded.decision
        say(f"  dialect {decision.dialect.value}: {decision.reason}")
        if verbose:
            say(
                f"  evidence: header box error {decision.box_error or 'unknown'}, identity keys "
                f"{decision.identity_keys or 'not looked at'}, "
                f"batch words say {decision.batch_words}"
            )
    for path, content in files:
        say(f"  wrote {path} ({len(content):,} bytes)")


def _load(
    source: Path,
    entry: str | None,
    options: ExportOptions,
    pose: tuple[float, str] | None,
) -> tuple[Loaded, Callable[[Path, bool], Files]]:
    """What a file holds, and what makes its outputs from a target and whether to keep a sidecar."""
    from ..pipeline.dispatch import gltf_files, load_file
    from ..pipeline.export_model import LoadedModel

    loaded = load_file(source, entry, options)
    if pose is None:
        return loaded, lambda path, sidecar: gltf_files(loaded, path, options, sidecar=sidecar)
    if not isinstance(loaded, LoadedModel):
        raise click.UsageError(f"{source} is a {loaded.kind}: only models become OBJ")
    from ..pipeline.obj import obj_files

    frame, up = pose
    return loaded, lambda path, sidecar: obj_files(
        loaded, path, options=options, frame=frame, up=up, sidecar=sidecar
    )


def _show_findings(findings: list[Finding], source: Path, quiet: bool, verbose: bool) -> None:
    from ..findings import messages

    if quiet:
        return
    for text in messages(findings):
        say(f"warning: {source}: {text}", error=True)
    for finding in findings:
        if verbose and finding.severity == "note":
            say(f"note: {source}: {finding}", error=True)
