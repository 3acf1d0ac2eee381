"""Build what a version consists of, and check it: ``python3 dev.py release``; docs/release.md.

Wheel and sdist are built from the commit, not from the folder, and every file has the commit's
time: the same commit gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import environments
from blender_extension.build import wheels
from msh_gltf.converter import __version__
from msh_gltf.converter.errors import plural

ROOT = Path(__file__).resolve().parent
DIST = ROOT / "dist"
PACKAGES = ("msh_gltf/", "converter/", "exporters/", "importers/")
STEM = f"msh_gltf-{__version__}"
WHEEL = DIST / f"{STEM}-py3-none-any.whl"
SDIST = DIST / f"{STEM}.tar.gz"
EXTENSION = DIST / f"{STEM}.zip"
SITE = DIST / f"{STEM}-site.zip"


class ReleaseError(Exception):
    """What stopped the release, in one line."""


def main() -> int:
    """Build and check all files; return an exit code."""
    try:
        require_ready()
        environments.newest_blender_is_tested()
        os.umask(0o022)  # a wheel says who may read its files
        os.environ["SOURCE_DATE_EPOCH"] = git("log", "-1", "--format=%ct").strip()
        for path in DIST.glob("msh_gltf-*"):
            path.unlink()
        DIST.mkdir(exist_ok=True)
        build_packages()
        run([sys.executable, "dev.py", "extension"])
        run([sys.executable, "dev.py", "docs"])
        add_gallery()
        pack_site()
        check_wheel()
        check_sdist()
        check_extension()
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in (WHEEL, SDIST, EXTENSION, SITE):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes, checked")
    return 0


def require_ready() -> None:
    """Require that everything is committed and that the changes name the version.

    Raises:
        ReleaseError: one of them is not so.
    """
    if changed := git("status", "--porcelain").splitlines():
        count = plural(len(changed), "file")
        raise ReleaseError(f"not committed: {count}: {changed[0].strip()}, ...")
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.M):
        raise ReleaseError(f"CHANGELOG.md has no section '## [{__version__}] - DATE'")


def git(*arguments: str) -> str:
    """Return the output of a git command.

    Raises:
        ReleaseError: git is missing, or this is not a repository.
    """
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        raise ReleaseError(f"git {arguments[0]}: {error}") from None
    return done.stdout


def run(command: Sequence[str | Path], cwd: Path = ROOT) -> None:
    """Run a step.

    Raises:
        ReleaseError: it failed.
    """
    print("\n$ " + " ".join(map(str, command)), flush=True)
    if subprocess.run(command, cwd=cwd, check=False).returncode:
        raise ReleaseError(f"{Path(command[-1]).name} failed")


def build_packages() -> None:
    """Build wheel and sdist of the commit, and look for what a wheel should not hold."""
    needed = ["build>=1.2,<2", "check-wheel-contents>=0.6.2,<1", "setuptools>=77,<90"]
    needed += ["twine>=6,<7", "readme_renderer[md]>=44,<46"]
    python = environments.install(ROOT / ".venv-release", needed, " ".join(needed))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        data = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as commit:
            commit.extractall(source, filter="data")
        run([python, "-m", "build", "--no-isolation", "--outdir", folder, source])
        shutil.copy(Path(folder) / WHEEL.name, WHEEL)
        SDIST.write_bytes(repacked((Path(folder) / SDIST.name).read_bytes(), epoch()))
    run([python, "-m", "check_wheel_contents", WHEEL])
    run([python, "-m", "twine", "check", "--strict", WHEEL, SDIST])


def epoch() -> int:
    """Return the time of the commit, in seconds since 1970."""
    return int(os.environ["SOURCE_DATE_EPOCH"])


def repacked(data: bytes, when: int) -> bytes:
    """Return a ``.tar.gz`` without the time, the user and the order in which it was made."""
    out = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w") as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            if member.isfile():
                info = tarfile.TarInfo(member.name)
                info.size, info.mtime = member.size, when
                info.mode = 0o755 if member.mode & 0o100 else 0o644
                new.addfile(info, old.extractfile(member))
    return out.getvalue()


def add_gallery() -> None:
    """Draw the example gallery of the site, with an environment that can.

    Raises:
        ReleaseError: it has no pictures.
    """
    python = environments.environment(["preview"], ROOT / ".venv-preview")
    run([python, "docs/make_gallery.py", "site"])
    if not any((ROOT / "site/gallery-example").rglob("*.png")):
        raise ReleaseError("the example gallery of the site has no pictures")
    run([python, "docs/check_links.py", "site"])


def pack_site() -> None:
    """Pack the built site into one zip, all in one folder."""
    moment = time.gmtime(epoch())[:6]
    site = ROOT / "site"
    with zipfile.ZipFile(SITE, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(path for path in site.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(f"{SITE.stem}/{path.relative_to(site).as_posix()}", moment)
            info.external_attr = 0o644 << 16
            out.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


def require_same(names: set[str], wanted: set[str], what: Path) -> None:
    """Require that a file holds the wanted files and no others.

    Raises:
        ReleaseError: it lacks one, or has one too many.
    """
    for extra, words in ((names - wanted, "should not hold"), (wanted - names, "lacks")):
        if extra:
            count = plural(len(extra), "file")
            raise ReleaseError(f"{what.name} {words} {count}: {min(extra)}, ...")


def check_wheel() -> None:
    """Require that the wheel holds one package, and that its commands work once installed.

    Raises:
        ReleaseError: another list of files, or a command that fails.
    """
    with zipfile.ZipFile(WHEEL) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    tracked = git("ls-files", "-z", *PACKAGES).split("\0")
    # three of the packages lie at the top of the repository, and below msh_gltf/ in a wheel
    wanted = {f"msh_gltf/{name.removeprefix('msh_gltf/')}" for name in tracked if name}
    manual = f"{STEM}.data/data/share/man/man1"
    wanted |= {f"{manual}/{path.name}" for path in (ROOT / "docs/man").glob("*.1")}
    require_same(names, wanted, WHEEL)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        commands = environments.scripts(environments.install(here / "venv", [str(WHEEL)], WHEEL.name))
        shutil.copy(ROOT / "examples/walker.msh", here / "walker.msh")
        for step in (
            ["python", "-m", "msh_gltf"],
            ["msh-inspect", "--version"],
            ["msh-inspect", "--check", "walker.msh"],
            ["msh2gltf", "walker.msh", "-o", "out/walker.glb"],
            ["gltf2msh", "out/walker.glb", "-o", "back/walker.msh"],
        ):
            run([commands / step[0], *step[1:]], cwd=here)
        if (here / "back/walker.msh").read_bytes() != (here / "walker.msh").read_bytes():
            raise ReleaseError("the installed wheel does not restore the example")


def check_sdist() -> None:
    """Require that the sdist is the repository, file by file.

    Raises:
        ReleaseError: it is not.
    """
    made = {"PKG-INFO", "setup.cfg"}
    tracked = {name for name in git("ls-files", "-z").split("\0") if name}
    with tarfile.open(SDIST) as sdist:
        files = {m.name.partition("/")[2]: m for m in sdist.getmembers()}
        names = {n for n in files if n not in made and not n.startswith("msh_gltf.egg-info/")}
        require_same(names, tracked, SDIST)
        for name in sorted(tracked):
            packed = sdist.extractfile(files[name])
            if packed is None or packed.read() != (ROOT / name).read_bytes():
                raise ReleaseError(f"{SDIST.name} has another {name}")


def check_extension() -> None:
    """Require that the extension names this version, and holds the pinned wheels and no others.

    Raises:
        ReleaseError: it names another, or a wheel is not the one of ``wheels.toml``.
    """
    with zipfile.ZipFile(EXTENSION) as extension:
        manifest = extension.read("blender_manifest.toml").decode()
        found = {
            name.removeprefix("wheels/"): hashlib.sha256(extension.read(name)).hexdigest()
            for name in extension.namelist()
            if name.startswith("wheels/")
        }
    if f'\nversion = "{__version__}"\n' not in f"\n{manifest}":
        raise ReleaseError(f"{EXTENSION.name} has another version")
    pinned = {wheel.file: wheel.sha256 for wheel in wheels()}
    require_same(set(found), set(pinned), EXTENSION)
    for name, digest in sorted(found.items()):
        if digest != pinned[name]:
            raise ReleaseError(f"{EXTENSION.name} has another {name} than wheels.toml names")


def audit() -> int:
    """Ask whether packages that users get have known vulnerabilities; return an exit code.

    The wheels of the extension, and what pip installs beside the project with all its extras.
    What cannot be looked up counts as a failure.
    """
    needed = ["pip-audit>=2.7,<3"]
    project = environments.project()
    extras = project["optional-dependencies"]
    names = re.findall(r"\w+", extras["all"][0].partition("[")[2])
    installed = [*project["dependencies"], *(one for name in names for one in extras[name])]
    python = environments.install(ROOT / ".venv-audit", needed, " ".join(needed))
    command = [python, "-m", "pip_audit", "--strict", "--progress-spinner", "off"]
    with tempfile.TemporaryDirectory() as folder:
        ours, pinned = Path(folder) / "installed.txt", Path(folder) / "wheels.txt"
        ours.write_text("\n".join(installed), "utf-8")
        versions = {wheel.requirement.split()[0] for wheel in wheels()}
        pinned.write_text("\n".join(sorted(versions)), "utf-8")
        try:
            run([*command, "--no-deps", "--disable-pip", "--requirement", pinned])
            run([*command, "--requirement", ours])
        except ReleaseError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(audit() if sys.argv[1:] == ["--audit"] else main())
