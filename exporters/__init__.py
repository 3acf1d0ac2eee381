"""Data to foreign formats: one module per format."""
