"""Encryption at rest: the keys of files, and what is written with them."""
