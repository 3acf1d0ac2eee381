"""How cost grows: with nodes, batches, triangles, keys and entries, each by itself.

    python -m benchmarks.growth [--rounds N]

Prints medians and exponents, and draws ``docs/pictures/growth.svg``. The exponent is fitted to the
upper decade, where what a model costs anyway no longer hides what grows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log10
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import game
from benchmarks.inside import way_out
from benchmarks.measure import ROOT, WORK, as_in_commands, by_turns, exponent, timed
from msh_gltf.converter.formats.nres import Entry, write_nres
from msh_gltf.converter.formats.nres_edits import new_archive
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.options import ImportOptions
from msh_gltf.converter.scene.scene import Channel, ImportedNode, Mesh, Primitive, Track

PICTURE = ROOT / "docs" / "pictures" / "growth.svg"
WAYS = {"out": "#2f6db3", "rebuild": "#b3562f"}
_MESH = int.from_bytes(b"MESH", "little")


@dataclass(frozen=True)
class Shape:
    """What a model is made of; one model alone in an archive, or ``entries`` of them."""

    nodes: int = 4
    batches: int = 4
    triangles: int = 2048
    keys: int = 40
    entries: int = 1

    def archive(self) -> bytes:
        """An archive of equal models."""
        data = self.model()
        names = [f"model_{i:04}.msh" for i in range(self.entries)]
        entries: list[Entry] = [game.entry(_MESH, name, data) for name in names]
        return write_nres(new_archive(entries, "growth"))

    def model(self) -> bytes:
        """A chain of nodes; the first one has the batches, the last one moves."""
        chance = np.random.default_rng(0)
        still = np.array([1.0, 0, 0, 0])
        step = np.array([0, 0, 1], np.float32)
        items = [
            ImportedNode(f"node_{i}", i - 1, step, still, None, 0 if i == 0 else -1, {}) for i in range(self.nodes)
        ]
        streams, primitives, vertices, indices = [], [], 0, 0
        for number in range(self.batches):
            made = game.patch(chance, self.triangles // self.batches)
            streams.append(made)
            size = len(made[0]), len(made[3])
            primitives.append(Primitive(number, vertices, size[0], indices, size[1]))
            vertices, indices = vertices + size[0], indices + size[1]
        turns = chance.normal(0, 1, (self.keys, 4))  # no key follows from its neighbours
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        turn = Channel(np.arange(float(self.keys)), turns)
        track = Track(self.nodes - 1, rotation=turn)
        return game.msh("grown", items, [Mesh("node_0", primitives)], streams, [track], self.batches)


#: What grows, from what to what; all else stays as in :class:`Shape`.
SERIES: dict[str, tuple[Sequence[int], Callable[[int], Shape]]] = {
    "nodes": ((10, 32, 100, 316, 1000, 3162), lambda n: Shape(nodes=n)),
    "batches": ((10, 32, 100, 316, 1000), lambda n: Shape(batches=n)),
    "triangles": ((100, 316, 1000, 3162, 10000, 31623), lambda n: Shape(triangles=n)),
    "keys": ((30, 100, 300, 1000, 3000, 10000), lambda n: Shape(keys=n)),
    "entries": ((3, 10, 32, 100, 316), lambda n: Shape(entries=n)),
}


def measured(name: str, rounds: int) -> dict[str, list[float]]:
    """Processor seconds of both ways at every size of a series."""
    sizes, shape = SERIES[name]
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    file = WORK / "grown.glb"
    for size in sizes:
        given = [(Path("growth.rlb"), shape(size).archive())]
        models = way_out(given)
        file.write_bytes(models[0])
        jobs = {
            "out": timed(partial(way_out, given), process_time),
            "rebuild": timed(partial(rebuilt, file, len(models)), process_time),
        }
        for way, seconds in by_turns(jobs, rounds).items():
            times[way].append(seconds)
    return times


def rebuilt(file: Path, times: int) -> None:
    """A GLB becomes a model without a sidecar, so many times."""
    for _ in range(times):
        import_gltf(file, None, ImportOptions(use_sidecar=False))


# ------------------------------------------------------------------ the picture

WIDTH, PANEL, GAP, TOP, BOTTOM = 1200, 190, 50, 70, 50
HEIGHT = 330


def svg(found: dict[str, dict[str, list[float]]]) -> str:
    """A panel per series; both axes are logarithmic, seconds are the same in all of them."""
    everything = [t for times in found.values() for row in times.values() for t in row]
    low, high = np.floor(log10(min(everything))), np.ceil(log10(max(everything)))
    title = "Processor seconds of one conversion, in process: each panel varies one thing"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fdfcf8"/>',
        f'<text x="10" y="22" font-size="15" font-weight="bold">{title}</text>',
    ]
    labels = {"out": "model to GLB bytes", "rebuild": "GLB to model, without sidecar"}
    for at, (way, colour) in enumerate(WAYS.items()):
        x = 10 + 170 * at
        out.append(f'<rect x="{x}" y="34" width="14" height="6" fill="{colour}"/>')
        out.append(f'<text x="{x + 20}" y="42">{labels[way]}</text>')

    def height(seconds: float) -> float:
        ratio = (log10(seconds) - float(low)) / float(high - low)
        return HEIGHT - BOTTOM - ratio * (HEIGHT - BOTTOM - TOP)

    for number, (name, times) in enumerate(found.items()):
        left = GAP + number * (PANEL + 40)
        right, middle = left + PANEL, left + PANEL / 2
        sizes = SERIES[name][0]
        first, last = log10(sizes[0]), log10(sizes[-1])
        across = [left + PANEL * (log10(size) - first) / (last - first) for size in sizes]
        for power in range(int(low), int(high) + 1):
            y = round(height(10.0**power), 1)
            out.append(f'<path d="M{left} {y}H{right}" stroke="#dedad0"/>')
            if number == 0:
                out.append(label(left - 6, y + 4, f"{10.0**power:g} s", "end"))
        out.append(label(left, HEIGHT - BOTTOM + 18, f"{sizes[0]:,}", "start"))
        out.append(label(right, HEIGHT - BOTTOM + 18, f"{sizes[-1]:,}", "end"))
        out.append(label(middle, TOP - 8, name, "middle", ' font-weight="bold"'))
        powers = ", ".join(f"{way} ^ {upper(sizes, times[way]):.2f}" for way in WAYS)
        out.append(label(middle, HEIGHT - 14, powers, "middle"))
        for way, colour in WAYS.items():
            points = [(x, height(t)) for x, t in zip(across, times[way], strict=True)]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            style = f'fill="none" stroke="{colour}" stroke-width="2"'
            out.append(f'<polyline points="{line}" {style}/>')
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return "\n".join([*out, "</svg>"]) + "\n"


def label(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{more}>{text}</text>'


def upper(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The exponent over the upper decade."""
    return exponent(sizes[-3:], times[-3:])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    rounds = parser.parse_args().rounds
    WORK.mkdir(exist_ok=True)
    found = {}
    with as_in_commands():
        for name, (sizes, _) in SERIES.items():
            found[name] = measured(name, rounds)
            print(f"{name:12}" + "".join(f"{size:>12,}" for size in sizes))
            for way, times in found[name].items():
                row = "".join(f"{t * 1000:9.1f} ms" for t in times)
                fits = f"{upper(sizes, times):.2f}, {exponent(sizes, times):.2f} in all"
                print(f"  {way:10}{row}   exponent {fits}", flush=True)
    PICTURE.write_text(svg(found), "utf-8")


if __name__ == "__main__":
    main()
