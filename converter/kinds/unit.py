"""Export a unit as the game assembles it: its parts on their sockets. No printing."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from ..edits.materials import listed
from ..errors import ConversionError, plural, printable
from ..files import read_file
from ..findings import without_errors
from ..formats.kinds import Kind
from ..formats.names import escape, readable, stem
from ..formats.unit import UNIT_ENDING, Unit, read_unit
from ..options import ExportOptions
from ..scene.assembly import Assembly, Placement
from ..scene.extras import NodeExtras, SceneExtras
from ..storage import walk_files
from .appearance import missing_materials
from .check_assembly import check_unit_file
from .game import Game
from .gltf_output import Files
from .placed_models import LoadedAssembly, PlacedModels, assembly_files, require_game, shared_appearance

#: The folder of units in a game; case does not matter.
UNITS = "UNITS"


@dataclass(frozen=True, kw_only=True)
class LoadedUnit(LoadedAssembly):
    """A unit, resolved and assembled; ``unit``: its components."""

    kind = Kind.UNIT

    unit: Unit

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        return f"unit, {plural(len(self.unit), 'component')}, {self.figures}"

    @property
    def file_stem(self) -> str:
        """What its glTF is called, without an ending."""
        return escape(self.assembly.name)


def load_unit(path: Path, options: ExportOptions) -> LoadedUnit:
    """Read a unit and the models of its components.

    Args:
        path: the ``.dat``.
        options: ``game``, ``internal``, ``mode`` and how models become glTF.

    Raises:
        ConversionError: unreadable, no game, or a finding that is refused.
    """
    data = read_file(path)
    unit = read_unit(data, str(path))
    game = require_game(path, options)
    findings = [*check_unit_file(data, str(path), game)]
    models = PlacedModels(game, options)
    name = readable(path.name)
    root = Placement(stem(name), NodeExtras(kind="unit", type=unit.type))
    placements = [root]
    models.place_unit(unit, 0, placements, empties=True)
    appearance = shared_appearance(models.loaded, None)
    findings += [*models.findings, *missing_materials(appearance)]
    without_errors(findings, str(path), None, options.mode)
    return LoadedUnit(
        name=name,
        findings=findings,
        appearance=appearance,
        data=bytes(data),
        assembly=Assembly(stem(name), models.assembled(), placements),
        models=models.loaded,
        unit=unit,
    )


def find_unit(game: Path, name: str) -> Path:
    """Return the file of a unit of a game.

    Args:
        game: the game's directory.
        name: its file's name or the end of its path, in any case, with or without ``.dat``.

    Raises:
        ConversionError: no such unit, or several.
    """
    folder = Game(game).file(UNITS)
    wanted = [part for part in name.lower().replace("\\", "/").split("/") if part]
    if not wanted:
        raise ConversionError("--unit is empty", file=str(game))
    if not wanted[-1].endswith(UNIT_ENDING):
        wanted[-1] += UNIT_ENDING
    found, known = [], []
    for here, _, files in walk_files(folder or game):
        for file in files:
            path = here / file
            if path.suffix.lower() != UNIT_ENDING:
                continue
            known.append(path)
            parts = [readable(part).lower() for part in path.relative_to(game).parts]
            if parts[-len(wanted) :] == wanted:
                found.append(path)
    if len(found) == 1:
        return found[0]
    if found:
        paths = ", ".join(printable(readable(str(path.relative_to(game)))) for path in found)
        raise ConversionError(
            "game has several units of this name",
            file=str(game),
            value=printable(name),
            hint=f"name one with its folders: {paths}",
        )
    near = sorted(
        {readable(path.stem) for path in known},
        key=lambda one: -SequenceMatcher(None, one.lower(), name.lower()).ratio(),
    )
    raise ConversionError(
        "game has no such unit", file=str(game), value=printable(name), hint=f"it has {listed(near)}" if near else None
    )


def unit_files(loaded: LoadedUnit, target: Path, options: ExportOptions, *, sidecar: bool, root: Path | None) -> Files:
    """Make the files of a unit's glTF; arguments as of ``dispatch.gltf_files``."""
    extras = SceneExtras(kind="unit")
    return assembly_files(loaded, target, options, extras, clips=True, sidecar=sidecar, root=root)
