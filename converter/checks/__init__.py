"""Invariants that conversion does not need, as findings; ``msh-inspect --check`` looks at them all.

What would be read out of bounds is found by the modules ``*_structure``, and refused by every
conversion. The checks here want files that are sound so far. Nothing here is an error.
"""
