"""JetStream: streams and consumers of one server, on a log that survives power loss."""
