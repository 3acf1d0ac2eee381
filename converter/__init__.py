"""The data of the models of *Parkan: Iron Strategy* and what happens to it.

This package imports nothing here, so that a quick command starts quickly.
"""

__version__ = "0.3.0"
#: What a run over a game writes into its output directory: what came from where.
MANIFEST = "manifest.json"
#: New objects before Python looks for garbage that refers to itself, in commands and their workers.
#: A model makes thousands that do not, and every look costs.
GARBAGE = 100_000
#: Signals that ask for an end, where the system has them; SIGBREAK is Ctrl-Break on Windows.
STOPPING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
