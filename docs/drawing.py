"""What the diagrams of the format reference are drawn with: boxes, text, arrows, cells, as SVG.

Text stays text, a picture is at most 400 units wide and brings its own light ground, so that it
reads on a phone and on a dark page. The same calls give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

#: Units across, of every picture.
WIDTH = 400
GROUND, FRAME, INK, MUTED = "#fdfcf8", "#cfcabd", "#1d1c1a", "#57534a"
BLUE, GREEN, AMBER, ROSE, GREY = "#d9e6f5", "#dceed9", "#f7e6c4", "#f4dade", "#ebe9e2"
#: Width of a letter over its height, on the safe side.
_LETTER = 0.55

Point = tuple[float, float]


class Drawing:
    """An SVG in the making; coordinates from the top left."""

    def __init__(self, height: float, title: str) -> None:
        self._height, self._title = height, title
        self._parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: str | Sequence[str] = (),
        fill: str = GREY,
        size: float = 13,
    ) -> None:
        """A rectangle with lines of text in its middle, the first one bold if there are more."""
        texts = [lines] if isinstance(lines, str) else list(lines)
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3" fill="{fill}" stroke="{MUTED}"/>'
        )
        top = y + height / 2 - (len(texts) - 1) * 0.62 * size + 0.36 * size
        for i, text in enumerate(texts):
            assert len(text) * size * _LETTER <= width + 2, f"{text!r} is wider than its box"
            bold = len(texts) > 1 and i == 0
            self.text(x + width / 2, top + 1.24 * size * i, text, "middle", size, bold=bold)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "start",
        size: float = 13,
        *,
        bold: bool = False,
        muted: bool = False,
    ) -> None:
        """A line of text; ``y`` is its base line."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size:g}"{weight} '
            f'fill="{MUTED if muted else INK}">{escape(text)}</text>'
        )

    def arrow(self, *points: Point, dashed: bool = False, head: bool = True) -> None:
        """A line through points, with a head at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        end = ' marker-end="url(#head)"' if head else ""
        self._parts.append(f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.4"{dash}{end}/>')

    def shape(self, points: Sequence[Point], fill: str) -> None:
        """A filled polygon."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polygon points="{path}" fill="{fill}" stroke="{INK}" stroke-width="1.4"/>')

    def cells(self, x: float, y: float, width: float, height: float, texts: Sequence[str], fill: str) -> None:
        """Boxes side by side, ``width`` each."""
        for i, text in enumerate(texts):
            self.box(x + i * width, y, width, height, text, fill, 12)

    def svg(self) -> str:
        """The whole file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self._height:g}" '
            f'viewBox="0 0 {WIDTH} {self._height:g}" role="img" '
            'font-family="Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif">\n'
            f"<title>{escape(self._title)}</title>\n"
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/>'
            "</marker></defs>\n"
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{self._height - 1:g}" rx="6" '
            f'fill="{GROUND}" stroke="{FRAME}"/>\n'
        )
        return head + "\n".join(self._parts) + "\n</svg>\n"
