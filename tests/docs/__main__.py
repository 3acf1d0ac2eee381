"""Write the outputs that pages show again, in their Russian translations too.

python -m tests.docs docs/tutorials/turret.md ...
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.docs.runner import Page

CONSOLE = re.compile(r"^```console$.*?^```$", re.MULTILINE | re.DOTALL)


def with_blocks(text: str, blocks: list[str]) -> str:
    """A page with other ``console`` blocks.

    Raises:
        SystemExit: it has another number of them.
    """
    if len(CONSOLE.findall(text)) != len(blocks):
        raise SystemExit("the translations have different numbers of console blocks")
    left = iter(blocks)
    return CONSOLE.sub(lambda _: next(left), text)


for name in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        page = Page(Path(name).resolve(), Path(folder), renew=True)
        page.run()
    text = page.renewed()
    page.path.write_text(text, "utf-8")
    translation = page.path.with_suffix(".ru.md")
    if translation.is_file():
        translation.write_text(
            with_blocks(translation.read_text("utf-8"), CONSOLE.findall(text)), "utf-8"
        )
    print(f"{name}: {len(page.skipped)} blocks skipped")
