"""The game's files, one module each: records, data class, rules, reader and writer. Bytes, no paths."""
