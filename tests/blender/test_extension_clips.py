"""Clips through the extension: a frame of Blender is a frame of the game, at any frame rate."""

from pathlib import Path

import pytest

from msh_gltf.converter.formats.nres import read_nres
from tests.blender.test_extension import UNTOUCHED, WALKER, Seen, parse, see, tables, zip_file

__all__ = ["zip_file"]
SCALED = "has animated scale; nodes of a model have none"


@pytest.fixture(scope="module")
def seen(zip_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return see(zip_file, tmp_path_factory.mktemp("extension"), ("marked", "clips"))


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


def test_stretched_keys_inside_a_unit_make_a_clip_of_its_model(seen: Seen) -> None:
    """The model is written beside the unit, which does not change."""
    assert seen.facts["clips"]["unit"]["warnings"] == []
    facts, folder = seen.facts["clips"]["unit stretched"], seen.out / "clips"
    assert facts["warnings"] == ["rock.msh of static.rlb: edited here, and written beside the file"]
    assert {name.partition(" of ")[0] for _, name, *_ in facts["rows"]} == {
        "model 'rock.msh', animation",
        "model 'rock.msh', animation 'rock'",
    }
    before = folder / "before.msh"
    library = read_nres((seen.before.parent / "assembled/static.rlb").read_bytes(), "static.rlb")
    before.write_bytes(library.entries[library.find("rock.msh")].payload)
    assert parse(folder / "rock.msh").frame_count == 2 * (parse(before).frame_count - 1) + 1
    assert tables(before, folder / "rock.msh") == {"Res1", "Res8", "Res19"}
    assert (folder / "stretched.dat").read_bytes() == (folder / "unit.dat").read_bytes()


def test_ranges_are_on_the_timeline_and_markers_are_no_edit(seen: Seen) -> None:
    facts = seen.facts["marked"]
    ((frame, name),) = facts["markers"]
    assert frame == 0
    assert name.startswith("0..8")
    assert name.endswith(" at 5 m/s")
    for kept in ("marked", "moved"):
        seen.same("marked", f"{kept}.msh", WALKER)
    assert facts["untouched"] == facts["moved"]
    assert facts["moved"]["warnings"] == []
