"""Clips through the extension: a frame of Blender is a frame of the game, at any frame rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blender.test_extension import UNTOUCHED, Seen, parse, pytestmark, see, zip_file

__all__ = ["pytestmark", "zip_file"]
SCALED = "has animated scale; nodes of a model have none"


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("clips",))


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0])
@pytest.mark.parametrize("name", ["walker", "spec"])
def test_stretched_keys_make_a_clip_of_that_length(seen: Seen, name: str, factor: float) -> None:
    """Half and twice the speed, too, which another frame rate would show the same way."""
    for rate in (24, 30):
        facts = seen.facts["clips"][f"{name} {factor} {rate}"]
        assert {row[2] for row in facts["rows"]} >= {"rebuilt"}, facts
        assert facts["warnings"] == []
    made, other = (seen.out / f"clips/{name}_{factor}_{rate}.msh" for rate in (24, 30))
    assert made.read_bytes() == other.read_bytes()
    last = parse(UNTOUCHED[name]).frame_count - 1
    assert parse(made).frame_count == int(last * factor) + 1


@pytest.mark.parametrize("name", ["walker", "hangar"])
def test_an_action_of_scale_alone_is_reported(seen: Seen, name: str) -> None:
    node, facts = seen.facts["clips"][f"scaled {name}"]
    (warning,) = facts["warnings"]
    assert f"node '{node}': {SCALED}" in warning
    seen.same("clips", f"scaled_{name}.msh", UNTOUCHED[name])


def test_stretched_keys_inside_a_unit_are_reported(seen: Seen) -> None:
    assert seen.facts["clips"]["unit"]["warnings"] == []
    warnings = seen.facts["clips"]["unit stretched"]["warnings"]
    assert any("model 'rock.msh': animation of node" in warning for warning in warnings)
    before = (seen.out / "clips/unit.dat").read_bytes()
    assert (seen.out / "clips/stretched.dat").read_bytes() == before
