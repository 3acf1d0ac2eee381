"""Change the product at random, one expression at a time, and see whether a test notices.

    python -m tests.mutants converter/rebuild --count 100 --seed 1

First every test below ``--tests`` runs once and notes which functions of the product it calls. Then the tree is
copied, and there each mutant meets the tests that call its function, until one fails: first those of the package, and
of these those that call the fewest other functions, since they are about it. What survives is printed with its line:
a test is missing, or the mutant means the same.

For more than one package, run the tests once: ``--record calls.json``, then ``--calls calls.json``; several
recordings, made side by side with other ``--tests``, count as one.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "demo", "dist", "site", ".mypy_cache", "__pycache__")
#: A mutant that takes this much longer than the tests did is noticed.
PATIENCE = 4.0
PRODUCT = ("converter", "importers", "exporters", "msh_gltf", "blender_extension")
TESTS = ["tests/converter", "tests/importers", "tests/exporters", "tests/msh_gltf"]

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change: where it is, the function that it is in, the lines before and after, and the whole source."""

    path: Path
    line: int
    function: int
    before: str
    after: str
    source: str


def changed(node: ast.AST) -> ast.AST | None:
    """Another expression in the place of one; ``None``: no rule for it."""
    new: Any = copy.copy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        new.ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPS:
        new.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        return node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        new.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        new.value = node.value + 1
    elif isinstance(node, ast.IfExp):
        return node.orelse
    else:
        return None
    return new  # type: ignore[no-any-return]


def mutants(path: Path, root: Path) -> Iterator[Mutant]:
    """Every change of a module inside its functions."""
    source = (root / path).read_text(encoding="utf-8")
    tree = ast.parse(source)
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    for function in functions:
        # a code object begins at its first decorator
        first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            if isinstance(node, ast.expr) and (new := changed(node)) is not None:
                end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
                a, b = starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end
                text = f"({ast.unparse(new)})".encode()
                whole = source.encode()
                made = (whole[:a] + text + whole[b:]).decode()
                yield Mutant(path, node.lineno, first, whole[a:b].decode(), text.decode(), made)


class Calls:
    """A pytest plugin: which functions of the product each test calls, and how long it takes."""

    def __init__(self) -> None:
        self.places = tuple(f"{ROOT / package}{os.sep}" for package in PRODUCT)
        self.root = len(str(ROOT)) + 1
        self.found: dict[str, list[str]] = {}
        self.times: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        seen: set[str] = set()

        def note(frame: Any, event: str, _: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(self.places):
                seen.add(f"{code.co_filename[self.root :]}:{code.co_firstlineno}")

        began = time.perf_counter()
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            name = item.nodeid
            self.times[name] = time.perf_counter() - began
            self.found[name] = sorted(seen)


def record(place: Path, tests: list[str]) -> int:
    """Run tests in this process and write what they call."""
    calls = Calls()
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-n", "0", *tests], plugins=[calls])
    place.write_text(json.dumps({"calls": calls.found, "times": calls.times}), encoding="utf-8")
    return int(code)


def recorded(places: list[Path]) -> tuple[dict[str, list[str]], dict[str, float]]:
    """What recordings say: the tests of each function, those first that call the fewest; the seconds of each test."""
    tests: dict[str, list[str]] = {}
    times: dict[str, float] = {}
    for place in places:
        known = json.loads(place.read_text(encoding="utf-8"))
        times |= known["times"]
        for name, functions in sorted(known["calls"].items(), key=lambda call: len(call[1])):
            for function in functions:
                tests.setdefault(function, []).append(name)
    return tests, times


def survives(root: Path, mutant: Mutant, names: list[str], seconds: float) -> bool:
    """Whether all tests pass with a mutant in place."""
    place = root / mutant.path
    right = place.read_text(encoding="utf-8")
    place.write_text(mutant.source, encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *names]
        done = subprocess.run(
            command, cwd=root, env=_environment(root), capture_output=True, timeout=30 + PATIENCE * seconds, check=False
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_text(right, encoding="utf-8")


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", help="what is changed: a folder or a module, from the project's folder")
    parser.add_argument("--record", type=Path, metavar="FILE", help="run the tests and note what they call")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="tests to run for --record")
    parser.add_argument("--calls", type=Path, nargs="*", default=[], metavar="FILE", help="what --record wrote")
    parser.add_argument("--count", type=int, default=100, help="mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=1000, help="tests that a mutant meets")
    options = parser.parse_args()
    if options.record:
        return record(options.record, options.tests)
    if not options.package:
        parser.error("state a package, or --record")
    with tempfile.TemporaryDirectory() as folder:
        if not options.calls:
            print("The tests run once ...", flush=True)
            options.calls = [Path(folder) / "calls.json"]
            recording = ["--record", str(options.calls[0]), "--tests", *options.tests]
            command = [sys.executable, "-m", "tests.mutants", *recording]
            if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
                print("tests fail without any change")
                return 1
        tests, times = recorded(options.calls)
        root = Path(folder) / "tree"
        shutil.copytree(ROOT, root, ignore=LEFT_OUT, ignore_dangling_symlinks=True)
        place = root / options.package
        modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
        every = [m for module in modules for m in mutants(module.relative_to(root), root)]
        random.Random(options.seed).shuffle(every)
        beside = f"tests/{options.package.removesuffix('.py')}"  # first the tests of the package
        left: list[Mutant] = []
        unseen = 0
        for number, mutant in enumerate(every[: options.count], 1):
            names = tests.get(f"{mutant.path}:{mutant.function}", [])
            names = sorted(names, key=lambda name: not name.startswith(beside))[: options.most]
            unseen += not names
            if not names or survives(root, mutant, names, sum(times[n] for n in names)):
                left.append(mutant)
                why = "" if names else " (no test calls it)"
                print(f"{mutant.path}:{mutant.line}: {mutant.before} -> {mutant.after}{why}", flush=True)
            if number % 20 == 0:
                print(f"{number} of {min(options.count, len(every))}, {len(left)} left", flush=True)
    tried = min(options.count, len(every))
    print(f"{options.package}: {tried - len(left)} of {tried} noticed ({100 - 100 * len(left) / max(tried, 1):.0f} %)")
    print(f"{unseen} in functions that no test calls; seed {options.seed}, of {len(every)} mutants")
    return 0


if __name__ == "__main__":
    sys.exit(main())
