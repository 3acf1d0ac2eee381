"""Wait for files that are saved: ``gltf2msh out --game GAME --in-place --watch``."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from time import sleep

from ..storage import walk_files

#: Seconds between two looks at a folder.
INTERVAL = 0.25


class Saves:
    """What was saved below a folder since the last time that somebody asked."""

    def __init__(self, folder: Path) -> None:
        """Begin now: what is saved from here on is reported."""
        self._folder = folder
        self._known = self._stamps()

    def wait(self) -> set[str]:
        """Return the paths that were saved, made or removed, once no file changes any more.

        A program may write a file in several steps: it is complete when two looks see the same.
        """
        now = self._known
        while now == self._known:
            sleep(INTERVAL)
            now = self._stamps()
        before: dict[str, tuple[int, int]] = {}
        while now != before:
            sleep(INTERVAL)
            before, now = now, self._stamps()
        changed = {path for path, _ in self._known.items() ^ now.items()}
        self._known = now
        return changed

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Time and size of each file, by its path with ``/``."""
        out = {}
        for here, _, files in walk_files(self._folder):
            for name in files:
                path = here / name
                with contextlib.suppress(OSError):  # removed between the two
                    about = os.stat(path)
                    out[path.relative_to(self._folder).as_posix()] = about.st_mtime_ns, about.st_size
        return out
