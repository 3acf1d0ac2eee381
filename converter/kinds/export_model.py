"""Export a model: read its file, decode it, make the glTF and its sidecar. No printing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...exporters.gltf import GltfOptions, export_gltf
from ...exporters.gltf_file import Document
from .. import __version__
from ..checks.recover import checked_model
from ..errors import plural
from ..formats.control_points import POINTS_ENDING
from ..formats.controller import Controller
from ..formats.kinds import Kind
from ..formats.model import MshModel, model_at
from ..formats.names import readable, stem
from ..formats.nres import Archive
from ..formats.sidecar import Description
from ..formats.wear import WEAR_ENDING, read_wear_names
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..scene.controller import PlayedRange, played_ranges, ranges_text, states_text
from ..scene.decode import decode, path_segments, points_in
from ..scene.dialect import Decision, decide, read_keys
from ..scene.extras import SourceExtras
from ..scene.scene import Scene, require_in_range
from .appearance import find_appearance, missing_materials
from .base import Files, LoadedContainer, output_files
from .check_assembly import game_of
from .controllers import controller_in, files_that_name
from .open_files import points_of, wear_of


@dataclass(frozen=True, kw_only=True)
class LoadedModel(LoadedContainer):
    """A valid model, decoded.

    Attributes:
        model: its tables, without what a tolerant reader leaves out (``converter.checks.recover``).
        decision: its dialect and why.
        wear: material names by row.
        scene: the model in that dialect.
        companions: files of its name that the sidecar keeps, by ending.
        controller: what plays its clip, where it is known.
    """

    kind = Kind.MODEL

    model: MshModel
    decision: Decision
    wear: list[str]
    scene: Scene
    companions: dict[str, bytes] = field(default_factory=dict)
    controller: Controller | None = None

    @property
    def ranges(self) -> list[PlayedRange]:
        """The ranges of its clip that the controller plays."""
        return [] if self.controller is None else played_ranges(self.controller, self.scene)

    @property
    def summary(self) -> str:
        """What it is, in a few figures."""
        scene = self.scene
        triangles = sum(scene.triangle_count(part.mesh) for part in scene.parts)
        counts = [(len(scene.nodes), "node"), (len(scene.parts), "part"), (triangles, "triangle")]
        if scene.tracks:
            counts.append((scene.frame_count, "frame"))
        return ", ".join(plural(*count) for count in counts)


def load_model(
    archive: Archive,
    path: Path,
    index: int | None,
    options: ExportOptions,
    *,
    model: MshModel | None = None,
    fallback: Callable[[], Decision | None] | None = None,
) -> LoadedModel:
    """Decode a core model of an archive that is already open.

    Args:
        archive: the archive, or the model's own container.
        path: its path.
        index: directory index of the model's entry; ``None``: the archive is the model.
        options: dialect, subframes, keys and paths matter here.
        model: its tables, where they were read already.
        fallback: what to take where the file has no evidence of a dialect.

    Raises:
        ConversionError: unreadable, or an error finding.
    """
    model = model or model_at(archive, index, path.name, cut=True)
    text = bytes(wear_of(archive, path, index))
    points = bytes(points_of(archive, path, index)) if options.points else b""
    loaded = decode_model(model, text, points, path, options, fallback=fallback)
    game = game_of(path) if index is not None else None
    loaded.companions.update(files_that_name(archive, path, index, game))
    controller, findings = controller_in(loaded.companions)
    return replace(loaded, controller=controller, findings=[*loaded.findings, *findings])


def decode_model(
    model: MshModel,
    text: bytes,
    points: bytes,
    path: Path,
    options: ExportOptions,
    *,
    fallback: Callable[[], Decision | None] | None = None,
) -> LoadedModel:
    """Decode a core model that was read.

    Args:
        model: its tables.
        text: its WEAR; empty where there is none.
        points: its control points, a ``.cpt``; empty where there are none.
        path, options, fallback: as of :func:`load_model`.

    Raises:
        ConversionError: an error finding.
    """
    model, findings = checked_model(model, options.mode)
    keys = read_keys(model)
    decision = decide(model, options.dialect, keys)
    if decision.step == "d" and fallback is not None:
        decision = fallback() or decision
    wear = read_wear_names(text)
    scene = decode(
        model,
        decision.dialect,
        stem(readable(model.name)),
        wear=wear,
        subframes=options.subframes,
        stored_keys=options.stored_keys,
        keys=keys,
    )
    if options.paths:
        scene.paths = path_segments(model, scene)
    companions = {WEAR_ENDING: text} if text else {}
    if points:
        companions[POINTS_ENDING] = points
        scene.points, found = points_in(scene, points)
        findings = [*findings, *found]
    appearance = find_appearance(text, path, options)
    return LoadedModel(
        name=readable(model.name),
        archive=model.archive,
        findings=[*findings, *missing_materials(appearance)],
        appearance=appearance,
        model=model,
        decision=decision,
        wear=wear,
        scene=scene,
        companions=companions,
    )


def require_scene_in_range(scene: Scene, label: str) -> None:
    """Refuse to export what the import would refuse: coordinates that no model has.

    Raises:
        ConversionError: a coordinate beyond ``scene.MAX_COORDINATE``.
    """
    require_in_range("a position", scene.streams.positions, label)
    for node in scene.nodes:
        require_in_range(f"the transform of node {node.name!r}", node.translation, label)
    for track in scene.tracks:
        if track.translation is not None:
            what = f"a value of the animation of node {scene.nodes[track.node].name!r}"
            require_in_range(what, track.translation.values, label)


def description(loaded: LoadedModel, options: ExportOptions, clip: str) -> Description:
    """Return the description of a model's sidecar, without the digest."""
    return Description(
        loaded.name,
        "",
        dialect=loaded.decision.dialect.value,
        dialect_reason=loaded.decision.reason,
        clip=clip,
        lod=options.lod,
        group=options.group,
        converter=__version__,
        materials=loaded.wear,
        points=loaded.scene.points,
        companions=loaded.companions,
        tolerant=loaded.tolerant,
        visible_only=options.visible_only,
    )


def model_files(
    loaded: LoadedModel, target: Path, options: ExportOptions, *, sidecar: bool, root: Path | None
) -> Files:
    """Make the files of a model's glTF; arguments as of ``dispatch.gltf_files``."""
    require_scene_in_range(loaded.scene, loaded.name)
    decision = loaded.decision
    extras = SourceExtras(dialect=decision.dialect.value, dialect_reason=decision.reason)
    if loaded.controller is not None and len(loaded.controller.states):
        extras["states"] = states_text(loaded.controller)
        if ranges := loaded.ranges:
            extras["ranges"] = ranges_text(ranges)
    about = description(loaded, options, "keys" if options.stored_keys else "samples")

    def document(extras: SourceExtras, appearance: Appearance | None) -> Document:
        shown = GltfOptions(
            options.fps,
            options.lod,
            group=options.group,
            visible_only=options.visible_only,
            source=extras,
            appearance=appearance,
        )
        return export_gltf(loaded.scene, shown)

    return output_files(loaded, about, extras, document, target=target, options=options, sidecar=sidecar, root=root)
