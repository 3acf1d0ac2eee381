"""The object registry: which files a key means, by the game's rules."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.objects import REGISTRY_ROW_DTYPE, Member, Registry, read_registry, write_registry
from tests.support import assembly as make
from tests.support.corpus import CORPUS

GAME = {
    "s_tree": ("STAT", [("", ""), ("static.rlb", "TREE.MSH"), ("static.rlb", "old.msh"), ("static.rlb", "other.wea")]),
    "base": ("EXTO", [("Fortif.rlb", "base.msh"), ("Fortif.rlb", "base.wea")]),
    "fr_1": ("FORT", [("Objects.RLB", "BASE"), ("Fortif.rlb", "b1.bas"), ("a.rlb", "own.wea")]),
    "fr_2": ("FORT", [("objects.rlb", "fr_1")]),
    "fr_3": ("FORT", [("objects.rlb", "fr_2")]),
    "fr_4": ("FORT", [("objects.rlb", "fr_3")]),
    "loop_a": ("FORT", [("objects.rlb", "loop_b")]),
    "loop_b": ("FORT", [("objects.rlb", "loop_a"), ("x.rlb", "x.msh")]),
    "sun": ("SUNO", [("", "")]),
    "odd": ("FORT", [("objects.rlb", "nobody"), ("other.rlb", "base")]),
}


def registry() -> Registry:
    return read_registry(read_nres(make.registry(GAME), "objects.rlb"))


def resolved(key: str):
    found = registry().resolve(key)
    assert found is not None
    return found


def test_the_first_row_of_an_ending_decides() -> None:
    tree = resolved("S_TREE")
    assert (tree.key, tree.tag) == ("s_tree", "STAT")
    assert tree.model == Member("static.rlb", "TREE.MSH")
    assert tree.wear == Member("static.rlb", "other.wea")
    assert tree.chain == ()


def test_a_parent_gives_what_the_child_lacks() -> None:
    fort = resolved("fr_1")
    assert str(fort.model) == "Fortif.rlb::base.msh"
    assert str(fort.wear) == "a.rlb::own.wea"
    assert str(fort.members[".bas"]) == "Fortif.rlb::b1.bas"
    assert fort.chain == ("base",)
    assert resolved("fr_2").chain == ("fr_1", "base")


def test_the_game_follows_three_parents() -> None:
    assert str(resolved("fr_3").model) == "Fortif.rlb::base.msh"
    deep = resolved("fr_4")
    assert deep.model is None
    assert [finding.code for finding in deep.findings] == ["registry-parent"]


def test_a_circle_is_a_finding() -> None:
    loop = resolved("loop_a")
    assert loop.chain == ("loop_b", "loop_a")
    assert [finding.code for finding in loop.findings] == ["registry-cycle"]


def test_edited_rows_are_resolved_and_written() -> None:
    before = registry()
    index = before.find("sun")
    assert index is not None
    assert before.resolve("sun").members == {}
    raw = make.row("static.rlb", "sun.msh") * 2
    before.rows[index] = np.frombuffer(raw, REGISTRY_ROW_DTYPE)
    assert str(before.resolve("sun").model) == "static.rlb::sun.msh"
    after = read_registry(read_nres(write_registry(before), "objects.rlb"))
    assert after.archive.entries[index].attr1 == 2
    for key in GAME:
        assert before.resolve(key).members == after.resolve(key).members


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_payload_comes_back(payloads: list[bytes]) -> None:
    box = make.registry({f"k{i}": ("STAT", []) for i in range(len(payloads))})
    archive = read_nres(box, "objects.rlb")
    for entry, payload in zip(archive.entries, payloads, strict=True):
        entry.payload = payload
    from msh_gltf.converter.formats.nres import write_nres
    from msh_gltf.converter.formats.nres_edits import repack

    data = write_nres(repack(archive))
    assert write_registry(read_registry(read_nres(data, "objects.rlb"))) == data


@pytest.mark.skipif(not CORPUS, reason="MSH_GLTF_CORPUS is not set")
def test_keys_of_the_corpus_resolve_as_recorded() -> None:
    root = Path(CORPUS or "") / "missions"
    data = (root / "game/objects.rlb").read_bytes()
    found = read_registry(read_nres(data, "objects.rlb"))
    assert write_registry(found) == data
    keys = json.loads((root / "truth/objects.json").read_text("utf-8"))["keys"]
    assert len(keys) == len(found.keys())
    for truth in keys:
        one = found.resolve(truth["key"].swapcase())
        assert one is not None
        assert (one.tag, list(one.chain)) == (truth["tag"], truth["chain"])
        rows = [[member.archive, member.name] for member in found.members(one.index)]
        assert rows == truth["rows"]
        for member, wanted in ((one.model, truth["model"]), (one.wear, truth["wea"])):
            if wanted is not None:
                assert str(member).lower() == wanted.lower()
