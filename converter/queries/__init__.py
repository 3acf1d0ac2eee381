"""What the runtime asks models and terrains."""
