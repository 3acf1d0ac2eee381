"""What pages name of the code is there: modules, functions, options, rule codes, messages, files that a program writes.

Decisions and the changelog are left out: they tell of what was; so is the page about the panels of other programs.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from docs.make_commands import MOD, REFERENCES
from msh_gltf.converter.checks import all_rules
from tests.docs.materials import ROOT
from tests.fuzz.__main__ import TARGETS

CODE = (
    "converter",
    "importers",
    "exporters",
    "msh_gltf",
    "blender_extension",
    "examples",
    "benchmarks",
    "tests",
    "docs",
)
PRODUCT = CODE[:6]
PAGES = [
    page
    for page in [*ROOT.glob("*.md"), ROOT / "tests/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name not in ("CHANGELOG.md", "panels.md") and page.parent.name != "decisions"
]
#: Names of other programs and of formats.
OTHERS = {"MISSION.units.CLAN", "fparkan-cli", "check-wheel-contents", "msh_export_obj.py"}
ENDINGS = {"py", "txt", "rlb", "lib", "zip", "jsonl", "msh", "glb", "png", "dat", "cfg", "md"}
ENDINGS |= {"level1", "level2", "stage1"}
BLOCK = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
#: Options of pytest, Blender and uv.
OPTIONS = {"--help", "--bin", "--reinstall", "--python-expr", "--dist", "--durations"}
#: The scripts whose options pages name.
SCRIPTS = ("dev.py", "tests/mutants.py", "tests/fuzz/__main__.py", "benchmarks/run.py", "examples/blender/preview.py")


class Known:
    """The Python files of the repository, by name, and what the product holds as text."""

    def __init__(self) -> None:
        self.modules: defaultdict[str, list[str]] = defaultdict(list)
        files = [path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts]
        files.remove(Path(__file__))
        self.files = [f"/{path.relative_to(ROOT).as_posix()}" for path in [*files, *ROOT.glob("*.py")]]
        self.packages = {Path(name).parent.name for name in self.files if name.split("/")[1] in PRODUCT}
        self.text = ""
        for name in self.files:
            text = (ROOT / name[1:]).read_text("utf-8")
            path = Path(name)
            self.modules[path.parent.name if path.stem == "__init__" else path.stem].append(text)
            self.text += text if name.split("/")[1] in PRODUCT else ""
        scripts = "".join((ROOT / name).read_text("utf-8") for name in SCRIPTS)
        self.options = OPTIONS | set(re.findall(r"\"(--[a-z][\w-]*)\"", scripts))
        commands = [*(reference.command for reference in REFERENCES), *MOD.command.commands.values()]
        for parameter in (parameter for command in commands for parameter in command.params):
            self.options |= {*parameter.opts, *parameter.secondary_opts}
        self.codes = set(all_rules())

    def lacks(self, span: str) -> list[str]:
        """Return the names in a span of code that do not exist."""
        bad = [word for word in re.findall(r"(?<![\w/.])[\w/]+\.py\b", span) if not self._is_file(word)]
        is_code = re.fullmatch(r"[a-z]+(?:-[a-z]+)+", span) and span not in self.codes
        if (is_code or re.fullmatch(r"\w+\.jsonl?", span)) and span not in self.text:
            bad.append(span)
        if self._is_path(span) and not (ROOT / span).exists() and not self._is_file(f"{span}.py"):
            bad.append(span)
        if name := re.fullmatch(r"(?:\w+\.)*?(\w+)(?:\.py::|::|\.)([A-Za-z_]\w+)(?:\(\))?", span):
            bad += [] if self._is_member(name[1], name[2]) else [span]
        bad += self.unknown_options(span)
        return [word for word in bad if word not in OTHERS and word.rsplit("/", 1)[-1] not in OTHERS]

    def unknown_options(self, text: str) -> list[str]:
        """Return the options in a text that neither a command nor a script has."""
        return [word for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", text) if word not in self.options]

    def _is_file(self, word: str) -> bool:
        return any(file.endswith(f"/{word}") for file in self.files)

    def _is_path(self, span: str) -> bool:
        """Whether a span is a module or a folder of a package: ``edits/clips``."""
        return re.fullmatch(r"(?:\w+/)*\w+/\w+", span) is not None and span.split("/")[-2] in self.packages

    def _is_member(self, module: str, name: str) -> bool:
        """Whether a module has a name; what is neither a module nor a constant of one is taken for something else."""
        texts = self.modules.get(module, [])
        if name in ENDINGS or not (texts or re.fullmatch(r"[A-Z]+(?:_[A-Z]+)+", name)):
            return True
        return self._is_file(f"{module}/{name}.py") or any(re.search(rf"\b{name}\b", text) for text in texts)


@pytest.fixture(scope="module")
def known() -> Known:
    return Known()


def test_what_pages_name_of_the_code_exists(known: Known) -> None:
    found = []
    for page in PAGES:
        whole = page.read_text("utf-8")
        text = BLOCK.sub("", whole)
        found += [f"{page.relative_to(ROOT)}: {name}" for name in known.unknown_options(whole)]
        spans = {" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)}
        found += [f"{page.relative_to(ROOT)}: {name}" for span in sorted(spans) for name in known.lacks(span)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "span",
    [
        "converter/batch/run.py",
        "scene/level",
        "picture.MOST_PIXELS",
        "test_places::test_a_backup_that_cannot_be_written",
        "written.json",
        "--keep-everything",
        "slot-boxes",
    ],
)
def test_a_name_that_is_gone_is_seen(span: str, known: Known) -> None:
    assert known.lacks(span) == [span]


def test_the_page_names_every_fuzz_target() -> None:
    text = (ROOT / "docs/fuzzing.md").read_text("utf-8").partition("\n## Targets\n")[2].partition("\n## ")[0]
    assert set(TARGETS) - set(re.findall(r"`(\w+)`", text)) == set()


def section_of_trouble(title: str) -> str:
    return (ROOT / "docs/tutorials/trouble.md").read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_messages_of_the_tutorial_exist(known: Known) -> None:
    """What a row begins with is in the product's text, where a string goes on in the next line."""
    text = known.text.replace("{LEVELS[COARSE]}", "coarse").replace("{LEVELS[FINE]}", "fine")
    text = re.sub(r'"\s*\n\s*f?"', "", text)
    messages = re.findall(r"^\| `([^`]+)` \|", section_of_trouble("Messages"), re.MULTILINE)
    assert len(messages) > 15
    assert [message for message in messages if message not in text] == []


def test_every_exit_code_is_explained() -> None:
    """Those that docs/games.md and the README promise."""
    rows = re.findall(r"^\| ([\d, ]+) \|", section_of_trouble("Exit codes"), re.MULTILINE)
    assert {code for row in rows for code in row.split(", ")} == {"0", "1", "2", "130", "143", "129", "141"}
