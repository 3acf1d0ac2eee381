"""Processes that die, and disks that fail, at some call of the system."""

import os


class Killed(BaseException):
    """The process is gone."""


class stopped_at:
    """Let the process die at the n-th rename, removal or sync from here on, or let one of them fail."""

    def __init__(self, count: int | None, error: type[BaseException] = Killed) -> None:
        self.count, self.error = count, error
        self.kept = {name: getattr(os, name) for name in ("replace", "unlink", "fsync")}

    def __enter__(self) -> None:
        if self.count is None:
            return
        left = self.count

        def dying(name: str):
            def call(*args, **kwargs):
                nonlocal left
                left -= 1
                if left < 0 if self.error is Killed else left == -1:
                    raise self.error(28, "No space left on device")
                return self.kept[name](*args, **kwargs)

            return call

        for name in self.kept:
            setattr(os, name, dying(name))

    def __exit__(self, *_: object) -> None:
        for name, function in self.kept.items():
            setattr(os, name, function)
