"""The protocols' bytes and documents without a socket: no I/O, no clock, no randomness."""
