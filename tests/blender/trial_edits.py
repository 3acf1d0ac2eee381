"""Runs in Blender's Python: the edits of the trials (``tests.blender.trials``), each as an artist makes it.

An edit returns names; a message about any of them names the edit.
"""

import trial_clips
import trial_levels
import trial_looks
import trial_modder
import trial_nodes
from trial_tools import EDITS, ONLY_EXTENSION

__all__ = ["EDITS", "ONLY_EXTENSION", "trial_clips", "trial_levels", "trial_looks", "trial_modder", "trial_nodes"]
