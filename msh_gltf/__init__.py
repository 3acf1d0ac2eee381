"""Models of *Parkan: Iron Strategy* to glTF 2.0 and back, without loss.

The names below are the library; each is loaded when it is first used, so that ``import msh_gltf``
takes a few milliseconds. Everything that a user can cause is raised as :class:`ConversionError`.

The package holds three others, which these names come from: ``msh_gltf.importers`` (foreign formats
to data), ``msh_gltf.exporters`` (data to foreign formats) and ``msh_gltf.converter`` (the game's
files, and what happens to them). ``python -m msh_gltf`` lists the commands.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

_HERE = Path(__file__).resolve().parent
if not (_HERE / "converter").is_dir():
    # A checkout: the three packages lie beside this folder, not in it as in a wheel. With the
    # folder above in __path__ Python finds them there, under the one name that they have, so that
    # a checkout on sys.path (pytest, Python for Windows, PYTHONPATH) works without installation.
    __path__.append(str(_HERE.parent))

from .converter import __version__  # noqa: E402 (Python finds it only now)

if TYPE_CHECKING:
    from .api import (
        check,
        convert_directory,
        open_archive,
        read_areal_map,
        read_models,
        read_msh,
        read_terrain,
        restore_directory,
        write_libraries,
        write_msh,
    )
    from .converter.errors import ConversionError
    from .converter.findings import Change, Finding, NotApplied
    from .converter.formats.areal_map import ArealMap
    from .converter.formats.model import MshModel
    from .converter.formats.nres import Archive, Entry
    from .converter.formats.terrain import Terrain
    from .converter.game.manifest import Outcome, Run
    from .converter.kinds.check import Checked
    from .converter.kinds.dispatch import Level, load_level
    from .converter.kinds.import_result import ImportResult
    from .converter.options import ExportOptions, ImportOptions
    from .converter.queries.landscape import TerrainQueries, areal_at, shortest_path
    from .converter.queries.model import neighbours, pick, posed_matrices, slot_for, walk_triangles, world_bounds
    from .converter.scene.dialect import Decision, Dialect, decide
    from .objects import ExportResult, Glb, export_gltf, import_gltf, to_glb, to_pygltflib, to_trimesh

#: Ranked: what most users need comes first.
__all__ = [  # noqa: RUF022 (ranked, not sorted)
    "read_msh",
    "export_gltf",
    "import_gltf",
    "write_msh",
    "write_libraries",
    "ConversionError",
    "convert_directory",
    "restore_directory",
    "check",
    "read_models",
    "open_archive",
    "to_glb",
    "to_pygltflib",
    "to_trimesh",
    "read_terrain",
    "read_areal_map",
    "load_level",
    "ExportOptions",
    "ImportOptions",
    "ExportResult",
    "Glb",
    "ImportResult",
    "Change",
    "NotApplied",
    "Run",
    "Outcome",
    "Checked",
    "Finding",
    "MshModel",
    "Terrain",
    "ArealMap",
    "Level",
    "Archive",
    "Entry",
    "decide",
    "Decision",
    "Dialect",
    "slot_for",
    "walk_triangles",
    "neighbours",
    "world_bounds",
    "posed_matrices",
    "pick",
    "TerrainQueries",
    "areal_at",
    "shortest_path",
    "__version__",
]

#: Where each name of ``__all__`` is defined, as in the imports above (a test compares them).
_DEFINED_IN = {
    "api": "check convert_directory open_archive read_areal_map read_models read_msh read_terrain restore_directory "
    "write_libraries write_msh",
    "objects": "ExportResult Glb export_gltf import_gltf to_glb to_pygltflib to_trimesh",
    "converter.game.manifest": "Outcome Run",
    "converter.errors": "ConversionError",
    "converter.findings": "Change Finding NotApplied",
    "converter.formats.nres": "Archive Entry",
    "converter.formats.areal_map": "ArealMap",
    "converter.formats.model": "MshModel",
    "converter.formats.terrain": "Terrain",
    "converter.kinds.check": "Checked",
    "converter.kinds.dispatch": "Level load_level",
    "converter.kinds.import_result": "ImportResult",
    "converter.options": "ExportOptions ImportOptions",
    "converter.queries.model": "neighbours pick posed_matrices slot_for walk_triangles world_bounds",
    "converter.queries.landscape": "TerrainQueries areal_at shortest_path",
    "converter.scene.dialect": "Decision Dialect decide",
}

if not TYPE_CHECKING:  # a type checker would believe that every name exists

    def __getattr__(name: str) -> object:
        """Import a name of the library when it is first used."""
        for module, names in _DEFINED_IN.items():
            if name in names.split():
                value = getattr(import_module(f"{__name__}.{module}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
