"""Give the package index a README whose links lead somewhere; all else is in pyproject.toml.

A package index shows the README alone: relative links become addresses of the repository, which
``[tool.msh-gltf] repository`` names. Without one they become their text, and pictures are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
#: A Markdown link or picture that is not an address and not an anchor of the page.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?![a-z]+:|#)([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def absolute(text: str, repository: str) -> str:
    """Return a page of the repository's root with addresses in place of relative links, or without them."""

    def address(link: re.Match[str]) -> str:
        picture, shown, path = link.groups()
        if not repository:
            return "" if picture else shown
        return f"{picture}[{shown}]({repository}/{'raw' if picture else 'blob'}/main/{path})"

    parts = FENCE.split(text)  # every second one is code
    parts[::2] = [LINK.sub(address, part) for part in parts[::2]]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


if __name__ == "__main__":
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["msh-gltf"]
    readme = (ROOT / "README.md").read_text("utf-8")
    readme = absolute(readme, settings["repository"])
    setup(long_description=readme, long_description_content_type="text/markdown")
