"""Write the command reference (``commands/``) and the man pages (``man/``) from the commands.

python docs/make_commands.py

The options are declared in ``converter/options.py`` and ``converter/cli``, each with its group and
an example, which is run when the page is tested. ``commands/russian.toml`` translates their texts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import click

from msh_gltf.converter import __version__
from msh_gltf.converter.cli import inspect, mod, to_gltf, to_msh
from msh_gltf.converter.cli.common import Option, grouped

DOCS = Path(__file__).parent
MADE = "made by docs/make_commands.py"
#: What marks a paragraph that keeps its lines.
AS_IS = "\b\n"
RUSSIAN = DOCS / "commands" / "russian.toml"
#: Returns a text of a page in the page's language.
Translate = Callable[[str], str]
#: Examples that a test cannot run.
SKIPPED = {"--dask": "needs a dask scheduler", "--watch": "waits until it is stopped"}


@dataclass(frozen=True)
class Reference:
    """How the page of a command is set up.

    Attributes:
        command: what it is about.
        begins: what the scripts of ``examples`` make first: games, then files.
        first: commands that make what the examples need.
        one: the command with a model.
        run: the command with a whole game.
        library: the command with an archive.
    """

    command: click.Command
    begins: str
    first: tuple[str, ...]
    one: str
    run: str
    library: str = ""


REFERENCES = (
    Reference(
        to_gltf.command,
        "GAME robot.msh broken.msh",
        (),
        "msh2gltf robot.msh -o new/",
        "msh2gltf GAME -o out/",
        "msh2gltf GAME/static.rlb -o one/",
    ),
    Reference(
        to_msh.command,
        "GAME GAME_COPY robot.msh tower.glb tower.obj WALL.png",
        (
            "msh2gltf robot.msh",
            "msh2gltf robot.msh -o obj/robot.obj",
            "msh2gltf GAME -o out/",
            "msh2gltf GAME/turrets.rlb --unpack files/turrets.rlb",
        ),
        "gltf2msh robot.glb",
        "gltf2msh out/ --game GAME_COPY --in-place",
    ),
    Reference(
        inspect.command,
        "GAME robot.msh broken.msh",
        ("msh2gltf robot.msh -o robot.glb", "gltf2msh robot.glb -o new/"),
        "msh-inspect robot.msh",
        "msh-inspect --check GAME",
        "msh-inspect GAME/static.rlb",
    ),
)


@dataclass(frozen=True)
class GroupReference:
    """How the page of a command with commands of its own is set up.

    Attributes:
        command: what it is about.
        begins: what the scripts of ``examples`` make first: games, then files.
        first: commands that make what the examples need.
        examples: the commands below it, each with what its section runs.
    """

    command: click.Group
    begins: str
    first: tuple[str, ...]
    examples: dict[str, tuple[str, ...]]


MOD = GroupReference(
    mod.command,
    "GAME GAME_COPY WALL.png",
    ("gltf2msh WALL.png --into GAME/Textures.lib", "gltf2msh WALL.png --into GAME_COPY/Textures.lib"),
    {
        "status": ("msh-mod status GAME", "msh-mod status GAME --json"),
        "undo": ("msh-mod undo GAME --dry-run", "msh-mod undo GAME", "msh-mod undo GAME 2"),
        "restore": ("msh-mod restore GAME_COPY Textures.lib --dry-run", "msh-mod restore GAME_COPY"),
        "make": (
            "msh-mod make GAME walls.zip --name Walls --author Me --version 1.0 --licence CC0",
            "msh-mod make GAME walls.zip --name Walls --only Textures.lib --force",
        ),
        "show": ("msh-mod show walls.zip GAME_COPY --textures shown", "msh-mod show walls.zip --json"),
        "install": ("msh-mod install walls.zip GAME_COPY --dry-run", "msh-mod install walls.zip GAME_COPY"),
        "list": ("msh-mod list GAME_COPY", "msh-mod list GAME_COPY --json"),
        "remove": ("msh-mod remove Walls GAME_COPY --dry-run", "msh-mod remove Walls GAME_COPY"),
    },
)


def name_of(reference: Reference | GroupReference) -> str:
    return reference.command.name or ""


def paragraphs(command: click.Command) -> tuple[str, str, list[str]]:
    """The help of a command: its first sentence, its examples and the other paragraphs."""
    first, examples, *rest = (command.help or "").strip().split("\n\n")
    assert examples.startswith(f"{AS_IS}Examples:\n"), command.name
    lines = examples.removeprefix(f"{AS_IS}Examples:\n").split("\n")
    return first, "\n".join(line[2:] for line in lines), [" ".join(p.split()) for p in rest]


def shown_examples(text: str) -> list[tuple[str, str]]:
    """The examples of ``--help``: each command, and what it does, which may go on below it."""
    out: list[tuple[str, str]] = []
    for line in text.split("\n"):
        command, _, comment = line.partition("  ")
        if command:
            out.append((command, comment.strip()))
        else:
            out[-1] = (out[-1][0], f"{out[-1][1]} {comment.strip()}")
    return out


def commented(examples: list[tuple[str, str]]) -> list[str]:
    """Commands in line, with what they do as comments."""
    width = max(len(command) for command, comment in examples if comment)
    return [f"{a:<{width}}  # {b}" if b else a for a, b in examples]


def usage(command: click.Command) -> str:
    context = click.Context(command, info_name=command.name)
    return f"{command.name} {' '.join(command.collect_usage_pieces(context))}"


def groups(command: click.Command) -> dict[str, list[click.Option]]:
    return grouped(command, click.Context(command, info_name=command.name))


def title(option: click.Option) -> str:
    """The first long name of an option."""
    return next(name for name in option.opts if name.startswith("--"))


def written(option: click.Option) -> str:
    """``-j, --jobs N``."""
    names = " / ".join([", ".join(option.opts), *option.secondary_opts])
    if option.is_flag:
        return names
    return f"{names} {option.metavar or ''.join(['[', '|'.join(choices(option)), ']'])}"


def choices(option: click.Option) -> list[str]:
    return [str(c) for c in option.type.choices] if isinstance(option.type, click.Choice) else []


def values(option: click.Option, translate: Translate = str) -> str:
    """Which values an option takes, where that is not any."""
    kind = option.type
    if isinstance(kind, click.Choice):
        return ", ".join(f"`{choice}`" for choice in choices(option))
    if isinstance(kind, click.IntRange):
        words = "a whole number, {start} "
        words += "or more" if kind.max is None else "to {end}"
        return translate(words).format(start=kind.min, end=kind.max)
    if isinstance(kind, click.FloatRange):
        return translate("a number above {start}").format(start=kind.min)
    return translate("a number") if kind is click.FLOAT else ""


def default(option: Option, translate: Translate = str) -> str:
    """What holds without the option, as Markdown."""
    if option.about.default_text:
        return translate(option.about.default_text)
    if option.secondary_opts:
        return f"`{(option.opts if option.default else option.secondary_opts)[0]}`"
    if option.is_flag:
        return translate("off")
    value = option.default if option.show_default else None
    if value is None:
        return translate("none")
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def example(option: Option, reference: Reference) -> str:
    templates = {name: getattr(reference, name) for name in ("one", "run", "library")}
    return option.about.example.format(**templates)


def _section(option: click.Option, reference: Reference, translate: Translate) -> list[str]:
    if not isinstance(option, Option):  # --help and --version
        text = translate(option.help or "")
        return [f"### `{title(option)}`", "", f"`{written(option)}`: {text}", ""]
    text = translate(option.about.help)
    lines = [f"### `{title(option)}`", "", f"`{written(option)}`: {text}", ""]
    if taken := values(option, translate):
        lines.append(f"- {translate('Values')}: {taken}")
    lines += [f"- {translate('Default')}: {default(option, translate)}", ""]
    if reason := SKIPPED.get(title(option)):
        lines += [f'<!-- skip: next "{reason}" -->', ""]
    return [*lines, "```console", f"$ {example(option, reference)}", "```", ""]


def _head(reference: Reference | GroupReference, translate: Translate) -> list[str]:
    """A page up to the sections of its options or commands."""
    command = reference.command
    first, examples, rest = paragraphs(command)
    lines = [f"# {command.name}", "", f"<!-- {MADE} -->"]
    lines += ["", translate(first), ""]
    lines += ["```text", usage(command), "```", ""]
    for paragraph in rest:
        text = translate(paragraph)
        lines += [fill(text, 100, break_on_hyphens=False, break_long_words=False), ""]
    shown = [(a, translate(b) if b else "") for a, b in shown_examples(examples)]
    lines += [f"## {translate('Examples')}", "", "```text", *commented(shown), "```", ""]
    lines += [
        translate("The examples below start in a folder with a copy of `examples`, and use what this writes:"),
        "",
    ]
    names = reference.begins.split()
    made = [f"python examples/make_game.py {name}" for name in names if "." not in name]
    made.append(f"python examples/make_files.py {' '.join(name for name in names if '.' in name)}")
    return [*lines, "```console", *(f"$ {line}" for line in (*made, *reference.first)), "```", ""]


def page(reference: Reference, translate: Translate = str) -> str:
    """The page of a command, as Markdown."""
    lines = _head(reference, translate)
    for title, options in groups(reference.command).items():
        lines += [f"## {translate(title)}", ""]
        for option in options:
            lines += _section(option, reference, translate)
    return "\n".join(lines)


def usage_below(reference: GroupReference, name: str) -> str:
    """``msh-mod undo [OPTIONS] GAME [N]``."""
    below = reference.command.commands[name]
    context = click.Context(below, info_name=name)
    return f"{name_of(reference)} {name} {' '.join(below.collect_usage_pieces(context))}"


def options_below(below: click.Command) -> list[click.Option]:
    """The options of a command of a group, but for ``--help``, and ``--lang``, which all of them have."""
    return [one for one in below.params if isinstance(one, click.Option) and one.name != "lang"]


def group_page(reference: GroupReference, translate: Translate = str) -> str:
    """The page of a command with commands of its own: a section for each, with its options."""
    lines = _head(reference, translate)
    for name, below in reference.command.commands.items():
        lines += [f"## {name}", "", translate(below.help or ""), ""]
        lines += ["```text", usage_below(reference, name), "```", ""]
        rows = [f"- `{written(o)}`: {translate(o.help or '')}" for o in options_below(below)]
        lines += [*rows, ""] if rows else []
        lines += ["```console", *(f"$ {line}" for line in reference.examples[name]), "```", ""]
    return "\n".join(lines)


class Russian(dict[str, str]):
    """The translations of ``russian.toml``, by the English text."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        for texts in tomllib.loads(RUSSIAN.read_text("utf-8")).values():
            self.update(texts)

    def __call__(self, text: str) -> str:
        """Return the translation of a text.

        Raises:
            SystemExit: there is none.
        """
        if text not in self:
            raise SystemExit(f"docs/commands/russian.toml has no translation of: {text}")
        self.used.add(text)
        return self[text]


def troff(text: str) -> str:
    """Text of a man page: what troff would take for a command is escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def _man_head(reference: Reference | GroupReference) -> tuple[list[str], str]:
    """A man page up to its options or commands, and its examples."""
    command = reference.command
    first, examples, rest = paragraphs(command)
    title = troff(name_of(reference).upper())
    summary = troff(first[0].lower() + first[1:].rstrip("."))
    lines = [f'.\\" {MADE}', f'.TH "{title}" 1 "" "msh\\-gltf {__version__}"', ".SH NAME"]
    lines += [f"{troff(name_of(reference))} \\- {summary}"]
    lines += [".SH SYNOPSIS", troff(usage(command)), ".SH DESCRIPTION"]
    for paragraph in rest:
        lines += [".PP", troff(paragraph)]
    return lines, examples


def _man_end(reference: Reference | GroupReference, examples: str) -> list[str]:
    others = [f"{troff(name_of(r))}(1)" for r in (*REFERENCES, MOD) if r is not reference]
    return [".SH EXAMPLES", ".nf", troff(examples), ".fi", ".SH SEE ALSO", ", ".join(others), ""]


def group_man_page(reference: GroupReference) -> str:
    """The man page of a command with commands of its own."""
    lines, examples = _man_head(reference)
    lines.append(".SH COMMANDS")
    for name, below in reference.command.commands.items():
        lines += [f".SS {troff(usage_below(reference, name))}", troff(below.help or "")]
        for one in options_below(below):
            lines += [".TP", f".B {troff(written(one))}", troff(one.help or "")]
    return "\n".join([*lines, *_man_end(reference, examples)])


def man_page(reference: Reference) -> str:
    """The man page of a command, as troff; see man-pages(7)."""
    command = reference.command
    lines, examples = _man_head(reference)
    lines += [".SH OPTIONS"]
    for title, options in groups(command).items():
        lines.append(f".SS {title}")
        for option in options:
            lines += [".TP", f".B {troff(written(option))}"]
            if isinstance(option, Option):
                lines.append(troff(f"{option.about.help} Default: {default(option)}."))
                lines += [".br", f"Example: {troff(example(option, reference))}"]
            else:
                lines.append(troff(option.help or ""))
    return "\n".join([*lines, *_man_end(reference, examples)])


def files() -> dict[Path, str]:
    """What belongs into which file."""
    out, russian = {}, Russian()
    for reference in REFERENCES:
        out[DOCS / "commands" / f"{name_of(reference)}.md"] = page(reference)
        out[DOCS / "commands" / f"{name_of(reference)}.ru.md"] = page(reference, russian)
        out[DOCS / "man" / f"{name_of(reference)}.1"] = man_page(reference)
    out[DOCS / "commands" / f"{name_of(MOD)}.md"] = group_page(MOD)
    out[DOCS / "commands" / f"{name_of(MOD)}.ru.md"] = group_page(MOD, russian)
    out[DOCS / "man" / f"{name_of(MOD)}.1"] = group_man_page(MOD)
    if unused := russian.keys() - russian.used:
        raise SystemExit(f"docs/commands/russian.toml translates what is not there: {min(unused)}")
    return out


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
