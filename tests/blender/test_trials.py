"""Causes of silent edits, in real Blender through the extension: each trial is exact, or named (``trials.py``)."""

import os
from pathlib import Path

import pytest

from blender_extension import build
from tests.blender.trials import judged, run_blender

BLENDER = os.environ.get("MSH_GLTF_BLENDER_PYTHON")
pytestmark = pytest.mark.skipif(not BLENDER, reason="no Blender: MSH_GLTF_BLENDER_PYTHON names no Python with bpy")
EXACT = (
    ("model", "nothing"),
    ("model", "node in a new collection"),
    ("model", "uneven last key"),
    ("model", "twice as slow"),
    ("model", "painted white"),
    ("mission", "nothing"),
    ("mission", "drag to other clan"),
)
NAMED = (
    ("model", "taken cell"),
    ("model", "painted colours"),
    ("model", "painted points"),
    ("model", "visibility keys"),
    ("model", "constraint to radar"),
    ("model", "driver"),
    ("model", "driven modifier"),
    ("model", "node gamma"),
    ("model", "node curves"),
    ("model", "metaball"),
    ("model", "geometry nodes instances"),
    ("model", "parent to a vertex"),
    ("model", "collection instance"),
    ("unit", "rename component"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trials")
    try:
        zip_file = build.build(out / "zip")
    except build.BuildError as error:
        pytest.skip(f"no extension: {error}")
    assert BLENDER
    run_blender(BLENDER, out, str(zip_file), [("extension", *trial) for trial in EXACT + NAMED])
    return out


@pytest.mark.parametrize(("kind", "name"), EXACT)
def test_what_the_game_can_show_arrives(folder: Path, kind: str, name: str) -> None:
    one = judged(folder, "extension", kind, name)
    assert (one.verdict, one.found) == ("exact", [])


@pytest.mark.parametrize(("kind", "name"), NAMED)
def test_what_it_cannot_is_named(folder: Path, kind: str, name: str) -> None:
    one = judged(folder, "extension", kind, name)
    assert one.verdict == "named", one
    assert any("not applied" in text for text in one.messages)
