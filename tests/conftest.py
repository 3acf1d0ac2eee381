"""For all tests."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.second import plugin
from tests.support.blender import needs_blender

plugin.install()  # before anything imports a writer

ROOT = Path(__file__).parent.parent
#: What the marker ``slow`` is on: folders and modules of the table in ``tests/README.md``, and why they take long.
_TABLE = (ROOT / "tests/README.md").read_text("utf-8").partition("## What is slow, and why")[2].partition("\n## ")[0]
SLOW = dict(re.findall(r"^\| `([\w/.]+)` \| (.+) \|$", _TABLE, re.MULTILINE))

# a busy machine is slow, and no test is about time; the gate tries the same examples each time
settings.register_profile("project", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
# other examples each time, and many; what fails is tried again first (.hypothesis)
settings.register_profile("explore", settings.get_profile("project"), derandomize=False, max_examples=2000)
# which example fails is enough
settings.register_profile("mutants", settings.get_profile("project"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))
# a shell that runs pytest in the background lets it ignore Ctrl-C, and so would every command that
# the tests start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest looks at -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, whole folders and modules, and those that need Blender."""
    for item in items:
        place = item.path.relative_to(ROOT / "tests").as_posix()
        if place.startswith(tuple(SLOW)):
            item.add_marker(pytest.mark.slow)
        if place.startswith("blender/"):
            item.add_marker(needs_blender)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    plugin.forget()


@pytest.fixture(autouse=True)
def sound_by_a_second_reader(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which an import made a file that a second reader finds broken."""
    yield
    if not request.node.get_closest_marker("plants_faults"):
        assert not plugin.found
