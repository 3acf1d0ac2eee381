"""Find what a model had, by what its glTF says, that a rebuild without its sidecar loses."""

from __future__ import annotations

from ..errors import ConversionError, printable
from ..scene.differences import NotApplied
from ..scene.scene import ImportedScene

_INSTEAD = "keep the .msh-sidecar beside the file, or give it with --sidecar PATH"


def refuse_legacy(given: ImportedScene) -> None:
    """Refuse a model of legacy nodes, which would become an ordinary one.

    Raises:
        ConversionError: the file says that it is one.
    """
    if given.info.get("legacy"):
        raise ConversionError(
            "is a model with legacy nodes (stride 24), which needs its sidecar to be rebuilt",
            hint=_INSTEAD,
        )


def lost_without_sidecar(given: ImportedScene) -> list[NotApplied]:
    """Return what a file shows of its model's tables that cannot be rebuilt; warn of the rest.

    Args:
        given: the file; its warnings get a line where an exporter of this project made it.
    """
    if "digest" in given.info or "source" in given.info:
        given.warnings.append(
            "rebuilt without the sidecar: unknown tables and words (Res15, Res17, Res20, the last "
            "words of slots) are empty or zero now, whatever the model had"
        )
    paths = [node for node in given.nodes if node.extras.get("kind") == "paths"]
    return [
        NotApplied(
            where=f"interior path graph {printable(node.name)!r}",
            what="is shown, and not in the model",
            why="the file has its lines, not its tables (Res17)",
            instead=_INSTEAD,
        )
        for node in paths
    ]
