"""Set everything up and run it. Needs Python 3.11 or newer, nothing else.

    python3 dev.py demo         convert the bundled example both ways, and say where the files are
    python3 dev.py test         style, types, and all tests (arguments after it go to pytest;
                                --windows also tests CPython for Windows, under wine;
                                --all that, and every Blender and Python that can be had;
                                --explore lets Hypothesis look for new examples)
    python3 dev.py mutants converter/rebuild   change the product at random: does a test notice? (--count 100)
    python3 dev.py extension    the Blender extension: dist/msh_gltf-VERSION.zip
    python3 dev.py docs         the site, strictly built into site/ (--serve: shown while you write)
    python3 dev.py release      wheel, sdist, extension and site into dist/, checked
    python3 dev.py audit        known vulnerabilities of the packages that users get (pip-audit)

All but ``extension`` make their own virtual environments beside this file; nothing touches the
system's Python.
``test`` also installs Blender's ``bpy`` and Node's packages where it can; where it cannot, the
tests that need them are skipped and say so.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

#: The oldest Python that runs the project; an older one gets as far as the advice below.
OLDEST = (3, 11)


def advice():
    """Return what to do where this Python is too old: take one that is there, or get one."""
    text = f"dev.py needs Python 3.11 or newer; this is {sys.version.split()[0]}"
    arguments = " ".join(sys.argv[1:] or ["demo"])
    for number in range(OLDEST[1] + 3, OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{number}")
        if found and not subprocess.call([found, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            return f"{text}\nThis computer has a newer one: {found} dev.py {arguments}"
    return text + (
        "\nGet one from https://www.python.org/downloads, or let uv (https://docs.astral.sh/uv) bring it:"
        f"\n  uv run --no-project --python 3.13 dev.py {arguments}"
    )


if sys.version_info < OLDEST:
    print(advice())
    sys.exit(2)

import environments  # noqa: E402
from environments import HERE, scripts  # noqa: E402

#: Where mypy finds the packages as they are installed, below one name.
TYPES = HERE / "build" / "types" / "msh_gltf"
#: What Node runs: the glTF validator, the compiler of Kaitai Struct, and what the gallery's viewer is built with.
NODE_FOLDERS = (HERE / "tests" / "validator", HERE / "tests" / "kaitai", HERE / "viewer")
#: On all cores, a file in one piece: its tests share what they set up. The slowest are listed.
PYTEST = ["-m", "pytest", "-n", "auto", "--dist", "loadfile", "--durations", "20"]
#: Whole games with recorded truth, where they lie beside the project: the gate has every eighth model of theirs,
#: and ``--all`` every one, once.
CORPUS = HERE.parent / "shared" / "corpus"
#: What every Blender is tested with, and every Python.
BLENDER_TESTS = [f"tests/blender/test_{n}.py" for n in ("roundtrip", "extension")]
LIBRARY_TESTS = ["tests/msh_gltf", "tests/converter", "tests/importers", "tests/exporters"]


def main() -> int:
    command, *more = sys.argv[1:] or ["help"]
    if command == "demo":
        return demo()
    if command == "test":
        return test(more)
    if command == "mutants":
        return run(environments.newest_python(), ["-m", "tests.mutants", *more], dict(os.environ))
    if command == "extension":
        return subprocess.run([sys.executable, "-m", "blender_extension.build"], cwd=HERE, check=False).returncode
    if command == "docs":
        return docs(serve="--serve" in more)
    if command in ("release", "audit"):
        options = ["--audit"] if command == "audit" else []
        done = subprocess.run([sys.executable, "release.py", *options], cwd=HERE, check=False)
        return done.returncode
    print(__doc__)
    return 0 if command in ("help", "-h", "--help") else 2


def demo() -> int:
    """One model to glTF and back, then compared byte by byte."""
    python = environments.environment([])
    shutil.rmtree(HERE / "demo", ignore_errors=True)
    model, gltf, back = "examples/walker.msh", "demo/walker.glb", "demo/walker.msh"
    for command in (["msh-inspect", model], ["msh2gltf", model, "-o", gltf], ["gltf2msh", gltf, "-o", back]):
        print("\n$ " + " ".join(command), flush=True)
        job = [scripts(python) / command[0], *command[1:]]
        code = subprocess.run(job, cwd=HERE, check=False).returncode
        if code:
            return code
    same = (HERE / model).read_bytes() == (HERE / back).read_bytes()
    print(f"\n{back} is {'byte-identical to' if same else 'NOT the same as'} {model}")
    print(f"Open {gltf} in Blender (File > Import > glTF) or any glTF viewer.")
    activate = ". .venv/bin/activate"
    if os.name == "nt":
        activate = (
            ".venv\\Scripts\\Activate.ps1 (PowerShell; where it refuses scripts, first "
            "Set-ExecutionPolicy -Scope Process Bypass), or .venv\\Scripts\\activate.bat (cmd)"
        )
    print(f"To use the commands in this terminal: {activate}")
    return 0 if same else 1


def test(arguments: list[str]) -> int:
    """Everything that the gate checks."""
    everything, windows = "--all" in arguments, "--windows" in arguments
    settings = dict(os.environ)
    if "--explore" in arguments:
        settings["HYPOTHESIS_PROFILE"] = "explore"
    arguments = [one for one in arguments if one not in ("--all", "--windows", "--explore")]
    python = environments.environment(["test"])
    blenders = environments.blenders(every=everything)
    if "5.0" in blenders:
        settings["MSH_GLTF_BLENDER_PYTHON"] = str(blenders["5.0"])
    found = environments.windows_python(install_it=windows or everything)
    if found:
        settings["MSH_GLTF_WINDOWS_PYTHON"] = str(found)
    if CORPUS.is_dir() and "MSH_GLTF_CORPUS" not in settings:
        settings |= {"MSH_GLTF_CORPUS": str(CORPUS), "MSH_GLTF_CORPUS_EVERY": "8"}
    install_node_packages()
    link_packages()
    for step in (["-m", "ruff", "check", "."], ["-m", "ruff", "format", "--check", "."], ["-m", "mypy"]):
        code = run(python, step, settings)
        if code:
            return code
    # one test is found faster in one process; a choice by marker is nearly all of them
    chosen = [*(PYTEST if not arguments or "-m" in arguments else PYTEST[:2]), *arguments]
    runs = [("Every test", python, chosen, settings | ({"MSH_GLTF_CORPUS_EVERY": "1"} if everything else {}))]
    runs += [
        (f"Blender {version}", python, PYTEST + BLENDER_TESTS, settings | {"MSH_GLTF_BLENDER_PYTHON": str(blender)})
        for version, blender in (blenders.items() if not arguments else ())
        if version != "5.0"
    ]
    if everything:
        environments.newest_blender_is_tested()
        pythons = environments.other_pythons()
        runs += [(f"Python {version}", other, PYTEST + LIBRARY_TESTS, settings) for version, other in pythons]
    codes, results = [], ""
    for title, interpreter, step, environment in runs:
        print(f"\n{title}", end="")
        began = time.monotonic()
        codes.append(run(interpreter, step, environment))
        minutes = (time.monotonic() - began) / 60
        results += f"\n{title}: {'failed' if codes[-1] else 'passed'} in {minutes:.1f} minutes"
    print(results)
    return max(codes)


def run(python: Path, arguments: list[str], settings: dict[str, str]) -> int:
    """Run a Python, its command shown first; return the exit code."""
    print("\n$ python " + " ".join(arguments), flush=True)
    return subprocess.run([python, *arguments], cwd=HERE, env=settings, check=False).returncode


def docs(*, serve: bool) -> int:
    """The site, and every link of it looked at; or a server that follows what is written."""
    wanted = environments.project()["optional-dependencies"]["docs"]
    python = environments.install(environments.DOCS_VENV, wanted, " ".join(wanted))
    settings = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    own = scripts(environments.VENV) / python.name
    steps: list[list[str | Path]] = [
        [python, "-m", "mkdocs", "build", "--strict"],
        # the project's own environment can draw, if there is one
        [own if own.exists() else python, "docs/make_gallery.py", "site"],
        [python, "docs/check_links.py", "site"],
    ]
    if serve:
        steps = [[python, "-m", "mkdocs", "serve", "--no-strict", "--livereload"]]
    for step in steps:
        code = subprocess.run(step, cwd=HERE, env=settings, check=False).returncode
        if code:
            return code
    return 0


def link_packages() -> None:
    """Lay links to the packages below one name, as they are installed, for mypy.

    mypy does not run ``msh_gltf/__init__.py``, which shows Python the packages beside it.
    """
    TYPES.mkdir(parents=True, exist_ok=True)
    packages = [HERE / name for name in ("converter", "importers", "exporters")]
    for place in [*(HERE / "msh_gltf").glob("*.py"), *packages]:
        link = TYPES / place.name
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(place, target_is_directory=place.is_dir())


def install_node_packages() -> None:
    """Install the Khronos validator, Kaitai Struct's compiler and the viewer's packages, where Node is present."""
    npm = shutil.which("npm")
    for folder in NODE_FOLDERS:
        if npm is None or (folder / "node_modules").is_dir():
            continue
        name = folder.relative_to(HERE)
        print(f"Installing what {name} needs ...", flush=True)
        command = "ci" if (folder / "package-lock.json").is_file() else "install"
        code = subprocess.run(
            [npm, command, "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=False
        ).returncode
        if code:
            print(f"no tests of {name}: npm could not install its packages")


if __name__ == "__main__":
    sys.exit(main())
