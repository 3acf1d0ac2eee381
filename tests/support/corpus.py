"""Models with recorded truth: the bundled ones, and a whole corpus where one is named.

The files were made by a generator that shares no code with this project. ``MSH_GLTF_CORPUS``
may name a folder of whole fake games (``*/game``, ``*/truth/manifest.json``); then every model
of theirs is tested too, or every eighth with ``MSH_GLTF_CORPUS_EVERY=8``.
"""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.nres import read_nres

DATA = Path(__file__).parent.parent / "data"
#: Material.lib, Textures.lib, lightmap.lib, and the truth about them.
LIBS = DATA / "libs"
CORPUS = os.environ.get("MSH_GLTF_CORPUS")
EVERY = int(os.environ.get("MSH_GLTF_CORPUS_EVERY", 1))


@dataclass(frozen=True)
class Sample:
    """One model and the truth about it."""

    id: str
    path: Path
    entry: str | None
    truth_stem: Path

    @cached_property
    def truth(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.truth_stem.with_suffix(".json").read_text("utf-8"))
        return facts

    @cached_property
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        with np.load(self.truth_stem.with_suffix(".npz")) as file:
            return dict(file)

    @property
    def dialect(self) -> str:
        if not self.truth_stem.with_suffix(".json").is_file():
            return "auto"  # an example: nobody recorded a truth
        return str(self.truth["dialect"])

    @property
    def source(self) -> bytes:
        """The model's own bytes."""
        data = read_file(self.path)
        if self.entry is None:
            return bytes(data)
        archive = read_nres(data, str(self.path))
        index = archive.find(self.entry)
        assert index is not None
        return bytes(archive.entries[index].payload)

    @property
    def entry_option(self) -> list[str]:
        return [] if self.entry is None else ["--entry", self.entry]


def _bundled() -> list[Sample]:
    return [Sample(path.stem, path, None, path.with_suffix("")) for path in sorted(DATA.glob("*.msh"))]


def _whole_games(root: Path) -> list[Sample]:
    out = []
    for manifest in sorted(root.glob("*/truth/manifest.json")):
        game = manifest.parent.parent
        facts = json.loads(manifest.read_text("utf-8"))
        for model in [*facts["models"], facts["loose_model"]]:
            truth = game / "truth" / model["truth"]
            out.append(
                Sample(
                    f"{game.name}:{model['id']}",
                    game / "game" / model["archive"],
                    model["entry"],
                    truth.with_suffix(""),
                )
            )
    return out


SAMPLES = [*_bundled(), *(_whole_games(Path(CORPUS))[::EVERY] if CORPUS else [])]

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[s.id for s in SAMPLES])


def sample_called(name: str) -> Sample:
    """A bundled model by name."""
    return next(s for s in SAMPLES if s.id == name)
