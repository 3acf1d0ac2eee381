"""Load the models that a unit or a mission places, each once, with the materials of its object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...exporters.gltf_assembly import AssemblyOptions, export_assembly
from ...exporters.gltf_file import Document
from .. import __version__
from ..checks.assembly import broken_model, placed_model
from ..errors import ConversionError, plural, printable
from ..findings import Finding
from ..formats.control_points import POINTS_ENDING
from ..formats.kinds import Kind
from ..formats.registry import Member
from ..formats.sidecar import Description, Sidecar, sha256
from ..formats.unit import Unit
from ..formats.wear import WEAR_ENDING
from ..options import ExportOptions
from ..scene.appearance import Appearance
from ..scene.assembly import AssembledModel, Assembly, Placement, Pose, component_extras, root_pose
from ..scene.extras import SceneExtras, SourceExtras
from ..scene.inside import shown_inside
from ..scene.scene import require_in_range
from .appearance import has_libraries
from .check_assembly import game_of
from .export_model import LoadedModel, decode_model, description, require_scene_in_range
from .game import Game
from .gltf_output import Files, output_files
from .loaded import LoadedScene


@dataclass(frozen=True, kw_only=True)
class LoadedAssembly(LoadedScene):
    """A unit or a mission, and the models that it places.

    Attributes:
        data: its bytes.
        assembly: where its models stand.
        models: those of the assembly, as they were read.
    """

    data: bytes
    assembly: Assembly
    models: list[LoadedModel]

    @property
    def stored(self) -> bytes:
        """The bytes of the file, which the sidecar keeps."""
        return self.data

    @property
    def figures(self) -> str:
        """How many models are placed how often, and their triangles."""
        models = self.assembly.models
        triangles = [
            sum(model.scene.triangle_count(p.mesh) for p in model.scene.parts if p[1:3] == (0, 0)) for model in models
        ]
        shown = [p.model for p in self.assembly.placements if p.model is not None]
        total = sum(triangles[row] for row in shown)
        return f"{plural(len(models), 'model')} in {plural(len(shown), 'place')}, {plural(total, 'triangle')}"


def require_game(path: Path, options: ExportOptions) -> Game:
    """Return the game that a unit or a mission is resolved in.

    Args:
        path: the unit or mission.
        options: the game that the user named.

    Raises:
        ConversionError: there is none.
    """
    folders = [] if options.game is None else [Path(options.game)]
    game = game_of(path, folders)
    if game is None:
        raise ConversionError(
            "is resolved in a game, and no directory above it has objects.rlb",
            file=str(path),
            hint="name the game's directory with --game DIR",
        )
    return game


@dataclass
class PlacedModels:
    """The models of an assembly.

    Attributes:
        game: where object keys are resolved.
        options: how models become glTF.
        loaded: the models, in the order in which they were asked for.
        findings: models that cannot be shown as they are.
    """

    game: Game
    options: ExportOptions
    loaded: list[LoadedModel] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _keys: dict[str, int | None] = field(default_factory=dict, repr=False)
    _rows: dict[tuple[object, ...], int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        root, options = self.game.root, self.options
        own = (str(root),) if has_libraries(root) else ()
        # one set of libraries for all: what two models use is one picture
        self.options = replace(options, textures=(*options.textures, *own), own_folder=False)

    def row(self, key: str) -> int | None:
        """Return the row of an object's model; ``None``: it has none that can be shown.

        Raises:
            ConversionError: the registry cannot be read.
        """
        lower = key.lower()
        if lower not in self._keys:
            try:
                self._keys[lower] = self._load(key)
            except ConversionError as error:
                self.findings += placed_model(key, error)
                self._keys[lower] = None
        return self._keys[lower]

    def _load(self, key: str) -> int | None:
        found = self.game.object(key)
        if found.model is None or found.resolved is None:
            return None
        members = found.resolved.members
        wear, points = (self._companion(members.get(e)) for e in (WEAR_ENDING, POINTS_ENDING))
        opened = found.model
        same = (opened.path, opened.index, wear, points)
        if same not in self._rows:
            loaded = decode_model(
                self.game.model(opened),
                wear,
                points if self.options.points else b"",
                opened.path,
                self.options,
                fallback=lambda: self.game.dialect(opened),
            )
            require_scene_in_range(loaded.scene, loaded.name)
            for finding in loaded.findings:
                if finding.severity == "error":
                    self.findings += broken_model(key, finding)
            self._rows[same] = len(self.loaded)
            self.loaded.append(loaded)
        return self._rows[same]

    def _companion(self, member: Member | None) -> bytes:
        """What lies beside a model; empty where it is missing, which is a finding of its own."""
        try:
            opened = None if member is None else self.game.open(member)
        except ConversionError:
            opened = None
        return b"" if opened is None else bytes(opened.entry.payload)

    def assembled(self) -> list[AssembledModel]:
        """Return the models as an assembly has them."""
        return [AssembledModel(model.scene, model.appearance) for model in self.loaded]

    def place_unit(self, unit: Unit, above: int, placements: list[Placement], *, empties: bool) -> None:
        """Add the components of a unit, each on the socket of its parent.

        The root of a mounted part takes the pose of the socket (docs/reference/unit.md).

        Args:
            unit: the unit.
            above: the placement that it is below.
            placements: those of the assembly. Changed in place.
            empties: whether components that are not shown have a node too.
        """
        own: dict[int, int] = {}  # placement of each component
        for row in range(len(unit)):
            shown, internal = unit.is_shown(row), self.options.parts == "all"
            if not (shown or internal or empties):
                continue
            parent, key = int(unit.parents[row]), unit.key(row)
            while parent >= 0 and parent not in own:
                parent = int(unit.parents[parent])
            placement = Placement(
                key or f"component_{row}",
                component_extras(unit, row),
                own.get(parent, above),
                model=self.row(key) if shown or internal else None,
            )
            if shown and parent >= 0:
                self._mount(placement, placements, unit.attach(row))
            own[row] = len(placements)
            placements.append(placement)

    def _mount(self, placement: Placement, placements: list[Placement], attach: int) -> None:
        """Put a part on a node of its parent's model; without one it is not shown."""
        parent = placements[placement.parent].model
        if parent is None or not 0 <= attach < len(self.loaded[parent].scene.nodes):
            placement.model = None
            return
        placement.socket = attach
        if placement.model is not None:
            placement.pose = root_pose(self.loaded[placement.model].scene).inverse()


def shared_appearance(models: list[LoadedModel], more: Appearance | None) -> Appearance | None:
    """Return all pictures and library entries of some models as one, each once.

    Args:
        models: the models.
        more: that of a terrain.
    """
    found = [a for a in (more, *(model.appearance for model in models)) if a is not None]
    if not found:
        return None
    pictures = {p.path or p.digest: p for a in found for p in a.pictures.values()}
    lightmaps = {p.path: p for a in found for p in a.lightmaps.values()}
    entries = {entry.key: entry for a in found for entry in a.entries}
    warnings = dict.fromkeys(text for a in found for text in a.warnings)
    return Appearance(
        pictures=pictures,
        lightmaps=dict(enumerate(lightmaps.values())),
        entries=[*entries.values()],
        warnings=[*warnings],
    )


def require_places_in_range(assembly: Assembly, label: str) -> None:
    """Refuse places that glTF cannot hold, or that the import would refuse.

    Raises:
        ConversionError: a coordinate beyond ``scene.MAX_COORDINATE``, or one that is not finite.
    """
    for placement in assembly.placements:
        _require_pose(placement.pose, placement.name, label)
    for marker in (marker for found in assembly.markers.values() for marker in found):
        _require_pose(marker.pose, marker.name, label)
        numbers = [value for value in marker.extras.values() if isinstance(value, float)]
        require_in_range(f"a number of {marker.name!r}", np.array(numbers), label)
        if marker.outline is not None:
            require_in_range(f"a corner of {marker.name!r}", marker.outline, label)


def _require_pose(pose: Pose, name: str, label: str) -> None:
    for values in (pose.translation, pose.rotation, pose.scale):
        require_in_range(f"the place of {printable(name)!r}", values, label)


def assembly_files(
    loaded: LoadedAssembly,
    target: Path,
    options: ExportOptions,
    extras: SceneExtras,
    *,
    clips: bool,
    sidecar: bool,
    root: Path | None,
    more: Sequence[Sidecar] = (),
) -> Files:
    """Make the files of a unit's or mission's glTF; other arguments as of ``dispatch.gltf_files``.

    Args:
        loaded: the unit or mission.
        target, options, sidecar, root: as there.
        extras: of scene 0.
        clips: whether the clips of its models are there.
        more: what is attached to its sidecar besides its models.
    """
    require_places_in_range(loaded.assembly, loaded.name)
    about = Description(
        loaded.name,
        "",
        dialect="",
        dialect_reason="",
        clip="",
        lod=options.lod,
        group=options.group,
        converter=__version__,
        materials=[],
        kind=Kind(loaded.kind),
        tolerant=loaded.tolerant,
        inside=shown_inside(loaded.assembly, clips=clips),
    )
    clip = "keys" if options.stored_keys else "samples"
    models = (own_sidecar(description(one, options, clip), one) for one in loaded.models)
    attached = [*models, *more] if sidecar else []

    def document(source: SourceExtras, appearance: Appearance | None) -> Document:
        shown = AssemblyOptions(
            options.fps,
            options.lod,
            options.group,
            clips,
            {**extras, **source},
            None if appearance is None else appearance.up,
        )
        return export_assembly(loaded.assembly, shown)

    return output_files(
        loaded,
        about,
        SourceExtras(),
        document,
        target=target,
        options=options,
        sidecar=sidecar,
        root=root,
        attached=attached,
    )


def own_sidecar(about: Description, loaded: LoadedScene) -> Sidecar:
    """Return the sidecar of a model or terrain, to be attached to that of what shows it."""
    return Sidecar(replace(about, source_sha256=sha256(loaded.stored)), loaded.stored)
