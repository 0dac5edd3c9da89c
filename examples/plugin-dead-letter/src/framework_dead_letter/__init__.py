"""Publish what nobody received once more, where it is kept."""
