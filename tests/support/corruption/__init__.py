"""A catalogue of named corruptions: each breaks one rule of a valid file, and knows which.

The mutator reads and writes containers with ``struct`` and shares no code with the project. To add
kinds for another format, give it a module here with a source of valid files and a decorator, and
import it below.
"""

from tests.support.corruption import (  # noqa: F401
    animation,
    areal,
    assembly,
    container,
    controller,
    geometry,
    level,
    model,
    terrain,
    text,
)
from tests.support.corruption.base import CATALOGUE

__all__ = ["CATALOGUE"]
