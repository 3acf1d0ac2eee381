"""The commands: ``msh2gltf``, ``gltf2msh``, ``msh-inspect``, ``msh-mod``.

Each command is a module of its own, imported when it runs; everything heavy is imported where it
is used, so that ``--help`` and a single model start quickly. What was dropped on a command in Windows' Explorer is
read here, and what a wrong command is told to do.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from types import FrameType

import click

from .. import GARBAGE, STOPPING
from ..errors import CHECK_PATH, MACHINE, ConversionError, fault_of, internal_error, listed, quoted
from ..language import use_language
from .common import EXIT_INTERRUPTED, EXIT_SIGNAL, EXIT_USAGE, Option, say

#: What one file becomes a folder of, and what follows its name.
_ARCHIVES, _FOLDER = (".rlb", ".lib"), "_gltf"


def is_dropped(arguments: Sequence[str]) -> bool:
    """Return whether Explorer started the command: all that it got are paths, and no shell shares its console."""
    if sys.platform != "win32" or not all(os.path.isabs(word) and os.path.exists(word) for word in arguments):
        return False
    import ctypes

    numbers = (ctypes.c_uint32 * 4)()
    # this process, and the .exe that pip or uv makes of the command
    return bool(arguments) and 0 < ctypes.windll.kernel32.GetConsoleProcessList(numbers, len(numbers)) <= 2


def as_typed_there(command: str, paths: Sequence[str]) -> list[str]:
    """Return the arguments with which the command does what a user expects who drops files on it.

    Returns:
        The same with outputs beside the first path: files, or a folder of its name with ``_gltf`` after it for a
        game's folder, an archive or several files. Such a folder goes back into the game or the archive beside it.
    """
    first = Path(paths[0])
    if command == "msh2gltf":
        many = len(paths) > 1 or first.is_dir() or first.suffix.lower() in _ARCHIVES
        name = first.name if first.is_dir() else first.stem
        return [*paths, "-o", str(first.parent / f"{name}{_FOLDER}") if many else f"{first.parent}{os.sep}"]
    if command == "gltf2msh" and first.is_file():
        return [*paths, "-o", f"{first.parent}{os.sep}"]
    made_of = Path(paths[0].removesuffix(_FOLDER))
    if command == "gltf2msh" and made_of != first:
        archives = {f"{made_of.name}{ending}".lower() for ending in _ARCHIVES}
        beside = archives & {one.name.lower() for one in first.parent.iterdir()}
        game = made_of if made_of.is_dir() else first.parent
        return [*paths, "--game", str(game), "--in-place"] if made_of.is_dir() or beside else [*paths]
    if command == "msh-mod":
        return ["show" if first.suffix.lower() == ".zip" else "status", *paths]
    return [*paths]


def wait_for_enter() -> None:
    """Keep the window until the user has read it."""
    say("press Enter to close this window", error=True)
    if sys.stdin is not None:
        sys.stdin.readline()


def _run(command: click.Command, arguments: Sequence[str] | None) -> None:
    """Run a command and exit: 0, 2 for what the user can fix, 128 + the signal that stopped it."""
    typed = sys.argv[1:] if arguments is None else arguments
    use_language(typed, os.environ)
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # nobody looks for garbage in what is given up as a whole
    # NumPy's matrix library starts a thread per core for products that nobody here asks of it
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # a worker on Linux keeps the memory of arrays that it frees: the next landscape needs as much
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", f"{4 << 20}")
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", f"{16 << 20}")
    _plug_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Windows takes a code page without Cyrillic where output is not a console
            piped = sys.platform == "win32" and not stream.isatty()
            own = "utf-8" if piped and not os.environ.get("PYTHONIOENCODING") else None
            stream.reconfigure(encoding=own, errors="backslashreplace")
    with _stoppable() as stopped, _window(typed) as dropped:
        if dropped:
            typed = arguments = as_typed_there(command.name or "", typed)
        try:
            _guarded(command, typed, patterns=arguments is None)
        except SystemExit as end:
            if end.code == EXIT_INTERRUPTED and stopped:
                sys.exit(EXIT_SIGNAL + stopped[0])
            raise


@contextlib.contextmanager
def _window(arguments: Sequence[str]) -> Iterator[bool]:
    """Whether files were dropped on the command; the window stays until they are read about."""
    dropped = is_dropped(arguments)
    try:
        yield dropped
    finally:
        if dropped:
            wait_for_enter()


#: What to do about an error whose place does not know better.
_TO_DO = {
    "msh2gltf": "msh-inspect --check FILE lists what is wrong, msh2gltf FILE --list what a file holds",
    "gltf2msh": "change that in the program that made it, and export it again",
    "msh-inspect": "msh-inspect --check FILE lists what is wrong",
    "msh-mod": "msh-mod status GAME shows what is known",
}


def _to_do(name: str, error: ConversionError) -> str:
    """Return what to do about an error of a command that does not say so itself."""
    if error.problem.startswith("--"):
        return f"{name} --help shows what it takes"
    if (error.file or "").endswith(".msh-sidecar"):
        return "convert the original again with msh2gltf, or give another sidecar with --sidecar"
    return _TO_DO[name.partition(" ")[0]]


def _guarded(command: click.Command, arguments: Sequence[str], *, patterns: bool) -> None:
    """Run a command; ``patterns``: let click fill in ``*.msh``, which no shell of Windows does."""
    name = command.name or ""
    try:
        command.main(None if patterns else [*arguments], prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as refused:
        error = in_full(refused, arguments, command)
        text = io.StringIO()
        error.show(file=text)
        _say(*text.getvalue().rstrip("\n").split("\n"))
        sys.exit(EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        _say(f"{name}: interrupted; every file is whole, the same command again completes")
        sys.exit(EXIT_INTERRUPTED)
    except ConversionError as error:
        if os.environ.get("MSH_GLTF_TRACEBACK") and error.__cause__ is not None:
            raise
        if error.hint == CHECK_PATH:
            error.hint = as_typed(arguments, command) or error.hint
        error.hint = error.hint or _to_do(name, error)
        _say(f"{name}: error: {error}")
        sys.exit(EXIT_USAGE)
    except MACHINE as error:
        _say(f"{name}: error: {fault_of(error)}")
        sys.exit(EXIT_USAGE)
    except Exception as error:
        if os.environ.get("MSH_GLTF_TRACEBACK"):
            raise
        _say(f"{name}: {internal_error(error)} (MSH_GLTF_TRACEBACK=1 shows where)")
        sys.exit(EXIT_USAGE)


def _say(*lines: str) -> None:
    with contextlib.suppress(OSError):  # a full disk behind standard error: the exit code says it
        for line in lines:
            say(line, error=True)


def _plug_streams() -> None:
    """Open what the caller closed, or an output file becomes standard error and gets messages."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one


@contextlib.contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Let the first signal that asks for an end be a KeyboardInterrupt, the same for all of them.

    What follows it is ignored: cleaning up takes no time. ``nohup`` and the like, which have a
    signal ignored, keep it so.

    Yields:
        The signal that came, once it has.
    """
    came: list[int] = []
    names = [getattr(signal, name, None) for name in STOPPING]
    free = (signal.SIG_DFL, signal.default_int_handler)
    before = {s: h for s in names if s is not None and (h := signal.getsignal(s)) in free}

    def stop(number: int, _: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        came.append(number)
        raise KeyboardInterrupt

    for number in before:
        signal.signal(number, stop)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def msh2gltf(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh2gltf``."""
    from .to_gltf import command

    _run(command, arguments)


def gltf2msh(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``gltf2msh``."""
    from .to_msh import command

    _run(command, arguments)


def msh_inspect(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh-inspect``."""
    from .inspect import command

    _run(command, arguments)


def msh_mod(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh-mod``."""
    from .mod import command

    _run(command, arguments)


#: Two letters or more after one dash: click takes the first for an option, the rest for its value.
_ONE_DASH = re.compile(r"-([a-z]{2,})")
#: An example in the help of a command: two blanks, the command, two blanks, what it does.
_EXAMPLE = re.compile(r"^  (\S+ .*?)(?:  .*)?$", re.MULTILINE)
#: What click's kinds of numbers are.
_NUMBERS = {"integer": "a whole number", "float": "a number"}


def in_full(error: click.ClickException, arguments: Sequence[str], command: click.Command) -> click.ClickException:
    """Return an error of click whose message says what to do."""
    if not isinstance(error, click.UsageError):
        return error
    context = error.ctx or click.Context(command, info_name=command.name)
    message = re.sub("a valid (integer|float) range", lambda kind: _NUMBERS[kind[1]], error.format_message())
    found = as_typed(arguments, context.command)
    if found is None and isinstance(error, click.NoSuchOption):
        found = _elsewhere(error.option_name, context.command)
        message = error.message if found else message  # what has a similar name was not meant
    elif found is None and isinstance(error, (click.BadOptionUsage, click.BadParameter)):
        found = _example(error, context)
    elif found is None and message.startswith("Got unexpected extra"):
        takes = [one.make_metavar(context) for one in context.command.params if isinstance(one, click.Argument)]
        found = f"{context.command_path} takes {' '.join(takes)}"
    return click.UsageError(f"{message.rstrip('.')}; {found}" if found else message, context)


def as_typed(arguments: Sequence[str], command: click.Command) -> str | None:
    """Return what was meant, and understood otherwise: blanks in a path, one dash for two, a path in another case."""
    plain = [at for at, word in enumerate(arguments) if not word.startswith("-")]
    for first, last in combinations(plain, 2):
        path = " ".join(arguments[first : last + 1])
        if Path(path).exists():
            return f"a path with blanks goes into quotes: {quoted(path)}"
    for word in arguments:
        dashed = _ONE_DASH.fullmatch(word)
        if dashed is not None:
            names = [name for name in _names(command) if name.startswith(f"--{dashed[1]}")]
            return f"a long name begins with two dashes: {names[0]}" if names else None
    return next(filter(None, (_meant(arguments[at]) for at in plain)), None)


def _meant(word: str) -> str | None:
    """What to do about a path that is an address or a pattern, or has another case."""
    if "://" in word:
        return "download it, and give the file"
    if Path(word).exists():
        return None
    if set(word) & set("*?"):
        return "no file is called so"
    from ..files import in_any_case

    path = Path(word)
    found = in_any_case(Path(path.anchor), path.relative_to(path.anchor).parts)
    return f"did you mean {quoted(found)}?" if found.exists() else None


def _names(command: click.Command) -> Iterator[str]:
    for one in command.params:
        yield from (name for name in (*one.opts, *one.secondary_opts) if name.startswith("--"))


def _elsewhere(name: str, own: click.Command) -> str | None:
    """Where an option is that the command has not: at a command of the group, or at another command."""
    from . import inspect, mod, to_gltf, to_msh

    if isinstance(own, click.Group):
        owners = [sub for sub, below in own.commands.items() if name in _names(below)]
        return f"it goes after the command: {own.name} {owners[0]} ... {name}" if owners else None
    commands = [to_gltf.command, to_msh.command, inspect.command, *mod.command.commands.values()]
    owners = [f"{'msh-mod ' * (one.name in mod.command.commands)}{one.name}" for one in commands if name in _names(one)]
    return f"it belongs to {listed(owners)}" if owners else None


def _example(error: click.UsageError, context: click.Context) -> str | None:
    """How the option is written, or the command where it lacks an argument."""
    name = getattr(error, "option_name", None)
    param = getattr(error, "param", None)
    options = [one for one in context.command.params if one is param or name in one.opts]
    for one in options:
        shown = one.about.example if isinstance(one, Option) else ""
        for opt in sorted(one.opts, key=len, reverse=True):
            if (at := shown.find(f"{opt} ")) >= 0:
                words = re.match(r"\S+ ('[^']*'|\S+)", shown[at:])
                return f"for example {words[0]}" if words else None
    helps = [one.command.help or "" for one in (context, context.parent) if one is not None]
    examples = [line for text in helps for line in _EXAMPLE.findall(text) if line.startswith(context.command_path)]
    return f"for example {examples[0]}" if examples else None
