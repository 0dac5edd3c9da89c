"""What attacks on one server do to its other clients, beside the real server."""
