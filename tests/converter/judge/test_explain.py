"""What a line of a report explains: its kinds, as much as it states, and what it is about, not its advice."""

from pathlib import Path

import pytest

from msh_gltf.converter.cli import gltf2msh, msh2gltf
from msh_gltf.converter.findings import Kind, Report, Subject
from msh_gltf.converter.judge.difference import JUDGED, Difference, Lines, tell
from tests.support.corpus import sample_called
from tests.support.runs import call

Captured = pytest.CaptureFixture[str]


def difference(kind: Kind, amount: float = 0.0, **more: object) -> Difference:
    return Difference("part 'gun'", kind, "differs", ("gun", "gun.lod1", "base"), amount, **more)  # type: ignore[arg-type]


def reported(where: str, what: str = "is kept", instead: str = "undo it", *kinds: Kind, **most: float) -> Report:
    report = Report()
    report.skipped(where, what, "it cannot", instead, *kinds, **most)
    return report


@pytest.mark.parametrize(
    ("report", "one", "is_explained"),
    [
        (reported(Subject("part", "gun")), difference("place", 5), True),
        (reported(Subject("part", "gun")), difference("name"), False),
        (reported(Subject("material", "gun")), difference("materials", 3), True),
        (reported(Subject("material", "gun")), difference("place", 3), False),
        (reported(Subject("part", "bas"), instead="name it gun.lod1"), difference("triangles", 3), False),
        (reported(Subject("part", "gun.lod2")), difference("triangles", 3), False),
        (reported(Subject("part", "gun", cell="lod 1")), difference("triangles", 3, cell="lod 1"), True),
        (reported(Subject("part", "gun", cell="lod 1")), difference("triangles", 3, cell="lod 0"), False),
        (reported(Subject("object", "gun"), "is tilted", "undo it", "turn"), difference("turn", 1), True),
        (reported(Subject("object", "gun"), "is tilted", "undo it", "turn"), difference("place", 1), False),
        (reported(Subject("part", "gun"), "was clamped", "undo it", "place", most=3), difference("place", 3), True),
        (reported(Subject("part", "gun"), "was clamped", "undo it", "place", most=3), difference("place", 3.1), False),
        (reported(Subject("animation", "walk")), difference("place", 1, moving=True), True),
        (reported(Subject("animation", "walk")), difference("place", 1), False),
    ],
)
def test_a_line_explains_its_kinds_and_amounts(report: Report, one: Difference, is_explained: bool) -> None:
    assert (Lines(report).explanation(one) is not None) == is_explained


def test_a_warning_explains_what_it_says_that_it_does() -> None:
    report = Report(warnings=["part 'gun' follows its node"])
    assert Lines(report).explanation(difference("place", 1)) is None
    report.concerns(["gun"], "place", most=2)
    assert Lines(report).explanation(difference("place", 1)) is not None
    assert Lines(report).explanation(difference("place", 2.5)) is None
    assert Lines(report).explanation(difference("triangles", 1)) is None


def test_the_nearest_line_explains_that_is_about_the_same_fact() -> None:
    report = reported(Subject("node", "base"))
    report.skipped(Subject("part", "gun"), "is kept", "it cannot", "undo it")
    assert Lines(report).explanation(difference("place", 5)) == "part 'gun': is kept; it cannot; undo it"
    for fact in ("clan", "host"):
        report.skipped(Subject("part", "gun"), f"{fact} became 7", "it cannot", "undo it", "fact", fact=fact)
    found = [Lines(report).explanation(difference("fact", fact=fact)) for fact in ("host", "clan", "vertex")]
    assert [None if one is None else one.split(": ")[1][:4] for one in found] == ["host", "clan", "is k"]


def test_what_explains_and_what_explains_nothing_is_noted() -> None:
    report = reported(Subject("part", "gun"))
    report.skipped(Subject("part", "body"), "is kept", "it cannot", "undo it")
    tell(report, [difference("place", 5), difference("name")])
    assert report.judged is not None
    assert [str(one) for one in report.judged] == [
        "part 'gun' differs: explained by part 'gun': is kept; it cannot; undo it",
        "part 'gun' differs: nothing explains it",
        "part 'body': is kept; it cannot; undo it: explains nothing that differs",
    ]
    assert [one.why for one in report.not_applied] == ["it cannot", "it cannot", JUDGED]


@pytest.mark.parametrize(
    ("options", "text"),
    [([], "the result shows what the file shows"), (["--no-verify"], "was not compared with the file")],
)
def test_the_command_lists_them(options: list[str], text: str, tmp_path: Path, capsys: Captured) -> None:
    assert call(msh2gltf, sample_called("spec__odd__B_PLANT_008").path, "-o", tmp_path / "a.glb", "--quiet") == 0
    assert call(gltf2msh, tmp_path / "a.glb", "-o", tmp_path / "back.msh", "--explain", *options) == 0
    assert text in capsys.readouterr().out
