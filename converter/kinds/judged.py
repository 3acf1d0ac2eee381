"""Have the judge look at what an import makes."""

from __future__ import annotations

from ..formats.wear import WEAR_ENDING, read_wear_names
from ..judge.judge import WrittenModel, judge_model
from ..options import ImportOptions
from ..scene.scene import ImportedScene
from .import_model import StoredModel
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
    wear = next((read_wear_names(one.data) for one in out.companions if one.ending == WEAR_ENDING), about.materials)
    judge_model(
        out.differences,
        seen,
        stored.scene,
        WrittenModel(name=out.name, data=out.data, dialect=out.dialect, wear=wear, mode=about.mode),
        timing=out.timing,
        clip=options.clip,
        cell=(seen.info.get("lod", about.lod), seen.info.get("group", about.group)),
        absent=about.visible_only or options.scene is not None or "up" in seen.info,
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
