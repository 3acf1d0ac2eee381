"""``.bas`` and ``.ndp``: every byte back, and the rings of the corpus as recorded."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.files import read_file
from msh_gltf.converter.formats.model_parts import (
    read_footing,
    read_node_properties,
    write_footing,
    write_node_properties,
)
from msh_gltf.converter.formats.nres import is_nres, read_nres
from tests.support.corpus import CORPUS


@given(st.integers(0, 5), st.integers(0, 5), st.randoms(use_true_random=False))
def test_any_footing_comes_back(n: int, m: int, random) -> None:
    data = struct.pack("<2i", 1, n) + random.randbytes(12 * (n + 1) + 8 * n)
    data += struct.pack("<2i", 7, m) + random.randbytes(12 * (m + 1))
    footing = read_footing(data, "x.bas")
    assert write_footing(footing) == data
    assert (footing.words, len(footing.inner), len(footing.outer)) == ((1, 7), n + 1, m + 1)
    assert len(footing.triangles) == len(footing.corners) == n
    for cut in (data[:-1], data + b"\0", data[: len(data) // 2]):
        with pytest.raises(ConversionError, match=r"x\.bas, BAS, byte 0x"):
            read_footing(cut, "x.bas")


@given(st.integers(0, 4), st.randoms(use_true_random=False))
def test_any_node_properties_come_back(n: int, random) -> None:
    data = struct.pack("<I", n) + random.randbytes(76 * n)
    records = read_node_properties(data, "x.ndp")
    assert write_node_properties(records) == data
    assert len(records) == n
    with pytest.raises(ConversionError, match=r"x\.ndp, NDP"):
        read_node_properties(data + b"\0", "x.ndp")


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_files_of_the_corpus_come_back() -> None:
    root = Path(CORPUS or "") / "missions"
    truth = json.loads((root / "truth/footings.json").read_text("utf-8"))
    rings = {key.lower(): value for key, value in truth.items() if "::" in key}
    done = [0, 0]
    for path in sorted((root / "game").glob("*")):
        if not path.is_file() or not is_nres(data := read_file(path)):
            continue
        for entry in read_nres(data, path.name).entries:
            payload = bytes(entry.payload)
            if entry.name.lower().endswith(".bas"):
                footing = read_footing(payload, entry.name)
                assert write_footing(footing) == payload
                known = rings[f"{path.name}::{entry.name}".lower()]
                for one in ("inner", "outer"):
                    ring = getattr(footing, one)
                    assert np.allclose(ring[: len(known[one])], known[one], atol=1e-4)
                done[0] += 1
            elif entry.name.lower().endswith(".ndp"):
                records = read_node_properties(payload, entry.name)
                assert write_node_properties(records) == payload
                done[1] += 1
    assert done[0] == len(rings)
    assert done[1]
