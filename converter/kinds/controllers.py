"""Find the controller of a model, and the model of a controller: beside it, in its archive, by the registry."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..checks.controller import Facts
from ..errors import ConversionError
from ..formats.control_points import POINTS_ENDING, POINTS_TYPE, read_points
from ..formats.controller import CONTROLLER_ENDING
from ..formats.kinds import Kind, archive_kind
from ..formats.model import MshModel, read_model
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.registry import Member
from .game import Game
from .open_files import companion


class FoundController(NamedTuple):
    """A controller of a model.

    Attributes:
        name: ``.ctl`` where it has the model's own name, beside it; else ``archive::entry``.
        data: its bytes.
    """

    name: str
    data: bytes


def controller_of(archive: Archive, path: Path, index: int | None, game: Game | None) -> FoundController | None:
    """Return the controller of a model; ``None``: it has none.

    Args:
        archive: the file that the model is, or is in.
        path: that file's path.
        index: directory index of the model's entry; ``None``: the file is the model.
        game: the game that it is in.
    """
    own = bytes(companion(archive, path, index, CONTROLLER_ENDING))
    if own or game is None or index is None:
        return FoundController(CONTROLLER_ENDING, own) if own else None
    model = Member(_inside(path, game), archive.entries[index].name)
    for resolved in game.objects:
        member = resolved.members.get(CONTROLLER_ENDING)
        if member is not None and resolved.model is not None and _same(resolved.model, model):
            try:
                return FoundController(str(member), bytes(game.open(member).entry.payload))
            except ConversionError:
                continue  # the registry's own check says that it is missing
    return None


def facts_of_model(archive: Archive | None, path: Path, index: int | None, game: Game | None) -> Facts:
    """Return what is known about the model of a controller; arguments as of :func:`controller_of`.

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
