"""What keeps messages: subjects by number, and blocks of messages by sequence."""
