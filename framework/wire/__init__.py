"""Protocol documents and encodings without I/O, clock or randomness."""
