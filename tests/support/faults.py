"""Real faults for the commands: signals at a chosen step, limits, small file systems."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.runs import SCRIPTS, call, require

#: What Python tells an audit hook before it changes a file.
_STEPS = ("open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod", "os.utime")


def strike(at: int, number: int, folder: Path) -> None:
    """Let this process send itself a signal before a change below a directory, from now on.

    Args:
        at: before which change, from 1.
        number: the signal.
        folder: changes elsewhere do not count.
    """
    left = at

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in _STEPS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if not path.startswith(f"{folder}{os.sep}"):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), number)

    sys.addaudithook(hook)


@dataclass
class Struck:
    """What became of a command; ``code`` is negative where a signal killed it."""

    code: int
    said: str


def struck(at: int, number: int, folder: Path, command: Callable[..., None], *arguments: object) -> Struck:
    """Run a command in a fork of this process, which :func:`strike` hits; wait for its end.

    Starting Python for every step would take minutes.
    """
    with tempfile.TemporaryFile() as output, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's threads do not mind a fork
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            code = 99
            try:
                for stream in (1, 2):
                    os.dup2(output.fileno(), stream)
                sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                strike(at, number, folder)
                code = call(command, *arguments)
                sys.stdout.flush()
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return Struck(os.waitstatus_to_exitcode(status), output.read().decode())


def begun(command: str, *arguments: object, **more: Any) -> subprocess.Popen[str]:
    """Start a command in a session of its own, which is not waited for."""
    return subprocess.Popen(
        [SCRIPTS / command if "/" not in command else command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def started(at: int, number: int, folder: Path, command: str, *arguments: object) -> subprocess.Popen[str]:
    """As :func:`struck`, in a process of its own, which is not waited for."""
    code = (
        "import sys; from pathlib import Path; from tests.support.faults import strike; "
        "from msh_gltf.converter import cli; "
        f"strike({at}, {int(number)}, Path({str(folder)!r})); "
        f"cli.{command.replace('-', '_')}(sys.argv[1:])"
    )
    return begun(sys.executable, "-c", code, *arguments, cwd=Path(__file__).parents[2])


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.002)


def children(pid: int) -> list[int]:
    """Processes that a process has started and that live."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[1]) == pid and stat[0] != "Z":
            found.append(int(folder.name))
    return found


def is_stopped(job: subprocess.Popen[str]) -> bool:
    """Whether a process has stopped itself (SIGSTOP)."""
    assert job.poll() is None, job.communicate()
    stat = Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2]
    return stat.split()[0] == "T"


def shell(script: str, *arguments: object, within: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a bash script; ``$BIN`` is where the commands are, ``$PYTHON`` what runs them."""
    return subprocess.run(
        [*within, "bash", "-c", script, "bash", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "BIN": str(SCRIPTS), "PYTHON": sys.executable},
        check=False,
    )


def in_namespace(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount, in a name space of its own."""
    require(shutil.which("unshare"), "no unshare: cannot mount a small file system")
    allowed = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    require(allowed.returncode == 0, "unshare is not permitted here")
    done = shell(script, *arguments, within=("unshare", "-rm"))
    require(done.returncode != 77, "this file system cannot be mounted here")
    return done


def leftovers(root: Path) -> list[Path]:
    """Unfinished files below a directory."""
    return [path for path in root.rglob("*") if path.name.startswith(".msh-gltf-")]
