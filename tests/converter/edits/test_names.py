"""What names in a file mean: of objects, and of classes of areals."""

from msh_gltf.converter.edits.areal_changes import class_of
from msh_gltf.converter.edits.unit import new_title


def test_names_that_the_export_made_are_no_new_ones() -> None:
    for name, label, title in (
        ("tower", "tower", None),
        ("tower.001", "tower", None),
        ("tower#2.001", "tower", None),
        ("", "tower", None),
        ("tower#x", "tower", "tower#x"),
        ("Fort.001", "tower", "Fort"),
        ("t" * 50, "t" * 56, None),  # a name of 63 bytes at most, with what makes it unique, was cut off
        ("t" * 50, "t" * 55, "t" * 50),
        ("s" + "t" * 50, "t" * 56, "s" + "t" * 50),
    ):
        assert new_title(name, label) == title, name


def test_names_of_classes() -> None:
    for name, extras, number in (
        ("class_3.001", {"class_id": 5}, 3),
        ("grass", {"class_id": 5}, 5),
        ("grass", {}, -1),
        ("class_4294967295", {}, 4294967295),
        ("class_4294967296", {}, -1),
        ("class_99999999999999999999", {"class_id": 7}, 7),
        ("x", {"class_id": "7"}, -1),
        ("x", {"class_id": float("nan")}, -1),
        ("x", None, -1),
    ):
        assert class_of(name, extras) == number, name
