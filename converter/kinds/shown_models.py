"""Read what the sidecar of a unit or mission has of the models and the terrain that it shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..edits.compare_inside import PLACES, Shown, ShownTerrain
from ..edits.compare_placed import ShownModel
from ..errors import ConversionError
from ..formats.control_points import POINTS_ENDING, read_points
from ..formats.kinds import Kind
from ..formats.sidecar import Description, Sidecar
from ..options import ExportOptions
from ..scene.dialect import Dialect
from ..scene.inside import CLIPS, TERRAIN, object_key
from ..scene.points import shown_points
from ..scene.scene import ImportedScene, Scene
from .export_model import LoadedModel
from .game import Game
from .import_model import stored_model
from .placed_models import PlacedModels
from .terrain import stored_terrain


def shown_inside_of(kept: Sidecar) -> Shown:
    """Return what the glTF of a unit or mission showed when it was exported.

    Args:
        kept: its sidecar.

    Raises:
        ConversionError: what is attached to it cannot be read.
    """
    inside = kept.description.inside
    models: dict[int, ShownModel] = {}
    keys: dict[str, ShownModel] = {}
    for text, number in inside.items():
        kind, _, key = text.partition(" ")
        if kind == "model":
            row = _row(kept, number, Kind.MODEL)
            if row not in models:
                models[row] = _shown_model(kept, row)
            keys[key] = models[row]
    terrain = None
    if TERRAIN in inside:
        level = kept.attached[_row(kept, inside[TERRAIN], Kind.TERRAIN)]
        about = level.description
        terrain = ShownTerrain(*stored_terrain(level, about.source), about.materials)
    return Shown(inside, keys, terrain)


def with_models_of_game(shown: Shown, given: ImportedScene, about: Description, game: Game | None) -> Shown:
    """Return what a glTF shows with the models of objects that were added to it.

    Assets show the first level of detail without clips; other files are left as they are.

    Args:
        shown: what it showed when it was exported.
        given: the file.
        about: its sidecar's description.
        game: where the models are.

    Raises:
        ConversionError: the game's registry cannot be read.
    """
    keys = {object_key(n.extras) for n in given.nodes if n.extras.get("kind") in PLACES}
    keys -= {*shown.models, ""}
    if game is None or given.clips or (about.lod, about.group) != (0, 0) or not keys:
        return shown
    found = PlacedModels(game, ExportOptions(find_textures=False, points=False))
    rows = {key: found.row(key) for key in sorted(keys)}
    models = [_model_of_game(loaded) for loaded in found.loaded]
    more = {key: models[row] for key, row in rows.items() if row is not None}
    return replace(shown, models={**shown.models, **more})


def _model_of_game(loaded: LoadedModel) -> ShownModel:
    scene, retail = loaded.scene, loaded.decision.dialect is Dialect.RETAIL
    return ShownModel(
        loaded.name,
        _shown_part(scene, (0, 0), clips=False),
        (0, 0),
        loaded.wear,
        lightmap=retail,
        has_labels=loaded.model.strings is not None and retail,
        points=read_points(b"", loaded.name),
        shown_points=[],
        of_game=True,
    )


def _shown_part(scene: Scene, cell: tuple[int, int], *, clips: bool) -> Scene:
    """What the glTF of a unit or mission shows of a model."""
    parts = [p for p in scene.parts if p[1:3] == cell and not scene.nodes[p.node].cockpit]
    return replace(scene, parts=parts, tracks=scene.tracks if clips else [])


def _row(kept: Sidecar, number: str, kind: Kind) -> int:
    """The number of an attached sidecar of a kind."""
    row = int(number) if number.isdecimal() and len(number) < 10 else -1
    if not 0 <= row < len(kept.attached) or kept.attached[row].description.kind is not kind:
        raise ConversionError("sidecar's description cannot be read", value=f"{kind.in_extras} {number}")
    return row


def _shown_model(kept: Sidecar, row: int) -> ShownModel:
    """An attached model, of which nothing is left but what was shown."""
    own, about = kept.attached[row], kept.description
    stored = stored_model(own, Path(own.description.source))
    scene, cell = stored.scene, (about.lod, about.group)
    data = own.description.companions.get(POINTS_ENDING, b"")
    points = read_points(data, own.description.source)
    dialect = Dialect(own.description.dialect)
    return ShownModel(
        own.description.source,
        _shown_part(scene, cell, clips=CLIPS in about.inside),
        cell,
        own.description.materials,
        lightmap=dialect is Dialect.RETAIL,
        has_labels=stored.model.strings is not None and dialect is Dialect.RETAIL,
        points=points,
        shown_points=shown_points(points, scene)[0],
    )
