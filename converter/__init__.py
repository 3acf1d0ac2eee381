"""The data of the models of *Parkan: Iron Strategy* and what happens to it.

This package imports nothing here, so that a quick command starts quickly.
"""

__version__ = "0.1.0"
