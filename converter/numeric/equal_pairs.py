"""Pair rows of two tables that are equal."""

from __future__ import annotations

import numpy as np

from .adjacency import row_ids
from .arrays import Ints


def join(old_of: Ints, new_keys: list[Ints], old_keys: list[Ints]) -> None:
    """Pair what is still free on both sides and has equal keys, in order.

    Args:
        old_of: (n,) old row per new one, -1 = free; filled in.
        new_keys, old_keys: columns, (n,) and (m,) each.
    """
    free_new = np.flatnonzero(old_of < 0)
    taken = np.zeros(len(old_keys[0]), np.bool_)
    taken[old_of[old_of >= 0]] = True
    free_old = np.flatnonzero(~taken)
    if not free_new.size or not free_old.size:
        return
    rows = np.concatenate(
        [np.stack([k[free_new] for k in new_keys], axis=1), np.stack([k[free_old] for k in old_keys], axis=1)]
    )
    ids = row_ids(rows.view(np.uint64))
    a, b = ids[: len(free_new)], ids[len(free_new) :]
    a_key, b_key = a * (len(rows) + 1) + _rank(a), b * (len(rows) + 1) + _rank(b)
    _, at_a, at_b = np.intersect1d(a_key, b_key, assume_unique=True, return_indices=True)
    old_of[free_new[at_a]] = free_old[at_b]


def _rank(values: Ints) -> Ints:
    """How many equal values come before each."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    first = np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]])
    starts = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    out = np.empty(len(values), np.int64)
    out[order] = np.arange(len(values)) - starts
    return out
