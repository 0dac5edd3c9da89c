"""Streams as tables in Arrow's format, sent as fast as they are asked for."""
