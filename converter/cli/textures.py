"""What ``msh2gltf`` and ``gltf2msh`` do with textures and pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common import STDOUT, output_path, print_json, say, write_stdout

if TYPE_CHECKING:
    from ..formats.texture import Texm


def export_texture(name: str, texm: Texm, output: str | None, force: bool, quiet: bool) -> None:
    """A texture's full size as a PNG."""
    from ...exporters.png import png_bytes
    from ..formats.names import escape
    from ..storage import write_outputs

    data = png_bytes(texm.rgba())
    if output == STDOUT:
        write_stdout(data)
        return
    target = output_path(output, f"{escape(name)}.png", (".png",))
    write_outputs([(target, data)], force)
    if not quiet:
        say(f"{name}: {_summary(texm)}")
        say(f"  wrote {target} ({len(data):,} bytes)")


def inspect_texture(name: str, texm: Texm, as_json: bool) -> None:
    """What ``msh-inspect`` says of a texture."""
    rects = [{key: int(rect[key]) for key in ("x", "y", "width", "height")} for rect in texm.pages]
    if as_json:
        print_json(
            {
                "kind": "texture",
                "name": name,
                "width": texm.width,
                "height": texm.height,
                "format": texm.format,
                "levels": len(texm.levels),
                "alpha": texm.has_alpha,
                "rectangles": rects,
            }
        )
        return
    say(f"{name}  texture, {_summary(texm)}")
    for i, rect in enumerate(rects):
        say(f"rectangle {i}  {rect['width']} x {rect['height']} at {rect['x']}, {rect['y']}")


def import_picture(
    picture: Path,
    output: str | None,
    into: Path | None,
    format: int | None,
    levels: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """A PNG as a texture: a file, or an entry of a library."""
    from ...exporters.texm import write_texm
    from ..formats.names import readable
    from ..formats.texture import texture_name
    from ..pipeline.texture import texm_of
    from ..storage import write_outputs

    if into is not None and output is not None:
        raise click.UsageError("--into and -o exclude each other")
    texm = texm_of(picture, format, levels)
    if into is not None:
        _put(into, picture, texm, quiet)
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
            f"-o {output}: expected a directory or a texture file like WALL.0 (--into puts it "
            "into a library)"
        )
    write_outputs([(target, data)], force)
    if not quiet:
        say(f"{picture.name}: {_summary(texm)}")
        say(f"  wrote {target} ({len(data):,} bytes)")


def _put(library: Path, picture: Path, texm: Texm, quiet: bool) -> None:
    """Into a library; what it was before stays beside it, once."""
    from ..batch.walk import BACKUP
    from ..pipeline.texture import put_texture
    from ..storage import copy_output, only_run, said_of_links, write_outputs

    if not library.is_file():
        raise click.UsageError(f"--into {library}: expected a library such as Textures.lib")
    with only_run(library.absolute().parent):
        put = put_texture(library, picture, texm)
        backup = Path(f"{library}{BACKUP}")
        new = not os.path.lexists(backup)
        if (said := said_of_links(library)) is not None:
            put.warnings.append(said)
        if new:
            copy_output(library, backup)
        write_outputs([(library, put.data)], force=True)
    if quiet:
        return
    for warning in put.warnings:
        say(f"warning: {library}: {warning}", error=True)
    say(f"{picture.name}: {_summary(texm)}")
    say(f"  {'added' if put.added else 'replaced'} entry {put.name}")
    if new:
        say(f"  wrote {backup}, the library as it was")
    say(f"  wrote {library} ({len(put.data):,} bytes)")


def _summary(texm: Texm) -> str:
    levels = f"{len(texm.levels)} level{'s' if len(texm.levels) > 1 else ''}"
    return f"{texm.width} x {texm.height}, format {texm.format}, {levels}"
