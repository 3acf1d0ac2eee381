"""Hold what a file shows as a format-neutral scene, and decode tables into it."""
