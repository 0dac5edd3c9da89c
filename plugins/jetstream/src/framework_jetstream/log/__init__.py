"""The log: what happens to all streams and consumers of a server, in one order, synced together."""
