"""Packages that only some features need: the extras of ``pyproject.toml``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ConversionError


class MissingPackage(ConversionError):
    """A feature needs packages that are not installed.

    Attributes:
        extra: the extra of ``pyproject.toml`` that they are in.
    """

    extra = ""


@contextmanager
def needed_for(feature: str, extra: str, *, file: str | None = None, instead: str | None = None) -> Iterator[None]:
    """Import the packages of an extra inside this context.

    Args:
        feature: what they are for, as the subject of a sentence.
        extra: its name in ``pyproject.toml``.
        file: what was being read.
        instead: what else helps.

    Raises:
        MissingPackage: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError:
        hint = ", or ".join(filter(None, [install_command(extra), instead]))
        error = MissingPackage(f"{feature} needs more packages", file=file, hint=hint)
        error.extra = extra
        raise error from None


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation: of pipx, uv or pip."""
    package, here = f'"msh-gltf[{extra}]"', Path(sys.prefix)
    if (here / "pipx_metadata.json").is_file():
        return " ".join(["pipx inject msh-gltf", *(f'"{text}"' for text in _packages(extra))])
    if (here / "uv-receipt.toml").is_file():
        return f"uv tool install {package}"
    return f"pip install {package}"


def _packages(extra: str) -> list[str]:
    """The packages of an extra with their versions, as the installed metadata has them."""
    from importlib.metadata import requires

    rows = [row.partition(";") for row in requires("msh-gltf") or []]
    return [row[0].strip() for row in rows if f'extra == "{extra}"' in row[2].replace("'", '"')]
