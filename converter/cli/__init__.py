"""The commands: ``msh2gltf``, ``gltf2msh``, ``msh-inspect``, ``msh-mod``.

Each command is a module of its own, imported when it runs; everything heavy is imported where it
is used, so that ``--help`` and a single model start quickly. What was dropped on a command in Windows' Explorer is
read here.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import click

from .. import GARBAGE, STOPPING
from ..errors import CHECK_PATH, MACHINE, ConversionError, fault_of, internal_error
from ..language import use_language
from .common import EXIT_INTERRUPTED, EXIT_SIGNAL, EXIT_USAGE, say

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


def _guarded(command: click.Command, arguments: Sequence[str], *, patterns: bool) -> None:
    """Run a command; ``patterns``: let click fill in ``*.msh``, which no shell of Windows does."""
    name = command.name or ""
    try:
        command.main(None if patterns else [*arguments], prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as refused:
        from .usage import in_full

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
            from .usage import as_typed

            error.hint = as_typed(arguments, command) or error.hint
        error.hint = error.hint or _TO_DO[name.partition(" ")[0]]
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
