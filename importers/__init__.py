"""Bytes to data: one module per format."""
