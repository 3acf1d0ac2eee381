"""``python -m tests.fuzz --target nres --executions 1000000``; see docs/fuzzing.md."""

import argparse
import hashlib
import platform
import sys
from pathlib import Path

import numpy as np

from tests.fuzz.engine import fuzz, minimise
from tests.fuzz.pipelines import PIPELINES
from tests.fuzz.targets import READERS

REGRESSIONS = Path(__file__).parent / "regressions"
TARGETS = {target.name: target for target in [*READERS, *PIPELINES]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="default: all")
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="per target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="minimise and keep what was found")
    options = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, seed {options.seed}")
    found = 0
    for name in options.target or TARGETS:
        target = TARGETS[name]
        report = fuzz(target, options.executions, options.seed, seconds=options.seconds)
        print(report, flush=True)
        found += len(report.crashes)
        for place, crash in report.crashes.items():
            print(f"  {crash.times} times {place}\n{crash.text}")
            data = minimise(target, crash.data, place) if options.save else crash.data
            print(f"  {len(data)} bytes: {data[:400]!r}")
            if options.save:
                keep(name, data)
    return int(found > 0)


def keep(name: str, data: bytes) -> None:
    """Write a regression file, called after its content."""
    folder = REGRESSIONS / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{hashlib.sha256(data).hexdigest()[:12]}.bin").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
