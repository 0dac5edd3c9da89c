"""Snapshots of streams, and streams restored from them: archives in pieces."""
