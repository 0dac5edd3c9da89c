"""Ask an HTTP service who may log in."""
