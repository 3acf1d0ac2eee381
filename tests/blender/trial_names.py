"""Print the names of the trials' edits as JSON, without Blender: its modules are stood in for.

    python trial_names.py trial_edits.py
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from unittest.mock import MagicMock

sys.modules |= {name: MagicMock() for name in ("bpy", "mathutils", "numpy")}
sys.path.insert(0, str(Path(__file__).parent))
found = runpy.run_path(sys.argv[1])
names = {kind: list(edits) for kind, edits in found["EDITS"].items()}
print(json.dumps({"edits": names, "only_extension": sorted(found["ONLY_EXTENSION"])}))
