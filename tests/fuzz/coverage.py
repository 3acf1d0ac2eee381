"""Which lines of the project run for the first time; nearly free once they have run.

``sys.monitoring`` (Python 3.12) switches a line's event off when it was seen. ``sys.settrace``
cannot, so a function is traced only while it has lines that never ran, and ever more seldom the
longer it shows nothing new.
"""

import dis
import sys
from types import CodeType, FrameType
from typing import Any

#: Code of these packages counts.
PACKAGES = ("converter", "importers", "exporters")
_OFTEN = 256


class Coverage:
    """Lines that ran; use it as a context around an execution, then ask :attr:`fresh`.

    Attributes:
        lines: how many different lines have run.
        fresh: how many of them ran for the first time since :meth:`start`.
        cheap: whether watching costs next to nothing.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.fresh = 0
        self._left: dict[CodeType, set[int]] = {}
        self._idle: dict[CodeType, int] = {}
        self.cheap = hasattr(sys, "monitoring")
        if self.cheap:
            self._register()

    def start(self) -> None:
        """Begin to watch."""
        self.fresh = 0
        if not self.cheap:
            sys.settrace(self._call)

    def stop(self) -> None:
        """End it."""
        if not self.cheap:
            sys.settrace(None)
        self.lines += self.fresh

    # -------------------------------------------------------------- Python 3.12 and newer

    def _register(self) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        tool = monitoring.COVERAGE_ID

        def line(code: CodeType, number: int) -> Any:
            if _counts(code):
                self.fresh += 1
            return monitoring.DISABLE

        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "fuzz")
        monitoring.restart_events()
        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.set_events(tool, monitoring.events.LINE)

    # -------------------------------------------------------------- Python 3.11

    def _call(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = {n for _, n in dis.findlinestarts(code) if n} if _counts(code) else set()
            left.discard(code.co_firstlineno)
            self._left[code], self._idle[code] = left, 0
        if not left:
            return None
        idle = self._idle[code] = self._idle[code] + 1
        if idle > _OFTEN and idle % 16:
            return None

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_lineno in left:
                left.remove(frame.f_lineno)
                self.fresh += 1
                self._idle[code] = 0
            return line

        return line


def _counts(code: CodeType) -> bool:
    parts = code.co_filename.replace("\\", "/").split("/")
    return len(parts) > 1 and any(package in parts[-4:-1] for package in PACKAGES)
