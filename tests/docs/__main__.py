"""Write the outputs that pages show again, in their Russian translations too.

python -m tests.docs docs/tutorials/turret.md ...
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.docs.runner import Page

SHOWN = re.compile(r"^```(?:console|output)$.*?^```$", re.MULTILINE | re.DOTALL)


def with_blocks(text: str, blocks: list[str]) -> str:
    """A page with other ``console`` and ``output`` blocks.

    Raises:
        SystemExit: it has another number of them.
    """
    if len(SHOWN.findall(text)) != len(blocks):
        raise SystemExit("the translations have different numbers of console and output blocks")
    left = iter(blocks)
    return SHOWN.sub(lambda _: next(left), text)


for name in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        page = Page(Path(name).resolve(), Path(folder), renew=True)
        page.run()
    text = page.renewed()
    page.path.write_text(text, "utf-8")
    translation = page.path.with_suffix(".ru.md")
    if translation.is_file():
        translation.write_text(with_blocks(translation.read_text("utf-8"), SHOWN.findall(text)), "utf-8")
    print(f"{name}: {len(page.skipped)} blocks skipped")
