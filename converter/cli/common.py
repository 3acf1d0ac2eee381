"""What the commands share: exit codes, output, runs."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..errors import ConversionError, plural, printable, shortened
from ..language import LANGUAGES, VARIABLE, in_language
from .options import Option, with_bare_values, write_options

if TYPE_CHECKING:
    from rich.console import Console

    from ..game.outcome import Run
    from ..game.workers import Engine
    from .given import Given

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
#: A signal's number is added.
EXIT_SIGNAL = 128
EXIT_NO_READER = 141
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


STDOUT = "-"


version_option = click.version_option(__version__, "-V", "--version", prog_name="msh-gltf")


def language_option() -> click.Option:
    """Return ``--lang``, which is refused or kept here: ``converter.language`` reads it before anything is printed."""
    text = f"Language of messages; {VARIABLE} sets it for all commands. Help, JSON, reports and logs stay English."
    attributes: dict[str, Any] = {"type": click.Choice(LANGUAGES), "envvar": VARIABLE, "expose_value": False}
    return Option(["--lang"], group="report", example="{one} --lang ru", help=text, default_text="en", **attributes)


class Command(click.Command):
    """A command whose reader may go away (``| head``): silence, and the code of SIGPIPE.

    click would exit with 1, which means something here.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(language_option())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _may_lose_reader():
            return super().make_context(*arguments, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_bare_values(self, args))

    def invoke(self, ctx: click.Context) -> Any:
        with _may_lose_reader():
            return super().invoke(ctx)


@contextlib.contextmanager
def _may_lose_reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        # keep Python from saying it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(EXIT_NO_READER)


def write_stdout(data: bytes) -> None:
    if sys.stdout is None:
        raise ConversionError("standard output is closed", hint="-o FILE writes a file")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say_written(files: Sequence[tuple[Path, bytes]], written: Collection[Path]) -> None:
    """Print a line for each output: what was written, and what had these bytes already."""
    for path, data in files:
        if path in written:
            say(f"  wrote {path} ({plural(len(data), 'byte')})")
        else:
            say(f"  {path} is there already, with the same bytes")


def output_path(output: str | None, default_name: str, suffixes: tuple[str, ...]) -> Path:
    """Where to write: a file, or a default name inside a directory, which need not exist yet.

    Raises:
        click.UsageError: a file name with another ending, or of a device.
    """
    if output is None:
        return Path(default_name)
    refuse_device(output)
    path = Path(output)
    if path.is_dir() or output.endswith(("/", os.sep)):
        return path / default_name
    if path.suffix.lower() in suffixes:
        return path
    if path.suffix or path.exists():
        endings = " or ".join(filter(None, [", ".join(suffixes[:-1]), suffixes[-1]]))
        problem = f"-o {output}: expected a directory or a file ending in {endings}"
        new = "" if path.exists() else f" ({output}/ is a new directory)"
        raise click.UsageError(problem + new)
    return path / default_name


def refuse_device(output: str) -> None:
    """Stop where Windows takes a part of a path for a device: ``con.glb``, ``out/aux/``."""
    from ..formats.names import is_device

    for part in PureWindowsPath(output).parts if sys.platform == "win32" else ():
        if is_device(PureWindowsPath(part)):
            problem = f"-o {output}: Windows takes {part} for a device, choose another name"
            raise click.UsageError(problem)


#: First bytes and endings of the files that only one of the commands reads.
_GLTF_START, _GLTF_ENDINGS = b"glTF", (".glb", ".gltf", ".obj")
_GAME_STARTS = (b"NRes", b"Texm")
_SIDECAR_START = b"MSHS"


def refuse_other_direction(sources: Sequence[Path], *, to_gltf: bool) -> None:
    """Stop where all inputs are files that the other command reads."""
    for source in sources:
        if not source.is_file():
            return
        with source.open("rb") as file:
            head = file.read(4)
        if head == _SIDECAR_START:
            raise ConversionError("is a sidecar", file=str(source), hint="gltf2msh reads it with the glTF beside it")
        from_game = head in _GAME_STARTS
        gltf = head == _GLTF_START or source.suffix.lower() in _GLTF_ENDINGS
        if not (gltf and not from_game if to_gltf else from_game):
            return
    what, command = ("glTF or OBJ", "gltf2msh") if to_gltf else ("a file of the game", "msh2gltf")
    raise ConversionError(f"is {what}", file=str(sources[0]), hint=f"{command} converts it")


def say(*fields: str, error: bool = False) -> None:
    """Print one line, in the user's language, safe for terminals whatever names it holds.

    Everything that the commands print goes through here or :func:`console`.
    """
    text = "\t".join(in_language(printable(field)) for field in fields)
    click.echo(shortened(text) if error else text, err=error)


@contextlib.contextmanager
def said_aloud(command: str) -> Iterator[None]:
    """Print what the work itself tells of what takes long."""
    import logging

    class Aloud(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(f"{command}: {record.getMessage()} ...", error=True)

    log, handler = logging.getLogger("msh_gltf"), Aloud()
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def console() -> Console:
    """Return a console for tables and colours: in the user's language, and as safe as :func:`say`."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.tree import Tree

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(*(translated(one) for one in objects), **options)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                lines = text if control else "\n".join(map(printable, text.split("\n")))
                yield Segment(lines, style, control)

    def translated(what: Any) -> Any:
        if isinstance(what, Table):
            what.title = translated(what.title)
            for column in what.columns:
                if column.header != "name":  # a name may be a word of ours
                    column._cells = [*map(translated, column._cells)]
                column.header = translated(column.header)
        elif isinstance(what, Tree):
            what.label = translated(what.label)
        return in_language(what) if isinstance(what, str) else what

    out = sys.stdout or io.StringIO()  # closed: nobody listens
    # a pipe has no width: leave room for a table's row
    width = None if out.isatty() else 120
    return Screen(file=out, highlight=False, emoji=False, width=width)


def print_json(data: dict[str, Any]) -> None:
    import json

    text = json.dumps(data, ensure_ascii=False, indent=1)
    # JSON leaves some characters as they are that a terminal obeys
    click.echo(re.sub(r"[^\n -~]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text))


def engine(given: Given) -> Engine:
    """Return what does the work of a run."""
    from ..game.workers import Engine, cores

    return Engine(given.jobs or cores(), given.dask, given.fail_fast)


def finish(run: Run, given: Given, report: Path | None, closing: str) -> None:
    """Report, summary and exit code of a run."""
    from ..game.outcome import show_summary, write_report

    if report is not None:
        write_report(run, report)
    for outcome in run.everything:
        for difference in outcome.not_applied:
            say(f"not applied: {outcome.id}: {difference}", error=True)
    if given.quiet:
        for id, error in run.failures:
            say(f"{run.command}: {id}: {error}", error=True)
    else:
        show_summary(console(), run, given.verbose)
        say("dry run: nothing was written" if given.dry_run else closing)
    if run.exit_code:
        sys.exit(run.exit_code)
