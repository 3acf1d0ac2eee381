"""``msh2gltf``."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import MANIFEST
from ..errors import ConversionError, plural, with_article
from ..storage import absolute, real_path, write_outputs
from .common import (
    FILE,
    SETTINGS,
    STDOUT,
    Command,
    given_options,
    options_of,
    output_path,
    read_options,
    refuse_batch_options,
    refuse_device,
    refuse_other_direction,
    say,
    say_written,
    version_option,
    without_effect,
    write_stdout,
)
from .given import ToGltf

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..findings import Finding
    from ..kinds.base import Files, Loaded
    from ..kinds.library import LoadedTexture
    from ..options import ExportOptions

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
  msh2gltf sounds.lib --unpack files/             every entry as a file: sounds are WAV

INPUT is a .msh file, an archive (.rlb, .lib), a unit (.dat), a mission (data.tma) or a directory;
each is recognised by content. A mission's directory and an output file mean the mission. The
sidecar (.msh-sidecar) holds what glTF cannot; keep it beside the glTF, and gltf2msh gives back
the same bytes. Directories and archives go to out/ARCHIVE/ENTRY.glb, with out/manifest.json,
which says what came from where; the same command again converts only what changed. Exit codes:
0 all done, 1 some failed, 2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("sources", metavar="INPUT...", nargs=-1, required=True, type=FILE)
@options_of(ToGltf)
@version_option
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    given = read_options(ToGltf, context.params)
    if given.how.stored_keys and given.how.subframes != 1:
        raise click.UsageError("--keys and --subframes exclude each other")
    if given.strict and given.tolerant:
        raise click.UsageError("--strict and --tolerant exclude each other")
    if given.layout is not None and given.unpack is None:
        raise click.UsageError("--layout is for --unpack")
    if given.unpack is not None:
        for name, option in given_options(context).items():
            if name not in ("sources", "unpack", "layout", "force", "quiet"):
                raise click.UsageError(f"{option} is not for --unpack")
        _unpack_all(given, given.unpack)
        return
    if given.unit is not None:
        given = _unit_of(given)
    refuse_other_direction(given.sources, to_gltf=True)
    given = _mission_of(given)
    many = _is_many(given)
    if many and not given.list_only and given.dask is None and not _may_be_finished(given):
        from ..game.workers import start_server

        start_server("msh_gltf.converter.game.export_run")
    if (given.frame is not None or given.up is not None) and not _ends_in(given, ".obj"):
        raise click.UsageError("--frame and --up are for -o NAME.obj")
    if given.how.embed and not given.how.find_textures:
        raise click.UsageError("--embed-textures and --no-textures exclude each other")
    options = _options(given)
    if not many:
        refuse_batch_options(context, only=_OF_RUNS)
        _export_one(given, options, given_options(context))
        return
    if given.entry is not None:
        raise click.UsageError("--entry takes one archive; --include chooses among many")
    _export_many(given, options)


def _unpack_all(given: ToGltf, folder: Path) -> None:
    """Unpack an archive into a folder; of a directory, each archive below it into a folder of its path."""
    from ..formats.kinds import Kind, file_kind
    from ..game.walk import RSLI, files_below, foreign, text_of
    from ..kinds.open_files import open_nres

    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"--unpack {folder}: expected a directory")
    sources = given.sources
    if len(sources) == 1 and not sources[0].is_dir():
        _unpack(sources[0], folder, given)
        return
    failed = count = 0
    for source, path, reason in files_below(sources, folder)[0]:
        kind = foreign(path)
        if reason or kind not in (None, RSLI):
            continue
        try:
            if kind == RSLI or file_kind(open_nres(path, source)) is Kind.ARCHIVE:
                _unpack(path, folder / text_of(Path(source)), given)
                count += 1
        except ConversionError as error:
            say(f"msh2gltf: {error}", error=True)
            failed += 1
    if not (count or failed):
        raise click.UsageError(f"{sources[0]} holds no archive")
    if failed:
        sys.exit(1)


def _unpack(path: Path, folder: Path, given: ToGltf) -> None:
    from ..files import read_file
    from ..game.archive_folder import unpacked_files

    made = unpacked_files(bytes(read_file(path)), str(path), given.layout or "names")
    files = [(folder / file, data) for file, data in made.items()]
    written = write_outputs(files, given.force)
    if not given.quiet:
        say(f"{path.name}: {plural(len(files), 'file')} in {folder}, {len(written)} of them written")


def _may_be_finished(given: ToGltf) -> bool:
    """Whether an earlier run wrote there: if nothing is left to do, no process is started."""
    output = given.output
    return output is not None and not given.force and Path(output, MANIFEST).is_file()


_OF_RUNS = (
    *("include", "exclude", "only", "list_only", "jobs", "fail_fast"),
    *("dask", "dry_run", "log_file", "report", "thumbnails"),
)


def _mission_of(given: ToGltf) -> ToGltf:
    """What was given; a directory and an output file mean the mission in it."""
    to_file = given.output == STDOUT or any(_ends_in(given, suffix) for suffix in SUFFIXES)
    if len(given.sources) != 1 or not to_file or given.list_only or not given.sources[0].is_dir():
        return given
    from ..kinds.open_files import mission_in

    mission = mission_in(given.sources[0])
    return given if mission is None else replace(given, sources=(mission,))


def _unit_of(given: ToGltf) -> ToGltf:
    """What was given, with the unit's file as its input."""
    from ..kinds.missions import find_unit

    if len(given.sources) != 1 or not given.sources[0].is_dir() or given.entry is not None:
        raise click.UsageError("--unit takes the game's directory")
    game = given.sources[0]
    return replace(given, sources=(find_unit(game, given.unit or ""),), game=given.game or game)


def _ends_in(given: ToGltf, suffix: str) -> bool:
    return given.output is not None and given.output.lower().endswith(suffix)


def _options(given: ToGltf) -> ExportOptions:
    folders = [Path(folder) for folder in given.how.textures]
    folders += [given.game] if given.game is not None else []
    for folder in folders:
        if not folder.is_dir():
            raise click.UsageError(f"{folder}: expected a directory with the game's libraries")
    return replace(
        given.how,
        textures=tuple(str(absolute(folder)) for folder in folders),
        game=None if given.game is None else str(absolute(given.game)),
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
    from ..formats.kinds import Kind, file_kind
    from ..formats.nres import NRES_MAGIC_RULE
    from ..kinds.open_files import open_nres

    try:
        archive = open_nres(sources[0], str(sources[0]), longer=given.tolerant)
        return file_kind(archive) is Kind.ARCHIVE
    except ConversionError as error:
        if error.code == NRES_MAGIC_RULE.code:  # reading it as a model says what it is
            return False
        raise


def _export_one(given: ToGltf, options: ExportOptions, typed: dict[str, str]) -> None:
    from ..kinds.library import texture_at
    from ..kinds.model import LoadedModel

    source, output, sidecar = given.sources[0], given.output, not given.no_sidecar
    if (texture := texture_at(source, given.entry)) is not None:
        _export_texture(texture, output, given.force, given.quiet)
        return
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.glb", SUFFIXES)
    loaded, make_files = _load(given, options)
    if not given.quiet:
        _show_findings(loaded.findings, source, given.verbose)
        names = _NOT_OF_EXPORTED_MAPS if loaded.kind in ("terrain", "areal map") else ()
        without = without_effect(typed, names, with_article(loaded.kind))
        for warning in filter(None, [loaded.why_no_ranges(options), *without]):
            say(f"warning: {source}: {warning}", error=True)
    if output == STDOUT:
        write_stdout(make_files(Path("model.glb"), False)[-1][1])
        return
    target = output_path(output, f"{loaded.file_stem}.glb", SUFFIXES)
    files = make_files(target, sidecar)
    written = write_outputs(files, given.force)
    if given.quiet:
        return
    if _ends_in(given, ".obj") and isinstance(loaded, LoadedModel):
        from ..kinds.obj import not_in_obj

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
    from ..kinds.dispatch import load_file
    from ..kinds.model import LoadedModel

    loaded = load_file(given.sources[0], given.entry, options)
    if not _ends_in(given, ".obj"):
        return loaded, lambda path, sidecar: loaded.files(path, options, sidecar=sidecar)
    if not isinstance(loaded, LoadedModel):
        what = with_article(loaded.kind)
        raise click.UsageError(f"{given.sources[0]} is {what}: only models become OBJ")
    from ..kinds.obj import obj_files

    frame, up = given.frame or 0.0, given.up or "y"
    return loaded, lambda path, sidecar: obj_files(loaded, path, options=options, frame=frame, up=up, sidecar=sidecar)


def _show_findings(findings: list[Finding], source: Path, verbose: bool) -> None:
    from ..findings import messages

    for text in messages(findings):
        say(f"warning: {source}: {text}", error=True)
    for finding in findings:
        if verbose and finding.severity == "note":
            say(f"note: {source}: {finding}", error=True)


def _export_texture(texture: LoadedTexture, output: str | None, force: bool, quiet: bool) -> None:
    """Write a texture's full size as a PNG."""
    from ..formats.names import escape

    name = texture.name
    if output == STDOUT:
        write_stdout(texture.png())
        return
    target, data = output_path(output, f"{escape(name)}.png", (".png",)), texture.png()
    written = write_outputs([(target, data)], force)
    if not quiet:
        say(f"{name}: {texture.summary}")
        say_written([(target, data)], written)


def _export_many(given: ToGltf, options: ExportOptions) -> None:
    """``msh2gltf`` on directories, archives and several models; exits with the run's code."""
    from ..game.export_run import export_run, found_in, run_options
    from .runs import engine, finish, open_log, progress_bar

    sources, output = given.sources, given.output
    if not given.list_only and (output is None or output == STDOUT):
        from ..kinds.open_files import mission_in

        one = len(sources) == 1 and sources[0].is_dir() and mission_in(sources[0]) is not None
        alone = ", or -o NAME.glb for the mission alone" if one else ""
        raise click.UsageError(f"several models need a directory: -o OUT_DIR{alone}")
    refuse_device(output or "")
    out = None if output is None else Path(output)
    if out is not None and not out.is_dir() and (out.exists() or str(output).lower().endswith(SUFFIXES)):
        raise click.UsageError(f"-o {output}: expected a directory; one file holds one model or mission")
    items, found = found_in(
        sources, out, given.include, given.exclude, given.only, in_game=given.game is not None, longer=given.tolerant
    )
    if given.list_only or out is None:
        for item in items:
            say(item.id, *((str(item.size), item.target) if given.verbose else ()))
        for broken in found.unreadable:
            say(f"msh2gltf: {broken.id}: {broken.reason}", error=True)
        if found.unreadable:
            sys.exit(1)
        return
    packed = any(item.index is not None for item in items)
    if packed and real_path(out) in [real_path(source) for source in sources]:
        raise click.UsageError(
            f"-o {output}: is what is converted; its archives are in the way: name a directory of its own"
        )
    if given.thumbnails:
        from ..game.gallery import make_gallery, require_preview

        require_preview(out, given.force)
    if given.log_file is not None:
        open_log(given.log_file)
    options = run_options(sources, options)
    with progress_bar("converting", len(items), given.quiet) as progress:
        run = export_run(
            items,
            found,
            out,
            options,
            engine(given),
            progress,
            sidecar=not given.no_sidecar,
            force=given.force,
            dry_run=given.dry_run,
        )
    if given.thumbnails and not given.dry_run and not run.interrupted:
        make_gallery(run, out, engine(given), partial(progress_bar, quiet=given.quiet))
    finish(run, given, f"{out}/manifest.json says what came from where")


#: Options of exports without effect on maps.
_NOT_OF_EXPORTED_MAPS = ("dialect", "fps", "lod", "group", "clips", "subframes", "stored_keys", "paths", "points")
