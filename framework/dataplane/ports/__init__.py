"""Ports: subscribers of the process itself, who take batches."""
