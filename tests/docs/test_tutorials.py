"""What the tutorials say of messages and codes is what the program says."""

import re

import pytest

from msh_gltf.converter.checks import all_rules
from tests.docs.materials import ROOT

TROUBLE = (ROOT / "docs/tutorials/trouble.md").read_text("utf-8")
PACKAGES = ("converter", "importers", "exporters")


def section(title: str) -> str:
    """A section of trouble.md."""
    return TROUBLE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> list[str]:
    """What stands in backticks at the start of a table's rows."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


@pytest.fixture(scope="module")
def sources() -> str:
    """All string constants of the program, more or less: its text, with split strings joined."""
    files = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    text = "\n".join(path.read_text("utf-8") for path in files)
    text = text.replace("{LEVELS[COARSE]}", "coarse").replace("{LEVELS[FINE]}", "fine")
    return re.sub(r'"\s*\n\s*f?"', "", text)


def test_messages_exist(sources: str) -> None:
    messages = first_cells(section("Messages"))
    assert len(messages) > 15
    assert [message for message in messages if message not in sources] == []


def test_codes_exist() -> None:
    codes = first_cells(section("Findings"))
    assert codes
    assert set(codes) <= set(all_rules())


def test_every_exit_code_is_explained() -> None:
    """Those that docs/games.md and the README promise."""
    rows = re.findall(r"^\| ([\d, ]+) \|", section("Exit codes"), re.MULTILINE)
    assert {code for row in rows for code in row.split(", ")} == {"0", "1", "2", "130", "143", "129", "141"}
