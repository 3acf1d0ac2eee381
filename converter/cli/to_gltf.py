"""``msh2gltf``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from converter.cli.common import (
    FILE,
    SETTINGS,
    STDOUT,
    dialect_option,
    entry_option,
    output_options,
    output_path,
    version_option,
    write_stdout,
)

if TYPE_CHECKING:
    from converter.validate import Finding


@click.command(
    name="msh2gltf",
    context_settings=SETTINGS,
    help="""Turn a core model of Parkan: Iron Strategy into glTF 2.0.

\b
Examples:
  msh2gltf robot.msh                              robot.glb here, with its sidecar
  msh2gltf static.rlb --entry r_h_01.msh -o out/  one model of an archive
  msh2gltf robot.msh -o robot.gltf                JSON and robot.bin
  msh2gltf robot.msh -o - | viewer                a .glb on standard output, no sidecar

INPUT is a .msh file or an archive (.rlb, .lib). The sidecar (.msh-sidecar) holds what glTF
cannot; keep it beside the glTF, and gltf2msh gives back the same bytes.
""",
)
@click.argument("source", metavar="INPUT", type=FILE)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    type=click.Path(),
    help="A .glb or .gltf file, a directory, or - for standard output.  [default: NAME.glb here]",
)
@entry_option
@dialect_option
@click.option(
    "--fps",
    type=click.FloatRange(0, min_open=True),
    default=24.0,
    show_default=True,
    help="Frames per second of the clip; Blender's importer works at 24.",
)
@click.option(
    "--lod",
    type=click.IntRange(0, 2),
    default=0,
    show_default=True,
    help="Level of detail that the default scene shows.",
)
@click.option(
    "--group",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    help="Group that the default scene shows.",
)
@click.option(
    "--parts",
    type=click.Choice(["all", "visible"]),
    default="all",
    show_default=True,
    help="Every part, or only those of the default scene.",
)
@click.option(
    "--subframes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    metavar="K",
    help="Samples per frame of the clip.",
)
@click.option("--keys", is_flag=True, help="Export the stored keys instead of samples.")
@click.option("--vertex-ids", is_flag=True, help="Add _MSH_VID, the vertex index + 1.")
@click.option("--paths", is_flag=True, help="Show the interior path graph as lines.")
@click.option("--no-sidecar", is_flag=True, help="Write no sidecar: the way back is a rebuild.")
@output_options
@version_option
def command(
    source: Path,
    output: str | None,
    entry: str | None,
    dialect: str,
    fps: float,
    lod: int,
    group: int,
    parts: str,
    subframes: int,
    keys: bool,
    vertex_ids: bool,
    paths: bool,
    no_sidecar: bool,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    if keys and subframes != 1:
        raise click.UsageError("--keys and --subframes exclude each other")
    from converter.convert import ExportOptions, buffer_path, gltf_files, load, safe_stem
    from converter.files import refuse_existing, write_outputs
    from converter.sidecar import sidecar_path

    options = ExportOptions(
        dialect, fps, lod, group, parts == "visible", subframes, keys, vertex_ids, paths
    )
    if output not in (None, STDOUT):  # say so before any work
        output_path(output, "model.glb", (".glb", ".gltf"))
    loaded = load(source, entry, options)
    _show_findings(loaded.findings, source, quiet, verbose)
    if output == STDOUT:
        files = gltf_files(loaded, Path("model.glb"), options, sidecar=False)
        write_stdout(files[-1][1])
        return
    target = output_path(output, f"{safe_stem(loaded.name)}.glb", (".glb", ".gltf"))
    outputs = [target, *([] if no_sidecar else [sidecar_path(target)])]
    if target.suffix.lower() == ".gltf":
        outputs.append(buffer_path(target))
    refuse_existing(outputs, force)
    files = gltf_files(loaded, target, options, sidecar=not no_sidecar)
    write_outputs(files, force)
    if quiet:
        return
    scene, decision = loaded.scene, loaded.decision
    triangles = sum(scene.triangle_count(part.mesh) for part in scene.parts)
    clip = f", {scene.frame_count} frames" if scene.tracks else ""
    click.echo(
        f"{loaded.name}: {len(scene.nodes)} nodes, {len(scene.parts)} parts, "
        f"{triangles:,} triangles{clip}"
    )
    click.echo(f"  dialect {decision.dialect.value}: {decision.reason}")
    if verbose:
        click.echo(
            f"  evidence: header box error {decision.box_error or 'unknown'}, identity keys "
            f"{decision.identity_keys or 'not looked at'}, batch words say {decision.batch_words}"
        )
    for path, content in files:
        click.echo(f"  wrote {path} ({len(content):,} bytes)")


def _show_findings(findings: list[Finding], source: Path, quiet: bool, verbose: bool) -> None:
    for finding in findings:
        if not quiet and (verbose or finding.severity == "warning"):
            click.echo(f"{finding.severity}: {source}: {finding}", err=True)
