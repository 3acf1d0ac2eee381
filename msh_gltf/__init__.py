"""Models of *Parkan: Iron Strategy* to glTF 2.0 and back, without loss.

The package holds three others: ``msh_gltf.importers`` (bytes to data), ``msh_gltf.exporters`` (data
to bytes) and ``msh_gltf.converter`` (the data, and what happens to it).
"""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
if not (_HERE / "converter").is_dir():
    # A checkout: the three packages lie beside this folder, not in it as in a wheel. With the
    # folder above in __path__ Python finds them there, under the one name that they have, so that
    # a checkout on sys.path (pytest, Python for Windows, PYTHONPATH) works without installation.
    __path__.append(str(_HERE.parent))

from .converter import __version__  # noqa: E402 (Python finds it only now)

__all__ = ["__version__"]
