"""The shortest way over a map, from areal to areal.

    python examples/areal_path.py Land.map X0 Y0 X1 Y1

Prints one line per areal of the way from (X0, Y0) to (X1, Y1): its index, its class and where its
anchor is (map units), then the length of the way over the anchors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.areal_map import read_areal_map
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.queries.landscape import areal_at, shortest_path


def main(arguments: list[str]) -> int:
    if len(arguments) != 5:
        print("usage: areal_path.py Land.map X0 Y0 X1 Y1", file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        points = np.array(arguments[1:], np.float64).reshape(2, 2)
    except ValueError:
        print(f"not four numbers: {' '.join(arguments[1:])}", file=sys.stderr)
        return 2
    try:
        areals = read_areal_map(read_nres(read_file(path), str(path)))
    except ConversionError as error:
        print(error, file=sys.stderr)
        return 1
    start, goal = areal_at(areals, points).tolist()
    for (x, y), found in zip(points.tolist(), (start, goal), strict=True):
        if found < 0:
            print(f"no areal at {x:g}, {y:g}", file=sys.stderr)
            return 1
    way = shortest_path(areals, start, goal)
    if not way:
        print(f"no way from areal {start} to areal {goal}", file=sys.stderr)
        return 1
    anchors = areals.records["anchor"][way, :2].astype(np.float64)
    for index, (x, y) in zip(way, anchors.tolist(), strict=True):
        print(f"areal {index:5d}  class {areals.records['class_id'][index]:3d}  {x:9.2f} {y:9.2f}")
    print(f"length {np.hypot(*np.diff(anchors, axis=0).T).sum():.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
