"""Options in groups, each with an example.

``--help``, the command reference (``docs/commands``), the man pages and the shell completion are
all made from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

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


class Option(click.Option):
    """An option that belongs to a group.

    Attributes:
        group: one of ``GROUPS``.
        example: a command line that uses it; ``docs/commands`` runs it. ``{one}`` stands for the
            command with a model, ``{library}`` with an archive, ``{run}`` with a whole game.
        description: its help, without the default.
        default_text: what happens without it, where that is not a value.
    """

    def __init__(
        self, *arguments: Any, group: str, example: str, help: str, default_text: str = "", **attributes: Any
    ) -> None:
        attributes["help"] = f"{help}  [default: {default_text}]" if default_text else help
        super().__init__(*arguments, **attributes)
        self.group, self.example = group, example
        self.description, self.default_text = help, default_text


def option(
    group: str, *names: str, example: str, help: str, **attributes: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an option, as ``click.option`` does, with the attributes of :class:`Option`."""
    return click.option(*names, cls=Option, group=group, example=example, help=help, **attributes)


def grouped(command: click.Command, context: click.Context) -> dict[str, list[click.Option]]:
    """Return the options of a command by the title of their group, in the order of ``GROUPS``."""
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    groups = {title: [o for o in options if getattr(o, "group", "help") == group] for group, title in GROUPS.items()}
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
