"""Random edits of glTF files, of every kind that artists make, without a look at the importer."""

from tests.support.random_edits import animation, meshes, nodes, other, parts
from tests.support.random_edits.base import EDITS, Edited, NotHere
from tests.support.random_edits.places import PLACES

__all__ = ["EDITS", "PLACES", "Edited", "NotHere", "animation", "meshes", "nodes", "other", "parts"]
