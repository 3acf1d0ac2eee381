"""Rebuild the tables of models and terrains from a scene and its changes."""
