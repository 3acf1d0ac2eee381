"""What the commands share: options, exit codes, output."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..errors import ConversionError, plural, printable
from .options import option, write_options

if TYPE_CHECKING:
    from rich.console import Console

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
#: A signal's number is added.
EXIT_SIGNAL = 128
EXIT_NO_READER = 141
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _FilePath(click.Path):
    """A path that is not empty, as that of a shell's variable that nobody set is."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("an empty path", param, ctx)
        return super().convert(value, param, ctx)


FILE = _FilePath(path_type=Path)
#: The same as text, which may be ``-``.
OUTPUT = _FilePath()
STDOUT = "-"


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


dialect_option = option(
    "input",
    "--dialect",
    type=click.Choice(["auto", "spec", "retail"]),
    default="auto",
    show_default=True,
    help="How to read the fields that readers of the game disagree on; auto decides from the file and says why.",
    example="{one} --dialect retail",
)
entry_option = option(
    "input",
    "--entry",
    metavar="NAME",
    help="The model inside an archive, by entry name or number.",
    example="{library} --entry r_h_01.msh",
)
output_options = options(
    option("output", "--force", is_flag=True, help="Replace outputs that exist.", example="{one} --force"),
    option("report", "-q", "--quiet", is_flag=True, help="Say nothing but errors.", example="{one} --force --quiet"),
    option(
        "report",
        "-v",
        "--verbose",
        is_flag=True,
        help="Say more: evidence, findings, notes.",
        example="{one} --force --verbose",
    ),
)
mode_options = options(
    option(
        "input",
        "--strict",
        is_flag=True,
        help="Refuse what breaks any rule, as msh-inspect --check --strict.",
        example="msh2gltf robot.msh --strict -o strict/",
    ),
    option(
        "input",
        "--tolerant",
        is_flag=True,
        help="Leave out what is broken locally and report it; the import restores it.",
        example="msh2gltf broken.msh --tolerant -o whole/",
    ),
)
version_option = click.version_option(__version__, "-V", "--version", prog_name="msh-gltf")


class Command(click.Command):
    """A command whose reader may go away (``| head``): silence, and the code of SIGPIPE.

    click would exit with 1, which means something here.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _may_lose_reader():
            return super().make_context(*arguments, **options)

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
    """Stop where Windows takes a part of a path for a device: ``con.glb``, ``out/aux/``.

    Raises:
        click.UsageError: naming the part.
    """
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
    """Stop where all inputs are files that the other command reads.

    Args:
        sources: what the user named; reading what is not a file reports what is wrong with it.
        to_gltf: whether the command is ``msh2gltf``.

    Raises:
        ConversionError: naming the command to use.
    """
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
    """Print one line, safe for terminals whatever names it holds.

    Everything that the commands print goes through here or :func:`console`.

    Args:
        fields: what to print, with tabs between.
        error: print to standard error.
    """
    click.echo("\t".join(map(printable, fields)), err=error)


def console() -> Console:
    """Return a console for tables and colours, as safe as :func:`say`."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                lines = text if control else "\n".join(map(printable, text.split("\n")))
                yield Segment(lines, style, control)

    out = sys.stdout or io.StringIO()  # closed: nobody listens
    # a pipe has no width: leave room for a table's row
    width = None if out.isatty() else 120
    return Screen(file=out, highlight=False, emoji=False, width=width)


def print_json(data: dict[str, Any]) -> None:
    import json

    text = json.dumps(data, ensure_ascii=False, indent=1)
    # JSON leaves some characters as they are that a terminal obeys
    click.echo(re.sub(r"[^\n -~]", lambda c: c[0] if c[0].isprintable() else _in_json(c[0]), text))


def _in_json(character: str) -> str:
    """A character as an escape of JSON."""
    import json

    return json.dumps(character)[1:-1]


batch_options = options(
    option(
        "run",
        "-j",
        "--jobs",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Processes to work with.",
        default_text="one per core",
        example="{run} --jobs 2",
    ),
    option("run", "--fail-fast", is_flag=True, help="Stop after the first failure.", example="{run} --fail-fast"),
    option(
        "run",
        "--dask",
        metavar="ADDRESS",
        help="Work on the dask.distributed cluster of this scheduler; it must see the same paths.",
        example="{run} --dask tcp://192.168.0.2:8786",
    ),
    option("run", "--dry-run", is_flag=True, help="Say what would be done; write nothing.", example="{run} --dry-run"),
    option(
        "report",
        "--log-file",
        type=FILE,
        metavar="FILE",
        help="Append a line per model to this file.",
        example="{run} --log-file run.log",
    ),
)


def given_options(context: click.Context) -> dict[str, str]:
    """What the user gave: parameter -> how it is written."""
    given = click.core.ParameterSource.COMMANDLINE
    return {
        parameter.name or "": parameter.opts[-1]
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is given
    }


def refuse_batch_options(context: click.Context, *, only: tuple[str, ...]) -> None:
    """Stop where an option for whole directories meets a single model.

    Raises:
        click.UsageError: one was given.
    """
    for name, written in given_options(context).items():
        if name in only:
            raise click.UsageError(f"{written} is for directories, archives and several inputs")
