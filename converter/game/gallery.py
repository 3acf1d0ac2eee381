"""``msh2gltf GAME -o OUT --thumbnails``: a picture per model, and a page that shows them all."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

from ...exporters.gltf_file import Document, glb_bytes
from ...importers.gltf_file import broken_gltf, file_of_uri, open_gltf
from .. import __version__
from ..errors import ConversionError, needed_for, plural
from ..files import only_run, read_file
from ..formats.gltf import Json
from ..formats.kinds import Kind
from ..formats.names import stem
from ..formats.sidecar import sha256
from ..scene.extras import raw_extras
from ..storage import IN_THE_WAY, absolute, require_inside, write_outputs
from .manifest import FAILED, Outcome, Progress, Record, Run, guarded, read_manifest
from .thumbnails import DIGEST_KEY, draw_png, try_out
from .walk import GALLERY, PAGE
from .workers import Engine, run_here

#: What our page starts with: no other ``index.html`` is replaced.
MARK = b"<!doctype html>\n<!-- msh-gltf gallery"
_SITE = ("page.css", "page.js", "viewer.js", "viewer.LICENSE.txt")


#: A model as the page lists it: JSON data.
_Row = dict[str, Any]


@dataclass(frozen=True)
class GalleryTask:
    """One model to show.

    Attributes:
        out: the output directory; absolute.
        record: what the manifest says of it.
        draw: whether a missing picture is drawn.
    """

    out: str
    record: Record
    draw: bool = True


def require_preview(out: Path, force: bool) -> None:
    """Stop before any work where no gallery can be made.

    Raises:
        ConversionError: VTK is not installed or cannot draw, or somebody else's page is there.
    """
    page = out / PAGE
    if not force and page.exists() and not (page.is_file() and _starts(page, MARK)):
        raise ConversionError("output exists already", file=str(page), hint=IN_THE_WAY)
    with needed_for("--thumbnails", "preview"):
        import vtkmodules  # noqa: F401
    with closing(run_here(try_out, [0], 1)) as results:
        for _, outcome in results:
            problem = outcome if isinstance(outcome, ConversionError) else outcome.detail
            if problem:
                hint = "it needs OpenGL 3.2; on Debian and Ubuntu: apt install libegl1 libgl1-mesa-dri"
                raise ConversionError("VTK cannot draw on this machine", value=problem, hint=hint)


def make_gallery(
    run: Run, out: Path, engine: Engine, progress: Callable[[str, int], AbstractContextManager[Progress]]
) -> None:
    """Draw what has no current picture, and write the page; what happens is added to the run.

    A model that cannot be drawn is a warning: the model itself is there. Raises ConversionError: the page cannot be
    written.
    """
    started = perf_counter()
    with only_run(out):
        manifest = read_manifest(out)
        found = [] if manifest is None else manifest.in_order()
        records = [record for record in found if record.kind is not Kind.TEXTURE]
        tasks = [GalleryTask(str(absolute(out)), r) for r in records if _gltf_of(out, r)]
        converted = {o.result.target: o for o in run.outcomes if isinstance(o.result, Record)}
        shown: dict[int, _Row] = {}
        drawn = 0
        here = Engine(engine.jobs)  # the machines of a cluster need no VTK
        try:
            with (
                progress("drawing", len(tasks)) as tick,
                closing(here.run(show_item, tasks, [t.record.id for t in tasks])) as results,
            ):
                for done, (at, result) in enumerate(results, 1):
                    task, outcome = tasks[at], result
                    if outcome.status == FAILED:  # its process died: without a picture, then
                        outcome = show_item(replace(task, draw=False))
                        outcome.warnings.insert(0, f"no thumbnail: {result.detail}")
                    if outcome.result is not None:
                        shown[at] = outcome.result
                    drawn += outcome.status == "drawn"
                    _note(run, converted.get(task.record.target), task.record, outcome)
                    tick(outcome, done, len(tasks))
        except KeyboardInterrupt:
            run.interrupted = True
        else:
            _write_page(out, [shown[at] for at in sorted(shown)])
            run.notes.append(f"{out / PAGE} shows {plural(len(shown), 'model')} ({drawn} drawn now)")
    run.seconds += perf_counter() - started


def _note(run: Run, model: Outcome | None, record: Record, outcome: Outcome) -> None:
    """Put what became of a picture where the user looks for the model."""
    if model is None:  # a model of an earlier run
        run.notes += [f"{record.id}: {warning}" for warning in outcome.warnings]
        return
    model.warnings += outcome.warnings
    model.seconds |= outcome.seconds
    if outcome.result is not None and outcome.result["picture"]:
        model.facts["thumbnail"] = f"{_place(record.target)}.png"


def show_item(task: GalleryTask) -> Outcome:
    """Make a model's picture and script; never raises. ``result`` is its row on the page."""
    outcome = guarded(task.record.id, partial(_show, task))
    if outcome.status == FAILED and not task.draw:
        outcome.warnings.append(f"not in the gallery: {outcome.detail}")
    return outcome


def _show(task: GalleryTask) -> Outcome:
    started = perf_counter()
    out, record = Path(task.out), task.record
    path = _gltf_of(out, record)
    if path is None:
        raise ConversionError("is gone", file=record.target)
    packed = pack(path, out)
    digest = sha256(f"{__version__} {sha256(packed.glb)}".encode())
    place = _place(record.target)
    picture, script = (out.joinpath(*f"{place}{suffix}".split("/")) for suffix in (".png", ".js"))
    require_inside(out, picture)
    head = f"MSH_GALLERY.model({json.dumps(stem(record.target))},{json.dumps(digest)},".encode()
    made: list[tuple[Path, bytes]] = []
    warnings = []
    if not _starts(script, head):
        made.append((script, head + b'"' + base64.b64encode(packed.glb) + b'");\n'))
    has_picture = _digest_of(picture) == digest
    if not has_picture:
        data = None
        if task.draw and not packed.empty:
            try:
                data = draw_png(packed.glb, digest)
            except ConversionError as error:
                warnings.append(f"no thumbnail: {error}")
        if data is not None:
            made.insert(0, (picture, data))
            has_picture = True
        else:
            picture.unlink(missing_ok=True)  # of something else
    write_outputs(made, force=True)
    row = {
        "target": stem(record.target),
        "file": path.relative_to(out).as_posix(),
        # the folder of a model that is a file of its own
        "archive": record.source if record.index is not None else record.source.rpartition("/")[0],
        "name": record.name,
        "kind": record.kind,
        "nodes": packed.nodes,
        "triangles": packed.triangles,
        "frames": packed.frames,
        "digest": digest,
        "picture": has_picture,
    }
    status = "drawn" if any(path == picture for path, _ in made) else "unchanged"
    seconds = {"picture": perf_counter() - started}
    return Outcome(record.id, status, warnings=warnings, seconds=seconds, result=row)


def _place(target: str) -> str:
    """Where a model's picture and script are, without suffix, from the output directory."""
    return f"{GALLERY}/models/{stem(target)}"


def _gltf_of(out: Path, record: Record) -> Path | None:
    """The model's glTF: the ``.glb``, or the ``.gltf`` that Blender made of it."""
    path = out.joinpath(*record.target.split("/"))
    return next((p for p in (path, path.with_suffix(".gltf")) if p.is_file()), None)


def _starts(path: Path, head: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _digest_of(picture: Path) -> str | None:
    """What a picture says that it was made from; ``None`` where there is none."""
    from PIL import Image

    try:
        with Image.open(picture) as opened:
            found = opened.info.get(DIGEST_KEY)
    except (OSError, ValueError, SyntaxError):
        return None
    return found if isinstance(found, str) else None


def _write_page(out: Path, rows: list[_Row]) -> None:
    """Write the page, its parts and the list of models; ``index.html`` last."""
    site = files(__package__) / "site"
    folder = out / GALLERY
    parts = [(folder / name, (site / name).read_bytes()) for name in _SITE]
    # JSON in ASCII is JavaScript, and no text in it is markup
    lines = ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows)
    parts.append((folder / "models.js", f"MSH_GALLERY.models([\n{lines}\n]);\n".encode("ascii")))
    parts.append((out / PAGE, (site / PAGE).read_bytes()))
    for path, _ in parts:
        require_inside(out, path)
    write_outputs([(p, d) for p, d in parts if not (p.is_file() and p.read_bytes() == d)], True)


_TRIANGLES = 4
_MIME = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True)
class Packed:
    """A whole model in one piece.

    Attributes:
        glb: its bytes; no URI in it leads anywhere.
        nodes: nodes of the model (``extras.msh.node``), else of the default scene.
        triangles: triangles that the default scene shows.
        frames: length of the clip in frames, 1 = none.
        empty: whether the default scene shows nothing at all, no line either.
    """

    glb: bytes
    nodes: int
    triangles: int
    frames: int
    empty: bool


def pack(path: Path, root: Path) -> Packed:
    """Read a ``.glb`` or ``.gltf`` with its buffers and pictures.

    ``root``: the directory that no picture may lie outside of. Raises ConversionError: it cannot be read, or a
    picture of it cannot.
    """
    gltf = open_gltf(path)
    with broken_gltf(str(path)):
        data = bytes(read_file(path))
        images = gltf.root.get("images", [])
        external = [image for image in images if not image.get("uri", "data:").startswith("data:")]
        whole = data[:4] == b"glTF" and len(gltf.buffers) <= 1
        if external or not whole or any("uri" in b for b in gltf.root.get("buffers", [])):
            data = glb_bytes(_joined(gltf.root, gltf.buffers, path, root))
        return Packed(data, *_counts(gltf.root))


def _joined(gltf: Json, buffers: list[memoryview], path: Path, root: Path) -> Document:
    """The document with one buffer, in which all buffers and pictures lie."""
    out = copy.deepcopy(gltf)
    out.pop("buffers", None)
    joined = bytearray()

    def add(data: memoryview | bytes) -> int:
        start = len(joined)
        joined.extend(data)
        joined.extend(bytes(-len(joined) % 4))
        return start

    pairs = zip(buffers, gltf.get("buffers", []), strict=True)
    starts = [add(buffer[: about["byteLength"]]) for buffer, about in pairs]
    for view in out.get("bufferViews", []):
        view["byteOffset"] = view.get("byteOffset", 0) + starts[view["buffer"]]
        view["buffer"] = 0
    for image in out.get("images", []):
        uri = image.get("uri", "data:")
        if uri.startswith("data:"):
            continue
        if (target := file_of_uri(uri, path.parent, root)) is None:
            raise ConversionError("picture lies outside the output directory", file=str(path), value=uri)
        picture = bytes(read_file(target))
        kinds = [kind for magic, kind in _MIME.items() if picture.startswith(magic)]
        if not kinds:
            raise ConversionError("picture is neither PNG nor JPEG", file=str(path), value=image["uri"])
        del image["uri"]
        view = {"buffer": 0, "byteOffset": add(picture), "byteLength": len(picture)}
        out.setdefault("bufferViews", []).append(view)
        image |= {"bufferView": len(out["bufferViews"]) - 1, "mimeType": kinds[0]}
    return Document(out, bytes(joined))


def _counts(gltf: Json) -> tuple[int, int, int, bool]:
    """Nodes, triangles, frames, and whether nothing is shown, of the default scene."""
    nodes, accessors = gltf.get("nodes", []), gltf.get("accessors", [])
    scenes = gltf.get("scenes") or [{}]
    scene = scenes[gltf.get("scene", 0)]
    waiting, seen = list(scene.get("nodes", [])), set()
    triangles, own, empty = 0, 0, True
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        node = nodes[index]
        waiting += node.get("children", [])
        own += "node" in raw_extras(node.get("extras"))
        mesh = gltf["meshes"][node["mesh"]] if "mesh" in node else {}
        for primitive in mesh.get("primitives", []):
            empty = False
            if primitive.get("mode", _TRIANGLES) == _TRIANGLES:
                rows = primitive.get("indices", primitive["attributes"]["POSITION"])
                triangles += accessors[rows]["count"] // 3
    frames = raw_extras(scene.get("extras")).get("frame_count", 1)
    return own or len(seen), triangles, int(frames), empty
