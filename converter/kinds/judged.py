"""Have the judge look at what an import makes."""

from __future__ import annotations

from pathlib import Path

from ..formats.mission import read_mission
from ..formats.sidecar import Description, Sidecar
from ..formats.unit import read_unit
from ..formats.wear import WEAR_ENDING, read_wear_names
from ..judge.assemblies import PlacedModel, differences_of_mission, differences_of_unit
from ..judge.explain import tell
from ..judge.judge import WrittenModel, judge_model
from ..options import ImportOptions
from ..scene.inside import hosted_places
from ..scene.scene import ImportedScene
from .import_model import StoredModel, stored_model
from .import_result import ImportResult


def judge_edited(out: ImportResult, seen: ImportedScene, stored: StoredModel, options: ImportOptions) -> None:
    """Compare an edited model with the file; what nothing explains goes into the report.

    Args:
        out: the result.
        seen: the file as it was read.
        stored: the sidecar's model.
        options: of the import.
    """
    about = stored.about
    judge_model(
        out.differences,
        seen,
        stored.scene,
        _written(out, about),
        timing=out.timing,
        clip=options.clip,
        cell=(seen.info.get("lod", about.lod), seen.info.get("group", about.group)),
        absent=about.visible_only or options.scene is not None or "up" in seen.info,
        held=int(seen.info.get("frame_count", 1)) if about.clip == "keys" else 1,
    )


def judge_new(out: ImportResult, seen: ImportedScene, options: ImportOptions) -> None:
    """Compare a model that was made of a file alone with the file; arguments as of :func:`judge_edited`."""
    judge_model(
        out.differences,
        seen,
        None,
        WrittenModel(name=out.name, data=out.data, dialect=out.dialect, wear=out.wear or []),
        timing=out.timing,
        clip=options.clip,
        cell=seen.shown,
        absent=bool(options.lod_ratios),
    )


def judge_mission(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> None:
    """Compare an edited mission with the file; what nothing explains goes into the report.

    Args:
        out: the result.
        seen: the file as it was read.
        kept: the sidecar.
    """
    about = kept.description
    stored = read_mission(bytes(kept.source), about.source)
    shown = {int(row) for row in about.inside.get("rows", "").split() if row.isdecimal()}
    left_out = frozenset({*range(len(stored.objects))} - shown)
    written = read_mission(out.data, out.name)
    hosted = hosted_places(about.inside)
    tell(out.differences, differences_of_mission(seen, stored, written, _models(kept, out), hosted, left_out))


def judge_unit(out: ImportResult, seen: ImportedScene, kept: Sidecar) -> None:
    """Compare an edited unit with the file; arguments as of :func:`judge_mission`."""
    tell(out.differences, differences_of_unit(seen, read_unit(out.data, out.name), _models(kept, out)))


def _models(kept: Sidecar, out: ImportResult) -> dict[str, PlacedModel]:
    """The models that a unit or mission shows, by object key: as they will be, if they were edited."""
    about = kept.description
    edited = {(one.result.name, one.sha256): one.result for one in out.placed}
    made: dict[str, PlacedModel] = {}
    models: dict[str, PlacedModel] = {}
    for text, number in about.inside.items():
        kind, _, key = text.partition(" ")
        if kind != "model":
            continue
        if number not in made:
            own = kept.attached[int(number)]
            stored = stored_model(own, Path(own.description.source))
            result = edited.get((own.description.source, own.description.source_sha256))
            scene = stored.scene if result is None else _written(result, stored.about).scene()
            made[number] = PlacedModel(scene, (about.lod, about.group))
        models[key] = made[number]
    return models


def _written(out: ImportResult, about: Description) -> WrittenModel:
    """A model as it would be written; ``about``: what it was exported as."""
    wear = next((read_wear_names(one.data) for one in out.companions if one.ending == WEAR_ENDING), about.materials)
    keys = about.clip == "keys"
    return WrittenModel(name=out.name, data=out.data, dialect=out.dialect, wear=wear, mode=about.mode, stored_keys=keys)
