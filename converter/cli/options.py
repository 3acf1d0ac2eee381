"""Options of commands: made of the fields that declare them, shown in groups.

``--help``, the command reference (``docs/commands``), the man pages and the shell completion are
all made from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import Malformed, reason_of
from ..options import Declared

if TYPE_CHECKING:
    from ..formats.kinds import Kind

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
    """An option that belongs to a group; ``group``, ``example``, ``default_text``, ``bare``: as of :class:`Declared`.

    Attributes:
        description: its help, without the default.
    """

    def __init__(
        self,
        *arguments: Any,
        group: str,
        example: str,
        help: str,
        default_text: str = "",
        bare: str = "",
        **attributes: Any,
    ) -> None:
        attributes["help"] = f"{help}  [default: {default_text}]" if default_text else help
        super().__init__(*arguments, **attributes)
        self.group, self.example, self.bare = group, example, bare
        self.description, self.default_text = help, default_text


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
    return click.option(
        *about.names,
        one.name,
        cls=Option,
        group=about.group,
        example=about.example,
        help=about.help,
        default_text=about.default_text,
        bare=about.bare,
        **attributes,
        **({"multiple": True} if many else {}),
    )


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
    bare = {name: one for one in command.params if isinstance(one, Option) and one.bare for name in one.opts}
    out = list(arguments)
    end = out.index("--") if "--" in out else len(out)
    for i, text in enumerate(out[:end]):
        if (one := bare.get(text)) is not None and isinstance(one.type, click.Choice):
            follows = "".join(arguments[i + 1 : i + 2])
            out[i] = text if follows in one.type.choices else f"{text}={one.bare}"
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


#: Options of imports without effect: of files that have no animations, of what places models, and of maps.
_NOT_OF_MESHES = ("scene", "clip", "fps", "reduce", "rigid_skin", "ignore_scale")
_NOT_OF_PLACES = ("dialect", "clip", "ignore_scale", "lod_ratios", "lod_error", "own_materials")
_NOT_OF_MAPS = ("dialect", *_NOT_OF_MESHES[1:], "lod_ratios", "lod_error")


def without_effect(typed: Mapping[str, str], source: Path, name: str, data: bytes) -> list[str]:
    """Return warnings about options that change nothing of an import.

    Args:
        typed: options as of :func:`given_options`.
        name, data: what the import made of the source.
    """
    from ..errors import with_article
    from ..formats.kinds import Kind, file_kind
    from ..formats.nres import is_nres, read_nres
    from ..formats.objects import is_unit

    names: tuple[str, ...]
    if not is_nres(data[:4]):
        kind, names = Kind.UNIT if is_unit(data) else Kind.MISSION, _NOT_OF_PLACES
    elif (kind := file_kind(read_nres(data, name, longer=True))) is not Kind.MODEL:
        names = _NOT_OF_MAPS
    else:
        names = () if source.suffix.lower() in (".glb", ".gltf") else _NOT_OF_MESHES
    what = f"a file {source.suffix}" if kind is Kind.MODEL else with_article(kind)
    found = [f"{typed[one]} has no effect on {what}" for one in names if one in typed]
    if kind is Kind.MODEL and "lod_error" in typed and "lod_ratios" not in typed:
        found.append(f"{typed['lod_error']} has no effect without --generate-lods")
    return found


#: Options of exports without effect on maps.
_NOT_OF_EXPORTED_MAPS = ("dialect", "fps", "lod", "group", "clips", "subframes", "stored_keys", "paths", "points")


def without_effect_on(kind: Kind, typed: Mapping[str, str]) -> list[str]:
    """Return warnings about options that change nothing of an export; ``typed`` as of :func:`given_options`."""
    from ..errors import with_article

    names = _NOT_OF_EXPORTED_MAPS if kind in ("terrain", "areal map") else ()
    return [f"{typed[one]} has no effect on {with_article(kind)}" for one in names if one in typed]


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
