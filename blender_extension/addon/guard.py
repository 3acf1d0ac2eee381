"""What goes wrong is one line in Blender's status bar, never a traceback."""

import os
import traceback
from collections.abc import Callable

import bpy

from .converter.errors import ConversionError, MissingPackage
from .wording import in_blender


def guarded(operator: bpy.types.Operator, work: Callable[[], None]) -> set[str]:
    """Do an operator's work; returns what its ``execute`` returns."""
    try:
        work()
    except Exception as error:
        if os.environ.get("MSH_GLTF_TRACEBACK") and not isinstance(error, ConversionError):
            traceback.print_exc()
        operator.report({"ERROR"}, message_of(error))
        return {"CANCELLED"}
    return {"FINISHED"}


def message_of(error: Exception) -> str:
    """What is shown of an error: a line."""
    if isinstance(error, MissingPackage):
        return _not_here(error)
    if isinstance(error, ConversionError):
        return in_blender(str(error))
    message = " ".join(str(error).split())
    return f"internal error, please report it: {type(error).__name__}: {message}"


def _not_here(error: MissingPackage) -> str:
    """What a package that is not in the zip was needed for."""
    if error.extra == "materials":
        return (
            "a new material is called like several of the model's: use one of those, or call it "
            "material_ROW, after its row of the .wea"
        )
    return f"{error.problem}, which is not part of the extension"
