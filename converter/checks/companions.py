"""What comes with models: materials and textures (MAT0, Texm), names that libraries lack, and controllers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import plural, printable
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
from ..formats.material import (
    MATERIAL_HEADER_DTYPE,
    MATERIAL_KEY_DTYPE,
    MATERIAL_TRACK_DTYPE,
    PHASE_DTYPE,
    Material,
    MaterialKind,
    Track,
)
from ..formats.names import fold_upper
from ..formats.texture import PAGE_DTYPE, PAGE_MAGIC, PALETTE_SIZE, TEXM_HEADER_DTYPE, Texm
from ..numeric.arrays import F32, I64, Records, field_offset
from . import Rules, run, why

_MATERIAL, _TEXTURE = "MAT0", "Texm"
_MOST_TRACKS = 20
_WITH_MIPS = 32


rule = Rules("WEAR, MAT0", "docs/reference/material.md#from-a-name-to-a-material")


@rule("look-missing", "warning", "What a WEAR names is in Material.lib, and its textures in Textures.lib.")
@why("The game shows DEFAULT, else the first material.", fix="Correct the name, or add the material.")
def look_missing(problem: str) -> Iterator[Bad]:
    """Yield a name that was looked up and not found."""
    yield Bad(problem)


@look_missing.also
def check_row_names(title: str, names: Sequence[str], known: Collection[bytes]) -> Iterator[Bad]:
    """Yield the rows of a WEAR whose names (of a ``material`` or ``lightmap``; empty: none) are not in a library, whose
    names are known in upper case.
    """
    rows = [row for row, name in enumerate(names) if name and fold_upper(name.encode("cp1251", "replace")) not in known]
    if rows:
        problem = f"row {rows[0]} names a {title} that the game's library does not have"
        value, concerns = printable(names[rows[0]]), np.array(rows, np.int64)
        yield Bad(problem, f"WEAR ({title}s)", None, value, None, len(rows), concerns)


@look_missing.also
def check_phase_textures(material: Material, known: Collection[bytes]) -> Iterator[Bad]:
    """Yield the phases of a material whose textures are not in a library, as of :func:`check_row_names`."""
    for row, raw in enumerate(material.phases["texture"]):
        name = raw.tobytes().partition(b"\0")[0]
        if name and fold_upper(name) not in known:
            value = printable(name.decode("cp1251", "replace"))
            yield Bad("texture is not in the game's library", "MAT0 (phases)", row, value)


rule = Rules("MAT0", "docs/reference/material.md")


def check_material(material: Material) -> list[Finding]:
    """Return the findings about a material; rows of keys count those of one track."""
    findings = [*material_kind(material), *material_alpha(material), *material_many(material)]
    at = MATERIAL_HEADER_DTYPE.itemsize + PHASE_DTYPE.itemsize * len(material.phases)
    for number, track in enumerate(material.tracks):
        at += MATERIAL_TRACK_DTYPE.itemsize
        table = f"{_MATERIAL} (keys of track {number})"
        keys = at + MATERIAL_KEY_DTYPE.itemsize * np.arange(len(track.keys))
        findings += [*material_key_phase(track, table, keys, len(material.phases))]
        findings += [*material_key_word(track, table, keys)]
        at += track.keys.nbytes
    return [*findings, *material_tail(material, at)]


@rule("material-kind", "note", "The kind (attr1) is 0, 2, 4, 5 or 8.")
@why("How another one is drawn is not known.", fix="Nothing to do.")
def material_kind(material: Material) -> Iterator[Bad]:
    if material.kind not in list(MaterialKind):
        problem = "kind (attr1) is unknown"
        yield Bad(problem, _MATERIAL, None, material.kind, ", ".join(str(int(kind)) for kind in MaterialKind))


@rule("material-alpha", "note", "The ambient alpha is 100 or less.", "#phase")
@why("It is per cent; more is drawn as 100.", fix="Nothing to do.")
def material_alpha(material: Material) -> Iterator[Bad]:
    alpha = material.phases["ambient"][:, 3]
    start = MATERIAL_HEADER_DTYPE.itemsize + field_offset(PHASE_DTYPE, "ambient") + 3
    place = f"{_MATERIAL} (phases)", start + PHASE_DTYPE.itemsize * np.arange(len(alpha))
    yield Bad("alpha is above 100 per cent", place, alpha > 100, alpha, "at most 100")


@rule("material-key-phase", "warning", "A track's keys name phases of the material.", "#track")
@why("The game would read past the phases.", fix="Correct the key.")
def material_key_phase(track: Track, table: str, at: I64, phases: int) -> Iterator[Bad]:
    phase, place = track.keys["phase"], (table, at + field_offset(MATERIAL_KEY_DTYPE, "phase"))
    yield Bad("key names a phase that does not exist", place, phase >= phases, phase, f"below {phases}")


@rule("material-key-word", "note", "The last word of a track's key is 0.", "#track")
@why("It is kept.", fix="Nothing to do.")
def material_key_word(track: Track, table: str, at: I64) -> Iterator[Bad]:
    word, place = track.keys["opaque4"], (table, at + field_offset(MATERIAL_KEY_DTYPE, "opaque4"))
    yield Bad("key's last word is not 0", place, word != 0, word, "0")


@rule("material-many", "warning", "A material has fewer than 20 tracks.")
@why("No material of the game has more; whether the game reads them is not known.", fix="Remove tracks.")
def material_many(material: Material) -> Iterator[Bad]:
    if len(material.tracks) >= _MOST_TRACKS:
        count, expected = len(material.tracks), f"below {_MOST_TRACKS}"
        yield Bad("more tracks than the game's materials have", _MATERIAL, None, count, expected)


@rule("material-tail", "warning", "Nothing follows the tracks.")
@why("It is never read; perhaps a count is too small.", fix="Correct the count.")
def material_tail(material: Material, at: int) -> Iterator[Bad]:
    if material.trailing:
        yield Bad(
            "bytes after the tracks are kept", (_MATERIAL, at), None, plural(len(material.trailing), "byte"), "none"
        )


rule = Rules("Texm", "docs/reference/texture.md")


def check_texm(texture: Texm) -> list[Finding]:
    """Return the findings about a texture."""
    end = TEXM_HEADER_DTYPE.itemsize + sum(level.nbytes for level in texture.levels)
    end += 4 * PALETTE_SIZE if texture.palette is not None else 0
    findings = [*texm_word16(texture)]
    if texture.rects is not None:
        end += len(PAGE_MAGIC) + 4
        findings += texm_rect(texture, texture.rects, end)
        end += texture.rects.nbytes
    return [*findings, *_trailing(texture, end)]


@rule("texm-word16", "note", "The word at +16 is 32 with more than one level, else 0.")
@why("Its effect is not known.", fix="Nothing to do.")
def texm_word16(texture: Texm) -> Iterator[Bad]:
    word, levels = int(texture.header["word16"][0]), len(texture.levels)
    wanted = _WITH_MIPS if levels > 1 else 0
    if word != wanted:
        place = _TEXTURE, field_offset(TEXM_HEADER_DTYPE, "word16")
        yield Bad(f"word +16 does not fit {levels} levels", place, None, word, wanted)


def _trailing(texture: Texm, end: int) -> Iterator[Finding]:
    if texture.trailing:
        cut_off = texture.trailing.startswith(PAGE_MAGIC) and texture.rects is None
        yield from (texm_page if cut_off else texm_tail)(texture, end)


@rule("texm-page", "warning", "A Page chunk is whole.", "#page")
@why("Its rectangles are not found.", fix="Correct its count.")
def texm_page(texture: Texm, end: int) -> Iterator[Bad]:
    value, expected = plural(len(texture.trailing), "byte"), f"a count and {PAGE_DTYPE.itemsize} bytes each"
    yield Bad("Page chunk is cut off", (_TEXTURE, end), None, value, expected)


@rule("texm-tail", "warning", "Nothing but a Page chunk follows the levels.")
@why("It is never read; perhaps levels or a size are wrong.", fix="Nothing to do; it is kept.")
def texm_tail(texture: Texm, end: int) -> Iterator[Bad]:
    value = plural(len(texture.trailing), "byte")
    yield Bad("bytes after the levels are kept", (_TEXTURE, end), None, value, "none")


@rule("texm-rect", "warning", "A Page's rectangles lie inside the picture.", "#page")
@why("Something outside the picture is shown.", fix="Correct the rectangle.")
def texm_rect(texture: Texm, rects: Records, start: int) -> Iterator[Bad]:
    right, bottom = (rects[a].astype(np.int64) + rects[b] for a, b in (("x", "width"), ("y", "height")))
    bad, expected = (right > texture.width) | (bottom > texture.height), f"inside {texture.width} x {texture.height}"
    place = f"{_TEXTURE} (Page)", start + PAGE_DTYPE.itemsize * np.arange(len(rects))
    yield Bad("rectangle leaves the picture", place, bad, rects, expected)


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
