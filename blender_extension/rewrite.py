"""Our modules under another package: absolute imports of our three names become relative ones.

Inside Blender all extensions share one Python. There the names ``converter``, ``importers`` and
``exporters`` may be anybody's, so the zip's copy must not use them.
"""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

NAMES = ("converter", "importers", "exporters")
_OURS = re.compile(rf"(?:{'|'.join(NAMES)})(?:\.\w+)*")
_FROM = re.compile(rf"from\s+(?={_OURS.pattern}\s)")
#: Calls that import what a text names.
_BY_TEXT = {"import_module", "__import__", "find_spec", "run_module", "import_string"}


class RewriteError(Exception):
    """An import that cannot be made relative; the text says where and how to write it."""


def make_relative(source: str, path: PurePosixPath) -> str:
    """The source of a module whose imports of our names start at the extension's root.

    Nothing but the names after ``from`` is touched: lines stay where they are.

    Args:
        source: Python.
        path: where the module lies, from the extension's root.

    Raises:
        RewriteError: an import of another form.
    """
    lines = source.splitlines(keepends=True)
    dots = "." * len(path.parts)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module):
            # ast counts columns in bytes: where that differs, the pattern does not fit
            line, column = lines[node.lineno - 1], node.col_offset
            found = _FROM.match(line, column)
            if found is None:
                raise RewriteError(f"{path}:{node.lineno}: write 'from {node.module} import' there")
            lines[node.lineno - 1] = f"{line[:column]}from {dots}{line[found.end() :]}"
    out = "".join(lines)
    if left := absolute_uses(out):
        raise RewriteError(f"{path}: cannot be made relative: {', '.join(left)}")
    return out


def absolute_uses(source: str) -> list[str]:
    """Where a module reaches for one of our names from the top: imports, and texts that import."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if node.level == 0 else []
        elif isinstance(node, ast.Call) and _called(node) in _BY_TEXT:
            names = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
        elif isinstance(node, ast.Constant) and "." in str(node.value):
            # a dotted path of ours in a text: multiprocessing, entry points, patching
            names = [str(node.value)] if _OURS.fullmatch(str(node.value)) else []
        else:
            continue
        found += [f"line {node.lineno}: {name}" for name in names if _is_ours(name)]
    return found


def _is_ours(name: object) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in NAMES


def _called(node: ast.Call) -> str:
    function = node.func
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))
