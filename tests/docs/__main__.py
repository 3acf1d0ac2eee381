"""Write the outputs that pages show anew: ``python -m tests.docs PAGE...``."""

import sys
import tempfile
from pathlib import Path

from tests.docs.runner import Page

for name in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        page = Page(Path(name).resolve(), Path(folder), renew=True)
        page.run()
    page.path.write_text(page.renewed(), "utf-8")
    print(f"{name}: {len(page.skipped)} blocks skipped")
