"""Differences between two versions of an entry: exact, bounded, and without the base's bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msh_gltf.converter.game.byte_delta import repeats_base
from msh_gltf.converter.game.differences import Conflict, apply, difference, digests, touched
from tests.support.corpus import DATA

FILES = sorted(p for p in DATA.rglob("*") if p.suffix in (".msh", ".map", ".wea", ".lib"))


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_bytes_become_any_others(before: bytes, after: bytes) -> None:
    diff = difference(before, after)
    assert apply(diff, before) == after
    assert digests(diff)[1] == digests(difference(None, after))[1]


@given(st.binary(max_size=300))
def test_a_new_entry_needs_no_base(after: bytes) -> None:
    diff = difference(None, after)
    assert digests(diff)[0] == ""
    assert apply(diff, None) == after
    assert [change.kind for change in touched(diff)] == ["new"]


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(FILES))
def test_cut_moved_and_changed_bytes_of_real_files_come_back(chance, path) -> None:
    before = path.read_bytes()
    after = bytearray(before)
    for _ in range(chance.randint(1, 6)):
        at, size = chance.randrange(len(after)), chance.randrange(1, 400)
        piece = chance.choice([b"", chance.randbytes(size), bytes(after[:size])])
        after[at : at + chance.choice([0, size])] = piece
    diff = difference(before, bytes(after))
    assert apply(diff, before) == bytes(after)


def test_another_base_is_a_conflict() -> None:
    with pytest.raises(Conflict):
        apply(difference(b"a" * 100, b"b" * 100), b"c" * 100)


def test_what_is_there_already_stays() -> None:
    assert apply(difference(b"a" * 100, b"b" * 100), b"b" * 100) == b"b" * 100


def test_repeated_bytes_are_found() -> None:
    base = np.random.default_rng(3).bytes(5000)
    assert repeats_base(bytes(100) + base[1000:1064], base)
    assert not repeats_base(bytes(100) + base[1000:1063], base)
    assert not repeats_base(bytes(500), bytes(500))
