"""Registries, units, missions and RsLi libraries by what a file holds, for ``msh-inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import read_file
from ..formats.kinds import MISSION_FILE, Kind, archive_kind
from ..formats.mission import Mission, read_mission
from ..formats.nres import is_nres, read_nres
from ..formats.registry import Registry, is_registry, read_registry
from ..formats.rsli import is_rsli, read_rsli
from ..formats.unit import Unit, is_unit, read_unit
from .check import check_file
from .check_assembly import game_of
from .inspect_assembly import describe_mission, describe_registry, describe_rsli, describe_unit


def read_assembly(path: Path, data: memoryview | None = None) -> Registry | Unit | Mission | None:
    """Read a file if it is a registry, a unit or a mission; ``None``: it is another one.

    Args:
        path: the file.
        data: its bytes, where they are read already.

    Raises:
        ConversionError: unreadable.
    """
    data = read_file(path) if data is None else data
    if is_nres(data):
        archive = read_nres(data, str(path))
        known = archive_kind(archive) is Kind.ARCHIVE and is_registry(archive)
        return read_registry(archive) if known else None
    if path.name.lower() == MISSION_FILE or path.suffix.lower() == ".tma":
        return read_mission(data, str(path))
    return read_unit(data, str(path)) if is_unit(data) else None


def assembly_facts(path: Path, data: memoryview) -> dict[str, Any] | None:
    """Return what ``msh-inspect`` shows of a registry, unit, mission or RsLi, else ``None``.

    Args:
        path: the file.
        data: its bytes.

    Raises:
        ConversionError: it cannot be read, or the registry of its game cannot.
    """
    library = read_rsli(data, str(path)) if is_rsli(data) else None
    read = None if library is not None else read_assembly(path, data)
    if library is None and read is None:
        return None
    checked = check_file(path, path.name, known=True)
    findings = [finding for one in checked for finding in one.findings]
    if library is not None:
        return describe_rsli(library, findings)
    game = game_of(path)
    if isinstance(read, Registry):
        return describe_registry(read, findings)
    if isinstance(read, Unit):
        return describe_unit(read, path.name, game, findings)
    assert isinstance(read, Mission)
    return describe_mission(read, path.name, game, findings)
