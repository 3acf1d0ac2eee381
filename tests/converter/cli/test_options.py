"""A field of a data class is the command's option, the library's attribute and a line of its docstring."""

from __future__ import annotations  # options read the types of fields as text

from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from msh_gltf import ExportOptions, ImportOptions
from msh_gltf.converter.cli import to_gltf, to_msh
from msh_gltf.converter.cli.common import nested, options_of, read_options
from msh_gltf.converter.cli.given import ToGltf, ToMsh
from msh_gltf.converter.options import declared, lod_ratios, option

BOTH = [(ExportOptions, to_gltf.command, ToGltf), (ImportOptions, to_msh.command, ToMsh)]


@pytest.mark.parametrize(("library", "command", "given"), BOTH, ids=["msh2gltf", "gltf2msh"])
def test_every_option_of_the_library_is_one_of_the_command(library: type, command: click.Command, given: type) -> None:
    shown = {one.name: one for one in command.params}
    for name, about in (declared(library) | declared(given)).items():
        assert {*shown[name].opts, *shown[name].secondary_opts} == {n for part in about.names for n in part.split("/")}
    for name, about in declared(library).items():
        assert f"        {name}: " in library.__doc__, name
        assert about.help in library.__doc__, name


@dataclass(frozen=True)
class Inner:
    lod: int = option(0, "--lod", "selection", "", "", least=0, most=2)
    reduce: bool = option(True, "--no-reduce", "run", "", "")
    lightmaps: bool = option(True, "--lightmaps", "run", "", "", values={"on": True, "off": False})
    ratios: tuple[float, ...] = option((), "--ratios", "run", "", "", read=lod_ratios)
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Given:
    quiet: bool = option(False, "-q, --quiet", "report", "", "")


@dataclass(frozen=True, kw_only=True)
class Outer(Given):
    sources: tuple[Path, ...]
    names: tuple[str, ...] = option((), "--name", "input", "", "")
    how: Inner = nested(Inner)
    first: bool = option(False, "--first", "input", "", "", before="lod")


def outer(*arguments: str) -> Outer:
    """What a command gets of its arguments."""
    got: list[Outer] = []

    @click.command()
    @click.argument("sources", nargs=-1, type=Path)
    @options_of(Outer)
    @click.pass_context
    def command(context: click.Context, /, **_: object) -> None:
        got.append(read_options(Outer, context.params))

    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    names = [one.name for one in command.params]
    assert names == ["sources", "names", "first", "lod", "reduce", "lightmaps", "ratios", "quiet"]
    return got[0]


def test_options_are_read_into_their_fields() -> None:
    assert outer() == Outer(sources=(), how=Inner())
    given = outer("a", "--lod", "2", "--no-reduce", "--lightmaps", "off", "--ratios", "0.5,0.25", "--name", "b", "-q")
    how = Inner(lod=2, reduce=False, lightmaps=False, ratios=(0.5, 0.25))
    assert given == Outer(sources=(Path("a"),), names=("b",), how=how, quiet=True)


def test_what_cannot_be_read_is_a_usage_error() -> None:
    several, order = "one to three ratios", "the largest ratio first"
    for text, said in (("x", several), ("0.5,2", several), ("0.5,0.4,0.3,0.2", several), ("0.1,0.5", order)):
        with pytest.raises(ValueError, match=said):
            lod_ratios(text)
        done = CliRunner().invoke(to_msh.command, ["a.glb", "--generate-lods", text])
        assert (done.exit_code, said in done.output) == (2, True)
