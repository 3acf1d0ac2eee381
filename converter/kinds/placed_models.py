"""The models that a unit, a mission or the asset library places, each once for each look, on their sockets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...exporters.gltf import export_assembly
from ...exporters.gltf_file import Document
from ..checks.assembly import broken_model, placed_model
from ..errors import ConversionError, in_words, plural
from ..files import read_file
from ..findings import Finding
from ..formats.kinds import Kind, content_kind, models_in
from ..formats.mission import BUILDING, UNIT, VEGETATION, Mission, kind_of_unit
from ..formats.model_parts import POINTS_ENDING
from ..formats.names import escape, readable, stem
from ..formats.nres import is_nres
from ..formats.objects import UNIT_ENDING, UNITS, Member, Unit, is_unit, read_unit
from ..formats.sidecar import Description, Sidecar, sha256
from ..formats.wear import WEAR_ENDING
from ..options import ExportOptions, ImportOptions
from ..scene.appearance import Appearance
from ..scene.assembly import AssembledModel, Assembly, Placement, Pose, component_extras, root_pose, shown_inside
from ..scene.companions import played_extras
from ..scene.extras import NodeExtras, SceneExtras, SourceExtras
from ..scene.scene import require_in_range
from ..storage import walk_files
from .appearance import has_libraries, missing_materials
from .base import Exported, LoadedScene, Source
from .model import LoadedModel, decode_model, description, require_scene_in_range
from .registry import Game, Opened, files_that_name, find_game, game_of

if TYPE_CHECKING:
    from ..edits.mission import Asset


@dataclass(frozen=True, kw_only=True)
class LoadedAssembly(LoadedScene):
    """A unit or a mission, and the models that it places.

    Attributes:
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
    def file_stem(self) -> str:
        """What its glTF is called, without an ending."""
        return escape(self.assembly.name)

    def why_no_ranges(self, options: ExportOptions) -> str:
        """Say why ``--clips states`` makes no clip of a range; empty where it does, or nobody asked for it."""
        if options.clips != "states" or any(model.range_clips for model in self.models):
            return ""
        return "--clips states: no model that it places has a controller that plays a range of its clip"

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

    def assembled(
        self, options: ExportOptions, extras: SceneExtras, *, clips: bool, more: Sequence[Sidecar] = ()
    ) -> Exported:
        """Return what goes into its glTF. Raises ConversionError: a coordinate that the import would refuse. ``more``:
        what is attached to its sidecar besides its models.
        """
        require_places_in_range(self.assembly, self.name)
        about = Description.without_dialect(
            self.name,
            self.kind,
            lod=options.lod,
            group=options.group,
            tolerant=self.tolerant,
            inside=shown_inside(self.assembly, clips=clips),
        )
        clip = "keys" if options.stored_keys else "samples"

        def document(source: SourceExtras, appearance: Appearance | None) -> Document:
            up = None if appearance is None else appearance.up
            return export_assembly(self.assembly, options, {**extras, **source}, clips=clips, up=up)

        def attached() -> list[Sidecar]:
            return [*(own_sidecar(description(one, options, clip), one) for one in self.models), *more]

        return Exported(about, SourceExtras(), document, attached)


def require_game(path: Path, options: ExportOptions) -> Game:
    """Return the game that a unit or a mission is resolved in; ``options``: the game that the user named. Raises
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


def game_for(gltf: Path, options: ImportOptions) -> Game | None:
    """Return the game whose models and units are known: as given, or one that a file lies in. Raises ConversionError:
    the directory that was given is not a game's.
    """
    if options.game is None:
        beside = find_game(gltf.parent)
        return None if beside is None else Game(beside)
    root = find_game(Path(options.game))
    if root is None:
        raise ConversionError("has no objects.rlb", file=options.game, hint="name the game's directory")
    return Game(root)


def known_assets(mission: Mission, game: Game | None, new_keys: Sequence[str] = ()) -> dict[str, Asset]:
    """Return what a mission can place, by path, key and name in lower case.

    Args:
        mission: what it places already is known.
        game: its units, and its objects that have a model.
    """
    from ..edits.mission import Asset  # what only shows a unit does without

    known: dict[str, Asset] = {}
    for placed in mission.objects:
        _add(known, Asset(placed.kind, placed.reference))
    for key in new_keys:
        _add(known, Asset(VEGETATION, key))
    if game is None:
        return known
    folder = game.file(UNITS)
    for here, _, files in walk_files(folder) if folder is not None else ():
        for file in files:
            if not file.lower().endswith(UNIT_ENDING):
                continue
            path = Path(here, file).relative_to(game.root)
            parts = [readable(part) for part in path.parts]
            _add(known, Asset(kind_of_unit(parts), "\\".join(parts)))
    keys = game.registry.keys()
    for key in keys:
        resolved = game.registry.resolve(key)
        if resolved is not None and resolved.model is not None:
            _add(known, Asset(VEGETATION, key))
    return known


def _add(known: dict[str, Asset], asset: Asset) -> None:
    name = asset.path.rpartition("\\")[2]
    names = {asset.path, name, stem(name) if asset.kind in (BUILDING, UNIT) else name}
    for one in names:
        known.setdefault(one.lower(), asset)


@dataclass
class PlacedModels:
    """The models of an assembly.

    Attributes:
        game: where object keys are resolved.
        loaded: the models, in the order in which they were asked for.
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
        """Return the row of an object's model; ``None``: it has none that can be shown. Raises ConversionError: the
        registry cannot be read.
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
                files_that_name(opened.archive, opened.path, opened.index, self.game),
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
        return [
            AssembledModel(
                model.scene, model.appearance, played_extras(model.controller, model.scene), model.range_clips
            )
            for model in self.loaded
        ]

    def place_unit(self, unit: Unit, above: int, placements: list[Placement], *, empties: bool) -> None:
        """Add the components of a unit, each on the socket of its parent.

        The root of a mounted part takes the pose of the socket (docs/reference/unit.md).

        Args:
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
    """Return all pictures and library entries of some models as one, each once."""
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
    """Refuse places that glTF cannot hold, or that the import would refuse. Raises ConversionError: a coordinate beyond
    ``scene.MAX_COORDINATE``, or one that is not finite.
    """
    for placement in assembly.placements:
        _require_pose(placement.pose, placement.name, label)
    for marker in (marker for found in assembly.markers.values() for marker in found):
        _require_pose(marker.pose, marker.name, label)
        numbers = [value for value in marker.extras.values() if isinstance(value, float)]
        require_in_range(f"a number of {in_words(marker.name)}", np.array(numbers), label)
        if marker.outline is not None:
            require_in_range(f"a corner of {in_words(marker.name)}", marker.outline, label)


def _require_pose(pose: Pose, name: str, label: str) -> None:
    for values in (pose.translation, pose.rotation, pose.scale):
        require_in_range(f"the place of {in_words(name)}", values, label)


def own_sidecar(about: Description, loaded: LoadedScene) -> Sidecar:
    """Return the sidecar of a model or terrain, to be attached to that of what shows it."""
    return Sidecar(replace(about, source_sha256=sha256(loaded.stored)), loaded.stored)


#: The type of the object keys that missions place as scenery.
_SCENERY = "STAT"


@dataclass(frozen=True)
class GameAsset:
    """One thing of the library.

    Attributes:
        name: unique: ``ARCHIVE/MODEL``, or a unit's path below ``UNITS``, without endings.
        catalog: kind and archive or folder, with slashes.
        node: the name of its node in the glTF.
        extras: what a mission needs to place it; a model without object key cannot be placed.
    """

    name: str
    catalog: str
    node: str
    extras: NodeExtras


@dataclass
class GameAssets:
    """The library.

    Attributes:
        assembly: its models, all at the origin, each below a node of its own.
        left_out: what could not be read, and why.
    """

    assembly: Assembly
    assets: list[GameAsset]
    left_out: list[str]


def game_assets(root: Path, options: ExportOptions) -> GameAssets:
    """Load every model and every unit of a game; ``root``: the directory that has ``objects.rlb``. Raises
    ConversionError: the registry cannot be read.
    """
    loading = _Loading(PlacedModels(Game(root), options))
    loading.keys()
    files = [folder / name for folder, _, names in walk_files(root) for name in names]
    for path in files:
        loading.models(path)
    units = loading.placed.game.file(UNITS)
    for path in files:
        if units is not None and path.is_relative_to(units) and path.suffix.lower() == UNIT_ENDING:
            loading.unit(path, path.relative_to(units).parts)
    assembly = Assembly("assets", loading.placed.assembled(), loading.placements)
    require_places_in_range(assembly, str(root))
    found = list(loading.placed.findings)
    for model in loading.placed.loaded:
        found += missing_materials(model.appearance)
    texts = [str(finding) for finding in found]
    return GameAssets(assembly, loading.assets, list(dict.fromkeys([*loading.left_out, *texts])))


@dataclass
class _Loading:
    """Collects the library.

    Attributes:
        key_of: the object key of each row of them.
        seen: files and entries whose model has a key.
    """

    placed: PlacedModels
    placements: list[Placement] = field(default_factory=list)
    assets: list[GameAsset] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    seen: set[tuple[Path, int]] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def keys(self) -> None:
        """Add the models that object keys lead to, each look once, by the key of scenery first."""
        game = self.placed.game
        rows: dict[int, tuple[str, Opened]] = {}
        spelled = game.registry.keys()
        keys = [(key, game.object(key)) for key in spelled]
        keys.sort(key=lambda pair: pair[1].resolved is None or pair[1].resolved.tag != _SCENERY)
        for key, found in keys:
            row = None if found.model is None else self.placed.row(key)
            if found.model is not None:
                self.seen.add((found.model.path, found.model.index))
                if row is not None:
                    rows.setdefault(row, (key, found.model))
        for row, (key, opened) in sorted(rows.items()):
            extras = NodeExtras(kind="object", object_kind=VEGETATION, path=key)
            self._add(f"{stem(opened.path.name)}/{key}", f"models/{opened.path.name}", extras, row)

    def models(self, path: Path) -> None:
        """Add the models of a file that no object key leads to."""
        game = self.placed.game
        try:
            if not is_nres(read_file(path)[:4]):
                return
            archive = game.archive(path)
            own = content_kind(read_file(path), path.name) is Kind.MODEL
            indices = [None] if own else models_in(archive)
        except ConversionError as error:
            self.left_out.append(str(error))
            return
        for index in indices:
            if index is not None and (path, index) in self.seen:
                continue
            name = path.name if index is None else archive.entries[index].name
            try:
                dialect = None if own else partial(game.dialect, Opened(archive, path, 0))
                loaded = LoadedModel.load(Source(path, archive, index, fallback=dialect), self.placed.options)
                require_scene_in_range(loaded.scene, loaded.name)
            except ConversionError as error:
                self.left_out.append(str(error))
                continue
            self.placed.loaded.append(loaded)
            home = "files" if own else path.name
            self._add(f"{stem(home)}/{stem(name)}", f"models/{home}", NodeExtras(), len(self.placed.loaded) - 1)

    def unit(self, path: Path, parts: tuple[str, ...]) -> None:
        """Add a unit."""
        folders = [readable(part) for part in parts[:-1]]
        kind = kind_of_unit(folders)
        try:
            data = read_file(path)
            if not is_unit(data):
                return
            unit = read_unit(data, str(path))
        except ConversionError as error:
            self.left_out.append(str(error))
            return
        inside = [readable(part) for part in path.relative_to(self.placed.game.root).parts]
        extras = NodeExtras(kind="object", object_kind=kind, path="\\".join(inside))
        name = "/".join([*folders, stem(readable(path.name))])
        self._add(name, "/".join(["units", *folders]), extras, None)
        self.placed.place_unit(unit, len(self.placements) - 1, self.placements, empties=False)

    def _add(self, name: str, catalog: str, extras: NodeExtras, row: int | None) -> None:
        label, number = name, 1
        while label.lower() in self.names:
            number += 1
            label = f"{name}#{number}"
        self.names.add(label.lower())
        node = f"asset_{len(self.assets)}"
        self.assets.append(GameAsset(label, catalog, node, extras))
        self.placements.append(Placement(node, extras, model=row))
