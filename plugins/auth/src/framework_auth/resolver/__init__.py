"""Where the JWTs of accounts are kept: in memory, on an HTTP server, in a directory.

Everything here blocks and is for worker threads; whom to trust is told, not known.
"""
