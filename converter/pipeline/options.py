"""How a model, a terrain, an areal map, a unit or a mission is exported and imported."""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import Mode


@dataclass(frozen=True)
class ExportOptions:
    """How a model becomes glTF; see ``msh2gltf --help``.

    Attributes:
        find_textures: whether to look for the game's libraries: in the folders ``textures``, then
            in the model's own (``own_folder``).
        embed: whether pictures go into the glTF or beside it.
        lightmaps: whether they are shown.
        game: the directory of the game that units and missions are resolved in; ``None``: the
            nearest one above the file that has ``objects.rlb``.
        internal: whether units show their internal parts.
        clips: whether missions have the clips of what is placed.
        mode: what is refused; ``strict``: all that ``msh-inspect --check --strict`` reports;
            ``tolerant``: only what cannot be left out (``converter.checks.recover``).
    """

    dialect: str = "auto"
    fps: float = 24.0
    lod: int = 0
    group: int = 0
    visible_only: bool = False
    subframes: int = 1
    stored_keys: bool = False
    paths: bool = False
    points: bool = True
    textures: tuple[str, ...] = ()
    find_textures: bool = True
    own_folder: bool = True
    embed: bool = True
    lightmaps: bool = True
    game: str | None = None
    internal: bool = False
    clips: bool = False
    mode: Mode = "default"


@dataclass(frozen=True)
class ImportOptions:
    """How glTF becomes a model; see ``gltf2msh --help``.

    Attributes:
        new: the file is known to be a new model, and misses no sidecar.
        libraries: whether edited colours and pictures become edits of the game's libraries, which
            the caller writes; if not, they are reported.
        like: the material of the game that new ones are made like; empty: ``DEFAULT``.
        own_materials: whether edits of materials become copies that only this model uses.
        game: the directory of the game whose models and units can be placed; ``None``: the one that
            the glTF lies in, if any.
        new_keys: object keys that the same run adds to it.
    """

    dialect: str = "auto"
    scene: str | None = None
    clip: str | None = None
    fps: float | None = None
    rigid_skin: bool = False
    ignore_scale: bool = False
    reduce: bool = True
    verify: bool = True
    use_sidecar: bool = True
    new: bool = False
    allow_delete: bool = False
    lod_ratios: tuple[float, ...] = ()
    libraries: bool = True
    like: str = ""
    own_materials: bool = False
    game: str | None = None
    new_keys: tuple[str, ...] = ()
