"""Have the judge look at what an import makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..checks.recover_maps import checked_terrain
from ..edits.surfaces import own_name
from ..formats.mission import read_mission
from ..formats.names import stem
from ..formats.nres import read_nres
from ..formats.sidecar import Description, Sidecar
from ..formats.terrain import read_terrain
from ..formats.unit import read_unit
from ..formats.wear import LEVEL_ENDINGS, WEAR_ENDING, read_wear_names
from ..judge.assemblies import PlacedModel, differences_of_mission, differences_of_unit
from ..judge.explain import tell
from ..judge.judge import WrittenModel, judge_model
from ..judge.terrains import differences_of_terrain
from ..options import ImportOptions
from ..scene.assembly import hosted_places
from ..scene.level import decode_terrain
from ..scene.scene import ImportedScene
from .import_model import StoredModel, stored_model
from .import_result import ImportResult
from .terrain import stored_terrain


def judge_edited(out: ImportResult, seen: ImportedScene, stored: StoredModel, options: ImportOptions) -> None:
    """Compare an edited model with the file; what nothing explains goes into the report.

    Args:
        out: the result.
        seen: the file as it was read.
        stored: the sidecar's model.
        options: of the import.
    """
    about = stored.about
    made = {one.name for one in out.new_materials} if options.own_materials else set()
    owns = {own_name(name, stem(about.source)): name for name in about.materials}
    copied = {name: of for name, of in owns.items() if name in made}
    judge_model(
        out.differences,
        seen,
        stored.scene,
        replace(_written(out, about), copied=copied),
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


def judge_terrain(out: ImportResult, seen: ImportedScene, kept: Sidecar, label: str) -> None:
    """Compare an edited terrain with the file.

    Args:
        out: the result.
        seen: the file as it was read.
        kept: the sidecar.
        label: what messages call it.
    """
    about = kept.description
    files = {one.ending: read_wear_names(one.data) for one in out.companions}
    first, second = LEVEL_ENDINGS
    read = read_terrain(read_nres(out.data, label, longer=about.tolerant), out.name, cut=about.tolerant)
    terrain, _ = checked_terrain(read, about.mode)
    wear, micro = files.get(first, about.materials), files.get(second, about.micro)
    scene = decode_terrain(terrain, stem(about.source), wear, micro)
    absent = about.visible_only or seen.placed is not None
    found = differences_of_terrain(seen, scene, absent=absent)
    coarse = [one for one in found if "coarse level" in one.names]
    if coarse:  # one that is as it was exported follows the corners of the fine level (docs/levels.md)
        before = differences_of_terrain(seen, stored_terrain(kept, label)[1], absent=absent)
        if not any("coarse level" in one.names for one in before):
            found = [one for one in found if one not in coarse]
    tell(out.differences, found)


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
