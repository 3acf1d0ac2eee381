"""Write the map of modules in ``develop/architecture.md`` from their docstrings.

python docs/make_modules.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/develop/architecture.md"
START, END = "<!-- made by docs/make_modules.py -->\n", "<!-- end of what docs/make_modules.py made -->\n"
#: The packages in the order of their imports: each may import those above it.
PACKAGES = (
    *("converter", "converter/numeric", "converter/formats", "converter/scene", "importers", "exporters"),
    *(
        "converter/edits",
        "converter/rebuild",
        "converter/queries",
        "converter/checks",
        "converter/judge",
        "converter/kinds",
    ),
    *("converter/game", "converter/cli", "msh_gltf", "blender_extension", "blender_extension/addon"),
)


def summary(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


def tables() -> Iterator[str]:
    """A section for each package, with a row for each module."""
    for package in PACKAGES:
        folder = ROOT / package
        yield f"\n### {package}/\n\n{summary(folder / '__init__.py')}\n\n| module | what it holds |\n|---|---|\n"
        for path in sorted(folder.glob("*.py")):
            if path.stem != "__init__":
                yield f"| `{path.stem}` | {summary(path)} |\n"


def updated(text: str) -> str:
    """The page with its map as it should be."""
    head, _, rest = text.partition(START)
    return head + START + "".join(tables()) + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
