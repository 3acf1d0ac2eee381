"""Runs what the documentation shows: commands with their output, and Python.

    python -m tests.docs docs/tutorials/turret.md    # writes the outputs of a page again

A page is run from top to bottom in a scratch folder of its own:

- ``console``: a line ``$ command`` is run (``> `` continues it), and what it prints is what
  follows; blanks at the ends of lines do not count, a line ``...`` stands for any lines. A block
  without any output only has to succeed. A command that fails must be followed by ``$ echo $?``.
- ``python``: run in one namespace per page, in the same folder.
- ``output``: what the ``python`` blocks since the last one printed, compared like that of commands.
- ``<!-- skip: next "reason" -->``: the next block is not run.

A copy of ``examples`` lies in the folder, nothing else: the rest a page makes, visibly.

Blocks of other languages (``text``, ``sh``, ...) are not run. The project's commands, and Python
scripts, are called in this process; everything else goes to bash.
"""

import contextlib
import difflib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import SkipTest

from sybil import Example
from sybil.document import Document
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from msh_gltf.converter import cli
from tests.docs.materials import EXAMPLES

COMMANDS = {"msh2gltf": cli.msh2gltf, "gltf2msh": cli.gltf2msh, "msh-inspect": cli.msh_inspect, "msh-mod": cli.msh_mod}
ANY = "..."
#: What only a shell understands, outside quotes.
_SHELL = re.compile(r"[|<>&;$`*?(){}~]")


@dataclass
class Step:
    """A command of a ``console`` block, and the lines that are shown below it."""

    command: str
    shown: list[str] = field(default_factory=list)


@dataclass
class Shell:
    """Where commands run; remembers the last exit code, as a shell does."""

    folder: Path
    code: int = 0

    def run(self, command: str) -> list[str]:
        """Run a command; returns what it prints to both streams, as lines without their ends."""
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        bare = re.sub(r"'[^']*'|\"[^\"]*\"|\s#.*", "", command)
        if words and words[0] in (*COMMANDS, "python") and not _SHELL.search(bare):
            text = self._here(words)
        else:
            text = self._bash(command)
        lines = [line.rstrip() for line in text.splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _here(self, words: list[str]) -> str:
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, "utf-8", newline="\n", write_through=True)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            try:
                if words[0] == "python":
                    _script(words[1:])
                else:
                    COMMANDS[words[0]](words[1:])
                self.code = 0
            except SystemExit as end:
                if isinstance(end.code, str):
                    print(end.code)
                self.code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return raw.getvalue().decode()

    def _bash(self, command: str) -> str:
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        }
        result = subprocess.run(
            ["bash", "-c", f"(exit {self.code}); {command}"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.code = result.returncode
        return result.stdout


def _script(words: list[str]) -> None:
    """``python SCRIPT ARGUMENTS`` in this process."""
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:0] = words, [str(Path(words[0]).resolve().parent)]
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before


def steps_of(source: str) -> list[Step]:
    """The commands of a ``console`` block.

    Raises:
        ValueError: it does not begin with a command.
    """
    steps: list[Step] = []
    for line in source.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:]))
        elif not steps:
            raise ValueError(f"a console block begins with '$ command', not with {line!r}")
        elif line.startswith("> ") and not steps[-1].shown and steps[-1].command.endswith("\\"):
            steps[-1].command += f"\n{line[2:]}"
        else:
            steps[-1].shown.append(line.rstrip())
    for step in steps:
        while step.shown and not step.shown[-1]:
            step.shown.pop()
    return steps


def fits(shown: list[str], printed: list[str]) -> bool:
    """Whether a page shows what was printed."""
    pattern = "".join(r"(?:.*\n)*" if s == ANY else re.escape(s) + "\n" for s in shown)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


@dataclass
class Page:
    """A page of the documentation, about to be run.

    Attributes:
        path: the Markdown file.
        folder: an empty folder to run in.
        renew: put what is printed in place of what is shown, instead of comparing.
    """

    path: Path
    folder: Path
    renew: bool = False
    skipped: list[str] = field(default_factory=list)
    _new: list[tuple[int, int, str]] = field(default_factory=list)
    _printed: io.StringIO = field(default_factory=io.StringIO)

    def run(self) -> None:
        """Run all blocks.

        Raises:
            AssertionError: something else was printed, or a command failed.
        """
        shutil.copytree(EXAMPLES, self.folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        self._shell = Shell(self.folder)
        document = Document.parse(
            str(self.path),
            CodeBlockParser("console", self._console),
            CodeBlockParser("python", self._python),
            CodeBlockParser("output", self._output),
            SkipParser(),
        )
        with _modules_as_before(self.folder):
            for example in document.examples():
                try:
                    with contextlib.chdir(self.folder):
                        example.evaluate()
                except SkipTest as reason:
                    self.skipped.append(f"line {example.line}: {reason}")

    def renewed(self) -> str:
        """The page's text with what was printed."""
        text = self.path.read_text("utf-8")
        for start, end, block in reversed(self._new):
            text = text[:start] + block + text[end:]
        return text

    def _python(self, example: Example) -> None:
        with contextlib.redirect_stdout(self._printed):
            PythonEvaluator()(example)

    def _output(self, example: Example) -> str | None:
        printed = [line.rstrip() for line in self._printed.getvalue().splitlines()]
        self._printed = io.StringIO()
        shown = [line.rstrip() for line in example.parsed.splitlines()]
        if fits(shown, printed):
            return None
        if not self.renew or ANY in shown:
            return "\n".join(difflib.unified_diff(shown, printed, "shown", "printed", lineterm=""))
        self._replace(example, "".join(f"{line}\n" for line in printed))
        return None

    def _replace(self, example: Example, block: str) -> None:
        """Put a text in place of what a block holds, once the page is written again."""
        start = example.start + example.parsed.offset
        self._new.append((start, start + len(example.parsed), block))

    def _console(self, example: Example) -> str | None:
        steps = steps_of(example.parsed)
        silent = not any(step.shown for step in steps)
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            printed = self._shell.run(step.command)
            if self._shell.code and (following is None or following.command != "echo $?"):
                what = "\n".join(printed)
                return f"$ {step.command}\nfailed with {self._shell.code}:\n{what}"
            if silent or fits(step.shown, printed):
                continue
            if not self.renew or ANY in step.shown:
                different = difflib.unified_diff(step.shown, printed, "shown", "printed", lineterm="", n=1)
                return f"$ {step.command}\n" + "\n".join(different)
            step.shown = printed
        if self.renew:
            block = "".join(
                "$ " + "\n> ".join(step.command.split("\n")) + "\n" + "".join(f"{line}\n" for line in step.shown)
                for step in steps
            )
            self._replace(example, block)
        return None


@contextlib.contextmanager
def _modules_as_before(folder: Path) -> Iterator[None]:
    """Forget the modules that a page's scripts import from beside themselves."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "").is_relative_to(folder):
            del sys.modules[name]
