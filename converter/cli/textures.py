"""What ``msh2gltf`` and ``gltf2msh`` do with textures and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import plural
from .common import STDOUT, output_path, say, say_written, write_stdout

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..pipeline.texture import EditedLibrary, LoadedTexture
    from .given import ToMsh


def export_texture(texture: LoadedTexture, output: str | None, force: bool, quiet: bool) -> None:
    """Write a texture's full size as a PNG."""
    from ..formats.names import escape
    from ..pipeline.texture import png_file
    from ..storage import write_outputs

    name = texture.name
    if output == STDOUT:
        write_stdout(png_file(texture, Path(STDOUT))[1])
        return
    target, data = png_file(texture, output_path(output, f"{escape(name)}.png", (".png",)))
    written = write_outputs([(target, data)], force)
    if not quiet:
        say(f"{name}: {texture.summary}")
        say_written([(target, data)], written)


def import_picture(given: ToMsh) -> None:
    """A PNG as a texture: a file, or an entry of a library."""
    from ..formats.names import readable
    from ..formats.texture import texture_name, write_texm
    from ..game.games import write_files
    from ..pipeline.texture import add_or_replace_texture, texm_of, texture_summary

    picture, output = given.source, given.output
    if given.into is not None and output is not None:
        raise click.UsageError("--into and -o exclude each other")
    texm = texm_of(picture, None if given.texm is None else int(given.texm), given.mips)
    if given.into is not None:
        library = given.into
        _write_into(
            given,
            lambda: add_or_replace_texture(library, picture.stem, texm),
            f"{picture.name}: {texture_summary(texm)}",
        )
        return
    data = write_texm(texm)
    if output == STDOUT:
        write_stdout(data)
        return
    target = Path(output or ".")
    if output is None or target.is_dir() or output.endswith("/"):
        target /= texture_name(readable(picture.stem))
    elif target.suffix.lower() in (".png", ".lib", ".rlb"):
        raise click.UsageError(
            f"-o {output}: expected a directory or a texture file like WALL.0 (--into puts it into a library)"
        )
    written = write_files([(target, data)], given.force, f"gltf2msh {picture.name} -o {target.name}")
    if not given.quiet:
        say(f"{picture.name}: {texture_summary(texm)}")
        say_written([(target, data)], written)


def is_entry_file(path: Path) -> bool:
    """Return whether a file is an entry of a library: a texture, or a material by its ending."""
    from ..formats.texture import TEXM_MAGIC
    from ..pipeline.library_edits import MATERIAL_ENDING

    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(len(TEXM_MAGIC))
    return head == TEXM_MAGIC or path.suffix.lower() == MATERIAL_ENDING


def import_entry(given: ToMsh) -> None:
    """Put a file that is an entry into a library."""
    from ..formats.texture import read_texm
    from ..input_files import read_file
    from ..pipeline.library_edits import MATERIAL_ENDING, add_or_replace_material
    from ..pipeline.texture import add_or_replace_texture, texture_summary

    source, library = given.source, given.into
    assert library is not None
    if source.suffix.lower() == MATERIAL_ENDING:
        _write_into(given, lambda: add_or_replace_material(library, source), "")
        return
    texm = read_texm(read_file(source), str(source))
    _write_into(
        given, lambda: add_or_replace_texture(library, source.name, texm), f"{source.name}: {texture_summary(texm)}"
    )


def _write_into(given: ToMsh, edit: Callable[[], EditedLibrary], summary: str) -> None:
    """Write an edited library; the game's vault keeps what it was before."""
    from ..game.games import Games

    library = given.into
    assert library is not None
    if not library.is_file():
        raise click.UsageError(f"--into {library}: expected a library such as Textures.lib")
    with Games(f"gltf2msh {given.source.name} --into {library.name}", "into") as games:
        games.of(library)  # what a killed run left is completed first
        edited = edit()
        games.put(library, edited.data, given.source.name)
        wrote = games.commit()
    if given.quiet:
        return
    for warning in edited.warnings:
        say(f"warning: {library}: {warning}", error=True)
    for message in games.messages:
        say(f"warning: {message}", error=True)
    if summary:
        say(summary)
    if not wrote:
        say(f"  {library} has {edited.name} already")
        return
    say(f"  {'added' if edited.added else 'replaced'} entry {edited.name}")
    say(f"  wrote {library} ({plural(len(edited.data), 'byte')})")
    say(f"  msh-mod undo {library.parent} takes it back")
