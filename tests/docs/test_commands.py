"""The command reference, the man pages, ``--help`` and the completion come from one place."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from docs.make_commands import (
    DOCS,
    MOD,
    REFERENCES,
    RUSSIAN,
    GroupReference,
    Reference,
    example,
    files,
    name_of,
    options_below,
)
from msh_gltf.converter.cli.common import GROUPS, Option
from tests.support.runs import python

every_command = pytest.mark.parametrize("reference", REFERENCES, ids=name_of)


def options_of(reference: Reference) -> list[click.Option]:
    return [p for p in reference.command.params if isinstance(p, click.Option)]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_pages_are_current(path: Path) -> None:
    assert path.read_text("utf-8") == files()[path], "run python docs/make_commands.py"


def test_no_page_is_left_over() -> None:
    made = {path.name for path in files()} | {RUSSIAN.name}
    assert {p.name for d in ("commands", "man") for p in (DOCS / d).iterdir()} == made


@every_command
def test_every_option_has_a_group_and_an_example_that_uses_it(reference: Reference) -> None:
    for one in options_of(reference):
        if one.name == "version":
            continue
        assert isinstance(one, Option), f"{one.opts}: declare it with converter.options.option"
        assert one.about.group in GROUPS, one.opts
        words = example(one, reference).split()
        assert words[0] == reference.command.name, one.opts
        assert {*one.opts, *one.secondary_opts} & {*words}, f"{one.opts}: {words}"


@every_command
def test_help_has_the_groups_of_the_page(reference: Reference) -> None:
    shown = CliRunner().invoke(reference.command, ["--help"]).output
    page = (DOCS / "commands" / f"{name_of(reference)}.md").read_text("utf-8")
    options = re.split(r"^(?=(?:Task|Input):$)", shown, maxsplit=1, flags=re.MULTILINE)[1]
    in_help = re.findall(r"^(\w+):$|^  (?:-\w, )?(--[\w-]+)", options, re.MULTILINE)
    in_page = re.findall(r"^## (\w+)$|^### `(--[\w-]+)`$", page, re.MULTILINE)
    assert in_help == [names for names in in_page if names[0] != "Examples"]
    assert ("Options", "") not in in_help


@pytest.mark.parametrize("name", MOD.command.commands)
def test_every_option_of_a_command_below_has_an_example(name: str) -> None:
    examples = MOD.examples[name]
    assert all(line.startswith(f"msh-mod {name} ") for line in examples)
    unused = {one.opts[-1] for one in options_below(MOD.command.commands[name])}
    unused -= {word for line in examples for word in line.split()}
    assert unused <= {"--to"}, unused  # which takes a digest


def test_commands_below_are_listed_as_on_the_page() -> None:
    shown = CliRunner().invoke(MOD.command, ["--help"]).output.split("Commands:")[1]
    page = (DOCS / "commands/msh-mod.md").read_text("utf-8")
    assert re.findall(r"^  (\w+)", shown, re.MULTILINE) == re.findall(r"^## ([a-z]+)$", page, re.MULTILINE)


@pytest.mark.parametrize("reference", [*REFERENCES, MOD], ids=name_of)
def test_man_pages_are_valid(reference: Reference | GroupReference) -> None:
    if (groff := shutil.which("groff")) is None:
        pytest.skip("no groff")
    path = DOCS / "man" / f"{name_of(reference)}.1"
    done = subprocess.run([groff, "-man", "-ww", "-Tutf8", path], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    shown = re.sub(r"\x1b\[\d+m|.\x08", "", done.stdout)
    for one in options_of(reference) if isinstance(reference, Reference) else ():
        assert one.opts[-1] in shown.replace("‐", "-"), one.opts


@pytest.mark.skipif(sys.platform == "win32", reason="click completes in bash, zsh and fish")
@pytest.mark.parametrize("reference", [*REFERENCES, MOD], ids=name_of)
def test_the_shell_completes(reference: Reference | GroupReference) -> None:
    name = name_of(reference)
    typed, whole = ("--dia", "--dialect") if reference is not MOD else ("rest", "restore")
    code = "import sys; from msh_gltf.converter import cli; getattr(cli, sys.argv[1])([])"
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    words = {variable: "bash_complete", "COMP_WORDS": f"{name} {typed}", "COMP_CWORD": "1"}
    done = python("-c", code, name.replace("-", "_"), **words)
    assert done.stdout.split() == [f"plain,{whole}"]
