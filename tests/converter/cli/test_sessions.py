"""What the commands print and what they write, session by session (``support/sessions.py``).

``python -m tests.converter.cli.test_sessions [TITLE ...]`` writes ``sessions.txt`` again.
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from msh_gltf.converter.errors import LONGEST_LINE
from tests.support.sessions import Sessions

SESSIONS = Sessions(__file__, "sessions.txt")
LINES = [line for session in SESSIONS.known.values() for line in session]
#: The last line of each command that failed by what was typed or given.
REFUSED = [before.removeprefix("! ") for before, line in pairwise(LINES) if line == "= 2"]
#: What only a Python programmer understands.
PYTHON = re.compile(r"[a-z]Error\b|Traceback|<class|\bb'|NoneType|Expecting|errno|[Ee]xception|\bobject at\b|codec")


@pytest.mark.parametrize("title", SESSIONS.known)
def test_a_session_is_what_it_was(title: str, tmp_path: Path) -> None:
    SESSIONS.require(title, tmp_path)


def test_what_is_refused_says_what_to_do_next() -> None:
    """One line of words; of a wrong use of options also where help is."""
    for line in REFUSED:
        assert line.startswith("Error: ") or (": error: " in line and ("; " in line or "? " in line)), line
        assert len(line) <= LONGEST_LINE, line
        assert not PYTHON.search(line), line
    assert len(REFUSED) > 150


if __name__ == "__main__":
    SESSIONS.write()
