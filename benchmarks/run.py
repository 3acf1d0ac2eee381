"""Measure everything that has an aim, and print one table.

    python -m benchmarks.run [--rounds N] [--only NAME]... [--json FILE]

Medians of rounds in which a job and what it is compared with take turns. Every run is recorded in
``benchmarks/results/`` (or in FILE) and compared with the last one of this machine. The machine
should have nothing else to do: ten minutes, most of them for making the games the first time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import commands, game, inside, missions, record
from benchmarks.measure import machine

PARTS = {
    "startup": commands.startup,
    "game": commands.whole_game,
    "full": commands.full,
    "textures": commands.textures,
    "edited": commands.edited,
    "tenfold": commands.tenfold,
    "bytes": inside.model_bytes,
    "api": inside.api,
    "neighbours": inside.neighbours,
    "sampling": inside.sampling,
    "largest": inside.largest,
    "memory": commands.memory,
    "film": commands.film,
    "levels": commands.levels,
    "ground": inside.ground,
    "mission": missions.mission,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--only", action="append", choices=PARTS, help="measure this; repeatable")
    parser.add_argument("--json", type=Path, help="where the record goes")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds is at least 1")
    about = machine()
    print("{machine}; Python {python}, NumPy {numpy}".format(**about))
    print("commit {commit}, {date} UTC, load before {load}".format(**about), end="")
    print(f", medians of {given.rounds} rounds")
    facts = game.count(commands.large_game())
    print(f"the game: {', '.join(f'{value:,} {name}' for name, value in facts.items())}\n")
    before, rows = record.last(about["machine"]), []
    for name in given.only or PARTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += PARTS[name](given.rounds)
    print(record.table(rows, before))
    missed = [row.job for row in rows if row.met is False]
    aims = sum(row.aim is not None for row in rows)
    print(f"\n{aims - len(missed)} of {aims} aims are met")
    print(f"recorded in {record.write(rows, about, given.json)}", file=sys.stderr)


if __name__ == "__main__":
    main()
