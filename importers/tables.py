"""NRes entries to tables, by a specification: the loader of core models and terrains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..converter.errors import ConversionError, plural
from ..converter.findings import Finding, Rule
from ..converter.formats.archive import Archive
from ..converter.formats.kinds import archive_kind
from ..converter.formats.table_file import Table
from ..converter.formats.tables import Presence, TableSpec, required
from ..converter.numeric.arrays import Records


class TableRules(NamedTuple):
    """The rules that the loader checks.

    Attributes:
        missing: a table that must be there is missing.
        size: the size of a table is not a multiple of its record.
        header: a table is shorter than its header.
    """

    missing: Rule
    size: Rule
    header: Rule


def read_tables(
    archive: Archive, specs: Mapping[int, TableSpec], *, what: str, rules: TableRules, cut: bool
) -> tuple[Records, dict[int, Table], list[Finding]]:
    """Read the tables of fixed records; nothing is copied.

    A table is found by its type, the first of it, as the runtime does; order means nothing
    (docs/reference/nres.md). Entries that no specification describes stay in the container.

    Args:
        archive: the container.
        specs: the tables, by type id; one of them has a header.
        what: what messages call the whole: ``core model``.
        rules: the rules that errors name.
        cut: tables whose size does not fit are read up to their last whole record.

    Returns:
        The header, the tables by type id in the order of ``specs``, read-only views, and a finding
        for each table that was cut.

    Raises:
        ConversionError: a required table is missing, or a size does not fit its records.
    """
    first = {entry.type_id: entry for entry in reversed(archive.entries)}
    absent = [i for i, s in specs.items() if i not in first and s.presence is Presence.REQUIRED]
    if absent:
        needed = required(specs)
        labels = ", ".join(specs[i].label for i in sorted(absent))
        raise ConversionError(
            f"not a {what}",
            file=archive.label,
            value=f"{archive_kind(archive)} without {labels}",
            expected=f"tables {', '.join(map(str, needed[:-1]))} and {needed[-1]}",
            code=rules.missing.code,
        )
    header: Records = np.empty(0, np.void)
    tables: dict[int, Table] = {}
    findings: list[Finding] = []
    for type_id, spec in specs.items():
        entry = first.get(type_id)
        if entry is None or (record := spec.record(entry.attr3)) is None:
            continue
        start, stride, size = spec.start, record.itemsize, entry.size
        if size < start or (size - start) % stride:
            # what the game's loader does not open may have any size: an unknown entry
            if spec.presence is Presence.NOT_LOADED:
                continue
            row = max(0, size - start) // stride
            finding = Finding(
                rules.header if size < start else rules.size,
                "size does not fit its records",
                spec.label,
                row,
                entry.data_offset,
                plural(size, "byte"),
                f"{start} + n * {stride}" if start else f"a multiple of {stride}",
                rows=np.array([row]),
            )
            if not cut or size < start:
                raise finding.to_error().at(file=archive.label)
            findings.append(finding)
            size = start + row * stride
        payload = entry.payload[:size]
        if spec.header is not None:
            header = np.frombuffer(payload[:start], spec.header)
        tables[type_id] = np.frombuffer(payload[start:] if start else payload, record)
    return header, tables, findings
