"""What the commands share: options made of the fields that declare them, shown in groups; exit codes, output.

``--help``, the command reference (``docs/commands``), the man pages and the shell completion are
all made from these declarations.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .. import __version__
from ..errors import ConversionError, Malformed, listed, plural, printable, reason_of, shortened
from ..language import LANGUAGES, VARIABLE, in_language
from ..options import Declared

if TYPE_CHECKING:
    from rich.console import Console

#: The groups of options, in the order in which they are shown, and their titles.
GROUPS = {
    "task": "Task",
    "input": "Input",
    "output": "Output",
    "appearance": "Appearance",
    "animation": "Animation",
    "selection": "Selection",
    "run": "Run",
    "report": "Report",
    "help": "Help",
}
#: The widest first column of ``--help``; longer names stand on a line of their own.
COLUMN = 28
_Class = TypeVar("_Class")


class _FilePath(click.Path):
    """A path that is not empty, as that of a shell's variable that nobody set is; ``-`` is one of outputs only."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "":
            self.fail("an empty path", param, ctx)
        if value == "-" and self is FILE:
            self.fail("a path is expected: only -o takes -, for standard output", param, ctx)
        return super().convert(value, param, ctx)


FILE = _FilePath(path_type=Path)
#: The same as text, which may be ``-``.
OUTPUT = _FilePath()


class Option(click.Option):
    """An option of a command; ``about``: its declaration."""

    def __init__(self, *arguments: Any, about: Declared, **attributes: Any) -> None:
        default = f"  [default: {about.default_text}]" if about.default_text else ""
        super().__init__(*arguments, **attributes | {"help": about.help + default})
        self.about = about


def same(cls: type, name: str) -> Any:
    """Declare a field as another class declares it."""
    [one] = [one for one in fields(cls) if one.name == name]
    return field(default=one.default, metadata=one.metadata)


def nested(cls: type) -> Any:
    """Declare a field that holds other options, which the command takes as its own."""
    return field(metadata={"nested": cls})


def options_of(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options that a data class declares."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(_in_order(cls)):
            function = _made(one)(function)
        return function

    return apply


def read_options(cls: type[_Class], params: dict[str, Any]) -> _Class:
    """Return the data class of what a user gave. Raises click.UsageError: a value that cannot be read."""
    values = {}
    for one in fields(cls):  # type: ignore[arg-type]
        if "nested" in one.metadata:
            values[one.name] = read_options(one.metadata["nested"], params)
        elif "option" in one.metadata:
            values[one.name] = _value(one, params[one.name])
        elif one.default is MISSING:  # an argument
            values[one.name] = params[one.name]
    return cls(**values)


def _in_order(cls: type) -> list[Field[Any]]:
    """The fields that are options, as they are shown: a class's own before what it inherits."""
    inherited = {one.name for base in cls.__bases__ if is_dataclass(base) for one in fields(base)}
    out: list[Field[Any]] = []
    for one in sorted(fields(cls), key=lambda one: one.name in inherited):
        if "nested" in one.metadata:
            out += _in_order(one.metadata["nested"])
        elif "option" in one.metadata:
            out.append(one)
    for one in [one for one in out if one.metadata["option"].before]:
        out.remove(one)
        names = [other.name for other in out]
        out.insert(names.index(one.metadata["option"].before), one)
    return out


def _is_flag(one: Field[Any]) -> bool:
    """Whether an option has no value: it turns its default around."""
    return str(one.type).startswith("bool") and not one.metadata["option"].values


def _made(one: Field[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option of click."""
    about: Declared = one.metadata["option"]
    default, many = one.default, False
    attributes: dict[str, Any] = {"metavar": about.metavar}
    if _is_flag(one):
        shown = "/" in about.names[-1]
        default = default if shown else False
        attributes = {"is_flag": True}
    else:
        if isinstance(about.values, dict):
            default = next((word for word, value in about.values.items() if value == default), None)
        shown = isinstance(default, int | float) or bool(default)
        many = str(one.type).startswith("tuple") and about.read is None
        attributes["type"] = _type(str(one.type), about)
    if not many and default != ():
        attributes |= {"default": default, "show_default": shown}
    if many:
        attributes["multiple"] = True
    return click.option(*about.names, one.name, cls=Option, about=about, **attributes)


def _type(annotation: str, about: Declared) -> Any:
    """The type of click of an option's value."""
    if about.values:
        return click.Choice([*about.values], case_sensitive=not about.any_case)
    if about.above is not None:
        return click.FloatRange(about.above, min_open=True)
    if about.least is not None:
        return click.IntRange(about.least, about.most)
    if about.is_path:
        return OUTPUT
    return {"Path": FILE, "float": float}.get(annotation.removesuffix(" | None"), str)


def _value(one: Field[Any], given: Any) -> Any:
    """What a field holds of what the user gave."""
    about: Declared = one.metadata["option"]
    if _is_flag(one) and "/" not in about.names[-1]:
        return (not one.default) if given else one.default
    if isinstance(about.values, dict):
        return about.values.get(given, one.default)
    if about.read is None:
        return given
    try:
        return one.default if given is None else about.read(given)
    except Malformed as error:
        raise click.UsageError(reason_of(error)) from None


def with_bare_values(command: click.Command, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command, with the value of each option that may stand without one."""
    bare = {name: one for one in command.params if isinstance(one, Option) and one.about.bare for name in one.opts}
    out = list(arguments)
    end = out.index("--") if "--" in out else len(out)
    for i, text in enumerate(out[:end]):
        if (one := bare.get(text)) is not None and isinstance(one.type, click.Choice):
            follows = "".join(arguments[i + 1 : i + 2])
            out[i] = text if follows in one.type.choices else f"{text}={one.about.bare}"
    return out


def given_options(context: click.Context) -> dict[str, str]:
    """What the user gave: parameter -> how it is written."""
    given = click.core.ParameterSource.COMMANDLINE
    return {
        parameter.name or "": parameter.opts[-1]
        for parameter in context.command.params
        if parameter.expose_value and context.get_parameter_source(parameter.name or "") is given
    }


def refuse_batch_options(context: click.Context, *, only: tuple[str, ...]) -> None:
    """Stop where an option for whole directories meets a single model."""
    for name, written in given_options(context).items():
        if name in only:
            problem = f"{written} is for directories, archives and several inputs"
            if context.command.name == "gltf2msh":
                problem = f"{written} is for directories that msh2gltf wrote"
            raise click.UsageError(f"{problem}; give that, or leave it out")


def without_effect(typed: Mapping[str, str], names: Iterable[str], what: str) -> list[str]:
    """Return warnings about options that change nothing of what is converted; ``typed`` as of :func:`given_options`."""
    return [f"{typed[one]} has no effect on {what}" for one in names if one in typed]


def grouped(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """Return the options of a command by the title of their group, in the order of ``GROUPS``."""
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    group_of = {one.name: one.about.group if isinstance(one, Option) else "help" for one in options}
    groups = {title: [o for o in options if group_of[o.name] == group] for group, title in GROUPS.items()}
    return {title: members for title, members in groups.items() if members}


def write_options(command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of ``--help``: a section for each group, all columns in line."""
    sections = {
        title: [row for o in members if (row := o.get_help_record(context)) is not None]
        for title, members in grouped(command, context).items()
    }
    widths = [len(names) for rows in sections.values() for names, _ in rows]
    column = max((width for width in widths if width <= COLUMN), default=COLUMN)
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl([(names.ljust(column), text) for names, text in rows])


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
    about = Declared("--lang", "report", text, "{one} --lang ru", default_text="en")
    return Option(["--lang"], about=about, type=click.Choice(LANGUAGES), envvar=VARIABLE, expose_value=False)


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
        problem = f"-o {output}: expected a directory or a file ending in {listed(suffixes, 'or')}"
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
