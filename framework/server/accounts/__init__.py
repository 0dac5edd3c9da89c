"""The accounts of a running server, and how their imports are joined with exports."""
