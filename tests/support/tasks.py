"""Functions for worker processes, which import them by name."""

import os
import signal
import time
from pathlib import Path


def square(task: int) -> int:
    """The task's square; odd things happen for negative tasks."""
    if task == -1:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == -2:
        os._exit(7)
    if task == -3:
        time.sleep(60)
    return task * task


def process(task: float) -> int:
    """The process's id."""
    time.sleep(task)
    return os.getpid()


def echo(task: bytes) -> bytes:
    return task


def touch(task: str) -> None:
    """Make a file."""
    Path(task).touch()
