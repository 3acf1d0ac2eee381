"""What tests found when it was recorded: text files of lines ``NAME | TEXT``, for you to read what changes."""

import hashlib
import io
import json
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from PIL import Image

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Report
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar, write_sidecar
from msh_gltf.converter.judge import judge as judge_of_models
from msh_gltf.converter.judge.difference import Difference
from msh_gltf.converter.kinds import import_missions, import_model, landscape
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import to_gltf

EXAMPLES = Path(__file__).parents[2] / "examples"


class Recorded:
    """A file beside a test module, which writes it again when it is run as ``python -m tests...``.

    Where a line has ``~`` for a digest, that is of numbers whose last digits depend on the processor.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module, self.path = Path(module), Path(module).with_name(name)
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        self.known = dict(line.split(" | ", 1) for line in lines)

    def require(self, name: str, text: str) -> None:
        """Fail where something else was recorded under the name."""
        again = ".".join(self.module.relative_to(Path(__file__).parents[2]).with_suffix("").parts)
        known, text = self.known.get(name), self._kept(name, text)
        assert text == known, f"{name}\n  was {known}\n  is  {text}\nwhere that is right: python -m {again}"

    def _kept(self, name: str, text: str) -> str:
        words, known = text.split(" "), self.known.get(name, "").split(" ")
        return " ".join("~" if old == "~" else word for word, old in zip_longest(words, known[: len(words)]))

    def write(self, rows: Iterable[tuple[str, str]]) -> None:
        self.path.write_text("".join(f"{name} | {self._kept(name, text)}\n" for name, text in rows), "utf-8")

    def write_each(self, names: Iterable[str], found: Callable[[str, Path], str]) -> None:
        """Write what is found for each name, in a folder of its own."""
        with TemporaryDirectory() as whole:
            folders = [(name, Path(whole) / str(number)) for number, name in enumerate(names)]
            for _, folder in folders:
                folder.mkdir()
            self.write([(name, found(name, folder)) for name, folder in folders])


def made(edit: Callable[[Editable], object], *export: object, **options: Any) -> Callable[[Path], None]:
    """What changes ``m.msh`` in a folder by an edit of its glTF. ``options``: of the import."""

    def make(folder: Path) -> None:
        model = folder / "m.msh"
        document = Editable(to_gltf(Sample("m", model, None, model), folder / "made.glb", *export))
        edit(document)
        model.write_bytes(import_gltf(document.save(folder / "made.glb"), None, ImportOptions(**options)).data)

    return make


class Case(NamedTuple):
    """An edit of a model's glTF.

    Attributes:
        edit: changes the document.
        model: the name of a bundled model, or the stem of an example.
        export: options of the export.
        alone: import it without the sidecar.
        extras: whether custom properties are left.
        options: of the import.
        sidecar: what its description says instead.
        before: changes a copy of the model first, which is ``m.msh`` in a folder, or the files beside it.
        more: what else there is to say of the former model, as bytes, and of what comes of it.
    """

    edit: Callable[[Editable], object]
    model: str = "walker"
    export: tuple[object, ...] = ()
    alone: bool = False
    extras: bool = True
    options: dict[str, Any] = {}  # noqa: RUF012
    sidecar: dict[str, Any] = {}  # noqa: RUF012
    before: Callable[[Path], object] | None = None
    more: Callable[[bytes, ImportResult], Iterable[str]] = lambda _, __: ()

    def found(self, folder: Path) -> str:
        example = EXAMPLES / f"{self.model}.msh"
        sample = Sample(self.model, example, None, example) if example.is_file() else sample_called(self.model)
        if self.before is not None:
            for beside in sample.path.parent.glob(f"{sample.path.stem}.[mw]*"):
                shutil.copy(beside, folder / f"m{beside.suffix}")
            sample = replace(sample, path=folder / "m.msh")
            self.before(folder)
        document = Editable(to_gltf(sample, folder / "m.glb", *self.export))
        self.edit(document)
        if not self.extras:
            drop_extras(document)
        path, beside = document.save(folder / "e.glb"), folder / "m.msh-sidecar"
        if self.sidecar:
            kept = read_sidecar(beside.read_bytes(), "")
            beside.write_bytes(write_sidecar(replace(kept, description=replace(kept.description, **self.sidecar))))
        options = ImportOptions(use_sidecar=not self.alone, **self.options)
        back = partial(import_gltf, path, None if self.alone else beside, options)
        return outcome(back, folder, lambda out: self.more(sample.source, out))


def outcome(
    act: Callable[[], ImportResult], folder: Path, more: Callable[[ImportResult], Iterable[str]] = lambda _: ()
) -> str:
    """What comes of an import: :func:`summary`, and more that is said of it; or why it is refused."""
    try:
        with judged_as_stored() as found:
            back = act()
        text = summary(back, found, folder)
        for new in back.new_materials:
            text += f"; makes {new.name!r} like {new.like!r}, {digest(sorted(new.values.items()))}"
        text = "; ".join([text, *more(back)])
    except ConversionError as error:
        text = f"refused: {error}".replace("\n", " ")
    return text.replace(f"{folder}/", "")


def summary(back: ImportResult, unlike: Sequence[Difference] | None = None, folder: Path = Path("/nowhere")) -> str:
    """Return the digest of all that an import makes, and its report, on a line.

    Args:
        unlike: what :func:`judged_as_stored` collects; then the line also has a digest of what the report explains,
            and one of these.
        folder: whose path no digest has.
    """
    whole = [back, *(one.result for one in back.placed)]
    data = [part for one in whole for part in (one.data, *(made.data for made in one.companions))]
    looks = [(edit.entry.key, sorted(edit.values.items()), edit.rgba) for one in whole for edit in one.library]
    found = zlib.crc32(b"".join(map(bytes, data)) + repr([looks, [one.wear for one in whole]]).encode())
    said = [*map(str, back.changes), *map(str, back.warnings), *map(str, back.not_applied)]
    said += [f"{one.result.name}: {one.result.verdict}" for one in back.placed]
    if unlike is None:
        return "; ".join([f"{found:08x}", *said]).replace("\n", " ")
    explains = [*(one.explains for one in back.not_applied), *back.differences.concerned]
    explains = [replace(one, most=float(f"{one.most:.2g}")) for one in explains]
    rest = [(one.report, sorted(one.rows.items()), sorted(one.kept_companions, key=repr)) for one in whole]
    about = repr((explains, [*map(str, back.differences.judged or ())], rest))
    judged = [(d.where, d.kind, d.what, d.names, f"{d.amount:.2g}", d.moving, d.cell, d.fact, d.reason) for d in unlike]
    about, digest_of_judged = (digest(text.replace(f"{folder}/", "").encode()) for text in (about, repr(judged)))
    said += [f"{len(judged)} differences from what is stored {digest_of_judged}"] if judged else []
    return "; ".join([f"{found:08x} {about}", *said]).replace("\n", " ")


@contextmanager
def judged_as_stored() -> Iterator[list[Difference]]:
    """Collect all that the judge sees between each edited file that is imported and what its sidecar keeps.

    Where an edit is applied, or refused in words, an import says nothing of what the judge compared.
    """
    found: list[Difference] = []

    def also_as_stored(judge: Callable[..., Any]) -> Callable[..., Any]:
        def judged(out: ImportResult, seen: Any, stored: Any, *more: Any) -> Any:
            differences = judge(out, seen, stored, *more)
            data = stored.data if isinstance(stored, import_model.StoredModel) else stored.source
            as_stored = ImportResult(out.name, bytes(data), out.dialect, Report(), kept_all=True, timing=out.timing)
            with mock.patch.object(import_missions, "tell", tell), mock.patch.object(judge_of_models, "tell", tell):
                found.extend(judge(as_stored, seen, stored, *more) or ())
            return differences

        return judged

    def tell(_: Report, differences: Sequence[Difference]) -> None:
        found.extend(differences)

    def import_areals(edited: Any, apply: Callable[..., ImportResult] = landscape._import_areals) -> ImportResult:
        stored = read_areal_map(read_nres(edited.kept.source, ""))
        found.extend(landscape.differences_of_areal_map(edited.seen, stored))
        return apply(edited)

    with ExitStack() as stack:
        for module, name in (
            (import_model, "judge_edited"),
            (import_missions, "judge_unit"),
            (import_missions, "judge_mission"),
            (landscape, "differences_of"),
        ):
            stack.enter_context(mock.patch.object(module, name, also_as_stored(getattr(module, name))))
        stack.enter_context(mock.patch.object(landscape, "_import_areals", import_areals))
        yield found


def digest(data: object) -> str:
    return hashlib.md5(data if isinstance(data, bytes) else repr(data).encode()).hexdigest()[:8]


def picture(data: bytes) -> str:
    with Image.open(io.BytesIO(data)) as image:
        return digest(image.convert("RGBA").tobytes())


def shown(path: Path) -> str:
    """What a file shows: of a glTF how many of each thing, and digests of the document and its numbers."""
    if path.suffix == ".glb":
        document = Editable(path)
        own = {key: document.json[key] for key in document.json if key not in ("asset", "buffers", "bufferViews")}
        own["images"] = [{**one, "bufferView": 0} for one in own.get("images", [])]
        own["accessors"] = [{**one, "bufferView": 0, "byteOffset": 0} for one in own.get("accessors", [])]
        counts = [f"{len(own[key])} {key}" for key in ("nodes", "meshes", "materials", "animations") if own.get(key)]
        arrays = digest(b"".join(np.ascontiguousarray(array).tobytes() for array in document.arrays))
        pictures = digest([picture(one) for one in document.pictures.values()])
        return ", ".join([*counts, digest(json.dumps(own, sort_keys=True).encode()), arrays, pictures])
    if path.suffix == ".png":
        return picture(path.read_bytes())
    lines = [line for line in path.read_bytes().splitlines() if b"msh-gltf" not in line]
    return digest(b"\n".join(lines))
