"""What tests found when it was recorded: text files of lines ``NAME | TEXT``, for you to read what changes."""

import hashlib
import io
import json
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from msh_gltf.converter.options import ImportOptions
from tests.support.corpus import Sample, sample_called
from tests.support.gltf_edit import Editable, drop_extras
from tests.support.runs import to_gltf

EXAMPLES = Path(__file__).parents[2] / "examples"


class Recorded:
    """A file beside a test module, which writes it again when it is run as ``python -m tests...``."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.path = Path(module), Path(module).with_name(name)
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        self.known = dict(line.split(" | ", 1) for line in lines)

    def require(self, name: str, text: str) -> None:
        """Fail where something else was recorded under the name."""
        again = ".".join(self.module.relative_to(Path(__file__).parents[2]).with_suffix("").parts)
        known = self.known.get(name)
        assert text == known, f"{name}\n  was {known}\n  is  {text}\nwhere that is right: python -m {again}"

    def write(self, rows: Iterable[tuple[str, str]]) -> None:
        self.path.write_text("".join(f"{name} | {text}\n" for name, text in rows), "utf-8")

    def write_each(self, names: Iterable[str], found: Callable[[str, Path], str]) -> None:
        """Write what is found for each name, in a folder of its own."""
        with TemporaryDirectory() as whole:
            folders = [(name, Path(whole) / str(number)) for number, name in enumerate(names)]
            for _, folder in folders:
                folder.mkdir()
            self.write([(name, found(name, folder)) for name, folder in folders])


class Case(NamedTuple):
    """An edit of a model's glTF.

    Attributes:
        edit: changes the document.
        model: the name of a bundled model, or the stem of an example.
        export: options of the export.
        alone: import it without the sidecar.
        extras: whether custom properties are left.
        options: of the import.
    """

    edit: Callable[[Editable], object]
    model: str = "walker"
    export: tuple[object, ...] = ()
    alone: bool = False
    extras: bool = True
    options: dict[str, Any] = {}  # noqa: RUF012

    def found(self, folder: Path) -> str:
        """What comes of it."""
        example = EXAMPLES / f"{self.model}.msh"
        sample = Sample(self.model, example, None, example) if example.is_file() else sample_called(self.model)
        document = Editable(to_gltf(sample, folder / "m.glb", *self.export))
        self.edit(document)
        if not self.extras:
            drop_extras(document)
        path, beside = document.save(folder / "e.glb"), None if self.alone else folder / "m.msh-sidecar"
        options = ImportOptions(use_sidecar=not self.alone, **self.options)
        return outcome(lambda: import_gltf(path, beside, options), folder)


def outcome(act: Callable[[], ImportResult], folder: Path) -> str:
    """What comes of an import: :func:`summary`, or why it is refused."""
    try:
        text = summary(act())
    except ConversionError as error:
        text = f"refused: {error}".replace("\n", " ")
    return text.replace(f"{folder}/", "")


def summary(back: ImportResult) -> str:
    """Return the digest of all that an import makes, and its report, on a line."""
    whole = [back, *(one.result for one in back.placed)]
    data = [part for one in whole for part in (one.data, *(made.data for made in one.companions))]
    looks = [(edit.entry.key, sorted(edit.values.items()), edit.rgba) for one in whole for edit in one.library]
    found = zlib.crc32(b"".join(map(bytes, data)) + repr([looks, [one.wear for one in whole]]).encode())
    said = [*map(str, back.changes), *map(str, back.warnings), *map(str, back.not_applied)]
    said += [f"{one.result.name}: {one.result.verdict}" for one in back.placed]
    return "; ".join([f"{found:08x}", *said]).replace("\n", " ")


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
