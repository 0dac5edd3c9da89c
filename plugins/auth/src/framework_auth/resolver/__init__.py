"""Stores of account JWTs: memory, HTTP server, directory.

Everything here blocks and is for worker threads; whom to trust is told, not known.
"""
