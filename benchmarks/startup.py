"""One static model, process start to finish, against ``python -c "import numpy"``.

    .venv/bin/python benchmarks/startup.py

Runs the two alternately and prints medians; the aim is a ratio of at most 2.5.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 25
MODEL = Path(__file__).parent.parent / "tests" / "data" / "retail__system__R_H_002.msh"
COMMAND = Path(sys.executable).parent / "msh2gltf"


def seconds(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        jobs = {
            "python -c 'import numpy'": (sys.executable, "-c", "import numpy"),
            "msh2gltf model.msh": (COMMAND, MODEL, "-o", Path(folder) / "m.glb", "--force"),
            "gltf2msh model.glb": (
                COMMAND.with_name("gltf2msh"), Path(folder) / "m.glb",
                "-o", Path(folder) / "m.msh", "--force",
            ),
            "msh-inspect model.msh": (COMMAND.with_name("msh-inspect"), MODEL),
            "msh2gltf --help": (COMMAND, "--help"),
        }  # fmt: skip
        times: dict[str, list[float]] = {name: [] for name in jobs}
        for job in jobs.values():
            seconds(*job)  # warm the file cache
        for _ in range(ROUNDS):
            for name, job in jobs.items():
                times[name].append(seconds(*job))
    base = statistics.median(times["python -c 'import numpy'"])
    print(f"medians of {ROUNDS} runs, Python {sys.version.split()[0]}, {MODEL.name}")
    for name, values in times.items():
        median = statistics.median(values)
        print(f"{name:26} {median * 1000:6.0f} ms  {median / base:5.2f} x")


if __name__ == "__main__":
    main()
