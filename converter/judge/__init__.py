"""Compare what a file shows with what the result of its import shows (docs/decisions/0030-judge.md)."""
