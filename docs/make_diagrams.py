"""Draw the diagrams of the format reference: ``docs/pictures/reference/*.svg``.

python docs/make_diagrams.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drawing import AMBER, BLUE, GREEN, GREY, GROUND, ROSE, Drawing

FOLDER = Path(__file__).parent / "pictures/reference"


def nres() -> Drawing:
    """The container: payloads, directory, sort table."""
    d = Drawing(388, "Layout of an NRes file")
    for y, height, text, fill in (
        (16, 34, "header, 16 bytes", BLUE),
        (50, 44, "payload of row 1", GREEN),
        (94, 18, "gap", GROUND),
        (112, 52, "payload of row 0", GREEN),
        (164, 18, "gap", GROUND),
        (182, 36, "payload of row 2", GREEN),
    ):
        d.box(16, y, 150, height, text, fill, 12)
    d.text(196, 226, "directory: 64 bytes a row,", size=12, muted=True)
    d.text(196, 241, "to the end of the file", size=12, muted=True)
    for i, (name, sort) in enumerate((("wall", 2), ("Roof", 1), ("door", 0))):
        y = 248 + 30 * i
        d.box(16, y, 50, 30, f"row {i}", AMBER, 12)
        d.box(66, y, 50, 30, name, AMBER, 12)
        d.box(116, y, 94, 30, "data_offset", AMBER, 12)
        d.box(210, y, 104, 30, f"sort_index {sort}", AMBER, 12)
    d.arrow((184, 248), (184, 138), (168, 138))
    d.text(196, 70, "payloads start at multiples", size=12, muted=True)
    d.text(196, 86, "of 8, in any order; gaps", size=12, muted=True)
    d.text(196, 102, "keep what is in them", size=12, muted=True)
    d.arrow((314, 263), (344, 263), (344, 323), (317, 323))
    d.text(350, 297, "2", size=12)
    d.text(16, 358, "sort_index, read down: 2, 1, 0 = door, Roof, wall.", size=12, muted=True)
    d.text(16, 374, "Row i of it is the row of the i-th name.", size=12, muted=True)
    return d


def model() -> Drawing:
    """How the tables of a core model point at one another."""
    d = Drawing(456, "Tables of a core model")
    left, right, width = 16, 244, 140
    rows = (20, 118, 216, 314)
    for y, lines, fill in zip(
        (*rows, 398),
        (
            ("Res1", "nodes"),
            ("Res2", "slots"),
            ("Res13", "batches"),
            ("Res6", "indices"),
            ("Res3, 4, 5, 15, 16, 18", "vertex streams"),
        ),
        (BLUE, BLUE, BLUE, BLUE, GREEN),
        strict=True,
    ):
        d.box(left, y, width + (28 if fill is GREEN else 0), 44, lines, fill, 12.5)
    for y, lines, fill in zip(
        rows,
        (("Res19", "frame map"), ("Res8", "keys"), ("Res7", "triangles"), ("WEAR", "material names")),
        (AMBER, AMBER, ROSE, GREY),
        strict=True,
    ):
        d.box(right, y, width, 44, lines, fill, 12.5)
    for y, low, lines in (
        (64, 116, ("slot_index", "[lod][group]")),
        (162, 214, ("batch_start", "batch_count")),
        (260, 312, ("index_start", "index_count")),
        (358, 396, ("index + base_vertex",)),
    ):
        d.arrow((60, y), (60, low))
        for i, line in enumerate(lines):
            d.text(68, (y + low) / 2 + 15 * i - (3 if len(lines) > 1 else -3), line, size=12)
    d.arrow((156, 34), (242, 34))
    d.text(199, 28, "map_start", "middle", 12)
    d.arrow((156, 54), (206, 54), (206, 140), (242, 140))
    d.text(212, 99, "fallback_key", size=12)
    d.arrow((314, 64), (314, 116))
    d.text(320, 94, "word", size=12)
    d.arrow((156, 152), (180, 152), (180, 238), (242, 238))
    d.text(186, 182, "tri_start", size=12)
    d.text(186, 197, "tri_count", size=12)
    d.arrow((314, 216), (314, 194), (362, 194), (362, 214))
    d.text(338, 188, "link", "middle", 12)
    d.arrow((156, 248), (206, 248), (206, 336), (242, 336))
    d.text(212, 300, "material row", size=12)
    d.text(200, 416, "Res9, Res10: one name", size=12, muted=True)
    d.text(200, 432, "or label per node", size=12, muted=True)
    return d


def slot_matrix() -> Drawing:
    """The fifteen slot indices of a node."""
    d = Drawing(296, "The slot matrix of a node")
    d.text(94, 26, "group: level of detail, 4: view", size=12, muted=True)
    values = (("0", "1", "-", "-", "-"), ("2", "-", "-", "-", "-"), ("3", "-", "-", "-", "-"))
    for group in range(5):
        d.text(120 + 56 * group, 44, str(group), "middle", bold=True)
    for lod, row in enumerate(values):
        y = 52 + 46 * lod
        d.text(16, y + 28, f"lod {lod}", bold=True)
        for group, value in enumerate(row):
            used = value != "-"
            d.box(92 + 56 * group, y, 56, 46, (), GREEN if used else GROUND)
            d.text(120 + 56 * group, y + 22, value if used else "0xFFFF", "middle", 12)
            offset = 8 + 2 * (5 * lod + group)
            d.text(120 + 56 * group, y + 38, f"+{offset}", "middle", 11, muted=True)
    d.arrow((120, 190), (120, 212))
    d.box(16, 214, 368, 28, "slot 3: 68 bytes of Res2, at 140 + 68 * 3", BLUE)
    d.text(16, 264, "Measured: rows are stages of damage, columns 0-3", size=12, muted=True)
    d.text(16, 280, "levels of detail, column 4 the first-person view.", size=12, muted=True)
    return d


def winged_edge() -> Drawing:
    """Two triangles that share an edge, and their descriptors."""
    d = Drawing(330, "Neighbours across an edge")
    a, b, c, e = (34, 112), (200, 196), (200, 28), (366, 112)
    d.shape((a, b, c), BLUE)
    d.shape((c, b, e), GREEN)
    d.text(128, 108, "triangle 7", "middle", 14, bold=True)
    d.text(272, 108, "triangle 9", "middle", 14, bold=True)
    d.text(98, 172, "edge 0", "middle", 12)
    d.text(182, 142, "edge 1", "end", 12)
    d.text(98, 60, "edge 2", "middle", 12)
    d.text(218, 142, "edge 0", "start", 12)
    d.text(302, 172, "edge 1", "middle", 12)
    d.text(302, 60, "edge 2", "middle", 12)
    d.arrow((192, 170), (192, 54))
    d.arrow((208, 54), (208, 170))
    d.text(16, 226, "descriptor", size=12, muted=True)
    d.text(166, 226, "link", "middle", 12, muted=True)
    d.text(310, 226, "selectors", "middle", 12, muted=True)
    for y, name, links, selectors, packed, fill in (
        (234, "7", ("-", "9", "-"), ("3", "0", "3"), "0x33", BLUE),
        (268, "9", ("7", "-", "-"), ("1", "3", "3"), "0x3d", GREEN),
    ):
        d.box(16, y, 60, 28, name, fill)
        d.cells(110, y, 38, 28, links, fill)
        d.cells(242, y, 32, 28, selectors, fill)
        d.text(346, y + 19, packed, size=12)
    d.text(16, 318, "link[1] of 7 is 9, across edge 0 of 9, and back.", size=12, muted=True)
    return d


#: The run that two diagrams speak of: rows of the pool, their times, the map's words.
_KEYS = ((3, 0), (4, 2), (5, 5), (6, 6))
_WORDS = (3, 3, 4, 4, 4, 5, 6, 6)


def frame_map() -> Drawing:
    """A node's block of the frame map, and its run of keys."""
    d = Drawing(312, "The frame map")
    d.box(16, 16, 368, 30, "node: map_start 0, fallback_key 6", BLUE)
    d.text(64, 70, "Res19: a word for every frame", size=12, muted=True)
    for frame, word in enumerate(_WORDS):
        x = 64 + 40 * frame
        d.text(x + 20, 92, str(frame), "middle", 12, muted=True)
        d.box(x, 98, 40, 30, str(word), AMBER if word < 6 else ROSE)
    d.arrow((40, 46), (40, 113), (62, 113))
    d.text(16, 208, "Res8", size=12, muted=True)
    for row in range(1, 8):
        own = dict(_KEYS).get(row)
        fill = GROUND if own is None else ROSE if row == 6 else AMBER
        d.box(16 + 52 * (row - 1), 216, 52, 46, (), fill)
        x = 42 + 52 * (row - 1)
        d.text(x, 235, f"key {row}", "middle", 12, bold=own is not None)
        if own is not None:
            d.text(x, 253, f"time {own}", "middle", 11)
    for frames, row in (((0, 1), 3), ((2, 4), 4), ((5, 5), 5), ((6, 7), 6)):
        left, right = 64 + 40 * frames[0] + 4, 64 + 40 * (frames[1] + 1) - 4
        d.arrow((left, 134), (right, 134), head=False)
        middle = (left + right) / 2
        d.arrow((middle, 134), (42 + 52 * (row - 1), 214))
    d.text(120, 280, "the run: keys 3 to 6", size=12, muted=True)
    d.text(16, 300, "6 is the fallback: from its time on it holds.", size=12, muted=True)
    return d


def sampler() -> Drawing:
    """From a time to a pose."""
    d = Drawing(472, "The sampler")
    d.box(16, 16, 210, 30, "t = 3.3", BLUE)
    d.box(16, 68, 210, 44, ("frame = FISTP(t - 0.5)", "2.8, half to even: 3"), AMBER, 12.5)
    d.box(16, 134, 210, 44, ("word = Res19[map_start + 3]", "4"), AMBER, 12.5)
    d.box(16, 200, 210, 44, ("k0 = key 4, k1 = key 5", "times 2 and 5"), AMBER, 12.5)
    d.box(16, 266, 210, 44, ("alpha = (3.3 - 2) / (5 - 2)", "0.43333..."), AMBER, 12.5)
    d.box(16, 332, 210, 44, ("position: a + (b - a) * alpha", "quaternion: slerp"), GREEN, 12.5)
    for top in (46, 112, 178, 244, 310):
        d.arrow((121, top), (121, top + 20))
    for y, lines in (
        (68, ("frame >= count", "or no map")),
        (134, ("word >=", "fallback_key")),
        (200, ("t == k0.time", "t == k1.time")),
    ):
        d.arrow((226, y + 22), (262, y + 22))
        for i, line in enumerate(lines):
            d.text(268, y + 18 + 15 * i, line, size=12)
    d.arrow((354, 90), (374, 90), (374, 296), (354, 296))
    d.arrow((346, 156), (374, 156), head=False)
    d.box(254, 274, 100, 44, ("fallback", "as it is"), ROSE, 12.5)
    d.arrow((244, 222), (244, 354), (252, 354))
    d.box(254, 332, 100, 44, ("that key", "as it is"), ROSE, 12.5)
    y = 424
    d.arrow((30, y), (374, y))
    for row, time in _KEYS:
        x = 40 + 50 * time
        d.arrow((x, y - 6), (x, y + 6), head=False)
        d.text(x, y - 12, f"key {row}", "middle", 11)
        d.text(x, y + 22, str(time), "middle", 12, muted=True)
    x = 40 + 50 * 3.3
    d.arrow((x, y + 18), (x, y + 2))
    d.text(x, y + 34, "t = 3.3", "middle", 12, bold=True)
    d.text(384, y + 22, "frames", "end", 11, muted=True)
    return d


def blend() -> Drawing:
    """Two samples of a node become one matrix."""
    d = Drawing(286, "The blend of two samples")
    d.box(16, 16, 172, 44, ("sample at tA", "qA, pA"), BLUE, 12.5)
    d.box(212, 16, 172, 44, ("sample at tB", "qB, pB"), GREEN, 12.5)
    d.arrow((298, 60), (298, 82))
    d.box(212, 84, 172, 44, ("|qA + qB|² < |qA - qB|²:", "qB = -qB"), AMBER, 12.5)
    d.arrow((298, 128), (298, 172), (202, 172))
    d.arrow((60, 60), (60, 150))
    d.box(16, 152, 184, 44, ("interpolation", "weight k, not normalised"), AMBER, 12.5)
    d.arrow((108, 196), (108, 224))
    d.box(16, 226, 184, 44, ("quat_to_matrix", "transpose of the textbook's"), AMBER, 12)
    d.box(212, 226, 172, 44, ("m3, m7, m11", "(1 - k) * pA + k * pB"), ROSE, 12.5)
    d.text(70, 106, "k = 0: A alone,", size=12, muted=True)
    d.text(70, 122, "k = 1: B alone", size=12, muted=True)
    return d


def axes() -> Drawing:
    """The axes of the game and of glTF."""
    d = Drawing(204, "Axes")
    for x, title, up, along, fill in ((84, "the game", "z", "y", BLUE), (284, "glTF", "y", "-z", GREEN)):
        d.text(x, 26, title, "middle", bold=True)
        d.shape(((x - 40, 150), (x + 40, 150), (x + 68, 122), (x - 12, 122)), fill)
        d.arrow((x - 40, 150), (x + 64, 150))
        d.arrow((x - 40, 150), (x - 40, 50))
        d.arrow((x - 40, 150), (x + 8, 102))
        d.text(x + 70, 154, "x", bold=True)
        d.text(x - 40, 44, up, "middle", bold=True)
        d.text(x + 12, 98, along, bold=True)
    d.text(16, 192, "(x, y, z) of the game is (x, z, -y) of glTF.", size=12, muted=True)
    return d


def header() -> Drawing:
    """The order of the corners of a model's box."""
    d = Drawing(266, "Corners of the header's box")
    left, right, near, far, away = 92, 236, 196, 150, 62
    height = 112
    low = ((left, near), (right, near), (right + away, far), (left + away, far))
    high = tuple((x, y - height) for x, y in low)
    d.shape(low, AMBER)
    for bottom, top in zip(low, high, strict=True):
        d.arrow(bottom, top, head=False)
    d.arrow(*high, high[0], head=False)
    for (x, y), number, dx, dy in zip(
        (*low, *high),
        ("0", "1", "2", "3", "5", "6", "7", "4"),
        (-14, 6, 8, -14, -14, 6, 8, -14),
        (14, 14, 6, -4, 4, 18, 4, -2),
        strict=True,
    ):
        d.text(x + dx, y + dy, number, size=14, bold=True)
    d.text(164, 214, "x", "middle", 12, muted=True)
    d.text(276, 186, "y", "middle", 12, muted=True)
    d.text(84, 144, "z", "end", 12, muted=True)
    d.text(16, 234, "0 has the lowest x, y and z, 7 the highest.", size=12, muted=True)
    d.text(16, 250, "0, 1, 2, 3 are the footprint.", size=12, muted=True)
    return d


def batches() -> Drawing:
    """Indices count from a batch's base vertex."""
    d = Drawing(336, "Indices of two batches")
    d.text(16, 28, "Res13", size=12, muted=True)
    for x, number, start, base, window, fill in ((16, 0, 0, 0, 4, BLUE), (204, 1, 6, 4, 3, GREEN)):
        d.box(x, 36, 180, 62, (), fill)
        d.text(x + 90, 54, f"batch {number}", "middle", 12.5, bold=True)
        d.text(x + 90, 71, f"index_start {start}", "middle", 12)
        d.text(x + 90, 87, f"base_vertex {base}, window {window}", "middle", 12)
    d.text(48, 122, "Res6, batches one after the other", size=12, muted=True)
    for i, (index, fill) in enumerate([*((n, BLUE) for n in "012213"), *((n, GREEN) for n in "012")]):
        d.box(16 + 40 * i, 134, 40, 30, index, fill)
    d.arrow((36, 98), (36, 132))
    d.arrow((276, 98), (276, 132))
    for i in range(7):
        d.box(16 + 52 * i, 244, 52, 30, str(i), BLUE if i < 4 else GREEN)
    for index, row in ((0, 0), (1, 1), (2, 2), (5, 3), (6, 4), (7, 5), (8, 6)):
        d.arrow((36 + 40 * index, 164), (42 + 52 * row, 242))
    d.text(16, 292, "Res3, 4, 5, ...: row base_vertex + index of each.", size=12, muted=True)
    d.text(16, 308, "The window is the largest index + 1; windows", size=12, muted=True)
    d.text(16, 324, "may overlap.", size=12, muted=True)
    return d


def terrain() -> Drawing:
    """Squares, slots and runs of faces."""
    d = Drawing(364, "Squares and faces of a terrain")
    for number in range(16):
        column, row = number % 4, number // 4
        fill = AMBER if number == 7 else GREEN
        d.box(24 + 38 * column, 138 - 38 * row, 38, 38, str(number), fill)
    d.text(24, 194, "x, east", size=12, muted=True)
    d.text(24, 16, "y, north", size=12, muted=True)
    d.box(216, 24, 168, 44, ("Res1, square 7", "slots 7 and 16 + 7"), BLUE, 12.5)
    d.arrow((176, 119), (200, 119), (200, 46), (214, 46))
    d.box(216, 92, 80, 62, ("slot 7", "fine"), AMBER, 12.5)
    d.box(304, 92, 80, 62, ("slot 23", "coarse"), ROSE, 12.5)
    d.arrow((256, 68), (256, 90))
    d.arrow((344, 68), (344, 90))
    d.text(16, 224, "Res21, faces", size=12, muted=True)
    d.box(16, 232, 100, 32, "squares 0..6", GREEN, 12)
    d.box(116, 232, 54, 32, "7", AMBER, 12)
    d.box(170, 232, 70, 32, "8..15", GREEN, 12)
    d.box(240, 232, 60, 32, "0..6", GREY, 12)
    d.box(300, 232, 34, 32, "7", ROSE, 12)
    d.box(334, 232, 50, 32, "8..15", GREY, 12)
    d.arrow((256, 154), (256, 180), (143, 180), (143, 230))
    d.arrow((344, 154), (344, 180), (317, 180), (317, 230))
    for i, line in enumerate(
        (
            "Fine level first, square by square, then the coarse",
            "one. Both slots of a square have one box.",
            "Res11: the same runs, in the order of drawing.",
            "Res3: one vertex table; the coarse level uses",
            "vertices of the fine one.",
        )
    ):
        d.text(16, 286 + 16 * i, line, size=12, muted=True)
    return d


def areal_map() -> Drawing:
    """The parts of the entry of type 12."""
    d = Drawing(312, "The entry of type 12")
    for y, height, text, fill in (
        (16, 40, "areal 0", BLUE),
        (56, 40, "areal 1", BLUE),
        (96, 26, "...", BLUE),
        (122, 40, "areal attr1 - 1", BLUE),
        (162, 32, "cellsX, cellsY", AMBER),
        (194, 30, "cell (0, 0)", GREEN),
        (224, 30, "cell (0, 1)", GREEN),
        (254, 26, "...", GREEN),
    ):
        d.box(16, y, 140, height, text, fill, 12.5)
    d.arrow((156, 56), (206, 16), head=False, dashed=True)
    d.arrow((156, 96), (206, 156), head=False, dashed=True)
    for y, text in ((16, "record, 56 bytes"), (44, "vertices, 12 each"), (72, "links, 8 each")):
        d.box(206, y, 178, 28, text, BLUE, 12)
    d.box(206, 100, 178, 28, "further links", GREY, 12)
    d.box(206, 128, 178, 28, "polys", GREY, 12)
    d.text(206, 174, "grey: never in the game's files", size=11, muted=True)
    d.arrow((156, 194), (206, 196), head=False, dashed=True)
    d.arrow((156, 224), (206, 224), head=False, dashed=True)
    d.cells(206, 196, 44, 28, ("n", "id", "id"), GREEN)
    d.text(344, 215, "...", size=12)
    d.text(206, 244, "n ids of areals", size=12, muted=True)
    d.text(16, 300, "y runs faster: cell (x, y) is number x * cellsY + y", size=12, muted=True)
    return d


def areal_links() -> Drawing:
    """Edges of neighbouring areals name each other."""
    d = Drawing(352, "Edges of areals")
    a, b, c, e = (40, 40), (200, 40), (360, 40), (40, 200)
    f, g = (200, 200), (360, 200)
    d.shape((e, f, b, a), BLUE)
    d.shape((f, g, c, b), GREEN)
    d.text(112, 126, "areal 4", "middle", 14, bold=True)
    d.text(288, 126, "areal 5", "middle", 14, bold=True)
    for x, y, text, anchor in (
        (120, 194, "edge 0", "middle"),
        (190, 150, "edge 1", "end"),
        (120, 56, "edge 2", "middle"),
        (46, 150, "edge 3", "start"),
        (280, 194, "edge 0", "middle"),
        (354, 150, "edge 1", "end"),
        (280, 56, "edge 2", "middle"),
        (210, 150, "edge 3", "start"),
    ):
        d.text(x, y, text, anchor, 12)
    d.arrow((186, 88), (214, 88))
    d.arrow((214, 98), (186, 98))
    d.text(200, 24, "border of the map", "middle", 12, muted=True)
    d.text(16, 228, "links, (areal, edge) for each edge", size=12, muted=True)
    for y, name, links, fill in (
        (236, "4", ("-1, -1", "5, 3", "-1, -1", "2, 1"), BLUE),
        (270, "5", ("-1, -1", "9, 3", "-1, -1", "4, 1"), GREEN),
    ):
        d.box(16, y, 40, 28, name, fill)
        d.cells(72, y, 78, 28, links, fill)
    d.text(16, 322, "Across edge 1 of areal 4 lies edge 3 of areal 5,", size=12, muted=True)
    d.text(16, 338, "which names it back. -1, -1: nothing is there.", size=12, muted=True)
    return d


def texm() -> Drawing:
    """The parts of a texture."""
    d = Drawing(330, "Layout of a texture")
    for y, height, lines, fill in (
        (16, 34, "header, 32 bytes", BLUE),
        (50, 34, "palette, 1,024 bytes", GREY),
        (84, 76, "level 0", GREEN),
        (160, 40, "level 1", GREEN),
        (200, 26, "level 2", GREEN),
        (226, 20, "...", GREEN),
        (246, 34, "Page", GREY),
    ):
        d.box(16, y, 166, height, lines, fill, 12.5)
    d.text(190, 72, "in format 0 only", size=12, muted=True)
    d.shape(((214, 92), (290, 92), (290, 152), (214, 152)), GREEN)
    d.text(252, 126, "w x h", "middle", 12)
    d.shape(((214, 162), (252, 162), (252, 192), (214, 192)), GREEN)
    d.text(262, 182, "w/2 x h/2", size=12)
    d.shape(((214, 202), (233, 202), (233, 217), (214, 217)), GREEN)
    d.text(262, 215, "w/4 x h/4", size=12)
    d.text(190, 260, "may follow: rectangles", size=12, muted=True)
    d.text(190, 276, "that materials name", size=12, muted=True)
    d.text(16, 302, "Top row first, no padding; halved down to the", size=12, muted=True)
    d.text(16, 318, "level whose shorter side is 1.", size=12, muted=True)
    return d


#: Every diagram by the name of its file.
DRAWINGS: dict[str, Callable[[], Drawing]] = {
    function.__name__: function
    for function in (
        nres,
        model,
        slot_matrix,
        header,
        batches,
        winged_edge,
        frame_map,
        sampler,
        blend,
        axes,
        terrain,
        areal_map,
        areal_links,
        texm,
    )
}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), "utf-8")
