"""``msh2gltf``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import MANIFEST
from .common import (
    FILE,
    OUTPUT,
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
    say_written,
    version_option,
    write_stdout,
)
from .given import ToGltf
from .options import option

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
  msh2gltf GAME --unit UNIT -o unit.glb           a unit, with its turret and guns
  msh2gltf MISSION -o mission.glb                 a mission: its level and all that stands there
  msh2gltf broken.msh --tolerant                  all of it that is not broken

INPUT is a .msh file, an archive (.rlb, .lib), a unit (.dat), a mission (data.tma) or a directory;
each is recognised by content. A mission's directory and an output file mean the mission. The
sidecar (.msh-sidecar) holds what glTF cannot; keep it beside the glTF, and gltf2msh gives back
the same bytes. Directories and archives go to out/ARCHIVE/ENTRY.glb, with out/manifest.json,
which says what came from where; the same command again converts only what changed. Exit codes:
0 all done, 1 some failed, 2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("sources", metavar="INPUT...", nargs=-1, required=True, type=FILE)
@option(
    "output",
    "-o",
    "--output",
    metavar="PATH",
    type=OUTPUT,
    help="A .glb, .gltf or .obj file, a directory (made if need be), or - for standard output.",
    default_text="NAME.glb here",
    example="msh2gltf robot.msh -o json/robot.gltf",
)
@entry_option
@dialect_option
@option(
    "animation",
    "--fps",
    metavar="FPS",
    type=click.FloatRange(0, min_open=True),
    default=24.0,
    show_default=True,
    help="Frames per second of the clip; Blender's importer works at 24.",
    example="msh2gltf robot.msh --fps 30 -o fps/",
)
@option(
    "selection",
    "--lod",
    metavar="N",
    type=click.IntRange(0, 2),
    default=0,
    show_default=True,
    help="Level of detail that the default scene shows.",
    example="msh2gltf robot.msh --lod 1 -o lod/",
)
@option(
    "selection",
    "--group",
    metavar="N",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    help="Group that the default scene shows.",
    example="msh2gltf robot.msh --group 1 -o damaged/",
)
@option(
    "selection",
    "--parts",
    type=click.Choice(["all", "visible"]),
    help="Every part, or only those of the default scene; of a unit the internal parts too, or "
    "only what is seen from outside.",
    default_text="all; of units and missions visible",
    example="msh2gltf robot.msh --parts visible -o parts/",
)
@option(
    "selection",
    "--unit",
    metavar="NAME",
    help="The unit of that name in the game's directory: its file, with or without folders.",
    example="msh2gltf GAME --unit walker -o walker.glb",
)
@option(
    "animation",
    "--clips",
    is_flag=True,
    help="Keep the clips of what a mission places.",
    example="msh2gltf GAME/MISSIONS/Single.01 --clips -o moving.glb",
)
@option(
    "animation",
    "--subframes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="K",
    help="Samples per frame of the clip.",
    example="msh2gltf robot.msh --subframes 4 -o smooth/",
)
@option(
    "animation",
    "--frame",
    type=float,
    metavar="T",
    help="Pose of an OBJ, in frames.",
    default_text="0, at rest",
    example="msh2gltf robot.msh --frame 12 -o frame12.obj",
)
@option(
    "output",
    "--up",
    type=click.Choice(["y", "z"]),
    help="Axis of an OBJ that points up.",
    default_text="y",
    example="msh2gltf robot.msh --up z -o z_up.obj",
)
@option(
    "animation",
    "--keys",
    is_flag=True,
    help="Export the stored keys instead of samples.",
    example="msh2gltf robot.msh --keys -o keys/",
)
@option(
    "selection",
    "--paths",
    is_flag=True,
    help="Show the interior path graph as lines.",
    example="msh2gltf robot.msh --paths -o paths/",
)
@option(
    "selection",
    "--points/--no-points",
    default=True,
    show_default=True,
    help="Show the control points (.cpt) as empties.",
    example="msh2gltf GAME/static.rlb --entry r_h_01.msh --no-points -o bare/",
)
@option(
    "appearance",
    "--game",
    type=FILE,
    metavar="DIR",
    help="Look here for Material.lib and Textures.lib, and for what units and missions place.",
    default_text="beside the model, or above it",
    example="msh2gltf robot.msh --game GAME -o textured/",
)
@option(
    "appearance",
    "--textures",
    type=FILE,
    metavar="DIR",
    multiple=True,
    help="Look here first; may be repeated.",
    example="msh2gltf robot.msh --textures GAME -o other/",
)
@option(
    "appearance",
    "--embed-textures",
    is_flag=True,
    help="Put textures into the glTF, not into textures/ beside it.",
    default_text="into a single .glb",
    example="msh2gltf robot.msh --game GAME --embed-textures -o embedded.gltf",
)
@option(
    "appearance",
    "--no-textures",
    is_flag=True,
    help="Show a plain colour per material.",
    example="msh2gltf robot.msh --no-textures -o plain/",
)
@option(
    "appearance",
    "--lightmaps",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Show lightmaps, as light that comes from the surface.",
    example="msh2gltf GAME/DATA/MAPS/Tut_1/Land.msh --game GAME --lightmaps off -o dark/",
)
@option(
    "report",
    "--thumbnails",
    is_flag=True,
    help="Draw every model, and make OUT_DIR/index.html: a page to look through them.",
    example="msh2gltf GAME -o pictures/ --include '*r_h_01*' --thumbnails",
)
@option(
    "output",
    "--no-sidecar",
    is_flag=True,
    help="Write no sidecar: the import rebuilds everything.",
    example="msh2gltf robot.msh --no-sidecar -o alone/",
)
@option(
    "selection",
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Only models whose path::entry (or path) this fits; may be repeated.",
    example="msh2gltf GAME -o some/ --include '*.rlb::r_*'",
)
@option(
    "selection",
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="None of these; may be repeated.",
    example="msh2gltf GAME -o others/ --exclude '*.rlb::r_*'",
)
@option(
    "selection",
    "--only",
    type=click.Choice(["models", "terrains", "areal-maps", "units", "missions"]),
    multiple=True,
    help="Only files of this kind; may be repeated.",
    example="msh2gltf GAME -o kinds/ --only models",
)
@option(
    "selection", "--list", "list_only", is_flag=True, help="List the models and stop.", example="msh2gltf GAME --list"
)
@mode_options
@batch_options
@option(
    "report",
    "--report",
    type=FILE,
    metavar="FILE",
    help="Write what became of every model as JSON.",
    example="msh2gltf GAME -o reported/ --report reported.json",
)
@output_options
@version_option
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    given = ToGltf(**context.params)
    if given.keys and given.subframes != 1:
        raise click.UsageError("--keys and --subframes exclude each other")
    if given.strict and given.tolerant:
        raise click.UsageError("--strict and --tolerant exclude each other")
    if given.unit is not None:
        given = _unit_of(given)
    refuse_other_direction(given.sources, to_gltf=True)
    given = _mission_of(given)
    many = _is_many(given)
    if many and not given.list_only and given.dask is None and not _may_be_finished(given):
        from ..batch.workers import start_server

        start_server("msh_gltf.converter.batch.export_item")
    if (given.frame is not None or given.up is not None) and not _ends_in(given, ".obj"):
        raise click.UsageError("--frame and --up are for -o NAME.obj")
    if given.embed_textures and given.no_textures:
        raise click.UsageError("--embed-textures and --no-textures exclude each other")
    options = _options(given, many)
    if not many:
        refuse_batch_options(context, only=_OF_RUNS)
        _export_one(given, options)
        return
    from .batch import export_many

    if given.entry is not None:
        raise click.UsageError("--entry takes one archive; --include chooses among many")
    export_many(given, options)


def _may_be_finished(given: ToGltf) -> bool:
    """Whether an earlier run wrote there: if nothing is left to do, no process is started."""
    output = given.output
    return output is not None and not given.force and Path(output, MANIFEST).is_file()


_OF_RUNS = (
    "include",
    "exclude",
    "only",
    "list_only",
    "jobs",
    "fail_fast",
    "dask",
    "dry_run",
    "log_file",
    "report",
    "thumbnails",
)


def _mission_of(given: ToGltf) -> ToGltf:
    """What was given; a directory and an output file mean the mission in it."""
    to_file = given.output == STDOUT or any(_ends_in(given, suffix) for suffix in SUFFIXES)
    if len(given.sources) != 1 or not to_file or given.list_only or not given.sources[0].is_dir():
        return given
    from ...importers.content import mission_in

    mission = mission_in(given.sources[0])
    return given if mission is None else replace(given, sources=(mission,))


def _unit_of(given: ToGltf) -> ToGltf:
    """What was given, with the unit's file as its input."""
    from ..pipeline.unit import find_unit

    if len(given.sources) != 1 or not given.sources[0].is_dir() or given.entry is not None:
        raise click.UsageError("--unit takes the game's directory")
    game = given.sources[0]
    return replace(given, sources=(find_unit(game, given.unit or ""),), game=given.game or game)


def _ends_in(given: ToGltf, suffix: str) -> bool:
    return given.output is not None and given.output.lower().endswith(suffix)


def _options(given: ToGltf, many: bool) -> ExportOptions:
    from ..pipeline.options import ExportOptions

    folders = [*given.textures, *([given.game] if given.game is not None else [])]
    for folder in folders:
        if not folder.is_dir():
            raise click.UsageError(f"{folder}: expected a directory with the game's libraries")
    return ExportOptions(
        given.dialect,
        given.fps,
        lod=given.lod,
        group=given.group,
        visible_only=given.parts == "visible",
        subframes=given.subframes,
        stored_keys=given.keys,
        paths=given.paths,
        points=given.points,
        textures=tuple(str(folder.absolute()) for folder in folders),
        find_textures=not given.no_textures,
        embed=given.embed_textures or not (many or _ends_in(given, ".gltf")),
        lightmaps=given.lightmaps == "on",
        game=None if given.game is None else str(given.game.absolute()),
        internal=given.parts == "all",
        clips=given.clips,
        mode="strict" if given.strict else "tolerant" if given.tolerant else "default",
    )


def _is_many(given: ToGltf) -> bool:
    """Whether a run goes into a directory with a manifest: all but one model to one file."""
    sources, output = given.sources, given.output
    if len(sources) > 1 or sources[0].is_dir():
        return True
    to_file = output is None or output == STDOUT or output.lower().endswith(SUFFIXES)
    if given.entry is not None or (to_file and not (given.list_only or given.dry_run)):
        return False
    from ...importers.content import file_kind
    from ...importers.nres import open_nres
    from ..errors import ConversionError
    from ..formats.archive import NRES_MAGIC_RULE
    from ..formats.kinds import Kind

    try:
        archive = open_nres(sources[0], str(sources[0]), longer=given.tolerant)
        return file_kind(archive) is Kind.ARCHIVE
    except ConversionError as error:
        if error.code == NRES_MAGIC_RULE.code:  # reading it as a model says what it is
            return False
        raise


def _export_one(given: ToGltf, options: ExportOptions) -> None:
    from ..pipeline.export_model import LoadedModel
    from ..pipeline.texture import texture_at
    from ..storage import write_outputs

    source, output, sidecar = given.sources[0], given.output, not given.no_sidecar
    if (texture := texture_at(source, given.entry)) is not None:
        from .textures import export_texture

        export_texture(texture, output, given.force, given.quiet)
        return
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.glb", SUFFIXES)
    loaded, make_files = _load(given, options)
    if not given.quiet:
        _show_findings(loaded.findings, source, given.verbose)
    if output == STDOUT:
        write_stdout(make_files(Path("model.glb"), False)[-1][1])
        return
    target = output_path(output, f"{loaded.file_stem}.glb", SUFFIXES)
    files = make_files(target, sidecar)
    written = write_outputs(files, given.force)
    if given.quiet:
        return
    if _ends_in(given, ".obj") and isinstance(loaded, LoadedModel):
        from ..pipeline.obj import not_in_obj

        if lost := not_in_obj(loaded.scene, options.lod, options.group):
            message = f"an OBJ does not hold: {', '.join(lost)} (keep the sidecar)"
            say(f"warning: {source}: {message}", error=True)
    say(f"{loaded.name}: {loaded.summary}")
    if isinstance(loaded, LoadedModel):
        decision = loaded.decision
        say(f"  dialect {decision.dialect.value}: {decision.reason}")
        if given.verbose:
            say(
                f"  evidence: header box error {decision.box_error or 'unknown'}, identity keys "
                f"{decision.identity_keys or 'not looked at'}, "
                f"batch words say {decision.batch_words}"
            )
    say_written(files, written)


def _load(given: ToGltf, options: ExportOptions) -> tuple[Loaded, Callable[[Path, bool], Files]]:
    """What a file holds, and what makes its outputs from a target and whether to keep a sidecar."""
    from ..errors import with_article
    from ..pipeline.dispatch import gltf_files, load_file
    from ..pipeline.export_model import LoadedModel

    loaded = load_file(given.sources[0], given.entry, options)
    if not _ends_in(given, ".obj"):
        return loaded, lambda path, sidecar: gltf_files(loaded, path, options, sidecar=sidecar)
    if not isinstance(loaded, LoadedModel):
        what = with_article(loaded.kind)
        raise click.UsageError(f"{given.sources[0]} is {what}: only models become OBJ")
    from ..pipeline.obj import obj_files

    frame, up = given.frame or 0.0, given.up or "y"
    return loaded, lambda path, sidecar: obj_files(loaded, path, options=options, frame=frame, up=up, sidecar=sidecar)


def _show_findings(findings: list[Finding], source: Path, verbose: bool) -> None:
    from ..findings import messages

    for text in messages(findings):
        say(f"warning: {source}: {text}", error=True)
    for finding in findings:
        if verbose and finding.severity == "note":
            say(f"note: {source}: {finding}", error=True)
