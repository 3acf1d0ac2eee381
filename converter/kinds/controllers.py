"""Find the controller of a model, and the model of a controller: beside it, in its archive, by the registry.

What ``msh-inspect`` reports about controllers: facts as JSON data, and one screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError, plural, printable
from ..files import read_file
from ..findings import Finding
from ..formats.controller import (
    CONTROLLER_ENDING,
    CONTROLLER_SIZE,
    CONTROLLER_TYPE,
    PART_CLASSES,
    Controller,
    read_controller,
)
from ..formats.kinds import Kind, archive_kind
from ..formats.model import MshModel, read_model
from ..formats.model_parts import POINTS_ENDING, POINTS_TYPE, read_points
from ..formats.nres import Archive, is_nres, read_nres
from ..formats.objects import Member
from ..scene.companions import PlayedRange, played_ranges
from .open_files import companion
from .registry import Game, game_of, inside

if TYPE_CHECKING:
    from rich.console import Console

    from ..checks.companions import Facts


def controller_in(files: Mapping[str, bytes]) -> tuple[Controller | None, list[Finding]]:
    """Read the controller among the files of a model, and what is wrong with it.

    A broken one is a warning: the model is whole without it. ``files``: as of ``kinds.registry.files_that_name``.
    """
    for name, data in files.items():
        if name.lower().endswith(CONTROLLER_ENDING):
            try:
                return read_controller(data, name), []
            except ConversionError as error:
                return None, [Finding(CONTROLLER_SIZE, str(error))]
    return None, []


def facts_of_model(archive: Archive | None, path: Path, index: int | None, game: Game | None) -> Facts:
    """Return what is known about the model of a controller; arguments as of ``kinds.registry.files_that_name``.
    ``archive``: ``None``: the controller is a file of its own.
    """
    archive = archive or Archive(path.name)
    points = companion(archive, path, index, POINTS_ENDING, POINTS_TYPE)
    facts = _facts(companion(archive, path, index, ".msh"), points)
    if facts.nodes is not None or game is None or index is None:
        return facts
    own = Member(inside(path, game), archive.entries[index].name)
    for resolved in game.objects:
        member = resolved.members.get(CONTROLLER_ENDING)
        if member is not None and resolved.model is not None and member.place == own.place:
            try:
                model = game.open(resolved.model)
                named = resolved.members.get(POINTS_ENDING)
                return _facts(model.entry.payload, b"" if named is None else game.open(named).entry.payload)
            except ConversionError:
                continue
    return facts


def _facts(model: memoryview | bytes, points: memoryview | bytes) -> Facts:
    """What a model and its control points have; nothing of those that cannot be read."""
    from ..checks.companions import Facts  # a model alone checks no controller

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


Json = dict[str, Any]


def controller_at(path: Path, entry: str | None) -> tuple[Controller, str, Archive | None, int | None] | None:
    """Read the controller that a user means; ``None``: it is something else. Raises ConversionError: it cannot be read.

    Args:
        path: a ``.ctl``, or an archive.
        entry: an entry of it, by name or directory index.

    Returns:
        The controller, its name, and its archive and directory index where it is in one.
    """
    if entry is None:
        if path.suffix.lower() != CONTROLLER_ENDING or is_nres(data := read_file(path)):
            return None
        return read_controller(data, str(path)), path.name, None, None
    if not path.is_file() or not is_nres(data := read_file(path)):
        return None
    archive = read_nres(data, str(path), longer=True)
    index = archive.find(entry)
    if index is None and entry.isdecimal() and int(entry) < len(archive.entries):
        index = int(entry)
    if index is None or archive.entries[index].type_id != CONTROLLER_TYPE:
        return None
    name = archive.entries[index].name
    return read_controller(archive.entries[index].payload, f"{path}: {printable(name)}"), name, archive, index


def controller_facts(path: Path, entry: str | None) -> Json | None:
    """Return what ``msh-inspect`` shows of a controller; arguments as of :func:`controller_at`."""
    found = controller_at(path, entry)
    if found is None:
        return None
    from ..checks.companions import check_controller

    controller, name, archive, index = found
    findings = check_controller(controller, facts_of_model(archive, path, index, game_of(path)))
    header = controller.header[0]
    return {
        "kind": Kind.CONTROLLER,
        "name": name,
        "top_speed": header["top_speed"].tolist(),
        "turn_rate": header["turn_rate"].tolist(),
        "payload": float(header["payload"]),
        **describe_states(controller, played_ranges(controller, None)),
        "channels": [
            {
                "node": int(row["node"]),
                "frames": row["frames"].tolist(),
                "point": int(row["point"]),
                "second_point": int(row["second_point"]),
                "flags": int(row["flags"]),
            }
            for row in controller.channels
        ],
        "components": [
            {
                "class": int(row["part_class"]),
                "class_name": PART_CLASSES.get(int(row["part_class"]), ""),
                "node": int(row["node"]),
                "label": controller.label(i),
                "mass": float(row["mass"]),
                "channels": controller.part_channels[i].tolist(),
            }
            for i, row in enumerate(controller.parts)
        ],
        "actions": [
            [{"action": int(one["action"]), "arguments": one["arguments"].tolist()} for one in group]
            for group in controller.groups
        ],
        "findings": [finding.facts() for finding in findings],
    }


def describe_states(controller: Controller, ranges: list[PlayedRange]) -> Json:
    """Return the states and ranges of a controller as plain JSON values."""
    states = []
    for row, state in enumerate(controller.states):
        low, high = state["velocity"][:, 1].tolist() if state["boxes"] & 0x2 else (None, None)
        states.append(
            {
                "index": row,
                "anchor": controller.is_anchor(row),
                "a": state["pair_a"].tolist(),
                "b": state["pair_b"].tolist(),
                "ms": float(state["length"]),
                "speed": [low, high],
                "contacts": controller.contacts["point"][row].tolist(),
            }
        )
    shown = [
        {
            "first": played.range.first,
            "last": played.range.last,
            "seconds": played.seconds,
            "speed": played.range.speed,
            "states": list(played.range.states),
            "text": played.line,
        }
        for played in ranges
    ]
    return {"ranges": shown, "states": states}


def show_controller(console: Console, facts: Json) -> None:
    """Print a controller as one screen."""

    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    parts = [(len(facts[what]), what[:-1]) for what in ("states", "ranges", "channels", "components")]
    line(f"{printable(facts['name'])}  controller: " + ", ".join(plural(*part) for part in parts))
    for row in facts["ranges"]:
        states = " ".join(map(str, row["states"]))
        line(f"range     {row['text']}  (states {states})")
    for row in facts["states"]:
        first, last = row["b"]
        low, high = row["speed"]
        text = f"state {row['index']:<3} {'anchor' if row['anchor'] else '      '} frames {first:g}..{last:g}"
        text += f" from {row['a'][0]:g}..{row['a'][1]:g}" if row["a"] != row["b"] else ""
        text += f", {row['ms']:g} ms" if row["ms"] else ""
        line(text + (f", {low:g} to {high:g} m/s forward" if low is not None else ""))
    for i, row in enumerate(facts["channels"]):
        first, last = row["frames"]
        line(f"channel {i:<3} node {row['node']}, frames {first:g}..{last:g}, control point {row['point']}")
    for i, row in enumerate(facts["components"]):
        name = row["class_name"] or f"class {row['class']}"
        line(f"component {i:<3} {name}, node {row['node']}, {row['mass']:g} kg  {printable(row['label'])}".rstrip())
    for finding in facts["findings"]:
        line(f"{finding['severity']} {finding['code']}: {finding['problem']}")
