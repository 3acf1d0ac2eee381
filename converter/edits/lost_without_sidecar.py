"""Find what a model had, by what its glTF says, that a rebuild without its sidecar loses."""

from __future__ import annotations

import numpy as np

from ..errors import ConversionError, printable
from ..findings import NotApplied
from ..numeric.quantize import colour_of_row
from ..scene.scene import ImportedScene

#: Blender rounds colours by far less.
_COLOUR_NOISE = 1e-3
_INSTEAD = "keep the .msh-sidecar beside the file, or give it with --sidecar PATH"


def refuse_legacy(given: ImportedScene) -> None:
    """Refuse a model of legacy nodes, which would become an ordinary one.

    Raises:
        ConversionError: the file says that it is one.
    """
    if given.info.get("legacy"):
        raise ConversionError(
            "is a model with legacy nodes (stride 24), which needs its sidecar to be rebuilt", hint=_INSTEAD
        )


def lost_without_sidecar(given: ImportedScene) -> list[NotApplied]:
    """Return what a file shows of its model's tables that cannot be rebuilt; warn of the rest.

    Args:
        given: the file; its warnings get a line where an exporter of this project made it.
    """
    if "digest" in given.info or "source" in given.info:
        given.report.warnings.append(
            "rebuilt without the sidecar: unknown tables and words (Res15, Res17, Res20, the last "
            "words of slots) are empty or zero now, whatever the model had"
        )
    paths = [node for node in given.nodes if node.extras.get("kind") == "paths"]
    return _recoloured(given) + [
        NotApplied(
            where=f"interior path graph {printable(node.name)!r}",
            what="is shown, and not in the model",
            why="the file has its lines, not its tables (Res17)",
            instead=_INSTEAD,
        )
        for node in paths
    ]


def _recoloured(given: ImportedScene) -> list[NotApplied]:
    """Materials that were exported in the colour of their row, and have another one now."""
    out = []
    for material, extras, surface in zip(given.materials, given.material_extras, given.surfaces, strict=False):
        if material.row < 0 or "material" in extras:  # foreign, or coloured by a game's library
            continue
        shown = (*colour_of_row(material.row), 1.0)
        if surface.picture or np.abs(np.array(surface.colour) - shown).max() > _COLOUR_NOISE:
            edit = NotApplied(
                where=f"material {printable(material.name)!r}",
                what="has another colour or a picture",
                why="a model has but the names of its materials, and no game was at hand",
                instead="keep the .msh-sidecar beside the file, and export with the game at hand",
            )
            out.append(edit)
    return out
