"""Pass every file that an import makes, in any test, through the second reader.

The writers of ``converter/formats`` are wrapped before anything imports them. What the product writes may hold
no problem that the files which it read did not have: for each code, no more than the worst of them.
"""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from tests.second.container import Problems, archive_problems
from tests.second.level import areal_problems, terrain_problems
from tests.second.model import model_problems
from tests.second.placed import controller_problems, mission_problems, unit_problems

Check = Callable[[bytes], Problems]
FORMATS = "msh_gltf.converter.formats."
#: What files are made for the user by.
MAKERS = ("msh_gltf.converter.kinds.", "msh_gltf.converter.game.")
#: module: what reads it, what writes it, the second reader; archives first, since the others import their writer
KINDS: dict[str, tuple[str, str, Check]] = {
    "nres": ("read_nres", "write_nres", archive_problems),
    "model": ("read_nres", "write_model", model_problems),
    "terrain": ("read_nres", "write_terrain", terrain_problems),
    "areal_map": ("read_nres", "write_areal_map", areal_problems),
    "objects": ("read_unit", "write_unit", unit_problems),
    "mission": ("read_mission", "write_mission", mission_problems),
    "controller": ("read_controller", "write_controller", controller_problems),
}
#: How many of the files read last count as what a written one was made of.
REMEMBERED = 500

_read: dict[str, dict[bytes, None]] = {}
found: list[str] = []


def forget() -> None:
    """Begin a test: nothing has been read, nothing is wrong."""
    _read.clear()
    found.clear()


def judge(reader: str, check: Check, data: bytes) -> None:
    """Note what is wrong with written bytes and was not in what ``reader`` read."""
    problems = check(data)
    for old in _read.get(reader, {}) if problems else ():
        problems -= check(old)
    if problems:
        found.append(f"{check.__name__}: {dict(problems)}")


def _wrap_reader(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def read(data: Any, *args: Any, **options: Any) -> Any:
        if isinstance(data, bytes | memoryview):
            known = _read.setdefault(name, {})
            known[bytes(data)] = None
            if len(known) > REMEMBERED:
                del known[next(iter(known))]
        return original(data, *args, **options)

    return read


def _wrap_writer(reader: str, check: Check, original: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    @functools.wraps(original)
    def write(value: Any) -> bytes:
        data = original(value)
        if sys._getframe(1).f_globals.get("__name__", "").startswith(MAKERS):
            judge(reader, check, data)
        return data

    return write


def install() -> None:
    """Wrap the readers and writers."""
    places = {"read_nres": "nres", "read_unit": "objects", "read_mission": "mission", "read_controller": "controller"}
    for name, module in places.items():
        home = importlib.import_module(FORMATS + module)
        setattr(home, name, _wrap_reader(name, getattr(home, name)))
    for module, (reader, writer, check) in KINDS.items():
        home = importlib.import_module(FORMATS + module)
        setattr(home, writer, _wrap_writer(reader, check, getattr(home, writer)))
