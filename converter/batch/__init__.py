"""Whole game directories and archives, both ways."""
