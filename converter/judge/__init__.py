"""Compare what a file shows with what the result of its import shows (docs/develop/judge.md)."""
