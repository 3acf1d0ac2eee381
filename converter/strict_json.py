"""JSON of files that anybody may have written."""

from __future__ import annotations

import json
import re
from typing import Any

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8, with or without a byte order mark.

    Numbers may be NaN or infinite, as some exporters write them: who uses them looks at them.

    Raises:
        ValueError: no JSON, nested too deeply (some hundred levels), a number of thousands of
            digits, or half a character, which nobody could write again.
    """
    text = data.decode("utf-8-sig")
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value
