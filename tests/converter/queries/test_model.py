"""Queries against plain loops over the raw tables, on every sample and on crafted models."""

from collections.abc import Callable, Iterator
from itertools import product
from struct import unpack_from

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import MshModel, StreamType
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries import model as queries
from msh_gltf.converter.queries.model import (
    Hit,
    neighbours,
    node_string,
    owner_slot,
    owner_slots,
    pick,
    posed_matrices,
    slot_for,
    walk_triangles,
    world_bounds,
)
from msh_gltf.converter.scene.dialect import Dialect
from tests.support.corpus import every_sample, sample_called

Row = tuple[int, int, int, int, tuple[int, int, int]]
NAMES = ("tri_required", "tri_forbidden", "batch_required", "batch_forbidden")


class Raw:
    """The tables of a model as bytes, read record by record."""

    def __init__(self, model: MshModel, retail: bool) -> None:
        self.retail = retail
        self.bytes_of = {kind: table.tobytes() for kind, table in model.streams.items()}

    def read(self, table: int, form: str, at: int) -> tuple:
        return unpack_from(form, self.bytes_of[table], at)

    def count(self, table: int, stride: int) -> int:
        return len(self.bytes_of.get(table, b"")) // stride

    def walk(self, lod=0, group=0, nodes=None, masks=(0, 0, 0, 0)) -> Iterator[Row]:
        need, clear, batch_need, batch_clear = masks
        for node in range(self.count(1, 38)) if nodes is None else nodes:
            (slot,) = self.read(1, "<H", node * 38 + 8 + 2 * (lod * 5 + group))
            if slot == 0xFFFF:
                continue
            triangle, _, first, batches = self.read(2, "<4H", slot * 68)
            for batch in range(first, first + batches):
                low, high, _, _, count, start, _, base = self.read(13, "<HHHHHIHI", batch * 20)
                flags = low + high * 65536 if self.retail else low
                drawn = flags & batch_need == batch_need and not flags & batch_clear
                for k in range((count + 2) // 3):
                    bits = self.read(7, "<H", triangle * 16)[0] if triangle < self.count(7, 16) else 0
                    whole = 3 * k + 3 <= count
                    if drawn and whole and bits & need == need and not bits & clear:
                        a, b, c = self.read(6, "<3H", 2 * (start + 3 * k))
                        yield node, slot, batch, triangle, (a + base, b + base, c + base)
                    triangle += 1

    def owners(self) -> list[tuple[int, int]]:
        """First row of Res7 and count of each slot."""
        return [self.read(2, "<HH", 68 * slot) for slot in range(self.count(2, 68))]

    def neighbours(self, triangle: int) -> list[tuple[int, int, int]]:
        _, a, b, c, *_, packed = self.read(7, "<8H", 16 * triangle)
        digits = [packed % 4, packed // 4 % 4, packed // 16 % 4]
        return [
            (edge, link, 0xFFFF if digit == 3 else digit)
            for edge, (link, digit) in enumerate(zip((a, b, c), digits, strict=True))
            if link != 0xFFFF
        ]


def edit(model: MshModel, stream: StreamType, row: object, **values: object) -> None:
    """Change fields of a row of a table; of one without fields, the row."""
    table = model.streams[stream] = model.streams[stream].copy()
    for field, value in values.items():
        where = table[field] if table.dtype.fields else table
        where[row] = value


def load(sample) -> tuple[MshModel, Dialect, Raw]:
    model = read_msh(sample.path, sample.entry)
    if model.legacy:
        pytest.skip("legacy nodes have no slots: see test_legacy_models_are_refused")
    return model, Dialect(sample.dialect), Raw(model, sample.dialect == "retail")


def rock() -> tuple[MshModel, Dialect, Raw]:
    return load(sample_called("retail__odd__s_rock_009"))


def rows_of(walk) -> list[Row]:
    columns = [walk.node, walk.slot, walk.batch, walk.triangle]
    return [
        (*numbers, tuple(vertex))
        for *numbers, vertex in zip(*(c.tolist() for c in columns), walk.vertex.tolist(), strict=True)
    ]


MASKS = [(0, 0, 0, 0), (2, 0, 0, 0), (0, 2, 0, 0), (0x20, 0x10, 0, 0), (0, 0, 0x2000, 0)]
MASKS += [(0, 0, 0, 0x2000), (0, 0, 0, 0x8), (0, 0x32, 0, 0x102), (1, 0, 0, 0), (0, 1, 0, 0)]
MASKS += [mask for bit in (0x4, 0x10000, 0x80000000, 0x80010004) for mask in ((0, 0, bit, 0), (0, 0, 0, bit))]


def named(masks: tuple[int, ...]) -> dict[str, int]:
    return dict(zip(NAMES, masks, strict=True))


def check_walks(model: MshModel, dialect: Dialect, raw: Raw) -> set[int]:
    """Triangles by masks; returns how many are met."""
    found = [rows_of(walk_triangles(model, dialect, **named(masks))) for masks in MASKS]
    assert found == [list(raw.walk(masks=masks)) for masks in MASKS]
    return {len(rows) for rows in found}


def check_triangles(model: MshModel) -> None:
    """The slots and the neighbours of each."""
    raw = Raw(model, False)
    ranges = raw.owners()
    wanted = range(-2, max((start + count for start, count in ranges), default=0) + 3)
    for triangle, got in zip(wanted, owner_slot(model, list(wanted)).tolist(), strict=True):
        owners = [s for s, (start, n) in enumerate(ranges) if start <= triangle < start + n]
        assert owner_slots(model, triangle) == owners
        assert got == (owners[0] if owners else -1)
    for triangle in range(raw.count(7, 16)):
        assert neighbours(model, triangle) == raw.neighbours(triangle)


@every_sample
def test_walk(sample) -> None:
    model, dialect, raw = load(sample)
    total = 0
    for lod, group in product(range(3), range(5)):
        walk = walk_triangles(model, dialect, lod=lod, group=group)
        assert [column.dtype for column in walk] == [np.int64] * 5
        assert walk.vertex.shape == (len(walk.node), 3)
        assert rows_of(walk) == list(raw.walk(lod, group))
        total += len(walk.node)
    assert total
    check_walks(model, dialect, raw)
    some = [*range(len(model.nodes))][::-2]
    assert rows_of(walk_triangles(model, dialect, nodes=some)) == list(raw.walk(nodes=some))


@every_sample
def test_triangles(sample) -> None:
    """Also of legacy models: their slots are known."""
    check_triangles(read_msh(sample.path, sample.entry))


@every_sample
def test_world_bounds(sample) -> None:
    """Of the eight corners of a slot's box, and its sphere, under any matrix."""
    model = read_msh(sample.path, sample.entry)
    raw, chance = Raw(model, False), np.random.default_rng(5)
    for slot in range(raw.count(2, 68)):
        low, high, centre = np.reshape(raw.read(2, "<9f", 68 * slot + 8), (3, 3))
        (radius,) = raw.read(2, "<f", 68 * slot + 44)
        matrix = np.vstack([chance.uniform(-2, 2, (3, 4)), [0, 0, 0, 1]])
        corners = np.array([[*corner, 1] for corner in product(*np.transpose([low, high]))]) @ matrix[:3].T
        got = world_bounds(model, slot, matrix.tolist())
        np.testing.assert_allclose(got.box_min, corners.min(axis=0))
        np.testing.assert_allclose(got.box_max, corners.max(axis=0))
        np.testing.assert_allclose(got.sphere_centre, matrix[:3] @ [*centre, 1], atol=1e-12)
        assert got.sphere_radius == pytest.approx(radius * np.linalg.norm(matrix[:3, :3], axis=0).max())


@every_sample
def test_poses(sample) -> None:
    """Each node on its parent, by the recorded samples of both."""
    model, dialect, raw = load(sample)
    truth = sample.arrays
    for k, time in enumerate(truth["times"].tolist()):
        got = posed_matrices(model, dialect, time)
        assert got.shape == (len(model.nodes), 4, 4)
        quaternions = truth["quat"][:, k].astype(np.float64)
        quaternions[~quaternions.any(axis=1)] = 1, 0, 0, 0
        local = np.tile(np.eye(4), (len(got), 1, 1))  # the runtime's matrices are the transposes of the textbook's
        local[:, :3, :3] = Rotation.from_quat(quaternions, scalar_first=True).inv().as_matrix()
        local[:, :3, 3] = truth["pos"][:, k]
        for node, matrix in enumerate(got):
            expected = local[node]
            while (node := raw.read(1, "<H", node * 38 + 2)[0]) != 0xFFFF:
                expected = local[node] @ expected
            np.testing.assert_allclose(matrix, expected, rtol=1e-9, atol=1e-7)


def all_hits(model: MshModel, raw: Raw, start, ray, time: float, lod: int, group: int, masks: tuple[int, ...]):
    """Rows of all triangles, distances, and the smallest barycentric coordinates: plane first, no sphere looked at."""
    rows = list(raw.walk(lod, group, masks=masks))
    corners = model.positions.astype(np.float64)[[row[4] for row in rows]].reshape(-1, 3, 3)
    matrices = posed_matrices(model, Dialect.RETAIL if raw.retail else Dialect.SPEC, time)[[row[0] for row in rows]]
    corners = corners @ matrices[:, :3, :3].swapaxes(1, 2) + matrices[:, None, :3, 3]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    steep = normal @ ray
    steep[np.abs(steep) <= 1e-11 * np.linalg.norm(normal, axis=1) * np.linalg.norm(ray)] = np.nan
    distance = ((corners[:, 0] - start) * normal).sum(axis=1) / steep
    to_point = start + distance[:, None, None] * np.array(ray) - corners
    side = (np.cross(np.roll(corners, -1, 1) - corners, to_point) * normal[:, None]).sum(axis=2).min(axis=1)
    share = np.where(distance >= 0, side / (normal * normal).sum(axis=1), np.nan)
    return rows, distance, share


def rays(model: MshModel, raw: Raw, dialect: Dialect, time: float, count: int, lod=0, group=0):
    """At random points of random triangles, from outside, from inside, and past the model."""
    chance, rows = np.random.default_rng(3), list(raw.walk(lod, group))
    matrices = posed_matrices(model, dialect, time)
    for _ in range(count if rows else 0):
        node, *_, vertex = rows[int(chance.integers(len(rows)))]
        weights = chance.dirichlet([2, 2, 2])
        target = matrices[node] @ [*(weights @ model.positions[list(vertex)]), 1]
        span = chance.choice([0.5, 20.0, 300.0])
        start = target[:3] + chance.uniform(-span, span, 3)
        aim = (target[:3] - start) * chance.choice([1, 1, 1, 1, -1])
        yield tuple(start.tolist()), tuple((aim * chance.choice([1.0, 1e-3, 40.0])).tolist())


def check_pick(
    model: MshModel, dialect: Dialect, raw: Raw, start, ray, time=0.0, lod=0, group=0, masks=(0, 0, 0, 0)
) -> Hit | None:
    """The answer is the nearest hit; on an edge, rounding may decide either way."""
    forbidden = {"tri_forbidden": masks[1], "batch_forbidden": masks[3]}
    got = pick(model, dialect, start, ray, time=time, lod=lod, group=group, **forbidden)
    rows, distance, share = all_hits(model, raw, start, ray, time, lod, group, masks)
    sure = distance[share > 1e-7]
    if got is None:
        assert not len(sure)
        return None
    slack = 1e-7 * got.distance + 1e-9
    assert (got.distance <= sure + slack).all()
    close = np.flatnonzero((np.abs(distance - got.distance) <= slack) & (share > -1e-7))
    assert (got.node, got.slot, got.batch, got.triangle) in [rows[i][:4] for i in close]
    np.testing.assert_allclose(got.point, start + got.distance * np.array(ray), rtol=1e-12, atol=1e-9)
    return got


@every_sample
def test_pick(sample) -> None:
    model, dialect, raw = load(sample)
    hits = [
        check_pick(model, dialect, raw, start, ray, *when)
        for when in ((0.0, 0, 0), (model.frame_count / 3, 0, 0), (0.0, 1, 0), (0.5, 0, 1))
        for start, ray in rays(model, raw, dialect, when[0], 6, *when[1:])
    ]
    assert any(hits)


def incomplete_triples(model: MshModel) -> None:
    """Batches of one and of two indices too few: an incomplete triple advances the descriptor."""
    counts = model.batches["index_count"].astype(int)
    edit(model, StreamType.BATCHES, slice(0, None, 2), index_count=counts[::2] - 1)
    edit(model, StreamType.BATCHES, slice(1, None, 2), index_count=counts[1::2] - 2)


def flags_of_32_bits(model: MshModel) -> None:
    edit(model, StreamType.BATCHES, slice(None), word0=0x4, word2=0x8001)


def few_descriptors(model: MshModel) -> None:
    """Rows past Res7 have no flags."""
    model.streams[StreamType.TRIANGLES] = model.streams[StreamType.TRIANGLES][:20].copy()
    model.streams[StreamType.TRIANGLES]["tri_flags"] = 1


def no_descriptors(model: MshModel) -> None:
    del model.streams[StreamType.TRIANGLES]


def several_owners(model: MshModel) -> None:
    edit(model, StreamType.SLOTS, [3, 5], tri_start=2, tri_count=2)


def selector_of_3(model: MshModel) -> None:
    edit(model, StreamType.TRIANGLES, 4, link=(7, NONE16, 9), selectors=0b110011 | 0xFFC0)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    "change", [incomplete_triples, flags_of_32_bits, few_descriptors, no_descriptors, several_owners, selector_of_3]
)
def test_changed_tables(change: Callable[[MshModel], object], dialect: Dialect) -> None:
    model, _, _ = rock()
    change(model)
    assert len(check_walks(model, dialect, Raw(model, dialect is Dialect.RETAIL))) > 1
    check_triangles(model)
    if change is no_descriptors:
        assert neighbours(model, 0) == []


def two_sheets(z: tuple[float, ...] = (0.0, 1.0)) -> tuple[MshModel, Dialect]:
    """One node at the origin that shows big flat triangles 0, 1, ... at these heights."""
    model, dialect, _ = rock()
    for stream in (StreamType.KEYS, StreamType.FRAME_MAP):
        model.streams.pop(stream)
    edit(model, StreamType.NODES, slice(None), slot_index=NONE16)
    edit(model, StreamType.NODES, 0, slot_index=0)
    n = len(z)
    edit(model, StreamType.SLOTS, 0, tri_start=0, tri_count=n, batch_start=0, batch_count=n)
    edit(model, StreamType.SLOTS, 0, sphere_center=0, sphere_radius=99)
    edit(model, StreamType.TRIANGLES, slice(None), tri_flags=0)
    edit(model, StreamType.BATCHES, slice(None), word0=0, word2=0)
    for i in range(n):
        edit(model, StreamType.BATCHES, i, index_start=3 * i, index_count=3, base_vertex=3 * i)
    model.streams[StreamType.INDICES] = np.array([0, 1, 2] * n, "<u2")
    flat = [[(-4, -4, h), (8, -4, h), (-4, 8, h)] for h in z]
    model.streams[StreamType.POSITIONS] = np.array(flat, "<f4").reshape(-1, 3)
    return model, dialect


@pytest.mark.parametrize("masks", [(0, 0, 0, 0), (0, 4, 0, 0), (0, 4, 0, 0x100)])
def test_pick_of_two_sheets(masks: tuple[int, ...]) -> None:
    """The upper one has a flag, and the lower one's batch; of a cockpit. From the back, edge-on, from its place."""
    model, dialect = two_sheets()
    assert posed_matrices(model, dialect).shape == (len(model.nodes), 4, 4)
    edit(model, StreamType.NODES, 0, flags=0x20)
    edit(model, StreamType.TRIANGLES, 1, tri_flags=4)
    edit(model, StreamType.BATCHES, 0, word0=0x100)
    raw, up = Raw(model, dialect is Dialect.RETAIL), (0, 0, 1)
    hits = [check_pick(model, dialect, raw, (0, 0, z), up, masks=masks) for z in (-5, 0.5, 1, 5)]
    hits += [check_pick(model, dialect, raw, (at, at, 5), (0, 0, -2), masks=masks) for at in (0, 9)]
    hits += [check_pick(model, dialect, raw, (-9, 0, 1), (1, 0, 0), masks=masks)]
    shown = [hit and (hit.distance, hit.triangle) for hit in hits]
    assert shown[3] is shown[5] is shown[6] is None
    assert masks[1] or shown == [(5, 0), (0.5, 1), (0, 1), None, (2, 1), None, None]


def test_ties_go_to_the_lowest_triangle() -> None:
    model, dialect = two_sheets((1.0, 1.0, 1.0))
    assert pick(model, dialect, (0, 0, 5), (0, 0, -1))[1:5] == (0, 0, 0, 0)
    # the same three at the same place, but node 0 shows the last one first
    edit(model, StreamType.NODES, 1, slot_index=0)
    edit(model, StreamType.NODES, 0, slot_index=1)
    edit(model, StreamType.SLOTS, 1, tri_start=2, tri_count=1, batch_start=2, batch_count=1)
    edit(model, StreamType.NODES, [0, 1], parent=NONE16)
    assert walk_triangles(model, dialect).triangle.tolist() == [2, 0, 1, 2]
    assert pick(model, dialect, (0, 0, 5), (0, 0, -1))[1:5] == (1, 0, 0, 0)


@pytest.mark.parametrize("radius", [0.0, -1.0, 1e-3, np.nan, np.inf])
@pytest.mark.parametrize("centre", [0.0, 1e5, np.nan, np.inf])
def test_spheres_hide_nothing(radius: float, centre: float) -> None:
    """Whatever the stored spheres say, the answer is that of a walk without them."""
    model, dialect, raw = rock()
    edit(model, StreamType.SLOTS, slice(None), sphere_center=centre, sphere_radius=radius)
    for start, ray in rays(model, raw, dialect, 0.0, 12):
        check_pick(model, dialect, raw, start, ray)


def test_rays_that_graze_a_sphere_count() -> None:
    """A corner on its sphere, and rays that touch the sphere in that corner."""
    model, dialect = two_sheets((0.0,))
    edit(model, StreamType.SLOTS, 0, sphere_center=(1, 2, 3), sphere_radius=0)
    walk, matrices = walk_triangles(model, dialect), posed_matrices(model, dialect)
    away = model.positions.astype(np.float64) - (1, 2, 3)
    corner = away[np.argmax((away * away).sum(axis=1))]
    for aim in np.random.default_rng(4).uniform(-9, 9, (50, 4)):
        ray = np.cross(corner, aim[:3])
        start = np.add(corner, (1, 2, 3)) - abs(aim[3]) * ray
        assert queries._near(model, walk, matrices, start, ray).all()


def test_no_ray_slips_through_an_edge() -> None:
    """Two triangles of a turned square share a diagonal; rays aim at points on it."""
    chance = np.random.default_rng(1)
    for _ in range(3000):
        a, b, c, d = chance.uniform(-9, 9, (4, 3)).astype(np.float32).astype(np.float64)
        target, start = b + (c - b) * chance.random(), chance.uniform(-500, 500, 3)
        corners = np.stack([np.roll(t, chance.integers(3), axis=0) for t in ([a, b, c], [c, b, d])])
        distance = queries._hit_distance(corners, start, target - start)
        sides = [np.cross(t[1] - t[0], t[2] - t[0]) @ (start - t[0]) for t in corners]
        if sides[0] * sides[1] > 0:  # seen from a side where the two do not hide each other's edge
            assert np.isfinite(distance).any()


def test_legacy_models_are_refused() -> None:
    model = read_msh(sample_called("retail__system__MTCHECK").path)
    for query in (walk_triangles, posed_matrices, lambda m, d: pick(m, d, (0, 0, 0), (0, 0, 1))):
        with pytest.raises(ConversionError, match="legacy nodes"):
            query(model, Dialect.RETAIL)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda m, d: walk_triangles(m, d, nodes=[0, 99]), IndexError),
        (lambda m, d: walk_triangles(m, d, nodes=[-1]), IndexError),
        (lambda m, d: walk_triangles(m, d, lod=3), IndexError),
        (lambda m, d: walk_triangles(m, d, lod=-1), IndexError),
        (lambda m, d: walk_triangles(m, d, group=5), IndexError),
        (lambda m, d: walk_triangles(m, d, group=-1), IndexError),
        (lambda m, d: walk_triangles(m, d, tri_required=-1), ConversionError),
        *((lambda m, d, node=n: slot_for(m, node, 0, 0), IndexError) for n in (99, -1)),
        *((lambda m, d, cell=c: slot_for(m, 0, *cell), IndexError) for c in ((3, 0), (0, 5), (-2, 0))),
        (lambda m, d: neighbours(m, -1), IndexError),
        (lambda m, d: neighbours(m, 204), IndexError),
        (lambda m, d: world_bounds(m, 19, np.eye(4)), IndexError),
        (lambda m, d: world_bounds(m, -1, np.eye(4)), IndexError),
        (lambda m, d: world_bounds(m, 0, np.eye(3)), ConversionError),
        (lambda m, d: pick(m, d, (0, 0, 0), (0, 0, 0)), ConversionError),
        (lambda m, d: pick(m, d, (0, np.nan, 0), (0, 0, 1)), ConversionError),
        (lambda m, d: pick(m, d, (0, 0, 0), (0, np.inf, 1)), ConversionError),
        (lambda m, d: pick(m, d, (0, 0), (0, 0, 1)), ConversionError),
        (lambda m, d: pick(m, d, (0, 0, 0), (0, 0, 1, 0)), ConversionError),
    ],
)
def test_questions_without_an_answer(ask, error) -> None:
    model, dialect, _ = rock()
    with pytest.raises(error):
        ask(model, dialect)


def test_slot_lookup() -> None:
    sample = sample_called("retail__odd__s_rock_009")
    model = read_msh(sample.path)
    for node, facts in enumerate(sample.truth["nodes"]):
        for cell, word in enumerate(facts["words"][:15]):
            lod, group = divmod(cell, 5)
            expected = None if word == NONE16 else word
            assert slot_for(model, node, lod, group) == expected
            assert slot_for(model, node, -1, group, current_lod=lod) == expected


def test_node_strings() -> None:
    bunker = sample_called("spec__static__b_bun_000")
    model = read_msh(bunker.path)
    for node in bunker.truth["nodes"]:
        assert node_string(model, node["index"]) == bytes.fromhex(node["res10_hex"])
    retail = read_msh(sample_called("retail__odd__s_rock_009").path)
    assert node_string(retail, 0) is None  # length 0
    retail.strings = None
    assert node_string(retail, 0) is None
