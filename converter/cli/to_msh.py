"""``gltf2msh``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .common import (
    FILE,
    OUTPUT,
    SETTINGS,
    STDOUT,
    Command,
    batch_options,
    given_options,
    output_options,
    output_path,
    refuse_batch_options,
    refuse_other_direction,
    say,
    say_written,
    version_option,
    write_stdout,
)
from .given import ToMsh
from .imported import import_file, report_bytes, show_result
from .options import option
from .textures import import_entry, is_entry_file

if TYPE_CHECKING:
    from ..pipeline.options import ImportOptions


#: Endings of files that are written.
_ENDINGS = (".msh", ".map", ".tma", ".dat")
#: Types of object keys, as ``formats.registry`` has them; ``--help`` needs no NumPy.
TAGS = ("STAT", "INTO", "EXTO", "BULL", "BTLU", "FORT", "WPNS", "SUNO")
_OF_PICTURES = ("texm", "mips")
_OF_RUNS = ("in_place", "add", "tag", "jobs", "fail_fast", "dask", "dry_run", "log_file")
_OF_NEW_MODELS = ("add", "tag", "dry_run")


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
  gltf2msh out/ --game GAME --in-place     or into the game itself; msh-mod takes it back
  gltf2msh wall.png --texm 565             a texture, wall.0
  gltf2msh wall.png --into Textures.lib    into the library; msh-mod takes it back

What the glTF shows is compared with the sidecar: what was not changed comes back byte for byte,
what was changed is rebuilt as the engine expects it. Without a sidecar everything is rebuilt.
Of an archive only the entries that changed are replaced. Exit codes: 0 all done, 1 some failed,
2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("source", metavar="INPUT", type=FILE)
@option(
    "output",
    "-o",
    "--output",
    metavar="PATH",
    type=OUTPUT,
    help="A .msh (.map, .tma, .dat) file, a directory (made if need be), or - for standard output.",
    default_text="NAME.msh here",
    example="gltf2msh robot.glb -o new/",
)
@option(
    "input",
    "--sidecar",
    "sidecar_file",
    metavar="PATH",
    type=FILE,
    help="The sidecar.",
    default_text="named in the glTF, else beside it",
    example="gltf2msh robot.glb --sidecar robot.msh-sidecar -o named/",
)
@option(
    "input",
    "--no-sidecar",
    is_flag=True,
    help="Ignore the sidecar and rebuild everything.",
    example="gltf2msh robot.glb --no-sidecar -o rebuilt/",
)
@option(
    "input",
    "--dialect",
    type=click.Choice(["auto", "spec", "retail"]),
    default="auto",
    show_default=True,
    help="What to write; auto takes the sidecar's, the file's, else spec.",
    example="gltf2msh tower.glb --dialect retail -o towers/",
)
@option(
    "selection",
    "--scene",
    metavar="NAME",
    help="Read this scene only, by name or number.",
    example="gltf2msh tower.glb --scene 0 -o scene/",
)
@option(
    "selection",
    "--clip",
    metavar="NAME",
    help="The animation to take.",
    default_text="the first",
    example="gltf2msh robot.glb --clip robot -o clip/",
)
@option(
    "animation",
    "--fps",
    metavar="FPS",
    type=click.FloatRange(0, min_open=True),
    help="Frames per second of the clip.",
    default_text="by evidence: the rate that the file states, the spacing of its keys, the sidecar's clip",
    example="gltf2msh robot.glb --fps 24 -o fps/",
)
@option(
    "animation",
    "--frame",
    type=float,
    metavar="T",
    help="Pose of an OBJ.",
    default_text="as it says",
    example="gltf2msh obj/robot.obj --frame 0 -o pose/",
)
@option(
    "input",
    "--up",
    type=click.Choice(["y", "z"]),
    help="Axis of an OBJ that points up.",
    default_text="y",
    example="gltf2msh tower.obj --up z -o z_up/",
)
@option(
    "animation",
    "--no-reduce",
    is_flag=True,
    help="Keep a key per frame.",
    example="gltf2msh robot.glb --no-reduce -o keys/",
)
@option(
    "animation",
    "--rigid-skin",
    is_flag=True,
    help="Bind each triangle of a skin to one joint.",
    example="gltf2msh tower.glb --rigid-skin -o rigid/",
)
@option(
    "animation",
    "--ignore-scale",
    is_flag=True,
    help="Ignore animated scale.",
    example="gltf2msh tower.glb --ignore-scale -o unscaled/",
)
@option(
    "output",
    "--generate-lods",
    metavar="A,B",
    help="Make LOD 1 and 2 with these ratios of the triangles, e.g. 0.5,0.25.",
    example="gltf2msh tower.glb --generate-lods 0.5,0.25 -o lods/",
)
@option(
    "run",
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Read what was written again and compare it with the input.",
    example="gltf2msh robot.glb --no-verify -o unread/",
)
@option(
    "selection",
    "--allow-delete",
    is_flag=True,
    help="Delete what is missing, even if hidden parts or most nodes are.",
    example="gltf2msh robot.glb --allow-delete -o deleted/",
)
@option(
    "run",
    "--require-all",
    is_flag=True,
    help="Write nothing, and exit with 1, where a difference cannot be applied.",
    example="gltf2msh robot.glb --require-all -o all/",
)
@option(
    "report",
    "--report",
    metavar="FILE",
    type=FILE,
    help="Write what was kept, rebuilt, new and deleted as JSON.",
    example="gltf2msh robot.glb --report changes.json -o reported/",
)
@option(
    "input",
    "--game",
    metavar="DIR",
    type=FILE,
    help="The game's directory. Of a directory of glTF: what it was made from. Of one file: its "
    "libraries tell which materials are new. It is read, not written.",
    example="gltf2msh out/ --game GAME -o NEW_GAME",
)
@option(
    "output",
    "--in-place",
    is_flag=True,
    help="Change the game itself; the originals and the history are kept in GAME/.msh-gltf.",
    example="gltf2msh out/ --game GAME_COPY --in-place",
)
@option(
    "appearance",
    "--like",
    metavar="NAME",
    default="",
    help="Make new materials like this one of the game.",
    default_text="DEFAULT",
    example="gltf2msh out/ --game GAME -o NEW_GAME --like armour",
)
@option(
    "appearance",
    "--own-materials",
    is_flag=True,
    help="Give a model whose materials changed copies of its own; other models keep theirs.",
    example="gltf2msh out/ --game GAME -o NEW_GAME --own-materials",
)
@option(
    "output",
    "--add",
    is_flag=True,
    help="Make new entries of new glTF files in an archive's folder; of one file, in the archive of --into.",
    example="gltf2msh out/ --game GAME --add -o BIGGER_GAME",
)
@option(
    "output",
    "--tag",
    type=click.Choice(TAGS, case_sensitive=False),
    help="Also give each new model an object key in objects.rlb, its name without ending, so that "
    "missions and units can place it: STAT scenery, EXTO part of a unit, FORT building ...",
    example="gltf2msh out/ --game GAME --add --tag STAT -o GAME_WITH_KEY",
)
@option(
    "appearance",
    "--texm",
    type=click.Choice(["8888", "888", "565", "4444"]),
    help="Format of a picture's texture.",
    default_text="888, or 8888 where it has alpha",
    example="gltf2msh WALL.png --texm 565 -o textures/",
)
@option(
    "appearance",
    "--mips",
    type=click.IntRange(min=1),
    metavar="N",
    help="Levels of a picture's texture.",
    default_text="as many as there can be",
    example="gltf2msh WALL.png --mips 1 -o flat/",
)
@option(
    "output",
    "--into",
    type=FILE,
    metavar="LIB",
    help="Put a picture's texture, or an entry (WALL.0, STEEL.mat0), into this library; with --add "
    "a new model into this archive.",
    example="gltf2msh WALL.png --into GAME_COPY/Textures.lib",
)
@batch_options
@output_options
@version_option
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    given = ToMsh(**context.params)
    if given.no_sidecar and given.sidecar_file is not None:
        raise click.UsageError("--sidecar and --no-sidecar exclude each other")
    if given.into is not None and is_entry_file(given.source):
        for name, option in given_options(context).items():
            if name not in ("source", "into", "quiet"):
                raise click.UsageError(f"{option} is not for an entry of a library")
        import_entry(given)
        return
    refuse_other_direction([given.source], to_gltf=False)
    picture = given.source.suffix.lower() == ".png" and not given.source.is_dir()
    for name, option in given_options(context).items():
        if picture and name not in (*_OF_PICTURES, "into", "source", "output", "force", "quiet"):
            raise click.UsageError(f"{option} is for models, not for pictures")
        if not picture and name in _OF_PICTURES:
            raise click.UsageError(f"{option} is for pictures (.png)")
    if picture:
        from .textures import import_picture

        import_picture(given)
        return
    # with sidecars, a run asks first what was edited: often nothing, and no process is started
    if given.source.is_dir() and given.dask is None and given.no_sidecar:
        from ..batch.workers import start_server

        start_server("msh_gltf.converter.batch.import_item")
    if given.tag is not None and not given.add:
        raise click.UsageError("--tag is for new models, which --add adds")
    options = _options(given)
    if not given.source.is_dir():
        if given.add and given.into is None:
            raise click.UsageError("--add puts one file into an archive: name it with --into")
        adds = given.into is not None
        only = tuple(one for one in _OF_RUNS if not (adds and one in _OF_NEW_MODELS))
        refuse_batch_options(context, only=only)
        if (given.frame, given.up) != (None, None) and given.source.suffix.lower() != ".obj":
            raise click.UsageError("--frame and --up are for OBJ files")
        if given.into is None:
            _import_one(given, options)
            return
        from .add import add_one

        if not given.add:
            raise click.UsageError("--into puts a new model into an archive with --add")
        add_one(given, options)
        return
    from .batch import import_many

    if given.into is not None:
        raise click.UsageError("--into is for one file")
    if given.sidecar_file is not None:
        raise click.UsageError("--sidecar is for one file; a directory's lie beside its glTF")
    import_many(given, options)


def _options(given: ToMsh) -> ImportOptions:
    from ..pipeline.options import ImportOptions

    return ImportOptions(
        given.dialect,
        given.scene,
        clip=given.clip,
        fps=given.fps,
        rigid_skin=given.rigid_skin,
        ignore_scale=given.ignore_scale,
        reduce=not given.no_reduce,
        verify=given.verify,
        use_sidecar=not given.no_sidecar,
        lod_ratios=_shares(given.generate_lods),
        allow_delete=given.allow_delete,
        like=given.like,
        own_materials=given.own_materials,
        game=None if given.game is None else str(given.game.absolute()),
    )


def _import_one(given: ToMsh, options: ImportOptions) -> None:
    from ..game.games import write_files
    from ..pipeline.companions import companions_beside, wear_beside
    from ..pipeline.import_result import unapplied
    from ..pipeline.library_edits import files_beside, refused, refused_materials
    from ..pipeline.new_entries import entries_of_game
    from ..storage import refuse_existing

    source, output = given.source, given.output
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.msh", _ENDINGS)
    result = import_file(given, options)
    target = None
    if output != STDOUT:
        target = output_path(output, _file_name(result.name), _ENDINGS)
        now, then = (name.lower()[-4:] for name in (target.name, result.name))
        if now != then and {now, then} & {".tma", ".dat"}:
            raise click.UsageError(f"{source.name} becomes {result.name}, not {target.name}")
    files = [] if target is None else [(target, result.data)]
    if target is not None and result.wear is not None:
        wear, messages = wear_beside(target, result.wear, given.force)
        result.warnings += messages
        files += wear
    if target is not None:
        files += companions_beside(target, result.companions)
        game = entries_of_game(given.game, options.like) if given.game or options.like else None
        beside = files_beside(target, result, game)
        files += beside.files
        result.not_applied += beside.not_applied
        result.warnings += beside.messages
    else:
        result.not_applied += refused(result.library) + refused_materials(result.new_materials)
    if given.report is not None:
        files.append((given.report, report_bytes(result)))
    refuse_existing(files, given.force)
    if not given.quiet:
        for warning in result.warnings:
            say(f"warning: {source}: {warning}", error=True)
    for difference in result.not_applied:
        say(difference.line, error=True)
    if given.require_all and result.not_applied:
        say(f"gltf2msh: {unapplied(result.not_applied).at(file=str(source))}", error=True)
        sys.exit(1)
    written = write_files(files, given.force, f"gltf2msh {source.name} -o {output or '.'}")
    if target is None:
        write_stdout(result.data)
    elif not given.quiet:
        show_result(result, given.verbose)
        say_written(files, written)


def _file_name(name: str) -> str:
    """What a file is called: models end in ``.msh``, everything else keeps its ending."""
    from ..formats.names import escape, file_stem

    return escape(name) if name.lower().endswith(_ENDINGS[1:]) else f"{file_stem(name)}.msh"


def _shares(text: str | None) -> tuple[float, ...]:
    """The ratios of ``--generate-lods``."""
    if text is None:
        return ()
    try:
        ratios = tuple(float(part) for part in text.split(","))
    except ValueError:
        ratios = ()
    if not 1 <= len(ratios) <= 2 or not all(0 < ratio < 1 for ratio in ratios):
        raise click.UsageError("--generate-lods takes one or two ratios between 0 and 1")
    return ratios
