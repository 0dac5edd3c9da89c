"""Raft, a library: groups of servers agree on a log. No I/O, clock, thread or randomness."""
