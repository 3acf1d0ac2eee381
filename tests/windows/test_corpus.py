"""A whole game on Windows: out, edited by a script, back; the same bytes as on Linux, PNG aside."""

import os
from pathlib import Path

import pytest

from tests.support.game import snapshot
from tests.support.gltf_edit import Editable
from tests.support.runs import run
from tests.support.wine import needs_windows, run_on_windows

CORPUS = os.environ.get("MSH_GLTF_CORPUS")
pytestmark = [needs_windows, pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS names no whole games")]


def without_pictures(root: Path) -> dict[str, str]:
    """Digests of all files without a PNG inside, whose bytes another zlib packs in its own way.

    Nor with the digest of one: the manifest, and sidecars of glTF that has one inside.
    """
    digests = snapshot(root)
    drawn = [path for path in digests if path.endswith((".glb", ".png"))]
    packed = {path for path in drawn if b"\x89PNG" in (root / path).read_bytes()}
    packed |= {path.replace(".glb", ".msh-sidecar") for path in packed} | {"manifest.json"}
    return {name: digest for name, digest in digests.items() if name not in packed}


def test_a_whole_game_edited_on_windows(tmp_path: Path) -> None:
    game = Path(CORPUS or "") / "mixed" / "game"
    there, here = tmp_path / "there", tmp_path / "here"
    code, output = run_on_windows("msh2gltf", game, "-o", there, "-j", "2")
    assert code in (0, 1), output
    linux = run("msh2gltf", game, "-o", here, "-j", "2")
    assert code == linux.returncode
    same = without_pictures(there)
    assert same == without_pictures(here)
    assert len(same) > 80
    edited = 0
    for path in sorted(there.rglob("*.glb"))[::5]:
        document = Editable(path)
        if not document.json.get("meshes"):
            continue
        for target in (path, here / path.relative_to(there)):
            document = Editable(target)
            document.arrays[document.primitives()[0]["attributes"]["POSITION"]][0] += 0.25
            document.save(target)
        edited += 1
    assert edited > 5
    new, linux_new = tmp_path / "new", tmp_path / "linux"
    code, output = run_on_windows("gltf2msh", there, "--game", game, "-o", new, "-j", "2")
    linux = run("gltf2msh", here, "--game", game, "-o", linux_new, "-j", "2")
    assert (code, linux.returncode) in ((0, 0), (1, 1)), output + linux.stdout
    assert snapshot(new) == snapshot(linux_new) != snapshot(game)
