"""What the user gave to a command, option by option; see ``--help``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..findings import Mode


@dataclass(frozen=True, eq=False, repr=False)  # nobody compares or shows it
class Given:
    """Options of both directions."""

    jobs: int | None
    fail_fast: bool
    dask: str | None
    dry_run: bool
    log_file: Path | None
    report: Path | None
    force: bool
    quiet: bool
    verbose: bool


@dataclass(frozen=True, eq=False, repr=False)  # nobody compares or shows it
class ToGltf(Given):
    """Arguments and options of ``msh2gltf``."""

    sources: tuple[Path, ...]
    output: str | None
    entry: str | None
    dialect: str
    fps: float
    lod: int
    group: int
    parts: str | None
    unit: str | None
    clips: bool
    subframes: int
    frame: float | None
    up: str | None
    keys: bool
    paths: bool
    points: bool
    game: Path | None
    textures: tuple[Path, ...]
    embed_textures: bool
    no_textures: bool
    lightmaps: str
    thumbnails: bool
    no_sidecar: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    only: tuple[str, ...]
    list_only: bool
    strict: bool
    tolerant: bool


@dataclass(frozen=True, eq=False, repr=False)  # nobody compares or shows it
class ToMsh(Given):
    """Arguments and options of ``gltf2msh``."""

    source: Path
    output: str | None
    sidecar_file: Path | None
    no_sidecar: bool
    dialect: str
    scene: str | None
    clip: str | None
    fps: float | None
    frame: float | None
    up: str | None
    no_reduce: bool
    rigid_skin: bool
    ignore_scale: bool
    generate_lods: str | None
    verify: bool
    allow_delete: bool
    require_all: bool
    game: Path | None
    in_place: bool
    like: str
    own_materials: bool
    add: bool
    tag: str | None
    texm: str | None
    mips: int | None
    into: Path | None


@dataclass(frozen=True, eq=False, repr=False)  # nobody compares or shows it
class ToInspect:
    """Arguments and options of ``msh-inspect``."""

    sources: tuple[Path, ...]
    diff: bool
    check: bool
    strict: bool
    tolerant: bool
    ignore: tuple[str, ...]
    roundtrip: bool
    uses: str | None
    explain: str | None
    entry: str | None
    dialect: str
    jobs: int | None
    as_json: bool
    quiet: bool
    verbose: bool

    @property
    def mode(self) -> Mode:
        """What ``--strict`` and ``--tolerant`` ask for."""
        return "strict" if self.strict else "tolerant" if self.tolerant else "default"
