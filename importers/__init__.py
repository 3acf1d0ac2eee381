"""Foreign formats to data: one module per format."""
