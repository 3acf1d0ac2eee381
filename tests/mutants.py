"""Change the product at random, one expression at a time, and see whether a test notices.

    python -m tests.mutants --record lines.json
    python -m tests.mutants converter/rebuild importers --lines lines.json --count 100 --seed 1

The first runs every test below ``--tests`` once and notes which lines of the product it runs and how long it takes, in
processor seconds (Python 3.12 or newer; nearly free). The second collects those tests once. Then each mutant gets a
fork of this process, in which its function has the changed code, and meets the tests that run its lines, until one
fails: the quick ones first that run little else, and of one test function not all cases at once. ``--seconds`` bounds
that. A test that seems to notice has to pass without the mutant.

What survives is printed with its line: a test is missing, or the mutant means the same. What only runs in other
processes or while modules are imported is not changed there.
"""

import argparse
import ast
import contextlib
import copy
import gc
import importlib
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
#: A mutant that takes this much more of the processor than the tests did is noticed.
PATIENCE = 4.0
#: Address space of a mutant, in bytes.
ROOM = 6 << 30
PRODUCT = ("converter", "importers", "exporters", "msh_gltf")
TESTS = ["tests/converter", "tests/importers", "tests/exporters", "tests/msh_gltf"]
PYTEST = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Mutant(NamedTuple):
    """A change: the lines from its statement's first to the expression's last, its function's, the bytes, the texts."""

    path: str
    first: int
    last: int
    function: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        before = (ROOT / self.path).read_bytes()[: self.start].splitlines()
        return f"{self.path}:{len(before)}:{len(before[-1]) + 1}: {' '.join(self.before.split())} -> {self.after}"

    def source(self) -> bytes:
        """The module with the change; the lines after it keep their numbers."""
        whole = (ROOT / self.path).read_bytes()
        lines = "\n" * self.before.count("\n")
        return whole[: self.start] + f"({self.after}{lines})".encode() + whole[self.end :]


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


def expressions(node: ast.AST, statement: int, function: int) -> Iterator[tuple[ast.expr, int, int]]:
    """Every expression inside functions, with the lines of its statement and of its outermost function."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or name in ("annotation", "returns"):
                continue  # annotations are not run
            inner, outer = statement, function
            if isinstance(child, ast.stmt | ast.excepthandler):
                inner = child.lineno
            if isinstance(child, ast.FunctionDef) and not function:
                # a code object begins at its first decorator; what stands before the body is run on import
                outer = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                body = ast.Module(child.body, [])
                yield from expressions(body, inner, outer)
                continue
            if outer and isinstance(child, ast.expr):
                yield child, inner, outer
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("reshape") and ast.unparse(child) == "-1":
                continue  # NumPy takes any negative number for this one
            yield from expressions(child, inner, outer)


def mutants(path: str) -> Iterator[Mutant]:
    """Every change of a module inside its functions."""
    whole = (ROOT / path).read_bytes()
    starts = [0]
    for line in whole.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, statement, function in expressions(ast.parse(whole), 0, 0):
        if (new := changed(node)) is None:
            continue
        last = node.end_lineno or node.lineno
        a, b = starts[node.lineno - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)
        yield Mutant(path, statement, last, function, a, b, whole[a:b].decode(), ast.unparse(new))


def product() -> dict[tuple[str, int, str], list[types.FunctionType]]:
    """Import all modules of the product; return their functions by file, first line and name."""
    for package in PRODUCT:
        for place in sorted((ROOT / package).rglob("*.py")):
            parts = place.relative_to(ROOT).with_suffix("").parts
            if parts[-1] != "__main__":
                name = ".".join(parts if package == "msh_gltf" else ("msh_gltf", *parts))
                with contextlib.suppress(ImportError):
                    importlib.import_module(name.removesuffix(".__init__"))
    found: dict[tuple[str, int, str], list[types.FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and relative(one.__code__):
            found.setdefault(key(one.__code__), []).append(one)
    return found


def key(code: types.CodeType) -> tuple[str, int, str]:
    return relative(code), code.co_firstlineno, code.co_qualname


def relative(code: types.CodeType) -> str:
    """The module of a code object, from the project's folder; empty where it is not of the product."""
    path = code.co_filename.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/")
    return path if path.startswith(tuple(f"{name}/" for name in PRODUCT)) else ""


def inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from inner(constant)


class Recording:
    """A pytest plugin: which lines of the product each test runs, and how long it takes."""

    TOOL = 4

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.seen: dict[types.CodeType, int] = {}

    def pytest_runtestloop(self) -> None:
        watch = sys.monitoring
        watch.use_tool_id(self.TOOL, "mutants")
        watch.register_callback(self.TOOL, watch.events.LINE, self._line)
        for functions in product().values():
            for code in {c for function in functions for c in inner(function.__code__)}:
                watch.set_local_events(self.TOOL, code, watch.events.LINE)

    def _line(self, code: types.CodeType, line: int) -> Any:
        self.seen[code] = self.seen.get(code, 0) | 1 << line
        return sys.monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.seen.clear()
        sys.monitoring.restart_events()
        began = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = round(sum(os.times()[:4]) - began, 4)
            masks: dict[str, int] = {}
            for code, mask in self.seen.items():
                masks[relative(code)] = masks.get(relative(code), 0) | mask
            self.lines[item.nodeid] = {path: f"{mask:x}" for path, mask in masks.items()}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def write(self, place: Path) -> None:
        known = {
            name: [self.seconds[name], masks] for name, masks in self.lines.items() if masks and name not in self.failed
        }
        place.write_text(json.dumps(known), encoding="utf-8")


class Known:
    """What recordings say: the lines and seconds of each test."""

    def __init__(self, places: list[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[str, int]] = {}
        self.size: dict[str, int] = {}
        for place in places:
            for name, (seconds, masks) in json.loads(place.read_text(encoding="utf-8")).items():
                self.seconds[name] = seconds
                self.lines[name] = {path: int(mask, 16) for path, mask in masks.items()}
                self.size[name] = sum(mask.bit_count() for mask in self.lines[name].values())

    def tests(self, mutant: Mutant, bound: float) -> tuple[list[str], int]:
        """The tests that a mutant meets, in order, within seconds; and how many run its lines."""
        where = sum(1 << line for line in range(mutant.first, mutant.last + 1))
        found = [name for name, masks in self.lines.items() if masks.get(mutant.path, 0) & where]
        price = {name: self.size[name] * (self.seconds[name] + 0.02) for name in found}
        cases: dict[str, int] = {}
        for name in sorted(found, key=price.__getitem__):
            function = name.partition("[")[0]
            cases[function] = cases.get(function, 0) + 1
            price[name] *= cases[function]
        chosen: list[str] = []
        for name in sorted(found, key=price.__getitem__):
            if not chosen or self.seconds[name] <= bound:
                bound -= self.seconds[name]
                chosen.append(name)
        files = {name.partition("::")[0]: None for name in chosen}  # in order; a file sets up once
        order = {file: number for number, file in enumerate(files)}
        return sorted(chosen, key=lambda name: order[name.partition("::")[0]]), len(found)


class Trials:
    """A pytest plugin: mutants instead of the tests that were collected."""

    def __init__(self, chosen: list[Mutant], known: Known, bound: float, out: Any) -> None:
        self.chosen, self.known, self.bound, self.out = chosen, known, bound, out
        self.sound: dict[tuple[str, ...], bool] = {}
        self.score: dict[str, list[int]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed:
            return None
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        self.functions = product()
        gc.freeze()
        for number, mutant in enumerate(self.chosen, 1):
            self._try(mutant)
            if number % 20 == 0:
                print(f"# {number} of {len(self.chosen)}", file=self.out)
        return True

    def _try(self, mutant: Mutant) -> None:
        names, many = self.known.tests(mutant, self.bound)
        names = [name for name in names if name in self.items and self.sound.get((name,), True)]
        killer = self._fork(mutant, names) if names else ""
        while names and killer not in ("", "unlike"):
            blamed = names if killer in ("died", "time") else [killer]
            told = tuple(blamed)
            if told not in self.sound:
                self.sound[told] = not self._fork(None, blamed)
            if self.sound[told]:
                break
            print(f"# without a mutant, too: {killer}", file=self.out)
            names = names[: len(names) // 2] if blamed is names else [name for name in names if name != killer]
            killer = self._fork(mutant, names) if names else ""
        if killer == "unlike":
            return
        package = "/".join(mutant.path.split("/")[: 2 if mutant.path.startswith("converter/") else 1])
        score = self.score.setdefault(package, [0, 0, 0])
        score[0] += bool(killer)
        score[1] += 1
        score[2] += not names
        verdict = f"noticed by {killer}" if killer else f"SURVIVES {len(names)} of {many} tests"
        print(f"{mutant} | {verdict}", file=self.out)

    def _fork(self, mutant: Mutant | None, names: list[str]) -> str:
        """Run tests in a fork; return what fails: a test, "died", "time", or "unlike" (the code cannot be put)."""
        reading, writing = os.pipe()
        folder = tempfile.mkdtemp()
        limit = int(20 + PATIENCE * sum(self.known.seconds[name] for name in names))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's threads do not mind a fork
            child = os.fork()
        if child == 0:
            os.setsid()
            answer = "unlike"
            try:
                os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = tempfile.tempdir = folder
                resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # then the kernel ends it
                if mutant is None or self._put(mutant):
                    answer = self._first_failing(names)
            finally:
                os.write(writing, f"{answer}\n".encode())
                os._exit(0)
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], 10 * limit)  # for what waits; the machine may be busy
        answer = (os.read(reading, 4096).decode() or "died" if ready else "time").strip()
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        return answer

    def _put(self, mutant: Mutant) -> bool:
        """Give the function its changed code."""
        whole = compile(mutant.source(), str(ROOT / mutant.path), "exec", dont_inherit=True)
        outer = next(
            (code for code in inner(whole) if code.co_firstlineno == mutant.function and key(code) in self.functions),
            None,
        )
        if outer is None:
            return False
        for code in inner(outer):
            for function in self.functions.get(key(code), []):
                if code.co_freevars != function.__code__.co_freevars:
                    return False
                function.__code__ = code
        return True

    def _first_failing(self, names: list[str]) -> str:
        for name, following in pairwise([*names, None]):
            item = self.items[name]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following and self.items[following])
            if self.session.testsfailed:
                return name
        return ""


def attempt(packages: list[str], places: list[Path], count: int, seed: int, bound: float) -> int:
    """Try mutants of packages, ``count`` of each, and print what survives."""
    known = Known(places)
    chosen = []
    for package in packages:
        place = ROOT / package
        modules = [place] if place.is_file() else sorted(place.rglob("*.py"))
        every = [m for module in modules for m in mutants(module.relative_to(ROOT).as_posix())]
        random.Random(seed).shuffle(every)
        chosen += every[:count]
    wanted = {name for m in chosen for name in known.tests(m, bound)[0]}
    files = sorted({name.partition("::")[0] for name in wanted})
    with os.fdopen(os.dup(1), "w", buffering=1) as out, open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        trials = Trials(chosen, known, bound, out)
        code = pytest.main([*PYTEST, "-x", *files], plugins=[trials])
        for package, (noticed, tried, unseen) in trials.score.items():
            share = f"{noticed} of {tried} noticed ({100 * noticed / tried:.0f} %)"
            print(f"{package}: {share}, {unseen} in lines that no test runs; seed {seed}", file=out)
    return int(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="what is changed: folders or modules, from the project's folder")
    parser.add_argument("--record", type=Path, metavar="FILE", help="run the tests and note what they run")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="tests to run for --record")
    parser.add_argument("--lines", type=Path, nargs="*", default=[], metavar="FILE", help="what --record wrote")
    parser.add_argument("--count", type=int, default=100, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of tests that a mutant meets")
    options = parser.parse_args()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "mutants"}
    if options.record:
        if sys.version_info < (3, 12):
            parser.error("--record needs Python 3.12 or newer")
        noted = Recording()
        pytest.main([*PYTEST, *options.tests], plugins=[noted])
        noted.write(options.record)
        return 0
    if not options.packages:
        parser.error("state packages, or --record")
    with tempfile.TemporaryDirectory() as folder:
        if not options.lines:
            print("The tests run once ...", flush=True)
            options.lines = [Path(folder) / "lines.json"]
            recording = ["--record", str(options.lines[0]), "--tests", *options.tests]
            subprocess.run([sys.executable, "-m", "tests.mutants", *recording], cwd=ROOT, check=True)
        return attempt(options.packages, options.lines, options.count, options.seed, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
