"""A whole level: terrain, areal map and material lists (docs/reference/terrain.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..checks.areal_map import check_areal_map
from ..checks.terrain import check_terrain
from ..checks.terrain_faces import level_material, level_wear, level_wear_parallel
from ..errors import ConversionError
from ..files import read_file
from ..findings import Finding, without_errors
from ..formats.areal_map import ArealMap, read_areal_map
from ..formats.nres import read_nres
from ..formats.terrain import Terrain, read_terrain
from ..formats.wear import read_wear_names


@dataclass(frozen=True)
class Level:
    """A level as the game loads it.

    Attributes:
        files: the files that were found, by what they are called: ``1.wea``, ``2.wea``, ``.map``,
            ``.msh``.
        wear, micro: names by row of ``1.wea`` and ``2.wea``.
        areals: the areal map.
        terrain: the terrain.
        findings: ``(file, finding)``, in the order of loading; the last are about files that do
            not fit one another.
    """

    files: dict[str, Path]
    wear: list[str]
    micro: list[str]
    areals: ArealMap
    terrain: Terrain
    findings: list[tuple[Path, Finding]]


def load_level(base: Path, *, strict: bool = True) -> Level:
    """Load a level by its base name, in the runtime's order (docs/reference/terrain.md).

    ``base + "1.wea"`` and ``"2.wea"``, ``base + ".map"``, ``base + ".msh"``; whatever their case. A
    step that fails ends the loading, as it ends the game.

    Args:
        base: e.g. ``DATA/MAPS/Tut_1/Land``.
        strict: an error finding is a failure too; else it is among the findings.

    Raises:
        ConversionError: a file is missing or cannot be read, or (``strict``) has errors.
    """
    files: dict[str, Path] = {}
    findings: list[tuple[Path, Finding]] = []

    def take(suffix: str) -> Path:
        files[suffix] = _find(base, suffix)
        return files[suffix]

    def note(path: Path, found: list[Finding]) -> None:
        if strict:
            without_errors(found, str(path))
        findings.extend((path, finding) for finding in found)

    names = []
    for suffix in ("1.wea", "2.wea"):
        path = take(suffix)
        names.append(read_wear_names(read_file(path)))
        if not names[-1]:
            note(path, [*level_wear("is not a list of materials (WEAR)")])
    path = take(".map")
    areals = read_areal_map(read_nres(read_file(path), str(path)))
    note(path, check_areal_map(areals))
    path = take(".msh")
    terrain = read_terrain(read_nres(read_file(path), str(path)), path.name)
    note(path, check_terrain(terrain))
    wear, micro = names
    name = files["1.wea"].name
    note(files["2.wea"], [*level_wear_parallel(wear, micro, name)])
    note(files[".msh"], [*level_material(terrain, len(wear), name)])
    return Level(files, wear, micro, areals, terrain, findings)


def _find(base: Path, suffix: str) -> Path:
    wanted = f"{base.name}{suffix}"
    try:
        found = sorted(p for p in base.parent.iterdir() if p.name.lower() == wanted.lower())
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise ConversionError(problem, file=str(base.parent)) from error
    if not found:
        raise ConversionError("a file of the level is missing", file=str(base.parent / wanted), hint="case is nothing")
    return found[0]
