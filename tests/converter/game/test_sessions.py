"""What the commands on games print and what they write, session by session (``support/sessions.py``).

``python -m tests.converter.game.test_sessions [TITLE ...]`` writes ``sessions.txt`` again.
"""

from pathlib import Path

import pytest

from tests.support.sessions import Sessions

SESSIONS = Sessions(__file__, "sessions.txt", is_brief=True)


@pytest.mark.parametrize("title", SESSIONS.known)
def test_a_session_is_what_it_was(title: str, tmp_path: Path) -> None:
    SESSIONS.require(title, tmp_path)


if __name__ == "__main__":
    SESSIONS.write()
