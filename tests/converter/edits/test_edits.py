"""Edits that are made by hand: what comes of each stands beside this module, in the text file of its table.

A table is a module here. It has ``CASES``: rows by name, each of which finds in a folder what comes of it. ``python -m
tests.converter.edits.test_edits parts points`` writes the files of these tables again, without a name those of all, for
you to read what became different.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.recorded import Recorded


class Row(Protocol):
    """An edit of a file."""

    def found(self, folder: Path) -> str:
        """What comes of it."""


#: What is on record of each table.
RECORDS = {path.stem: Recorded(__file__, path.name) for path in sorted(Path(__file__).parent.glob("*.txt"))}
TABLES: dict[str, dict[str, Row]] = {table: import_module(f"tests.converter.edits.{table}").CASES for table in RECORDS}
#: On purpose they make what a second reader finds broken.
FAULTY = {"too few descriptors"}
ROWS = [
    pytest.param(table, name, marks=[pytest.mark.plants_faults] * (name in FAULTY), id=f"{table}: {name}")
    for table, rows in TABLES.items()
    for name in rows
]


@pytest.mark.parametrize(("table", "name"), ROWS)
def test_what_comes_of_it(table: str, name: str, tmp_path: Path) -> None:
    RECORDS[table].require(name, TABLES[table][name].found(tmp_path))


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        RECORDS[table].write_each(TABLES[table], lambda name, folder, rows=TABLES[table]: rows[name].found(folder))
