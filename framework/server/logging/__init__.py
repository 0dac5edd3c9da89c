"""The log of a server: its events, levels, line formats and file."""
