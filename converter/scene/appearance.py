"""Describe the appearance of materials, and coordinates of their textures (docs/reference/material.md).

Which entry a name leads to: ``formats.material.find_material``. glTF states the rectangle of a texture that a material
shows beside the coordinates (``KHR_texture_transform``). An OBJ and a ``trimesh.Scene`` cannot: their coordinates are
the ones that are shown, and on import those that the game stores again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..formats.gltf import WHOLE, TextureTransform, pixel_digest, rectangle_transform
from ..formats.material import LIGHTMAPS, LibraryEntry
from ..formats.names import decode_text, escape
from ..numeric.arrays import F64, U8

if TYPE_CHECKING:
    from ..formats.material import Material
    from .scene import Mesh, Scene, Streams


Pixels = U8


@dataclass(frozen=True)
class MaterialAppearance:
    """The appearance of one material: what a WEAR row leads to.

    Attributes:
        name: the row's name.
        material: the ``Material.lib`` entry that was taken, ``""`` = there is no library.
        step: by which step of the rule: its name, ``DEFAULT``, the first entry, or not at all.
        colour: base colour, red, green, blue, alpha, 0..1.
        self_light: red, green, blue, 0..1, of its own light.
        translucent: it is alpha-blended.
        additive: it is blended additively.
        texture: entry name of its texture, ``""`` = none.
        phases: how many phases its animation has; the first is shown.
        animation: all of them and their tracks as JSON text, ``""`` = a single phase.
        cell: rectangle of the texture's ``Page``, -1 = the whole texture.
    """

    name: str
    material: str
    step: Literal["name", "DEFAULT", "first", "missing"]
    colour: tuple[float, float, float, float]
    self_light: tuple[float, float, float]
    translucent: bool
    additive: bool
    texture: str
    phases: int
    animation: str = ""
    cell: int = -1


@dataclass(frozen=True)
class Picture:
    """A texture or a lightmap as a picture.

    Attributes:
        name: its entry's name in the library.
        path: where it lies as a file, from the output directory; see :func:`picture_path`.
        digest: of what it is made of, hex.
        rgba: makes its pixels, (H, W, 4) uint8, top row first.
        rectangles: of its ``Page``: left, top, width and height in pixels.
    """

    name: str
    path: str
    digest: str
    rgba: Callable[[], Pixels] = field(repr=False, compare=False)
    size: tuple[int, int] = field(default=(1, 1), compare=False)
    rectangles: Sequence[tuple[int, int, int, int]] = field(default=(), compare=False)

    def transform(self, cell: int) -> TextureTransform:
        """Return what shows a rectangle of it; :data:`WHOLE` where it has no such rectangle."""
        return rectangle_transform(self.rectangles, self.size, cell)

    def part(self, cell: int) -> Picture:
        """Return a rectangle of it as a picture of its own, for its colours alone."""
        if self.transform(cell) == WHOLE:
            return self
        left, top, width, height = self.rectangles[cell]
        return replace(self, rgba=lambda: self.rgba()[top : top + height, left : left + width])

    @cached_property
    def cutout(self) -> bool:
        """Whether every texel is clear or solid, and both occur: a silhouette."""
        alpha = self.rgba()[..., 3]
        clear, solid = bool((alpha == 0).any()), bool((alpha == 255).any())
        return clear and solid and bool(((alpha == 0) | (alpha == 255)).all())

    @cached_property
    def pixels(self) -> str:
        """Digest of its pixels, hex."""
        return pixel_digest(self.rgba())

    @cached_property
    def mean(self) -> tuple[float, float, float]:
        """Its mean red, green and blue, 0..1."""
        red, green, blue = (self.rgba()[..., :3].reshape(-1, 3).mean(0) / 255).tolist()
        return red, green, blue


@dataclass(frozen=True)
class Appearance:
    """The appearance of all materials of a model or a terrain.

    Attributes:
        materials: by WEAR row.
        pictures: by texture name, as the materials have it.
        lightmaps: by lightmap row of the WEAR.
        mixed: by (first, second) material row of a terrain: both textures, mixed.
        entries: what of ``Material.lib`` and ``Textures.lib`` is shown.
        warnings: what was not found.
        up: from the glTF to the directory that the pictures lie in, ``../`` for each level;
            ``None``: they are inside the glTF.
    """

    materials: dict[int, MaterialAppearance] = field(default_factory=dict)
    pictures: dict[str, Picture] = field(default_factory=dict)
    lightmaps: dict[int, Picture] = field(default_factory=dict)
    mixed: dict[tuple[int, int], Picture] = field(default_factory=dict)
    entries: list[LibraryEntry] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    up: str | None = None

    def of(self, row: int) -> tuple[MaterialAppearance | None, Picture | None]:
        """Return the material and the texture of a WEAR row, as far as there are any."""
        material = self.materials.get(row)
        return material, None if material is None else self.pictures.get(material.texture)


#: The folder of pictures in an output directory.
PICTURES = "textures"


def picture_path(library: str, name: str) -> str:
    """Return where a picture lies in an output directory: lightmaps in a folder of their own."""
    folder = f"{PICTURES}/lightmaps" if library == LIGHTMAPS else PICTURES
    return f"{folder}/{escape(name)}.png"


def mixed(first: Picture, second: Picture, weight: float) -> Picture:
    """Blend two textures, for terrains: ``weight`` of the second over the first, 0..1.

    Both repeat, so they may be of any size: the larger one is taken.
    """

    def rgba() -> Pixels:
        from PIL import Image

        pixels = [first.rgba(), second.rgba()]
        width, height = (max(p.shape[axis] for p in pixels) for axis in (1, 0))
        one, other = (Image.fromarray(p[..., :3]).resize((width, height)) for p in pixels)
        return np.asarray(Image.blend(one, other, weight).convert("RGBA"))

    weight = round(weight, 4)
    digest = f"{first.digest}+{second.digest}*{weight}"
    return Picture(f"{first.name}+{second.name}", "", digest, rgba)


#: What stands in for a material that no library has.
GREY = (0.6, 0.6, 0.6, 1.0)


def missing_material(name: str) -> MaterialAppearance:
    """Return the appearance of a name without any ``Material.lib``."""
    return MaterialAppearance(
        name, "", "missing", GREY, (0.0, 0.0, 0.0), translucent=False, additive=False, texture="", phases=0
    )


def appearance_of(name: str, material: Material, step: Literal["name", "DEFAULT", "first"]) -> MaterialAppearance:
    """Return the appearance of a name that led to a material."""
    colour, drawn = (*material.diffuse, material.alpha), (material.translucent, material.additive)
    animation = _animation(material) if len(material.phases) > 1 or material.tracks else ""
    shown = material.texture, len(material.phases), animation, material.cell
    return MaterialAppearance(name, material.name, step, colour, material.self_light, *drawn, *shown)


def _animation(material: Material) -> str:
    """What glTF cannot play, for those who can: bytes as they are stored."""
    phases = [
        {
            **{name: phase[name].tolist() for name in ("ambient", "diffuse", "specular")},
            "texture": decode_text(phase["texture"].tobytes().partition(b"\0")[0]),
            "cell": int(phase["cell"]),
        }
        for phase in material.phases
    ]
    tracks = [{"mode": t.mode, "lerp": t.lerp_mask, "keys": t.keys[["phase", "end"]].tolist()} for t in material.tracks]
    return json.dumps({"phases": phases, "tracks": tracks}, separators=(",", ":"))


#: Makes coordinates, (n, 2), of others.
Change = Callable[[F64], F64]


def rectangles_of(scene: Scene, appearance: Appearance) -> dict[int, TextureTransform]:
    """Return the transforms of the materials that show a rectangle of their texture, by index."""
    out = {}
    for i, material in enumerate(scene.materials):
        look, picture = appearance.of(material.row)
        if look is not None and picture is not None and (transform := picture.transform(look.cell)) != WHOLE:
            out[i] = transform
    return out


def as_shown(scene: Scene, rectangles: Mapping[int, TextureTransform]) -> Scene:
    """Return a scene whose texture coordinates are the ones that are shown."""
    changes: dict[int, Change] = {i: one.apply for i, one in rectangles.items()}
    streams, meshes = with_coordinates(scene.streams, scene.meshes, changes)
    return replace(scene, streams=streams, meshes=meshes)


def with_coordinates(
    streams: Streams, meshes: Sequence[Mesh], changes: Mapping[int, Change]
) -> tuple[Streams, list[Mesh]]:
    """Return streams and meshes of a model in which the primitives of some materials have other coordinates.

    They get vertices of their own, as others may share them.

    Args:
        streams, meshes: what there is; not changed.
        changes: what becomes of the coordinates, by material.
    """
    if streams.uv0 is None or not changes:
        return streams, [*meshes]
    count = len(streams.positions)
    rows, uvs, out = [np.arange(count)], [streams.uv0], []
    for mesh in meshes:
        primitives = []
        for primitive in mesh.primitives:
            if (change := changes.get(primitive.material)) is not None:
                window = np.arange(primitive.vertex_start, primitive.vertex_start + primitive.vertex_count)
                rows.append(window)
                uvs.append(change(streams.uv0[window].astype(np.float64)).astype(np.float32))
                primitive, count = primitive._replace(vertex_start=count), count + len(window)
            primitives.append(primitive)
        out.append(replace(mesh, primitives=primitives))
    order = np.concatenate(rows)
    return replace(streams.taken(order, streams.indices), uv0=np.concatenate(uvs)), out
