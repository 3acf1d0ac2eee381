"""The functions of the library; ``msh_gltf`` re-exports them.

They join what the packages below do. Paths are text or ``pathlib.Path``. Nothing is printed, and
every error that a user can cause is a :class:`~converter.errors.ConversionError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from .converter.errors import ConversionError, machine_errors
from .converter.files import read_file
from .converter.formats import areal_map, terrain
from .converter.formats.areal_map import ArealMap, write_areal_map
from .converter.formats.kinds import Kind, find_model
from .converter.formats.model import MshModel, model_at, write_model
from .converter.formats.nres import Archive, read_nres
from .converter.formats.terrain import Terrain, write_terrain
from .converter.game.export_run import export_run, found_in, run_options
from .converter.game.games import Games, files_of, write_files
from .converter.game.import_run import import_run
from .converter.game.inspect import check_tasks
from .converter.game.manifest import Outcome, Run
from .converter.game.new_models import plan_libraries
from .converter.game.walk import select, walk
from .converter.game.workers import Engine
from .converter.game.write_game import Places
from .converter.kinds import open_files
from .converter.kinds.check import Checked, check_file
from .converter.kinds.import_result import ImportResult
from .converter.options import ExportOptions, ImportOptions

#: A path as text, or a ``pathlib.Path``.
FilePath = str | os.PathLike[str]
#: Called after every item: its outcome, how many are done, how many there are.
OnItem = Callable[[Outcome, int, int], None]


def read_msh(path: FilePath, entry: str | None = None) -> MshModel:
    """Read a core model.

    Args:
        path: a ``.msh`` file, or an archive that holds models.
        entry: the archive entry, by name (in any case) or directory index; not needed where the
            file is a model or holds just one.

    Returns:
        The model's tables, as in the file. They are not checked: :func:`check` does.

    Raises:
        ConversionError: unreadable, no such entry, not a model, or a table of an impossible size.

    Examples:
        >>> model = read_msh("walker.msh")
        >>> model.positions.shape, len(model.nodes)
        ((624, 3), 11)
    """
    return open_files.read_msh(Path(path), entry)


def read_terrain(path: FilePath, entry: str | None = None) -> Terrain:
    """Read a terrain (``Land.msh``); arguments and errors as of :func:`read_msh`."""
    return terrain.read_terrain(*_container(path, entry))


def read_areal_map(path: FilePath, entry: str | None = None) -> ArealMap:
    """Read an areal map (``Land.map``); arguments and errors as of :func:`read_msh`."""
    return areal_map.read_areal_map(_container(path, entry)[0])


def open_archive(path: FilePath) -> Archive:
    """Open an archive (NRes: ``.rlb``, ``.lib``, ``.msh``); a payload is read when it is used.

    Raises:
        ConversionError: unreadable, or a directory that contradicts the file.

    Examples:
        >>> archive = open_archive("textures/Textures.lib")
        >>> [entry.name for entry in archive.entries][:2]
        ['DEFAULT.0', 'armour.0']
        >>> archive.find("ARMOUR.0"), archive.entries[1].size
        (1, 10954)
    """
    return open_files.open_nres(Path(path), str(path))


def read_models(
    path: FilePath,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    on_error: Callable[[ConversionError], None] | None = None,
) -> Iterator[MshModel]:
    """Iterate over the core models of a file, an archive, or everything below a directory.

    Args:
        path: what to look through; files are recognised by content.
        include, exclude: globs on ``path::entry``, as those of ``msh2gltf``.
        on_error: called with the error of each model or file that cannot be read, which is then
            skipped; by default the error is raised.

    Raises:
        ConversionError: the path does not exist; or, without ``on_error``, a model is unreadable.

    Examples:
        >>> {model.name: len(model.batches) for model in read_models(".")}
        {'hangar.msh': 9, 'tree.msh': 5, 'walker.msh': 26}
    """

    def failed(error: ConversionError) -> None:
        if on_error is None:
            raise error
        on_error(error)

    found = walk([Path(path)])
    items = [item for item in select(found.items, include, exclude) if item.kind is Kind.MODEL]

    def models() -> Iterator[MshModel]:
        for broken in found.unreadable:
            failed(ConversionError(broken.reason, file=broken.id))
        archive = None
        for item in items:
            try:
                if archive is None or archive.label != item.path:
                    archive = open_files.open_nres(Path(item.path), item.path)
                model = model_at(archive, item.index, item.name)
            except ConversionError as error:
                failed(error)
                continue
            yield model

    return models()


def write_msh(
    model: ImportResult | MshModel | Terrain | ArealMap, path: FilePath, *, force: bool = False
) -> list[Path]:
    """Write a model, a terrain or an areal map; tables that were not replaced keep their bytes.

    Args:
        model: what :func:`import_gltf` returned, or tables. A model that was rebuilt without a
            sidecar gets a ``.wea`` beside it, which names its materials; a ``.wea`` that exists
            stays, unless ``force`` is set (``model.warnings`` then says so). Edited and new entries
            of the game's libraries become files beside it, too, as ``gltf2msh`` writes them.
        path: a ``.msh`` or ``.map``.
        force: replace files that exist.

    Returns:
        The paths that were written.

    Raises:
        ConversionError: another suffix, a file exists, or tables that no file can hold.

    Examples:
        >>> _ = export_gltf(read_msh("walker.msh"), "walker.glb")
        >>> [path.name for path in write_msh(import_gltf("walker.glb"), "back.msh")]
        ['back.msh']
    """
    target = with_suffix(path, ".msh", ".map")
    if isinstance(model, ImportResult):
        files = files_of(target, model, force=force)
    else:
        files = [(target, bytes_of(model))]
    with machine_errors():
        write_files(files, force, "msh_gltf.write_msh")
    return [file for file, _ in files]


def write_libraries(result: ImportResult, game: FilePath, *, like: str = "") -> list[Path]:
    """Write what an edited model changes in the game's ``Material.lib`` and ``Textures.lib``.

    Only the entries that are edited or new differ; the game's vault keeps what was there.
    :func:`write_msh` makes files of the entries instead, where no game is at hand.

    Args:
        result: what :func:`import_gltf` returned; its warnings and ``not_applied`` grow.
        game: the folder with the libraries.
        like: the material that new ones are made like; by default ``DEFAULT``.

    Returns:
        The libraries that changed.

    Raises:
        ConversionError: no material ``like``, a library is unusable, or an entry changed meanwhile.

    Examples:
        >>> _ = export_gltf(read_msh("walker.msh"), "walker.glb")
        >>> write_libraries(import_gltf("walker.glb"), "textures")
        []
    """
    with machine_errors(), Games("msh_gltf.write_libraries", "into") as games:
        plan = plan_libraries(games, [Path(game)], result, like=like)
        plan.put()
        wrote = games.commit()
    result.differences.not_applied += plan.not_applied
    result.differences.warnings += [*plan.messages, *games.messages]
    return wrote


def convert_directory(
    game: FilePath,
    out: FilePath,
    *,
    options: ExportOptions | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    sidecar: bool = True,
    force: bool = False,
    dry_run: bool = False,
    jobs: int = 0,
    on_item: OnItem | None = None,
) -> Run:
    """Convert every model below a directory, or of an archive: ``msh2gltf GAME -o OUT``.

    The same call again converts only what changed.

    Args:
        game: a directory or an archive.
        out: the output directory; ``manifest.json`` in it says what came from where.
        options: by default those of ``msh2gltf``; pictures are shared, in ``out/textures``.
        include, exclude: globs on ``path::entry``.
        sidecar: whether sidecars are written.
        force: convert and replace, whatever is there.
        dry_run: write nothing.
        jobs: number of processes that do the work, by default none but this one.
        on_item: called after every model.

    Returns:
        The outcome of every model; a model that fails stops no other (``Run.failures``).

    Raises:
        ConversionError: nothing to convert, or the output directory cannot be used.

    Examples:
        >>> run = convert_directory(".", "out")
        >>> run.counts, run.failures
        ({'converted': 3}, [])
    """
    sources, target = [Path(game)], Path(out)
    options = run_options(sources, options or ExportOptions())
    engine, display = Engine(jobs), on_item or (lambda *_: None)
    with machine_errors():
        longer = options.mode == "tolerant"
        items, found = found_in(sources, target, include, exclude, longer=longer)
        run = export_run(items, found, target, options, engine, display, sidecar=sidecar, force=force, dry_run=dry_run)
    return _completed(run)


def restore_directory(
    gltf: FilePath,
    game: FilePath,
    out: FilePath | None = None,
    *,
    in_place: bool = False,
    options: ImportOptions | None = None,
    add: bool = False,
    tag: str | None = None,
    require_all: bool = False,
    force: bool = False,
    dry_run: bool = False,
    jobs: int = 0,
    on_item: OnItem | None = None,
) -> Run:
    """Put what changed in a converted directory back: ``gltf2msh GLTF --game GAME -o OUT``.

    Args:
        gltf: the directory that :func:`convert_directory` wrote.
        game: the game that it was made from.
        out: a new directory for a copy of the game with the changes.
        in_place: change the game itself, instead of a copy; its vault keeps what was there.
        options: by default those of ``gltf2msh``.
        add: make entries of new glTF files in the folder of an archive.
        tag: what these are in the object registry (``"STAT"``), which gets keys for them.
        require_all: write nothing where a difference cannot be applied.
        force: replace what is in the way.
        dry_run: write nothing.
        jobs: number of processes that do the work, by default none but this one.
        on_item: called after every model that was compared and every file that was written.

    Returns:
        The outcome of every model.

    Raises:
        ConversionError: no manifest, overlapping directories, or something is in the way.
        ValueError: neither ``out`` nor ``in_place``, or both.

    Examples:
        >>> _ = convert_directory(".", "../glTF")
        >>> restore_directory("../glTF", ".", "../new").counts
        {'unchanged': 3}
    """
    if in_place == (out is not None):
        raise ValueError("restore_directory needs either out or in_place=True")
    places = Places(Path(gltf), Path(game), None if out is None else Path(out))
    display = on_item or (lambda *_: None)
    with machine_errors():
        run = import_run(
            places,
            options or ImportOptions(),
            Engine(jobs),
            lambda *_: nullcontext(display),
            add=add,
            tag=tag,
            require_all=require_all,
            force=force,
            dry_run=dry_run,
        )
    return _completed(run)


def check(path: FilePath, *, game: FilePath | None = None) -> list[Checked]:
    """Check a file, an archive, or everything below a directory: ``msh-inspect --check``.

    Args:
        path: what to check; files of other kinds are left out.
        game: a directory whose libraries tell which materials and textures exist; by default
            those beside the file.

    Returns:
        What was found about each file and each entry, valid ones too: those have no findings. A
        file that cannot be read is a finding.

    Raises:
        ConversionError: the path does not exist.

    Examples:
        >>> [(checked.id, checked.kind, checked.findings) for checked in check("walker.msh")]
        [('walker.msh', 'core model', [])]
    """
    tasks, run = check_tasks([Path(path)])
    folders = [] if game is None else [Path(game)]
    for task in tasks:
        run.checked += check_file(Path(task.path), task.source, [*folders, *map(Path, task.folders)], known=task.known)
    return run.checked


def _container(path: FilePath, entry: str | None) -> tuple[Archive, str]:
    """Return the container of a terrain or an areal map, and its name."""
    archive = read_nres(read_file(Path(path)), str(path))
    index = find_model(archive, entry)
    if index is None:
        return archive, Path(path).name
    member = archive.entries[index]
    return read_nres(member.payload, archive.label), member.name


def bytes_of(model: MshModel | Terrain | ArealMap) -> bytes:
    """Return the bytes of a model, a terrain or an areal map; what was not replaced keeps its own."""
    if isinstance(model, MshModel):
        return write_model(model)
    return write_terrain(model) if isinstance(model, Terrain) else write_areal_map(model)


def with_suffix(path: FilePath, *suffixes: str) -> Path:
    """Return a path that has one of the suffixes.

    Raises:
        ConversionError: it has another.
    """
    if Path(path).suffix.lower() not in suffixes:
        expected = f"a file ending in {' or '.join(suffixes)}"
        raise ConversionError("cannot be written", file=str(path), expected=expected)
    return Path(path)


def _completed(run: Run) -> Run:
    """Return a run that was not interrupted; the caller of a library gets its Ctrl-C."""
    if run.interrupted:
        raise KeyboardInterrupt
    return run
