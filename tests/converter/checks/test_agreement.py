"""Checks and conversion agree, in both directions: over all corruptions and inputs of the fuzzer.

What a mode of ``msh-inspect --check`` lets pass converts in that mode; what conversion refuses has
an error, under the code of the refusal.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Mode
from msh_gltf.converter.pipeline.check import Checked, check_file
from msh_gltf.converter.pipeline.dispatch import gltf_files, load_file
from msh_gltf.converter.pipeline.options import ExportOptions
from tests.fuzz.__main__ import REGRESSIONS, TARGETS
from tests.support.corruption import CATALOGUE
from tests.support.corruption.base import Corruption

MODES: tuple[Mode, ...] = ("default", "strict", "tolerant")
KINDS = [kind for kind in CATALOGUE if kind.format in ("model", "file", "terrain", "areal map")]
#: Targets of the fuzzer whose inputs are models, terrains and areal maps; inputs made of each.
FUZZED = {"model_out": 150, "terrain_out": 100, "areal_out": 100}


def require_agreement(path: Path, mode: Mode) -> None:
    """Fail where the check and the conversion of a file that is one item disagree."""
    (checked,) = of_file(path)
    fails = [finding for finding in checked.findings if finding.rule.fails(mode)]
    refusal = refused(path, mode)
    if refusal is None:
        assert not fails, f"{mode}: converts, though the check finds {fails[0].code}: {fails[0]}"
        return
    assert fails, f"{mode}: the check finds nothing, conversion says: {refusal} ({refusal.code})"
    if refusal.code is None:  # a model without its tables is taken for an archive of others
        assert refusal.problem == "archive holds no core model"
    else:
        assert refusal.code in {finding.code for finding in fails}, (refusal, fails)


def refused(path: Path, mode: Mode) -> ConversionError | None:
    """What conversion says where it refuses a file."""
    options = ExportOptions(find_textures=False, mode=mode)
    try:
        with np.errstate(all="ignore"):
            gltf_files(load_file(path, None, options), path.with_suffix(".glb"), options)
    except ConversionError as error:
        return error
    return None


def of_file(path: Path) -> list[Checked]:
    """What the check says of the file itself, known to be a model or a map."""
    return [c for c in check_file(path, path.name, known=True) if c.entry is None]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_corruptions(kind: Corruption, mode: Mode, tmp_path: Path) -> None:
    for case in kind.make(tmp_path):
        require_agreement(case.path, mode)
        break  # one sample: all of them are checked and converted by test_corruptions


def inputs(name: str) -> Iterator[bytes]:
    """Seeds, regressions, and what the fuzzer makes of the seeds."""
    target = TARGETS[name]
    seeds = target.seeds()
    yield from seeds
    yield from (path.read_bytes() for path in sorted((REGRESSIONS / name).glob("*.bin")))
    chance = random.Random(f"agreement {name}")
    for _ in range(FUZZED[name]):
        yield target.mutate(chance, chance.choice(seeds), seeds)


@pytest.mark.parametrize("name", FUZZED)
def test_fuzzed(name: str, tmp_path: Path) -> None:
    suffix = "map" if name == "areal_out" else "msh"
    for number, data in enumerate(inputs(name)):
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(data)
        for mode in MODES:
            require_agreement(path, mode)
