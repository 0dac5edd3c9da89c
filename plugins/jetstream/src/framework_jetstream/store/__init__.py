"""What keeps messages: subjects by number, blocks by sequence, and segments in files."""
