"""The viewer that is in the repository is what its source and the pinned packages give."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.support.runs import require

ROOT = Path(__file__).parents[2]
VIEWER = ROOT / "viewer"
SITE = ROOT / "converter/game/site"


def test_viewer_is_current(tmp_path: Path) -> None:
    """One command builds it, the same bytes every time."""
    require(shutil.which("node"), "no node")
    require((VIEWER / "node_modules/esbuild").is_dir(), "no esbuild: run `npm ci` in viewer (or dev.py)")
    command = ["node", VIEWER / "build.mjs", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    for name in ("viewer.js", "viewer.LICENSE.txt"):
        assert (tmp_path / name).read_bytes() == (SITE / name).read_bytes(), name


def test_viewer_is_small_and_says_what_it_is() -> None:
    code = (SITE / "viewer.js").read_bytes()
    assert len(code) < 2**20
    version = json.loads((VIEWER / "package.json").read_text("utf-8"))["devDependencies"]["three"]
    assert code.startswith(f"/* three.js {version}, MIT: viewer.LICENSE.txt.".encode())
    assert "three.js authors" in (SITE / "viewer.LICENSE.txt").read_text("utf-8")
    assert b"https://" not in b"".join(p.read_bytes() for p in SITE.glob("page.*"))


def test_the_page_allows_nothing_from_elsewhere() -> None:
    """No inline script or style, and no address but its own."""
    page = (SITE / "index.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert " style=" not in page
    assert " on" not in page.split("<body>")[1].replace(" one", "")
    assert page.count("<script") == page.count("<script src=")
