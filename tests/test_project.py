"""Rules about the project itself: layers, README, packaging."""

import ast
import builtins
import graphlib
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from symtable import SymbolTable, symtable

import numpy as np
import pytest

import dev
from msh_gltf.converter.errors import called, in_words
from tests.conftest import SLOW
from tests.support.gltf_view import GltfView
from tests.support.runs import run

ROOT = Path(__file__).parent.parent
PACKAGES = ("converter", "importers", "exporters")
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
API = sorted((ROOT / "msh_gltf").glob("*.py"))


def foreign(path: Path) -> set[str]:
    """The packages that a module imports from outside, by their first name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def module_name(path: Path) -> str:
    """``converter.scene.decode``; a package by its own name."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def installed() -> Path:
    """A folder with the packages below one name, as they are installed."""
    dev.link_packages()
    return dev.TYPES.parent


@pytest.fixture(scope="module")
def imported(installed: Path) -> dict[str, list[str]]:
    """Our modules that each of our modules imports, at its top or inside a function."""
    code = (
        "import grimp, json; g = grimp.build_graph('msh_gltf', cache_dir=None)\n"
        "print(json.dumps({m: sorted(g.find_modules_directly_imported_by(m)) for m in g.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=installed, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_imports_inside_the_packages_are_relative() -> None:
    for path in [*SOURCES, *API]:
        assert not foreign(path) & {"msh_gltf", *PACKAGES}, path


def test_packages_import_in_one_direction(installed: Path, imported: dict[str, list[str]]) -> None:
    """As import-linter says of the layers in ``pyproject.toml``."""
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache", str(ROOT / "pyproject.toml")]
    done = subprocess.run(command, cwd=installed, capture_output=True, text=True, check=False)
    assert "Contracts: 1 kept, 0 broken" in done.stdout, done.stdout
    assert not imported["msh_gltf.converter"]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    (contract,) = settings["importlinter"]["contracts"]
    named = {name for row in contract["layers"] for name in re.split(" [|:] ", row)}
    above = {
        name for one in imported if one.startswith("msh_gltf.converter.") for name in [".".join(one.split(".")[:3])]
    }
    assert named == above | {f"msh_gltf.{name}" for name in ("api", "objects", "__main__", "importers", "exporters")}


def test_no_module_imports_itself_through_others(imported: dict[str, list[str]]) -> None:
    graphlib.TopologicalSorter(imported).prepare()
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imported | {"msh_gltf.converter.errors": ["msh_gltf.converter.cli"]}).prepare()


def test_no_kind_needs_what_finds_the_kinds(imported: dict[str, list[str]]) -> None:
    """``dispatch`` imports their modules by name, which the search for circles does not see."""
    kinds = [name for name in imported if name.startswith("msh_gltf.converter.kinds.")]
    assert kinds
    assert not [name for name in kinds if "msh_gltf.converter.kinds.dispatch" in imported[name]]


def _undefined(table: SymbolTable, known: set[str]) -> Iterator[str]:
    """Names that functions read and no module defines."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and symbol.is_global() and symbol.get_name() not in known:
            yield f"{table.get_name()} (line {table.get_lineno()}): {symbol.get_name()}"
    for child in table.get_children():
        yield from _undefined(child, known)


def _undefined_in(source: str) -> list[str]:
    top = symtable(source, "source", "exec")
    own = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported() or one.is_namespace()}
    return list(_undefined(top, own | set(dir(builtins)) | {"__file__", "__name__", "__package__", "__doc__"}))


@pytest.mark.parametrize("path", sorted((ROOT / "blender_extension/addon").glob("*.py")), ids=lambda path: path.stem)
def test_the_extension_defines_what_it_uses(path: Path) -> None:
    """Blender's properties stand where annotations do, so neither ruff nor mypy looks."""
    assert _undefined_in(path.read_text("utf-8")) == []


def test_a_name_that_nothing_defines_is_seen() -> None:
    assert _undefined_in("import os\n\ndef f(a):\n    return os.sep + a + gone(len(a))\n") == ["f (line 3): gone"]


def test_every_dependency_is_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.match(r"[\w-]+", text)[0] for text in declared["dependencies"]}
    used = set().union(*map(foreign, SOURCES))
    assert names == {"numpy", "click", "rich", "pillow", "pygltflib", "scipy", "trimesh"}
    extras = {extra: set(rows) for extra, rows in declared["optional-dependencies"].items()}
    features = extras.keys() - {"all", "docs", "test", "library-test", "blender"}
    assert extras["all"] == {f"msh-gltf[{','.join(f for f in extras if f in features)}]"}
    optional = {re.match(r"[\w-]+", text)[0] for f in features for text in extras[f]}
    imports = {"pillow": "PIL", "vtk": "vtkmodules"}
    known = {imports.get(name, name) for name in names | optional}
    assert used - set(sys.stdlib_module_names) == known


def test_what_extras_bring_is_imported_where_they_are_asked_for() -> None:
    """Below a ``with needed_for(...)`` whose extra or package exists, or after one in the same module."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = {re.match(r"[\w-]+", text)[0] for text in declared["dependencies"]}
    known |= declared["optional-dependencies"].keys()
    heavy = {"scipy", "trimesh", "DracoPy", "distributed"}
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "needed_for"
        ]
        assert {ast.literal_eval(call.args[1]) for call in calls} <= known, path
        assert not foreign(path) & heavy or calls, path


def test_examples_are_current(tmp_path: Path) -> None:
    """``examples`` has what the scripts and gltf2msh make today, and every model uses the textures."""
    examples = ROOT / "examples"
    for script in ("make_models.py", "make_textures.py"):
        subprocess.run([sys.executable, examples / script, tmp_path], check=True, capture_output=True)
    kept = {examples / "textures" / name: tmp_path / name for name in ("Material.lib", "Textures.lib")}
    for name in ("walker", "hangar", "tree"):
        made = run("gltf2msh", tmp_path / f"{name}.glb", "-o", tmp_path / f"{name}.msh", "--dialect", "retail")
        assert made.returncode == 0, made.stderr
        kept |= {examples / f"{name}.{ending}": tmp_path / f"{name}.{ending}" for ending in ("msh", "wea")}
        target = tmp_path / "shown" / f"{name}.glb"
        shown = run("msh2gltf", examples / f"{name}.msh", "--textures", examples / "textures", "-o", target)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert all("baseColorTexture" in m["pbrMetallicRoughness"] for m in GltfView(target)["materials"])
    for path, made in kept.items():
        assert path.read_bytes() == made.read_bytes(), path.name


def test_readme_links_exist() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_tests_have_a_table_of_contents() -> None:
    """``tests/README.md`` names every folder and module of the top; slow modules are there."""
    page = (ROOT / "tests/README.md").read_text("utf-8")
    folders = {p.parent.relative_to(ROOT / "tests") for p in (ROOT / "tests").rglob("test_*.py")}
    for folder in folders - {Path()}:
        assert f"`{folder.as_posix()}/`" in page, folder
    for path in (ROOT / "tests").glob("test_*.py"):
        assert f"`{path.name}`" in page, path
    assert len(SLOW) > 10
    assert all((ROOT / "tests" / place).exists() for place in SLOW)


def test_the_map_of_modules_is_up_to_date() -> None:
    """The architecture page names every module, by its docstring."""
    make = runpy.run_path(str(ROOT / "docs/make_modules.py"))
    page = (ROOT / "docs/develop/architecture.md").read_text("utf-8")
    assert make["updated"](page) == page, "run: python docs/make_modules.py"


def test_no_file_is_longer_than_500_lines() -> None:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in ("build", "node_modules")]
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            assert path.read_bytes().count(b"\n") <= 500, path


#: What may use an exception that is not ours: it says in words what is wrong.
_WORDING = {
    "in_full",
    "reason_of",
    "to_do",
    "fault_of",
    "internal_error",
    "cannot_read",
    "cannot_write",
    "message_of",
    "_refused",
    "_missing",
}


def foreign_exceptions_shown(source: str) -> list[int]:
    """Lines of a module that show the text of an exception of Python or of a library to the user."""
    found = []
    for handler in ast.walk(ast.parse(source)):
        if not isinstance(handler, ast.ExceptHandler) or handler.name is None or handler.type is None:
            continue
        kinds = {ast.unparse(one) for one in getattr(handler.type, "elts", [handler.type])}
        if kinds <= OURS:
            continue
        for node in ast.walk(handler):
            shown: list[ast.expr] = []
            if isinstance(node, ast.FormattedValue):
                shown = [node.value]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) not in _WORDING | {"isinstance"}:
                shown = [*node.args, *(keyword.value for keyword in node.keywords)]
            elif isinstance(node, ast.Attribute) and node.attr in ("strerror", "args"):
                shown = [node.value]
            found += [node.lineno for one in shown if isinstance(one, ast.Name) and one.id == handler.name]
    return found


#: Exceptions whose text is written for users.
OURS = {"ConversionError", "MissingPackage", "Conflict", "NotComputed", "Malformed", "_Invalid"}


def test_no_message_has_the_text_of_a_foreign_exception() -> None:
    found = {path: lines for path in SOURCES if (lines := foreign_exceptions_shown(path.read_text("utf-8")))}
    assert not found


def test_a_foreign_exception_in_a_message_is_seen() -> None:
    code = "try:\n    pass\nexcept {} as error:\n    raise ConversionError({}) from error\n"
    for shown in ("f'x {error}'", "'x', value=error", "'x', str(error)", "'x', value=repr(error)", "error.strerror"):
        assert foreign_exceptions_shown(code.format("ValueError", shown)) == [4]
    assert not foreign_exceptions_shown(code.format("ValueError", "'x', value=reason_of(error)"))
    assert not foreign_exceptions_shown(code.format("ConversionError", "str(error)"))


def python_forms_shown(source: str) -> list[int]:
    """Lines of a module that put a value into a text as Python writes it."""
    nodes = [*ast.walk(ast.parse(source))]
    texts = [node for node in nodes if isinstance(node, ast.FormattedValue)]
    found = [text.lineno for text in texts if text.conversion == ord("r") or "repr(" in ast.unparse(text.value)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return found + [call.lineno for call in calls if any(ast.unparse(one) == "repr" for one in call.args)]


def test_messages_have_values_in_words_and_not_as_python_writes_them() -> None:
    assert python_forms_shown("x = f'a {b!r} {repr(c)} {d!s}' + map(repr, e)") == [1, 1, 1]
    sources = [*SOURCES, *API, *(ROOT / "blender_extension").rglob("*.py")]
    found = {path.name: lines for path in sources if (lines := python_forms_shown(path.read_text("utf-8")))}
    assert set(found) == {"__init__.py"}  # an AttributeError of the package itself
    values = [True, None, [1.5, None], {"a": False}, b"\xff", "it's\n", np.float32(0.5), np.arange(2)]
    said = ["true", "null", "[1.5, null]", '{"a": false}', "'ÿ'", "'it's\\n'", "0.5", "[0, 1]"]
    assert list(map(in_words, values)) == said
    assert [called(name) for name in ("hull", "a\nb", "", None)] == ["'hull'", "'a\\nb'", *["without a name"] * 2]
