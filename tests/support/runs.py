"""Run the commands as a user does, and other helpers that several tests share."""

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, nullcontext, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.formats.model import TABLES
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.game import workers
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.options import ExportOptions
from msh_gltf.converter.storage import write_outputs
from tests.support.corpus import Sample

SCRIPTS = Path(sys.executable).parent


def convert(source: Path, target: Path, *, entry: str | None = None, **options: Any) -> Path:
    """The glTF of a file, or of an entry of an archive, written with its sidecar and pictures, without a command."""
    given = ExportOptions(**options)
    write_outputs(load_file(source, entry, given).files(target, given), force=True)
    return target


def run(command: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Run one of the project's commands in this process; what it prints and its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd) if cwd else nullcontext():
        code = call(getattr(cli, command.replace("-", "_")), *arguments)
    said = (stream.detach().getvalue().decode().replace(os.linesep, "\n") for stream in (out, err))
    return subprocess.CompletedProcess([command, *map(str, arguments)], code, *said)


def run_apart(command: str, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """The same in a process of its own."""
    return process(SCRIPTS / command, *arguments, cwd=cwd)


def python(*words: object, cwd: Path | None = None, **settings: str) -> subprocess.CompletedProcess:
    """Run a script, ``-c`` or ``-m`` in a process of its own; ``settings``: of its environment."""
    return process(sys.executable, *words, cwd=cwd, env=os.environ | settings)


def process(*words: object, **options: Any) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, encoding="utf-8", check=False, **options)


def call(function, *arguments: object) -> int:
    """Call a command's entry point in this process; returns the exit code.

    What it would give to other processes is done here as well, where mutants and debuggers see it, unless it is told
    to start several (``-j 2``), or draws, which may end a process.
    """
    words = [str(argument) for argument in arguments]
    several = any(first in ("-j", "--jobs") and second != "1" for first, second in pairwise(words))
    with nullcontext() if several or "--thumbnails" in words else mock.patch.multiple(workers, **_ALONE):
        try:
            function(words)
        except SystemExit as stop:
            return stop.code or 0
    return 0


def _run_alone(function: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[tuple[int, Any]]:
    """Do what worker processes would do, with all that would go to them and come back on the way."""
    for at, task in enumerate(tasks):
        yield at, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(task)))))


_ALONE = {"run_here": _run_alone, "start_server": lambda module: None}


def to_gltf(sample: Sample, target: Path, *options: object) -> Path:
    """``msh2gltf`` on a sample, in its true dialect; returns the target."""
    from msh_gltf.converter.cli import msh2gltf

    code = call(
        msh2gltf, sample.path, *sample.entry_option, "-o", target, "--quiet", "--dialect", sample.dialect, *options
    )
    assert code == 0
    return target


def first_difference(a: bytes, b: bytes) -> str | None:
    """Where a model's bytes ``b`` differ first from ``a``: entry, row and field, in words."""
    if a == b:
        return None
    short = min(len(a), len(b))
    at = next((i for i in range(short) if a[i] != b[i]), short)
    place = f"byte {at:#x} of {len(a)} (now {len(b)})"
    archive = read_nres(a, "original")
    directory = archive.total_size - 64 * len(archive.entries)
    if at >= directory:
        return f"{place}: directory row {(at - directory) // 64}, byte +{(at - directory) % 64}"
    for entry in archive.entries:
        within = at - entry.data_offset
        if 0 <= within < entry.size:
            spec = TABLES.get(entry.type_id)
            dtype = spec.dtype if spec else None
            if spec is None or dtype is None:
                return f"{place}: entry {entry.name}, byte +{within}"
            row, byte = divmod(within, dtype.itemsize)
            fields = dtype.fields or {}
            field = max((o, f) for f, (_, o) in fields.items() if o <= byte)[1] if fields else byte
            return f"{place}: {spec.label}, row {row}, field {field}"
    return f"{place}: no entry covers it"


def require(condition: object, reason: str) -> None:
    """Skip visibly."""
    if not condition:
        pytest.skip(reason)
