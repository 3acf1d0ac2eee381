"""Packages that may not be there: the extras of ``pyproject.toml``, and what Blender does without."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ConversionError


class MissingPackage(ConversionError):
    """A feature needs a package that is not installed.

    Attributes:
        needs: an extra of ``pyproject.toml``, or a package.
    """

    needs = ""


@contextmanager
def needed_for(feature: str, needs: str, *, file: str | None = None, instead: str | None = None) -> Iterator[None]:
    """Import the packages of an extra, or a package, inside this context.

    Args:
        feature: what they are for, as the subject of a sentence.
        needs: an extra of ``pyproject.toml``, or a package: every installation has those that are
            no extra, but for the Blender extension, whose zip leaves out the large ones.
        file: what was being read.
        instead: what else helps.

    Raises:
        MissingPackage: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError:
        hint = ", or ".join(filter(None, [install_command(needs), instead]))
        error = MissingPackage(f"{feature} needs more packages", file=file, hint=hint)
        error.needs = needs
        raise error from None


def install_command(needs: str) -> str:
    """Return the command that adds an extra or a package to this installation: of pipx, uv or pip."""
    packages, here = _packages(needs), Path(sys.prefix)
    if (here / "pipx_metadata.json").is_file():
        return f"pipx inject msh-gltf {' '.join(packages or [needs])}"
    if (here / "uv-receipt.toml").is_file():
        return f'uv tool install "msh-gltf[{needs}]"' if packages else f"uv tool install msh-gltf --with {needs}"
    return f'pip install "msh-gltf[{needs}]"' if packages else f"pip install {needs}"


def _packages(extra: str) -> list[str]:
    """The packages of an extra with their versions, quoted, as the installed metadata has them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = [row.partition(";") for row in requires("msh-gltf") or []]
    except PackageNotFoundError:  # a checkout that was not installed
        return []
    return [f'"{row[0].strip()}"' for row in rows if f'extra == "{extra}"' in row[2].replace("'", '"')]
