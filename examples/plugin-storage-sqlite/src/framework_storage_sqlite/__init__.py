"""Keep finished segments of streams in one SQLite file."""
