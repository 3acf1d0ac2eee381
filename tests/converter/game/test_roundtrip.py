"""``msh-inspect --roundtrip``: a verdict for every model, and nothing written beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from msh_gltf.converter.game import inspect as roundtrip
from msh_gltf.converter.game.inspect import DIFFERENT, IDENTICAL, RoundTripTask, roundtrip_item
from msh_gltf.converter.game.walk import walk
from msh_gltf.converter.kinds.dispatch import import_gltf
from msh_gltf.converter.kinds.import_result import ImportResult
from tests.support.corpus import DATA


@pytest.mark.parametrize(("at", "said"), [(-1, "bytes instead of"), (60, "byte 60: "), (None, "Res")])
def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: int | None, said: str) -> None:
    """No model is known that comes back different: here the import is made to err."""
    kind = "spec__AutoMAP_00" if at is not None else ""
    path = DATA / "maps" / kind / "Land.map" if kind else DATA / "retail__odd__s_rock_009.msh"
    found = walk([path])
    task = RoundTripTask(found.items[0], str(tmp_path))
    assert roundtrip_item(task).status == IDENTICAL

    def wrong(target: Path) -> ImportResult:
        back = import_gltf(target)
        data = bytearray(back.data)
        if at == -1:
            del data[-1]
        else:
            data[at if at is not None else len(data) // 2] ^= 1
        return replace(back, data=bytes(data))

    monkeypatch.setattr(roundtrip, "import_gltf", wrong)
    outcome = roundtrip_item(task)
    assert outcome.status == DIFFERENT
    assert said in outcome.detail
