"""Queries against plain loops over the raw tables, on every sample and on crafted models.

``slot_for`` and ``node_string`` are tested in ``test_slots.py``."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import MshModel, StreamType
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.numeric.arrays import NONE16
from msh_gltf.converter.queries import model as queries
from msh_gltf.converter.queries.model import (
    Hit,
    neighbours,
    owner_slot,
    owner_slots,
    pick,
    posed_matrices,
    walk_triangles,
    world_bounds,
)
from msh_gltf.converter.scene.dialect import Dialect
from tests.support.corpus import every_sample, sample_called
from tests.support.raw_model import V3, Raw, Row, all_hits, apply, cross, dot, minus, plus, times


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

MASKS += [(0, 0, 0, 0x2000), (0, 0, 0, 0x8), (0, 0x32, 0, 0x102)]


@every_sample
def test_walk(sample) -> None:
    model, dialect, raw = load(sample)
    total = 0
    for lod in range(3):
        for group in range(5):
            walk = walk_triangles(model, dialect, lod=lod, group=group)
            assert [column.dtype for column in walk] == [np.int64] * 5
            assert walk.vertex.shape == (len(walk.node), 3)
            assert rows_of(walk) == list(raw.walk(lod, group))
            total += len(walk.node)
    assert total
    for masks in MASKS:
        names = ("tri_required", "tri_forbidden", "batch_required", "batch_forbidden")
        walk = walk_triangles(model, dialect, **dict(zip(names, masks, strict=True)))
        assert rows_of(walk) == list(raw.walk(masks=masks))
    some = [*range(len(model.nodes))][::-2]
    walk = walk_triangles(model, dialect, nodes=some)
    assert rows_of(walk) == list(raw.walk(nodes=some))


@every_sample
def test_owners(sample) -> None:
    """Also of legacy models: their slots are known."""
    model = read_msh(sample.path, sample.entry)
    raw = Raw(model, False)
    ranges = [raw.read(2, "<HH", 68 * slot) for slot in range(raw.count(2, 68))]
    last = max((start + count for start, count in ranges), default=0)
    wanted = range(-2, last + 3)
    first = owner_slot(model, list(wanted))
    for triangle, got in zip(wanted, first.tolist(), strict=True):
        owners = [s for s, (start, n) in enumerate(ranges) if start <= triangle < start + n]
        assert owner_slots(model, triangle) == owners
        assert got == (owners[0] if owners else -1)


@every_sample
def test_neighbours(sample) -> None:
    model = read_msh(sample.path, sample.entry)
    raw = Raw(model, False)
    if not raw.count(7, 16):
        pytest.skip("no Res7: see test_no_res7")
    for triangle in range(raw.count(7, 16)):
        _, a, b, c, *_, packed = raw.read(7, "<8H", 16 * triangle)
        digits = [packed % 4, packed // 4 % 4, packed // 16 % 4]
        expected = [
            (edge, link, 0xFFFF if digit == 3 else digit)
            for edge, (link, digit) in enumerate(zip((a, b, c), digits, strict=True))
            if link != 0xFFFF
        ]
        assert neighbours(model, triangle) == expected


@every_sample
def test_world_bounds(sample) -> None:
    model = read_msh(sample.path, sample.entry)
    raw = Raw(model, False)
    rng = random.Random(5)
    for slot in range(raw.count(2, 68)):
        numbers = raw.read(2, "<10f", 68 * slot + 8)
        low, high, centre, radius = numbers[:3], numbers[3:6], numbers[6:9], numbers[9]
        matrix = [[rng.uniform(-2, 2) for _ in range(4)] for _ in range(3)] + [[0, 0, 0, 1]]
        moved = []
        for corner in range(8):
            point = [(high if corner >> k & 1 else low)[k] for k in range(3)]
            moved.append([dot(row[:3], point) + row[3] for row in matrix[:3]])
        got = world_bounds(model, slot, matrix)
        np.testing.assert_allclose(got.box_min, [min(p[k] for p in moved) for k in range(3)])
        np.testing.assert_allclose(got.box_max, [max(p[k] for p in moved) for k in range(3)])
        expected = [dot(row[:3], centre) + row[3] for row in matrix[:3]]
        np.testing.assert_allclose(got.sphere_centre, expected, atol=1e-12)
        scales = [math.sqrt(sum(matrix[i][j] ** 2 for i in range(3))) for j in range(3)]
        assert got.sphere_radius == pytest.approx(radius * max(scales))


@every_sample
def test_poses(sample) -> None:
    model, dialect, raw = load(sample)
    for time in (0.0, 1.25, model.frame_count - 0.5, 1e9):
        got = posed_matrices(model, dialect, time)
        assert got.shape == (len(model.nodes), 4, 4)
        for matrix, (rows, move) in zip(got, raw.poses(time), strict=True):
            np.testing.assert_allclose(matrix[:3, :3], rows, atol=1e-9)
            np.testing.assert_allclose(matrix[:3, 3], move, rtol=1e-9, atol=1e-7)
            assert matrix[3].tolist() == [0, 0, 0, 1]


def rays(raw: Raw, time: float, count: int, lod=0, group=0) -> list[tuple[V3, V3]]:
    """At random points of random triangles, from outside, from inside, and past the model."""
    rng = random.Random(3)
    poses = raw.poses(time)
    rows = list(raw.walk(lod, group))
    out = []
    for _ in range(count if rows else 0):
        row = rng.choice(rows)
        turn, move = poses[row[0]]
        a, b, c = (plus(apply(turn, raw.vertex(v)), move) for v in row[4])
        u, v = rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.4)
        target = plus(plus(times(a, 1 - u - v), times(b, u)), times(c, v))
        span = rng.choice([0.5, 20.0, 300.0])
        start = plus(target, tuple(rng.uniform(-span, span) for _ in range(3)))
        aim = minus(target, start) if rng.random() < 0.8 else minus(start, target)
        out.append((start, times(aim, rng.choice([1.0, 1e-3, 40.0]))))
    return out


def check_pick(got: Hit | None, hits: list) -> None:
    """Equal to the nearest hit; on an edge, rounding may decide either way."""
    sure = [distance for distance, inside, _ in hits if inside]
    if got is None:
        assert not sure
        return
    slack = 1e-7 * got.distance + 1e-9
    assert all(got.distance <= distance + slack for distance in sure)
    close = [row for distance, _, row in hits if abs(distance - got.distance) <= slack]
    assert (got.node, got.slot, got.batch, got.triangle) in {row[:4] for row in close}


@every_sample
def test_pick(sample) -> None:
    model, dialect, raw = load(sample)
    met = 0
    for time, lod, group in ((0.0, 0, 0), (model.frame_count / 3, 0, 0), (0.0, 1, 0), (0.5, 0, 1)):
        for start, ray in rays(raw, time, 6, lod, group):
            got = pick(model, dialect, start, ray, time=time, lod=lod, group=group)
            check_pick(got, all_hits(raw, start, ray, time, lod, group))
            if got is not None:
                met += 1
                expected = plus(start, times(ray, got.distance))
                np.testing.assert_allclose(got.point, expected, rtol=1e-12, atol=1e-9)
    assert met


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


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("change", [incomplete_triples, flags_of_32_bits, few_descriptors, no_descriptors])
def test_walk_of_changed_tables(change: Callable[[MshModel], object], dialect: Dialect) -> None:
    model, _, _ = rock()
    change(model)
    raw, found = Raw(model, dialect is Dialect.RETAIL), set()
    batches = (0x4, 0x10000, 0x80000000, 0x80010004)
    for masks in (
        *MASKS,
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        *((0, 0, m, 0) for m in batches),
        *((0, 0, 0, m) for m in batches),
    ):
        names = ("tri_required", "tri_forbidden", "batch_required", "batch_forbidden")
        walk = rows_of(walk_triangles(model, dialect, **dict(zip(names, masks, strict=True))))
        assert walk == list(raw.walk(masks=masks))
        found.add(len(walk))
    assert len(found) > 1
    if change is no_descriptors:
        assert neighbours(model, 0) == []


def test_several_owners_and_a_selector_of_3() -> None:
    model, _, _ = rock()
    edit(model, StreamType.SLOTS, [3, 5], tri_start=2, tri_count=2)
    assert owner_slots(model, 3) == [0, 3, 5]
    assert owner_slot(model, [3]).tolist() == [0]
    edit(model, StreamType.TRIANGLES, 4, link=(7, NONE16, 9), selectors=0b110011 | 0xFFC0)
    assert neighbours(model, 4) == [(0, 7, 0xFFFF), (2, 9, 0xFFFF)]


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


@pytest.mark.parametrize(
    ("start", "ray", "masks", "expected"),
    [
        ((0, 0, 5), (0, 0, -2), {}, (2.0, 1)),
        ((0, 0, -5), (0, 0, 1), {}, (5.0, 0)),  # the back of triangle 0
        ((0, 0, 5), (0, 0, 1), {}, None),  # behind the origin
        ((9, 9, 5), (0, 0, -1), {}, None),
        ((-9, 0, 1), (1, 0, 0), {}, None),  # edge-on
        ((0, 0, 0.5), (0, 0, 1), {}, (0.5, 1)),
        ((0, 0, 1), (0, 0, 1), {}, (0.0, 1)),
        ((0, 0, 5), (0, 0, -1), {"tri_forbidden": 4}, (5.0, 0)),
        ((0, 0, 5), (0, 0, -1), {"tri_forbidden": 4, "batch_forbidden": 0x100}, None),
    ],
)
def test_pick_by_hand(start: V3, ray: V3, masks: dict[str, int], expected: tuple[float, int] | None) -> None:
    """Of two sheets, of which the upper one has a flag, and the lower one's batch; of a cockpit, too."""
    model, dialect = two_sheets()
    assert posed_matrices(model, dialect).shape == (len(model.nodes), 4, 4)
    edit(model, StreamType.NODES, 0, flags=0x20)
    edit(model, StreamType.TRIANGLES, 1, tri_flags=4)
    edit(model, StreamType.BATCHES, 0, word0=0x100)
    hit = pick(model, dialect, start, ray, **masks)
    assert (hit and (hit.distance, hit.triangle)) == expected
    if hit:
        assert hit[1:4] == (0, 0, hit.triangle)
        assert hit.point.tolist() == [0, 0, hit.triangle]


def test_ties_go_to_the_lowest_triangle() -> None:
    model, dialect = two_sheets((1.0, 1.0, 1.0))
    hit = pick(model, dialect, (0, 0, 5), (0, 0, -1))
    assert hit is not None
    assert hit.triangle == 0
    # the same three at the same place, but node 0 shows the last one first
    edit(model, StreamType.NODES, 1, slot_index=0)
    edit(model, StreamType.NODES, 0, slot_index=1)
    edit(model, StreamType.SLOTS, 1, tri_start=2, tri_count=1, batch_start=2, batch_count=1)
    edit(model, StreamType.NODES, [0, 1], parent=NONE16)
    assert walk_triangles(model, dialect).triangle.tolist() == [2, 0, 1, 2]
    hit = pick(model, dialect, (0, 0, 5), (0, 0, -1))
    assert hit is not None
    assert (hit.node, hit.triangle) == (1, 0)


@pytest.mark.parametrize("radius", [0.0, -1.0, 1e-3, np.nan, np.inf])
@pytest.mark.parametrize("centre", [0.0, 1e5, np.nan, np.inf])
def test_spheres_hide_nothing(radius: float, centre: float) -> None:
    """Whatever the stored spheres say, the answer is that of a walk without them."""
    model, dialect, raw = rock()
    edit(model, StreamType.SLOTS, slice(None), sphere_center=centre, sphere_radius=radius)
    for start, ray in rays(raw, 0.0, 12):
        check_pick(pick(model, dialect, start, ray), all_hits(raw, start, ray, 0.0))


def test_rays_that_graze_a_sphere_count() -> None:
    """A corner on its sphere, and rays that touch the sphere in that corner."""
    model, dialect = two_sheets((0.0,))
    edit(model, StreamType.SLOTS, 0, sphere_center=(1, 2, 3), sphere_radius=0)
    walk, matrices = walk_triangles(model, dialect), posed_matrices(model, dialect)
    corners = [tuple(float(v) for v in row) for row in model.positions]
    corner = max(corners, key=lambda c: dot(minus(c, (1, 2, 3)), minus(c, (1, 2, 3))))
    rng = random.Random(4)
    for _ in range(50):
        ray = cross(minus(corner, (1, 2, 3)), tuple(rng.uniform(-9, 9) for _ in range(3)))
        start = minus(corner, times(ray, rng.uniform(0, 9)))
        assert queries._near(model, walk, matrices, np.array(start), np.array(ray)).all()


def test_no_ray_slips_through_an_edge() -> None:
    """Two triangles of a turned square share a diagonal; rays aim at points on it."""
    rng = random.Random(1)
    for _ in range(3000):
        a, b, c, d = (np.array([rng.uniform(-9, 9) for _ in range(3)], "f4") for _ in range(4))
        corners = np.array([[a, b, c], [c, b, d]], np.float64)
        k = rng.random()
        target = corners[0, 1] * k + corners[0, 2] * (1 - k)
        corners = np.stack([np.roll(t, rng.randrange(3), axis=0) for t in corners])
        start = np.array([rng.uniform(-500, 500) for _ in range(3)])
        distance = queries._hit_distance(corners, start, target - start)
        normals = [cross(t[1] - t[0], t[2] - t[0]) for t in corners]
        sides = [dot(n, start - t[0]) for n, t in zip(normals, corners, strict=True)]
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
