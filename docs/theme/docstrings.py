"""Docstrings as the house writes them, made into what mkdocstrings reads.

- Other objects are named as Sphinx does, which editors understand: they become links.
- Our modules are named without the package that is installed: ``converter.scene.scene``.
- Arguments that belong together share a line (``low, high: corners``): each gets it.
- Constants have comments (``#: ...``) before them: these are their docstrings.
- Fields that are options (``converter/options.py``) have their help as their description.
"""

from __future__ import annotations

import re
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

from griffe import Attribute, Class, Docstring, ExprCall, Extension, Object

ROLE = re.compile(r":(attr|class|data|func|meth|mod):`(~?)([\w.]+)`")
TOGETHER = re.compile(r"^( +)((?:\w+, )+\w+): (.*(?:\n\1 +\S.*)*)", re.MULTILINE)
OURS = ("converter.", "importers.", "exporters.")
COMMENT = "#: "


def _link(match: re.Match[str]) -> str:
    kind, tilde, name = match.groups()
    shown = name.rpartition(".")[2] if tilde else name
    if name.startswith(OURS):
        name = f"msh_gltf.{name}"
    # attributes are described in the docstring of their class
    return f"[`{shown}`][{name.rpartition('.')[0] if kind == 'attr' else name}]"


def _apart(match: re.Match[str]) -> str:
    indent, names, text = match.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


def _comment_before(obj: Object) -> str:
    if not isinstance(obj.filepath, Path) or not obj.lineno:
        return ""
    lines = obj.filepath.read_text("utf-8").splitlines()[: obj.lineno - 1]
    found: list[str] = []
    while lines and lines[-1].strip().startswith(COMMENT.strip()):
        found.insert(0, lines.pop().strip().removeprefix(COMMENT))
    return "\n".join(found)


class Docstrings(Extension):
    """Rewrites every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is None and obj.is_attribute:
            text = _comment_before(obj)
            obj.docstring = Docstring(text, parent=obj) if text else None
        if obj.docstring is not None:
            obj.docstring.value = TOGETHER.sub(_apart, ROLE.sub(_link, obj.docstring.value))

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        for one in cls.members.values():
            call = one.value if isinstance(one, Attribute) else None
            if isinstance(call, ExprCall) and str(call.function) == "option" and cls.docstring is not None:
                described = getattr(import_module(cls.module.path), cls.name)
                cls.docstring.value = cleandoc(described.__doc__)
                one.value = call.arguments[0]  # its default alone
