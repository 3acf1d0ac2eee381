"""Records of the files that place models: registry, units, missions (docs/reference).

As in :mod:`converter.formats.tables`, little-endian, every byte named. Texts that lie between the
fields of a record (missions) are fields of the data classes.
"""

from __future__ import annotations

import numpy as np

REGISTRY_ROW_DTYPE = np.dtype(  # objects.rlb, see converter.formats.registry
    [
        ("archive", "u1", (32,)),  # +0   NUL-terminated; what follows the NUL is kept
        ("member", "u1", (32,)),  # +32  the same
    ]
)
assert REGISTRY_ROW_DTYPE.itemsize == 64

# ------------------------------------------------------------------ units (UNITS/**/*.dat)

UNIT_HEADER_DTYPE = np.dtype(
    [
        ("magic", "<u4"),  # +0  0xF0F1
        ("type", "<u4"),  # +4  a class word
    ]
)
assert UNIT_HEADER_DTYPE.itemsize == 8

COMPONENT_DTYPE = np.dtype(
    [
        ("archive", "u1", (32,)),  # +0   objects.rlb
        ("key", "u1", (32,)),  # +32  object key
        ("flags", "<u4"),  # +64  1
        ("attach", "<i4"),  # +68  node of the parent's model, or a slot of its controller
        ("label", "u1", (32,)),  # +72  display name; may fill all 32 bytes
        ("part_class", "<u4"),  # +104 see converter.formats.unit.CLASSES
        ("child_count", "<i4"),  # +108 so many subtrees follow
    ]
)
assert COMPONENT_DTYPE.itemsize == 112

# ------------------------------------------------------------------ missions (data.tma)

CLAN_DTYPE = np.dtype(  # after the name
    [
        ("opaque0", "<i4"),  # +0  -1
        ("base", "<f4", (2,)),  # +4  x, y
        ("type", "<u4"),  # +12 see converter.formats.mission.CLAN_TYPES
    ]
)
assert CLAN_DTYPE.itemsize == 16

ZONE_DTYPE = np.dtype(
    [
        ("centre", "<f4", (3,)),  # +0
        ("inner", "<f4"),  # +12 radius
        ("outer", "<f4"),  # +16 radius
    ]
)
assert ZONE_DTYPE.itemsize == 20

#: The numbers of a placed object in the order of the file, which has texts between them.
OBJECT_DTYPE = np.dtype(
    [
        ("kind", "<u4"),  # see converter.formats.mission.OBJECT_KINDS
        ("opaque4", "<u4"),  # 0x80000002; then the path
        ("clan", "<u4"),  # row of the clans
        ("logical_id", "<i4"),  # -1: none
        ("position", "<f4", (3,)),
        ("turns", "<f4", (3,)),  # about x, y, z, radians
        ("scale", "<f4", (3,)),  # then the instance name
        ("start", "<u4"),
        ("host", "<i4"),  # logical id of a building, -1: none
        ("vertex", "<i4"),  # of that building's path graph, -1: none
        ("property_version", "<u4"),  # 1; then the properties
    ]
)
assert OBJECT_DTYPE.itemsize == 68

PROPERTY_DTYPE = np.dtype(  # then the name
    [
        ("type", "<u4"),  # +0  0 float32, 1 int32
        ("value", "<u4"),  # +4  the bits of a number of that type
        ("minimum", "<u4"),  # +8
        ("maximum", "<u4"),  # +12
    ]
)
assert PROPERTY_DTYPE.itemsize == 16

LODE_DTYPE = np.dtype(
    [
        ("position", "<f4", (3,)),  # +0
        ("found", "<u4"),  # +12
        ("type", "<u4"),  # +16 0x10001000
        ("amount", "<f4"),  # +20
        ("opaque24", "<u4"),  # +24
    ]
)
assert LODE_DTYPE.itemsize == 28
