"""What ``python3 dev.py release`` refuses, and that its files do not say when they were made."""

import hashlib
import io
import random
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import release
from blender_extension import build
from msh_gltf.converter import __version__

ROOT = Path(__file__).parent.parent
FILES = {"CHANGELOG.md": f"## [{__version__}] - 2026-11-22\n", "a.py": "a = 1\n", "b.py": ""}


def tar(seed: int, files: dict[str, str]) -> bytes:
    """As setuptools makes them: in any order, at any time, by anybody."""
    chance, out = random.Random(seed), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as made:
        for name in chance.sample(sorted(files), len(files)):
            info = tarfile.TarInfo(f"m/{name}")
            info.size, info.mtime, info.uid = len(files[name]), chance.random() * 1e9, seed
            info.uname, info.mode = f"user{seed}", chance.choice([0o600, 0o644, 0o664])
            made.addfile(info, io.BytesIO(files[name].encode()))
    return out.getvalue()


def test_repacked() -> None:
    one, other = (release.repacked(tar(seed, FILES), 1_000_000_000) for seed in (1, 2))
    assert one == other
    with tarfile.open(fileobj=io.BytesIO(one)) as made:
        kept = {m.name: made.extractfile(m).read().decode() for m in made.getmembers()}
    assert kept == {f"m/{name}": text for name, text in FILES.items()}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small one that is ready."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for step in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *step], cwd=tmp_path, check=True)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "SDIST", tmp_path.with_suffix(".tar.gz"))
    monkeypatch.setattr(release, "WHEEL", tmp_path.with_suffix(".whl"))
    return tmp_path


def test_what_is_not_committed_is_not_released(repository: Path) -> None:
    release.require_ready()
    (repository / "c.py").touch()
    with pytest.raises(release.ReleaseError, match=r"not committed: 1 file: \?\? c\.py"):
        release.require_ready()


@pytest.mark.parametrize("line", ["## [Unreleased]", "## [0.0.9] - 2026-11-22", "[{}] - 2026"])
def test_a_version_without_changes_is_not_released(line: str, repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text(line.format(__version__), "utf-8")
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "b"], cwd=repository, check=True
    )
    with pytest.raises(release.ReleaseError, match="has no section"):
        release.require_ready()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"b.py": None}, "lacks 1 file: b.py"),
        ({"c.py": ""}, "should not hold 1 file: c.py"),
        ({"a.py": "a = 2\n"}, "has another a.py"),
    ],
)
def test_an_sdist_is_the_repository(change: dict[str, str | None], said: str | None, repository: Path) -> None:
    files = {name: text for name, text in (FILES | change).items() if text is not None}
    release.SDIST.write_bytes(tar(1, files | {"PKG-INFO": "", "msh_gltf.egg-info/SOURCES": ""}))
    if said is None:
        release.check_sdist()
        return
    with pytest.raises(release.ReleaseError, match=said):
        release.check_sdist()


def test_a_wheel_without_a_module_is_found(repository: Path) -> None:
    (repository / "converter").mkdir()
    for name in ("a.py", "b.py"):
        (repository / "converter" / name).touch()
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    with zipfile.ZipFile(release.WHEEL, "w") as wheel:
        wheel.writestr("msh_gltf/converter/a.py", "")
        wheel.writestr("m.dist-info/RECORD", "")
    with pytest.raises(release.ReleaseError, match=r"lacks 1 file: msh_gltf/converter/b\.py"):
        release.check_wheel()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files, ""),
        (lambda files: dict.fromkeys(files, b"PK, other bytes"), "has another "),
        (lambda files: files | {"wheels/more-1-py3-none-any.whl": b""}, "should not hold 1 file"),
        (lambda files: {}, "lacks 1 file"),
    ],
)
def test_another_wheel_in_the_extension_is_found(
    change: Callable[[dict[str, bytes]], dict[str, bytes]], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hashes of ``wheels.toml`` are those of the very files that are given out."""
    data = b"PK, a wheel"
    wheel = build.Wheel("one-1-py3-none-any.whl", hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(release, "wheels", lambda: [wheel])
    monkeypatch.setattr(release, "EXTENSION", tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("blender_manifest.toml", f'version = "{__version__}"\n')
        for name, content in change({f"wheels/{wheel.file}": data}).items():
            out.writestr(name, content)
    if not said:
        release.check_extension()
        return
    with pytest.raises(release.ReleaseError, match=said):
        release.check_extension()


def test_this_version_has_its_changes() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## [{__version__}] - " in text
    assert "\n## [Unreleased]\n" in text
