"""Find the controller of a model, and the model of a controller: beside it, in its archive, by the registry."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..checks.controller import Facts
from ..errors import ConversionError
from ..findings import Finding
from ..formats.control_points import POINTS_ENDING, POINTS_TYPE, read_points
from ..formats.controller import CONTROLLER_ENDING, CONTROLLER_SIZE, Controller, read_controller
from ..formats.kinds import Kind, archive_kind
from ..formats.model import MshModel, read_model
from ..formats.model_parts import FOOTING_ENDING, NODE_PROPERTIES_ENDING
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.registry import Member
from .open_files import companion
from .registry import Game


def files_that_name(archive: Archive, path: Path, index: int | None, game: Game | None) -> dict[str, bytes]:
    """Return the files that name nodes, frames or triangles of a model, as its sidecar keeps them.

    Args:
        archive: the file that the model is, or is in.
        path: that file's path.
        index: directory index of the model's entry; ``None``: the file is the model.
        game: the game that it is in.

    Returns:
        By ending; a controller that has another name than the model by ``archive::entry``.
    """
    endings = (CONTROLLER_ENDING, FOOTING_ENDING, NODE_PROPERTIES_ENDING)
    files = {ending: bytes(companion(archive, path, index, ending)) for ending in endings}
    if not files[CONTROLLER_ENDING] and game is not None and index is not None:
        files |= _registered_controller(Member(_inside(path, game), archive.entries[index].name), game)
    return {name: data for name, data in files.items() if data}


def _registered_controller(model: Member, game: Game) -> dict[str, bytes]:
    for resolved in game.objects:
        member = resolved.members.get(CONTROLLER_ENDING)
        if member is not None and resolved.model is not None and _same(resolved.model, model):
            with suppress(ConversionError):  # the registry's own check says that it is missing
                return {str(member): bytes(game.open(member).entry.payload)}
    return {}


def controller_in(files: Mapping[str, bytes]) -> tuple[Controller | None, list[Finding]]:
    """Read the controller among the files of a model, and what is wrong with it.

    A broken one is a warning: the model is whole without it.

    Args:
        files: as of :func:`files_that_name`.
    """
    for name, data in files.items():
        if name.lower().endswith(CONTROLLER_ENDING):
            try:
                return read_controller(data, name), []
            except ConversionError as error:
                return None, [Finding(CONTROLLER_SIZE, str(error))]
    return None, []


def facts_of_model(archive: Archive | None, path: Path, index: int | None, game: Game | None) -> Facts:
    """Return what is known about the model of a controller; arguments as of :func:`files_that_name`.

    Args:
        archive: ``None``: the controller is a file of its own.
    """
    archive = archive or Archive(path.name)
    points = companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)
    facts = _facts(companion(archive, path, index, ".msh"), points)
    if facts.nodes is not None or game is None or index is None:
        return facts
    own = Member(_inside(path, game), archive.entries[index].name)
    for resolved in game.objects:
        member = resolved.members.get(CONTROLLER_ENDING)
        if member is not None and resolved.model is not None and _same(member, own):
            try:
                model = game.open(resolved.model)
                named = resolved.members.get(POINTS_ENDING)
                return _facts(model.entry.payload, b"" if named is None else game.open(named).entry.payload)
            except ConversionError:
                continue
    return facts


def _facts(model: memoryview | bytes, points: memoryview | bytes) -> Facts:
    """What a model and its control points have; nothing of those that cannot be read."""
    found = _model(model)
    if found is None:
        return Facts()
    count = None
    with suppress(ConversionError):  # its own check says what is wrong with it
        count = len(read_points(points, "").records) if points else None
    return Facts(len(found.nodes), found.frame_count, count)


def _model(data: memoryview | bytes) -> MshModel | None:
    try:
        archive = read_nres(data, "") if is_nres(data) else None
        return None if archive is None or archive_kind(archive) is not Kind.MODEL else read_model(archive, "")
    except ConversionError:
        return None


def _inside(path: Path, game: Game) -> str:
    """The path of a game's file as the registry writes it."""
    try:
        return str(path.resolve().relative_to(game.root.resolve())).replace("/", "\\")
    except (ValueError, OSError):
        return path.name


def _same(one: Member, other: Member) -> bool:
    archives = (each.archive.replace("/", "\\").lower() for each in (one, other))
    return next(archives) == next(archives) and one.name.lower() == other.name.lower()
