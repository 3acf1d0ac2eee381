"""Controllers: frames, nodes and control points that they name, groups of actions, transitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..findings import Bad, Finding
from ..formats.controller import (
    CHANNEL_DTYPE,
    CHANNELS,
    GROUPS,
    MAX_ACTION,
    MAX_CLASS,
    PARTS,
    STATE_DTYPE,
    STATES,
    TRANSITIONS,
    Controller,
    Reference,
    channels_offset,
    costs_offset,
    node_references,
    point_references,
    state_offsets,
)
from ..numeric.arrays import F32, I64, field_offset
from . import Rules, run, why

rule = Rules("controller", "docs/reference/controller.md#what-it-names-of-its-model")

#: How far a frame may be from the start of a clip: no clip has more frames than a map has words.
MAX_FRAME = 65_535


@dataclass(frozen=True)
class Facts:
    """What is known about the model of a controller; ``None``: not known."""

    nodes: int | None = None
    frames: int | None = None
    points: int | None = None


def check_controller(controller: Controller, model: Facts) -> Iterator[Finding]:
    """Yield what is wrong with a controller; ``model``: what it refers to."""
    yield from controller_numbers(controller)
    yield from controller_frame(controller, model.frames)
    yield from controller_node(controller, model.nodes)
    yield from controller_point(controller, model.points)
    yield from run(controller, controller_contact, controller_group, controller_channel, controller_class)
    yield from controller_transition(controller)


def _frames(controller: Controller) -> F32:
    """First and last frame of both pairs of each state. (A, 4)."""
    states = controller.states
    return np.concatenate([states["pair_a"], states["pair_b"]], axis=1)


def _state(controller: Controller, field: str) -> tuple[str, I64]:
    return STATES, state_offsets(controller) + field_offset(STATE_DTYPE, field)


def _channel(controller: Controller, field: str) -> tuple[str, I64]:
    rows = channels_offset(controller) + CHANNEL_DTYPE.itemsize * np.arange(len(controller.channels))
    return CHANNELS, rows + field_offset(CHANNEL_DTYPE, field)


@rule("controller-numbers", "warning", "Frames, lengths and costs are numbers; frames are 0 to 65,535.")
@why("What the game plays is not known.", fix="Take the file from the game again.")
def controller_numbers(controller: Controller) -> Iterator[Bad]:
    frames, length = _frames(controller), controller.states["length"]
    bad = ~((frames >= 0) & (frames <= MAX_FRAME)).all(axis=1)
    yield Bad("frames of a state are not frames", _state(controller, "pair_a"), bad, frames, f"0..{MAX_FRAME}")
    bad = ~(length >= 0) | ~np.isfinite(length)
    yield Bad("length of a step is not one", _state(controller, "length"), bad, length, "0 or more")
    ends = controller.channels["frames"]
    bad = ~((ends >= 0) & (ends <= MAX_FRAME)).all(axis=1)
    yield Bad("frames of a channel are not frames", _channel(controller, "frames"), bad, ends, f"0..{MAX_FRAME}")
    unknown = np.isnan(controller.costs).any(axis=1)
    yield Bad("cost of a transition is not a number", TRANSITIONS, unknown, None, "a number")


@rule("controller-frame", "warning", "States and channels name frames of the model's clip.")
@why("The model freezes on its last pose.", fix="Give the clip the frames again, or name others.")
def controller_frame(controller: Controller, frames: int | None) -> Iterator[Bad]:
    if frames is not None:
        last = max(frames - 1, 0)
        most = _frames(controller).max(axis=1, initial=0)
        yield Bad("clip has no such frame", _state(controller, "pair_a"), most > last, most, f"0..{last}")
        most = controller.channels["frames"].max(axis=1, initial=0)
        yield Bad("clip has no such frame", _channel(controller, "frames"), most > last, most, f"0..{last}")


@rule("controller-node", "warning", "Channels, components and actions name nodes of the model.")
@why("A turret, a door or a wheel does not move, or another one does.", fix="Name a node that the model has.")
def controller_node(controller: Controller, nodes: int | None) -> Iterator[Bad]:
    found = [one for one in node_references(controller) if one.number >= 0 or one.table == CHANNELS]
    most = None if nodes is None else nodes - 1
    yield from _outside("model has no such node", found, most)


@rule("controller-point", "warning", "Contacts, channels and actions name points of the model's .cpt.")
@why("Feet sink, muzzles are at the wrong place.", fix="Add the control point at its place, or name another.")
def controller_point(controller: Controller, points: int | None) -> Iterator[Bad]:
    most = None if points is None else points - 1
    yield from _outside("control points lack it", point_references(controller), most)


def _outside(problem: str, found: list[Reference], most: int | None) -> Iterator[Bad]:
    """One finding for each table whose references are outside of 0 to ``most``."""
    for table in (STATES, CHANNELS, PARTS, GROUPS):
        bad = [
            one for one in found if one.table == table and (one.number < 0 or (most is not None and one.number > most))
        ]
        if bad:
            rows = np.unique([one.row for one in bad])
            expected = "0 or more" if most is None else f"0..{most}"
            yield Bad(problem, table, bad[0].row, bad[0].number, expected, count=len(bad), concerns=rows)


@rule("controller-contact", "warning", "Contact b of every state is the same control point.", "#states")
@why("The game measures a foot once for all states.", fix="Name the same points in every state.")
def controller_contact(controller: Controller) -> Iterator[Bad]:
    points = controller.contacts["point"]
    if len(points):
        bad = (points != points[0]).any(axis=1)
        at = STATES, state_offsets(controller) + STATE_DTYPE.itemsize
        yield Bad("control points are not those of the first state", at, bad, points, points[0].tolist())


@rule("controller-group", "warning", "Groups of actions that are named are there; -1 names none.", "#actions")
@why("A footstep, a shot or a door makes no sound, or the game reads past the file.", fix="Name a group, or -1.")
def controller_group(controller: Controller) -> Iterator[Bad]:
    most = len(controller.groups) - 1
    named = {
        STATES: np.concatenate([controller.states["group"][:, None], controller.contacts["group"]], axis=1),
        PARTS: controller.parts["groups"],
        "events": controller.events[:, None],
    }
    for table, groups in named.items():
        yield Bad("no such group of actions", table, (groups < -1) | (groups > most), groups, f"-1..{most}")


@rule("controller-channel", "warning", "Channels that a component names are there.", "#components")
@why("A turret or a wheel does not move.", fix="Name a channel that the controller has.")
def controller_channel(controller: Controller) -> Iterator[Bad]:
    most = len(controller.channels) - 1
    for row, channels in enumerate(controller.part_channels):
        if channels.size and (channels.min() < 0 or channels.max() > most):
            yield Bad("no such channel", PARTS, row, channels.tolist(), f"0..{most}")


@rule("controller-class", "note", "Classes of components are 1 to 30, actions are 0 to 27.", "#components")
@why("What the game does with another one is not known.", fix="Take that of one like it.")
def controller_class(controller: Controller) -> Iterator[Bad]:
    classes = controller.parts["part_class"]
    yield Bad("class is unknown", PARTS, (classes < 1) | (classes > MAX_CLASS), classes, f"1..{MAX_CLASS}")
    for row, group in enumerate(controller.groups):
        actions = group["action"]
        if ((actions < 0) | (actions > MAX_ACTION)).any():
            yield Bad("action is unknown", GROUPS, row, actions.tolist(), f"0..{MAX_ACTION}")


@rule(
    "controller-transition",
    "warning",
    "A transition of cost 0 goes on at the frame where it comes from.",
    "#transitions",
)
@why("The pose jumps.", fix="Give the transition a cost.")
def controller_transition(controller: Controller) -> Iterator[Bad]:
    if not len(controller.states):
        return
    starts, ends = controller.states["pair_b"].T
    jumps = (controller.costs == 0) & (np.abs(starts[:, None] - ends[None, :]) > 1e-3)
    start = costs_offset(controller)
    at = TRANSITIONS, start + 4 * len(controller.states) * np.arange(len(controller.states))
    yield Bad("transition of cost 0 jumps", at, jumps, lambda row: f"to frame {starts[row]:g}", "where it comes from")
