"""Arithmetic that knows no file: axes, stored words, poses, neighbours, bounds."""
