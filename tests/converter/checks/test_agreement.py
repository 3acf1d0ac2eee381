"""Checks and conversion agree, in both directions: here over inputs of the fuzzer.

What a mode of ``msh-inspect --check`` lets pass converts in that mode; what conversion refuses has
an error, under the code of the refusal. Units and missions are converted in a game that is valid
otherwise; of a registry, the units that are found through it. ``test_corruptions`` asks it of all corruptions.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.findings import Mode
from msh_gltf.converter.kinds.check import Checked, check_file
from msh_gltf.converter.kinds.dispatch import load_file
from msh_gltf.converter.kinds.registry import find_game
from msh_gltf.converter.options import ExportOptions
from tests.fuzz.__main__ import REGRESSIONS, TARGETS
from tests.support.assembled_game import GameParts
from tests.support.corruption.base import Case, Corruption

MODES: tuple[Mode, ...] = ("default", "strict", "tolerant")
#: Targets of the fuzzer whose inputs are models, terrains and areal maps; inputs made of each.
FUZZED = {"model_out": 150, "terrain_out": 100, "areal_out": 100}
#: Targets whose inputs are files of a game.
FUZZED_GAMES = {"unit_out": 150, "mission_out": 200, "registry_out": 100}


def require_agreement(path: Path, mode: Mode) -> None:
    """Fail where the check and the conversion of a file that is one item disagree."""
    (checked,) = of_file(path)
    fails = [finding for finding in checked.findings if finding.rule.fails(mode)]
    refusal = refused(path, mode)
    if refusal is None:
        assert not fails, f"{mode}: converts, though the check finds {fails[0].code}: {fails[0]}"
        return
    assert fails, f"{mode}: the check finds nothing, conversion says: {refusal} ({refusal.code})"
    assert refusal.code in {finding.code for finding in fails}, (refusal, fails)


def refused(path: Path, mode: Mode) -> ConversionError | None:
    """What conversion says where it refuses a file."""
    options = ExportOptions(find_textures=False, mode=mode)
    try:
        with np.errstate(all="ignore"):
            load_file(path, None, options).files(path.with_suffix(".glb"), options)
    except ConversionError as error:
        return error
    return None


def of_file(path: Path) -> list[Checked]:
    """What the check says of the file itself, known to be a model or a map."""
    return [c for c in check_file(path, path.name, known=True) if c.entry is None]


def require_agreement_in_game(path: Path, mode: Mode, converted: Path | None = None) -> None:
    """The same of a file of a game; a broken registry may leave what is converted whole."""
    assert find_game(path) is not None
    found = [f for one in (path, converted) if one for c in of_file(one) for f in c.findings]
    fails = [finding for finding in found if finding.rule.fails(mode)]
    refusal = refused(converted or path, mode)
    if refusal is not None:
        assert refusal.code in {finding.code for finding in fails}, (mode, refusal, fails)
    elif converted is None:
        assert not fails, f"{mode}: converts, though the check finds {fails[0].code}: {fails[0]}"


def require_agreement_of(kind: Corruption, case: Case, folder: Path) -> None:
    """The same of a corruption, in every mode; a unit, a mission or a registry alone is put into a game."""
    path = case.path
    if kind.format in ("unit", "mission", "objects.rlb"):
        GameParts().write(folder)
        path = folder / case.path.name
        path.write_bytes(case.path.read_bytes())
    robot = path.parent / "UNITS/robot.dat" if path.name == "objects.rlb" else None
    for mode in MODES:
        if kind.format in ("model", "file", "terrain", "areal map"):
            require_agreement(path, mode)
        elif kind.format in ("footing", "node properties"):  # what lies beside a model keeps none from converting
            assert refused(path, mode) is None
        elif path != case.path or kind.format.startswith("game, "):
            require_agreement_in_game(path, mode, robot)


def inputs(name: str) -> Iterator[bytes]:
    """Seeds, regressions, and what the fuzzer makes of the seeds."""
    target = TARGETS[name]
    seeds = target.seeds()
    yield from seeds
    yield from (path.read_bytes() for path in sorted((REGRESSIONS / name).glob("*.bin")))
    chance = random.Random(f"agreement {name}")
    for _ in range((FUZZED | FUZZED_GAMES)[name]):
        yield target.mutate(chance, chance.choice(seeds), seeds)


@pytest.mark.parametrize("name", FUZZED)
def test_fuzzed(name: str, tmp_path: Path) -> None:
    suffix = "map" if name == "areal_out" else "msh"
    for number, data in enumerate(inputs(name)):
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(data)
        for mode in MODES:
            require_agreement(path, mode)


@pytest.mark.parametrize("name", FUZZED_GAMES)
def test_fuzzed_games(name: str) -> None:
    for data in inputs(name):
        try:
            opened = TARGETS[name].first(data)
        except ConversionError:
            continue  # test_games has those that cannot be read
        registry = name == "registry_out"
        for mode in MODES:
            path = opened.parent.parent / "objects.rlb" if registry else opened
            require_agreement_in_game(path, mode, opened if registry else None)
