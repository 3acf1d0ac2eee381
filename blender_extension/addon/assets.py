"""An asset library of a game: a .blend with every model and unit, for Blender's Asset Browser.

Every asset is a collection; the top object in it says in its custom property ``msh`` what it is, as
the objects of a mission do. The library is made in the open .blend, written, and taken out again.

Thumbnails are drawn with NumPy, since Blender renders none without a window. A mesh is a cloud of samples,
dense enough that no pixel of a face stays empty; the nearest sample of each pixel is seen.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from bpy.props import StringProperty
from bpy_extras.io_utils import ExportHelper
from numpy.typing import NDArray

from .converter.errors import ConversionError, plural
from .converter.formats.names import stem, without_number
from .converter.kinds.placed_models import GameAsset, GameAssets, game_assets
from .converter.options import ExportOptions
from .converter.scene.scene import ImportedScene
from .converter.storage import write_outputs
from .exporters.gltf import export_assembly
from .exporters.gltf_file import glb_bytes
from .game import named_game
from .game_material import HOLES, node_of, read
from .importers.gltf import read_gltf
from .importers.gltf_file import GltfFile, GltfInMemory, open_gltf
from .materials import bring_in
from .to_blender import Builder
from .window import Step, Steps, in_blender, paced, run, say, whole_or_nothing

F32 = NDArray[np.float32]
#: Where the camera stands, as in the gallery: heading and height in degrees; room around the asset.
HEADING, PITCH, MARGIN = 145.0, 24.0, 1.06
#: Pixels of a thumbnail, and how much larger it is drawn.
SIZE, OVERSAMPLING = 128, 2
#: Samples for each pixel of a face, of a face at least, and of an asset at most.
_DENSITY, _LEAST, _MOST = 2.0, 3, 100_000
#: Pixels of a texture's side that are looked at.
_TEXTURE = 64
#: Light that is everywhere, and where the rest comes from.
_AMBIENT, _LIGHT = 0.4, (0.3, 0.5, 0.8)


@dataclass
class _Surface:
    """The look of a material: a colour as shown, or (h, w, 4) pixels; whether alpha cuts holes."""

    colour: F32
    pixels: F32 | None = None
    cut: bool = False


class Thumbnails:
    """Draws assets; meshes and materials are read once."""

    def __init__(self) -> None:
        self._meshes: dict[str, tuple[F32, F32, NDArray[np.int32]]] = {}
        self._surfaces: dict[str, _Surface] = {}
        self._pixels: dict[str, F32 | None] = {}
        heading, pitch = np.radians([HEADING, PITCH])
        back = np.array([np.sin(heading), -np.cos(heading), 0]) * np.cos(pitch)
        back[2] = np.sin(pitch)
        right = np.cross([0, 0, 1], back)
        right /= np.linalg.norm(right)
        self._view = np.stack([right, np.cross(back, right), back])

    def set(self, asset: bpy.types.Collection, objects: Iterable[bpy.types.Object]) -> None:
        """Give an asset the picture of some objects; without faces it gets none."""
        pixels = self.draw(objects)
        if pixels is not None:
            preview = asset.preview_ensure()
            preview.image_size = SIZE, SIZE
            preview.image_pixels_float.foreach_set(pixels.ravel())

    def draw(self, objects: Iterable[bpy.types.Object]) -> F32 | None:
        """Return (SIZE, SIZE, 4) float32, rows from below; ``None``: there are no faces."""
        found = [self._placed(one) for one in objects if one.type == "MESH"]
        found = [one for one in found if len(one[0])]
        if not found:
            return None
        corners = np.concatenate([one[0] for one in found])
        seen = corners @ self._view.T
        flat = seen[..., :2].reshape(-1, 2)
        low, high = flat.min(axis=0), flat.max(axis=0)
        side = SIZE * OVERSAMPLING
        scale = side / (max(float((high - low).max()), 1e-9) * MARGIN)
        seen[..., :2] = (seen[..., :2] - (low + high) / 2) * scale + side / 2
        rows, weights = _samples(seen)
        colours = np.concatenate([self._coloured(*one, rows, start, weights) for one, start in _starts(found)])
        return _picture(seen, corners, rows, weights, colours, side)

    def _placed(self, one: bpy.types.Object) -> tuple[F32, F32, NDArray[np.int32], list[str]]:
        """The (T, 3, 3) corners of an object in the world, (T, 3, 2) UV, materials, their names."""
        mesh = one.data
        if mesh.name not in self._meshes:
            self._meshes[mesh.name] = _triangles(mesh)
        corners, uv, material = self._meshes[mesh.name]
        matrix = np.array(one.matrix_world, np.float32)
        names = [slot.name if slot is not None else "" for slot in mesh.materials]
        return corners @ matrix[:3, :3].T + matrix[:3, 3], uv, material, names

    def _coloured(
        self,
        corners: F32,
        uv: F32,
        material: NDArray[np.int32],
        names: list[str],
        rows: NDArray[np.int64],
        start: int,
        weights: F32,
    ) -> F32:
        """The (n, 4) colours of the samples of one object."""
        own = slice(*np.searchsorted(rows, (start, start + len(corners))))
        local, at = rows[own] - start, weights[own]
        out = np.full((len(local), 4), (0.6, 0.6, 0.6, 1), np.float32)
        for number, name in enumerate(names):
            mine = material[local] == number
            if not mine.any() or not name:
                continue
            surface = self._surface(bpy.data.materials[name])
            out[mine] = surface.colour
            if surface.pixels is not None:
                height, width = surface.pixels.shape[:2]
                place = np.einsum("nk,nkc->nc", at[mine], uv[local[mine]])
                column, row = (np.floor(place % 1 * (width, height)).astype(int) % (width, height)).T
                out[mine] *= surface.pixels[row.astype(int), column.astype(int)]
            out[mine, 3] = (out[mine, 3] >= 0.5) | (not surface.cut)
        return out

    def _surface(self, material: bpy.types.Material) -> _Surface:
        if material.name not in self._surfaces:
            self._surfaces[material.name] = self._read(material)
        return self._surfaces[material.name]

    def _read(self, material: bpy.types.Material) -> _Surface:
        seen, node = read(material), node_of(material)
        if seen is None or node is None:
            return _Surface(np.array(material.diffuse_color, np.float32) ** (1 / 2.2))
        colour = np.array(seen.entry["pbrMetallicRoughness"]["baseColorFactor"], np.float32) ** (1 / 2.2)
        pixels = self._image(seen.images[0]) if seen.images else None
        return _Surface(colour, pixels, node.inputs[HOLES].is_linked)

    def _image(self, image: bpy.types.Image) -> F32 | None:
        if image.name not in self._pixels:
            width, height = image.size
            pixels = None
            if width and height:
                whole = np.empty(width * height * 4, np.float32)
                image.pixels.foreach_get(whole)
                step = max(1, width // _TEXTURE, height // _TEXTURE)
                pixels = whole.reshape(height, width, 4)[::step, ::step].copy()
            self._pixels[image.name] = pixels
        return self._pixels[image.name]


def _triangles(mesh: bpy.types.Mesh) -> tuple[F32, F32, NDArray[np.int32]]:
    """The triangles of a mesh: (T, 3, 3) corners, (T, 3, 2) UV, (T,) materials."""
    mesh.calc_loop_triangles()
    count = len(mesh.loop_triangles)
    vertex, loop = np.empty(3 * count, np.int32), np.empty(3 * count, np.int32)
    material, places = np.empty(count, np.int32), np.empty(3 * len(mesh.vertices), np.float32)
    mesh.loop_triangles.foreach_get("vertices", vertex)
    mesh.loop_triangles.foreach_get("loops", loop)
    mesh.loop_triangles.foreach_get("material_index", material)
    mesh.vertices.foreach_get("co", places)
    uv = np.zeros((3 * count, 2), np.float32)
    if mesh.uv_layers:
        every = np.empty(2 * len(mesh.loops), np.float32)
        mesh.uv_layers[0].uv.foreach_get("vector", every)
        uv = every.reshape(-1, 2)[loop]
    return places.reshape(-1, 3)[vertex].reshape(-1, 3, 3), uv.reshape(-1, 3, 2), material


def _starts(found: list) -> Iterable[tuple[tuple, int]]:
    """Each object with the number of its first triangle."""
    start = 0
    for one in found:
        yield one, start
        start += len(one[0])


def _samples(seen: F32) -> tuple[NDArray[np.int64], F32]:
    """Samples of triangles: (n,) their rows, and (n, 3) weights of their corners.

    Args:
        seen: (T, 3, 3) corners in pixels.
    """
    first, second = seen[:, 1, :2] - seen[:, 0, :2], seen[:, 2, :2] - seen[:, 0, :2]
    area = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) / 2
    wanted = _DENSITY * area
    wanted *= min(1.0, _MOST / max(float(wanted.sum()), 1.0))
    count = np.maximum(np.ceil(wanted).astype(np.int64), _LEAST)
    rows = np.repeat(np.arange(len(seen)), count)
    number = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    # an even sequence in the plane (R2), folded into the triangle
    a, b = (number * 0.7548776662) % 1, (number * 0.5698402910) % 1
    outside = a + b > 1
    a, b = np.where(outside, 1 - a, a), np.where(outside, 1 - b, b)
    return rows, np.stack([1 - a - b, a, b], axis=1).astype(np.float32)


def _picture(seen: F32, corners: F32, rows: NDArray[np.int64], weights: F32, colours: F32, side: int) -> F32:
    """The nearest sample of every pixel, made smaller. (SIZE, SIZE, 4)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    light = np.array(_LIGHT) / np.linalg.norm(_LIGHT)
    shade = (_AMBIENT + (1 - _AMBIENT) * np.abs(normal @ light))[rows]
    place = np.einsum("nk,nkc->nc", weights, seen[rows])
    pixel = np.clip(place[:, :2].astype(np.int64), 0, side - 1)
    order = np.argsort(place[:, 2], kind="stable")
    order = order[colours[order, 3] > 0]
    out = np.zeros((side, side, 4), np.float32)
    shown = np.clip(colours[:, :3] * shade[:, None], 0, 1)
    at = pixel[order]
    out[at[:, 1], at[:, 0], :3] = shown[order]  # of several, the last is the nearest
    out[at[:, 1], at[:, 0], 3] = 1
    blocks = out.reshape(SIZE, OVERSAMPLING, SIZE, OVERSAMPLING, 4)
    cover = blocks[..., 3:].sum(axis=(1, 3))
    small = blocks.sum(axis=(1, 3)) / np.maximum(cover, 1)
    small[..., 3:] = cover / OVERSAMPLING**2
    return small


CATALOGS = "blender_assets.cats.txt"
_HEAD = "# This is an Asset Catalog Definition file for Blender.\n\nVERSION 1\n\n"


def catalog_id(catalog: str) -> str:
    """The id of a catalog: the same one whenever the library is made again."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"msh-gltf/{catalog}"))


def with_catalogs(text: str, catalogs: set[str]) -> str:
    """A catalog definition file with our catalogs added to what others have written there."""
    lines = text.splitlines() or _HEAD.splitlines()
    ours = {catalog_id(catalog): catalog for catalog in catalogs}
    kept = [line for line in lines if line.partition(":")[0] not in ours]
    made = [f"{id}:{name}:{name.replace('/', '-')}" for id, name in sorted(ours.items())]
    return "\n".join([*kept, *made]) + "\n"


def _read_assets(game: Path) -> tuple[GameAssets, GltfFile, ImportedScene]:
    """The assets of a game, and a glTF of them all, read; nothing of Blender is touched."""
    options = ExportOptions(points=False)
    found = game_assets(game, options)
    if not found.assets:
        raise ConversionError("has no models and no units", file=str(game))
    target = Path("assets.glb")  # in memory
    data = glb_bytes(export_assembly(found.assembly, options, clips=False))
    file = open_gltf(target, GltfInMemory(data))
    return found, file, read_gltf(target, file)


def make_library(context: bpy.types.Context, game: Path, target: Path) -> Generator[Step, Any, tuple[int, list[str]]]:
    """Write the asset library of a game; returns the number of assets and what was left out.

    Args:
        game: the folder with ``objects.rlb``.
        target: the .blend.

    Raises ConversionError: not a game, nothing in it, or the file cannot be written.
    """
    found, file, given = yield Step(f"reading {game.name}", partial(_read_assets, game))
    beside = target.with_name(CATALOGS)
    text = beside.read_text("utf-8", errors="replace") if beside.is_file() else ""
    catalogs = with_catalogs(text, {asset.catalog for asset in found.assets})
    with whole_or_nothing(context, keep=False), tempfile.TemporaryDirectory() as folder:
        blend = Path(folder) / target.name
        scene = context.window.scene = bpy.data.scenes.new("assets")
        builder = Builder(scene, given, *bring_in(file, {}, None), whole=False)
        yield from paced(builder.build(), "making objects of the assets")
        made = _collections([one for one in scene.objects if one.parent is None], found.assets)
        thumbnails = Thumbnails()
        context.view_layer.update()
        for number, one in enumerate(made):
            yield Step("drawing thumbnails", lambda: None, 0.5 + number / len(made) / 2)
            thumbnails.set(one, one.objects)
        bpy.data.libraries.write(str(blend), made, fake_user=True, compress=True)
        write_outputs([(beside, catalogs.encode()), (target, blend.read_bytes())], force=True)
    return len(made), found.left_out


def _collections(tops: list[bpy.types.Object], assets: list[GameAsset]) -> set[bpy.types.Collection]:
    """A marked collection for each asset, with the objects of its node."""
    named = {without_number(one.name): one for one in tops}
    made = set()
    for asset in assets:
        top = named[asset.node]
        home = bpy.data.collections.new(asset.name)
        for one in (top, *top.children_recursive):
            home.objects.link(one)  # the scene's own collection is not written
        path = asset.extras.get("path", "")
        top.name = stem(path.rpartition("\\")[2]) or asset.name
        home.asset_mark()
        home.asset_data.catalog_id = catalog_id(asset.catalog)
        home.asset_data.description = path or "no object key: missions cannot place it"
        made.add(home)
    return made


class MSH_OT_assets(bpy.types.Operator, ExportHelper):
    """Write every model and unit of the game into a .blend for the Asset Browser"""

    bl_idname = "export_scene.msh_assets"
    bl_label = "Make Asset Library"
    bl_options = {"REGISTER"}

    filename_ext = ".blend"
    filter_glob: StringProperty(default="*.blend", options={"HIDDEN"})
    game: StringProperty(
        name="Game Folder",
        description="The folder with objects.rlb; empty: that of the preferences",
        subtype="DIR_PATH",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context, event):
        self.filepath = "parkan_assets.blend"
        return ExportHelper.invoke(self, context, event)

    def execute(self, context):
        return run(
            self, [partial(_write, context=context, target=Path(bpy.path.abspath(self.filepath)), game=self.game)]
        )


def _write(reporter: bpy.types.Operator, context: bpy.types.Context, target: Path, game: str) -> Steps:
    if not target.name:
        raise ConversionError("no file is named")
    folder = named_game(context, game)
    count, left_out = yield from make_library(context, folder, target)
    for text in left_out:
        say(reporter, "WARNING", in_blender(text))
    say(reporter, "INFO", f"{target.name}: {plural(count, 'asset')}, from {folder}")


def _menu(menu, context):
    menu.layout.operator(MSH_OT_assets.bl_idname, text="Parkan Asset Library (.blend)")


CLASSES = (MSH_OT_assets,)
MENUS = (("TOPBAR_MT_file_export", _menu),)
