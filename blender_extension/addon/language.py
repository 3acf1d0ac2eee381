"""The language of what the extension shows: Blender's own, where there is a translation (``ru.po``)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import bpy

from .converter.language import Catalogue

#: A text that is translated where Blender translates its interface.
_PROBE = "Put Back Into the Game"


def shown(text: str) -> str:
    """Return a message in the language of Blender's interface; Blender itself translates what is fixed."""
    translated = bpy.app.translations.pgettext_iface(_PROBE) != _PROBE
    return _catalogue().translated(text) if translated else text


@cache
def _catalogue() -> Catalogue:
    """The messages of the converter and of the extension in Russian."""
    return Catalogue("\n".join(map(_po, (Catalogue.__module__.rpartition(".")[0], __package__))))


def _po(package: str) -> str:
    """The translations of a package."""
    return files(package).joinpath("ru.po").read_text("utf-8")


def say(operator: bpy.types.Operator, kind: str, text: str) -> None:
    """Show a message in Blender's status bar. ``kind``: ``INFO``, ``WARNING`` or ``ERROR``."""
    operator.report({kind}, shown(text))


def start() -> None:
    """Blender knows the translation; labels of operators are looked up by themselves."""
    rows = Catalogue(_po(__package__)).rows
    table = {(context, text): there[0] for (text, _), there in rows.items() if text for context in ("*", "Operator")}
    bpy.app.translations.register(__package__, {"ru": table, "ru_RU": table})


def stop() -> None:
    """It does not any more."""
    bpy.app.translations.unregister(__package__)
