"""Check the registry, units and missions against the game that they are in. No printing."""

from __future__ import annotations

from collections.abc import Iterator

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
from ..errors import ConversionError
from ..files import read_file
from ..findings import Finding
from ..formats.mission import BUILDING, OBJECT_KINDS, Mission, PlacedObject, read_mission
from ..formats.nres import Archive, read_nres
from ..formats.objects import Unit, read_registry, read_unit
from ..formats.terrain import read_terrain
from ..scene.scene import in_range
from .registry import Game


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
