"""Inner links: cores of one server, joined by queues of interest and of messages."""
