"""Builds the extension's zip: ``python3 dev.py extension``. Needs pip and nothing else.

The zip holds the extension's own modules, the converter's beside them, and the wheels of
what the converter imports. Wheels are fetched once, checked against their hashes, and kept in
``build/wheels``. The same sources give the same zip, byte for byte.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msh_gltf.converter import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WHEELS = ROOT / "build" / "wheels"
MANIFEST = "blender_manifest.toml"
#: Packages that go into the zip as they are: inside them imports are relative.
PACKAGES = ("converter", "importers", "exporters")
#: The commands, whose click is not in the zip, and the gallery, whose VTK is not.
_LEFT_OUT = ("converter/cli/", "converter/game/gallery.py", "converter/game/thumbnails.py")
_TIME = (1980, 1, 1, 0, 0, 0)


class BuildError(Exception):
    """What stopped the build, in one line."""


@dataclass(frozen=True)
class Wheel:
    """A wheel by its file name, ``NAME-VERSION-PYTHON-ABI-PLATFORM.whl``, and its hash."""

    file: str
    sha256: str

    @property
    def requirement(self) -> str:
        """For pip: the one version, and the one file."""
        name, version = self.file.split("-")[:2]
        return f"{name}=={version} --hash=sha256:{self.sha256}"

    @property
    def platform_options(self) -> list[str]:
        """For pip: fetch it for the platform that it is made for, not for this one."""
        abi, platform = self.file.removesuffix(".whl").split("-")[3:]
        if platform == "any":
            return []
        tags = [part for tag in platform.split(".") for part in ("--platform", tag)]
        version = f"{abi[2]}.{abi[3:]}"  # cp313 is 3.13
        return [*tags, "--implementation", "cp", "--abi", abi, "--python-version", version]

    def is_in(self, folder: Path) -> bool:
        """Whether the very file lies there."""
        path = folder / self.file
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256


def main() -> int:
    """Build the zip; returns an exit code."""
    try:
        path = build(ROOT / "dist")
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {path.relative_to(ROOT)} ({path.stat().st_size / 1e6:.1f} MB)")
    print("In Blender: Edit > Preferences > Get Extensions > (arrow) > Install from Disk")
    return 0


def build(folder: Path, cache: Path = WHEELS) -> Path:
    """Make ``msh_gltf-VERSION.zip`` in a folder; returns its path. Raises BuildError: a wheel cannot be had.

    Args:
        folder: made where it is missing.
        cache: where wheels are kept.
    """
    needed = wheels()
    fetch(needed, cache)
    files = dict(sources())
    files[MANIFEST] = manifest(needed).encode()
    files["LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files |= {"ru.po": (HERE / "addon/ru.po").read_bytes(), "converter/ru.po": (ROOT / "converter/ru.po").read_bytes()}
    for wheel in needed:
        files[f"wheels/{wheel.file}"] = (cache / wheel.file).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"msh_gltf-{__version__}.zip"
    with zipfile.ZipFile(path, "w") as out:
        for name, data in sorted(files.items()):
            info = zipfile.ZipInfo(name, _TIME)
            info.external_attr = 0o644 << 16
            out.writestr(info, data)  # stored: what deflate makes depends on the machine
    return path


def sources() -> Iterator[tuple[str, bytes]]:
    """Every module of the zip by its path there."""
    addon = HERE / "addon"
    found = {path.relative_to(addon).as_posix(): path for path in sorted(addon.rglob("*.py"))}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            found[path.relative_to(ROOT).as_posix()] = path
    for name, path in found.items():
        if not name.startswith(_LEFT_OUT):
            yield name, path.read_bytes()


def manifest(needed: list[Wheel]) -> str:
    """The manifest, with the version and the wheels filled in."""
    text = (HERE / "addon" / MANIFEST).read_text("utf-8")
    listed = "".join(f'  "./wheels/{wheel.file}",\n' for wheel in needed)
    return f'version = "{__version__}"\nwheels = [\n{listed}]\n{text}'


def wheels() -> list[Wheel]:
    """What ``wheels.toml`` lists."""
    rows = tomllib.loads((HERE / "wheels.toml").read_text("utf-8"))["wheel"]
    return [Wheel(row["file"], row["sha256"]) for row in rows]


def fetch(needed: list[Wheel], cache: Path) -> None:
    """Fetch the wheels that the cache lacks; what is there is not asked for again.

    Raises BuildError: pip is missing, or cannot fetch one.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for wheel in needed:
        if wheel.is_in(cache):
            continue
        print(f"fetching {wheel.file}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            wanted = Path(folder) / "requirements.txt"
            wanted.write_text(wheel.requirement, "utf-8")
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--only-binary=:all:",
                *wheel.platform_options,
                "--dest",
                folder,
                "--requirement",
                str(wanted),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode or not wheel.is_in(Path(folder)):
                said = (done.stderr.strip().splitlines() or ["it is another file"])[-1]
                raise BuildError(f"pip cannot fetch {wheel.file}: {said}")
            (Path(folder) / wheel.file).replace(cache / wheel.file)


if __name__ == "__main__":
    sys.exit(main())
