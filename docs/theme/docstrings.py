"""Docstrings as the house writes them, made into what mkdocstrings reads.

- Other objects are named as Sphinx does, which editors understand: they become links.
- Arguments that belong together share a line (``low, high: corners``): each gets it.
- Constants have comments (``#: ...``) before them: these are their docstrings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from griffe import Attribute, Docstring, Extension, Object

ROLE = re.compile(r":(attr|class|data|func|meth|mod):`(~?)([\w.]+)`")
TOGETHER = re.compile(r"^( +)((?:\w+, )+\w+): (.*(?:\n\1 +\S.*)*)", re.MULTILINE)
COMMENT = "#: "


def _link(match: re.Match[str]) -> str:
    kind, tilde, name = match.groups()
    shown = name.rpartition(".")[2] if tilde else name
    # attributes are told of in the docstring of their class
    return f"[`{shown}`][{name.rpartition('.')[0] if kind == 'attr' else name}]"


def _apart(match: re.Match[str]) -> str:
    indent, names, text = match.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


def _comment_before(path: Path, line: int) -> str:
    lines = path.read_text("utf-8").splitlines()[: line - 1]
    found: list[str] = []
    while lines and lines[-1].strip().startswith(COMMENT.strip()):
        found.insert(0, lines.pop().strip().removeprefix(COMMENT))
    return "\n".join(found)


class Docstrings(Extension):
    """Rewrites every docstring."""

    def on_attribute(self, *, attr: Attribute, **_: Any) -> None:
        if attr.docstring is None and attr.lineno and isinstance(attr.filepath, Path):
            text = _comment_before(attr.filepath, attr.lineno)
            if text:
                attr.docstring = Docstring(text, parent=attr)

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = TOGETHER.sub(_apart, ROLE.sub(_link, obj.docstring.value))
