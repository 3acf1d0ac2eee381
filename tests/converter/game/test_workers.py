"""Processes: every task is answered, a death costs one task, nothing outlives the run."""

import os
import pickle
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from msh_gltf.converter import cli
from msh_gltf.converter.errors import ConversionError
from msh_gltf.converter.game.import_item import ImportTask
from msh_gltf.converter.game.workers import cores, run_here
from tests.support.game import MESH, archive, entry, model, write
from tests.support.runs import call, python
from tests.support.tasks import echo, process, square, touch
from tests.support.verbs import move


@pytest.mark.parametrize(("jobs", "tasks"), [(1, 20), (3, 20), (50, 20), (3, 0)])
def test_every_task_is_answered_once(jobs: int, tasks: int) -> None:
    assert sorted(run_here(square, list(range(tasks)), jobs)) == [(i, i * i) for i in range(tasks)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_death_costs_one_task(jobs: int) -> None:
    tasks = [1, -1, 2, -2, -1, 3, 4, 5]
    answers = dict(run_here(square, tasks, jobs))
    assert sorted(answers) == list(range(len(tasks)))
    for at, task in enumerate(tasks):
        if task > 0:
            assert answers[at] == task * task
    killed, ended = answers[1], answers[3]
    assert isinstance(killed, ConversionError)
    assert "was killed by signal 9, perhaps for lack of memory" in str(killed)
    assert isinstance(ended, ConversionError)
    assert "ended with exit code 7" in str(ended)


def test_one_task_after_the_other_in_the_same_process() -> None:
    assert len({pid for _, pid in run_here(process, [0.0] * 6, 1)}) == 1
    assert len({pid for _, pid in run_here(process, [0.2] * 2, 2)}) == 2


def test_a_worker_goes_on_while_nobody_takes_its_results(tmp_path: Path) -> None:
    tasks = [str(tmp_path / str(number)) for number in range(9)]
    with closing(run_here(touch, tasks, 1)) as results:
        next(results)
        for _ in range(100):
            if len(list(tmp_path.iterdir())) == 3:
                break
            time.sleep(0.1)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_a_worker_gets_what_its_entry_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After more edits of an archive no task of the next run is larger."""
    sent, real = list[int](), ImportTask.__getstate__
    largest, rock = list[int](), model("mixed__odd__s_rock_057")

    def noted(task: ImportTask) -> object:
        sent.append(len(pickle.dumps(real(task))))
        return real(task)

    for count in (2, 8):
        game, out = tmp_path / f"{count}/game", tmp_path / f"{count}/out"
        write(game / "a.rlb", archive([entry(MESH, b"rock%d.msh" % i, rock) for i in range(8)]))
        assert call(cli.msh2gltf, game, "-o", out, "-q", "-j", "1") == 0
        for run in range(2):
            monkeypatch.setattr(ImportTask, "__getstate__", noted if run else real)
            for i in range(count):
                move(out / f"a.rlb/rock{i}.glb", run + 1.0)
            assert call(cli.gltf2msh, out, "--game", game, "--in-place", "-j", "1", "-q") == 0
        assert len(sent) >= count
        largest.append(max(sent))
        sent.clear()
    assert largest[1] - largest[0] < 16


def test_large_tasks_and_results_do_not_wait_for_each_other() -> None:
    tasks = [bytes([number]) * (1 << 20) for number in range(6)]
    assert dict(run_here(echo, tasks, 1)) == dict(enumerate(tasks))


def test_closing_ends_the_workers() -> None:
    """A worker in the middle of a task does not hold up the end of a run."""
    begun = time.monotonic()
    with closing(run_here(square, [2, -3, -3], 3)) as results:
        assert next(results) == (0, 4)
    assert time.monotonic() - begun < 30  # the tasks would take a minute


def test_cores() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(sys.platform == "win32", reason="no server forks workers there")
def test_processes_that_cannot_be_started_are_an_error_of_their_own(tmp_path: Path) -> None:
    """One line and exit code 2: no silence as if the reader of the output were gone."""
    game, out = tmp_path / "game", tmp_path / "out"
    write(game / "a.msh", model("retail__odd__s_rock_009"))
    program = tmp_path / "python"
    program.write_bytes(b"")
    code = f"from multiprocessing import spawn; spawn.set_executable({str(program)!r})\n"
    code += "from msh_gltf.converter import cli; cli.msh2gltf()"
    done = python("-c", code, game, "-o", out, "-j", "2")
    said = f"msh2gltf: error: {program}: processes cannot be started: not executable; -j 1 starts none\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert not out.exists()

    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    done = python("-c", code, game, "-o", out, "-j", "2")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("msh2gltf: error: processes cannot be started")
    assert not list(out.rglob("*.glb"))


def test_nothing_in_the_current_directory_runs(tmp_path: Path) -> None:
    """Names that a new interpreter imports, the fork server, and a worker."""
    here, command = tmp_path / "here", tmp_path / "msh2gltf.py"
    for name in ("a", "b", "c"):
        write(here / f"{name}.msh", model("mixed__odd__s_rock_057"))
    for name in ("threading", "socket", "pickle", "json", "numpy", "msh_gltf"):
        write(here / f"{name}.py", b"raise SystemExit('run')")
    write(command, b"from msh_gltf.converter.cli import msh2gltf\nif __name__ == '__main__': msh2gltf()")
    done = python(command, ".", "-o", "out", "-j", "2", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((here / "out").glob("*.glb"))) == 3


def test_workers_do_not_run_the_program_that_started_them(tmp_path: Path) -> None:
    """A script that exports a game needs no ``if __name__ == "__main__"``."""
    for name in ("a", "b"):
        write(tmp_path / "game" / f"{name}.msh", model("mixed__odd__s_rock_057"))
    script = b"from msh_gltf.converter.cli import msh2gltf\nprint('run', flush=True)\nmsh2gltf()"
    write(tmp_path / "script.py", script)
    done = python("script.py", "game", "-o", "out", "-j", "2", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "run\n", "")
    assert len(list((tmp_path / "out").glob("*.glb"))) == 2
