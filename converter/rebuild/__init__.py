"""Scene to tables: the canonical rules by which glTF or OBJ becomes MSH (``rebuild`` page)."""
