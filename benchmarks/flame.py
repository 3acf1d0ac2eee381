"""A flame graph of the export: where the time of 435 models goes, in this process.

    python -m benchmarks.flame

Writes ``docs/pictures/flame.svg``, and prints the functions with most time of their own. A timer
interrupts the work every millisecond of its processor time and notes what was being called; time
inside NumPy and the JSON encoder counts for the Python function that called them.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from types import FrameType

from benchmarks.commands import large_game
from benchmarks.inside import archives, way_out
from benchmarks.measure import ROOT, as_in_commands

PICTURE = ROOT / "docs" / "pictures" / "flame.svg"
EVERY, ROUNDS = 0.001, 8
WIDTH, ROW, MARGIN, TOP = 1200, 21, 10, 58
#: Narrower boxes would hold no letter.
NARROWEST = 3.0
_LETTER = 7.0
COLOURS = {"importers": "#dceed9", "converter": "#d9e6f5", "exporters": "#f7e6c4", "NumPy and Python": "#ebe9e2"}

Stack = tuple[str, ...]


def sampled(work: Callable[[], object], rounds: int) -> Counter[Stack]:
    """How often each stack of calls was met below some work, outermost first."""
    stacks: Counter[Stack] = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        names = []
        while frame is not None and frame.f_code is not way_out.__code__:
            names.append(named(frame))
            frame = frame.f_back
        if frame is not None:
            stacks[tuple(reversed(names))] += 1

    signal.signal(signal.SIGPROF, note)
    for _ in range(rounds):
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        work()
        signal.setitimer(signal.ITIMER_PROF, 0)
    return stacks


def named(frame: FrameType) -> str:
    """``layer:module.function`` of a frame."""
    code = frame.f_code
    path = Path(code.co_filename)
    layer = path.relative_to(ROOT).parts[0] if path.is_relative_to(ROOT) else ""
    name = code.co_qualname if sys.version_info >= (3, 11) else code.co_name
    return f"{layer}:{path.stem}.{name.replace('.<locals>', '')}"


def boxes(stacks: Counter[Stack]) -> Iterator[tuple[int, float, int, str]]:
    """Depth, start, length (in samples) and name of every call, callers before callees."""

    def below(stacks: Counter[Stack], depth: int, start: int) -> Iterator[tuple[int, int, int, str]]:
        callees: dict[str, Counter[Stack]] = {}
        for stack, count in stacks.items():
            if stack:
                callees.setdefault(stack[0], Counter())[stack[1:]] += count
        for name in sorted(callees, key=lambda name: -callees[name].total()):
            size = callees[name].total()
            yield depth, start, size, name
            yield from below(callees[name], depth + 1, start)
            start += size

    yield from below(stacks, 1, 0)


def svg(stacks: Counter[Stack]) -> str:
    """The picture; every box shows its percentage when the pointer rests on it."""
    total = stacks.total()
    scale = (WIDTH - 2 * MARGIN) / total
    found = [box for box in boxes(stacks) if box[2] * scale >= NARROWEST]
    height = TOP + ROW * (1 + max(depth for depth, *_ in found)) + MARGIN
    title = "The export of 435 models: width is time, what calls is above what is called"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fdfcf8"/>',
        f'<text x="{MARGIN}" y="22" font-size="15" font-weight="bold">{title}</text>',
    ]
    x = MARGIN
    for layer, colour in COLOURS.items():
        out.append(f'<rect x="{x}" y="33" width="14" height="14" fill="{colour}" stroke="#57534a"/>')
        out.append(f'<text x="{x + 20}" y="45">{layer}</text>')
        x += 44 + int(_LETTER * len(layer))
    out += box(0, 0, total, "exporters:all models, from archives to GLB bytes", scale, "#ffffff")
    for depth, start, size, name in found:
        layer = name.partition(":")[0]
        out += box(depth, start, size, name, scale, COLOURS.get(layer, COLOURS["NumPy and Python"]))
    return "\n".join([*out, "</svg>"]) + "\n"


def box(depth: int, start: float, size: int, name: str, scale: float, colour: str) -> list[str]:
    """One call: a rectangle, its name as far as it fits, and its percentage."""
    x, y, width = MARGIN + start * scale, TOP + depth * ROW, size * scale
    ratio = size * scale / (WIDTH - 2 * MARGIN)
    label = name.partition(":")[2]
    short = label.partition(".")[2]
    text = f"{label} {ratio:.0%}"
    room = int((width - 6) / _LETTER)
    shown = next((t for t in (text, label, short) if len(t) <= room), f"{short[: room - 1]}…")
    out = [
        f'<g><title>{escape(label)}: {ratio:.1%}</title><rect x="{x:.1f}" y="{y}" '
        f'width="{width:.1f}" height="{ROW - 1}" fill="{colour}" stroke="#57534a" '
        'stroke-width="0.5"/>'
    ]
    if room >= 4:
        out.append(f'<text x="{x + 3:.1f}" y="{y + 14.5}">{escape(shown)}</text>')
    return [*out, "</g>"]


def main() -> None:
    given = archives(large_game())
    way_out(given)
    with as_in_commands():
        stacks = sampled(lambda: way_out(given), ROUNDS)
    PICTURE.write_text(svg(stacks), "utf-8")
    own: Counter[str] = Counter()
    for stack, count in stacks.items():
        own[stack[-1].strip(":") if stack else "benchmarks"] += count
    print(f"{stacks.total():,} samples; time of their own:")
    for name, count in own.most_common(20):
        print(f"{count / stacks.total():6.1%}  {name}")


if __name__ == "__main__":
    main()
