"""``msh2gltf ARCHIVE --unpack DIR`` and ``gltf2msh DIR --pack ARCHIVE``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..errors import ConversionError, plural, printable, quoted
from ..files import read_file
from ..game.archive_folder import Packed, pack_folder, unpacked_files
from ..game.games import Games
from ..game.walk import RSLI, files_below, foreign, text_of
from ..storage import write_outputs
from .common import say


def unpack(sources: tuple[Path, ...], folder: Path, layout: str, *, force: bool, quiet: bool) -> None:
    """Unpack an archive into a folder; of a directory, each archive below it into a folder of its path."""
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(f"--unpack {folder}: expected a directory")
    if len(sources) == 1 and not sources[0].is_dir():
        _unpack(sources[0], folder, layout, force, quiet)
        return
    from ..formats.kinds import Kind, file_kind
    from ..kinds.open_files import open_nres

    failed = count = 0
    for source, path, reason in files_below(sources, folder).opened:
        kind = foreign(path)
        if reason or kind not in (None, RSLI):
            continue
        try:
            if kind == RSLI or file_kind(open_nres(path, source)) is Kind.ARCHIVE:
                _unpack(path, folder / text_of(Path(source)), layout, force, quiet)
                count += 1
        except ConversionError as error:
            say(f"msh2gltf: {error}", error=True)
            failed += 1
    if not (count or failed):
        raise click.UsageError(f"{sources[0]} holds no archive")
    if failed:
        sys.exit(1)


def _unpack(path: Path, folder: Path, layout: str, force: bool, quiet: bool) -> None:
    made = unpacked_files(bytes(read_file(path)), str(path), layout)
    files = [(folder / file, data) for file, data in made.items()]
    written = write_outputs(files, force)
    if not quiet:
        say(f"{path.name}: {plural(len(files), 'file')} in {folder}, {len(written)} of them written")


def pack(folder: Path, archive: Path, *, force: bool, quiet: bool, dry_run: bool) -> None:
    """Pack a folder; an archive that is there is changed like the game's files, with its original kept."""
    if not folder.is_dir():
        raise click.UsageError(f"--pack takes a directory that an archive was unpacked into, not {folder.name}")
    if archive.is_dir():
        raise click.UsageError(f"--pack {archive}: is a directory; name the archive: {archive / folder.name}")
    if not archive.is_file():
        packed = pack_folder(folder, archive, None)
        if not dry_run:
            write_outputs([(archive, packed.data)], force)
        _show(packed, archive, [] if dry_run else [archive], quiet, dry_run)
        return
    with Games(f"gltf2msh {folder.name} --pack {archive.name}", "pack", dry_run=dry_run) as games:
        packed = pack_folder(folder, archive, games.was(archive), force=force)
        games.put(archive, packed.data, folder.name)
        wrote = games.commit()
        packed.warnings += games.messages
    _show(packed, archive, wrote, quiet, dry_run)
    if wrote and not (quiet or dry_run):
        say(f"  msh-mod undo {quoted(archive.parent)} takes it back")


def _show(packed: Packed, archive: Path, wrote: list[Path], quiet: bool, dry_run: bool) -> None:
    for warning in packed.warnings:
        say(f"warning: {warning}", error=True)
    for difference in packed.not_applied:
        say(difference.line, error=True)
    if quiet:
        return
    for what, names in (("replaced", packed.changed), ("added", packed.added)):
        for name in names:
            say(f"  {what} entry {printable(name)}")
    done = "would write" if dry_run else "wrote"
    text = f"  {done} {archive} ({plural(len(packed.data), 'byte')})" if wrote else f"  {archive} has all of it already"
    say(text)
