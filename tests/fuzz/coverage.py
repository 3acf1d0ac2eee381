"""Which lines of the project run for the first time: nearly free, since a line's event is switched off when it ran.

Before Python 3.12 nothing is noted, and only the seeds are changed.
"""

import sys
from types import CodeType
from typing import Any

#: Code of these packages counts.
PACKAGES = ("converter", "importers", "exporters")


class Coverage:
    """Counts the lines that ran.

    Attributes:
        lines: how many different ones.
    """

    def __init__(self) -> None:
        self.lines = 0
        if not hasattr(sys, "monitoring"):
            return
        monitoring = sys.monitoring
        tool = monitoring.COVERAGE_ID

        def line(code: CodeType, _: int) -> Any:
            parts = code.co_filename.replace("\\", "/").split("/")
            self.lines += any(package in parts[-4:-1] for package in PACKAGES)
            return monitoring.DISABLE

        if monitoring.get_tool(tool) is None:
            monitoring.use_tool_id(tool, "fuzz")
        monitoring.restart_events()
        monitoring.register_callback(tool, monitoring.events.LINE, line)
        monitoring.set_events(tool, monitoring.events.LINE)
