"""Every page of the documentation does what it says: its blocks are run."""

import re
from pathlib import Path

import pytest

from tests.docs.materials import ROOT
from tests.docs.runner import ANY, Page, Shell, Step, fits, steps_of

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


def page(tmp_path: Path, text: str, **options: bool) -> Page:
    (tmp_path / "page.md").write_text(text, "utf-8")
    (tmp_path / "in").mkdir()
    return Page(tmp_path / "page.md", tmp_path / "in", **options)


def test_output_is_compared(tmp_path: Path) -> None:
    shown = page(tmp_path, "```console\n$ echo one; echo two\none\n2\n```\n")
    with pytest.raises(AssertionError, match=r"(?s)line 1.*-2\n\+two"):
        shown.run()


def test_unshown_output_of_a_block_with_outputs(tmp_path: Path) -> None:
    shown = page(tmp_path, "```console\n$ echo one\n$ echo two\ntwo\n```\n")
    with pytest.raises(AssertionError, match=r"\+one"):
        shown.run()


def test_output_of_python_is_compared(tmp_path: Path) -> None:
    """Of all blocks since the last output; what a page does not show is not looked at."""
    blocks = "```python\nprint(1)\n```\n\n```python\nprint(2)\n```\n\n```output\n1\n{}\n```\n"
    with pytest.raises(AssertionError, match=r"(?s)-3\n\+2"):
        page(tmp_path, blocks.format(3)).run()
    (tmp_path / "again").mkdir()
    renewed = page(tmp_path / "again", blocks.format(3), renew=True)
    renewed.run()
    assert renewed.renewed() == blocks.format(2)


def test_a_command_that_fails_is_shown_to_fail(tmp_path: Path) -> None:
    failing = "$ msh-inspect --explain nonsense\n"
    with pytest.raises(AssertionError, match="failed with 2"):
        page(tmp_path, f"```console\n{failing}```\n").run()
    text = f"```console\n{failing}...\n$ echo $?\n2\n```\n"
    (tmp_path / "again").mkdir()
    page(tmp_path / "again", text).run()


def test_blocks_share_folder_and_namespace(tmp_path: Path) -> None:
    text = """```console
$ python examples/make_files.py robot.msh
```
```python
from pathlib import Path
size = Path("robot.msh").stat().st_size
```
```console
$ msh2gltf robot.msh -o out/robot.glb
```
```python
assert size == 32576 and Path("out/robot.glb").is_file()
```
<!-- skip: next "there is no such module" -->
```python
import no_such_module
```
"""
    shown = page(tmp_path, text)
    shown.run()
    assert shown.skipped == ["line 15: there is no such module"]


def test_outputs_are_renewed(tmp_path: Path) -> None:
    text = "A\n```console\n$ echo one\n1\n$ echo a; echo b\n...\n```\nB\n"
    shown = page(tmp_path, text, renew=True)
    shown.run()
    assert shown.renewed() == text.replace("\n1\n", "\none\n")


def test_steps() -> None:
    assert steps_of("$ a \\\n> b\nc\n\n$ d\n") == [Step("a \\\nb", ["c"]), Step("d")]
    with pytest.raises(ValueError, match="begins with"):
        steps_of("a\n")


def test_any_lines() -> None:
    assert fits(["a", ANY, "d"], ["a", "b", "c", "d"])
    assert fits([ANY], [])
    assert not fits(["a", ANY], ["b"])


def test_commands_run_here_or_in_a_shell(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("msh2gltf --version  # a comment") == shell.run("msh2gltf --version | cat")
    assert shell.run("msh-inspect nothing.msh")[0].startswith("msh-inspect: error: nothing.msh")
    assert shell.run("echo $?") == ["2"]
    (tmp_path / "ends.py").write_text("import sys\nprint(sys.argv)\nraise SystemExit('bye')\n")
    assert shell.run("python ends.py 'a b'") == ["['ends.py', 'a b']", "bye"]
    assert shell.code == 1
