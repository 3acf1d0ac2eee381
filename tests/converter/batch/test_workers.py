"""Processes: every task is answered, a death costs one task, nothing outlives the run."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing

import pytest

from msh_gltf.converter.batch.workers import cores, run_here
from msh_gltf.converter.errors import ConversionError
from tests.support.tasks import process, square


@pytest.mark.parametrize("jobs", [1, 3, 50])
def test_every_task_is_answered_once(jobs: int) -> None:
    answers = dict(run_here(square, list(range(20)), jobs))
    assert answers == {i: i * i for i in range(20)}


def test_no_tasks() -> None:
    assert list(run_here(square, [], 3)) == []


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
    assert "was killed by signal 9, perhaps because memory ran out" in str(killed)
    assert isinstance(ended, ConversionError)
    assert "ended with exit code 7" in str(ended)


def test_one_task_after_the_other_in_the_same_process() -> None:
    assert len({pid for _, pid in run_here(process, [0.0] * 6, 1)}) == 1
    assert len({pid for _, pid in run_here(process, [0.2] * 2, 2)}) == 2


def test_closing_ends_the_workers() -> None:
    """A worker in the middle of a task does not hold up the end of a run."""
    begun = time.monotonic()
    with closing(run_here(square, [2, -3, -3], 3)) as results:
        assert next(results) == (0, 4)
    assert time.monotonic() - begun < 30  # the tasks would take a minute


def test_cores() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
