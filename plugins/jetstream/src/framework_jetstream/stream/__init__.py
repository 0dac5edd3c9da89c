"""Streams: the machine that keeps messages, and the actor that owns a configuration."""
