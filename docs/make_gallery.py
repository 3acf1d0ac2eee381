"""Make the gallery of the example game for the site: ``SITE/gallery-example/index.html``.

    python docs/make_gallery.py site

It needs the ``preview`` extra, which draws the pictures; without it a page says so.
"""

from __future__ import annotations

import runpy
import shutil
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"
NAME = "gallery-example"
MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>msh-gltf: gallery</title>
<p>This site was built without VTK (the <code>preview</code> extra), which draws the gallery.</p>
</html>
"""


def make_gallery(target: Path) -> bool:
    """Convert the example game and keep its gallery; return whether there is one.

    Raises:
        SystemExit: the conversion failed.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    try:
        import vtkmodules  # noqa: F401 (asked for, not used)

        from msh_gltf.converter.cli import msh2gltf
    except ImportError:
        (target / "index.html").write_text(MISSING, "utf-8")
        return False
    with tempfile.TemporaryDirectory() as folder:
        game, out = Path(folder) / "GAME", Path(folder) / "out"
        sys.path.insert(0, str(EXAMPLES))
        try:
            runpy.run_path(str(EXAMPLES / "make_game.py"))["make_game"](game)
        finally:
            sys.path.remove(str(EXAMPLES))
        try:
            msh2gltf([str(game), "-o", str(out), "--thumbnails", "--quiet", "--jobs", "1"])
        except SystemExit as end:
            if end.code:
                raise
        shutil.copy(out / "index.html", target)
        shutil.copytree(out / "gallery", target / "gallery")
    return True


if __name__ == "__main__":
    if not make_gallery(Path(sys.argv[1]) / NAME):
        print("no VTK (the preview extra): the site has no example gallery")
