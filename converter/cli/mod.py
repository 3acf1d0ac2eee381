"""``msh-mod``: what was changed in a game, undo, and mods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConversionError, plural, printable
from .common import FILE, SETTINGS, Command, language_option, print_json, refuse_device, say, version_option

if TYPE_CHECKING:
    from ..game.edits import GameEdits
    from ..game.mods import Mod

_GAME = click.argument("game", metavar="GAME", type=FILE)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what would change; write nothing.")


class _Group(click.Group):
    """Commands whose reader may go away, in the order in which they are declared."""

    command_class = Command

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(language_option())

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


@click.group(
    cls=_Group,
    name="msh-mod",
    context_settings=SETTINGS,
    help="""Show, undo and share what was changed in a game of Parkan: Iron Strategy.

\b
Examples:
  msh-mod status GAME                          what differs from the originals, since when
  msh-mod undo GAME                            take the last change back
  msh-mod undo GAME 3                          take change number 3 back
  msh-mod restore GAME                         everything as it was, byte for byte
  msh-mod make GAME towers.zip --name Towers   a mod: what you changed, nothing of the game
  msh-mod show towers.zip GAME                 what a mod changes
  msh-mod install towers.zip GAME
  msh-mod list GAME                            the mods that are installed
  msh-mod remove Towers GAME

GAME is the game's folder, or an archive outside of one. The originals and the history lie in
GAME/.msh-gltf; nothing is ever removed from there. With --lang ru, or MSH_GLTF_LANG=ru, messages are
in Russian. Exit codes: 0 done, 2 refused, with the reason.
""",
)
@version_option
def command() -> None:
    """The group; its commands follow."""


@command.command(help="Show what differs from the game's originals, and who changed it when.")
@_GAME
@_JSON
def status(game: Path, as_json: bool) -> None:
    from ..game import undo
    from ..game.transaction import stopped_run
    from ..game.vault import Vault
    from ..storage import VAULT

    root = _root(game)
    _warn(stopped_run(Vault(root)))
    found = undo.status(root)
    if as_json:
        print_json(asdict(found))
        return
    files = sorted({change.file for change in found.changes})
    for file in files:
        say(printable(file))
        for change in (one for one in found.changes if one.file == file):
            what = change.entry or "the file"
            new = ", new" if change.is_new else ""
            source = f", from {change.item}" if change.item else ""
            say(f"  {what}{new}: change {change.number}, {change.time[:16]}{source}")
    for file, what in sorted(found.foreign.items()):
        say(f"{printable(file)} {what}")
    for one in found.transactions:
        undone = " (taken back)" if one["undone"] else ""
        files_of = ", ".join(map(printable, one["files"]))
        say(f"{one['number']}: {one['time'][:16]} {one['command']}: {files_of}{undone}")
    if not found.transactions:
        say("nothing was changed here")
    elif not found.changes:
        say("nothing of that is in force" + ("" if found.foreign else ": the game is as it was"))
    if found.sizes:
        say(
            f"originals {_size(found.sizes.get('originals', 0))}, "
            f"changes {_size(found.sizes.get('changes', 0))} in {Path(found.root, VAULT)}"
        )


@command.command(help="Take the last change of a game back, or change number N.")
@_GAME
@click.argument("number", metavar="[N]", type=click.IntRange(min=1), required=False)
@_DRY_RUN
def undo(game: Path, number: int | None, dry_run: bool) -> None:
    from ..game.undo import undo

    with _door(game, "msh-mod undo", "msh-mod", dry_run) as door:
        taken = undo(door, number)
        record = door.history.record(taken) or {}
        wrote = door.commit("undo", undoes=taken)
        _report(door, wrote, f"change {taken} ({record.get('command', '')}) is taken back", dry_run)


@command.command(help="Take all changes out of a game, or out of some of its files.")
@_GAME
@click.argument("files", metavar="[FILE...]", nargs=-1)
@click.option(
    "--to", metavar="DIGEST", help="Give FILE this kept state, by the first digits of its SHA-256 (see status --json)."
)
@_DRY_RUN
def restore(game: Path, files: tuple[str, ...], to: str | None, dry_run: bool) -> None:
    from ..game.undo import restore

    if to is not None and len(files) != 1:
        raise click.UsageError("--to is for one file: name it after GAME")
    with _door(game, "msh-mod restore", "msh-mod", dry_run) as door:
        names = [file.replace("\\", "/").strip("/") for file in files]
        known = {file.lower(): file for file in door.history.files}
        names = [name if name in door.history.files else known.get(name.lower(), name) for name in names]
        door.messages += (kept := restore(door, names or None, to=to))
        wrote = door.commit("restore")
        as_it_was = "has no change of ours" if kept else "is as it was"
        what = as_it_was if to is None else f"is {to} again"
        _report(door, wrote, f"{', '.join(files) or str(game)} {what}", dry_run)


@command.command(help="Make a mod of what you changed; it holds nothing of the game's files.")
@_GAME
@click.argument("mod", metavar="MOD.zip", type=FILE)
@click.option("--name", required=True, metavar="NAME", help="What the mod is called.")
@click.option("--author", default="", metavar="NAME", help="Who made it.")
@click.option("--version", default="", metavar="TEXT", help="Its version.")
@click.option("--licence", default="", metavar="TEXT", help="What others may do with it.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Only these files or entries, as 'static.rlb'.")
@click.option("--force", is_flag=True, help="Replace a mod that exists.")
def make(
    game: Path, mod: Path, name: str, author: str, version: str, licence: str, only: tuple[str, ...], force: bool
) -> None:
    from ..game.mods import make_mod, write_mod
    from ..game.vault import Vault
    from ..storage import write_outputs

    refuse_device(str(mod))
    if mod.suffix.lower() != ".zip":
        raise click.UsageError(f"{mod}: expected a file ending in .zip")
    vault = Vault(_root(game))
    if vault.exists and vault.intent() is not None:
        with _door(game, "msh-mod make", "msh-mod", dry_run=False):
            pass  # what a killed run left is ended: the files of the game may show it already
    made = make_mod(vault.root, name, author=author, version=version, licence=licence, only=only)
    data = write_mod(made)
    write_outputs([(mod, data)], force)
    for change in made.changes:
        say(f"  {change.text}: {plural(len(change.stored), 'byte')}")
    say(f"wrote {mod} ({plural(len(data), 'byte')}, {plural(len(made.changes), 'change')})")


@command.command(help="Show what a mod changes; with the game, whether it fits.")
@click.argument("mod", metavar="MOD.zip", type=FILE)
@click.argument("game", metavar="[GAME]", type=FILE, required=False)
@_JSON
@click.option("--textures", metavar="DIR", type=FILE, help="Write changed textures, before and after, as PNG.")
def show(mod: Path, game: Path | None, as_json: bool, textures: Path | None) -> None:
    from ..game.mods import describe, install, read_mod, shown_textures
    from ..storage import write_outputs

    if textures is not None and game is None:
        raise click.UsageError("--textures needs the game: name it after MOD.zip")
    found = read_mod(mod)
    problem = ""
    if game is not None:
        with _door(game, "msh-mod show", found.owner, dry_run=True) as door:
            try:
                install(door, found)
                if textures is not None:
                    pictures = [(textures / n, data) for n, data in shown_textures(door, found)]
                    write_outputs(pictures, force=False)
            except ConversionError as error:
                problem = str(error)
    if as_json:
        facts = {k: v for k, v in asdict(found).items() if k != "changes"}
        rows = [
            {
                "file": c.file,
                "entry": c.slot.text,
                "size": len(c.stored),
                "before": c.before,
                "after": c.after,
                "changes": describe(c),
            }
            for c in found.changes
        ]
        print_json({**facts, "changes": rows, "problem": problem})
        return
    say(_title(found))
    for change in found.changes:
        say(f"  {change.text}" + ("" if change.before else " (new)"))
        for line in describe(change):
            say(f"    {line}")
    if game is not None:
        say(problem or f"it can be installed into {game}")


@command.command(help="Install a mod into a game, as one change that undo and remove take back.")
@click.argument("mod", metavar="MOD.zip", type=FILE)
@_GAME
@_DRY_RUN
def install(mod: Path, game: Path, dry_run: bool) -> None:
    from ..game.mods import install, read_mod

    found = read_mod(mod)
    with _door(game, f"msh-mod install {mod.name}", found.owner, dry_run) as door:
        install(door, found)
        facts = {key: getattr(found, key) for key in ("name", "author", "version", "licence")}
        wrote = door.commit("install", mod=facts)
        _report(door, wrote, f"{_title(found)} is installed in {game}", dry_run)


@command.command("list", help="List the mods that are installed in a game.")
@_GAME
@_JSON
def list_(game: Path, as_json: bool) -> None:
    from ..game.mods import installed
    from ..game.transaction import stopped_run
    from ..game.vault import Vault

    root = _root(game)
    _warn(stopped_run(Vault(root)))
    found = installed(root)
    if as_json:
        print_json({"mods": found})
        return
    for one in found:
        version = f" {one['version']}" if one["version"] else ""
        author = f" by {one['author']}" if one["author"] else ""
        entries = plural(one["entries"], "change")
        say(f"{one['name']}{version}{author}: {entries}, installed {one['time'][:16]}")
    if not found:
        say("no mod is installed")


@command.command(help="Take a mod out of a game.")
@click.argument("name", metavar="NAME")
@_GAME
@_DRY_RUN
def remove(name: str, game: Path, dry_run: bool) -> None:
    from ..game.mods import remove

    with _door(game, f"msh-mod remove {name}", "msh-mod", dry_run) as door:
        remove(door, name)
        wrote = door.commit("remove")
        _report(door, wrote, f"{name} is out of {game}", dry_run)


def _root(game: Path) -> Path:
    from .. import MANIFEST
    from ..files import foreign_file, read_file
    from ..game.vault import find_root
    from ..storage import VAULT, not_there

    if not game.exists():
        raise not_there(game)
    if game.is_file() and foreign_file(read_file(game)[:8]) is not None:
        raise ConversionError("is not a game", file=str(game), hint="name the game's folder")
    if (game / MANIFEST).is_file() and not (game / VAULT).is_dir():
        raise ConversionError("is what msh2gltf wrote", file=str(game), hint="name the game's folder")
    return find_root(game)


@contextlib.contextmanager
def _door(game: Path, command: str, owner: str, dry_run: bool) -> Iterator[GameEdits]:
    from ..game.edits import GameEdits

    with GameEdits(_root(game), command, owner, dry_run=dry_run) as door:
        _warn(door.messages)  # before anything is written
        yield door


def _warn(messages: list[str]) -> None:
    for message in messages:
        say(f"warning: {message}", error=True)
    messages.clear()


def _report(door: GameEdits, wrote: list[str], closing: str, dry_run: bool) -> None:
    _warn(door.messages)
    for file in wrote:
        say(f"  {'would write' if dry_run else 'wrote'} {printable(file)}")
    say("dry run: nothing was written" if dry_run else closing)


def _title(mod: Mod) -> str:
    version = f" {mod.version}" if mod.version else ""
    author = f" by {mod.author}" if mod.author else ""
    return f"{mod.name}{version}{author}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else plural(count, "byte")
