"""Dialects: what decides, step by step, and what they read."""

from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.formats.model import MshModel, StreamType
from msh_gltf.converter.kinds.open_files import read_msh
from msh_gltf.converter.scene import dialect as d
from msh_gltf.converter.scene.dialect import Dialect, decide
from tests.support.corpus import every_sample, sample_called

BOX = "retail__odd__s_rock_009"
LEGACY = "retail__system__MTCHECK"


@every_sample
def test_recorded_decision(sample) -> None:
    truth = sample.truth.get("auto")
    if truth is None or truth["step"].endswith("?"):
        pytest.skip("the corpus prescribes no decision for this model")
    got = decide(read_msh(sample.path, sample.entry))
    assert got.step == truth["step"]
    assert got.dialect == truth["dialect"]
    for name, error in truth.get("box_error", {}).items():
        assert got.box_error[name] == pytest.approx(error, abs=1e-6)
    if "identity_keys" in truth:
        assert got.identity_keys == truth["identity_keys"]
        assert got.batch_words == truth["batch_words"]


@every_sample
def test_what_the_dialect_reads(sample) -> None:
    model, truth = read_msh(sample.path, sample.entry), sample.arrays
    dialect = Dialect(sample.dialect)
    meaning = d.batch_materials(model, dialect)
    np.testing.assert_array_equal(meaning.row, truth["batch_row"])
    np.testing.assert_array_equal(meaning.lightmap, truth["batch_light"])
    np.testing.assert_array_equal(meaning.flags, truth["batch_flags"])
    names = [n["name_cp1251"] for n in sample.truth["nodes"]]
    assert d.node_names(model, dialect) == names
    labels = [n["label"] if dialect == "retail" else "" for n in sample.truth["nodes"]]
    assert d.node_labels(model, dialect) == labels


def test_a_box_of_no_numbers_decides_nothing() -> None:
    """Nor is it worth a warning of NumPy's, be it a signalling NaN."""
    model = read_msh(sample_called("retail__system__R_H_002").path)
    header = model.header.copy()
    header.view("<u4")[0] = 0x7FA00000
    broken = decide(replace(model, header=header))
    assert broken.box_error == {}
    assert broken.step == "bc"


def test_given_dialect_wins() -> None:
    got = decide(model_called(BOX), "spec")
    assert (got.dialect, got.step) == ("spec", "given")


def test_cockpit_stays_out_of_the_box() -> None:
    """Without that rule the large cockpit part of this model spoils the evidence."""
    model = model_called(BOX)
    assert decide(model).step == "a"
    nodes = model.nodes.copy()
    nodes["flags"] &= 0xFFFF ^ 0x20
    model.nodes = nodes
    assert decide(model).box_error["retail"] > 0.05


@pytest.mark.parametrize(
    ("keys", "words", "step", "dialect"),
    [
        ([(32767, 0, 0, 0)], [(0, 0)], "bc", "retail"),
        ([(0, 0, 0, 32767)], [(0, 0)], "bc", "spec"),
        ([(1, 2, 3, 4)], [(0, 0xFF01)], "bc", "retail"),
        ([(1, 2, 3, 4)], [(3, 0xFF01)], "bc", "spec"),
        ([(32767, 0, 0, 0)], [(0, 0xFF01)], "bc", "retail"),
        ([(32767, 0, 0, 0)], [(3, 0)], "d", "spec"),  # they contradict each other
        ([(0, 0, 0, 32767)], [(0, 0xFF00)], "d", "spec"),
        ([(1, 2, 3, 4)], [(0, 1)], "d", "spec"),  # no evidence
        ([(32767, 0, 0, 0), (0, 0, 0, 32767)], [(0, 1)], "d", "spec"),  # a draw is no vote
        ([(32767, 0, 0, 0)] * 2 + [(0, 0, 0, 32767)], [(0, 1)], "bc", "retail"),
    ],
)
def test_votes(keys: list, words: list, step: str, dialect: str) -> None:
    model = model_called(LEGACY)  # legacy: no header box to look at
    pool = np.zeros(len(keys), model.keys.dtype)
    pool["quaternion"] = keys
    model.streams[StreamType.KEYS] = pool
    batches = model.batches.copy()
    batches["word2"], batches["word4"] = words[0]
    model.streams[StreamType.BATCHES] = batches
    got = decide(model)
    assert (got.step, got.dialect) == (step, dialect)


def model_called(name: str) -> MshModel:
    sample = sample_called(name)
    return read_msh(sample.path, sample.entry)
