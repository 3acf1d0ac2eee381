"""Print the names of the trials' edits as JSON, without Blender: its modules are stood in for."""

import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

sys.modules |= {name: MagicMock() for name in ("bpy", "mathutils", "numpy")}
sys.path.insert(0, str(Path(__file__).parent))
from trial_edits import EDITS, ONLY_EXTENSION  # noqa: E402

print(json.dumps({"edits": {kind: list(edits) for kind, edits in EDITS.items()}, "only_extension": ONLY_EXTENSION}))
