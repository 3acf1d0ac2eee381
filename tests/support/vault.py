"""What a game's vault holds, read without the project's own reader."""

import hashlib
import json
from pathlib import Path
from typing import Any

VAULT = ".msh-gltf"


def records(root: Path) -> list[dict[str, Any]]:
    """The transactions of a game, oldest first."""
    path = root / VAULT / "edits.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def originals(root: Path) -> dict[str, bytes | None]:
    """The first original of every file that was changed; ``None``: the game did not have it."""
    found: dict[str, bytes | None] = {}
    for record in records(root) if (root / VAULT).exists() else []:
        for file, facts in record["files"].items():
            if file not in found:
                found[file] = _kept(root, facts["base"]) if facts["base"] else None
    return found


def _kept(root: Path, digest: str) -> bytes:
    data = (root / VAULT / "originals" / digest).read_bytes()
    assert hashlib.sha256(data).hexdigest() == digest
    return data


def original(root: Path, file: str) -> bytes:
    data = originals(root)[file]
    assert data is not None
    return data
