"""Data to bytes: one module per format."""
