"""A service in C on a thread of its own."""
