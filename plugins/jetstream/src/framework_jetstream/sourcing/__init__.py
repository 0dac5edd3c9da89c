"""Mirrors and sources: streams that take messages from streams elsewhere."""
