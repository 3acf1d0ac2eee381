"""The commands: ``msh2gltf``, ``gltf2msh``, ``msh-inspect``.

Each command is a module of its own, imported when it runs; everything heavy is imported where it
is used, so that ``--help`` and a single model start quickly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from converter.cli.common import EXIT_INTERRUPTED, EXIT_USAGE
from converter.errors import ConversionError


def _run(command: click.Command, arguments: Sequence[str] | None) -> None:
    """Run a command and exit: 0, 2 for what the user can mend, 130 when interrupted."""
    name = command.name or ""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        command.main(arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{name}: interrupted, nothing was written", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except ConversionError as error:
        click.echo(f"{name}: error: {error}", err=True)
        sys.exit(EXIT_USAGE)
    except BrokenPipeError:
        # the reader of our output went away: say nothing, and keep Python from saying it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_USAGE)
    except Exception as error:
        if os.environ.get("MSH_GLTF_TRACEBACK"):
            raise
        click.echo(
            f"{name}: internal error, please report it: {type(error).__name__}: {error} "
            "(MSH_GLTF_TRACEBACK=1 shows where)",
            err=True,
        )
        sys.exit(EXIT_USAGE)


def msh2gltf(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh2gltf``."""
    from converter.cli.to_gltf import command

    _run(command, arguments)


def gltf2msh(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``gltf2msh``."""
    from converter.cli.to_msh import command

    _run(command, arguments)


def msh_inspect(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``msh-inspect``."""
    from converter.cli.inspect import command

    _run(command, arguments)
