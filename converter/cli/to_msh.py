"""``gltf2msh``."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import called, few, plural, printable, quoted, with_article
from .common import (
    FILE,
    SETTINGS,
    STDOUT,
    Command,
    console,
    given_options,
    options_of,
    output_path,
    read_options,
    refuse_batch_options,
    refuse_other_direction,
    said_aloud,
    say,
    say_written,
    version_option,
    without_effect,
    write_stdout,
)
from .given import ToMsh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..game.archive_folder import Packed
    from ..kinds.import_result import ImportResult
    from ..kinds.library import EditedLibrary
    from ..options import ImportOptions

#: Endings of files that are written.
_ENDINGS = (".msh", ".map", ".tma", ".dat")
#: Options without effect: of files that have no animations, of what places models, and of maps.
_NOT_OF_MESHES = ("scene", "clip", "fps", "reduce", "rigid_skin", "ignore_scale")
_NOT_OF_PLACES = ("dialect", "clip", "ignore_scale", "lod_ratios", "lod_error", "own_materials")
_NOT_OF_MAPS = ("dialect", *_NOT_OF_MESHES[1:], "lod_ratios", "lod_error")
_OF_PICTURES = ("texm", "mips")
_OF_RUNS = ("in_place", "watch", "add", "tag", "jobs", "fail_fast", "dask", "dry_run", "log_file")
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
  gltf2msh tower.glb --dialect retail      a new model, from any glTF file (or an .obj, .stl,
                                           .ply ...), and tower.wea, which names its materials
  gltf2msh robot.glb --sidecar kept/robot.msh-sidecar
  gltf2msh out/ --game GAME -o NEW_GAME    what msh2gltf GAME -o out/ made, back into a copy
  gltf2msh out/ --game GAME --in-place     or into the game itself; msh-mod takes it back
  gltf2msh wall.png --texm 565             a texture, wall.0
  gltf2msh wall.png --into Textures.lib    into the library; msh-mod takes it back
  gltf2msh files/ --pack sounds.lib        what msh2gltf --unpack wrote, back into the archive

What the glTF shows is compared with the sidecar: what was not changed comes back byte for byte,
what was changed is rebuilt as the engine expects it. Without a sidecar everything is rebuilt.
Of an archive only the entries that changed are replaced. Exit codes: 0 all done, 1 some failed,
2 wrong usage or nothing to read, 130 interrupted (143 by SIGTERM).
""",
)
@click.argument("source", metavar="INPUT", type=FILE)
@options_of(ToMsh)
@version_option
@click.pass_context
def command(context: click.Context, /, **_: object) -> None:
    given = read_options(ToMsh, context.params)
    if given.sidecar is not None and not given.how.use_sidecar:
        raise click.UsageError("--sidecar and --no-sidecar exclude each other")
    if given.pack is not None:
        for name, option in given_options(context).items():
            if name not in ("source", "pack", "force", "quiet", "dry_run"):
                raise click.UsageError(f"{option} is not for --pack")
        _pack(given, given.pack)
        return
    if given.into is not None and _is_entry_file(given.source):
        for name, option in given_options(context).items():
            if name not in ("source", "into", "quiet"):
                raise click.UsageError(f"{option} is not for an entry of a library")
        _import_entry(given)
        return
    refuse_other_direction([given.source], to_gltf=False)
    picture = given.source.suffix.lower() == ".png" and not given.source.is_dir()
    for name, option in given_options(context).items():
        if picture and name not in (*_OF_PICTURES, "keep_alpha", "into", "source", "output", "force", "quiet"):
            raise click.UsageError(f"{option} is for models, not for pictures")
        if not picture and name in _OF_PICTURES:
            raise click.UsageError(f"{option} is for pictures (.png)")
    if picture:
        _import_picture(given)
        return
    # with sidecars, a run asks first what was edited: often nothing, and no process is started
    if given.source.is_dir() and given.dask is None and not given.how.use_sidecar:
        from ..game.workers import start_server

        start_server("msh_gltf.converter.game.import_item")
    if given.tag is not None and not given.add:
        raise click.UsageError("--tag is for new models, which --add adds")
    from ..storage import absolute

    options = replace(given.how, game=None if given.game is None else str(absolute(given.game)))
    if not given.source.is_dir():
        if given.add and given.into is None:
            raise click.UsageError("--add puts one file into an archive: name it with --into")
        adds = given.into is not None
        only = tuple(one for one in _OF_RUNS if not (adds and one in _OF_NEW_MODELS))
        refuse_batch_options(context, only=only)
        if given.into is None:
            _import_one(given, options, given_options(context))
            return
        if not given.add:
            if given.source.suffix.lower() not in (".glb", ".gltf", ".obj"):
                raise click.UsageError(
                    "--into takes a picture as .png: save it as that; a new model (.glb) needs --add, a sound --pack"
                )
            raise click.UsageError("--into puts a new model into an archive with --add")
        _add_one(given, options)
        return
    if given.explain:
        raise click.UsageError("--explain is for one file")
    if given.into is not None:
        raise click.UsageError("--into is for one file; a directory goes back with --game")
    if given.sidecar is not None:
        raise click.UsageError("--sidecar is for one file; a directory's lie beside its glTF")
    from .runs import put_back

    put_back(given, options)


def _import_one(given: ToMsh, options: ImportOptions, typed: dict[str, str]) -> None:
    from ..game.games import files_of, write_files
    from ..kinds.new_entries import entries_of_game, refuse
    from ..storage import refuse_existing

    source, output = given.source, given.output
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.msh", _ENDINGS)
    result = _import_file(given, options)
    result.differences.warnings += options_without_effect(typed, source, result.name, result.data)
    target = None
    if output != STDOUT:
        target = output_path(output, _file_name(result.name), _ENDINGS)
        if target.suffix.lower() != Path(_file_name(result.name)).suffix.lower():
            raise click.UsageError(f"{source.name} becomes {result.name}, not {target.name}")
    files = []
    if target is not None:
        game = entries_of_game(given.game, options.like) if given.game or options.like else None
        files = files_of(target, result, game, force=given.force)
    else:
        from ..findings import Subject

        refuse(result.differences, result.library, result.new_materials)
        for placed in result.placed:
            where, why = Subject("model", placed.result.name), "only one file goes to the standard output"
            result.differences.skipped(where, "is edited", why, "name a directory with -o")
    if given.report is not None:
        files.append((given.report, _report_bytes(result)))
    refuse_existing(files, given.force)
    _show_problems(given, result)
    written = write_files(files, given.force, f"gltf2msh {source.name} -o {output or '.'}")
    if target is None:
        write_stdout(result.data)
    elif not given.quiet:
        _show_result(result, given.verbose)
        say_written(files, written)


def options_without_effect(typed: Mapping[str, str], source: Path, name: str, data: bytes) -> list[str]:
    """Return warnings about options that change nothing of an import.

    ``typed``: options as of :func:`given_options`. ``name``, ``data``: what the import made of the source.
    """
    from ..formats.kinds import Kind, file_kind
    from ..formats.nres import is_nres, read_nres
    from ..formats.objects import is_unit

    if not is_nres(data[:4]):
        return without_effect(typed, _NOT_OF_PLACES, with_article(Kind.UNIT if is_unit(data) else Kind.MISSION))
    if (kind := file_kind(read_nres(data, name, longer=True))) is not Kind.MODEL:
        return without_effect(typed, _NOT_OF_MAPS, with_article(kind))
    names = () if source.suffix.lower() in (".glb", ".gltf") else _NOT_OF_MESHES
    found = without_effect(typed, names, f"a file {source.suffix}")
    if "lod_error" in typed and "lod_ratios" not in typed:
        found.append(f"{typed['lod_error']} has no effect without --generate-lods")
    return found


def _show_explanations(given: ToMsh, result: ImportResult) -> None:
    """Print what differs from the file, and what explains it."""
    judged, aside = result.differences.judged, given.output == STDOUT
    if judged is None:
        say("--explain: the result was not compared with the file (--no-verify)", error=aside)
    for one in judged or ():
        say(f"  {one}", error=aside)
    if judged == []:
        say("--explain: the result shows what the file shows", error=aside)


def _file_name(name: str) -> str:
    """What a file is called: models end in ``.msh``, everything else keeps its ending."""
    from ..formats.names import escape, file_stem

    return escape(name) if name.lower().endswith(_ENDINGS[1:]) else f"{file_stem(name)}.msh"


def _import_file(given: ToMsh, options: ImportOptions) -> ImportResult:
    """Import a glTF file, an OBJ, or what trimesh reads."""
    from ..kinds.dispatch import import_file

    with nullcontext() if given.quiet else said_aloud("gltf2msh"):
        return import_file(given.source, given.sidecar, options, up=given.up, frame=given.frame)


def _show_result(result: ImportResult, verbose: bool) -> None:
    """Print what changed."""
    say(f"{result.name}: {result.verdict}")
    if result.timing is not None and (verbose or not result.timing.usual):
        say(f"  {result.timing.fps:g} frames per second: {result.timing.reason}")
    shown = result.changes if verbose else result.changes[:10]
    for change in shown:
        say(f"  {change}")
    if len(shown) < len(result.changes):
        say(f"  and {len(result.changes) - len(shown)} more (--verbose lists them)")
    if result.report:
        _show_report(result.report, verbose)


def _report_bytes(result: ImportResult) -> bytes:
    """Return the JSON of ``--report``."""
    import json

    facts: dict[str, object] = {
        "format": 1,
        "model": result.name,
        "dialect": result.dialect,
        "unchanged": result.unchanged,
        "changes": [asdict(change) for change in result.changes],
        "not_applied": [difference.facts() for difference in result.not_applied],
        "items": result.report,
        "warnings": result.warnings,
    }
    if result.wear is not None:
        facts["wear"] = result.wear
    if result.timing is not None:
        facts["fps"], facts["fps_reason"] = result.timing.fps, result.timing.reason
    return json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n"


def _show_report(report: list[dict[str, str]], verbose: bool) -> None:
    """A table of what became of nodes and parts; kept ones only when asked."""
    from rich import box
    from rich.table import Table

    counts: dict[tuple[str, str], int] = {}
    for row in report:
        key = row["what"], row["status"]
        counts[key] = counts.get(key, 0) + 1
    say("  " + ", ".join(f"{plural(n, what)} {status}" for (what, status), n in counts.items()))
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


def _add_one(given: ToMsh, options: ImportOptions) -> None:
    """Put a new model, its materials and its key into the archives of a game."""
    from ..formats.names import decode_text, entry_name
    from ..game.games import Games
    from ..game.new_models import add_model, dialect_of, find_destination, plan_libraries
    from ..storage import write_outputs

    source, archive = given.source, given.into
    assert archive is not None
    if given.output is not None:
        raise click.UsageError("--into and -o exclude each other")
    to = find_destination(archive, entry_name(source.stem), given.tag, given.game)
    if options.dialect == "auto":
        options = replace(options, dialect=dialect_of(archive))
    result = _import_file(given, replace(options, new=True))
    result.name = decode_text(to.name)
    command = f"gltf2msh {source.name} --into {archive.name} --add"
    with Games(command, "into", dry_run=given.dry_run) as games:
        games.of(archive)  # what a killed run left is completed first
        plan = plan_libraries(games, to.folders, result, like=given.how.like)
        add_model(plan, to, result, force=given.force, hint="--force replaces it, or give the new file another name")
        plan.put()
        result.differences.not_applied += plan.not_applied
        if given.report is not None:
            write_outputs([(given.report, _report_bytes(result))], given.force)
        _show_problems(given, result)
        wrote = games.commit()
    if given.quiet:
        return
    for message in games.messages:
        say(f"warning: {message}", error=True)
    _show_result(result, given.verbose)
    for message in plan.messages:
        say(f"  {message}")
    if given.dry_run:
        say("dry run: nothing was written")
    elif not wrote:
        say("  the game has it already")
    for path in wrote if not given.dry_run else ():
        say(f"  wrote {path}")
    if wrote and not given.dry_run:
        say(f"  msh-mod undo {quoted(archive.parent)} takes it back")


def _show_problems(given: ToMsh, result: ImportResult) -> None:
    """Print warnings and what is not applied; exit where all was required."""
    from ..kinds.import_result import unapplied

    if not given.quiet:
        for warning in result.warnings:
            say(f"warning: {given.source}: {warning}", error=True)
    for difference in result.not_applied:
        say(difference.line, error=True)
    if given.explain:
        _show_explanations(given, result)
    if given.require_all and result.not_applied:
        say(f"gltf2msh: {unapplied(result.not_applied).at(file=str(given.source))}", error=True)
        sys.exit(1)


def _import_picture(given: ToMsh) -> None:
    """A PNG as a texture: a file, or an entry of a library."""
    from ..formats.names import readable
    from ..formats.texture import texture_name, write_texm
    from ..game.games import write_files
    from ..kinds.library import add_or_replace_texture, texm_of, texture_summary

    picture, output = given.source, given.output
    if given.into is not None and output is not None:
        raise click.UsageError("--into and -o exclude each other")
    texm = texm_of(picture, None if given.texm is None else int(given.texm), given.mips)
    if given.into is not None:
        library = given.into
        _write_into(
            given,
            lambda: add_or_replace_texture(library, picture.stem, texm, keep_alpha=given.how.keep_alpha),
            f"{picture.name}: {texture_summary(texm)}",
        )
        return
    data = write_texm(texm)
    if output == STDOUT:
        write_stdout(data)
        return
    target = Path(output or ".")
    if output is None or target.is_dir() or output.endswith("/"):
        target /= texture_name(readable(picture.stem))
    elif target.suffix.lower() in (".png", ".lib", ".rlb"):
        raise click.UsageError(
            f"-o {output}: expected a directory or a texture file like WALL.0 (--into puts it into a library)"
        )
    written = write_files([(target, data)], given.force, f"gltf2msh {picture.name} -o {target.name}")
    if not given.quiet:
        say(f"{picture.name}: {texture_summary(texm)}")
        say_written([(target, data)], written)


def _is_entry_file(path: Path) -> bool:
    """Return whether a file is an entry of a library: a texture, or a material by its ending."""
    from ..formats.texture import TEXM_MAGIC
    from ..kinds.library import MATERIAL_ENDING

    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(len(TEXM_MAGIC))
    return head == TEXM_MAGIC or path.suffix.lower() == MATERIAL_ENDING


def _import_entry(given: ToMsh) -> None:
    """Put a file that is an entry into a library."""
    from ..files import read_file
    from ..formats.texture import read_texm
    from ..kinds.library import MATERIAL_ENDING, add_or_replace_material, add_or_replace_texture, texture_summary

    source, library = given.source, given.into
    assert library is not None
    if source.suffix.lower() == MATERIAL_ENDING:
        _write_into(given, lambda: add_or_replace_material(library, source), "")
        return
    texm = read_texm(read_file(source), str(source))
    _write_into(
        given, lambda: add_or_replace_texture(library, source.name, texm), f"{source.name}: {texture_summary(texm)}"
    )


def _write_into(given: ToMsh, edit: Callable[[], EditedLibrary], summary: str) -> None:
    """Write an edited library; the game's vault keeps what it was before."""
    from ..game.games import Games

    library = given.into
    assert library is not None
    if not library.is_file():
        raise click.UsageError(f"--into {library}: expected a library such as Textures.lib")
    with Games(f"gltf2msh {given.source.name} --into {library.name}", "into") as games:
        games.of(library)  # what a killed run left is completed first
        edited = edit()
        games.put(library, edited.data, given.source.name)
        wrote = games.commit()
    if given.quiet:
        return
    for warning in edited.warnings:
        say(f"warning: {library}: {warning}", error=True)
    for message in games.messages:
        say(f"warning: {message}", error=True)
    if summary:
        say(summary)
    if not wrote:
        say(f"  {library} has {edited.name} already")
        return
    say(f"  {'added' if edited.added else 'replaced'} entry {edited.name}")
    say(f"  wrote {library} ({plural(len(edited.data), 'byte')})")
    say(f"  msh-mod undo {quoted(library.parent)} takes it back")


def _pack(given: ToMsh, archive: Path) -> None:
    """Pack a folder; an archive that is there is changed like the game's files, with its original kept."""
    from ..game.archive_folder import pack_folder
    from ..game.games import Games
    from ..storage import write_outputs

    folder = given.source
    if not folder.is_dir():
        raise click.UsageError(f"--pack takes a directory that an archive was unpacked into, not {folder.name}")
    if archive.is_dir():
        raise click.UsageError(f"--pack {archive}: is a directory; name the archive: {archive / folder.name}")
    if not archive.is_file():
        packed = pack_folder(folder, archive, None)
        if not given.dry_run:
            write_outputs([(archive, packed.data)], given.force)
        _show_packed(given, packed, archive, [] if given.dry_run else [archive])
        return
    with Games(f"gltf2msh {folder.name} --pack {archive.name}", "pack", dry_run=given.dry_run) as games:
        packed = pack_folder(folder, archive, games.was(archive), force=given.force)
        games.put(archive, packed.data, folder.name)
        wrote = games.commit()
        packed.warnings += games.messages
    _show_packed(given, packed, archive, wrote)
    if wrote and not (given.quiet or given.dry_run):
        say(f"  msh-mod undo {quoted(archive.parent)} takes it back")


def _show_packed(given: ToMsh, packed: Packed, archive: Path, wrote: list[Path]) -> None:
    from ..formats.nres import is_nres, read_nres
    from ..kinds.check import errors_of_entries
    from ..kinds.open_files import ENTRIES

    if folders := sorted(path.name for path in given.source.iterdir() if path.is_dir() and path.name != ENTRIES):
        packed.warnings.append(f"folders in it are not packed: {few([*map(called, folders)])}")
    changed = {*packed.changed, *packed.added}
    if changed and is_nres(packed.data):
        packed.warnings += errors_of_entries(read_nres(packed.data, str(archive)), archive, changed)
    for warning in packed.warnings:
        say(f"warning: {warning}", error=True)
    for difference in packed.not_applied:
        say(difference.line, error=True)
    if given.quiet:
        return
    for what, names in (("replaced", packed.changed), ("added", packed.added)):
        for name in names:
            say(f"  {what} entry {printable(name)}")
    done = "would write" if given.dry_run else "wrote"
    text = f"  {done} {archive} ({plural(len(packed.data), 'byte')})" if wrote else f"  {archive} has all of it already"
    say(text)
