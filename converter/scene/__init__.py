"""The format-neutral scene: what a file shows, whatever format it came from."""
