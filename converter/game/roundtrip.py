"""Round-trip one model: what a worker of ``msh-inspect --roundtrip`` does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from ..errors import plural
from ..files import stamp
from ..findings import Mode
from ..formats.kinds import Kind
from ..kinds.dispatch import gltf_files, import_gltf, load
from ..options import ExportOptions
from ..storage import write_outputs
from .outcome import Outcome, guarded
from .sources import archive_majority, archive_of, payload_of
from .walk import Item

#: What became of a model: the same bytes, or others.
IDENTICAL, DIFFERENT = "identical", "different"


@dataclass(frozen=True)
class RoundTripTask:
    """One item to export and import again.

    Attributes:
        item: the model.
        dialect, mode: how to read it; as of :class:`~converter.options.ExportOptions`.
        folder: a directory for temporary files. It is the caller's, who removes it whatever becomes
            of the process that works in it.
    """

    item: Item
    folder: str
    dialect: str = "auto"
    mode: Mode = "default"


def roundtrip_item(task: RoundTripTask) -> Outcome:
    """Convert one model to glTF and back, in a temporary directory; never raises.

    The status is ``IDENTICAL``, ``DIFFERENT`` (``detail`` says where first) or ``failed``.
    """
    return guarded(task.item.id, partial(_round_trip, task))


def _round_trip(task: RoundTripTask) -> Outcome:
    item, path = task.item, Path(task.item.path)
    started = perf_counter()
    now = stamp(path)
    archive = archive_of(item, now)
    options = ExportOptions(task.dialect, find_textures=False, mode=task.mode)
    with TemporaryDirectory(dir=task.folder) as folder:
        target = Path(folder, "model.glb")
        others = None
        if item.index is not None:
            others = partial(archive_majority, item.path, item.source, now)
        loaded = load(item.kind, archive, path, item.index, options, fallback=others)
        files = gltf_files(loaded, target, options)
        write_outputs(files, force=False)
        exported = perf_counter()
        result = import_gltf(target)
    source = payload_of(archive, item)
    status, detail = IDENTICAL, ""
    if source != result.data:
        status, detail = DIFFERENT, _difference(bytes(source), result.data, item.kind)
    elif result.not_applied:
        status, detail = DIFFERENT, result.not_applied[0].line
    return Outcome(
        item.id,
        status,
        detail,
        result.warnings,
        {"kind": item.kind, "bytes": item.size, "changes": [str(c) for c in result.changes]},
        {"out": exported - started, "back": perf_counter() - exported},
    )


def _difference(before: bytes, after: bytes, kind: Kind) -> str:
    """Where two files differ first, by table where they are models."""
    if kind is Kind.MODEL:
        from ..formats.model import read_model
        from ..formats.nres import read_nres
        from ..kinds.inspect_diff import diff_models, lines

        differences = lines(diff_models(*(read_model(read_nres(b, kind), kind) for b in (before, after))))
        if differences:
            return str(differences[0])
    if len(before) != len(after):
        return f"{plural(len(after), 'byte')} instead of {len(before)}"
    at = int((np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)).argmax())
    return f"byte {at}: {after[at]:#04x} instead of {before[at]:#04x}"
