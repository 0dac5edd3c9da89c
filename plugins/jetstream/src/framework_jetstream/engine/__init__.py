"""The engine: messages, consumers and time on a thread that needs no interpreter."""
