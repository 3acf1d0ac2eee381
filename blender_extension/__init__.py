"""The Blender extension: its source (``addon``) and what builds the zip (``build``)."""
