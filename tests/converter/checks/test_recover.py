"""Tolerant conversion: what is broken is left out and nothing else, and comes back as it was."""

import struct
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from msh_gltf.converter.checks import all_rules
from msh_gltf.converter.checks.areal_map import AREAL_STEPS
from msh_gltf.converter.checks.model import check_model
from msh_gltf.converter.checks.recover import STEPS, without_broken
from msh_gltf.converter.checks.terrain import TERRAIN_STEPS
from msh_gltf.converter.cli import gltf2msh
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.model import read_model
from msh_gltf.converter.formats.nres import read_nres
from msh_gltf.converter.formats.sidecar import read_sidecar
from msh_gltf.converter.kinds.dispatch import import_gltf
from tests.converter.checks.test_corruptions import MEMORY, SECONDS
from tests.fuzz.engine import bounded
from tests.support.corpus import DATA
from tests.support.corruption.base import ALL, INF, NAN, NONE, Corruption, Nres, Table, put
from tests.support.recorded import Recorded, digest
from tests.support.recorded import shown as digests
from tests.support.runs import call, run
from tests.support.tolerant import LEFT_OUT, REFUSED, convert, ids

#: How many samples of a kind are converted.
SAMPLES = 4
#: What the first case of each kind becomes, and what is said of it; what further breakages become.
TOLERANT = Recorded(__file__, "tolerant.txt")


def box_of(name: str = "retail__odd__s_rock_009") -> Nres:
    return Nres.read((DATA / f"{name}.msh").read_bytes())


def result(out: Path, said: str, folder: Path) -> str:
    lines = [line for line in said.replace(str(folder), "").splitlines() if not line.startswith("wrote")]
    return "; ".join([digests(out) if out.exists() else "refused", *lines])


# ------------------------------------------------------------------ the catalogue


def came_of(kind: Corruption, folder: Path) -> str:
    """What becomes of the first case of a kind, and a digest of what becomes of three more.

    What is left out by the rule is said, and the file comes back byte for byte; else one line refuses it.
    """
    drops, found = all_rules()[kind.code].drops, []
    for case in islice(kind.make(folder / "cases"), SAMPLES):
        out, back = folder / f"{len(found) + 1}.glb", folder / f"{len(found)}.back"
        with bounded(SECONDS, MEMORY):
            done = run("msh2gltf", case.path, "-o", out, "--no-textures", "--tolerant")
        found.append(result(out, done.stderr, folder / "cases"))
        assert done.returncode == (0 if drops else 2), (case.sample, done.stderr)
        if not drops:
            assert (done.stderr.startswith("msh2gltf: error: "), done.stderr.count("\n")) == (True, 1), done.stderr
            assert not out.exists()
            continue
        assert f"left out {drops} ({kind.code}): " in done.stderr
        kept = read_sidecar(out.with_suffix(".msh-sidecar").read_bytes(), "x")
        assert kept.description.tolerant
        assert bytes(kept.source) == case.path.read_bytes()
        back.mkdir()
        assert call(gltf2msh, out, "-o", back, "-q") == 0
        (made,) = back.glob("*.m*")
        assert made.read_bytes() == case.path.read_bytes()
    return f"{found[0]}; {len(found) - 1} more, {digest(found[1:])}"


@pytest.mark.parametrize("kind", REFUSED, ids=ids(REFUSED))
def test_converted_or_refused(kind: Corruption, tmp_path: Path) -> None:
    TOLERANT.require(kind.name, came_of(kind, tmp_path))


def test_rules_and_steps_agree() -> None:
    """What the registry promises to leave out is left out, and nothing else."""
    steps = {rule.code for rule in (*STEPS, *TERRAIN_STEPS, *AREAL_STEPS)}
    formats = {"core model", "core model (animation)", "terrain", "areal map"}
    assert steps == {c for c, rule in all_rules().items() if rule.drops and rule.format in formats}
    assert steps == {kind.code for kind in LEFT_OUT} - {"nres-trailing"}  # of a container


# ------------------------------------------------------------------ nothing outside is read


#: What is broken in three ways, by the number of the way.
POISONED: dict[str, Callable[[Nres, int], object]] = {
    "parent": lambda box, way: box.table(1).set(1, 2, "H", 60000 + way),
    "slot index": lambda box, way: box.table(1).set(1, 8, "H", 60000 + way),
    "slot": lambda box, way: box.table(2).set(0, 4, "2H", 60000 + way, 3 * way),
    "descriptors": lambda box, way: box.table(2).set(0, 0, "2H", 60000 + way, 7 * way),
    "batch": lambda box, way: box.table(13).set(0, 8, "HI", 300 + 3 * way, 0x10000 << way),
    "base": lambda box, way: box.table(13).set(1, 16, "I", 0x7FFFFFFF - way),
    "index": lambda box, way: box.table(6).set(4, 0, "H", 0xFFFF - 40 * way),
    "vertex": lambda box, way: box.table(3).set(1, 0, "3f", *[(NAN, 5, 9), (-1e9, -NAN, 1), (0, 0, -INF)][way]),
    "link": lambda box, way: box.table(7).set(0, 2, "H", 0xFFFE - way),
    "fallback": lambda box, way: box.table(1).set(2, 6, "H", 60000 + way),
    "map": lambda box, way: box.table(1).set(2, 4, "H", 60000 + way),
    "key": lambda box, way: box.table(8).set(3, 0, "4f4h", NAN, way, 2 * way, 3 - way, 5 * way, 0, way, 9),
    "strings": lambda box, way: put(
        box.entry(10).data, ALL, struct.pack("<I", 0xFFFFFF00 + way) + bytes([65 + way]) * (len(box.entry(10).data) - 4)
    ),
}


@pytest.mark.parametrize("poison", POISONED)
def test_what_is_left_out_has_no_say(poison: str, tmp_path: Path) -> None:
    """Other garbage in the broken fields and after the tables: the same glTF, digests apart."""
    made = set()
    for variant in range(3):
        box = box_of()
        POISONED[poison](box, variant)
        box.forgotten = bytes([0x11 * (variant + 1)]) * 65536  # where reading too far would end
        data = box.write()
        about = convert(data, tmp_path / "a.gltf")
        assert about.tolerant
        text = (tmp_path / "a.gltf").read_text()
        for stated in (about.source_sha256, about.pair):
            assert stated in text
            text = text.replace(stated, "")
        made.add((text, (tmp_path / "a.bin").read_bytes()))
    assert len(made) == 1


# ------------------------------------------------------------------ further breakages, on record


def moving(box: Nres) -> tuple[Table, list[tuple[int, int, int, int]]]:
    """The nodes, and of each with a map: its row, where the map starts, its first key and its last."""
    nodes = box.table(1)
    ends = [-1, *nodes.column(6)]
    return nodes, [
        (row, start, ends[row] + 1, ends[row + 1]) for row, start in enumerate(nodes.column(4)) if start != NONE
    ]


def map_reads_a_broken_key(box: Nres) -> None:
    """A map may name any key below the fallback: what it names counts, and the key after it."""
    _, found = moving(box)
    box.table(19).set(found[-1][1], 0, "H", 2)
    box.table(8).set(3, 0, "f", NAN)


def no_map_names_the_first_key(box: Nres) -> None:
    """The stored keys (``--keys``) show it all the same; of keys of one time, the first counts."""
    _, ((_, start, first, _), *_) = moving(box)
    for frame in range(box.entry(19).attr2):
        box.table(19).set(start + frame, 0, "H", first + 1)
    box.table(8).set(first + 1, 12, "f", 0.0)


def no_time_between_two_keys(box: Nres) -> None:
    """The runtime divides by the difference of two times, which a map may choose to be 0: the frame before holds."""
    _, ((_, start, _, last), *_) = moving(box)
    box.table(8).set(last - 1, 0, "4f", 1.0, 2.0, 3.0, 7.0)
    box.table(8).set(last, 0, "4f", 2.0, 3.0, 4.0, 7.0)
    for frame in range(10, 13):
        box.table(19).set(start + frame, 0, "H", last - 1)


def errors_behind_one_another(box: Nres) -> None:
    """A cycle shows only when parents are nodes; vertices only when indices are there."""
    for row, parent in ((1, 60000), (3, 4), (4, 3)):
        box.table(1).set(row, 2, "H", parent)
    box.table(13).set(0, 10, "I", 0xFFFFFFFF)
    box.table(6).set(box.table(13).get(2, 10, "I"), 0, "H", 0xFFFF)
    for row in (40, len(box.table(3)) - 1):
        box.table(3).set(row, 0, "f", NAN)


def batches_that_share_indices(box: Nres) -> None:
    """Words of a broken batch stay where a valid one uses them too."""
    box.table(13).append(box.entry(13).data[:20])
    box.table(13).set(0, 16, "I", 0xFFFFFF)


def broken_keys(box: Nres, at: int, what: str) -> None:
    """A node whose keys, map, or one of whose keys are broken: it stands still, and no other does."""
    nodes, found = moving(box)
    row, _, first, last = found[at]
    if what in ("fallback", "map"):
        nodes.set(row, 6 if what == "fallback" else 4, "H", 0xFFFE)
    else:
        key = {"first": first, "middle": (first + last) // 2, "last": last}[what]
        box.table(8).set(key, 4, "f", NAN)


ROCK, TOWER, HALL = "retail__odd__s_rock_009", "spec__odd__Gen_stat_011", "retail__static__i_room_006"
#: Name -> the model, and what is broken in it.
FURTHER: dict[str, tuple[str, Callable[[Nres], object]]] = {
    "a map that reads a broken key of another node": (ROCK, map_reads_a_broken_key),
    "a key that no map names": (ROCK, no_map_names_the_first_key),
    "two keys without time between them": (ROCK, no_time_between_two_keys),
    "errors behind one another": (ROCK, errors_behind_one_another),
    "nodes below a node that is its own parent": (ROCK, lambda box: box.table(1).set(0, 2, "H", 0)),
    "nodes of a whole cycle": (ROCK, lambda box: (all := box.table(1)).set(0, 2, "H", len(all) - 1)),
    "batches that share indices": (ROCK, batches_that_share_indices),
    "no finite vertex": (ROCK, lambda box: box.table(3).change_all(0, "f", lambda _: NAN)),
    "three parents": (ROCK, lambda box: [box.table(1).set(row, 2, "H", 60000) for row in (1, 3, 4)]),
    "twenty links": (HALL, lambda box: [box.table(7).set(row, 2, "H", 0xFFFE) for row in range(20)]),
    **{
        f"{what} of moving node {at} of {name}": (name, partial(broken_keys, at=at, what=what))
        for name in (ROCK, TOWER)
        for at in range(3)
        for what in ("fallback", "map", "first", "middle", "last")
    },
}


def further(name: str, folder: Path) -> str:
    """What comes of a breakage, with a clip of frames and with the stored keys."""
    source, change = FURTHER[name]
    box = box_of(source)
    change(box)
    path, found = folder / "m.msh", []
    path.write_bytes(box.write())
    for options in ((), ("--keys",)):
        out = folder / f"{len(found)}.glb"
        said = run("msh2gltf", path, "-o", out, "--no-textures", "--tolerant", *options).stderr
        found.append(result(out, said, folder))
        assert import_gltf(out).data == path.read_bytes()
    return found[0] if found[0] == found[1] else " | with --keys ".join([found[0], found[1].partition(";")[0]])


@pytest.mark.parametrize("name", FURTHER)
def test_further_breakages(name: str, tmp_path: Path) -> None:
    TOLERANT.require(name, further(name, tmp_path))


def test_what_no_step_takes_away_is_refused_under_a_code() -> None:
    """One that ``--check --tolerant`` does not let pass."""
    box = box_of()
    box.table(3).set(0, 0, "f", NAN)
    steps = {rule: lambda model, finding: model for rule in STEPS}
    model = read_model(read_nres(box.write(), "x"), "m.msh")
    with pytest.raises(ConversionError, match="something is broken still") as refused:
        without_broken(model, check_model, steps, "x.msh")
    assert refused.value.code == "still-broken"
    assert all_rules()["still-broken"].fails("tolerant")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        for number, kind in enumerate(REFUSED):
            (place := folder / str(number)).mkdir()
            rows.append((kind.name, came_of(kind, place)))
        for number, breakage in enumerate(FURTHER):
            (place := folder / f"further{number}").mkdir()
            rows.append((breakage, further(breakage, place)))
    TOLERANT.write(rows)
