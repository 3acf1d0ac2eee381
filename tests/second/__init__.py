"""A second reader of the game's files: plain Python from the format's description, nothing of the project.

Each module takes the bytes of one file and counts what is wrong with it, by short codes (``"core-link"``).
``plugin`` passes every file that an import makes in any test through it.
"""
