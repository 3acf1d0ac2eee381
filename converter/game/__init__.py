"""Changes of a game: differences between versions of what it holds."""
