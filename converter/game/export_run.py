"""Export a whole run: ``msh2gltf GAME_DIR -o OUT_DIR``."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from .. import MANIFEST, __version__
from ..errors import ConversionError, plural
from ..files import only_run
from ..formats.kinds import Kind
from ..kinds.appearance import with_libraries_around
from ..options import ExportOptions
from ..storage import remove_temporary
from .engine import ByName, Engine, Progress
from .manifest import Manifest, Record, has_journal, is_written, read_manifest, write_manifest
from .outcome import FAILED, Outcome, Run
from .pictures import picture_items
from .resume import ExportTask, Journal, unchanged_item
from .walk import Found, Item, Skipped, common_root, select, walk

#: What the workers do. It needs every decoder, which this process does without.
_EXPORT = ByName(f"{__package__}.export_item", "export_item")
#: What ``--only`` chooses.
ONLY = {
    "models": Kind.MODEL,
    "terrains": Kind.TERRAIN,
    "areal-maps": Kind.AREAL_MAP,
    "units": Kind.UNIT,
    "missions": Kind.MISSION,
}


def found_in(
    inputs: Sequence[Path],
    out: Path | None,
    include: Sequence[str],
    exclude: Sequence[str],
    only: Sequence[str] = (),
    *,
    in_game: bool = False,
    longer: bool = False,
) -> tuple[list[Item], Found]:
    """The models that a run is about, and all that was met on the way.

    Args:
        inputs: directories, archives, models.
        out: the output directory, which is not looked into.
        include, exclude: globs on ``path::entry``.
        only: keys of ``ONLY``; none: all of them.
        in_game, longer: as of :func:`~converter.game.walk.walk`.

    Raises:
        ConversionError: there is nothing to convert.
    """
    _, found = walk(inputs, out, in_game=in_game, longer=longer)
    items = select(found.items, include, exclude)
    kinds = [ONLY[name] for name in only]
    items = [item for item in items if not kinds or item.kind in kinds]
    if not items:
        where = ", ".join(map(str, inputs))
        if found.items:
            raise ConversionError(
                f"none of {len(found.items)} models is left by --include, --exclude and --only",
                file=where,
                hint="--list shows what they are matched with",
            )
        problem = "holds no core model"
        if found.unreadable:
            problem += f", and {found.unreadable[0].id} {found.unreadable[0].reason}"
        raise ConversionError(problem, file=where)
    return items, found


def run_options(sources: Sequence[Path], options: ExportOptions) -> ExportOptions:
    """Return the options of a run: the root's libraries come after those that the user named.

    Where the root has none, those of the folder around it.

    Pictures beside the glTF are one set for the whole run, so no other folder is searched.

    Args:
        sources: what the run converts.
        options: as the user gave them.

    Raises:
        ConversionError: the sources have no common directory.
    """
    root = common_root(sources).absolute()
    folders = with_libraries_around(root, [Path(folder) for folder in options.textures])
    return replace(options, textures=tuple(map(str, folders)), own_folder=bool(options.embed))


def export_run(
    items: Sequence[Item],
    found: Found,
    out: Path,
    options: ExportOptions,
    engine: Engine,
    progress: Progress,
    *,
    sidecar: bool = True,
    force: bool = False,
    dry_run: bool = False,
) -> Run:
    """Convert models into an output directory and write its manifest.

    Args:
        items, found: from :func:`found_in`.
        out: the output directory.
        options: how models become glTF.
        engine: where the work is done.
        progress: called after every item.
        sidecar: whether sidecars are written.
        force: convert and replace, whatever is there.
        dry_run: write nothing.

    Raises:
        ConversionError: the output directory cannot be used.
    """
    started = perf_counter()
    run = Run("msh2gltf", total=len(items), skipped=found.skipped, unreadable=found.unreadable)
    items = [*items, *picture_items(items, options)]
    with nullcontext() if dry_run else only_run(out):
        before = read_manifest(out) or Manifest(__version__)
        if not before.id and not (before.records and before.converter):
            before.id = secrets.token_hex(8)  # one that was written before it had ids keeps none
        if not dry_run:
            remove_temporary(out)
            if has_journal(out):
                write_manifest(out, before)
        manifest = Manifest(
            __version__,
            dict(before.records),
            {archive.source: archive for archive in found.archives},
            found.skipped,
            found.unreadable,
            id=before.id,
        )
        task = partial(
            ExportTask, out=str(out.absolute()), options=options, sidecar=sidecar, force=force, dry_run=dry_run
        )
        tasks = [task(item, before=before.records.get(item.target)) for item in items]
        journal = None if dry_run else Journal(out, found.archives)
        try:
            outcomes, run.interrupted = _export_all(
                tasks, manifest, journal, engine, progress, edits=_transactions(items)
            )
        finally:
            if journal is not None:
                journal.close()
                remove_temporary(out)  # of workers that died
        run.outcomes = [o for i, o in outcomes.items() if items[i].kind is not Kind.TEXTURE]
        run.textures = [o for i, o in outcomes.items() if items[i].kind is Kind.TEXTURE]
        if not dry_run:
            manifest.failed = [Skipped(o.id, o.detail) for o in run.everything if o.status == FAILED]
            if manifest != before or not is_written(out):
                _write_manifest(out, manifest, run)
    here = {item.target for item in [*found.items, *items]}
    if gone := len(manifest.records.keys() - here):
        run.notes.append(f"{plural(gone, 'model')} of earlier runs: not in the input, outputs kept")
    run.seconds = perf_counter() - started
    return run


def _export_all(
    tasks: Sequence[ExportTask],
    manifest: Manifest,
    journal: Journal | None,
    engine: Engine,
    progress: Progress,
    edits: int,
) -> tuple[dict[int, Outcome], bool]:
    """What :meth:`Engine.gather` returns; records go into the manifest and the journal."""

    def note(outcome: Outcome) -> None:
        if isinstance(outcome.result, Record):
            if outcome.status == "converted":
                outcome.result = replace(outcome.result, edits=edits)
            manifest.put(outcome.result)
            if journal is not None and outcome.status == "converted":
                journal.add(outcome.result)

    ids, sizes = [task.item.id for task in tasks], [task.item.size for task in tasks]
    return engine.gather(_EXPORT, tasks, progress, ids=ids, sizes=sizes, each=note, known=unchanged_item)


def _transactions(items: Sequence[Item]) -> int:
    """The last transaction on the game that is exported, in the history that an import reads."""
    from .vault import last_transaction  # a dry run needs none of it

    first = items[0]
    return last_transaction(Path(first.path).parents[first.source.count("/")])


def _write_manifest(out: Path, manifest: Manifest, run: Run) -> None:
    try:
        write_manifest(out, manifest)
    except ConversionError as error:  # what was converted is there all the same
        run.unreadable = [*run.unreadable, Skipped(MANIFEST, str(error))]
