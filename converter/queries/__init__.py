"""Answer what the game's runtime asks models and terrains."""
