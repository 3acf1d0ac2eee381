"""Every edit is shown by the next export, or the report names it: no third outcome.

Random edits (``tests.support.random_edits``), imported and exported again; what two files show is
compared by ``tests.support.gltf_compared``. Neither knows anything of the importer.
``MSH_GLTF_EXAMPLES`` multiplies the number of examples; several edits in a row are drawn for the judge
(``tests.converter.judge``). What came of those of the edits one by one stands in
``reports.txt``; ``python -m tests.converter.kinds.test_every_difference`` writes it again, for you to read what
became different.
"""

import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.nres import read_nres, write_nres
from msh_gltf.converter.formats.nres_edits import remove_entries, replace_entry
from msh_gltf.converter.formats.tables import NODE_DTYPE
from msh_gltf.converter.judge.difference import JUDGED
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import DATA, SAMPLES
from tests.support.gltf_compared import Comparison, Difference
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.gltf_shown import Shown
from tests.support.random_edits import EDITS, PLACES, Edited, NotHere
from tests.support.recorded import Recorded, judged_as_stored, summary
from tests.support.runs import convert

TIMES = int(os.environ.get("MSH_GLTF_EXAMPLES", "1"))
EXAMPLES = 5 * TIMES
#: Of the tests alone: what is on record counts by them.
MODELS = [s.path for s in SAMPLES if s.path.parent == DATA and s.entry is None and not s.truth["legacy"]]
MODELS += sorted((Path(__file__).parents[3] / "examples").glob("*.msh"))
#: With the sidecar; with it, but without custom properties, as Blender's defaults export; alone.
MODES = ("sidecar", "no extras", "alone")
KINDS = EDITS | PLACES
#: What comes of each edit.
REPORTS = Recorded(__file__, "reports.txt")
#: Edits that change nothing that a file shows.
HARMLESS = ("put all into the first scene", "split vertices", "step interpolation")


@cache
def exported(model: Path) -> tuple[Path, TemporaryDirectory[str]]:
    """A model's glTF, its sidecar and its .wea in a folder."""
    folder = TemporaryDirectory()
    return convert(model, Path(folder.name) / "first.glb"), folder


#: Tables that a model need not have: normals, coordinates, strings, triangles, the rest of the
#: vertices, the path graph.
_OPTIONAL = (4, 5, 10, 7, 15, 16, 18, 20, 17)


@cache
def sparse() -> tuple[list[Path], TemporaryDirectory[str]]:
    """The models, without some of their tables, and the folder of these."""
    folder = TemporaryDirectory()
    chance = np.random.default_rng(0)
    made = []
    for number, path in enumerate([*MODELS, *MODELS]):
        archive = read_nres(path.read_bytes(), path.name)
        away = {kind for kind in _OPTIONAL if chance.random() < 0.6}
        if chance.random() < 0.3:
            away |= {8, 19}
            row = next(row for row, entry in enumerate(archive.entries) if entry.type_id == 1)
            nodes = np.frombuffer(archive.entries[row].payload, NODE_DTYPE).copy()
            nodes["map_start"] = nodes["fallback_key"] = 0xFFFF
            archive = replace_entry(archive, row, nodes.tobytes())
        rows = [row for row, entry in enumerate(archive.entries) if entry.type_id in away]
        made.append(Path(folder.name) / f"{number}_{path.name}")
        made[-1].write_bytes(write_nres(remove_entries(archive, rows)))
        if path.with_suffix(".wea").is_file():
            made[-1].with_suffix(".wea").write_bytes(path.with_suffix(".wea").read_bytes())
    return made, folder


def messages(back: ImportResult, *, judged: bool = True) -> list[str]:
    """What a report says; ``judged``: also the lines that the product's judge adds."""
    lines = [str(edit) for edit in back.not_applied if judged or edit.why != JUDGED]
    return [*back.warnings, *lines]


def edited(model: Path, kinds: list[str], seed: int, mode: str) -> tuple[Edited, list[str]]:
    """A model's glTF after edits, and what they touched.

    Raises:
        NotHere: it has no place for them.
    """
    document = Edited(exported(model)[0])
    if mode == "no extras":
        drop_extras(document)
    chance = np.random.default_rng(seed)
    return document, [name for kind in kinds for name in KINDS[kind](document, chance)]


class Outcomes(NamedTuple):
    """What an edit led to.

    Attributes:
        third: differences that neither the next export shows nor the report names.
        judged: the lines of the product's judge.
        summary: what came of it, on a line.
    """

    third: list[Difference]
    judged: list[str]
    summary: str


def outcomes(
    model: Path, kinds: list[str], seed: int, mode: str, *, judged: bool = True, by_name: bool = True
) -> Outcomes:
    """Edit, import and export again.

    Args:
        model, kinds, seed, mode: as for :func:`edited`.
        judged: whether lines of the judge name anything.
        by_name: whether a message that has the name of a thing names all that differs of it.

    Raises:
        NotHere: the model has no place for the edits.
    """
    document, touched = edited(model, kinds, seed, mode)
    first = exported(model)[0]
    with TemporaryDirectory() as name:
        folder = Path(name)
        given = document.save(folder / "first.glb")
        shutil.copy(first.with_suffix(".msh-sidecar"), folder)
        try:
            with judged_as_stored() as unlike:
                back = import_gltf(given, None, ImportOptions(use_sidecar=mode != "alone", libraries=False))
        except ConversionError as error:
            refused = Difference(f"refused: {error}", frozenset(touched))
            third = [] if refused.is_named([str(error)], touched) else [refused]
            return Outcomes(third, [], f"refused: {error}".replace(str(folder), "").replace("\n", " "))
        lines = [str(one) for one in back.not_applied if one.why == JUDGED]
        if set(kinds) <= set(HARMLESS) and mode != "alone":
            assert back.changes == []
            steps = "step interpolation" in kinds  # what is shown between whole frames is another thing
            assert [text for text in messages(back) if not (steps and "away between frames" in text)] == []
            assert back.data == model.read_bytes()
        second = again(model, back, folder)
        before = Shown(Editable(first))
        former = {before.names[k]: i for i, k in document.origin.items() if k in before.nodes}
        shown = Shown(Editable(given), former, document.renamed)
        found = Comparison(before, shown, second, document.origin).differences()
    if found and back.unchanged:
        return Outcomes(found, lines, summary(back, unlike))
    texts = messages(back, judged=judged)
    return Outcomes([d for d in found if not (by_name and d.is_named(texts, touched))], lines, summary(back, unlike))


def again(model: Path, back: ImportResult, folder: Path) -> Shown:
    """The export of an imported model."""
    made = folder / "second.msh"
    made.write_bytes(back.data)
    wear = next((one.data for one in back.companions if one.ending == ".wea"), None)
    if wear is not None:
        made.with_suffix(".wea").write_bytes(wear)
    elif back.wear is not None:
        rows = "\n".join(f"{i} {name}" for i, name in enumerate(back.wear))
        made.with_suffix(".wea").write_bytes(f"{len(back.wear)}\n{rows}\n".encode("cp1251"))
    elif model.with_suffix(".wea").is_file():
        shutil.copy(model.with_suffix(".wea"), made.with_suffix(".wea"))
    return Shown(Editable(convert(made, folder / "second.glb", dialect=back.dialect)))


def require_no_third_outcome(model: Path, kinds: list[str], seed: int, mode: str) -> str:
    """Fail where there is one; return what came of the edits."""
    left, _, found = outcomes(model, kinds, seed, mode)
    assert [d.what for d in left] == [], (model.stem, kinds, seed, mode, left)
    return found


def examples(kind: str) -> Iterator[tuple[Path, int, str]]:
    """Models, seeds and modes that have a place for an edit: whole models, and then models that lack tables."""
    for models, most in ((MODELS, EXAMPLES), (sparse()[0], 2 * TIMES)):
        chance = np.random.default_rng(zlib.crc32(kind.encode()))
        yield from islice(places(kind, models, chance), most)


def places(kind: str, models: list[Path], chance: np.random.Generator) -> Iterator[tuple[Path, int, str]]:
    for _ in range(40):
        for at in chance.permutation(len(models) * len(MODES)).tolist():
            place = models[at // len(MODES)], int(chance.integers(2**32)), MODES[at % len(MODES)]
            with suppress(NotHere):
                edited(place[0], [kind], *place[1:])
                yield place


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_nothing_edited_is_nothing_reported(model: Path, mode: str) -> None:
    require_no_third_outcome(model, [], 0, mode)


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_is_shown_or_named(kind: str) -> None:
    places = list(examples(kind))
    assert places
    for number, (model, seed, mode) in enumerate(places):
        found = require_no_third_outcome(model, [kind], seed, mode)
        if TIMES == 1:
            REPORTS.require(f"{kind} {number}: {model.stem} {mode}", found)


if __name__ == "__main__":
    REPORTS.write(
        (f"{kind} {number}: {model.stem} {mode}", outcomes(model, [kind], seed, mode).summary)
        for kind in KINDS
        for number, (model, seed, mode) in enumerate(examples(kind))
    )
