"""Measurements beside the real servers."""
