"""One file of one kind, both ways, as data and without printing."""
