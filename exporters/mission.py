""":class:`~converter.formats.mission.Mission` to the bytes of ``data.tma``."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ..converter.formats.mission import CLANS, LODES, OBJECTS, ROUTES, SINCE, Clan, Mission, PlacedObject


def write_mission(mission: Mission) -> bytes:
    """Return the bytes of the file (docs/reference/mission.md), of the version that it was.

    What that version has no room for (:meth:`Mission.has`) is left out.
    """
    return b"".join(chain.from_iterable(mission_records(mission).values()))


def mission_records(mission: Mission) -> dict[str, list[bytes]]:
    """Return the same record by record, by table in the order of the file."""
    end = [_text(mission.map_path), _word(mission.word), _text(mission.description)]
    return {
        "version": [_word(mission.version)],
        f"count of {ROUTES}": [_word(len(mission.routes))],
        ROUTES: [_word(r.id) + _word(len(r.points)) + r.points.astype("<f4").tobytes() for r in mission.routes],
        f"count of {CLANS}": [_word(mission.clan_version), _word(len(mission.clans))],
        CLANS: [b"".join(_clan(clan)) for clan in mission.clans],
        f"count of {OBJECTS}": [_word(mission.object_version), _word(len(mission.objects))],
        OBJECTS: [b"".join(_object(placed, mission)) for placed in mission.objects],
        "map": end,
        f"count of {LODES}": [_word(mission.lode_version), _word(len(mission.lodes))],
        LODES: [lode.tobytes() for lode in mission.lodes],
    }


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _text(raw: bytes) -> bytes:
    return _word(len(raw)) + raw


def _clan(clan: Clan) -> list[bytes]:
    out = [_text(clan.name), clan.record.tobytes(), _text(clan.script)]
    out.append(_word(len(clan.zone_counts)))
    start = 0
    for count in clan.zone_counts:
        out += [_word(count), clan.zones[start : start + count].tobytes()]
        start += count
    out += [_text(clan.tree), _word(clan.minds), _word(len(clan.relations))]
    for name, relation in clan.relations:
        out += [_text(name), _word(relation)]
    return out


def _object(placed: PlacedObject, mission: Mission) -> list[bytes]:
    record = placed.record

    def words(*names: str) -> list[bytes]:
        return [np.asarray(record[name]).tobytes() for name in names if mission.has(name)]

    out = [*words("kind", "opaque4"), _text(placed.path)]
    out += words("clan", "logical_id", "position", "turns", "scale")
    if mission.has("name"):
        out.append(_text(placed.name))
    out += words("start", "host", "vertex", "property_version")
    if mission.object_version >= SINCE["property_version"]:
        out.append(_word(len(placed.properties)))
        for each in placed.properties:
            out += map(_word, (each.type, each.value, each.minimum, each.maximum))
            out.append(_text(each.name))
    return out
