"""Write the command reference (``commands/``) and the man pages (``man/``) from the commands.

python docs/make_commands.py

The options are declared in ``converter/cli``, each with its group and an example, which is run
when the page is tested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import click

from msh_gltf.converter import __version__
from msh_gltf.converter.cli import inspect, to_gltf, to_msh
from msh_gltf.converter.cli.options import Option, grouped

DOCS = Path(__file__).parent
MADE = "made by docs/make_commands.py"
#: What marks a paragraph that keeps its lines.
AS_IS = "\b\n"
#: Examples that a test cannot run.
SKIPPED = {"--dask": "needs a dask scheduler"}


@dataclass(frozen=True)
class Reference:
    """How the page of a command is set up.

    Attributes:
        command: what it is about.
        begins: what lies in the folder (``tests/docs/materials.py``).
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
        "GAME, GAME/MISSIONS, robot.msh, broken.msh",
        (),
        "msh2gltf robot.msh -o new/",
        "msh2gltf GAME -o out/",
        "msh2gltf GAME/static.rlb -o one/",
    ),
    Reference(
        to_msh.command,
        "GAME, GAME_COPY, robot.msh, tower.glb, tower.obj, WALL.png",
        ("msh2gltf robot.msh", "msh2gltf robot.msh -o obj/robot.obj", "msh2gltf GAME -o out/"),
        "gltf2msh robot.glb",
        "gltf2msh out/ --game GAME_COPY --in-place",
    ),
    Reference(
        inspect.command,
        "GAME, robot.msh, broken.msh",
        ("msh2gltf robot.msh -o robot.glb", "gltf2msh robot.glb -o new/"),
        "msh-inspect robot.msh",
        "msh-inspect --check GAME",
        "msh-inspect GAME/static.rlb",
    ),
)


def name_of(reference: Reference) -> str:
    return reference.command.name or ""


def paragraphs(command: click.Command) -> tuple[str, str, list[str]]:
    """The help of a command: its first sentence, its examples and the other paragraphs."""
    first, examples, *rest = (command.help or "").strip().split("\n\n")
    assert examples.startswith(f"{AS_IS}Examples:\n"), command.name
    lines = examples.removeprefix(f"{AS_IS}Examples:\n").split("\n")
    return first, "\n".join(line[2:] for line in lines), [" ".join(p.split()) for p in rest]


def usage(command: click.Command) -> str:
    context = click.Context(command, info_name=command.name)
    return f"{command.name} {' '.join(command.collect_usage_pieces(context))}"


def groups(command: click.Command) -> dict[str, list[click.Option]]:
    return grouped(command, click.Context(command, info_name=command.name))


def written(option: click.Option) -> str:
    """``-j, --jobs N``."""
    names = " / ".join([", ".join(option.opts), *option.secondary_opts])
    if option.is_flag or option.name in ("help", "version"):
        return names
    return f"{names} {option.metavar or ''.join(['[', '|'.join(choices(option)), ']'])}"


def choices(option: click.Option) -> list[str]:
    return [str(c) for c in option.type.choices] if isinstance(option.type, click.Choice) else []


def values(option: click.Option) -> str:
    """Which values an option takes, where that is not any."""
    kind = option.type
    if isinstance(kind, click.Choice):
        return ", ".join(f"`{choice}`" for choice in choices(option))
    if isinstance(kind, click.IntRange):
        end = f"{kind.min} to {kind.max}" if kind.max is not None else f"{kind.min} or more"
        return f"a whole number, {end}"
    if isinstance(kind, click.FloatRange):
        return f"a number above {kind.min}"
    return "a number" if kind is click.FLOAT else ""


def default(option: Option) -> str:
    """What holds without the option, as Markdown."""
    if option.default_text:
        return option.default_text
    if option.secondary_opts:
        return f"`{(option.opts if option.default else option.secondary_opts)[0]}`"
    if option.is_flag:
        return "off"
    value = option.default if option.show_default else None
    return "none" if value is None else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def example(option: Option, reference: Reference) -> str:
    templates = {name: getattr(reference, name) for name in ("one", "run", "library")}
    return option.example.format(**templates)


def _section(option: click.Option, reference: Reference) -> list[str]:
    if not isinstance(option, Option):  # --help and --version
        return [f"### `{option.opts[-1]}`", "", f"`{written(option)}`: {option.help}", ""]
    lines = [f"### `{option.opts[-1]}`", "", f"`{written(option)}`: {option.description}", ""]
    if taken := values(option):
        lines.append(f"- Values: {taken}")
    lines += [f"- Default: {default(option)}", ""]
    if reason := SKIPPED.get(option.opts[-1]):
        lines += [f'<!-- skip: next "{reason}" -->', ""]
    return [*lines, "```console", f"$ {example(option, reference)}", "```", ""]


def page(reference: Reference) -> str:
    """The page of a command, as Markdown."""
    command = reference.command
    first, examples, rest = paragraphs(command)
    lines = [f"# {command.name}", "", f"<!-- {MADE} -->"]
    lines += [f"<!-- begins with: {reference.begins} -->", "", first, ""]
    lines += ["```text", usage(command), "```", ""]
    for paragraph in rest:
        lines += [fill(paragraph, 100, break_on_hyphens=False, break_long_words=False), ""]
    lines += ["## Examples", "", "```text", examples, "```", ""]
    if reference.first:
        lines += ["The examples of the options use what these commands write:", ""]
        lines += ["```console", *(f"$ {line}" for line in reference.first), "```", ""]
    for title, options in groups(command).items():
        lines += [f"## {title}", ""]
        for option in options:
            lines += _section(option, reference)
    return "\n".join(lines)


def troff(text: str) -> str:
    """Text of a man page: what troff would take for a command is escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def man_page(reference: Reference) -> str:
    """The man page of a command, as troff; see man-pages(7)."""
    command = reference.command
    first, examples, rest = paragraphs(command)
    title = troff(name_of(reference).upper())
    summary = troff(first[0].lower() + first[1:].rstrip("."))
    lines = [f'.\\" {MADE}', f'.TH "{title}" 1 "" "msh\\-gltf {__version__}"', ".SH NAME"]
    lines += [f"{troff(name_of(reference))} \\- {summary}"]
    lines += [".SH SYNOPSIS", troff(usage(command)), ".SH DESCRIPTION"]
    for paragraph in rest:
        lines += [".PP", troff(paragraph)]
    lines += [".SH OPTIONS"]
    for title, options in groups(command).items():
        lines.append(f".SS {title}")
        for option in options:
            lines += [".TP", f".B {troff(written(option))}"]
            if isinstance(option, Option):
                lines.append(troff(f"{option.description} Default: {default(option)}."))
                lines += [".br", f"Example: {troff(example(option, reference))}"]
            else:
                lines.append(troff(option.help or ""))
    lines += [".SH EXAMPLES", ".nf", troff(examples), ".fi", ".SH SEE ALSO"]
    others = [f"{troff(name_of(r))}(1)" for r in REFERENCES if r is not reference]
    return "\n".join([*lines, ", ".join(others), ""])


def files() -> dict[Path, str]:
    """What belongs into which file."""
    out = {}
    for reference in REFERENCES:
        out[DOCS / "commands" / f"{name_of(reference)}.md"] = page(reference)
        out[DOCS / "man" / f"{name_of(reference)}.1"] = man_page(reference)
    return out


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
