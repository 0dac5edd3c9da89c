"""A protocol of lines on a port of its own, for what has no NATS client."""

__version__ = "0.1.0"
