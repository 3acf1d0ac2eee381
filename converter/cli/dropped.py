"""Files and folders that are dropped on a command in Windows' Explorer: where outputs go, and a window that stays.

Explorer gives nothing but absolute paths, in a folder of the system's, and closes the window at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

#: What one file becomes a folder of, and what follows its name.
_ARCHIVES, _FOLDER = (".rlb", ".lib"), "_gltf"


def is_dropped(arguments: Sequence[str]) -> bool:
    """Return whether Explorer started the command: all that it got are paths, and no shell shares its console."""
    if sys.platform != "win32" or not all(os.path.isabs(word) and os.path.exists(word) for word in arguments):
        return False
    import ctypes

    numbers = (ctypes.c_uint32 * 4)()
    # this process, and the .exe that pip or uv makes of the command
    return bool(arguments) and 0 < ctypes.windll.kernel32.GetConsoleProcessList(numbers, len(numbers)) <= 2


def as_typed_there(command: str, paths: Sequence[str]) -> list[str]:
    """Return the arguments with which the command does what a user expects who drops files on it.

    Args:
        paths: what was dropped.

    Returns:
        The same with outputs beside the first path: files, or a folder of its name with ``_gltf`` after it for a
        game's folder, an archive or several files. Such a folder goes back into the game's folder beside it.
    """
    first = Path(paths[0])
    if command == "msh2gltf":
        many = len(paths) > 1 or first.is_dir() or first.suffix.lower() in _ARCHIVES
        name = first.name if first.is_dir() else first.stem
        return [*paths, "-o", str(first.parent / f"{name}{_FOLDER}") if many else f"{first.parent}{os.sep}"]
    if command == "gltf2msh" and first.is_file():
        return [*paths, "-o", f"{first.parent}{os.sep}"]
    game = Path(paths[0].removesuffix(_FOLDER))
    if command == "gltf2msh" and game != first and game.is_dir():
        return [*paths, "--game", str(game), "--in-place"]
    if command == "msh-mod":
        return ["show" if first.suffix.lower() == ".zip" else "status", *paths]
    return [*paths]


def wait_for_enter() -> None:
    """Keep the window until the user has read it."""
    from .common import say

    say("press Enter to close this window", error=True)
    if sys.stdin is not None:
        sys.stdin.readline()
