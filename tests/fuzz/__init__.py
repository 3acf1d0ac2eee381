"""Coverage-guided fuzzing of every reader; see docs/fuzzing.md."""
