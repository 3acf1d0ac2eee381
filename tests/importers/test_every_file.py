"""What comes of glTF and OBJ files of other programs stands in ``files.txt``.

What glTF demands of every reader is in ``test_gltf_rules.py``, by a second reader.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import trimesh

import msh_gltf
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.decode import decode
from msh_gltf.converter.scene.dialect import Dialect
from msh_gltf.importers.obj import read_obj
from tests.support.foreign import QUAD, Builder, matrix_of
from tests.support.gltf_edit import Editable
from tests.support.gltf_rules import UV, plain, primitive, textured
from tests.support.obj import SQUARE, triangles
from tests.support.recorded import Case, Recorded, digest, outcome

FILES = Recorded(__file__, "files.txt")
Act = Callable[[Builder], object]
INSTANCING, VISIBILITY = "EXT_mesh_gpu_instancing", "KHR_node_visibility"
#: Translations and axes of two nodes.
PLACES = (((1, 2, 3), (1, 2, 3)), ((-1, 0.5, 2), (3, 1, -2)))
MOVES = np.float32([[0, 0, 0], [5, 0, 0], [0, 7, 0]])


class File(NamedTuple):
    """A document that is built, and options of its import, each of which is tried."""

    build: Act
    options: tuple[dict[str, Any], ...] = ({},)


# ------------------------------------------------------------------ documents


def two_scenes(b: Builder) -> None:
    mesh = b.mesh()
    nodes = [b.node(name=f"n{i}", mesh=mesh, translation=[i, 0, 0]) for i in range(2)]
    b.json["scenes"] = [{"name": "one", "nodes": nodes[:1]}, {"name": "two", "nodes": nodes[1:]}]


def lines_without_a_name(b: Builder) -> None:
    b.json["scenes"][0]["nodes"] = [b.node(name="body", mesh=b.mesh()), b.node(name="wire", mesh=b.mesh(mode=1))]
    for mesh in b.json["meshes"]:
        del mesh["name"]


def two_clips(b: Builder) -> None:
    b.clip(b.node(mesh=b.mesh()), "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["animations"][0]["name"] = "walk"
    b.json["animations"].append(json.loads(json.dumps(b.json["animations"][0])) | {"name": "run"})
    b.json["animations"][1]["samplers"][0]["input"] = b.accessor(np.float32([0, 2]))


def named(*names: str) -> Act:
    """Nodes of one mesh by names, or of none."""

    def build(b: Builder) -> None:
        nodes = [b.node(**({"name": name} if name else {}), mesh=b.mesh(), translation=[2, 0, 0]) for name in names]
        b.json["scenes"][0]["nodes"] = nodes

    return build


def not_finite(key: str) -> Act:
    def build(b: Builder) -> None:
        values = QUAD.copy() if key == "POSITION" else np.ones((4, {"NORMAL": 3, "COLOR_0": 4}.get(key, 2)), np.float32)
        values[2, 1] = np.nan
        attributes = {} if key == "POSITION" else {key: b.accessor(values)}
        b.node(name="hull", mesh=b.mesh(values if key == "POSITION" else QUAD, attributes=attributes))

    return build


def changed(change: Act) -> Act:
    """A node with a mesh, and what is wrong with it."""

    def build(b: Builder) -> None:
        b.node(name="n", mesh=b.mesh())
        change(b)

    return build


def laid_by_none(b: Builder) -> None:
    """Three meshes whose texture is laid by no set of coordinates: Blender writes -1 for a UV map that is not there."""
    for name in "abc":
        b.node(name=name, mesh=b.mesh(material=0))
    textured(b, {"index": 0, "texCoord": -1})
    b.json["scenes"][0]["nodes"] = [0, 1, 2]


def transformed(**transform: Any) -> Act:
    def build(b: Builder) -> None:
        b.node(name="n", mesh=b.mesh(attributes={"TEXCOORD_0": b.accessor(QUAD[:, :2])}, material=0))
        textured(b, {"index": 0, "extensions": {"KHR_texture_transform": transform}})

    return build


def instanced(b: Builder, **attributes: np.ndarray) -> None:
    given = {name: b.accessor(values) for name, values in attributes.items()}
    b.node(name="n", mesh=b.mesh(), translation=[0, 0, 1], extensions={INSTANCING: {"attributes": given}})


def instances(b: Builder) -> None:
    half = np.float32(np.sqrt(0.5))
    turns = np.float32([[0, 0, 0, 1], [0, 0, half, half], [0, 0, 0, 1]])
    instanced(b, TRANSLATION=MOVES, ROTATION=turns, SCALE=np.float32([[1, 1, 1], [1, 1, 1], [2, 3, -1]]))


def more_instances_than_there_is_data(b: Builder) -> None:
    """An accessor without a buffer view is all zeros: nothing in the file pays for it."""
    instanced(b, TRANSLATION=MOVES)
    b.json["accessors"][0]["count"] = 500_000
    del b.json["accessors"][0]["bufferView"]


def hidden(b: Builder) -> None:
    below = b.node(name="below", mesh=b.mesh(), translation=[9, 9, 9])
    b.node(name="ghost", mesh=b.mesh(), children=[below], extensions={VISIBILITY: {"visible": False}})
    b.node(name="body", mesh=b.mesh(), extensions={VISIBILITY: {"visible": True}})
    b.clip(below, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.clip(2, "translation", [0, 1], [[0, 0, 0], [1, 0, 0]])
    b.json["scenes"][0]["nodes"] = [1, 2]


def second_set(light: int) -> Act:
    """It is a lightmap only where a material says so."""

    def build(b: Builder) -> None:
        plain(b)
        primitive(b)["attributes"]["TEXCOORD_1"] = b.accessor(UV / 2)
        textured(b, {"index": 0})
        b.json["materials"][0]["extras"] = {"msh": {"row": 0, "lightmap": light}}

    return build


def nested(*scales: tuple[float, float, float]) -> Act:
    """Scale, shear and mirrors go into the vertices; nodes stay rigid."""

    def build(b: Builder) -> None:
        outer, inner = (matrix_of(*place, 0.8, scale) for place, scale in zip(PLACES, scales, strict=True))
        b.node(name="outer", children=[1], matrix=outer.T.reshape(-1).tolist())
        b.node(name="inner", mesh=b.mesh(), matrix=inner.T.reshape(-1).tolist())

    return build


def scaled_by_a_clip(*values: tuple[float, float, float]) -> Act:
    """A scale that is animated, or stays another one than the node's."""

    def build(b: Builder) -> None:
        b.node(name="n", mesh=b.mesh(), scale=[1, 2, 1])
        b.clip(0, "scale", [*range(len(values))], values)

    return build


def drawn_as(mode: int, *indices: int) -> Act:
    """A triangle strip or fan of so many corners."""

    def build(b: Builder) -> None:
        b.json["scenes"][0]["nodes"] = [
            b.node(name="whole", mesh=b.mesh()),
            b.node(name="n", mesh=b.mesh(indices=indices, mode=mode)),
        ]

    return build


DOCUMENTS: dict[str, File] = {
    "one key of another scale": File(scaled_by_a_clip((2, 2, 2))),
    "one key of the node's scale": File(scaled_by_a_clip((1, 2, 1))),
    "a scale that changes": File(scaled_by_a_clip((1, 2, 1), (2, 2, 2))),
    **{f"a strip of {count} corners": File(drawn_as(5, *range(count))) for count in range(1, 5)},
    **{f"a fan of {count} corners": File(drawn_as(6, *range(count))) for count in range(1, 5)},
    "two scenes": File(two_scenes, ({}, {"scene": "two"}, {"scene": "1"}, {"scene": "three"})),
    "lines without a name": File(lines_without_a_name),
    "two clips": File(two_clips, ({}, {"fps": 30.0}, {"clip": "run"}, {"clip": "fly"})),
    "levels by name": File(named("tree", "tree.lod1", "tree.lod2.group1")),
    "levels by name, a first one": File(named("tree.lod0", "tree.lod1", "tree.lod2.group1")),
    "equal names, Russian ones, and some that CP1251 lacks": File(named("wheel", "wheel", "башня", "", "🤖")),
    **{f"{key} that is not finite": File(not_finite(key)) for key in ("POSITION", "NORMAL", "COLOR_0")},
    **{f"TEXCOORD_{number} that is not finite": File(not_finite(f"TEXCOORD_{number}")) for number in range(2)},
    "flags beyond 16 bits": File(changed(lambda b: b.json["nodes"][0].update(extras={"msh": {"flags": 1 << 16}}))),
    "negative flags": File(changed(lambda b: b.json["nodes"][0].update(extras={"msh": {"flags": -1}}))),
    "scaled to nothing": File(changed(lambda b: b.json["nodes"][0].update(scale=[1, 1, 0]))),
    "moved by NaN": File(changed(lambda b: b.json["nodes"][0].update(translation=[0, 0, float("nan")]))),
    "no nodes": File(changed(lambda b: b.json.update(scenes=[{}]))),
    "morph targets without a name": File(
        changed(lambda b: (b.json["meshes"][0].pop("name"), primitive(b).update(targets=[{"POSITION": 0}])))
    ),
    "too few values of splines": File(
        changed(lambda b: b.clip(0, "translation", [0, 1], [[0, 0, 0]] * 3, "CUBICSPLINE"))
    ),
    "a UV map that is not there": File(laid_by_none),
    "the specification's texture transform": File(transformed(offset=[0, 1], rotation=np.pi / 2, scale=[0.5, 0.5])),
    "a texture transform of nothing": File(transformed()),
    "a texture that is shifted": File(transformed(offset=[0, 1])),
    "a texture that is turned": File(transformed(rotation=np.pi / 2)),
    "a texture that is scaled": File(transformed(scale=[0.5, 2])),
    "instances": File(instances),
    "instances of unequal count": File(lambda b: instanced(b, TRANSLATION=MOVES, SCALE=MOVES[:2])),
    "more instances than there is data": File(more_instances_than_there_is_data),
    "hidden nodes": File(hidden, ({"fps": 24},)),
    "a lightmap": File(second_set(0), ({"dialect": "retail"},)),
    "a second set that no material has": File(second_set(255), ({"dialect": "retail"},)),
    "scaled in scaled": File(nested((1, 3, 0.5), (0.5, 2, 1))),
    "mirrored in mirrored": File(nested((-1, 1, 1), (1, -2, 1))),
    "mirrored in scaled": File(nested((2, 2, 2), (1, -2, 1))),
}
#: Files that are no glTF, or broken as a whole.
BROKEN = (
    b"",
    b"{}",
    b'{"asset": {"version": "1.0"}}',
    b'{"asset": {}}',
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":1,"uri":""}]}',
    b'{"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_x"]}',
    b"[" * 100000,
    b"glTF\2\0\0\0\xff\xff\0\0",
    b"glTF\2\0\0\0",
    b"glTF\1\0\0\0\x14\0\0\0" + bytes(8),
    b"glTF\2\0\0\0\x10\0\0\0" + bytes(8),
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":1,"uri":"../x"}]}',
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":1,"uri":"/etc/x"}]}',
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":9,"uri":"a.bin"}]}',
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":9,"uri":"data:;base64,!"}]}',
    b'{"asset":{"version":"2.0"},"nodes":[{"children":[7]}]}',
    b'{"asset":{"version":"2.0"},"nodes":[{"matrix":[1]}]}',
    b'{"asset":{"version":"2.0"},"buffers":[{"byteLength":1.5}]}',
)


def found_of_document(name: str, folder: Path) -> str:
    """What an import with each of the options makes, and says."""
    b, out = Builder(), []
    DOCUMENTS[name].build(b)
    path = b.save(folder)
    for options in DOCUMENTS[name].options:
        text = outcome(lambda options=options: import_gltf(path, None, ImportOptions(**options)), folder)
        out.append(f"{options or ''} {text}".strip())
    return "; ".join([*out, *about_model(path)])


def about_model(path: Path) -> Iterator[str]:
    """The nodes, parts and frames of the model that a document becomes."""
    try:
        back = import_gltf(path, None, ImportOptions(dialect="retail"))
    except ConversionError:
        return
    scene = decode(read_model(read_nres(back.data, "x"), "x"), Dialect(back.dialect), "x")
    yield " ".join(f"{node.name!r}/{node.parent}" for node in scene.nodes)
    yield " ".join(f"{part.node}.{part.lod}.{part.group}" for part in scene.parts)
    yield f"{scene.frame_count} frames"


def found_of_bytes(data: bytes, folder: Path) -> str:
    (folder / "a.bin").write_bytes(b"abc")
    (folder / "in.gltf").write_bytes(data)
    return outcome(lambda: import_gltf(folder / "in.gltf"), folder)


# ------------------------------------------------------------------ OBJ

CORNER = b"v 0 0 0\nv 1 0 0\nv 1 1 0\n"
#: OBJ texts, what is odd in some of them, and all that no model can be made of.
TEXTS: tuple[bytes, ...] = (
    f"mtllib none.mtl\n{SQUARE}f 1 2 3\no left hand\nusemtl red paint\nf 1 2 3\ng ignored\nusemtl blue\nf 1 3 4\n"
    "o right%20hand\nf 2 3 4\no left hand\nf 4 3 2\no empty\n".encode(),
    f"{SQUARE}vt 0.25 0.75\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n".encode(),
    *(f"{SQUARE}f 1 2 3\n{line}\n".encode() for line in ("l 1 2", "p 1", "curv 0 1 1 2", "usemtl l 1")),
    "".join(f"{line} 1 0.5 0\n" for line in SQUARE.splitlines()).encode() + b"f 1 2 3\n",
    f"mtllib none.mtl\n{SQUARE}usemtl steel\nf 1 2 3\n".encode(),
    f"{SQUARE}o башня\nf 1 2 3\n".encode(),
    f"{SQUARE}o башня\nf 1 2 3\n".encode("cp1251"),
    f"{SQUARE}f 1 2 3\nf 1 2 3\nf 1 1 2\nf 3 3 3\nf 1 2\n".encode(),
    f"mtllib in.mtl\n{SQUARE}usemtl odd\nf 1 2 3\nusemtl clear\nf 1 2 3\nusemtl red paint\nf 1 2 3\n".encode(),
    b"# msh-gltf up=z frame=2.5\n" + CORNER + b"f 1 2 3\n",
    b"",
    b"hello\n",
    b'{"asset": {}}',
    b"glTF\x02\0\0\0",
    CORNER,
    CORNER + b"f 1 2\n",
    b"v 0 0 0\nf\n",
    CORNER + b"f 1 2 4\n",
    CORNER + b"f 1 2 0\n",
    CORNER + b"f 1 2 -4\n",
    b"v 0 0 0\nv 1 0 0\nf 1 2 -1\nv 1 1 0\nf 1 2 -9\n",
    CORNER + b"vt 0 0\nf 1/1 2/2 3/1\n",
    CORNER + b"vn 0 0 1\nf 1//1 2//1 3//2\n",
    CORNER + b"f 1 2 99999999999999999999999\n",
    CORNER + b"f 1 2 x\n",
    CORNER + b"f 1 2 3.5\n",
    CORNER + b"f 1 2 1-3\n",
    CORNER + b"f 1 2 -\n",
    CORNER + b"f 1 2 3\nf 1 2 /1\n",
    CORNER + b"f 1 2 3/1/1/1\n",
    b"v 0 0 0\nv 1 0 nan\nv 1 1 0\nf 1 2 3\n",
    b"v 0 0 0\nv 1 0 inf\nv 1 1 0\nf 1 2 3\n",
    b"v 0 0 0\nv 1 0 1e39\nv 1 1 0\nf 1 2 3\n",
    CORNER + b"vt nan 0\nf 1/1 2/1 3/1\n",
    CORNER + b"vn 0 0 nan\nf 1//1 2//1 3//1\n",
    b"v 0 0\nv 1 0\nv 1 1\nf 1 2 3\n",
    b"v 0 0 0\nv 1 0 zero\nv 1 1 0\nf 1 2 3\n",
    CORNER + b"vt 1\nf 1/1 2/1 3/1\n",
    *(
        b"# msh-gltf %s\n" % words
        for words in (b"frame=soon", b"frame=nan", b"lod=3", b"group=-1", b"up=x", b"dialect=a")
    ),
    CORNER + b"f" + b" 1 2 3" * 200,
)


#: The same square, or triangle of it, in other layouts.
LAYOUTS = (
    f"o a\n{SQUARE}f 1 2 3\n",
    f"\ufeff# x\r\n\r\n  o a  \n{SQUARE}f  1\t2 3 # usemtl f 1 2 3\n",
    f"o a\n{SQUARE}f 1 \\\n2 3",
    f"o a\n{SQUARE}s off\nl 1 2\np 1\nvp 1\nf 1 2 3\n".replace("\n", "\r"),
    "o a\nv 0 0 0 1\nv 1 0 0 1\nv 1e0 0 -1.0E+00 1\nf 1 2 3\n",
    "o a\nv 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 0 -1 1 0 0\nf 1 2 3\n",
)
UP_Z = "# msh-gltf up=z\n"
#: Shared by two faces of unlike area, across a seam of texture coordinates.
SEAM = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 1 1 -2\nv 0 0 0\nvt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 2/2 4/2 3/2\n"
SOME_NORMALS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nvn 1 0 0\no a\nf 1//1 2//1 3//1\no b\nf 1 2 3\no c\nf 1 1 1\n"
RING = "v 1 0 0\nv 0.5 1 0\nv -0.5 1 0\nv -1 0 0\nv 0 -1 0\nvt 0 0\nvt 0 0\nvt 0 0\nvt 0 0\nvt 0 0\n" + "vn 0 0 1\n" * 5
SHAPES = {
    **{f"layout {number}": text for number, text in enumerate(LAYOUTS)},
    "y up": "v 1 2 3\nv 4 5 6\nv 7 8 10\nvn 0 1 0\nf 1//1 2//1 3//1\n",
    "z up": UP_Z + "v 1 2 3\nv 4 5 6\nv 7 8 10\nvn 0 1 0\nf 1//1 2//1 3//1\n",
    "no normals, a seam": UP_Z + SEAM,
    "no normals of some": UP_Z + SOME_NORMALS,
    "a polygon that is not convex": UP_Z + "v 1 0.2 0\nv 0 2 0\nv 0 0 0\nv 2 0 0\nv 2 2 0\nf 1 2 3 4 5\n",
    **{
        f"{corners} corners as {form}": f"{UP_Z}{RING}f {' '.join(form.format(i + 1) for i in range(corners))}\n"
        for corners in (3, 4, 5)
        for form in ("{0}", "{0}/{0}", "{0}//{0}", "{0}/{0}/{0}")
    },
}


#: A list of materials with numbers beyond 1 and below 0, one for three, none, words, and pictures.
MTL = (
    b"newmtl odd\nKd 1.5 -0.5 0.25\nKe 0.5\nd 1.25\nnewmtl clear\nKd 0.5\nd 0.25\nTr 0.5\nKe 1 2 3 4\nmap_Kd no.png\n"
    b"newmtl red paint\nKd red\nd\nmap_Kd -s 2 2 1 -o 0.5 0 0 wall.png\nmap_d wall.png\n"
    b"newmtl clear\nKd 0 0 1\nmap_Kd \n"
)


def found_of_text(text: bytes, folder: Path) -> str:
    """Names, materials, what is reported, and triangles of an OBJ as it is read; or why it is refused."""
    (folder / "in.obj").write_bytes(text)
    (folder / "in.mtl").write_bytes(MTL)
    try:
        given = read_obj(folder / "in.obj")
    except ConversionError as error:
        return f"refused: {error}".replace(f"{folder}/", "").replace("\n", " ")
    out = [f"{given.info} materials {[material.name for material in given.materials]}"]
    out += [re.sub(r"<function \S+ at \w+>", "", str(surface)) for surface in given.surfaces]
    for i, item in enumerate(given.nodes):
        rows = [(p.material, p.index_count) for p in given.meshes[item.mesh].primitives] if item.mesh >= 0 else []
        shape = digest(triangles(given, i).tobytes()) if rows else "nothing"
        out.append(f"{item.name!r} {item.parent} {rows} {shape}")
    streams = [None if array is None else array.tobytes() for array in (given.streams.normals, given.streams.uv0)]
    return "; ".join([*out, digest(streams), *given.report.warnings, *map(str, given.report.not_applied)])


def found_in_shape(text: str, folder: Path) -> str:
    """Place and normal of each corner of an OBJ's triangles, by object."""
    (folder / "in.obj").write_bytes(text.encode())
    given = read_obj(folder / "in.obj")
    rows = np.hstack([given.streams.positions, given.streams.normals])
    out = []
    for item in (item for item in given.nodes if item.mesh >= 0):
        for p in given.meshes[item.mesh].primitives:
            index = given.streams.indices[p.index_start : p.index_start + p.index_count].astype(int) + p.vertex_start
            corners = [" ".join(f"{number + 0:.3g}" for number in row) for row in rows[index]]
            out.append(f"{item.name}: {', '.join(corners)}")
    return "; ".join([*out, *given.report.warnings, *map(str, given.report.not_applied)])


# ------------------------------------------------------------------ files that trimesh reads


def found_by_trimesh(ending: str, data: bytes, folder: Path) -> str:
    (folder / f"in.{ending}").write_bytes(data)
    return outcome(lambda: msh_gltf.import_gltf(folder / f"in.{ending}"), folder)


#: Without normals, and with corners that two faces of unlike area share.
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 2\n"
    "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n1 1 -2\n3 0 1 2\n3 1 3 2\n"
)
OTHERS: dict[str, tuple[str, bytes]] = {
    "trimesh, stl of a box": ("stl", trimesh.creation.box([1, 2, 3]).export(file_type="stl")),
    "trimesh, ply of a fold": ("ply", PLY.encode()),
    **{
        f"trimesh, broken {ending} {number}": (ending, data)
        for ending in ("stl", "ply", "off")
        for number, data in enumerate((b"", b"solid x\nfacet normal\n", b"ply\nformat ascii 1.0\n"))
    },
    "trimesh, a loader that is missing": ("step", b"ISO-10303-21;"),
}


# ------------------------------------------------------------------ colours of vertices


def colours_of(*types: tuple[int, str]) -> Callable[[Editable], None]:
    """Colours in other types that glTF allows, one after another over the primitives."""

    def edit(document: Editable) -> None:
        for i, one in enumerate(document.primitives()):
            width, code = types[i % len(types)]
            values = (
                document.arrays[one["attributes"]["COLOR_0"]][:, :width] / 255 * {"B": 255, "H": 65535, "f": 1}[code]
            )
            made = document.add((values if code == "f" else np.rint(values)).astype(np.dtype(code)))
            document.normalized[made] = code != "f"
            one["attributes"]["COLOR_0"] = made

    return edit


def whiten(whole: bool) -> Callable[[Editable], None]:
    """The first primitive of each mesh of several, which is what Blender leaves out; or each mesh of one."""

    def edit(document: Editable) -> None:
        for mesh in document.json["meshes"]:
            if (len(mesh["primitives"]) == 1) == whole:
                colours = document.arrays[mesh["primitives"][0]["attributes"]["COLOR_0"]]
                colours[:] = np.iinfo(colours.dtype).max

    return edit


def colour_without_a_table(red: int) -> Callable[[Editable], None]:
    """Of the retail dialect no model has a table of colours; white shows nothing."""

    def edit(document: Editable) -> None:
        attributes = document.primitives()[0]["attributes"]
        colours = np.full((len(document.arrays[attributes["POSITION"]]), 4), 255, np.uint8)
        colours[:, 1:3] -= np.uint8(red)
        attributes["COLOR_0"] = document.add(colours)
        document.normalized[attributes["COLOR_0"]] = True

    return edit


#: As glTF 2.0, 3.7.2.1 allows them.
TYPES = ((4, "B"), (3, "f"), (4, "H"), (3, "B"), (4, "f"), (3, "H"))
COLOURED, PLAIN = "spec__system__R_H_002", "retail__system__R_H_002"
COLOURS: dict[str, Case] = {
    **{f"{width} of {code}": Case(colours_of((width, code)), COLOURED) for width, code in TYPES},
    "all types": Case(colours_of(*TYPES), COLOURED),
    "all types in another order": Case(colours_of(*TYPES[::-1]), COLOURED),
    "white beside colours": Case(whiten(False), COLOURED),
    "an object painted white": Case(whiten(True), COLOURED),
    "red": Case(colour_without_a_table(255), PLAIN),
    "white": Case(colour_without_a_table(0), PLAIN),
    "red, alone": Case(colour_without_a_table(255), PLAIN, alone=True, options={"dialect": "retail"}),
    "white, alone": Case(colour_without_a_table(0), PLAIN, alone=True, options={"dialect": "retail"}),
}

ROWS: dict[str, Callable[[Path], str]] = {
    **{name: lambda folder, name=name: found_of_document(name, folder) for name in DOCUMENTS},
    **{f"broken {i}": lambda folder, data=data: found_of_bytes(data, folder) for i, data in enumerate(BROKEN)},
    **{f"OBJ {i}": lambda folder, text=text: found_of_text(text, folder) for i, text in enumerate(TEXTS)},
    **{f"OBJ, {name}": lambda folder, text=text: found_in_shape(text, folder) for name, text in SHAPES.items()},
    **{name: lambda folder, given=given: found_by_trimesh(*given, folder) for name, given in OTHERS.items()},
    **{f"colours, {name}": case.found for name, case in COLOURS.items()},
}


@pytest.mark.parametrize("name", ROWS)
def test_what_comes_of_it(name: str, tmp_path: Path) -> None:
    FILES.require(name, ROWS[name](tmp_path))


if __name__ == "__main__":
    FILES.write_each(ROWS, lambda name, folder: ROWS[name](folder))
