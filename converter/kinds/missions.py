"""Units and missions, exported, described, and checked in the game that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..checks.assembly import (
    PartFacts,
    check_ground,
    check_mission,
    check_parts,
    has_geometry,
    host_without_vertex,
    missing_member,
    mission_map,
    mission_path,
    records_of,
    unit_class,
)
from ..checks.terrain import check_terrain
from ..edits.materials import listed
from ..errors import ConversionError, plural, printable
from ..files import read_file
from ..findings import Finding, without_errors
from ..formats.kinds import Kind
from ..formats.mission import BUILDING, OBJECT_KINDS, UNIT, Mission, PlacedObject, read_mission
from ..formats.names import readable, stem
from ..formats.nres import Archive, read_nres
from ..formats.objects import UNIT_ENDING, UNITS, Unit, read_registry, read_unit
from ..formats.terrain import read_terrain
from ..numeric.arrays import F64
from ..options import ExportOptions
from ..scene.assembly import Assembly, Placement, Pose, markers, object_extras, object_label, stored_pose
from ..scene.decode import rest_pose
from ..scene.extras import NodeExtras, SceneExtras
from ..scene.scene import in_range
from ..storage import absolute, walk_files
from .appearance import missing_materials
from .base import EditedFile, Exported, Source
from .landscape import LoadedTerrain, terrain_description
from .placed_models import LoadedAssembly, PlacedModels, own_sidecar, require_game, shared_appearance
from .registry import Game

if TYPE_CHECKING:
    from .import_result import ImportResult


@dataclass(frozen=True, kw_only=True)
class LoadedUnit(LoadedAssembly):
    """A unit, resolved and assembled; ``unit``: its components."""

    kind = Kind.UNIT

    unit: Unit

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        return f"unit, {plural(len(self.unit), 'component')}, {self.figures}"

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedUnit:
        """Read a unit and the models of its components."""
        path = source.path
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

    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF."""
        return self.assembled(options, SceneExtras(kind="unit"), clips=True)

    @staticmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to the unit of its sidecar."""
        from .import_missions import import_unit

        return import_unit(edited)


def find_unit(game: Path, name: str) -> Path:
    """Return the file of a unit of a game. Raises ConversionError: no such unit, or several. ``name``: its file's name
    or the end of its path, in any case, with or without ``.dat``.
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
        key=lambda one: (-SequenceMatcher(None, one.lower(), name.lower()).ratio(), one),
    )
    raise ConversionError(
        "game has no such unit", file=str(game), value=printable(name), hint=f"it has {listed(near)}" if near else None
    )


@dataclass(frozen=True, kw_only=True)
class LoadedMission(LoadedAssembly):
    """A mission, resolved and assembled. ``terrain``: its level; ``None`` where that is missing."""

    kind = Kind.MISSION

    mission: Mission
    terrain: LoadedTerrain | None

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        return f"mission, {plural(len(self.mission.objects), 'object')}, {self.figures}"

    @classmethod
    def load(cls, source: Source, options: ExportOptions) -> LoadedMission:
        """Read a mission, its level and all models that it places."""
        path = source.path
        data = read_file(path)
        mission = read_mission(data, str(path))
        game = require_game(path, options)
        findings = [*check_mission_file(data, str(path), game)]
        without_errors(findings, str(path), None, options.mode)
        models = PlacedModels(game, options)
        terrain = _terrain(mission, models)
        placing = _Placing(mission, models)
        assembly = Assembly(
            readable(absolute(path).parent.name) or stem(readable(path.name)),
            [],
            placing.placements(broken_rows(findings)),
            None if terrain is None else (terrain.scene, terrain.appearance),
            markers(mission),
        )
        assembly.models = models.assembled()
        more = None if terrain is None else terrain.appearance
        appearance = shared_appearance(models.loaded, more)
        findings += [*placing.findings, *models.findings, *missing_materials(appearance)]
        without_errors(findings, str(path), None, options.mode)
        return LoadedMission(
            name=readable(path.name),
            findings=findings,
            appearance=appearance,
            data=bytes(data),
            assembly=assembly,
            models=models.loaded,
            mission=mission,
            terrain=terrain,
        )

    def exported(self, options: ExportOptions) -> Exported:
        """Return what goes into its glTF."""
        clans = "\n".join(clan.title for clan in self.mission.clans)
        extras = SceneExtras(kind="mission", map=self.mission.map, clans=clans)
        level = self.terrain
        more = [] if level is None else [own_sidecar(terrain_description(level, options), level)]
        return self.assembled(options, extras, clips=bool(options.clips), more=more)

    @staticmethod
    def import_edited(edited: EditedFile) -> ImportResult:
        """Apply what a glTF file changed to the mission of its sidecar."""
        from .import_missions import import_mission

        return import_mission(edited)


def broken_rows(findings: list[Finding]) -> set[int]:
    """Return the objects that a tolerant reader leaves out."""
    return {
        int(row)
        for finding in findings
        if finding.severity == "error" and finding.rows is not None
        for row in finding.rows
    }


def _terrain(mission: Mission, models: PlacedModels) -> LoadedTerrain | None:
    path = models.game.file(f"{mission.map}.msh")
    if path is None:
        return None
    try:
        return LoadedTerrain.load(Source(path, read_nres(read_file(path), str(path))), models.options)
    except ConversionError:
        return None


@dataclass
class _Placing:
    """Places the objects of a mission. ``models``: the models of its objects."""

    mission: Mission
    models: PlacedModels
    findings: list[Finding] = field(default_factory=list)
    _units: dict[str, Unit | None] = field(default_factory=dict)

    def placements(self, left_out: set[int]) -> list[Placement]:
        """Return the objects with what is below them, in the order of the file."""
        out: list[Placement] = []
        for row, placed in enumerate(self.mission.objects):
            if row in left_out:
                continue
            pose, hosted = self._pose(placed)
            extras = object_extras(placed, row, hosted)
            own = Placement(object_label(placed), extras, pose=pose)
            out.append(own)
            if not placed.is_assembly:
                known = placed.kind < len(OBJECT_KINDS)
                own.model = self.models.row(placed.reference) if known else None
            elif (unit := self._unit(placed)) is not None:
                self.models.place_unit(unit, len(out) - 1, out, empties=False)
        return out

    def _unit(self, placed: PlacedObject) -> Unit | None:
        key = placed.reference.lower()
        if key not in self._units:
            try:
                self._units[key] = self.models.game.unit(placed.reference)
            except ConversionError:
                self._units[key] = None
            else:
                self._check(placed)
        return self._units[key]

    def _check(self, placed: PlacedObject) -> None:
        game, label = self.models.game, printable(placed.reference)
        path = game.file(placed.reference)
        assert path is not None
        for found in check_unit_file(read_file(path), label, game):
            self.findings.append(Finding(found.rule, f"{label}: {found}"))

    def _pose(self, placed: PlacedObject) -> tuple[Pose, bool]:
        """Where an object stands, and whether that is in its host."""
        if placed.kind == UNIT and placed.host is not None:
            found = self._vertex(*placed.host)
            if found is not None:
                return Pose(found), True
        return stored_pose(placed), False

    def _vertex(self, id: int, vertex: int) -> F64 | None:
        """A point of the path graph of the building of an id, in the world."""
        host = self.mission.hosts().get(id)
        unit = None if host is None or host.kind != BUILDING else self._unit(host)
        row = None if unit is None else self.models.row(unit.key(0))
        if host is None or row is None:
            return None
        loaded = self.models.loaded[row]
        graph = loaded.model.graph
        if graph is None or not 0 <= vertex < len(graph.points):
            return None
        node = int(graph.points["node"][vertex])
        turns, moves = rest_pose(loaded.scene)
        if node >= len(turns) or not in_range(graph.points["position"][[vertex]])[0]:
            return None
        point = graph.points["position"][vertex].astype(np.float64)
        return stored_pose(host).apply(Pose(moves[node], turns[node]).apply(point))


def check_registry_file(archive: Archive, game: Game | None) -> Iterator[Finding]:
    """Yield findings about a registry; ``game``: the game whose files it names; ``None``: files are not looked for."""
    registry = read_registry(archive)
    yield from registry.check()
    for entry in archive.entries if game is not None else ():
        resolved = registry.resolve(entry.name_bytes)
        assert resolved is not None
        assert game is not None
        for member in resolved.members.values():
            try:
                game.open(member)
            except ConversionError as error:
                yield from missing_member(resolved, member, error.problem)


def check_unit_file(data: memoryview | bytes, label: str, game: Game | None) -> Iterator[Finding]:
    """Yield findings about a unit; arguments as of :func:`check_registry_file`. Raises ConversionError: it cannot be
    read, or the registry cannot.
    """
    unit = read_unit(data, label)
    yield from unit_class(unit)
    if game is not None:
        yield from check_parts(unit, [_facts(unit, row, game) for row in range(len(unit))])


def _facts(unit: Unit, row: int, game: Game) -> PartFacts:
    found = game.object(unit.key(row))
    if found.model is None:
        return PartFacts(found.resolved is not None, found.problem)
    try:
        model = game.model(found.model)
    except ConversionError as error:
        return PartFacts(True, str(error))
    return PartFacts(True, "", None if model.legacy else has_geometry(model.nodes))


def check_mission_file(data: memoryview | bytes, label: str, game: Game | None) -> Iterator[Finding]:
    """Yield findings about a mission; arguments as of :func:`check_registry_file`. Raises ConversionError: it cannot be
    read, or the registry cannot.
    """
    mission = read_mission(data, label)
    yield from check_mission(mission)
    if game is None:
        return
    known: dict[tuple[bool, str], str] = {}
    problems = []
    for placed in mission.objects:
        key = placed.is_assembly, placed.reference.lower()
        if key not in known:
            known[key] = path_problem(placed, game)
        problems.append(known[key])
    yield from mission_path(mission, problems)
    yield from _vertices(mission, game)
    yield from _on_the_map(mission, game)


def path_problem(placed: PlacedObject, game: Game) -> str:
    """Return why the path of an object does not resolve; empty where it does. Raises ConversionError: the registry
    cannot be read.
    """
    if placed.kind >= len(OBJECT_KINDS):
        return ""  # nobody knows what its path means
    if placed.is_assembly:
        try:
            game.unit(placed.reference)
        except ConversionError as error:
            return error.problem
        return ""
    found = game.object(placed.reference)
    if found.resolved is None:
        return "objects.rlb does not have the key"
    return found.problem or ("" if found.model is not None else "object has no model")


def _vertices(mission: Mission, game: Game) -> Iterator[Finding]:
    """Hosts whose path graph lacks the vertex; a host that does not resolve has its own finding."""
    hosts = mission.hosts()
    for row, placed in enumerate(mission.objects):
        host = None if placed.host is None else hosts.get(placed.host[0])
        if placed.host is None or host is None or host.kind != BUILDING:
            continue
        try:
            found = game.object(game.unit(host.reference).key(0))
            if found.model is None:
                continue
            graph = game.model(found.model).graph
        except ConversionError:
            continue
        vertex, points = placed.host[1], None if graph is None else graph.points["position"]
        count = 0 if points is None else len(points)
        if points is None or not 0 <= vertex < count or not in_range(points[[vertex]])[0]:
            yield from host_without_vertex(row, vertex, count)


def _on_the_map(mission: Mission, game: Game) -> Iterator[Finding]:
    path = game.file(f"{mission.map}.msh")
    if path is None:
        yield from mission_map(mission.map, "game has no such file")
        return
    try:
        terrain = read_terrain(read_nres(read_file(path), str(path)), path.name)
    except ConversionError as error:
        yield from mission_map(mission.map, error.problem)
        return
    broken = next((f for f in check_terrain(terrain) if f.severity == "error"), None)
    if broken is not None:
        yield from mission_map(mission.map, broken.problem)
        return
    low, high = (of(terrain.positions[:, :2], axis=0).astype(float) for of in (np.min, np.max))
    points = records_of(mission)["position"][:, :2].astype(np.float64)
    from ..queries.landscape import TerrainQueries  # a model is exported without

    ground, _ = TerrainQueries(terrain).height_at(np.where(np.isfinite(points), points, low - 1))
    yield from check_ground(mission, low, high, ground)
