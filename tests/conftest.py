"""For all tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.second import plugin
from tests.support.blender import needs_blender

plugin.install()  # before anything imports a writer

ROOT = Path(__file__).parent.parent
#: What the marker ``slow`` is on, and why it takes long; tests/README.md has the same table.
SLOW = {
    "blender/": "start Blender for every step",
    "fuzz/": "run every fuzz target a few hundred times",
    "gallery/": "draw with VTK, drive a browser, build the viewer",
    "windows/": "run the commands under wine",
    "converter/game/test_dask.py": "start a cluster",
    "converter/game/test_export_run.py": "whole runs",
    "converter/checks/test_corruptions.py": "break every rule once",
    "converter/checks/test_recover.py": "read every broken file tolerantly",
    "converter/cli/test_output.py": "run the commands in processes",
    "converter/cli/test_tolerant.py": "convert every broken file tolerantly",
    "converter/faults/": "full disks, limits and signals: processes for every case",
    "converter/game/test_pairs.py": "make and install pairs of mods, of whole games",
    "converter/kinds/test_every_difference.py": "import and export hundreds of edited files",
    "docs/test_pages.py": "run the code blocks of every page",
    "docs/test_site.py": "build the site, several times",
    "msh_gltf/test_wheel.py": "build and install the wheel",
    "test_extension_build.py": "fetch wheels, build the extension twice",
}

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
