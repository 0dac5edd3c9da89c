"""A gate in C on a thread of its own."""
