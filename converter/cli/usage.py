"""What to do about a command that was typed wrongly: how it is written, in the words of what was typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import click

from ..errors import quoted
from ..files import in_any_case

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
    return f"it belongs to {' and '.join(owners)}" if owners else None


def _example(error: click.UsageError, context: click.Context) -> str | None:
    """How the option is written, or the command where it lacks an argument."""
    name = getattr(error, "option_name", None)
    param = getattr(error, "param", None)
    options = [one for one in context.command.params if one is param or name in one.opts]
    for one in options:
        shown: str = getattr(one, "example", "")
        for opt in sorted(one.opts, key=len, reverse=True):
            if (at := shown.find(f"{opt} ")) >= 0:
                words = re.match(r"\S+ ('[^']*'|\S+)", shown[at:])
                return f"for example {words[0]}" if words else None
    helps = [one.command.help or "" for one in (context, context.parent) if one is not None]
    examples = [line for text in helps for line in _EXAMPLE.findall(text) if line.startswith(context.command_path)]
    return f"for example {examples[0]}" if examples else None
