"""Every page of the documentation does what it says: its blocks are run."""

import re
from pathlib import Path

import pytest

from tests.docs.materials import ROOT
from tests.docs.runner import Page, Shell

PAGES = [
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not path.name.endswith(".ru.md")
]
#: Pages that are typed from top to bottom.
READERS = [path for path in PAGES if path.name == "README.md" or path.parent.name == "tutorials"]
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]
MAKES = "python examples/make_"
FENCE = re.compile(r"^ *```(.*)$", re.MULTILINE)
RUN = [path for path in PAGES if {"console", "python"} & set(FENCE.findall(path.read_text("utf-8")))]
#: What the runner looks at: blocks, and where one is skipped, whose reason is in the page's language.
BLOCK = re.compile(r"^ *(?:```(?:console|python|output)\n.*?^ *```|<!-- skip: \w+)", re.MULTILINE | re.DOTALL)


def differs(russian: Path) -> bool:
    """Whether a block of a Russian page is not, byte for byte, that of the English page, which is run."""
    english = russian.with_name(russian.name.replace(".ru.md", ".md"))
    return BLOCK.findall(russian.read_text("utf-8")) != BLOCK.findall(english.read_text("utf-8"))


#: Running the others would run the same twice.
RUSSIAN = [page for path in RUN if (page := path.with_suffix(".ru.md")).is_file() and differs(page)]


@pytest.mark.parametrize("path", [*RUN, *RUSSIAN], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(path: Path, tmp_path: Path) -> None:
    if re.search(r"^\$ msh2gltf .*--thumbnails", path.read_text("utf-8"), re.MULTILINE):
        pytest.importorskip("vtkmodules", reason="no VTK (the preview extra)")
    page = Page(path, tmp_path)
    page.run()
    for line in page.skipped:
        print(f"{path.name}: not run: {line}")


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_to_follow_leave_no_block_out(path: Path) -> None:
    assert "<!-- skip:" not in path.read_text("utf-8")


def test_a_russian_page_is_run_unless_its_blocks_are_those_of_a_page_that_is(tmp_path: Path) -> None:
    """A comment in Russian is a difference; every Russian page with blocks belongs to an English one that is run."""
    pages = [
        path
        for path in [*ROOT.glob("*.ru.md"), *(ROOT / "docs").rglob("*.ru.md")]
        if BLOCK.search(path.read_text("utf-8"))
    ]
    assert {path.name.replace(".ru.md", ".md") for path in pages} <= {path.name for path in RUN}
    for name, comment in (("a.md", "same"), ("a.ru.md", "то же"), ("b.md", "one"), ("b.ru.md", "one")):
        (tmp_path / name).write_text(f"text\n\n```python\nx = 1  # {comment}\n```\n", "utf-8")
    assert [differs(tmp_path / f"{name}.ru.md") for name in "ab"] == [True, False]


def test_what_a_page_starts_with_is_its_first_block() -> None:
    """In both languages; the README begins with a checkout, the index of the tutorials with an installation."""
    for path in RUN:
        if path.name == "README.md" or (path.parent.name == "tutorials" and path.stem == "index"):
            continue
        for page in filter(Path.is_file, (path, path.with_suffix(".ru.md"))):
            text = page.read_text("utf-8")
            first = re.search(r"^```(?:console|python)\n(.*)", text, re.MULTILINE)
            made = path.parent.name == "tutorials" or MAKES in text
            assert first is not None
            assert first[1].startswith(f"$ {MAKES}") is made, page


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_blocks_say_what_they_are(path: Path) -> None:
    """A block without a language would neither be run nor coloured; a skip says why."""
    text = path.read_text("utf-8")
    openings = FENCE.findall(text)[::2]
    assert all(openings), f"{path.name}: blocks without a language"
    for comment in re.findall(r"^ *<!--+ *skip:.*", text, re.MULTILINE):
        assert re.fullmatch(r' *<!-- skip: (next|start|end)( "[^"]+")? -->', comment), comment
        assert "skip: end" in comment or '"' in comment, f"{path.name}: {comment} says no reason"


# ------------------------------------------------------------------ the runner itself

#: Page -> what is wrong with it; ``None``: it is what is printed, and stays so when it is written again.
SHOWN = {
    "```console\n$ echo one; echo two\none\n2\n```": r"(?s)line 1.*-2\n\+two",
    "```console\n$ echo one\n$ echo two\ntwo\n```": r"\+one",
    "```console\n$ msh-inspect --explain nonsense\n```": "failed with 2",
    "```console\n$ msh-inspect --explain nonsense\n...\n$ echo $?\n2\n```": None,
    "```console\n$ echo a; echo b; echo c\na\n...\n```": None,
    "```console\n$ echo a; echo b; echo c\na\n...\nb\n```": r"-\.\.\.",
    "```console\nno command\n```": "begins with",
    # what all blocks since the last output printed; what a page does not show is not looked at
    "```python\nprint(1)\n```\n\n```python\nprint(2)\n```\n\n```output\n1\n3\n```": r"(?s)-3\n\+2",
    "```python\nprint(1)\n```\n\n```python\nprint(2)\n```\n\n```output\n1\n2\n```": None,
    '<!-- skip: next "there is none" -->\n```python\nimport no_such_module\n```': None,
    # blocks share folder and namespace; a command runs here or in a shell, and goes on in the next line
    "```console\n$ python examples/make_files.py \\\n> robot.msh  # comment\n```\n"
    '```python\nimport os\nsize = os.path.getsize("robot.msh")\n```\n'
    "```console\n$ msh2gltf robot.msh -o out/robot.glb\n$ ls out | grep -c glb\n```\n"
    '```python\nassert size == 32576 and os.path.isfile("out/robot.glb")\n```': None,
}


def run_page(tmp_path: Path, text: str, **options: bool) -> Page:
    (tmp_path / "page.md").write_text(text, "utf-8")
    page = Page(tmp_path / "page.md", tmp_path / "in", **options)
    page.run()
    return page


@pytest.mark.parametrize("text", SHOWN)
def test_what_a_page_shows_is_compared(text: str, tmp_path: Path) -> None:
    wrong = SHOWN[text]
    if wrong:
        with pytest.raises((AssertionError, ValueError), match=wrong):
            run_page(tmp_path, text)
    else:
        page = run_page(tmp_path, text, renew=True)
        assert page.renewed() == text
        assert page.skipped == ["line 2: there is none"] * ("skip" in text)


def test_outputs_are_written_again(tmp_path: Path) -> None:
    text = "A\n```console\n$ echo one\n1\n$ echo a; echo b\n...\n```\n```python\nprint(2)\n```\n```output\n3\n```\n"
    assert run_page(tmp_path, text, renew=True).renewed() == text.replace("\n1\n", "\none\n").replace("3", "2")


def test_commands_run_here_or_in_a_shell(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("msh2gltf --version  # a comment") == shell.run("msh2gltf --version | cat")
    assert shell.run("msh-inspect nothing.msh")[0].startswith("msh-inspect: error: nothing.msh")
    assert shell.run("echo $?") == ["2"]
    (tmp_path / "ends.py").write_text("import sys\nprint(sys.argv)\nraise SystemExit('bye')\n")
    assert shell.run("python ends.py 'a b'") == ["['ends.py', 'a b']", "bye"]
    assert shell.code == 1
