"""What is found in areal maps, each rule broken by hand."""

from dataclasses import replace

import numpy as np
import pytest

from msh_gltf.converter.checks.areal_map import check_areal_map
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.formats.areal_map import AREALS, LINKS, ArealMap, areal_payload
from msh_gltf.converter.formats.nres import Archive
from tests.support.areals import S, square, tiny


def edited(areals: ArealMap, field: str, row: int, value: object) -> ArealMap:
    """A map with one value of a record, or of an array, replaced."""
    if field in areals.records.dtype.names:
        records = areals.records.copy()
        records[field][row] = value
        return replace(areals, records=records)
    array = getattr(areals, field).copy()
    array[row] = value
    return replace(areals, **{field: array})


FAR = S.vertices[int(S.vertex_start[9])] + np.float32(5000)


@pytest.mark.parametrize(
    ("code", "severity", "change", "table", "row", "within"),
    [
        ("areal-anchor-finite", "error", ("anchor", 7, (0, np.nan, 0)), AREALS, 7, 0),
        ("areal-normal", "error", ("normal", 7, (0, 0, 1.002)), AREALS, 7, 20),
        ("areal-normal", "error", ("normal", 7, (0, 0, 0)), AREALS, 7, 20),
        ("areal-normal", "error", ("normal", 7, (np.nan, 0, 1)), AREALS, 7, 20),
        ("areal-area", "warning", ("area", 7, S.records["area"][7] * 1.2 + 60), AREALS, 7, 16),
        ("areal-area", "warning", ("area", 7, S.records["area"][7] * 0.8 - 60), AREALS, 7, 16),
        ("areal-area", "warning", ("area", 7, np.nan), AREALS, 7, 16),
        ("areal-anchor", "warning", ("anchor", 9, FAR), AREALS, 9, 0),
        ("areal-polys", "note", ("poly_count", 7, 1), AREALS, 7, 52),
        ("areal-logic", "note", ("logic", 7, 2), AREALS, 7, 32),
        ("areal-opaque", "note", ("opaque12", 7, 1), AREALS, 7, 12),
        ("areal-opaque", "note", ("opaque36", 7, 1), AREALS, 7, 36),
        ("areal-opaque", "note", ("opaque44", 7, 1), AREALS, 7, 44),
    ],
)
def test_records_that_break_a_rule(code: str, severity: str, change: tuple, table: str, row: int, within: int) -> None:
    found = check_areal_map(edited(S, *change))
    assert [(f.code, f.severity, f.table, f.row) for f in found] == [(code, severity, table, row)]
    assert found[0].offset == S.entry.data_offset + int(S.record_offsets[row]) + within
    assert found[0].value is not None
    assert found[0].expected is not None
    assert found[0].to_error().row == row


def test_what_is_still_sound() -> None:
    for change in (
        ("normal", 7, (0, 0, 1.0009)),
        ("area", 7, S.records["area"][7] + 51),
        ("area", 7, S.records["area"][7] * 1.14),
        ("logic", 7, 1),
    ):
        assert check_areal_map(edited(S, *change)) == []
    small = tiny(square(0, 0, 9))
    assert check_areal_map(edited(small, "area", 0, 81 + 51)) == []
    assert len(check_areal_map(edited(small, "area", 0, 81 + 53))) == 1


@pytest.mark.parametrize(
    ("link", "code", "severity"),
    [
        ((160, 0), "areal-link", "error"),
        ((0, 99), "areal-link", "error"),
        ((-1, 0), "areal-link", "error"),
        ((0, -1), "areal-link", "error"),
        ((5, -1), "areal-link", "error"),
        ((-2, -2), "areal-link", "error"),
        ((4, 0), "areal-link-mutual", "warning"),
    ],
)
def test_links_that_break_a_rule(link: tuple, code: str, severity: str) -> None:
    edge = int(np.flatnonzero(S.links["areal"] < 0)[3])  # a border edge: nobody links to it
    found = check_areal_map(edited(S, "links", edge, link))
    assert [(f.code, f.severity, f.table, f.row) for f in found] == [(code, severity, LINKS, edge)]
    areal = int(np.searchsorted(S.vertex_start, edge, "right")) - 1
    assert f"edge {edge - S.vertex_start[areal]} of areal {areal} " in found[0].problem
    payload = bytearray(S.entry.payload)
    at = found[0].offset - S.entry.data_offset
    payload[at : at + 8] = np.array(link, "<i4").tobytes()
    assert payload == areal_payload(edited(S, "links", edge, link))


def test_a_corner_that_moved_away_from_its_links() -> None:
    """The two edges that have it and the two that they link to are told of, the first edge of the map as any other."""
    found = check_areal_map(edited(S, "vertices", 0, S.vertices[0] + [1, 0, 0]))
    (ends,) = [one for one in found if one.code == "areal-link-ends"]
    assert ends.row == 0
    assert "and in 3 more rows" in ends.problem


def test_an_archive_without_a_map() -> None:
    with pytest.raises(ConversionError, match="no areal map"):
        _ = replace(S, archive=Archive("x")).entry
