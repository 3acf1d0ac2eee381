"""Everything that a game can place, side by side: what the asset library of the extension shows.

A model is there once for each look that it has; a unit shows the same meshes. No printing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConversionError
from ..files import read_file
from ..formats.kinds import Kind, content_kind, models_in
from ..formats.mission import VEGETATION, kind_of_unit
from ..formats.names import readable, stem
from ..formats.nres import is_nres
from ..formats.unit import UNIT_ENDING, is_unit, read_unit
from ..options import ExportOptions
from ..scene.assembly import Assembly, Placement
from ..scene.extras import NodeExtras
from ..storage import walk_files
from .appearance import missing_materials
from .export_model import load_model, require_scene_in_range
from .game import Game, Opened
from .placed_models import PlacedModels, require_places_in_range
from .unit import UNITS

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
        assets: what is in it.
        left_out: what could not be read, and why.
    """

    assembly: Assembly
    assets: list[GameAsset]
    left_out: list[str]


def game_assets(root: Path, options: ExportOptions) -> GameAssets:
    """Load every model and every unit of a game.

    Args:
        root: the directory that has ``objects.rlb``.
        options: how models become glTF.

    Raises:
        ConversionError: the registry cannot be read.
    """
    loading = _Loading(PlacedModels(Game(root), options))
    loading.keys()
    files = list(_files(root))
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
        placed: the models.
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
                loaded = load_model(
                    archive,
                    path,
                    index,
                    self.placed.options,
                    fallback=lambda: None if own else game.dialect(Opened(archive, path, 0)),
                )
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


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in walk_files(root):
        yield from (folder / name for name in names)
