"""Who connected to a server, and how much was said."""
