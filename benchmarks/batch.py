"""A whole game, both ways: models and megabytes per second, memory, where the time goes.

    .venv/bin/python benchmarks/batch.py [ROUNDS]

On the large fake game of ``benchmarks/game.py`` (made once, in the system's temporary folder).
Times are of whole processes, start to finish, medians; memory is the largest of any process,
read from /proc while it runs (Linux).
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import game

SCRIPTS = Path(sys.executable).parent


def peaks(pid: int) -> dict[int, int]:
    """Peak resident memory of a process and its descendants, in KiB."""
    parents: dict[int, int] = {}
    memory: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            facts = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines()
            )
        except OSError:
            continue
        parents[int(folder.name)] = int(facts["PPid"])
        memory[int(folder.name)] = int(facts.get("VmHWM", "0 kB").split()[0])
    family = {pid}
    while grown := {p for p, parent in parents.items() if parent in family} - family:
        family |= grown
    return {p: memory[p] for p in family if p in memory}


def timed(arguments: list[object]) -> tuple[float, int]:
    """Seconds and peak memory in MiB of a command."""
    begun = time.perf_counter()
    job = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.DEVNULL)
    peak: dict[int, int] = {}
    while job.poll() is None:
        for pid, memory in peaks(job.pid).items():
            peak[pid] = max(memory, peak.get(pid, 0))
        time.sleep(0.02)
    assert job.returncode == 0, arguments
    return time.perf_counter() - begun, max(peak.values()) // 1024


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    work = Path(tempfile.gettempdir()) / "msh-gltf-benchmark"
    source = game.make(work / "game")
    facts = game.count(source)
    print(", ".join(f"{value:,} {name}" for name, value in facts.items()))
    out, new, report = work / "out", work / "new", work / "report.json"
    size = facts["bytes"] / 1e6
    print(f"{'':34}seconds  models/s   MB/s  peak MiB")
    rows: list[tuple[str, list[object], list[Path]]] = []
    for jobs in (1, 2):
        command = [SCRIPTS / "msh2gltf", source, "-o", out, "-j", jobs, "--report", report]
        rows.append((f"msh2gltf -j {jobs}", command, [out]))
    rows.append(("msh2gltf -j 2, again", rows[1][1], []))
    for jobs in (1, 2):
        command = [SCRIPTS / "gltf2msh", out, "--game", source, "-o", new, "-j", jobs]
        rows.append((f"gltf2msh -j {jobs}, nothing changed", command, [new]))
    stages: dict[str, float] = {}
    for name, command, fresh in rows:
        measured = []
        for _ in range(rounds):
            for folder in fresh:
                shutil.rmtree(folder, ignore_errors=True)
            measured.append(timed(command))
        seconds = statistics.median(m[0] for m in measured)
        rate = f"{facts['models'] / seconds:8.0f} {size / seconds:6.1f}"
        print(f"{name:34}{seconds:7.2f}  {rate} {max(m[1] for m in measured):9}", flush=True)
        if name == "msh2gltf -j 1":
            stages = json.loads(report.read_text("utf-8"))["times"]["stages"]
    same = subprocess.run(["diff", "-r", source, new], check=False).returncode == 0
    print("game and new game are", "byte-identical" if same else "NOT THE SAME")
    total = sum(stages.values())
    shares = ", ".join(f"{k} {v / total:.0%}" for k, v in sorted(stages.items()))
    print(f"a worker's time: {shares}")


if __name__ == "__main__":
    main()
