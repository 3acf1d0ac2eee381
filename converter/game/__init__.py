"""A game's folder: runs over all that it holds, both ways, and the one door through which its files change."""
