"""WebSocket: a port where clients speak NATS in frames, behind an HTTP upgrade."""

__version__ = "0.1.0"
